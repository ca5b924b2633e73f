//! Match entries, memory descriptors and event queues: creating, attaching and removing them.

use super::DataPath;
use super::matching::Arrival;
use crate::environment::time::Time;
use crate::event::{EventHandler, EventQueue, Polled};
use crate::md::{Completion, Md};
use crate::memory::{ClientMemory, EqHandle, Keeper, MdHandle, MdMemory, MdSpec, MeHandle};
use crate::model::lnd::{DeferredRx, RxAction};
use crate::objects::{Criteria, Delayed, InsertPosition, MatchId, MatchResult, MdAttached};
use crate::sync::lock;
use lnet_wire::Errno;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The interval of the search for lost messages that wait at lazy portals, while there may be any.
const LOST_DEFERRED_INTERVAL: Duration = Duration::from_secs(1);
/// The number of lost messages from which on the search is made at once.
const MAX_LOST_DEFERRED: usize = 1024;

impl DataPath {
    /// Adds a match entry to a portal: `LNetMEAttach`. It matches nothing until it has an MD. `from` may have any NID of a peer that is
    /// known. With `unlink` the entry is removed with its MD. [`Errno::Invalid`] for a portal that does not exist, [`Errno::NotPermitted`] for an entry
    /// of another kind than the first of the portal (MA-1).
    pub fn me_attach(
        &self,
        portal: u32,
        from: MatchId,
        match_bits: u64,
        ignore_bits: u64,
        unlink: bool,
        position: InsertPosition,
    ) -> Result<MeHandle, Errno> {
        self.check_portal(portal, || "match entry".to_owned())?;
        let criteria = Criteria { from: self.by_primary(from), match_bits, ignore_bits };
        self.objects.attach_me(portal, criteria, unlink, position)
    }

    /// Adds a match entry before or after `current`: `LNetMEInsert`. [`Errno::NotFound`] if `current` does not exist,
    /// [`Errno::NotPermitted`] in a unique portal or for [`InsertPosition::Local`].
    pub fn me_insert(
        &self,
        current: MeHandle,
        from: MatchId,
        match_bits: u64,
        ignore_bits: u64,
        unlink: bool,
        position: InsertPosition,
    ) -> Result<MeHandle, Errno> {
        let criteria = Criteria { from: self.by_primary(from), match_bits, ignore_bits };
        self.objects.insert_me(current, criteria, unlink, position)
    }

    /// The same peer by its primary NID, with which messages are compared. A program may know another NID of the peer: an 8-byte form of
    /// an IPv6 primary NID does not exist (c-abi 4.3).
    fn by_primary(&self, from: MatchId) -> MatchId {
        MatchId { nid: from.nid.map(|nid| self.topology.peers().primary(nid)), ..from }
    }

    /// Removes a match entry, and unlinks its MD: `LNetMEUnlink`. [`Errno::NotFound`] if it does not exist.
    pub fn me_unlink(&self, me: MeHandle) -> Result<(), Errno> {
        if let Some(md) = self.objects.remove_me(me)? {
            // If another thread is unlinking the MD, that thread reports the last event.
            let _ = self.unlink(&md);
        }
        Ok(())
    }

    /// Removes a match entry without an MD, as an `LNetMDAttach` of 2.15 that fails does. [`Errno::NotFound`] if it does not exist,
    /// [`Errno::Busy`] if it has an MD: both stay.
    pub fn me_unlink_unused(&self, me: MeHandle) -> Result<(), Errno> {
        self.objects.remove_unused_me(me)
    }

    /// Attaches an MD to a match entry: `LNetMDAttach`. `announce` gets the handle before the first event. PUTs that
    /// waited for the MD are delivered, the oldest first: those that have arrived in full by the calling thread, with their
    /// events before this returns; the others when their payload is complete. On failure the entry is not changed:
    /// [`Errno::Invalid`] for an MD that takes neither PUT nor GET or has a wrong `max_size`, [`Errno::NotFound`] for an entry
    /// or queue that does not exist, [`Errno::Busy`] for an entry with an MD.
    pub fn md_attach(
        &self,
        me: MeHandle,
        spec: MdSpec,
        memory: MdMemory,
        auto_unlink: bool,
        announce: &mut dyn FnMut(MdHandle),
    ) -> Result<(), Errno> {
        self.attach_kept(me, spec, memory, auto_unlink, Keeper::Program, announce)
    }

    /// Like [`DataPath::md_attach`], for a program in another process: `memory` is memory of this process, which `client` keeps
    /// valid, and `client` is dropped with the MD. Unless [`ClientMemory::is_in_place`], the REPLY to a GET has the bytes of
    /// [`ClientMemory::fetch`] and not those of `memory`.
    pub fn md_attach_for(
        &self,
        me: MeHandle,
        spec: MdSpec,
        memory: MdMemory,
        auto_unlink: bool,
        client: Arc<dyn ClientMemory>,
        announce: &mut dyn FnMut(MdHandle),
    ) -> Result<(), Errno> {
        self.attach_kept(me, spec, memory, auto_unlink, Keeper::Client(client), announce)
    }

