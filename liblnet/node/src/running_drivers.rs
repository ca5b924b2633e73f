//! The drivers of a running node.

use lnet_core::lnd::{Driver, Progress, StartError};
use lnet_core::start_error;
use lnet_wire::{Errno, NetId};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// All drivers of a node, but for the loopback's.
pub(crate) struct RunningDrivers(Vec<Arc<dyn Driver>>);

impl RunningDrivers {
    pub(crate) const fn new(drivers: Vec<Arc<dyn Driver>>) -> Self {
        Self(drivers)
    }

    /// The driver for a net.
    pub(crate) fn for_net(&self, net: NetId) -> Result<&dyn Driver, StartError> {
        let found = self.0.iter().find(|driver| driver.net_type() == net.kind());
        found.map(|driver| &**driver).ok_or_else(|| {
            let only = match &self.0[..] {
                [] => String::new(),
                some => format!(", only for {}", names(some)),
            };
            start_error!(
                Errno::ProtocolNotSupported,
                "net {net}: not started (there is no driver for nets of this kind here{only})"
            )
        })
    }

    /// Runs the I/O of all drivers on the calling thread, as [`Driver::progress`] does for one. Several share the time.
    pub(crate) fn progress(&self, timeout: Duration) -> Progress {
        let share = timeout / u32::try_from(self.0.len().max(1)).unwrap_or(u32::MAX);
        let mut result = Progress::NotOffered;
        for driver in &self.0 {
            match driver.progress(share) {
                Progress::Worked => return Progress::Worked,
                Progress::Idle => result = Progress::Idle,
                Progress::NotOffered => {}
            }
        }
        result
    }

    /// Stops the threads of all drivers. Their interfaces have been shut down before.
    pub(crate) fn shutdown(&self) {
        self.0.iter().for_each(|driver| driver.shutdown());
    }
}

/// The kinds of net that drivers serve, for texts.
fn names(drivers: &[Arc<dyn Driver>]) -> String {
    let all: Vec<String> =
        drivers.iter().map(|driver| NetId::new(driver.net_type(), 0).to_string()).collect();
    all.join(", ")
}

impl fmt::Debug for RunningDrivers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|driver| driver.net_type())).finish()
    }
}
