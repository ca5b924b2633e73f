//! The memory of transfers by RDMA: the user's own, registered with the device, or a bounce buffer.
//!
//! Registered memory stays the user's, who may unmap it when its MD has ended. A registration is therefore kept only as long as its MD
//! exists, under the MD's number, which no other MD gets: the next MD at the same address finds nothing ([`RegistrationCache`]).
//! docs/o2ib.md has the argument, and what it costs.

mod bounce;
mod cache;

pub(crate) use bounce::{Bounce, BouncePool};
pub(crate) use cache::{CachedId, RegistrationCache};

use crate::device::{Device, Paging, Registration, Segment};
use crate::message::one_piece;
use lnet_core::Errno;
use lnet_core::memory::{MemRange, MemSlice, MemoryOwner};

/// The use of on-demand paging, where the device has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDemandPaging {
    /// All memory is locked.
    Never,
    /// Memory that cannot be locked is paged.
    Fallback,
    /// All memory of users is paged.
    Always,
}

/// Memory that a device may use for one transfer. [`TransferMemory::end`] follows when the device does not use it any more.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    /// The pieces, in order.
    pub(crate) segments: Vec<Segment>,
    /// The key for the peer, if there is one piece.
    pub(crate) rkey: u32,
    held: Vec<Held>,
}

/// What a transfer has of the device.
#[derive(Debug)]
enum Held {
    Cached(CachedId),
    Once(Registration),
    Bounce(Bounce),
}

/// Counts of what the memory of transfers has cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemoryCounters {
    /// Memory registered with the device.
    pub(crate) registrations: u64,
    /// Transfers whose memory was registered before.
    pub(crate) cache_hits: u64,
    /// Transfers through a bounce buffer.
    pub(crate) bounces: u64,
}

/// The memory of all transfers of an interface.
#[derive(Debug)]
pub(crate) struct TransferMemory {
    /// The length of a transfer in bytes below which it goes through a bounce buffer.
    bounce_below: u32,
    paging: OnDemandPaging,
    bounce: BouncePool,
    cache: RegistrationCache,
    pub(crate) counters: MemoryCounters,
}

impl TransferMemory {
    pub(crate) fn new(bounce_below: u32, cached: usize, paging: OnDemandPaging) -> Self {
        Self {
            bounce_below,
            paging,
            bounce: BouncePool::default(),
            cache: RegistrationCache::new(cached),
            counters: MemoryCounters::default(),
        }
    }

    /// Prepares memory to be read: `copied` makes the copy for a bounce buffer. At most `pieces` segments.
    pub(crate) fn source(
        &mut self,
        device: &mut dyn Device,
        memory: MemSlice<'_>,
        owner: Option<&MemoryOwner>,
        pieces: usize,
        copied: impl FnOnce() -> Box<[u8]>,
    ) -> Result<Prepared, Errno> {
        let len = memory.remaining();
        let is_small = len < self.bounce_below as usize;
        if !is_small && memory.clone().take(pieces + 1).count() <= pieces {
            let mut prepared = Prepared::default();
            let registered =
                memory.clone().try_for_each(|range| self.add_registered(device, range, owner, &mut prepared));
            if registered.is_ok() {
                return Ok(prepared);
            }
            self.end(device, prepared, |_| ());
        }
        let mut bounce = self.take_bounce(device, len)?;
        bounce.fill(&copied());
        Ok(Prepared::of_bounce(bounce, len))
    }

    /// Prepares memory to be written by the peer, in one piece.
    pub(crate) fn sink(
        &mut self,
        device: &mut dyn Device,
        memory: MemSlice<'_>,
        owner: Option<&MemoryOwner>,
    ) -> Result<Prepared, Errno> {
        let len = memory.remaining();
        if len >= self.bounce_below as usize
            && let Some(range) = one_piece(memory)
        {
            let mut prepared = Prepared::default();
            if self.add_registered(device, range, owner, &mut prepared).is_ok() {
                return Ok(prepared);
            }
        }
        Ok(Prepared::of_bounce(self.take_bounce(device, len)?, len))
    }

