//! The drivers of a node. A new driver is one line of [`Drivers::new`].

use crate::clock::MonotonicClock;
use crate::start_config::StartConfig;
use lnet_core::lnd::{Driver, Progress, StartError};
use lnet_core::start_error;
use lnet_wire::{Errno, NetId};
use socklnd::{DeliveryAcks, Socklnd, SocklndConfig};
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Duration;

/// All drivers of a node, but for the loopback's.
pub(crate) struct Drivers(Vec<Arc<dyn Driver>>);

impl Drivers {
    /// The drivers with the tunables of `config`. They start with the first interface of each. `seed` differs for each start of a node.
    pub(crate) fn new(config: &StartConfig, clock: MonotonicClock, seed: u64) -> Self {
        Self(vec![socklnd(config, clock, seed)])
    }

    /// The driver for a net.
    pub(crate) fn for_net(&self, net: NetId) -> Result<&dyn Driver, StartError> {
        let found = self.0.iter().find(|driver| driver.net_type() == net.kind());
        found.map(|driver| &**driver).ok_or_else(|| {
            let all = self.0.iter().map(|driver| NetId::new(driver.net_type(), 0).to_string());
            let all = all.collect::<Vec<_>>().join(", ");
            start_error!(
                Errno::ProtocolNotSupported,
                "net {net}: not started (there is no driver for nets of this kind here, only for {all})"
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

impl fmt::Debug for Drivers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|driver| driver.net_type())).finish()
    }
}

fn socklnd(config: &StartConfig, clock: MonotonicClock, seed: u64) -> Arc<dyn Driver> {
    // If delivery ACKs are those of the kernel the node also sends no more identification than the kernel.
    let says_who = config.says_implementation && config.socklnd.delivery_acks != DeliveryAcks::Large;
    // Random numbers of the system, as the standard library uses them for its tables.
    let new_id = || socklnd::implementation_id(RandomState::new().hash_one(seed));
    let implementation_id = if says_who { new_id() } else { 0 };
    Socklnd::new(SocklndConfig { implementation_id, ..config.socklnd.clone() }, Arc::new(clock))
}
