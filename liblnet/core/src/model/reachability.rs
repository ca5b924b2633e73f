//! Whether a peer can be reached, as far as this node has noticed.

use crate::environment::time::Time;
use lnet_wire::Reachability;

/// What is remembered of a peer's reachability. Written by the monitor's thread only.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Remembered {
    pub(crate) state: Reachability,
    pub(crate) since: Time,
    /// What the log was told last, and when.
    pub(crate) logged: Reachability,
    pub(crate) logged_at: Option<Time>,
}
