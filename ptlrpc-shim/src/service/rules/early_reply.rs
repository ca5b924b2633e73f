//! Early replies: when the timeout of a client is extended, and by how much (PR-72, PR-74).

use crate::clock::Time;
use crate::service::config::Adaptive;
use std::time::Duration;

/// The timeout of a request at its client: from the request, or the last early reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClientTimeout {
    /// The time at which the request arrived.
    pub(crate) arrived: Time,
    /// Seconds from then on.
    seconds: u32,
}

impl ClientTimeout {
    /// Makes a timeout of the seconds that the client announced, at most `longest`.
    pub(crate) fn new(arrived: Time, seconds: u32, longest: Duration) -> Self {
        Self { arrived, seconds: seconds.min(whole_seconds(longest)) }
    }

    /// The time at which the client gives up.
    pub(crate) fn deadline(self) -> Time {
        self.arrived + Duration::from_secs(self.seconds.into())
    }

    /// The timeout that an early reply carries, in seconds from the arrival on.
    pub(crate) const fn seconds(self) -> u32 {
        self.seconds
    }
}

/// The time at which an early reply is due, if there is no reply before. `None`: the timeout has reached [`Adaptive::at_max`].
///
/// Not earlier than [`Adaptive::at_extra`] before the deadline, where it would not extend it; and not in the first half of
/// the time, in which most requests are served.
pub(crate) fn due(adaptive: &Adaptive, timeout: ClientTimeout) -> Option<Time> {
    if timeout.seconds >= whole_seconds(adaptive.at_max) {
        return None;
    }
    let before = adaptive.at_early_margin.min(adaptive.at_extra);
    let half = Duration::from_millis(500 * u64::from(timeout.seconds));
    Some(timeout.arrived + if before < half { 2 * half - before } else { half })
}

/// The timeout that the next early reply carries: the time since the arrival and [`Adaptive::at_extra`], at least a second more
/// than before. `None`: the client has given up, or the timeout has reached [`Adaptive::at_max`].
pub(crate) fn extended(adaptive: &Adaptive, timeout: ClientTimeout, now: Time) -> Option<ClientTimeout> {
    if now >= timeout.deadline() {
        return None;
    }
    let estimate = now.since(timeout.arrived).saturating_add(adaptive.at_extra);
    let seconds = whole_seconds(estimate.max(adaptive.at_min))
        .max(timeout.seconds.saturating_add(1))
        .min(whole_seconds(adaptive.at_max));
    (seconds > timeout.seconds).then_some(ClientTimeout { seconds, ..timeout })
}

/// Converts a time to seconds, rounded up.
pub(crate) fn whole_seconds(time: Duration) -> u32 {
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
        let start = Time::START;
        // The values of at_max, at_extra, margin; the seconds that the client waits; the milliseconds after which the reply
        // is due.
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
            let timeout = ClientTimeout::new(start, waits, secs(3600));
            let got = due(&adaptive(0, at_max, extra, margin), timeout);
            assert_eq!(
                got,
                want.map(|after| start + Duration::from_millis(after)),
                "{at_max} {extra} {margin} {waits}"
            );
        }
    }

    #[test]
    fn what_an_early_reply_extends_the_timeout_to() {
        let start = Time::START;
        // at_min, at_max, at_extra; seconds that the client waits, seconds gone by; the timeout in the early reply.
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
            let timeout = ClientTimeout::new(start, waits, secs(3600));
            let got = extended(&adaptive(at_min, at_max, extra, 5), timeout, start + secs(gone));
            assert_eq!(got.map(ClientTimeout::seconds), want, "{at_min} {at_max} {extra} {waits} {gone}");
        }
    }

    #[test]
    fn the_timeout_of_a_client_is_limited() {
        let start = Time::START;
        for (says, longest, want) in [(10, 600, 10), (u32::MAX, 600, 600), (0, 600, 0)] {
            let timeout = ClientTimeout::new(start, says, secs(longest));
            assert_eq!((timeout.seconds(), timeout.deadline()), (want, start + secs(want.into())));
        }
    }

    #[test]
    fn seconds_are_rounded_up() {
        for (millis, want) in [(0, 0), (1, 1), (1000, 1), (1001, 2)] {
            assert_eq!(whole_seconds(Duration::from_millis(millis)), want, "{millis} ms");
        }
        assert_eq!(whole_seconds(Duration::MAX), u32::MAX);
    }

    proptest! {
        /// Fails if, with any settings, an early reply does not extend the deadline by whole seconds, or early replies never end.
        #[test]
        fn early_replies_come_to_an_end(at_max in 0_u64..50, extra in 0_u64..50, margin in 0_u64..50, waits in 1_u32..60) {
            let settings = adaptive(0, at_max, extra, margin);
            let mut timeout = ClientTimeout::new(Time::START, waits, secs(3600));
            let mut sent = 0;
            while let Some(due) = due(&settings, timeout) {
                let Some(next) = extended(&settings, timeout, due) else { break };
                prop_assert!(next.deadline() >= timeout.deadline() + secs(1));
                prop_assert!(u64::from(next.seconds()) <= at_max);
                timeout = next;
                sent += 1;
            }
            prop_assert!(sent <= 50);
        }
    }
}
