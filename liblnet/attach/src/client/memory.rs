//! The memory of the program that the node can access: memory of the library's, to and from which payloads are copied, and memory that
//! the program has taken from the library for its MDs.

use super::AttachedNode;
use crate::record::{Operation, Piece, ProgramMemory};
use foldhash::HashMap;
use lnd_common::sync::lock;
use lnet_core::memory::MemRange;
use lnet_core::{Errno, MdHandle, MdMemory, MdOptions};
use lnet_os::shared_memory::SharedMemory;
use lnet_os::stop_point;
use range_alloc::RangeAllocator;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// The bytes of an arena, unless one MD needs more. Pages are taken from the system when they are first used.
const ARENA: u64 = 16 << 20;
/// Leases begin at multiples of this: no two share a line of the cache.
const ALIGNMENT: u64 = 64;

/// All memory that is registered with the node.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// By registration.
    arenas: HashMap<u32, Arena>,
    /// Memory that the program has taken, by its address.
    regions: BTreeMap<usize, Region>,
    last: u32,
}

/// Memory of the library's, parts of which are leased.
#[derive(Debug)]
struct Arena {
    memory: SharedMemory,
    free: RangeAllocator<u64>,
}

/// Memory that the program has taken.
#[derive(Debug)]
struct Region {
    registration: u32,
    memory: Arc<SharedMemory>,
}

/// A part of an arena, until it is dropped.
#[derive(Debug)]
pub(super) struct Lease {
    of: Arc<Mutex<Memory>>,
    registration: u32,
    range: Range<u64>,
    memory: MdMemory,
}

impl Lease {
    /// The memory in this process.
    pub(super) const fn memory(&self) -> &MdMemory {
        &self.memory
    }

    /// The memory as the node knows it.
    pub(super) const fn piece(&self) -> Piece {
        Piece { registration: self.registration, offset: self.range.start, len: self.memory.len() }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(arena) = lock(&self.of).arenas.get_mut(&self.registration) {
            arena.free.free_range(self.range.clone());
        }
    }
}

impl Memory {
    fn next_registration(&mut self) -> u32 {
        self.last = self.last.wrapping_add(1);
        self.last
    }

    /// The registered pieces that these ranges are in; `None` if a part is in none.
    fn pieces(&self, memory: &MdMemory) -> Option<Vec<Piece>> {
        let piece = |MemRange { address, len }: MemRange| {
            let (start, region) = self.regions.range(..=address).next_back()?;
            let offset = address - start;
            let is_inside = offset.checked_add(len).is_some_and(|end| end <= region.memory.len());
            let len = u32::try_from(len).ok()?;
            is_inside.then_some(Piece { registration: region.registration, offset: offset as u64, len })
        };
        if self.regions.is_empty() { None } else { memory.slice(0, memory.len()).map(piece).collect() }
    }
}

impl AttachedNode {
    /// What the node gets as the memory of an MD, with the lease that it is copied to and from.
    pub(super) fn memory_for_node(
        &self,
        memory: &MdMemory,
        options: MdOptions,
    ) -> Result<(ProgramMemory, Option<Lease>), Errno> {
        let len = memory.len();
        if let Some(pieces) = lock(&self.memory).pieces(memory) {
            return Ok((ProgramMemory::InPlace(pieces), None));
        }
        if options.has(MdOptions::OP_GET) && !options.has(MdOptions::OP_PUT) {
            return Ok((ProgramMemory::OnDemand(len), None));
        }
        if len == 0 {
            return Ok((ProgramMemory::Copied(Vec::new()), None));
        }
        let lease = self.lease(len)?;
        Ok((ProgramMemory::Copied(vec![lease.piece()]), Some(lease)))
    }

    /// Memory of the library's that the node can access.
    fn lease(&self, len: u32) -> Result<Lease, Errno> {
        let size = u64::from(len).next_multiple_of(ALIGNMENT);
        loop {
            if let Some(lease) = self.try_lease(len, size) {
                return Ok(lease);
            }
            let bytes = size.next_multiple_of(ARENA);
            let memory = SharedMemory::create(c"lnet-copies", bytes as usize).map_err(|_| Errno::NoMemory)?;
            let registration = lock(&self.memory).next_registration();
            self.register(registration, memory.file())?;
            let arena = Arena { memory, free: RangeAllocator::new(0..bytes) };
            lock(&self.memory).arenas.insert(registration, arena);
        }
    }

    fn try_lease(&self, len: u32, size: u64) -> Option<Lease> {
        let mut memory = lock(&self.memory);
        memory.arenas.iter_mut().find_map(|(registration, arena)| {
            let range = arena.free.allocate_range(size).ok()?;
            let address = arena.memory.address() + range.start as usize;
            let memory = MdMemory::contiguous(address, len);
            Some(Lease { of: Arc::clone(&self.memory), registration: *registration, range, memory })
        })
    }

    /// Gives the node the data for the REPLY to a GET. May wait for the node.
    pub(super) fn fetch(&self, fetch: Fetch) {
        let data = self.fetched(fetch);
        stop_point::reach("program: data for a GET copied");
        // Without an attachment nobody waits.
        _ = self.call(&Operation::Fetched { request: fetch.request, data });
    }

    fn fetched(&self, Fetch { request, md, offset, len }: Fetch) -> Result<Vec<Piece>, Errno> {
        let md = self.md(md)?;
        if len == 0 {
            return Ok(Vec::new());
        }
        let lease = self.lease(len)?;
        md.copy_to(&lease, offset, len);
        let piece = lease.piece();
        lock(&self.lent).insert(request, lease);
        Ok(vec![piece])
    }

    /// Takes back the data that the node was given.
    pub(super) fn returned(&self, number: u64) {
        let lease = lock(&self.lent).remove(&number);
        // Not while the table is locked.
        drop(lease);
    }

    /// Lets the node access this memory of the program in place: MDs that are made of it are not copied.
    pub fn add_memory(&self, memory: &Arc<SharedMemory>) -> Result<(), Errno> {
        let registration = lock(&self.memory).next_registration();
        self.register(registration, memory.file())?;
        let region = Region { registration, memory: Arc::clone(memory) };
        lock(&self.memory).regions.insert(memory.address(), region);
        Ok(())
    }

    /// Ends the effect of [`AttachedNode::add_memory`] for the memory at this address. MDs that are made of it go on. [`Errno::NotFound`] if
    /// there is no such memory.
    pub fn remove_memory(&self, address: usize) -> Result<(), Errno> {
        let region = lock(&self.memory).regions.remove(&address).ok_or(Errno::NotFound)?;
        self.call(&Operation::Deregister { registration: region.registration }).map(|_| ())
    }
}

/// The request of the node for data of an MD.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fetch {
    pub(super) request: u64,
    pub(super) md: MdHandle,
    pub(super) offset: u32,
    pub(super) len: u32,
}
