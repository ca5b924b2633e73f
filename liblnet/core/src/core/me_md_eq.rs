//! Match entries, memory descriptors and event queues: made, joined and taken apart by the application.

use super::receive::Arrival;
use super::send::send_deferred;
use super::{Core, me_place};
use crate::event::{EventHandler, EventQueue, Polled};
use crate::memory::{EqHandle, Md, MdHandle, MdMemory, MdOptions, MdSpec, MeHandle, NewMd, Place, Settled};
use crate::model::lnd::RxAction;
use crate::portal::{Criteria, InsertPosition, MatchId, Portal};
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
        let slot = self.portal(portal)?.attach(criteria, unlink, position)?;
        Ok(MeHandle::new(Place { table: portal as u8, slot }))
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
        let before = match position {
            InsertPosition::Before => true,
            InsertPosition::After => false,
            InsertPosition::Local => return Err(Errno::NotPermitted),
        };
        let (portal, near) = me_place(self, current).ok_or(Errno::NotFound)?;
        let criteria = Criteria { from, match_bits, ignore_bits };
        let slot = portal.insert(near, criteria, unlink, before)?;
        let table = current.place().map_or(0, |place| place.table);
        Ok(MeHandle::new(Place { table, slot }))
    }

    /// Removes a match entry, and unlinks its MD: `LNetMEUnlink`. [`Errno::NotFound`] when it is not there.
    pub fn me_unlink(&self, me: MeHandle) -> Result<(), Errno> {
        let (portal, slot) = me_place(self, me).ok_or(Errno::NotFound)?;
        if let Some(md) = portal.remove(slot)? {
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
        if !spec.options.has(MdOptions::OP_PUT) && !spec.options.has(MdOptions::OP_GET) {
            return Err(Errno::Invalid);
        }
        let md = self.new_md(spec, memory, auto_unlink, Some(me), owner)?;
        let attached = me_place(self, me)
            .ok_or(Errno::NotFound)
            .and_then(|(portal, slot)| portal.attach_md(slot, &md, &mut || announce(md.handle())));
        match attached {
            Ok(attached) => {
                for (delayed, found) in attached.released {
                    let verdict = match self.arrival(delayed.message, found) {
                        Arrival::Wanted(message) => RxAction::Deliver(message),
                        Arrival::Dropped(why, message) => {
                            self.count_drop(message, why);
                            RxAction::Discard
                        }
                    };
                    delayed.hold.resume(verdict);
                }
                Ok(md)
            }
            Err(errno) => {
                self.mds.remove(md.handle().place());
                md.discard();
                Err(errno)
            }
        }
    }

    /// Makes a free MD, for PUTs and GETs of this node's own: `LNetMDBind`. [`Errno::Invalid`] for one that
    /// takes PUT or GET or whose `max_size` is wrong, [`Errno::NotFound`] for a queue that is not there.
    pub fn md_bind(&self, spec: MdSpec, memory: MdMemory, auto_unlink: bool) -> Result<MdHandle, Errno> {
        self.bind(spec, memory, auto_unlink, None)
    }

    /// As [`Core::md_bind`], for memory that `owner` owns: it is dropped with the MD, not before.
    pub fn bind_owned(
        &self,
        spec: MdSpec,
        memory: MdMemory,
        auto_unlink: bool,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Result<MdHandle, Errno> {
        self.bind(spec, memory, auto_unlink, Some(owner))
    }

    fn bind(
        &self,
        spec: MdSpec,
        memory: MdMemory,
        auto_unlink: bool,
        owner: Option<Arc<dyn Any + Send + Sync>>,
    ) -> Result<MdHandle, Errno> {
        if spec.options.has(MdOptions::OP_PUT) || spec.options.has(MdOptions::OP_GET) {
            return Err(Errno::Invalid);
        }
        self.new_md(spec, memory, auto_unlink, None, owner).map(|md| md.handle())
    }

    /// Ends an MD: `LNetMDUnlink`. An idle one reports UNLINK before this returns; a busy one reports its
    /// end with its last operation. Those that wait for the discovery of a peer end at once, with
    /// [`Errno::Cancelled`]. [`Errno::NotFound`] when it is gone or going.
    pub fn md_unlink(&self, md: MdHandle) -> Result<(), Errno> {
        let md = self.detached(md)?;
        self.unlink(&md)
    }

    /// Ends an MD of the node's own that serves GETs: those that it has taken are answered.
    pub(crate) fn md_retire(&self, md: MdHandle) -> Result<(), Errno> {
        let md = self.detached(md)?;
        md.retire()?;
        self.mds.remove(md.handle().place());
        Ok(())
    }

    /// An MD that nothing finds any more.
    fn detached(&self, md: MdHandle) -> Result<Arc<Md>, Errno> {
        let md = self.mds.get(md.place()).ok_or(Errno::NotFound)?;
        if let Some((portal, slot)) = md.attached().and_then(|me| me_place(self, me)) {
            portal.detach_md(slot, &md);
        }
        Ok(md)
    }

    /// Makes an event queue: `LNetEQAlloc`. `count` events fit in its ring (rounded up to a power of two);
    /// with 0 it has none. [`Errno::Invalid`] without ring and handler, [`Errno::NoMemory`].
    pub fn eq_alloc(&self, count: u32, handler: Option<EventHandler>) -> Result<EqHandle, Errno> {
        let queue = Arc::new(EventQueue::new(count, handler)?);
        let mut handle = None;
        self.queues.insert(|place| {
            handle = Some(EqHandle::new(place));
            queue
        })?;
        let handle = handle.ok_or(Errno::NoMemory)?;
        // The end of the node goes through the queues that it finds once it has begun.
        if self.is_ending() {
            self.queues.remove(handle.place());
            return Err(Errno::NetworkDown);
        }
        Ok(handle)
    }

    /// Ends an event queue: `LNetEQFree`. [`Errno::Busy`] while an MD may still report to it; a last event
    /// that is with the handler is waited for. [`Errno::NotFound`] when it is not there. Threads that wait for an
    /// event of it get [`Errno::NotFound`].
    pub fn eq_free(&self, eq: EqHandle) -> Result<(), Errno> {
        self.eq(eq)?.wait_unused()?;
        self.take_queue(eq)
    }

    /// Ends an event queue for its caller: it goes when the last MD does that may still report to it.
    /// [`Errno::NotFound`] when it is not there.
    pub fn eq_leave(&self, eq: EqHandle) -> Result<(), Errno> {
        self.take_queue(eq)
    }

    fn take_queue(&self, eq: EqHandle) -> Result<(), Errno> {
        self.queues.remove(eq.place()).ok_or(Errno::NotFound)?.end(Errno::NotFound);
        Ok(())
    }

    /// The oldest event not yet read: `LNetEQGet`. [`Errno::NotFound`] when the queue is not there.
    pub fn eq_get(&self, eq: EqHandle) -> Result<Option<Polled>, Errno> {
        self.eq(eq)?.get()
    }

    /// The queue itself, to wait on.
    pub fn eq(&self, eq: EqHandle) -> Result<Arc<EventQueue>, Errno> {
        self.queues.get(eq.place()).ok_or(Errno::NotFound)
    }

    /// Makes PUTs that match nothing on `portal` wait: `LNetSetLazyPortal`.
    pub fn set_lazy_portal(&self, portal: u32) -> Result<(), Errno> {
        self.portal(portal)?.set_lazy();
        Ok(())
    }

    /// Ends that and drops what waits: `LNetClearLazyPortal`.
    pub fn clear_lazy_portal(&self, portal: u32) -> Result<(), Errno> {
        let delayed = self.portal(portal)?.clear_lazy();
        self.drop_delayed(delayed);
        Ok(())
    }

    pub(crate) fn drop_delayed(&self, delayed: impl IntoIterator<Item = crate::portal::Delayed>) {
        for delayed in delayed {
            self.count_drop(delayed.message, "portal no longer lazy, or interface removed");
            delayed.hold.resume(RxAction::Discard);
        }
    }

    pub(crate) fn portal(&self, portal: u32) -> Result<&Portal, Errno> {
        self.portals.get(portal as usize).ok_or(Errno::Invalid)
    }

    fn unlink(&self, md: &Md) -> Result<(), Errno> {
        let settled = md.unlink()?;
        // Busy or idle, the handle is dead from here on; only messages still know the MD.
        self.mds.remove(md.handle().place());
        if settled == Settled::Lives {
            self.cancel_parked(md);
        }
        send_deferred();
        Ok(())
    }

    fn new_md(
        &self,
        spec: MdSpec,
        memory: MdMemory,
        auto_unlink: bool,
        attached: Option<MeHandle>,
        owner: Option<Arc<dyn Any + Send + Sync>>,
    ) -> Result<Arc<Md>, Errno> {
        let max_size = Md::checked_max_size(&spec, &memory)?;
        let queue = spec.eq.map(|eq| self.eq(eq)).transpose()?;
        let md = self.mds.insert(|place| {
            let new = NewMd { spec, memory, max_size, auto_unlink, attached, queue, owner };
            Arc::new(Md::new(MdHandle::new(place), new))
        })?;
        if spec.eq.is_some() && !md.has_queue() {
            self.mds.remove(md.handle().place());
            return Err(Errno::NotFound);
        }
        Ok(md)
    }
}
