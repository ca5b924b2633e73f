//! What the log says of connecting peers and peers: so seldom, for each reason, that none of them can fill it.

use crate::sync::lock;
use lnet_core::Time;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Why there is a line.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reason {
    /// A connecting peer's port is not one that is accepted.
    Rejected,
    /// What a connecting peer says cannot be understood, or is not for this node.
    Nonsense,
    /// There are too many connecting peers.
    LimitReached,
    /// The system lets no connecting peer in.
    NoDescriptor,
    /// A peer breaks the protocol.
    Broken,
    /// Something takes a peer too long.
    Stalled,
    /// A peer cannot be called.
    NotConnected,
}

/// The lines of each reason.
#[derive(Debug)]
pub(crate) struct Complaints {
    since: Instant,
    lines: [Mutex<Lines>; 7],
}

impl Default for Complaints {
    fn default() -> Self {
        Self { since: Instant::now(), lines: Default::default() }
    }
}

impl Complaints {
    /// Says it, or counts that it was not said.
    pub(crate) fn say(&self, reason: Reason, line: std::fmt::Arguments<'_>) {
        let Some(lines) = self.lines.get(reason as usize) else { return };
        let admitted = lock(lines).admit(Time(self.since.elapsed()));
        match admitted {
            Some(0) => log::warn!("{line}"),
            Some(left_out) => log::warn!("{line} ({left_out} such lines before it were left out)"),
            None => {}
        }
    }
}

/// The lines of one reason: ten a minute.
#[derive(Debug, Default)]
struct Lines {
    since: Time,
    said: u32,
    left_out: u64,
}

impl Lines {
    /// Whether there is room for one more now, and how many have been left out since the last.
    fn admit(&mut self, now: Time) -> Option<u64> {
        if self.since + Duration::from_secs(60) <= now {
            (self.since, self.said) = (now, 0);
        }
        if self.said >= 10 {
            self.left_out += 1;
            return None;
        }
        self.said += 1;
        Some(std::mem::take(&mut self.left_out))
    }
}
