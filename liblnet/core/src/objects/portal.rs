//! A portal, one of 64: its kind, its entries, and the PUTs that wait for an entry.

use super::criteria::{Criteria, InsertPosition, MatchRequest, PortalKind};
use super::drop_reason::DropReason;
use super::match_table::{MatchResult, MatchTable};
use crate::md::Md;
use crate::memory::HandleSlot;
use crate::model::lnd::DeferredRx;
use crate::model::message::{IncomingMessage, Pooled};
use crate::sync::{Mutex, lock};
use lnet_wire::Errno;
use std::collections::VecDeque;
use std::sync::Arc;

/// A portal: its match entries, and the PUTs that wait on it.
#[derive(Debug, Default)]
pub(crate) struct Portal {
    state: Mutex<PortalState>,
}

#[derive(Debug, Default)]
struct PortalState {
    /// The kind of the portal, set by its first entry for the lifetime of the node (MA-1).
    kind: Option<PortalKind>,
    lazy: Lazy,
    table: MatchTable,
    delayed: VecDeque<Delayed>,
}

/// The PUTs that wait if they match nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Lazy {
    #[default]
    No,
    /// PUTs with exactly these match bits.
    Only(u64),
    All,
}

/// A PUT that waits on a lazy portal, with its deferred payload.
pub(crate) struct Delayed {
    pub(crate) request: MatchRequest,
    pub(crate) message: Pooled<IncomingMessage>,
    pub(crate) deferred: Arc<dyn DeferredRx>,
}

/// The result of a PUT or GET on a portal.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// The memory was found, see [`MatchResult::Md`].
    Matched(MatchResult),
    /// The PUT waits on the portal.
    Held,
    /// The message is to be dropped for this reason.
    Dropped(DropReason),
}

/// The PUTs that waited when an MD was attached.
#[derive(Debug, Default)]
pub(crate) struct Attached {
    /// The PUTs, each with the MD that matches, or the fact that it is too long for the MD.
    pub(crate) released: Vec<(Delayed, MatchResult)>,
}

impl Portal {
    /// Adds an entry: `LNetMEAttach`. [`Errno::NotPermitted`] for an entry of another kind than the first.
    pub(crate) fn attach(
        &self,
        criteria: Criteria,
        unlink: bool,
        position: InsertPosition,
    ) -> Result<HandleSlot, Errno> {
        let state = &mut *lock(&self.state);
        if *state.kind.get_or_insert_with(|| criteria.kind()) != criteria.kind() {
            return Err(Errno::NotPermitted);
        }
        state.table.attach(criteria, unlink, position)
    }

    /// Adds an entry next to another: `LNetMEInsert`. [`Errno::NotPermitted`] in a unique portal, and for an entry of another
    /// kind than the portal's.
    pub(crate) fn insert(
        &self,
        current: HandleSlot,
        criteria: Criteria,
        unlink: bool,
        before: bool,
    ) -> Result<HandleSlot, Errno> {
        let state = &mut *lock(&self.state);
        if state.kind == Some(PortalKind::Unique) || criteria.kind() == PortalKind::Unique {
            return Err(Errno::NotPermitted);
        }
        state.table.insert(current, criteria, unlink, before)
    }

    /// Removes an entry; returns its MD.
    pub(crate) fn remove(&self, slot: HandleSlot) -> Result<Option<Arc<Md>>, Errno> {
        lock(&self.state).table.remove(slot)
    }

    /// Removes an entry without an MD. [`Errno::Busy`] if it has one, which stays with it.
    pub(crate) fn remove_unused(&self, slot: HandleSlot) -> Result<(), Errno> {
        let state = &mut *lock(&self.state);
        state.table.can_take_md(slot)?;
        state.table.remove(slot).map(|_| ())
    }

    /// Attaches an MD to an entry, and commits the waiting PUTs to it, the oldest first, until it is exhausted.
    /// `announce` runs before the first event of the MD (TRAP-18).
    pub(crate) fn attach_md(
        &self,
        slot: HandleSlot,
        md: &Arc<Md>,
        announce: &mut dyn FnMut(),
    ) -> Result<Attached, Errno> {
        let state = &mut *lock(&self.state);
        state.table.can_take_md(slot)?;
        announce();
        state.table.set_md(slot, Arc::clone(md));
        let mut attached = Attached::default();
        let mut index = 0;
        while index < state.delayed.len() && !md.is_exhausted() {
            match state.table.offer_to(slot, &state.delayed[index].request) {
                MatchResult::Nothing => index += 1,
                found => {
                    attached.released.extend(state.delayed.remove(index).map(|delayed| (delayed, found)))
                }
            }
        }
        Ok(attached)
    }

    /// Detaches an MD from its entry, and removes the entry if it is to be removed with its MD.
    pub(crate) fn detach_md(&self, slot: HandleSlot, md: &Arc<Md>) {
        lock(&self.state).table.detach_md(slot, md);
    }

    /// Finds the memory for `request`, or delays it if `may_wait` and the portal is lazy; `delay` is called in that
    /// case only.
    #[inline(always)]
    pub(crate) fn find(
        &self,
        request: &MatchRequest,
        may_wait: bool,
        delay: &mut dyn FnMut() -> Option<Delayed>,
    ) -> Incoming {
        let state = &mut *lock(&self.state);
        let found = match state.kind {
            Some(kind) => state.table.find(kind, request),
            None => MatchResult::Nothing,
        };
        match found {
            MatchResult::Nothing if may_wait && state.lazy.holds(request.match_bits) => match delay() {
                Some(delayed) => {
                    state.delayed.push_back(delayed);
                    Incoming::Held
                }
                None => Incoming::Dropped(DropReason::NotDeferred),
            },
            MatchResult::Nothing => Incoming::Dropped(DropReason::NoMatch),
            MatchResult::TooLong => Incoming::Dropped(DropReason::TooLong),
            found => Incoming::Matched(found),
        }
    }

    /// Makes all PUTs wait that match nothing.
    pub(crate) fn set_lazy(&self) {
        lock(&self.state).lazy = Lazy::All;
    }

    /// Makes PUTs with these match bits wait if they match nothing.
    pub(crate) fn set_lazy_for(&self, match_bits: u64) {
        lock(&self.state).lazy = Lazy::Only(match_bits);
    }

    /// Makes the portal not lazy; returns the PUTs that waited, to be dropped.
    pub(crate) fn clear_lazy(&self) -> VecDeque<Delayed> {
        let state = &mut *lock(&self.state);
        state.lazy = Lazy::No;
        std::mem::take(&mut state.delayed)
    }

    /// Drops all entries, and their MDs with them, because the node shuts down.
    pub(crate) fn forget_entries(&self) {
        // The MDs, and the memory of other crates that some keep, are dropped without the lock.
        let _entries = std::mem::take(&mut lock(&self.state).table);
    }

    /// Removes the waiting PUTs for which `which` holds.
    pub(crate) fn take_delayed(&self, which: impl Fn(&Delayed) -> bool) -> Vec<Delayed> {
        let state = &mut *lock(&self.state);
        let (taken, kept) = state.delayed.drain(..).partition(which);
        state.delayed = kept;
        Vec::from(taken)
    }
}

impl Lazy {
    const fn holds(self, match_bits: u64) -> bool {
        match self {
            Self::No => false,
            Self::Only(bits) => bits == match_bits,
            Self::All => true,
        }
    }
}

impl std::fmt::Debug for Delayed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Delayed").field("request", &self.request).finish_non_exhaustive()
    }
}
