//! The reachability of a peer, as stored.

use crate::environment::time::Time;
use lnet_wire::Reachability;

/// The stored reachability of a peer, and what was logged of it. The reachability is written by the monitor thread only.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Remembered {
    pub(crate) state: Reachability,
    pub(crate) since: Time,
    /// The state that was logged last, and when.
    pub(crate) logged: Reachability,
    pub(crate) logged_at: Option<Time>,
    /// When the resend of a message to it was last logged as the first one.
    pub(crate) resend_logged_at: Option<Time>,
}
