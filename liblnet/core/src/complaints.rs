//! What the log says of peers: so seldom, for each reason, that none of them can fill it.
//!
//! Counted for the node, not for each peer: one that lies may have as many names as it likes.

use crate::core::Core;
use crate::environment::time::Time;
use crate::sync::{Mutex, lock};
use log::Level;
use std::time::Duration;

/// The target of log records that tell that something is in another state, each once: whoever thins out the log leaves
/// these in.
pub const STATE_CHANGES: &str = "lnet::state";

/// Lines that one reason gets in a [`WHILE`].
const MOST_LINES: u32 = 10;
const WHILE: Duration = Duration::from_secs(60);

/// Why there is a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// What a peer says of itself cannot be read.
    Nonsense,
    /// A peer speaks for another.
    InAnothersName,
    /// A peer does not get a NID that it says it has.
    Refused,
    /// A peer is not what it is known to be, and stays that.
    Differs,
    /// A peer is forgotten.
    Forgotten,
    /// A peer cannot be discovered.
    Failed,
    /// A message is sent by another way.
    Switched,
    /// A path is unresponsive, or responsive again.
    Path,
    /// What is sick does not get well.
    Recovery,
    /// No answer came in time.
    NoAnswer,
    /// An interface of this node's is in another state, by its health alone: that may change with every message.
    State,
    /// Others ask for more than they get.
    TooMany,
    /// A message is dropped: one that arrived, or one that could not be sent.
    Dropped,
}

/// The lines of each reason.
#[derive(Debug, Default)]
pub(crate) struct Complaints([Mutex<Lines>; 13]);

/// The lines of one reason: ten a minute. For drivers, too.
#[derive(Debug, Default)]
pub struct Lines {
    since: Time,
    said: u32,
    left_out: u64,
}

impl Core {
    /// Says it in the log, or counts that it was not said.
    pub(crate) fn complain(&self, reason: Reason, level: Level, line: impl std::fmt::Display) {
        let Some(lines) = self.complaints.0.get(reason as usize) else { return };
        let admitted = lock(lines).admit(self.env.now());
        match admitted {
            Some(0) => log::log!(level, "{line}"),
            Some(left_out) => log::log!(level, "{line} ({left_out} such lines before it were left out)"),
            None => {}
        }
    }
}

/// Says in the log that something is in another state; never suppressed.
pub(crate) fn log_state_change(level: Level, line: impl std::fmt::Display) {
    log::log!(target: STATE_CHANGES, level, "{line}");
}

impl Lines {
    /// Whether there is room for one more now, and how many have been left out since the last.
    pub fn admit(&mut self, now: Time) -> Option<u64> {
        if self.since + WHILE <= now {
            (self.since, self.said) = (now, 0);
        }
        if self.said >= MOST_LINES {
            self.left_out += 1;
            return None;
        }
        self.said += 1;
        Some(std::mem::take(&mut self.left_out))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_reasons_is_a_few_lines_a_minute_and_the_rest_is_counted() {
        let mut lines = Lines::default();
        let mut admitted = |seconds, times: usize| {
            let now = Time(Duration::from_secs(seconds));
            (0..times).filter_map(|_| lines.admit(now)).collect::<Vec<_>>()
        };
        assert_eq!(admitted(0, 1000), [0; 10]);
        assert_eq!(admitted(59, 10), []);
        assert_eq!(admitted(60, 2), [1000, 0]);
        assert_eq!(admitted(119, 100), [0; 8]);
        assert_eq!(admitted(500, 1), [92]);
    }
}
