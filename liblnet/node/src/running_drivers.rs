//! The drivers of a running node.

use lnet_core::lnd::{Driver, Progress, StartError};
use lnet_core::start_error;
use lnet_wire::{Errno, NetId};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// All drivers of a node, but for the loopback's.
pub(crate) struct RunningDrivers {
    all: Vec<Arc<dyn Driver>>,
    /// The number of drivers that offered [`Driver::progress`] the last time.
    offering: AtomicU32,
}

impl RunningDrivers {
    pub(crate) const fn new(drivers: Vec<Arc<dyn Driver>>) -> Self {
        Self { all: drivers, offering: AtomicU32::new(1) }
    }

    /// The driver for a net.
    pub(crate) fn for_net(&self, net: NetId) -> Result<&dyn Driver, StartError> {
        let found = self.all.iter().find(|driver| driver.net_type() == net.kind());
        found.map(|driver| &**driver).ok_or_else(|| {
            let only = match &self.all[..] {
                [] => String::new(),
                some => format!(", only for {}", names(some)),
            };
            start_error!(
                Errno::ProtocolNotSupported,
                "net {net}: not started (there is no driver for nets of this kind here{only})"
            )
        })
    }

    /// Runs the I/O of all drivers on the calling thread, as [`Driver::progress`] does for one. Those that offer it share the time.
    pub(crate) fn progress(&self, timeout: Duration) -> Progress {
        let share = timeout / self.offering.load(Ordering::Relaxed).max(1);
        let (mut result, mut offering) = (Progress::NotOffered, 0);
        for driver in &self.all {
            match driver.progress(share) {
                Progress::Worked => return Progress::Worked,
                Progress::Idle => (result, offering) = (Progress::Idle, offering + 1),
                Progress::NotOffered => {}
            }
        }
        self.offering.store(offering, Ordering::Relaxed);
        result
    }

    /// Stops the threads of all drivers. Their interfaces have been shut down before.
    pub(crate) fn shutdown(&self) {
        self.all.iter().for_each(|driver| driver.shutdown());
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
        f.debug_list().entries(self.all.iter().map(|driver| driver.net_type())).finish()
    }
}
