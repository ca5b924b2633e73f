//! Time as the core knows it: it is told, and never looks at a clock of its own.

use std::fmt;
use std::ops::Add;
use std::time::Duration;

/// A moment: so long after the beginning of its clock, which is any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub Duration);

impl Time {
    /// The beginning of the clock.
    pub const START: Self = Self(Duration::ZERO);

    /// How long after `earlier` this is; nothing if it is not after it.
    pub const fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// How long after the beginning of its clock, as the log takes it.
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

/// Tells a node the time. Any thread may ask; it never goes backward.
pub trait Clock: fmt::Debug + Send + Sync {
    /// Now.
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
