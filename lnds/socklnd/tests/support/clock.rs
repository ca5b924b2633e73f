//! Clocks of the nodes under test.

use super::wait_for;
use lnet_core::{Clock, Time};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A clock that starts at its creation.
#[derive(Debug)]
struct RunningClock(Instant);

impl Clock for RunningClock {
    fn now(&self) -> Time {
        Time(self.0.elapsed())
    }
}

pub fn running_clock() -> Arc<dyn Clock> {
    Arc::new(RunningClock(Instant::now()))
}

/// A clock that stands still until a test advances it. The driver reads it when its connecting thread wakes, which it does
/// at least once in the interval of its scans.
#[derive(Debug, Default)]
pub struct ManualClock(Mutex<Duration>);

impl ManualClock {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    pub fn advance(&self, by: Duration) {
        *self.0.lock().unwrap() += by;
    }

    /// Advances by `step` again and again until `condition` holds.
    pub fn advance_until(&self, step: Duration, what: &str, mut condition: impl FnMut() -> bool) {
        wait_for(what, || {
            self.advance(step);
            condition()
        });
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        Time(*self.0.lock().unwrap())
    }
}
