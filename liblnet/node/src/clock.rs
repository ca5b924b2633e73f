//! The one clock of a node. The core, its threads, the TCP driver, heat and shutdown read it.
//!
//! Other clocks measure the deadlines of event waits, of spinning and of delivery ACKs that wait for a message, which
//! must be exact to microseconds, and those of control sockets, which bound system calls and never reach the core.

use lnet_core::time::{Clock, Time};
use nix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// The machine's monotonic clock as of the last tick, up to some milliseconds ago, relative to the node's start. It
/// is read for every message; reading the exact time, which only measured delays need, takes several times as long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MonotonicClock(Duration);

impl MonotonicClock {
    /// Starts the clock at the present time.
    pub(crate) fn start() -> Self {
        Self(last_tick())
    }
}

impl Clock for MonotonicClock {
    fn now(&self) -> Time {
        Time(last_tick().saturating_sub(self.0))
    }

    fn exact(&self) -> Time {
        Time(read(ClockId::CLOCK_MONOTONIC).saturating_sub(self.0))
    }
}

/// The time of the last tick.
fn last_tick() -> Duration {
    read(ClockId::CLOCK_MONOTONIC_COARSE)
}

/// Reads a clock by the C library: `rustix` reads memory that a program under valgrind does not have.
fn read(clock: ClockId) -> Duration {
    // Cannot fail: every Linux has these clocks.
    clock_gettime(clock).map_or(Duration::ZERO, Duration::from)
}
