//! What an import has given out: numbers of requests, and slots for those that are executed once at most.

use crate::message::Xid;
use crate::request::Waker;
use std::collections::{BTreeMap, BTreeSet};

/// A slot (`pb_tag`), from 1.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tag(pub(crate) u16);

/// Slots, of which one is taken as often as may be requests under way that change something.
#[derive(Debug)]
pub(crate) struct Slots {
    most: u16,
    taken: BTreeSet<u16>,
}

impl Slots {
    pub(crate) const fn new(most: u16) -> Self {
        Self { most, taken: BTreeSet::new() }
    }

    /// So many may be taken from now on; at least one.
    pub(crate) fn set_most(&mut self, most: u16) {
        self.most = if most == 0 { 1 } else { most };
    }

    /// The lowest that is free.
    pub(crate) fn take(&mut self) -> Option<Tag> {
        let tag = (1..=self.most).find(|tag| !self.taken.contains(tag))?;
        self.taken.insert(tag);
        Some(Tag(tag))
    }

    pub(crate) fn give(&mut self, tag: Tag) {
        self.taken.remove(&tag.0);
    }
}

/// Numbers of requests that have not been answered, each with whom to wake for it.
#[derive(Debug, Default)]
pub(crate) struct Unanswered(BTreeMap<u64, Waker>);

impl Unanswered {
    pub(crate) fn begin(&mut self, xid: Xid, waker: Waker) {
        self.0.insert(xid.0, waker);
    }

    /// Has all of them looked at.
    pub(crate) fn wake(&self) {
        self.0.values().for_each(Waker::wake);
    }

    pub(crate) fn end(&mut self, xid: Xid) {
        self.0.remove(&xid.0);
    }

    /// All up to this have been answered, from the view of a request that has this number (`pb_last_xid`).
    pub(crate) fn answered_below(&self, own: Xid) -> Xid {
        Xid(self.0.keys().next().map_or(own.0, |first| own.0.min(*first)).saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Wake;
    use std::sync::Arc;

    #[test]
    fn the_lowest_free_slot_is_taken_and_there_is_always_one() {
        let mut slots = Slots::new(2);
        let (first, second) = (slots.take().unwrap(), slots.take().unwrap());
        assert_eq!((&first, &second, slots.take()), (&Tag(1), &Tag(2), None));
        slots.give(first);
        assert_eq!(slots.take(), Some(Tag(1)));
        slots.set_most(0);
        assert_eq!(slots.take(), None);
        slots.give(Tag(1));
        assert_eq!(slots.take(), Some(Tag(1)));
    }

    #[test]
    fn what_is_below_the_first_unanswered_has_been_answered() {
        let mut unanswered = Unanswered::default();
        for xid in [64, 128, 192] {
            unanswered.begin(Xid(xid), Arc::<Wake>::default().waker(0));
        }
        assert_eq!(unanswered.answered_below(Xid(192)), Xid(63));
        unanswered.end(Xid(64));
        assert_eq!(unanswered.answered_below(Xid(192)), Xid(127));
        unanswered.end(Xid(128));
        assert_eq!(unanswered.answered_below(Xid(192)), Xid(191));
        unanswered.end(Xid(192));
        assert_eq!(unanswered.answered_below(Xid(256)), Xid(255));
    }
}
