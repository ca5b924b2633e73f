//! The pace at which a peer NI sends large messages, by which a router decides whether to send them on while they arrive.

use crate::environment::time::Time;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The longest time from the first part of a large payload to its end at which the sender counts as quick.
const QUICK: Duration = Duration::from_millis(50);
/// The time for which a sender does not count as quick after a message that was sent on has not arrived in time or at all.
const SHUNNED: Duration = Duration::from_secs(60);

/// The pace of a peer NI, as the last large payloads from it have shown it.
#[derive(Debug, Default)]
pub(crate) struct SenderPace {
    /// Whether the last large payload has arrived quickly.
    quick: AtomicBool,
    /// The time before which the sender does not count as quick, in nanoseconds.
    not_before: AtomicU64,
}

impl SenderPace {
    /// Whether the rest of a payload that has begun to arrive at `now` can be expected soon.
    pub(crate) fn is_quick(&self, now: Time) -> bool {
        self.quick.load(Ordering::Relaxed) && nanoseconds(now) >= self.not_before.load(Ordering::Relaxed)
    }

    /// Records the time that a large payload took from its first part to its end.
    pub(crate) fn note_arrival(&self, took: Duration) {
        self.quick.store(took <= QUICK, Ordering::Relaxed);
    }

    /// Records that a message which was sent on while it arrived had to be abandoned because of the sender.
    pub(crate) fn note_abandoned(&self, now: Time) {
        self.not_before.store(nanoseconds(now + SHUNNED), Ordering::Relaxed);
    }
}

fn nanoseconds(time: Time) -> u64 {
    u64::try_from(time.0.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_sender_is_quick_after_a_quick_message_until_a_slow_one() {
        let (pace, now) = (SenderPace::default(), Time::START);
        assert!(!pace.is_quick(now), "nothing is known");
        for (took, quick) in [(0, true), (50, true), (51, false), (10, true)] {
            pace.note_arrival(Duration::from_millis(took));
            assert_eq!(pace.is_quick(now), quick, "{took} ms");
        }
    }

    #[test]
    fn a_sender_whose_message_was_abandoned_is_not_quick_for_a_minute_however_quick_others_are() {
        let (pace, now) = (SenderPace::default(), Time::START + Duration::from_secs(5));
        pace.note_arrival(Duration::ZERO);
        pace.note_abandoned(now);
        pace.note_arrival(Duration::ZERO);
        assert!(!pace.is_quick(now));
        assert!(!pace.is_quick(now + (SHUNNED - Duration::from_nanos(1))));
        assert!(pace.is_quick(now + SHUNNED));
    }
}
