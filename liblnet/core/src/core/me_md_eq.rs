//! Match entries, memory descriptors and event queues: made, joined and taken apart by the application.

use super::Core;
use super::receive::Arrival;
use super::send::send_deferred;
use crate::event::{EventHandler, EventQueue, Polled};
use crate::memory::{Completion, EqHandle, Md, MdHandle, MdMemory, MdSpec, MeHandle};
use crate::model::lnd::RxAction;
use crate::objects::{Criteria, Delayed, InsertPosition, MatchId, MdAttached};
use lnet_wire::Errno;
use std::any::Any;
use std::sync::Arc;

impl Core {
    /// Adds a match entry to a portal: `LNetMEAttach`. It matches nothing until it has an MD. With `unlink`
    /// it goes when its MD goes. [`Errno::Invalid`] for a portal that is none, [`Errno::NotPermitted`] for
    /// an entry of the other kind than the portal's first (MA-1).
    pub fn me_attach(
        &self,
        portal: u32,
        from: MatchId,
        match_bits: u64,
        ignore_bits: u64,
        unlink: bool,
        position: InsertPosition,
    ) -> Result<MeHandle, Errno> {
        let criteria = Criteria { from, match_bits, ignore_bits };
        self.objects.attach_me(portal, criteria, unlink, position)
    }

    /// Adds a match entry before or after `current`: `LNetMEInsert`. [`Errno::NotFound`] when `current` is
    /// not there, [`Errno::NotPermitted`] in a unique portal or for [`InsertPosition::Local`].
    pub fn me_insert(
        &self,
        current: MeHandle,
        from: MatchId,
        match_bits: u64,
        ignore_bits: u64,
        unlink: bool,
        position: InsertPosition,
    ) -> Result<MeHandle, Errno> {
        let criteria = Criteria { from, match_bits, ignore_bits };
        self.objects.insert_me(current, criteria, unlink, position)
    }

    /// Removes a match entry, and unlinks its MD: `LNetMEUnlink`. [`Errno::NotFound`] when it is not there.
    pub fn me_unlink(&self, me: MeHandle) -> Result<(), Errno> {
        if let Some(md) = self.objects.remove_me(me)? {
            // An MD that another thread is unlinking right now will have its one last event from there.
            let _ = self.unlink(&md);
        }
        Ok(())
    }

    /// Gives a match entry its MD: `LNetMDAttach`. `announce` gets the handle before any event can come of
    /// it. PUTs that waited for it are delivered. On failure the entry is as before:
    /// [`Errno::Invalid`] for an MD that takes neither PUT nor GET or whose `max_size` is wrong,
    /// [`Errno::NotFound`] for an entry or queue that is not there, [`Errno::Busy`] for an entry with an MD.
    pub fn md_attach(
        &self,
        me: MeHandle,
        spec: MdSpec,
        memory: MdMemory,
        auto_unlink: bool,
        announce: &mut dyn FnMut(MdHandle),
    ) -> Result<(), Errno> {
        self.attach_owned(me, spec, memory, auto_unlink, None, announce).map(drop)
    }

    pub(crate) fn attach_owned(
        &self,
        me: MeHandle,
        spec: MdSpec,
        memory: MdMemory,
        auto_unlink: bool,
        owner: Option<Arc<dyn Any + Send + Sync>>,
        announce: &mut dyn FnMut(MdHandle),
    ) -> Result<Arc<Md>, Errno> {
        let MdAttached { md, released } =
            self.objects.attach_md(me, spec, memory, auto_unlink, owner, announce)?;
        for (delayed, found) in released {
            let action = match self.arrival(delayed.message, found) {
                Arrival::Wanted(message) => RxAction::Deliver(message),
                Arrival::Dropped(why, message) => {
                    self.count_drop(message, why);
                    RxAction::Discard
                }
            };
            delayed.hold.resume(action);
        }
        Ok(md)
    }

