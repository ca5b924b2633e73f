//! The estimate of the service time, shared by the threads of a service.

use crate::clock::Time;
use crate::service::config::Adaptive;
use crate::service::rules::early_reply::whole_seconds;
use crate::service::rules::service_estimate::ServiceEstimate;
use lnet_api::sync::lock;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// A [`ServiceEstimate`] that is mostly read without its lock: seldom a request takes longer than all of the last minutes.
#[derive(Debug)]
pub(crate) struct SharedEstimate {
    state: Mutex<ServiceEstimate>,
    /// Times before this do not change the estimate if they are short: nanoseconds from the start of the clock on. Who writes it has the lock,
    /// and writes it last of the three; it is read first.
    until: AtomicU64,
    /// Seconds: such a time is short. They are read before the estimate, and written after it.
    counted: AtomicU32,
    /// The estimate, in seconds.
    estimate: AtomicU32,
}

impl SharedEstimate {
    pub(crate) const fn new(now: Time) -> Self {
        Self {
            state: Mutex::new(ServiceEstimate::new(now)),
            until: AtomicU64::new(0),
            counted: AtomicU32::new(0),
            estimate: AtomicU32::new(0),
        }
    }

    /// Adds the time that a request took; returns the estimate, in seconds.
    pub(crate) fn add(&self, adaptive: &Adaptive, now: Time, took: Duration) -> u32 {
        if nanoseconds(now) < self.until.load(Ordering::Acquire)
            && whole_seconds(took) <= self.counted.load(Ordering::Acquire)
        {
            return self.estimate.load(Ordering::Relaxed);
        }
        let mut state = lock(&self.state);
        let estimate = state.add(adaptive, now, took);
        let (counted, until) = state.holds();
        self.estimate.store(estimate, Ordering::Relaxed);
        self.counted.store(counted, Ordering::Release);
        self.until.store(nanoseconds(until), Ordering::Release);
        estimate
    }
}

/// Nanoseconds from the start of the clock on: enough for 500 years.
const fn nanoseconds(time: Time) -> u64 {
    time.0.as_secs().saturating_mul(1_000_000_000).saturating_add(time.0.subsec_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Fails if a time that changes the estimate is taken for one that does not.
        #[test]
        fn it_is_the_estimate(steps in prop::collection::vec((0_u64..400, 0_u64..30_000), 1..60)) {
            let adaptive = Adaptive { at_history: Duration::from_secs(400), ..Adaptive::default() };
            let mut now = Time::START;
            let (shared, mut plain) = (SharedEstimate::new(now), ServiceEstimate::new(now));
            for (pause, took) in steps {
                now += Duration::from_secs(pause);
                let took = Duration::from_millis(took);
                prop_assert_eq!(shared.add(&adaptive, now, took), plain.add(&adaptive, now, took));
            }
        }
    }
}
