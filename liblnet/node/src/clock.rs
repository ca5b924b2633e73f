//! The time that a node is told.

use lnet_core::time::{Clock, Time};
use std::time::Instant;

/// The machine's monotonic clock, from the node's start on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MonotonicClock(Instant);

impl MonotonicClock {
    /// Begins now.
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }
}

impl Clock for MonotonicClock {
    fn now(&self) -> Time {
        Time(self.0.elapsed())
    }
}
