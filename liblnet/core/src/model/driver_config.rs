//! The configuration of a driver: the one value by which a node has the driver.

use super::lnd::Driver;
use crate::environment::time::Clock;
use lnet_log::History;
use lnet_settings::Row;
use lnet_wire::Nid;
use std::fmt::Debug;
use std::sync::Arc;

/// The configuration of a driver, with its tunables. A node has a list of them, and makes a driver of each when it starts.
pub trait DriverConfig: Clone + Debug + Send + Sync + 'static {
    /// The name of the driver: of the module that has its tunables, and in capitals the beginning of their environment variables.
    const NAME: &'static str;

    /// The tunables, one row each. Variables, checks, `lnetctl tunables` and the documents follow from the rows.
    const TUNABLES: &'static [Row<Self>] = &[];

    /// Makes the driver of one node. It takes threads and descriptors only when its first interface starts.
    fn driver(&self, node: DriverContext) -> Arc<dyn Driver>;
}

/// What drivers tell the node about its interfaces.
pub trait InterfaceEvents: Debug + Send + Sync {
    /// The device of an interface cannot be used, for this reason, or can be used again (`None`). The interface is fatal from now on,
    /// whatever the host says of its link. Called by the driver's own threads.
    fn device_state(&self, nid: Nid, why: Option<&str>);
}

/// The parts of a node that its drivers need.
#[derive(Clone, Debug)]
pub struct DriverContext {
    /// Where the driver reports events of interfaces.
    pub events: Arc<dyn InterfaceEvents>,
    /// The clock of the node.
    pub clock: Arc<dyn Clock>,
    /// A random number of this start of the node.
    pub random: u64,
    /// Where the node keeps changes of state.
    pub history: Arc<History>,
}
