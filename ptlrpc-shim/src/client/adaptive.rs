//! How long to wait for an answer: what a service has needed lately (PR-74).

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Bounds of time-outs that adapt themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adaptive {
    /// The least that a service is reckoned to need.
    pub min: Duration,
    /// The most; 0: time-outs do not adapt themselves, and [`Timeouts::fixed`] counts.
    pub max: Duration,
    /// For how long the longest answer is remembered.
    pub history: Duration,
}

/// How long RPCs may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Lustre's `obd_timeout`: what counts where nothing adapts itself. Pings are a quarter of it apart, and connecting may
    /// take a twentieth, but not less than 5 s (PR-12, PR-62).
    pub fixed: Duration,
    /// Bounds of those that adapt themselves.
    pub adaptive: Adaptive,
    /// Where it is set it is what a try to connect may take, before anything is added for the network.
    pub connect: Option<Duration>,
}

impl Default for Timeouts {
    fn default() -> Self {
        let adaptive = Adaptive {
            min: Duration::ZERO,
            max: Duration::from_secs(600),
            history: Duration::from_secs(600),
        };
        Self { fixed: Duration::from_secs(100), adaptive, connect: None }
    }
}

/// A service is reckoned to need so long before anything is known of it.
const UNKNOWN: Duration = Duration::from_secs(10);
/// No service is reckoned to need less: it says so in whole seconds. Who gives it no more than [`SLACK`] is told at once, by an
/// early reply to every request, that it may take longer.
const LEAST: Duration = Duration::from_secs(1);
/// And so much is added to what it needs, beside a quarter of that.
const SLACK: Duration = Duration::from_secs(5);
/// Into so many parts history is divided.
const PARTS: u32 = 4;

impl Timeouts {
    /// How long a service that is reckoned to need `estimate` is given.
    pub fn of_request(&self, estimate: Option<Duration>) -> Duration {
        if self.adaptive.max.is_zero() {
            return self.fixed;
        }
        let estimate = estimate.unwrap_or(UNKNOWN).max(self.adaptive.min.max(LEAST)).min(self.adaptive.max);
        estimate + estimate / 4 + SLACK
    }

    /// How long a try to connect may take, if the network is reckoned to need so long (PR-62).
    pub fn of_connect(&self, network: Duration) -> Duration {
        self.connect.unwrap_or_else(|| (self.fixed / 20).max(Duration::from_secs(5))) + network
    }

    /// How long what has nothing to do waits before it pings.
    pub fn ping_interval(&self) -> Duration {
        self.fixed / 4
    }
}

/// The longest of what was measured lately.
#[derive(Debug)]
pub struct Longest {
    history: Duration,
    /// When each part of history began, and the longest in it; the latest last.
    parts: VecDeque<(Instant, Duration)>,
}

impl Longest {
    /// Of the last `history`.
    pub const fn of(history: Duration) -> Self {
        Self { history, parts: VecDeque::new() }
    }

    /// Something took so long.
    pub fn measured(&mut self, time: Duration, now: Instant) {
        match self.parts.back_mut() {
            Some((began, longest)) if now.saturating_duration_since(*began) < self.history / PARTS => {
                *longest = time.max(*longest);
            }
            _ => self.parts.push_back((now, time)),
        }
        while self.parts.len() > 1 && self.is_over(now) {
            self.parts.pop_front();
        }
    }

    /// The longest; `None` if nothing has been measured yet. The last that was measured counts until there is another.
    pub fn get(&self, now: Instant) -> Option<Duration> {
        let last = self.parts.back()?;
        let recent =
            self.parts.iter().filter(|(began, _)| now.saturating_duration_since(*began) <= self.history);
        Some(recent.map(|(_, longest)| *longest).max().unwrap_or(last.1))
    }

    fn is_over(&self, now: Instant) -> bool {
        self.parts.front().is_some_and(|(began, _)| now.saturating_duration_since(*began) > self.history)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_service_gets_a_quarter_more_than_it_has_needed_and_five_seconds() {
        let timeouts = Timeouts::default();
        let table = [(None, 10 + 5), (Some(0), 6), (Some(1), 6), (Some(40), 55), (Some(9000), 755)];
        for (estimate, wanted) in table {
            let got = timeouts.of_request(estimate.map(s)).as_secs();
            assert_eq!(got, if estimate.is_none() { 17 } else { wanted }, "{estimate:?}");
        }
        let fixed = Timeouts { adaptive: Adaptive { max: s(0), ..timeouts.adaptive }, ..timeouts };
        assert_eq!(fixed.of_request(Some(s(40))), s(100));
        assert_eq!((timeouts.of_connect(s(0)), timeouts.of_connect(s(10))), (s(5), s(15)));
        assert_eq!(Timeouts { fixed: s(200), ..timeouts }.of_connect(s(0)), s(10));
    }

    #[test]
    fn the_longest_is_remembered_for_a_while() {
        let start = Instant::now();
        let mut longest = Longest::of(s(100));
        assert_eq!(longest.get(start), None);
        longest.measured(s(7), start);
        longest.measured(s(3), start + s(30));
        longest.measured(s(2), start + s(60));
        assert_eq!(longest.get(start + s(60)), Some(s(7)));
        assert_eq!(longest.get(start + s(101)), Some(s(3)));
        assert_eq!(longest.get(start + s(140)), Some(s(2)));
        assert_eq!(longest.get(start + s(9000)), Some(s(2)), "nothing newer is known");
        longest.measured(s(1), start + s(9000));
        assert_eq!(longest.get(start + s(9000)), Some(s(1)));
        for n in 0..1000 {
            longest.measured(s(1), start + s(9000 + n));
        }
        assert!(longest.parts.len() <= 6);
    }
}
