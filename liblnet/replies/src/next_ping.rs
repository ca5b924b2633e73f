//! When an interface is pinged to see whether it works again.

use lnet_core::Time;
use lnet_core::health::Recovery;

/// The schedule of an interface's recovery pings.
pub(super) struct NextPing {
    /// The number of pings since the interface last responded.
    pub(super) ping_count: u64,
    /// The time of the next ping in seconds on the node's clock; 0 for a healthy interface.
    pub(super) at: u64,
    /// The seconds until the next ping; `None` for a healthy interface.
    pub(super) seconds: Option<u64>,
}

impl NextPing {
    pub(super) fn new(now: Time, recovery: Recovery) -> Self {
        Self {
            ping_count: recovery.ping_count.into(),
            at: recovery.next_ping.map_or(0, |at| at.0.as_secs()),
            seconds: recovery.next_ping.map(|at| at.since(now).as_secs()),
        }
    }
}
