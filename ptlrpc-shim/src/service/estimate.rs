//! How long requests take, as clients are told in replies (PR-74).

use super::config::Adaptive;
use super::early::whole_seconds;
use std::time::{Duration, Instant};

/// The most that a request took of late.
#[derive(Debug)]
pub(super) struct Estimate {
    /// Seconds: the worst of the current quarter of the history, and of those before it.
    quarters: [u32; 4],
    /// When the current one began.
    began: Instant,
}

impl Estimate {
    pub(super) const fn new(now: Instant) -> Self {
        Self { quarters: [0; 4], began: now }
    }

    /// A request took that long; how long the next may take, in seconds.
    pub(super) fn measured(&mut self, adaptive: &Adaptive, now: Instant, took: Duration) -> u32 {
        self.turn(adaptive.at_history / 4, now);
        let took = whole_seconds(took);
        self.quarters[0] = self.quarters[0].max(took);
        let worst = self.quarters.into_iter().fold(0, u32::max);
        worst.max(whole_seconds(adaptive.at_min)).min(whole_seconds(adaptive.at_max))
    }

    fn turn(&mut self, quarter: Duration, now: Instant) {
        let gone = now.saturating_duration_since(self.began).as_nanos() / quarter.as_nanos().max(1);
        if gone > 0 {
            for _ in 0..gone.min(4) {
                self.quarters.rotate_right(1);
                self.quarters[0] = 0;
            }
            self.began = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_took_long_is_remembered_for_a_while() {
        let start = Instant::now();
        let adaptive = Adaptive {
            at_min: Duration::from_secs(2),
            at_max: Duration::from_secs(60),
            at_history: Duration::from_secs(400),
            ..Adaptive::default()
        };
        let mut estimate = Estimate::new(start);
        // Seconds since the start, milliseconds that a request took, what is reckoned then.
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
            let got = estimate.measured(&adaptive, now, Duration::from_millis(took));
            assert_eq!(got, want, "at {at} s");
        }
    }

    #[test]
    fn without_adaptive_time_outs_nothing_is_reckoned() {
        let start = Instant::now();
        let adaptive = Adaptive { at_max: Duration::ZERO, at_history: Duration::ZERO, ..Adaptive::default() };
        assert_eq!(Estimate::new(start).measured(&adaptive, start, Duration::from_secs(9)), 0);
    }
}
