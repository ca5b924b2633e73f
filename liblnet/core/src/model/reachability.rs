//! The reachability of a peer, as stored.

use crate::environment::time::Time;
use lnet_wire::Reachability;

/// The stored reachability of a peer, and the state that was last logged. Only the monitor thread changes them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Remembered {
    pub(crate) state: Reachability,
    pub(crate) since: Time,
    /// The state that was logged last, and the time of that.
    pub(crate) logged: Reachability,
    pub(crate) logged_at: Option<Time>,
    /// The time at which a resend of a message to the peer was last logged as the first one.
    pub(crate) resend_logged_at: Option<Time>,
}
