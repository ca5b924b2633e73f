//! Round robin: of candidates that are otherwise equal the least recently used is selected (PS-31).

use std::sync::atomic::{AtomicU64, Ordering};

/// The last use of a candidate, as a number that is comparable among the candidates of one round robin.
///
/// A candidate that is used gets the highest number of the others plus one. So a candidate that is new, or was not used for a
/// long time, is selected once and is then the most recently used; it is not selected repeatedly to catch up.
///
/// The highest number is found by reading all candidates ([`LastUse::latest_but`]), where the most recently used one is not
/// written, or it is stored ([`LatestUse`]). In both cases two candidates may have the same number, as threads use them at
/// the same time, or they are merged from different peers: a tie, which the order of the candidates decides once. 64 bits do
/// not wrap.
#[derive(Debug, Default)]
pub(crate) struct LastUse(AtomicU64);

impl LastUse {
    /// The number of the last use: higher is more recent; 0: never used.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Records that the candidate is used now; `others` is the most recent use of the other candidates.
    pub(crate) fn note(&self, others: u64) {
        if self.get() <= others {
            self.0.store(others.saturating_add(1), Ordering::Relaxed);
        }
    }

    /// The most recent use of all but `this` one; 0 if there are none.
    pub(crate) fn latest_but<'a>(this: &Self, all: impl Iterator<Item = &'a Self>) -> u64 {
        all.filter(|other| !std::ptr::eq(*other, this)).map(Self::get).max().unwrap_or(0)
    }
}

/// The most recent use of any candidate of one round robin.
#[derive(Debug, Default)]
pub(crate) struct LatestUse(AtomicU64);

impl LatestUse {
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
    fn turn(all: &[LastUse]) -> usize {
        let (at, this) = all.iter().enumerate().min_by_key(|(_, last_use)| last_use.get()).unwrap();
        this.note(LastUse::latest_but(this, all.iter()));
        at
    }

    #[test]
    fn a_new_entry_comes_first_once_and_then_takes_part_in_the_round_robin() {
        let mut all = vec![LastUse::default(), LastUse::default()];
        let first: Vec<usize> = (0..1001).map(|_| turn(&all)).collect();
        assert_eq!(first[..4], [0, 1, 0, 1]);
        all.push(LastUse::default());
        assert_eq!((0..7).map(|_| turn(&all)).collect::<Vec<_>>(), [2, 1, 0, 2, 1, 0, 2]);
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
        other.note(100);
        all.push(other);
        latest.include(all.iter());
        assert_eq!((0..5).map(|_| turn(&all)).collect::<Vec<_>>(), [0, 1, 2, 0, 1]);
    }

    #[test]
    fn a_single_entry_is_marked_as_used_once() {
        let alone = LastUse::default();
        for _ in 0..3 {
            alone.note(0);
            assert_eq!(alone.get(), 1);
        }
    }
}
