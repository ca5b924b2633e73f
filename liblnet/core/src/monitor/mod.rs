//! Periodic work, and the work of the discovery thread: resends, recovery pings, gateways, discovery.

mod discovery;
mod discovery_requests;
mod gateways;
mod merge;
mod recovery_ping;
mod repeat;
mod resend;
mod router;
mod work;

use crate::admin::Admin;
use crate::confirm::Unconfirmed;
use crate::data_path::DataPath;
use crate::discovery::Discovery;
use crate::environment::time::Time;
use crate::environment::{ConfigLock, Environment};
use crate::health::Health;
use crate::memory::EqHandle;
use crate::objects::Objects;
use crate::router::{GatewayChecks, GatewayWatch, NetLiveness, RouterBuffers, Stopping};
use crate::sync::Mutex;
use crate::topology::Topology;
use std::sync::{Arc, OnceLock};

/// The work of a node's threads. All methods may be called from any thread.
#[derive(Clone, Copy)]
pub struct Monitor<'a> {
    pub(crate) data_path: &'a Arc<DataPath>,
    pub(crate) admin: Admin<'a>,
    pub(crate) env: &'a Environment,
    pub(crate) objects: &'a Objects,
    pub(crate) topology: &'a Topology,
    pub(crate) discovery: &'a Discovery,
    pub(crate) health: &'a Health,
    pub(crate) router_buffers: &'a RouterBuffers,
    pub(crate) gateway_checks: &'a GatewayChecks,
    pub(crate) gateway_watch: &'a GatewayWatch,
    pub(crate) stopping: &'a Stopping,
    pub(crate) unconfirmed: &'a Unconfirmed,
    pub(crate) configuration: &'a ConfigLock,
    pub(crate) state: &'a MonitorState,
}

/// The state that the monitor keeps between its calls.
#[derive(Debug, Default)]
pub(crate) struct MonitorState {
    net_liveness: NetLiveness,
    /// The time of the next search for messages that wait too long for router buffers.
    next_overdue: Mutex<Option<Time>>,
    /// The event queue of recovery pings.
    recovery_eq: OnceLock<EqHandle>,
}
