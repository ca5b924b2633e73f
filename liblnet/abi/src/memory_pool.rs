//! The memory of `LNetMemAlloc`: regions of memory that nodes in other processes can access, and the allocations in them. A node limits the
//! number of regions of a program, so that small allocations share one.

use lnet_core::Errno;
use lnet_os::shared_memory::{SharedMemory, page_size};
use range_alloc::RangeAllocator;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The bytes of a region that several allocations share. Its pages are taken from the system when they are first written.
const REGION: usize = 16 << 20;
/// The longest allocation that shares a region.
const MAX_SHARED: usize = REGION / 16;

/// The memory that a program has.
pub(crate) struct Pool {
    /// By their addresses.
    regions: BTreeMap<usize, Region>,
    /// The part of its region that each allocation takes, by its address.
    allocations: BTreeMap<usize, Range<usize>>,
}

struct Region {
    memory: Arc<SharedMemory>,
    free: RangeAllocator<usize>,
}

impl Pool {
    pub(crate) const fn new() -> Self {
        Self { regions: BTreeMap::new(), allocations: BTreeMap::new() }
    }

    /// A region that has room for an allocation of this length, to be added to a pool. [`Errno::Invalid`] for 0, [`Errno::NoMemory`].
    pub(crate) fn region_for(length: usize) -> Result<Arc<SharedMemory>, Errno> {
        let whole = length.checked_next_multiple_of(page_size()).filter(|whole| *whole > 0);
        let length = match whole.ok_or(Errno::Invalid)? {
            ..=MAX_SHARED => REGION,
            long => long,
        };
        SharedMemory::create(c"lnet-memory", length).map(Arc::new).map_err(|_| Errno::NoMemory)
    }

    /// Adds a region without allocations.
    pub(crate) fn add(&mut self, memory: Arc<SharedMemory>) {
        let free = RangeAllocator::new(0..memory.len());
        self.regions.insert(memory.address(), Region { memory, free });
    }

    /// Allocates memory in a region, all zero. Returns its address, at the beginning of a page; `None` if no region has room.
    pub(crate) fn allocate(&mut self, length: usize) -> Option<usize> {
        let length = length.checked_next_multiple_of(page_size()).filter(|whole| *whole > 0)?;
        let (start, range) = self.regions.iter_mut().find_map(|(start, region)| {
            let is_meant = length <= MAX_SHARED || region.memory.len() == length;
            let range = if is_meant { region.free.allocate_range(length).ok()? } else { return None };
            Some((*start, range))
        })?;
        let address = start + range.start;
        self.allocations.insert(address, range);
        Some(address)
    }

    /// Frees an allocation. Returns its region if that has no other: it is removed from the pool. [`Errno::Invalid`] for an address that is
    /// none of an allocation.
    pub(crate) fn free(&mut self, address: usize) -> Result<Option<Arc<SharedMemory>>, Errno> {
        let range = self.allocations.remove(&address).ok_or(Errno::Invalid)?;
        let start = address - range.start;
        let region = self.regions.get_mut(&start).ok_or(Errno::Invalid)?;
        region.free.free_range(range.clone());
        if region.free.is_empty() {
            return Ok(self.regions.remove(&start).map(|region| region.memory));
        }
        // The next allocation there is zero again.
        region.memory.discard(range);
        Ok(None)
    }

    /// All regions.
    pub(crate) fn regions(&self) -> Vec<Arc<SharedMemory>> {
        self.regions.values().map(|region| Arc::clone(&region.memory)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    const PIECE: usize = 4096;

    fn allocate(pool: &mut Pool, length: usize) -> usize {
        if let Some(address) = pool.allocate(length) {
            return address;
        }
        pool.add(Pool::region_for(length).unwrap());
        pool.allocate(length).unwrap()
    }

    #[test]
    fn thousands_of_small_allocations_take_few_regions_and_do_not_overlap() {
        let mut pool = Pool::new();
        let mut all: Vec<usize> = (0..5000).map(|_| allocate(&mut pool, PIECE)).collect();
        assert_eq!(pool.regions().len(), (5000 * page_size()).div_ceil(REGION));
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[1] - pair[0] >= PIECE));
        assert!(all.iter().all(|address| address.is_multiple_of(page_size())));
        let emptied = all.iter().filter_map(|address| pool.free(*address).unwrap()).count();
        assert!(emptied > 0 && pool.regions().is_empty() && pool.allocations.is_empty());
    }

    #[test]
    fn a_long_allocation_has_a_region_of_its_own() {
        let mut pool = Pool::new();
        let (long, short) = (allocate(&mut pool, MAX_SHARED + 1), allocate(&mut pool, 1));
        assert_eq!(pool.regions().len(), 2);
        assert!(pool.free(long).unwrap().is_some_and(|region| region.address() == long));
        assert!(pool.free(short).unwrap().is_some());
    }

    #[test]
    fn memory_is_zero_when_it_is_allocated_again() {
        let mut pool = Pool::new();
        let (first, _keeper) = (allocate(&mut pool, PIECE), allocate(&mut pool, PIECE));
        let region = Arc::clone(&pool.regions()[0]);
        let word = (first - region.address()) / size_of::<u64>();
        region[word].store(7, Ordering::Relaxed);
        assert!(pool.free(first).unwrap().is_none());
        assert_eq!((allocate(&mut pool, PIECE), region[word].load(Ordering::Relaxed)), (first, 0));
    }

    #[test]
    fn only_addresses_of_allocations_are_freed_and_each_once() {
        let mut pool = Pool::new();
        let (first, _keeper) = (allocate(&mut pool, 2 * page_size()), allocate(&mut pool, 1));
        for (address, expected) in [
            (first + page_size(), Err(Errno::Invalid)),
            (0, Err(Errno::Invalid)),
            (first, Ok(())),
            (first, Err(Errno::Invalid)),
        ] {
            assert_eq!(pool.free(address).map(|region| assert!(region.is_none())), expected);
        }
    }

    #[test]
    fn nothing_and_too_much_are_refused() {
        assert_eq!(Pool::region_for(0).err(), Some(Errno::Invalid));
        assert_eq!(Pool::region_for(usize::MAX).err(), Some(Errno::Invalid));
        assert_eq!(Pool::region_for(1 << 60).err(), Some(Errno::NoMemory));
    }
}