    fn attach_kept(
        &self,
        me: MeHandle,
        spec: MdSpec,
        memory: MdMemory,
        auto_unlink: bool,
        keeper: Keeper,
        announce: &mut dyn FnMut(MdHandle),
    ) -> Result<(), Errno> {
        let MdAttached { released, .. } =
            self.objects.attach_md(me, spec, memory, auto_unlink, keeper, announce)?;
        self.release_delayed_puts(released, |deferred, action| deferred.resume_here(action));
        Ok(())
    }

    /// Attaches an MD for memory that `owner` owns: `owner` is dropped with the MD.
    pub(crate) fn attach_owned(
        &self,
        me: MeHandle,
        spec: MdSpec,
        memory: MdMemory,
        auto_unlink: bool,
        owner: Arc<dyn Any + Send + Sync>,
        announce: &mut dyn FnMut(MdHandle),
    ) -> Result<Arc<Md>, Errno> {
        let MdAttached { md, released } =
            self.objects.attach_md(me, spec, memory, auto_unlink, Keeper::Node(owner), announce)?;
        // The PUTs are not delivered here: the caller may be in no state to run event handlers.
        self.release_delayed_puts(released, |deferred, action| deferred.resume(action));
        Ok(md)
    }

    /// Gives the PUTs that waited for an MD their memory, the oldest first.
    fn release_delayed_puts(
        &self,
        released: Vec<(Delayed, MatchResult)>,
        resume: impl Fn(&dyn DeferredRx, RxAction),
    ) {
        for (delayed, found) in released {
            let initiator = self.primary_of(&delayed.message);
            let action = match self.arrival(delayed.message, found, initiator) {
                Arrival::Wanted(message) => RxAction::Deliver(message.into()),
                Arrival::Dropped(why, message) => {
                    self.count_drop(message, why);
                    RxAction::Discard
                }
            };
            resume(&*delayed.deferred, action);
        }
    }

    /// Creates a free MD, for PUTs and GETs of this node: `LNetMDBind`. [`Errno::Invalid`] for an MD that takes PUT
    /// or GET or has a wrong `max_size`, [`Errno::NotFound`] for a queue that does not exist.
    pub fn md_bind(&self, spec: MdSpec, memory: MdMemory, auto_unlink: bool) -> Result<MdHandle, Errno> {
        self.objects.bind_md(spec, memory, auto_unlink, Keeper::Program)
    }

    /// Like [`DataPath::md_bind`], for a program in another process: `memory` is memory of this process, which `client` keeps
    /// valid, and `client` is dropped with the MD. A PUT sends the bytes that `memory` has; nothing is fetched.
    pub fn md_bind_for(
        &self,
        spec: MdSpec,
        memory: MdMemory,
        auto_unlink: bool,
        client: Arc<dyn ClientMemory>,
    ) -> Result<MdHandle, Errno> {
        self.objects.bind_md(spec, memory, auto_unlink, Keeper::Client(client))
    }