    /// Ends the use of memory. `arrived` gets the bytes that are in a bounce buffer, if there is one.
    pub(crate) fn end(&mut self, device: &mut dyn Device, prepared: Prepared, arrived: impl FnOnce(&[u8])) {
        let mut arrived = Some(arrived);
        for held in prepared.held {
            match held {
                Held::Cached(id) => self.cache.end_use(id),
                Held::Once(registration) => device.deregister(registration),
                Held::Bounce(bounce) => {
                    if let Some(arrived) = arrived.take() {
                        arrived(bounce.bytes());
                    }
                    self.bounce.put(device, bounce);
                }
            }
        }
    }

    /// Ends the registrations of MDs that have ended. `all`: also looks at those that were not used since the last call.
    pub(crate) fn sweep(&mut self, device: &mut dyn Device, all: bool) {
        self.cache.sweep(all, |registration| device.deregister(registration));
    }

    /// Ends all registrations, when no transfer is left.
    pub(crate) fn clear(&mut self, device: &mut dyn Device) {
        self.cache.clear(|registration| device.deregister(registration));
        self.bounce.clear(device);
    }

    fn add_registered(
        &mut self,
        device: &mut dyn Device,
        range: MemRange,
        owner: Option<&MemoryOwner>,
        prepared: &mut Prepared,
    ) -> Result<(), Errno> {
        let (registration, held) = match owner {
            Some(owner) => match self.cache.begin_use(owner.id, range) {
                Some((id, registration)) => {
                    self.counters.cache_hits += 1;
                    (registration, Held::Cached(id))
                }
                None => {
                    let registration = self.register(device, range)?;
                    let id = self.cache.insert(owner.clone(), range, registration);
                    (registration, Held::Cached(id))
                }
            },
            None => {
                let registration = self.register(device, range)?;
                (registration, Held::Once(registration))
            }
        };
        prepared.segments.push(Segment {
            address: range.address as u64,
            // A range of an MD is shorter than 4 GiB.
            len: range.len as u32,
            lkey: registration.lkey,
        });
        prepared.rkey = registration.rkey;
        prepared.held.push(held);
        Ok(())
    }

    /// Registers memory; gives back what is kept in vain if there is no room for more.
    fn register(&mut self, device: &mut dyn Device, range: MemRange) -> Result<Registration, Errno> {
        self.counters.registrations += 1;
        let pages = device.limits().on_demand && self.paging != OnDemandPaging::Never;
        if pages
            && self.paging == OnDemandPaging::Always
            && let Ok(registration) = device.register(range, Paging::OnDemand)
        {
            return Ok(registration);
        }
        if let Ok(registration) = device.register(range, Paging::Pinned) {
            return Ok(registration);
        }
        self.cache.give_up_idle(|registration| device.deregister(registration));
        match device.register(range, Paging::Pinned) {
            Err(_) if pages => device.register(range, Paging::OnDemand),
            registered => registered,
        }
    }

    fn take_bounce(&mut self, device: &mut dyn Device, len: usize) -> Result<Bounce, Errno> {
        self.counters.bounces += 1;
        self.bounce.take(device, len).or_else(|_| {
            self.cache.give_up_idle(|registration| device.deregister(registration));
            self.bounce.take(device, len)
        })
    }
}

impl Prepared {
    fn of_bounce(bounce: Bounce, len: usize) -> Self {
        let segment = bounce.segment(len as u32);
        Self { segments: vec![segment], rkey: bounce.rkey(), held: vec![Held::Bounce(bounce)] }
    }

    /// Leaves out all but the first `len` bytes.
    pub(crate) fn truncate(&mut self, mut len: usize) {
        for segment in &mut self.segments {
            let kept = len.min(segment.len as usize);
            segment.len = kept as u32;
            len -= kept;
        }
    }
}
