//! The selection of the messages that a rule hits among those that match it (ST-21).

use super::rule::Odds;
use crate::environment::time::Time;
use std::time::Duration;

/// A generator that hits messages with the given odds. The time and the random numbers are arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dice {
    odds: Odds,
    next: Next,
}

#[derive(Clone, Copy, Debug)]
enum Next {
    /// The number of messages that matched in the current window, and the index of the one that is hit.
    Message { seen: u32, hit: u32 },
    /// The start of the current interval, and the time from which a message is hit.
    Moment { began: Time, from: Time },
    /// Each message is decided by its own random number.
    Chance,
}

impl Dice {
    /// A generator whose first window or interval begins now.
    pub(crate) fn new(odds: Odds, now: Time, random: u64) -> Self {
        let next = match odds {
            Odds::OneIn(window) => Next::Message { seen: 0, hit: below(random, window.get()) },
            Odds::OnePer(interval) => Next::Moment { began: now, from: now + within(random, interval) },
            Odds::Half(_) => Next::Chance,
        };
        Self { odds, next }
    }

    pub(crate) const fn odds(&self) -> Odds {
        self.odds
    }

    /// Whether the rule hits the message that matches now.
    pub(crate) fn hits(&mut self, now: Time, random: u64) -> bool {
        match (self.odds, &mut self.next) {
            (Odds::OneIn(window), Next::Message { seen, hit }) => {
                let is_hit = seen == hit;
                *seen += 1;
                if *seen >= window.get() {
                    (*seen, *hit) = (0, below(random, window.get()));
                }
                is_hit
            }
            (Odds::OnePer(interval), Next::Moment { began, from }) => {
                let is_hit = now >= *from;
                if is_hit {
                    *began = next_interval(*began, interval, now);
                    *from = *began + within(random, interval);
                }
                is_hit
            }
            _ => random >> 63 == 1,
        }
    }
}

/// The start of the interval after the one that contains `now`.
fn next_interval(began: Time, interval: Duration, now: Time) -> Time {
    let over = now.since(began).as_nanos().checked_div(interval.as_nanos()).unwrap_or(0);
    let intervals = u32::try_from(over + 1).unwrap_or(u32::MAX);
    let next = began + interval.saturating_mul(intervals);
    // After more intervals than can be counted any point in time is acceptable.
    if next > now { next } else { now }
}

fn below(random: u64, end: u32) -> u32 {
    (random % u64::from(end.max(1))) as u32
}

fn within(random: u64, interval: Duration) -> Duration {
    let nanoseconds = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX).max(1);
    Duration::from_nanos(random % nanoseconds)
}

/// A generator of pseudo-random numbers, the same for the same seed (splitmix64).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::num::NonZeroU32;

    #[test]
    fn one_message_of_each_window_is_hit_and_not_always_the_same() {
        for size in [1_u32, 2, 3, 10] {
            let mut random = Random(7);
            let mut dice = Dice::new(Odds::OneIn(NonZeroU32::new(size).unwrap()), Time::START, random.next());
            let mut places = std::collections::BTreeSet::new();
            for window in 0..100 {
                let hits: Vec<u32> = (0..size).filter(|_| dice.hits(Time::START, random.next())).collect();
                assert_eq!(hits.len(), 1, "window {window} of {size}");
                places.extend(hits);
            }
            assert_eq!(places.len(), size as usize, "every place of {size} is hit in a hundred windows");
        }
    }

    #[test]
    fn at_most_one_message_of_each_second_is_hit() {
        let mut random = Random(1);
        let second = Duration::from_secs(1);
        let mut dice = Dice::new(Odds::OnePer(second), Time::START, random.next());
        let mut by_second = vec![0; 50];
        for tenth in 0..500_u32 {
            let now = Time(second / 10 * tenth);
            by_second[tenth as usize / 10] += u32::from(dice.hits(now, random.next()));
        }
        // A hit in the last tenth of a second may fall on the first message of the next.
        assert!(by_second.iter().all(|hits| *hits <= 1), "{by_second:?}");
        assert!(by_second.iter().sum::<u32>() >= 35, "{by_second:?}");
        // After a long pause the first message is hit, and then one each second again.
        let late = Time(second * 10_000);
        let hits = (0..10).filter(|_| dice.hits(late, random.next())).count();
        assert_eq!(hits, 1);
    }

    #[test]
    fn half_of_the_messages_are_hit_by_chance() {
        let mut random = Random(3);
        let mut dice = Dice::new(Odds::Half(Duration::from_secs(1)), Time::START, random.next());
        let hits = (0..1000).filter(|_| dice.hits(Time::START, random.next())).count();
        assert!((400..600).contains(&hits), "{hits}");
    }

    #[test]
    fn no_odds_make_the_rule_panic() {
        for interval in [Duration::ZERO, Duration::from_nanos(1), Duration::MAX] {
            let mut dice = Dice::new(Odds::OnePer(interval), Time(Duration::MAX), u64::MAX);
            dice.hits(Time(Duration::MAX), u64::MAX);
            dice.hits(Time::START, 0);
        }
    }
}
