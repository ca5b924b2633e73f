//! Time in the core: all time comes from the one [`Clock`] of the node.

use std::fmt;
use std::ops::Add;
use std::time::Duration;

/// A point in time, relative to the start of its clock, which is arbitrary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub Duration);

impl Time {
    /// The start of the clock.
    pub const START: Self = Self(Duration::ZERO);

    /// The duration since `earlier`; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// The duration since the start of the clock, for the log.
impl From<Time> for Duration {
    fn from(time: Time) -> Self {
        time.0
    }
}

impl Add<Duration> for Time {
    type Output = Self;

    fn add(self, later: Duration) -> Self {
        Self(self.0.saturating_add(later))
    }
}

/// The clock of a node. Any thread may call it; it never goes backward.
pub trait Clock: fmt::Debug + Send + Sync {
    /// Returns the current time.
    fn now(&self) -> Time;
}

/// A clock that stands still, for nodes in which nothing waits.
#[derive(Clone, Copy, Debug, Default)]
pub struct StoppedClock;

impl Clock for StoppedClock {
    fn now(&self) -> Time {
        Time::START
    }
}
