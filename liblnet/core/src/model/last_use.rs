//! Round robin: of candidates that are otherwise equal the least recently used is selected (PS-31).

use std::sync::atomic::{AtomicU64, Ordering};

/// The last use of a candidate, as a number that is comparable among the candidates of one round robin.
///
/// A candidate that is used gets the highest number of the others plus one. So a candidate that is new, or was not used for a
/// long time, is selected once and is then the most recently used; it is not selected repeatedly to catch up.
///
/// The highest number is stored ([`LatestUse`]). Two candidates may have the same number, as threads use them at the same time, or
/// they are merged from different peers: a tie, which the order of the candidates decides once. 64 bits do not wrap.
#[derive(Debug, Default)]
pub(crate) struct LastUse(AtomicU64);

impl LastUse {
    /// The number of the last use: higher is more recent; 0: never used.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The most recent use of any candidate of one round robin, at least.
#[derive(Debug, Default)]
pub(crate) struct LatestUse(AtomicU64);

impl LatestUse {
    /// The most recent use.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// The most recent use of the candidates apart from this one of them, as far as that matters: 0 if it is itself the most
    /// recently used one.
    pub(crate) fn of_others(&self, its: &LastUse) -> u64 {
        Some(self.get()).filter(|latest| its.get() < *latest).unwrap_or(0)
    }

    /// Records that a candidate is used now; `others` is the most recent use of the others, or of candidates of another round
    /// robin. The most recently used candidate is not written. No other candidate gets the same number: of two with the same
    /// number, neither would be written, and the first of them would be selected ever after.
    pub(crate) fn note_after(&self, its: &LastUse, mut others: u64) {
        if its.get() > others {
            return;
        }
        loop {
            let number = others.saturating_add(1);
            its.0.store(number, Ordering::Relaxed);
            let before = self.0.fetch_max(number, Ordering::AcqRel);
            if before < number {
                return;
            }
            others = before;
        }
    }

    /// Does what [`LatestUse::note_after`] does with [`LatestUse::of_others`].
    #[inline]
    pub(crate) fn note_turn(&self, its: &LastUse) {
        let last = its.get();
        if last == 0 || last < self.get() {
            self.note(its);
        }
    }

    /// Leaves these candidates in the round robin, and no others. They may be used meanwhile: their numbers are read again,
    /// because none may be above the latest one.
    pub(crate) fn retain<'a>(&self, all: impl Iterator<Item = &'a LastUse> + Clone) {
        let latest = || all.clone().map(LastUse::get).max().unwrap_or(0);
        self.0.swap(latest(), Ordering::AcqRel);
        self.0.fetch_max(latest(), Ordering::AcqRel);
    }

    /// Records that a candidate is used now. Gives it a new number even if it has the latest: another may have the same.
    pub(crate) fn note(&self, its: &LastUse) {
        its.0.store(self.0.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Adds candidates to the round robin: later uses get higher numbers than all of theirs.
    pub(crate) fn include<'a>(&self, all: impl Iterator<Item = &'a LastUse>) {
        self.0.fetch_max(all.map(LastUse::get).max().unwrap_or(0), Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Uses the least recently used candidate, of equals the first, and returns its index.
    fn turn(all: &[LastUse], latest: &LatestUse) -> usize {
        let (at, this) = all.iter().enumerate().min_by_key(|(_, last_use)| last_use.get()).unwrap();
        latest.note_after(this, latest.of_others(this));
        at
    }

    #[test]
    fn a_new_entry_comes_first_once_and_then_takes_part_in_the_round_robin() {
        let (mut all, latest) = (vec![LastUse::default(), LastUse::default()], LatestUse::default());
        let first: Vec<usize> = (0..1001).map(|_| turn(&all, &latest)).collect();
        assert_eq!(first[..4], [0, 1, 0, 1]);
        all.push(LastUse::default());
        assert_eq!((0..7).map(|_| turn(&all, &latest)).collect::<Vec<_>>(), [2, 1, 0, 2, 1, 0, 2]);
    }

    #[test]
    fn the_latest_use_counts_on_from_the_candidates_that_come_to_it() {
        let (mut all, latest) = (vec![LastUse::default(), LastUse::default()], LatestUse::default());
        let turn = |all: &[LastUse]| {
            let (at, this) = all.iter().enumerate().min_by_key(|(_, last_use)| last_use.get()).unwrap();
            latest.note(this);
            latest.note(this);
            at
        };
        assert_eq!((0..4).map(|_| turn(&all)).collect::<Vec<_>>(), [0, 1, 0, 1]);
        let other = LastUse::default();
        LatestUse::default().note_after(&other, 100);
        all.push(other);
        latest.include(all.iter());
        assert_eq!((0..5).map(|_| turn(&all)).collect::<Vec<_>>(), [0, 1, 2, 0, 1]);
    }

    #[test]
    fn a_turn_is_noted_as_a_use_after_that_of_the_others() {
        let [one, other] = [(); 2].map(|()| ([(); 3].map(|()| LastUse::default()), LatestUse::default()));
        let numbers =
            |(all, latest): &([LastUse; 3], LatestUse)| (all.each_ref().map(LastUse::get), latest.get());
        for at in [0, 0, 1, 2, 2, 0, 1, 1, 2, 0] {
            one.1.note_turn(&one.0[at]);
            other.1.note_after(&other.0[at], other.1.of_others(&other.0[at]));
            assert_eq!(numbers(&one), numbers(&other));
        }
    }

    #[test]
    fn a_single_entry_is_marked_as_used_once() {
        let (alone, latest) = (LastUse::default(), LatestUse::default());
        for _ in 0..3 {
            latest.note_after(&alone, latest.of_others(&alone));
            assert_eq!((alone.get(), latest.get()), (1, 1));
        }
    }

    #[test]
    fn candidates_of_one_round_robin_do_not_get_the_same_number() {
        let (all, latest) = ([LastUse::default(), LastUse::default()], LatestUse::default());
        // Both have read the latest use before either has written it.
        all.iter().for_each(|its| latest.note_after(its, 0));
        assert_eq!(all.each_ref().map(LastUse::get), [1, 2]);
        latest.note_after(&all[1], latest.of_others(&all[1]));
        assert_eq!(all[1].get(), 2, "the most recently used one is not written");
    }

    #[test]
    fn the_latest_use_is_that_of_the_candidates_that_stay() {
        let (all, latest) = ([(); 3].map(|()| LastUse::default()), LatestUse::default());
        all.iter().for_each(|its| latest.note_after(its, latest.of_others(its)));
        latest.retain(all[..2].iter());
        assert_eq!((latest.get(), latest.of_others(&all[1]), latest.of_others(&all[0])), (2, 0, 2));
    }
}