    /// Makes a free MD, for PUTs and GETs of this node's own: `LNetMDBind`. [`Errno::Invalid`] for one that
    /// takes PUT or GET or whose `max_size` is wrong, [`Errno::NotFound`] for a queue that is not there.
    pub fn md_bind(&self, spec: MdSpec, memory: MdMemory, auto_unlink: bool) -> Result<MdHandle, Errno> {
        self.objects.bind_md(spec, memory, auto_unlink, None)
    }

    /// As [`Core::md_bind`], for memory that `owner` owns: it is dropped with the MD, not before.
    pub fn bind_owned(
        &self,
        spec: MdSpec,
        memory: MdMemory,
        auto_unlink: bool,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Result<MdHandle, Errno> {
        self.objects.bind_md(spec, memory, auto_unlink, Some(owner))
    }

    /// Ends an MD: `LNetMDUnlink`. An idle one reports UNLINK before this returns; a busy one reports its
    /// end with its last operation. Those that wait for the discovery of a peer end at once, with
    /// [`Errno::Cancelled`]. [`Errno::NotFound`] when it is gone or going.
    pub fn md_unlink(&self, md: MdHandle) -> Result<(), Errno> {
        let md = self.objects.detach_md(md)?;
        self.unlink(&md)
    }

    /// Makes an event queue: `LNetEQAlloc`. `count` events fit in its ring (rounded up to a power of two);
    /// with 0 it has none. [`Errno::Invalid`] without ring and handler, [`Errno::NoMemory`].
    pub fn eq_alloc(&self, count: u32, handler: Option<EventHandler>) -> Result<EqHandle, Errno> {
        let handle = self.objects.add_queue(count, handler)?;
        // The end of the node goes through the queues that it finds once it has begun.
        if self.is_ending() {
            // Unless the end has found it, and ended it in the same way.
            let _ = self.objects.remove_queue(handle, Errno::NetworkDown);
            return Err(Errno::NetworkDown);
        }
        Ok(handle)
    }

    /// Ends an event queue: `LNetEQFree`. [`Errno::Busy`] while an MD may still report to it; a last event
    /// that is with the handler is waited for. [`Errno::NotFound`] when it is not there. Threads that wait for an
    /// event of it get [`Errno::NotFound`].
    pub fn eq_free(&self, eq: EqHandle) -> Result<(), Errno> {
        self.eq(eq)?.wait_unused()?;
        self.objects.remove_queue(eq, Errno::NotFound)
    }

    /// Ends an event queue for its caller: it goes when the last MD does that may still report to it.
    /// [`Errno::NotFound`] when it is not there.
    pub fn eq_leave(&self, eq: EqHandle) -> Result<(), Errno> {
        self.objects.remove_queue(eq, Errno::NotFound)
    }

    /// The oldest event not yet read: `LNetEQGet`. [`Errno::NotFound`] when the queue is not there.
    pub fn eq_get(&self, eq: EqHandle) -> Result<Option<Polled>, Errno> {
        self.eq(eq)?.get()
    }

    /// The queue itself, to wait on.
    pub fn eq(&self, eq: EqHandle) -> Result<Arc<EventQueue>, Errno> {
        self.objects.queue(eq)
    }

    /// Makes PUTs that match nothing on `portal` wait: `LNetSetLazyPortal`.
    pub fn set_lazy_portal(&self, portal: u32) -> Result<(), Errno> {
        self.objects.portal(portal)?.set_lazy();
        Ok(())
    }

    /// Ends that and drops what waits: `LNetClearLazyPortal`.
    pub fn clear_lazy_portal(&self, portal: u32) -> Result<(), Errno> {
        let delayed = self.objects.portal(portal)?.clear_lazy();
        self.drop_delayed(delayed);
        Ok(())
    }

    pub(crate) fn drop_delayed(&self, delayed: impl IntoIterator<Item = Delayed>) {
        for delayed in delayed {
            self.count_drop(delayed.message, "portal no longer lazy, or interface removed");
            delayed.hold.resume(RxAction::Discard);
        }
    }

    fn unlink(&self, md: &Md) -> Result<(), Errno> {
        if self.objects.unlink_md(md)? == Completion::Active {
            self.cancel_parked(md);
        }
        send_deferred();
        Ok(())
    }
}
