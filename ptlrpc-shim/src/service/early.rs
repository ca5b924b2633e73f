//! When a client is told to wait longer, and for how long (PR-72, PR-74).

use super::config::Adaptive;
use std::time::{Duration, Instant};

/// How long a client waits for its answer: the seconds that it said, or that it was told last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Patience {
    /// When the request came.
    pub(super) arrived: Instant,
    /// Seconds from then on; never more than fit into a time.
    seconds: u32,
}

impl Patience {
    /// `longest`: at most that, whatever the client says.
    pub(super) fn new(arrived: Instant, seconds: u32, longest: Duration) -> Self {
        Self { arrived, seconds: seconds.min(whole_seconds(longest)) }
    }

    /// When the client gives up.
    pub(super) fn deadline(self) -> Instant {
        self.arrived.checked_add(Duration::from_secs(self.seconds.into())).unwrap_or(self.arrived)
    }

    /// What an early reply says: from the arrival on.
    pub(super) const fn seconds(self) -> u32 {
        self.seconds
    }
}

/// When an early reply is due, if the request is not answered before. `None`: the client has had all that it gets.
///
/// Not earlier than [`Adaptive::at_extra`] before the deadline, where it would put it off by nothing; and not in the first
/// half of the time, in which most requests are answered, however short that is.
pub(super) fn due(adaptive: &Adaptive, patience: Patience) -> Option<Instant> {
    if patience.seconds >= whole_seconds(adaptive.at_max) {
        return None;
    }
    let half = Duration::from_secs(patience.seconds.into()) / 2;
    let before = adaptive.at_early_margin.min(adaptive.at_extra).min(half);
    let due = patience.deadline().checked_sub(before).unwrap_or(patience.arrived);
    Some(due.max(patience.arrived))
}

/// How long the client is to wait from now on: what has gone by and [`Adaptive::at_extra`], in any case a second longer
/// than before. `None`: it has given up, or has had all that it gets.
pub(super) fn extended(adaptive: &Adaptive, patience: Patience, now: Instant) -> Option<Patience> {
    if now >= patience.deadline() {
        return None;
    }
    let estimate = now.saturating_duration_since(patience.arrived).saturating_add(adaptive.at_extra);
    let seconds = whole_seconds(estimate.max(adaptive.at_min))
        .max(patience.seconds.saturating_add(1))
        .min(whole_seconds(adaptive.at_max));
    (seconds > patience.seconds).then_some(Patience { seconds, ..patience })
}

/// Seconds, a part of one for a whole one.
pub(super) fn whole_seconds(time: Duration) -> u32 {
    let more = u64::from(time.subsec_nanos() > 0);
    u32::try_from(time.as_secs().saturating_add(more)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    fn adaptive(at_min: u64, at_max: u64, at_extra: u64, at_early_margin: u64) -> Adaptive {
        Adaptive {
            at_min: secs(at_min),
            at_max: secs(at_max),
            at_extra: secs(at_extra),
            at_early_margin: secs(at_early_margin),
            at_history: secs(600),
        }
    }

    #[test]
    fn when_an_early_reply_is_due() {
        let start = Instant::now();
        // At_max, at_extra, margin; seconds that the client waits; due after so many milliseconds.
        for (at_max, extra, margin, waits, want) in [
            (600, 30, 5, 10, Some(5000)),
            (600, 30, 5, 100, Some(95_000)),
            (600, 30, 5, 3, Some(1500)),
            (600, 30, 5, 599, Some(594_000)),
            (600, 30, 5, 600, None),
            (600, 30, 5, 900, None),
            (0, 30, 5, 10, None),
            (600, 2, 5, 10, Some(8000)),
            (600, 30, 0, 10, Some(10_000)),
        ] {
            let patience = Patience::new(start, waits, secs(3600));
            let got = due(&adaptive(0, at_max, extra, margin), patience);
            assert_eq!(
                got,
                want.map(|after| start + Duration::from_millis(after)),
                "{at_max} {extra} {margin} {waits}"
            );
        }
    }

    #[test]
    fn how_long_the_client_is_to_wait() {
        let start = Instant::now();
        // At_min, at_max, at_extra; seconds that the client waits, seconds gone by; what it is told.
        for (at_min, at_max, extra, waits, gone, want) in [
            (0, 600, 30, 10, 5, Some(35)),
            (0, 600, 30, 35, 30, Some(60)),
            (100, 600, 30, 10, 5, Some(100)),
            (0, 600, 30, 599, 594, Some(600)),
            (0, 600, 30, 600, 595, None),
            (0, 600, 30, 10, 10, None),
            (0, 600, 30, 10, 11, None),
            (0, 0, 30, 10, 5, None),
            (0, 600, 5, 100, 1, Some(101)),
        ] {
            let patience = Patience::new(start, waits, secs(3600));
            let got = extended(&adaptive(at_min, at_max, extra, 5), patience, start + secs(gone));
            assert_eq!(got.map(Patience::seconds), want, "{at_min} {at_max} {extra} {waits} {gone}");
        }
    }

    #[test]
    fn no_client_makes_a_request_live_longer_than_it_may() {
        let start = Instant::now();
        for (says, longest, want) in [(10, 600, 10), (u32::MAX, 600, 600), (0, 600, 0)] {
            let patience = Patience::new(start, says, secs(longest));
            assert_eq!((patience.seconds(), patience.deadline()), (want, start + secs(want.into())));
        }
    }

    #[test]
    fn a_part_of_a_second_is_a_second() {
        for (millis, want) in [(0, 0), (1, 1), (1000, 1), (1001, 2)] {
            assert_eq!(whole_seconds(Duration::from_millis(millis)), want, "{millis} ms");
        }
        assert_eq!(whole_seconds(Duration::MAX), u32::MAX);
    }

    proptest! {
        /// Whatever the settings: who sends early replies when they are due gets on by whole seconds, and comes to an end.
        #[test]
        fn early_replies_come_to_an_end(at_max in 0_u64..50, extra in 0_u64..50, margin in 0_u64..50, waits in 1_u32..60) {
            let settings = adaptive(0, at_max, extra, margin);
            let mut patience = Patience::new(Instant::now(), waits, secs(3600));
            let mut sent = 0;
            while let Some(due) = due(&settings, patience) {
                let Some(next) = extended(&settings, patience, due) else { break };
                prop_assert!(next.deadline() >= patience.deadline() + secs(1));
                prop_assert!(u64::from(next.seconds()) <= at_max);
                patience = next;
                sent += 1;
            }
            prop_assert!(sent <= 50);
        }
    }
}
