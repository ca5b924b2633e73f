//! A scheduler's own thread stays out of the epoll set while an application's thread polls again and again: this says how long.
//!
//! A wake-up for an event that the other thread takes would cost both of them more than the message. Where CPUs are few, the end of each
//! back-off also delays a message: it is longer for an application that has polled for some time without a pause.

use std::time::Duration;

/// The usual back-off. An event that comes when the application has stopped polling waits for its end, and so does a message that has
/// been postponed.
const USUAL: Duration = Duration::from_millis(1);
/// The back-off for an application that polled in each of the last [`STEADY_LOOKS`] usual ones: it is most likely to go on, and if it
/// does not, the delay is small beside the time for which it polled.
const LONG: Duration = Duration::from_millis(8);
const STEADY_LOOKS: u32 = 64;

/// The back-offs of one thread.
#[derive(Debug, Default)]
pub(crate) struct OwnerBackoff {
    /// The number of polls at the last look.
    polled: u64,
    /// The number of back-offs in a row.
    looks: u32,
}

impl OwnerBackoff {
    /// Returns how long the thread stays out now, if it does: `polled` is the number of polls so far, and `is_polling` whether the
    /// application's thread is in the set at this moment.
    pub(crate) fn next(&mut self, polled: u64, is_polling: bool) -> Option<Duration> {
        let goes_on = polled != self.polled || is_polling;
        self.polled = polled;
        self.looks = if goes_on { self.looks.saturating_add(1) } else { 0 };
        match self.looks {
            0 => None,
            looks if looks <= STEADY_LOOKS => Some(USUAL),
            _ => Some(LONG),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_that_does_not_poll_leaves_the_set_to_the_owner() {
        let mut backoff = OwnerBackoff::default();
        assert_eq!(backoff.next(0, false), None);
        assert_eq!(backoff.next(3, false), Some(USUAL));
        assert_eq!(backoff.next(3, true), Some(USUAL));
        assert_eq!(backoff.next(3, false), None);
    }

    #[test]
    fn only_an_application_that_polls_without_a_pause_gets_long_backoffs() {
        let mut backoff = OwnerBackoff::default();
        let mut steady = |from: u64, count: u32| -> Vec<_> {
            (0..count).map(|look| backoff.next(from + u64::from(look), false)).collect()
        };
        assert!(steady(1, STEADY_LOOKS).iter().all(|it| *it == Some(USUAL)));
        assert_eq!(steady(1000, 2), [Some(LONG), Some(LONG)]);
        assert_eq!(steady(1001, 1), [None], "a pause");
        assert!(steady(2000, STEADY_LOOKS).iter().all(|it| *it == Some(USUAL)));
    }
}
