//! The time that a node is told.

use lnet_core::time::{Clock, Time};
use nix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// The machine's monotonic clock, from the node's start on, as of the last tick: some milliseconds ago. Every message
/// asks, and what is exact takes several times as long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MonotonicClock(Duration);

impl MonotonicClock {
    /// Begins now.
    pub(crate) fn start() -> Self {
        Self(last_tick())
    }
}

impl Clock for MonotonicClock {
    fn now(&self) -> Time {
        Time(last_tick().saturating_sub(self.0))
    }
}

/// By the C library: what `rustix` does instead reads memory that a program under valgrind does not have.
fn last_tick() -> Duration {
    // A clock that every Linux has.
    clock_gettime(ClockId::CLOCK_MONOTONIC_COARSE).map_or(Duration::ZERO, Duration::from)
}
