//! The messages of one node that have arrived: a set of numbers of which most are near others.

use crate::environment::time::Time;
use std::collections::{HashMap, VecDeque};
use std::num::NonZeroU64;
use std::time::Duration;

/// The number of runs of 64 numbers that are remembered of one node. Beyond it the oldest are forgotten.
const MAX_RUNS: usize = 1 << 16;
/// The number of runs for all nodes together, each of which has an equal share: about 50 MiB.
const MAX_RUNS_OF_ALL: usize = 1 << 20;
/// The time for which numbers are remembered. No message is sent again after that time.
pub(super) const REMEMBERED: Duration = Duration::from_secs(300);

/// The numbers of the messages of one node that have arrived.
#[derive(Debug, Default)]
pub(super) struct SeenNumbers {
    runs: HashMap<u64, Run, foldhash::fast::RandomState>,
    /// Each run of numbers once, with a time at which a number was added to it, the oldest first. Later additions do not move
    /// the run; it is moved when it is first in the queue.
    entered: VecDeque<(Time, u64)>,
}

#[derive(Debug)]
struct Run {
    /// The numbers of the run, one bit for each.
    bits: u64,
    /// The time at which the last number was added.
    last: Time,
}

impl SeenNumbers {
    /// Adds a number. `nodes` returns the number of nodes that share the memory, which limits it when a run begins.
    pub(super) fn insert(&mut self, id: NonZeroU64, now: Time, nodes: impl FnOnce() -> usize) {
        let (number, bit) = place(id);
        if let Some(run) = self.runs.get_mut(&number) {
            run.bits |= bit;
            run.last = run.last.max(now);
            return;
        }
        self.entered.push_back((now, number));
        self.runs.insert(number, Run { bits: bit, last: now });
        let most = MAX_RUNS.min(MAX_RUNS_OF_ALL / nodes().max(1)).max(1);
        while self.entered.len() > most {
            self.forget_oldest();
        }
    }

    pub(super) fn contains(&self, id: NonZeroU64) -> bool {
        let (run, bit) = place(id);
        self.runs.get(&run).is_some_and(|run| run.bits & bit != 0)
    }

    /// Removes the runs to which nothing was added for [`REMEMBERED`].
    pub(super) fn expire(&mut self, now: Time) {
        while self.entered.front().is_some_and(|(at, _)| now.since(*at) >= REMEMBERED) {
            self.forget_oldest();
        }
    }

    /// Removes the first run of the queue; if a number was added to it after it was queued, moves it back instead.
    fn forget_oldest(&mut self) {
        let Some((at, number)) = self.entered.pop_front() else { return };
        let last = self.runs.get(&number).map_or(at, |run| run.last);
        if last > at {
            // The place is near the front, as the numbers of a run follow each other closely.
            let place = self.entered.partition_point(|(at, _)| *at <= last);
            self.entered.insert(place, (last, number));
        } else {
            self.runs.remove(&number);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entered.is_empty()
    }
}

/// The run that a number belongs to, and the bit of the number in it.
const fn place(id: NonZeroU64) -> (u64, u64) {
    (id.get() / 64, 1 << (id.get() % 64))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn at(seconds: u64) -> Time {
        Time(Duration::from_secs(seconds))
    }

    #[test]
    fn numbers_are_forgotten_after_their_time_or_when_there_are_too_many() {
        let id = |n: u64| NonZeroU64::new(n).unwrap();
        let mut seen = SeenNumbers::default();
        seen.insert(id(5), at(0), || 1);
        seen.insert(id(500), at(200), || 1);
        seen.expire(at(299));
        assert!(seen.contains(id(5)) && seen.contains(id(500)));
        seen.expire(at(300));
        assert!(!seen.contains(id(5)) && seen.contains(id(500)));
        for n in 0..MAX_RUNS as u64 {
            seen.insert(id(1000 + 64 * n), at(300), || 1);
        }
        assert!(!seen.contains(id(500)) && seen.contains(id(1000)));
        seen.expire(at(600));
        assert!(seen.is_empty());
    }

    #[test]
    fn a_number_is_remembered_for_its_time_however_old_its_run_is() {
        let id = |n: u64| NonZeroU64::new(n).unwrap();
        let mut seen = SeenNumbers::default();
        // One number arrives every five seconds: a run takes longer than the time for which it is remembered.
        for n in 0..60 {
            seen.insert(id(64 + n), at(5 * n), || 1);
            seen.expire(at(5 * n));
        }
        seen.expire(at(301));
        assert!(seen.contains(id(64 + 59)));
        seen.expire(at(295 + 299));
        assert!(seen.contains(id(64 + 59)));
        seen.expire(at(295 + 300));
        assert!(seen.is_empty() && seen.runs.is_empty());
    }

    #[test]
    fn runs_in_use_are_not_forgotten_first_when_there_are_too_many() {
        let id = |n: u64| NonZeroU64::new(n).unwrap();
        let mut seen = SeenNumbers::default();
        seen.insert(id(64), at(0), || 1);
        for n in 1..=2 * MAX_RUNS as u64 {
            seen.insert(id(64 + n % 64), at(n), || 1);
            seen.insert(id(64 + 64 * n), at(n), || 1);
        }
        assert!(seen.contains(id(64)));
        assert!(seen.runs.len() <= MAX_RUNS && seen.entered.len() <= MAX_RUNS);
    }

    #[test]
    fn with_many_nodes_each_has_its_share_of_the_memory() {
        let id = |n: u64| NonZeroU64::new(n).unwrap();
        let mut seen = SeenNumbers::default();
        (0..1000).for_each(|n| seen.insert(id(64 * n + 1), at(0), || 1));
        assert!(seen.contains(id(1)));
        seen.insert(id(64_001), at(0), || 4096);
        assert_eq!(seen.entered.len(), 256);
        assert!(!seen.contains(id(1)) && seen.contains(id(64_001)) && seen.contains(id(64 * 800 + 1)));
        assert_eq!(seen.runs.len(), seen.entered.len());
    }

    proptest! {
        #[test]
        fn exactly_the_inserted_numbers_are_contained(ids in prop::collection::vec(1_u64..2000, 0..200)) {
            let mut seen = SeenNumbers::default();
            for id in &ids {
                seen.insert(NonZeroU64::new(*id).unwrap(), at(0), || 1);
            }
            let want: HashSet<u64> = ids.into_iter().collect();
            for id in 1..2000 {
                prop_assert_eq!(seen.contains(NonZeroU64::new(id).unwrap()), want.contains(&id));
            }
        }
    }
}
