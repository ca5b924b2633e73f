//! The clock that all timeouts of a client or a service use. It is passed in when they start.

use crate::sync::lock;
use std::fmt;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A clock that never goes backward. Can be read from any thread.
pub trait Clock: fmt::Debug + Send + Sync {
    /// Returns the current time.
    fn now(&self) -> Instant;

    /// Returns how long, in real time, a thread may sleep that waits until `left` has passed on this clock. The thread then
    /// reads the clock again.
    fn sleep_limit(&self, left: Duration) -> Duration {
        left
    }
}

/// The machine's monotonic clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        Instant::now()
    }
}

/// A clock that changes only when it is advanced, for tests.
#[derive(Debug)]
pub struct ManualClock(Mutex<Instant>);

impl ManualClock {
    /// A thread that waits for this clock reads it again after this real time.
    const POLL_INTERVAL: Duration = Duration::from_millis(1);

    /// Advances the clock.
    pub fn advance(&self, by: Duration) {
        *lock(&self.0) += by;
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self(Mutex::new(Instant::now()))
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Instant {
        *lock(&self.0)
    }

    fn sleep_limit(&self, left: Duration) -> Duration {
        left.min(Self::POLL_INTERVAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_shows_what_it_was_advanced_by() {
        let clock = ManualClock::default();
        let start = clock.now();
        assert_eq!(clock.now(), start);
        clock.advance(Duration::from_secs(9));
        assert_eq!(clock.now(), start + Duration::from_secs(9));
        assert!(clock.sleep_limit(Duration::from_secs(9)) < Duration::from_secs(1));
        assert_eq!(SystemClock.sleep_limit(Duration::from_secs(9)), Duration::from_secs(9));
    }
}
