//! The match entries of one portal, in the order in which they are tried.
//!
//! Entries with ignore bits are in one list, which is tried first; each of the others is in the list of its exact
//! match bits (and, in a unique portal, process), which a hash finds. So the cost of a lookup does not depend on the
//! number of exact entries.

use super::criteria::{Criteria, InsertPosition, MatchRequest, PortalKind};
use crate::md::{Commit, Md};
use crate::memory::{HandleSlot, HandleSlots};
use foldhash::HashMap;
use lnet_wire::Errno;
use lnet_wire::ProcessId;
use std::sync::Arc;

/// The match entries of a portal.
#[derive(Debug, Default)]
pub(crate) struct MatchTable {
    entries: HandleSlots<MatchEntry>,
    /// The entries with ignore bits.
    masked: List,
    exact: HashMap<Key, List>,
}

#[derive(Debug)]
struct MatchEntry {
    criteria: Criteria,
    /// Whether the entry is removed with its MD.
    unlink: bool,
    md: Option<Arc<Md>>,
    before: Option<u32>,
    after: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct List {
    first: Option<u32>,
    last: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Bits(u64),
    BitsAndProcess(u64, ProcessId),
}

/// The result of a match.
#[derive(Debug)]
pub(crate) enum MatchResult {
    /// No entry accepts the message.
    Nothing,
    /// An entry matches, but the message is too long for it.
    TooLong,
    /// The MD accepts the message, and the operation has been committed.
    Md { md: Arc<Md>, offset: u32, length: u32, threshold: i32, last: bool },
}

impl MatchTable {
    /// Adds an entry at the end or the beginning of its list.
    pub(crate) fn attach(
        &mut self,
        criteria: Criteria,
        unlink: bool,
        position: InsertPosition,
    ) -> Result<HandleSlot, Errno> {
        let neighbour = match position {
            InsertPosition::Before => self.list(&criteria).first.map(Neighbour::Before),
            InsertPosition::After | InsertPosition::Local => self.list(&criteria).last.map(Neighbour::After),
        };
        self.link(criteria, unlink, neighbour)
    }

    /// Adds an entry next to `current`, or, if it belongs to another list, at the end or the beginning of that list.
    /// [`Errno::NotFound`] if `current` does not exist.
    pub(crate) fn insert(
        &mut self,
        current: HandleSlot,
        criteria: Criteria,
        unlink: bool,
        before: bool,
    ) -> Result<HandleSlot, Errno> {
        let near = self.entries.get(current).ok_or(Errno::NotFound)?.criteria;
        if Self::place_of(&near) != Self::place_of(&criteria) {
            let position = if before { InsertPosition::Before } else { InsertPosition::After };
            return self.attach(criteria, unlink, position);
        }
        let neighbour = if before { Neighbour::Before } else { Neighbour::After }(current.index);
        self.link(criteria, unlink, Some(neighbour))
    }

    /// Removes an entry; returns its MD.
    pub(crate) fn remove(&mut self, slot: HandleSlot) -> Result<Option<Arc<Md>>, Errno> {
        let entry = self.entries.remove(slot).ok_or(Errno::NotFound)?;
        self.close_gap(&entry);
        Ok(entry.md)
    }

    /// Checks whether an MD can be attached to `slot` now.
    pub(crate) fn can_take_md(&self, slot: HandleSlot) -> Result<(), Errno> {
        match self.entries.get(slot) {
            None => Err(Errno::NotFound),
            Some(MatchEntry { md: Some(_), .. }) => Err(Errno::Busy),
            Some(_) => Ok(()),
        }
    }

    /// Attaches an MD to `slot`.
    pub(crate) fn set_md(&mut self, slot: HandleSlot, md: Arc<Md>) {
        if let Some(entry) = self.entries.get_mut(slot) {
            entry.md = Some(md);
        }
    }

    /// Detaches `md` from its entry, and removes the entry if it is to be removed with its MD.
    pub(crate) fn detach_md(&mut self, slot: HandleSlot, md: &Arc<Md>) {
        let Some(entry) = self.entries.get_mut(slot) else { return };
        if !entry.md.as_ref().is_some_and(|its| Arc::ptr_eq(its, md)) {
            return;
        }
        entry.md = None;
        if entry.unlink {
            // Cannot fail: the entry was found above.
            let _ = self.remove(slot);
        }
    }

