//! The reachability of a peer, as stored.

use crate::environment::time::Time;
use lnet_wire::Reachability;

/// The stored reachability of a peer. Written by the monitor thread only.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Remembered {
    pub(crate) state: Reachability,
    pub(crate) since: Time,
    /// The state that was logged last, and when.
    pub(crate) logged: Reachability,
    pub(crate) logged_at: Option<Time>,
}
