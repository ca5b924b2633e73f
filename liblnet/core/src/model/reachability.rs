//! The reachability of a peer, as stored.

use super::Settling;
use crate::environment::time::Time;
use lnet_wire::{Errno, Reachability};

/// The stored reachability of a peer, and the state that was last logged. Only the monitor thread changes them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Remembered {
    pub(crate) settling: Settling<Reachability>,
    /// The time of the last line.
    pub(crate) logged_at: Option<Time>,
    /// Whether lines about routes or about interfaces of this node told of that state.
    pub(crate) is_said_elsewhere: bool,
    /// The failures since then.
    pub(crate) outage: Outage,
}

/// The failures of messages to a peer since its last change of state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outage {
    /// Messages to the peer that were resent.
    pub(crate) resent: u32,
    /// Messages to the peer that were given up.
    pub(crate) failed: u32,
    /// The error of the last one.
    pub(crate) last: Option<Errno>,
}

impl Outage {
    /// Counts a message that is resent after this error.
    pub(crate) const fn note_resend(&mut self, errno: Errno) {
        self.resent = self.resent.saturating_add(1);
        self.last = Some(errno);
    }

    /// Counts a message that is given up for this error.
    pub(crate) const fn note_failure(&mut self, errno: Errno) {
        self.failed = self.failed.saturating_add(1);
        self.last = Some(errno);
    }
}