    /// Like [`DataPath::md_bind`], for memory that `owner` owns: `owner` is dropped with the MD.
    pub fn bind_owned(
        &self,
        spec: MdSpec,
        memory: MdMemory,
        auto_unlink: bool,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Result<MdHandle, Errno> {
        self.objects.bind_md(spec, memory, auto_unlink, Keeper::Node(owner))
    }

    /// Unlinks an MD: `LNetMDUnlink`. An idle MD reports UNLINK before this returns; a busy one reports it with the
    /// end of its last operation. Its requests that wait for a discovery end at once, with [`Errno::Cancelled`].
    /// [`Errno::NotFound`] if it does not exist or is being unlinked.
    pub fn md_unlink(&self, md: MdHandle) -> Result<(), Errno> {
        let md = self.objects.detach_md(md)?;
        self.unlink(&md)
    }

    /// Unlinks an MD like [`DataPath::md_unlink`], and then waits for its handler if that is running: `LNetMDUnlink` from 2.15 on. Does not
    /// wait inside a handler, where that might never end.
    pub fn md_unlink_and_wait(&self, md: MdHandle) -> Result<(), Errno> {
        let md = self.objects.detach_md(md)?;
        self.unlink(&md)?;
        md.wait_until_delivered();
        Ok(())
    }

    /// Creates an event queue: `LNetEQAlloc`. Its ring holds `count` events (rounded up to a power of two); with 0 it
    /// has no ring. [`Errno::Invalid`] without ring and handler, [`Errno::NoMemory`].
    pub fn eq_alloc(&self, count: u32, handler: Option<EventHandler>) -> Result<EqHandle, Errno> {
        self.add_queue(EventQueue::new(count, handler)?)
    }

    /// Creates an event queue that passes all events on: [`EventQueue::forwarding`]. [`Errno::NoMemory`].
    pub fn eq_forward(&self, forward: EventHandler) -> Result<EqHandle, Errno> {
        self.add_queue(EventQueue::forwarding(forward)?)
    }

    fn add_queue(&self, queue: EventQueue) -> Result<EqHandle, Errno> {
        let handle = self.objects.add_queue(queue)?;
        // The shutdown handles the queues that exist when it begins.
        if self.env.is_ending() {
            // Fails if the shutdown has found the queue and ended it in the same way.
            let _ = self.objects.remove_queue(handle, Errno::NetworkDown);
            return Err(Errno::NetworkDown);
        }
        Ok(handle)
    }

    /// Frees an event queue: `LNetEQFree`. [`Errno::Busy`] while an MD may still report to it; waits for the handler
    /// of a last event. [`Errno::NotFound`] if it does not exist. Threads that wait for an event of the queue get
    /// [`Errno::NotFound`].
    pub fn eq_free(&self, eq: EqHandle) -> Result<(), Errno> {
        self.eq(eq)?.wait_unused()?;
        self.objects.remove_queue(eq, Errno::NotFound)
    }

    /// Releases an event queue: it is freed with the last MD that may still report to it. [`Errno::NotFound`] if it
    /// does not exist.
    pub fn eq_release(&self, eq: EqHandle) -> Result<(), Errno> {
        self.objects.remove_queue(eq, Errno::NotFound)
    }

    /// The oldest unread event: `LNetEQGet`. [`Errno::NotFound`] if the queue does not exist.
    pub fn eq_get(&self, eq: EqHandle) -> Result<Option<Polled>, Errno> {
        self.eq_get_with(eq, |polled| *polled)
    }

    /// Does the same with the event where it is stored: see [`EventQueue::get_with`].
    #[inline]
    pub fn eq_get_with<R>(&self, eq: EqHandle, read: impl FnOnce(&Polled) -> R) -> Result<Option<R>, Errno> {
        let (queues, slot) = self.objects.queues_with(eq)?;
        queues.get(slot).ok_or(Errno::NotFound)?.get_with(read)
    }

    /// The queue, to wait on.
    pub fn eq(&self, eq: EqHandle) -> Result<Arc<EventQueue>, Errno> {
        self.objects.queue(eq)
    }

    /// Makes the portal lazy: PUTs that match nothing wait there. `LNetSetLazyPortal`.
    pub fn set_lazy_portal(&self, portal: u32) -> Result<(), Errno> {
        self.objects.portal(portal)?.set_lazy();
        Ok(())
    }

    /// Makes the portal not lazy, and drops the PUTs that wait there: `LNetClearLazyPortal`.
    pub fn clear_lazy_portal(&self, portal: u32) -> Result<(), Errno> {
        let delayed = self.objects.portal(portal)?.clear_lazy();
        self.drop_delayed(delayed);
        Ok(())
    }

    pub(crate) fn drop_delayed(&self, delayed: impl IntoIterator<Item = Delayed>) {
        for delayed in delayed {
            self.count_drop(delayed.message, "portal no longer lazy, or interface removed");
            delayed.deferred.resume(RxAction::Discard);
        }
    }

    /// Counts a message that a driver has lost and that may wait at a lazy portal.
    pub(crate) fn note_lost_deferred(&self) {
        match self.lost_deferred.fetch_add(1, Ordering::Relaxed) + 1 < MAX_LOST_DEFERRED {
            true => self.health.wake(),
            false => self.drop_lost_deferred(),
        }
    }

    /// Drops lost messages that wait at lazy portals, at intervals, because the search looks at all that wait; returns the time
    /// of the next call.
    pub(crate) fn poll_lost_deferred(&self, now: Time) -> Option<Time> {
        if self.lost_deferred.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let next = &mut *lock(&self.next_lost_deferred);
        if now < *next {
            return Some(*next);
        }
        *next = now + LOST_DEFERRED_INTERVAL;
        self.drop_lost_deferred();
        None
    }

    fn drop_lost_deferred(&self) {
        self.lost_deferred.store(0, Ordering::Relaxed);
        for Delayed { message, .. } in
            self.objects.portals().flat_map(|portal| portal.take_delayed(|one| one.deferred.is_lost()))
        {
            let message = match message.origin {
                Some(origin) => self.keep_partial(origin, message),
                None => Some(message),
            };
            if let Some(message) = message {
                self.count_drop(message, "its connection ended before all of it had arrived");
            }
        }
    }

    fn unlink(&self, md: &Md) -> Result<(), Errno> {
        if self.objects.unlink_md(md)? == Completion::Active {
            self.cancel_parked(md);
        }
        self.send_deferred();
        Ok(())
    }
}
