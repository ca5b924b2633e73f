//! The one clock of a simulated world: it stands still until the world sets it.

use lnet_core::{Clock, Time};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Virtual time, to the nanosecond, for 500 years.
#[derive(Debug, Default)]
pub struct SimClock(AtomicU64);

impl SimClock {
    /// Sets the clock; it never goes backward.
    pub fn advance_to(&self, time: Time) {
        let nanos = u64::try_from(time.0.as_nanos()).unwrap_or(u64::MAX);
        self.0.fetch_max(nanos, Ordering::Relaxed);
    }
}

impl Clock for SimClock {
    fn now(&self) -> Time {
        Time(Duration::from_nanos(self.0.load(Ordering::Relaxed)))
    }
}
