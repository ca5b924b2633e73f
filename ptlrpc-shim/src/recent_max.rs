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
    /// The begin of each part of the history, and its maximum; the latest last.
    parts: VecDeque<(Time, Duration)>,
    /// The end of the latest part.
    part_end: Time,
}

impl RecentMax {
    /// A maximum without measurements.
    pub(crate) const fn new(history: Duration) -> Self {
        Self {
            history,
            part: Duration::from_nanos(history.as_nanos() as u64 / PARTS),
            parts: VecDeque::new(),
            part_end: Time::START,
        }
    }

    /// Adds a measurement.
    pub(crate) fn add(&mut self, duration: Duration, now: Time) {
        match self.parts.back_mut() {
            Some((_, max)) if now < self.part_end => *max = duration.max(*max),
            _ => {
                self.parts.push_back((now, duration));
                self.part_end = now + self.part;
                while self.parts.len() > 1 && self.first_is_expired(now) {
                    self.parts.pop_front();
                }
            }
        }
    }

    /// The maximum; `None` if nothing has been measured. The last measurement counts until there is another.
    pub(crate) fn get(&self, now: Time) -> Option<Duration> {
        let last = self.parts.back()?;
        if self.parts.len() == 1 {
            return Some(last.1);
        }
        let recent = self.parts.iter().filter(|(began, _)| now.since(*began) <= self.history);
        Some(recent.map(|(_, max)| *max).max().unwrap_or(last.1))
    }

    fn first_is_expired(&self, now: Time) -> bool {
        self.parts.front().is_some_and(|(began, _)| now.since(*began) > self.history)
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
        assert!(max.parts.len() <= 6);
    }
}