    /// Finds the first entry that accepts `request`; its MD is committed, and is detached if that was its last
    /// operation.
    #[inline(always)]
    pub(crate) fn find(&mut self, kind: PortalKind, request: &MatchRequest) -> MatchResult {
        let key = match kind {
            PortalKind::Wildcard => Key::Bits(request.match_bits),
            PortalKind::Unique => Key::BitsAndProcess(request.match_bits, request.initiator),
        };
        let exact = self.exact.get(&key).copied().unwrap_or_default();
        for list in [self.masked, exact] {
            let mut next = list.first;
            while let Some(entry) = next.and_then(|index| self.entries.at(index)) {
                match self.offer(entry, request) {
                    MatchResult::Nothing => next = entry.after,
                    found => {
                        self.take_out_if_last(&found);
                        return found;
                    }
                }
            }
        }
        MatchResult::Nothing
    }

    /// Tries `request` on the entry in `slot`.
    pub(crate) fn offer_to(&mut self, slot: HandleSlot, request: &MatchRequest) -> MatchResult {
        let found = self.entries.get(slot).map_or(MatchResult::Nothing, |entry| self.offer(entry, request));
        self.take_out_if_last(&found);
        found
    }

    /// The number of entries.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    #[inline(always)]
    fn offer(&self, entry: &MatchEntry, request: &MatchRequest) -> MatchResult {
        let Some(md) = entry.md.as_ref().filter(|_| entry.criteria.accept(request)) else {
            return MatchResult::Nothing;
        };
        match md.commit_put_or_get(request.access) {
            Commit::No => MatchResult::Nothing,
            Commit::TooLong => MatchResult::TooLong,
            Commit::Yes { offset, length, threshold, last } => {
                MatchResult::Md { md: Arc::clone(md), offset, length, threshold, last }
            }
        }
    }

    fn take_out_if_last(&mut self, found: &MatchResult) {
        if let MatchResult::Md { md, last: true, .. } = found
            && let Some(place) = md.attached().and_then(|me| me.place())
        {
            self.detach_md(place.slot, md);
        }
    }

    /// The key of an entry's list; `None` for the list `masked`.
    fn place_of(criteria: &Criteria) -> Option<Key> {
        match (criteria.ignore_bits, criteria.from.nid, criteria.from.pid) {
            (0, Some(nid), Some(pid)) => {
                Some(Key::BitsAndProcess(criteria.match_bits, ProcessId { nid, pid }))
            }
            (0, ..) => Some(Key::Bits(criteria.match_bits)),
            _ => None,
        }
    }

    fn list(&self, criteria: &Criteria) -> List {
        match Self::place_of(criteria) {
            None => self.masked,
            Some(key) => self.exact.get(&key).copied().unwrap_or_default(),
        }
    }

    fn list_mut(&mut self, criteria: &Criteria) -> &mut List {
        match Self::place_of(criteria) {
            None => &mut self.masked,
            Some(key) => self.exact.entry(key).or_default(),
        }
    }

    fn link(
        &mut self,
        criteria: Criteria,
        unlink: bool,
        neighbour: Option<Neighbour>,
    ) -> Result<HandleSlot, Errno> {
        let (before, after) = match neighbour {
            None => (None, None),
            Some(Neighbour::Before(it)) => (self.entries.at(it).and_then(|e| e.before), Some(it)),
            Some(Neighbour::After(it)) => (Some(it), self.entries.at(it).and_then(|e| e.after)),
        };
        let slot = self.entries.insert(|_| MatchEntry { criteria, unlink, md: None, before, after })?;
        self.join(&criteria, before, Some(slot.index), Some(slot.index), after);
        Ok(slot)
    }

    fn close_gap(&mut self, entry: &MatchEntry) {
        if (entry.before, entry.after) == (None, None)
            && let Some(key) = Self::place_of(&entry.criteria)
        {
            self.exact.remove(&key);
            return;
        }
        self.join(&entry.criteria, entry.before, entry.after, entry.before, entry.after);
    }

    /// Links `before` to `after_before`, and `after` back to `before_after`; a missing neighbour is the end of the
    /// list.
    fn join(
        &mut self,
        criteria: &Criteria,
        before: Option<u32>,
        after_before: Option<u32>,
        before_after: Option<u32>,
        after: Option<u32>,
    ) {
        if (before, after) == (None, None) {
            *self.list_mut(criteria) = List { first: after_before, last: before_after };
            return;
        }
        match before {
            Some(index) => {
                if let Some(entry) = self.entries.at_mut(index) {
                    entry.after = after_before;
                }
            }
            None => self.list_mut(criteria).first = after_before,
        }
        match after {
            Some(index) => {
                if let Some(entry) = self.entries.at_mut(index) {
                    entry.before = before_after;
                }
            }
            None => self.list_mut(criteria).last = before_after,
        }
    }
}

#[derive(Clone, Copy)]
enum Neighbour {
    Before(u32),
    After(u32),
}
