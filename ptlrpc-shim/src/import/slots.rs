//! Slots for modifying requests: each is used by one request at a time, so that the server can keep its last reply.

use std::collections::BTreeSet;

/// A slot (`pb_tag`), from 1.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tag(pub(crate) u16);

/// The slots of an import: as many as requests with `at_most_once` may be in flight (`max_mod_rpcs`).
#[derive(Debug)]
pub(crate) struct Slots {
    count: u16,
    used: BTreeSet<u16>,
}

impl Slots {
    pub(crate) const fn new(count: u16) -> Self {
        Self { count, used: BTreeSet::new() }
    }

    /// Sets how many there are; at least one.
    pub(crate) fn set_count(&mut self, count: u16) {
        self.count = if count == 0 { 1 } else { count };
    }

    /// Takes the lowest free slot.
    pub(crate) fn acquire(&mut self) -> Option<Tag> {
        let tag = (1..=self.count).find(|tag| !self.used.contains(tag))?;
        self.used.insert(tag);
        Some(Tag(tag))
    }

    pub(crate) fn release(&mut self, tag: Tag) {
        self.used.remove(&tag.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_slot_is_taken_and_there_is_always_one() {
        let mut slots = Slots::new(2);
        let (first, second) = (slots.acquire().unwrap(), slots.acquire().unwrap());
        assert_eq!((&first, &second, slots.acquire()), (&Tag(1), &Tag(2), None));
        slots.release(first);
        assert_eq!(slots.acquire(), Some(Tag(1)));
        slots.set_count(0);
        assert_eq!(slots.acquire(), None);
        slots.release(Tag(1));
        assert_eq!(slots.acquire(), Some(Tag(1)));
    }
}
