//! The estimate of the service time, which replies carry to clients (PR-74).

use super::early_reply::whole_seconds;
use crate::clock::Time;
use crate::service::config::Adaptive;
use std::time::Duration;

/// The maximum of the times that requests took lately.
#[derive(Debug)]
pub(crate) struct ServiceEstimate {
    /// Seconds: the maximum of the current quarter of the history, and of the quarters before it.
    quarters: [u32; 4],
    /// The begin of the current quarter, and its end.
    began: Time,
    end: Time,
}

impl ServiceEstimate {
    pub(crate) const fn new(now: Time) -> Self {
        Self { quarters: [0; 4], began: now, end: now }
    }

    /// Adds the time that a request took; returns the estimate, in seconds.
    pub(crate) fn add(&mut self, adaptive: &Adaptive, now: Time, took: Duration) -> u32 {
        if now >= self.end {
            self.rotate(adaptive.at_history / 4, now);
        }
        let took = whole_seconds(took);
        self.quarters[0] = self.quarters[0].max(took);
        let max = self.quarters.into_iter().fold(0, u32::max);
        max.max(whole_seconds(adaptive.at_min)).min(whole_seconds(adaptive.at_max))
    }

    /// The least time that the current estimate already counts, in seconds, and until when: shorter ones do not change it until then.
    pub(crate) const fn holds(&self) -> (u32, Time) {
        (self.quarters[0], self.end)
    }

    fn rotate(&mut self, quarter: Duration, now: Time) {
        let gone = now.since(self.began).as_nanos() / quarter.as_nanos().max(1);
        if gone > 0 {
            for _ in 0..gone.min(4) {
                self.quarters.rotate_right(1);
                self.quarters[0] = 0;
            }
            self.began = now;
        }
        self.end = self.began + quarter;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_counts_for_the_length_of_the_history() {
        let start = Time::START;
        let adaptive = Adaptive {
            at_min: Duration::from_secs(2),
            at_max: Duration::from_secs(60),
            at_history: Duration::from_secs(400),
            ..Adaptive::default()
        };
        let mut estimate = ServiceEstimate::new(start);
        // Seconds since the start, milliseconds that a request took, the estimate then.
        for (at, took, want) in [
            (0, 10, 2),
            (1, 20_001, 21),
            (99, 1, 21),
            (200, 5_000, 21),
            (300, 1, 21),
            (399, 1, 21),
            (500, 1, 5),
            (2000, 1, 2),
            (2001, 100_000, 60),
        ] {
            let now = start + Duration::from_secs(at);
            let got = estimate.add(&adaptive, now, Duration::from_millis(took));
            assert_eq!(got, want, "at {at} s");
        }
    }

    #[test]
    fn without_adaptive_timeouts_the_estimate_is_zero() {
        let start = Time::START;
        let adaptive = Adaptive { at_max: Duration::ZERO, at_history: Duration::ZERO, ..Adaptive::default() };
        assert_eq!(ServiceEstimate::new(start).add(&adaptive, start, Duration::from_secs(9)), 0);
    }
}
