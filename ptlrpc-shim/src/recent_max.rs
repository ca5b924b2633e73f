//! The maximum of recent measurements.

use crate::clock::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// The number of parts of the history, for each of which the maximum is kept.
const PARTS: u64 = 4;

/// The maximum of the durations that were measured in the last `history`.
#[derive(Debug)]
pub(crate) struct RecentMax {
    history: Duration,
    /// The length of a part of the history.
    part: Duration,
    /// The begin of the latest part of the history, and its maximum.
    latest: Option<(Time, Duration)>,
    /// The same of the parts before, the oldest first.
    before: VecDeque<(Time, Duration)>,
    /// The end of the latest part.
    part_end: Time,
}

impl RecentMax {
    /// A maximum without measurements.
    pub(crate) const fn new(history: Duration) -> Self {
        Self {
            history,
            part: Duration::from_nanos(history.as_nanos() as u64 / PARTS),
            latest: None,
            before: VecDeque::new(),
            part_end: Time::START,
        }
    }

    /// Adds a measurement.
    #[inline]
    pub(crate) fn add(&mut self, duration: Duration, now: Time) {
        match &mut self.latest {
            Some((_, max)) if now < self.part_end => *max = duration.max(*max),
            _ => self.begin_part(duration, now),
        }
    }

    #[cold]
    fn begin_part(&mut self, duration: Duration, now: Time) {
        self.before.extend(self.latest.replace((now, duration)));
        self.part_end = now + self.part;
        while self.before.front().is_some_and(|(began, _)| now.since(*began) > self.history) {
            self.before.pop_front();
        }
    }

    /// The maximum; `None` if nothing has been measured. The last measurement counts until there is another.
    #[inline]
    pub(crate) fn get(&self, now: Time) -> Option<Duration> {
        let (_, latest) = self.latest?;
        if self.before.is_empty() { Some(latest) } else { Some(self.max_of_parts(latest, now)) }
    }

    #[cold]
    fn max_of_parts(&self, latest: Duration, now: Time) -> Duration {
        let recent =
            self.before.iter().chain(&self.latest).filter(|(began, _)| now.since(*began) <= self.history);
        recent.map(|(_, max)| *max).max().unwrap_or(latest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_maximum_counts_for_the_length_of_the_history() {
        let start = Time::START;
        let mut max = RecentMax::new(s(100));
        assert_eq!(max.get(start), None);
        max.add(s(7), start);
        max.add(s(3), start + s(30));
        max.add(s(2), start + s(60));
        assert_eq!(max.get(start + s(60)), Some(s(7)));
        assert_eq!(max.get(start + s(101)), Some(s(3)));
        assert_eq!(max.get(start + s(140)), Some(s(2)));
        assert_eq!(max.get(start + s(9000)), Some(s(2)), "there is no newer measurement");
        max.add(s(1), start + s(9000));
        assert_eq!(max.get(start + s(9000)), Some(s(1)));
        for n in 0..1000 {
            max.add(s(1), start + s(9000 + n));
        }
        assert!(max.before.len() <= 5);
    }
}
