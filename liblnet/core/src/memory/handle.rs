//! Handles: numbers that identify an object for C callers and on the wire.
//!
//! A cookie is never reused within one incarnation of the node, so that a late ACK or REPLY finds nothing (TRAP-24).
//! The generations of each incarnation begin at another number, so that a handle of an earlier one does not match an
//! object.
//!
//! Layout, opaque to everyone else: 2 bits kind, 6 bits table, 24 bits slot, 32 bits generation of the slot. A slot
//! whose generations are used up is retired.

use crate::sync::{Spinlock, SpinlockGuard};
use lnet_wire::Errno;
use std::cell::Cell;
use std::sync::atomic::{AtomicU8, Ordering};

const KIND_MD: u64 = 1;
const KIND_ME: u64 = 2;
const KIND_EQ: u64 = 3;
const MAX_SLOTS: usize = 1 << 24;
/// The number of tables of one kind of handle, so that threads seldom contend for a lock.
const SHARDS: usize = 8;

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident, $kind:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $name(u64);

        impl $name {
            /// The handle with a cookie of a C caller or from the wire, which may be any number.
            pub const fn from_cookie(cookie: u64) -> Self {
                Self(cookie)
            }

            /// The number for C callers and the wire.
            pub const fn cookie(self) -> u64 {
                self.0
            }

            pub(crate) fn new(place: Place) -> Self {
                Self(place.pack($kind))
            }

            #[inline]
            pub(crate) fn place(self) -> Option<Place> {
                Place::unpack(self.0, $kind)
            }
        }
    };
}

handle! {
    /// The handle of a memory descriptor.
    MdHandle, KIND_MD
}
handle! {
    /// The handle of a match entry.
    MeHandle, KIND_ME
}
handle! {
    /// The handle of an event queue.
    EqHandle, KIND_EQ
}

/// The parts of a cookie: table, slot, generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) table: u8,
    pub(crate) slot: HandleSlot,
}

/// A generation of a slot of [`HandleSlots`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HandleSlot {
    pub(crate) index: u32,
    generation: u32,
}

impl Place {
    fn pack(self, kind: u64) -> u64 {
        kind | u64::from(self.table) << 2
            | u64::from(self.slot.index) << 8
            | u64::from(self.slot.generation) << 32
    }

    #[inline]
    fn unpack(cookie: u64, kind: u64) -> Option<Self> {
        (cookie & 3 == kind).then_some(Self {
            table: (cookie >> 2 & 0x3f) as u8,
            slot: HandleSlot { index: (cookie >> 8) as u32 & 0x00ff_ffff, generation: (cookie >> 32) as u32 },
        })
    }
}

/// Objects in numbered slots; each reuse of a slot has a new generation.
#[derive(Debug)]
pub(crate) struct HandleSlots<T> {
    /// The generation with which each new slot begins.
    first: u32,
    slots: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

impl<T> Default for HandleSlots<T> {
    fn default() -> Self {
        Self::beginning_with(0)
    }
}

impl<T> HandleSlots<T> {
    const fn beginning_with(first: u32) -> Self {
        Self { first, slots: Vec::new(), free: Vec::new() }
    }

    /// Inserts the object that `make` returns for its slot.
    pub(crate) fn insert(&mut self, make: impl FnOnce(HandleSlot) -> T) -> Result<HandleSlot, Errno> {
        let index = match self.free.pop() {
            Some(index) => index,
            None if self.slots.len() < MAX_SLOTS => {
                self.slots.push((self.first, None));
                (self.slots.len() - 1) as u32
            }
            None => return Err(Errno::NoMemory),
        };
        let entry = &mut self.slots[index as usize];
        let slot = HandleSlot { index, generation: entry.0 };
        entry.1 = Some(make(slot));
        Ok(slot)
    }

    pub(crate) fn get(&self, slot: HandleSlot) -> Option<&T> {
        self.slots.get(slot.index as usize).filter(|e| e.0 == slot.generation)?.1.as_ref()
    }

    pub(crate) fn get_mut(&mut self, slot: HandleSlot) -> Option<&mut T> {
        self.slots.get_mut(slot.index as usize).filter(|e| e.0 == slot.generation)?.1.as_mut()
    }

    /// The object in slot number `index`, of any generation.
    pub(crate) fn at(&self, index: u32) -> Option<&T> {
        self.slots.get(index as usize)?.1.as_ref()
    }

    /// Does the same as [`HandleSlots::at`], for a change of the object.
    pub(crate) fn at_mut(&mut self, index: u32) -> Option<&mut T> {
        self.slots.get_mut(index as usize)?.1.as_mut()
    }

    pub(crate) fn remove(&mut self, slot: HandleSlot) -> Option<T> {
        let entry = self.slots.get_mut(slot.index as usize).filter(|e| e.0 == slot.generation)?;
        let object = entry.1.take()?;
        entry.0 = entry.0.wrapping_add(1);
        if entry.0 != 0 {
            self.free.push(slot.index);
        }
        Some(object)
    }

    fn all(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().filter_map(|entry| entry.1.as_ref())
    }

    #[cfg(all(test, not(loom)))]
    pub(crate) fn len(&self) -> usize {
        self.slots.iter().filter(|e| e.1.is_some()).count()
    }

    fn drain(&mut self) -> Vec<T> {
        self.free.clear();
        let objects = self.slots.drain(..).filter_map(|e| e.1).collect();
        self.slots.shrink_to_fit();
        objects
    }
}

/// A table of objects that any thread finds by handle.
#[derive(Debug)]
pub(crate) struct HandleTable<T> {
    shards: [Spinlock<HandleSlots<T>>; SHARDS],
    /// The table for the next object of [`HandleTable::insert_in_turn`].
    next: AtomicU8,
}

/// One of the tables, locked, and a slot of it.
pub(crate) type TableOf<'a, T> = (SpinlockGuard<'a, HandleSlots<T>>, HandleSlot);

impl<T: Clone> HandleTable<T> {
    /// A table for the incarnation `incarnation` of a node, whose handles differ from those of other incarnations.
    pub(crate) fn new(incarnation: u64) -> Self {
        // Mixed, as the numbers of incarnations differ in their low bits; at least three quarters of the generations
        // are left.
        let first = (incarnation.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 34) as u32;
        let shards = std::array::from_fn(|_| Spinlock::new(HandleSlots::beginning_with(first)));
        Self { shards, next: AtomicU8::new(0) }
    }

    /// Inserts the object that `make` returns for its place.
    pub(crate) fn insert(&self, make: impl FnOnce(Place) -> T) -> Result<T, Errno> {
        self.insert_in(shard_of_this_thread(), make)
    }

    /// Does the same in the next of all tables: for objects that one thread makes and others look up.
    pub(crate) fn insert_in_turn(&self, make: impl FnOnce(Place) -> T) -> Result<T, Errno> {
        self.insert_in(self.next.fetch_add(1, Ordering::Relaxed) % SHARDS as u8, make)
    }

    fn insert_in(&self, table: u8, make: impl FnOnce(Place) -> T) -> Result<T, Errno> {
        let mut shard = self.shards[usize::from(table)].lock();
        let slot = shard.insert(|slot| make(Place { table, slot }))?;
        shard.get(slot).cloned().ok_or(Errno::NoMemory)
    }

    #[inline]
    pub(crate) fn get(&self, place: Option<Place>) -> Option<T> {
        let (table, slot) = self.table_of(place)?;
        table.get(slot).cloned()
    }

    /// The locked table with the slot of an object, for a short access to the object.
    #[inline]
    pub(crate) fn table_of(&self, place: Option<Place>) -> Option<TableOf<'_, T>> {
        let place = place?;
        Some((self.shards.get(usize::from(place.table))?.lock(), place.slot))
    }

    pub(crate) fn remove(&self, place: Option<Place>) -> Option<T> {
        let place = place?;
        self.shards.get(usize::from(place.table))?.lock().remove(place.slot)
    }

    /// All objects, one shard after the other.
    pub(crate) fn all(&self) -> Vec<T> {
        self.shards.iter().flat_map(|shard| shard.lock().all().cloned().collect::<Vec<_>>()).collect()
    }

    /// Removes all objects; only during the shutdown.
    pub(crate) fn drain(&self) -> Vec<T> {
        self.shards.iter().flat_map(|shard| shard.lock().drain()).collect()
    }
}

fn shard_of_this_thread() -> u8 {
    static NEXT: AtomicU8 = AtomicU8::new(0);
    thread_local! {
        static SHARD: Cell<Option<u8>> = const { Cell::new(None) };
    }
    SHARD.with(|shard| {
        shard.get().unwrap_or_else(|| {
            let mine = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS as u8;
            shard.set(Some(mine));
            mine
        })
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_of_one_kind_is_no_handle_of_another() {
        let place = Place { table: 63, slot: HandleSlot { index: 0x00ab_cdef, generation: 0xdead_beef } };
        let md = MdHandle::new(place);
        assert_eq!(md.place(), Some(place));
        assert_eq!(MeHandle::from_cookie(md.cookie()).place(), None);
        assert_eq!(EqHandle::from_cookie(md.cookie()).place(), None);
    }

    #[test]
    fn the_cookies_zero_and_all_ones_are_never_issued() {
        for cookie in [0, u64::MAX] {
            assert_eq!(MdHandle::from_cookie(cookie).place(), None);
            assert_eq!(MeHandle::from_cookie(cookie).place(), None);
        }
        // All ones have the kind of an EQ; the table of that number does not exist.
        let table = HandleTable::<u8>::new(0);
        assert_eq!(table.get(EqHandle::from_cookie(u64::MAX).place()), None);
    }

    #[test]
    fn a_removed_object_is_not_found_and_its_slot_comes_back_under_another_cookie() {
        let table = HandleTable::new(0);
        let mut first = None;
        table.insert(|place| *first.insert(MdHandle::new(place))).unwrap();
        let first = first.unwrap();
        assert_eq!(table.get(first.place()), Some(first));
        assert_eq!(table.remove(first.place()), Some(first));
        assert_eq!(table.remove(first.place()), None);
        let mut second = None;
        table.insert(|place| *second.insert(MdHandle::new(place))).unwrap();
        assert_ne!(second, Some(first));
        assert_eq!(table.get(first.place()), None);
    }

    #[test]
    fn a_handle_of_an_earlier_incarnation_finds_nothing() {
        let handle = |incarnation| {
            let mut handle = None;
            HandleTable::new(incarnation).insert(|place| *handle.insert(MdHandle::new(place))).unwrap();
            handle.unwrap()
        };
        let next = HandleTable::new(8);
        next.insert(MdHandle::new).unwrap();
        assert_eq!(next.get(handle(7).place()), None);
    }

    #[test]
    fn a_slot_whose_generations_are_used_up_is_retired() {
        let mut slots = HandleSlots { first: 0, slots: vec![(u32::MAX, None)], free: vec![0] };
        let last = slots.insert(|_| 'a').unwrap();
        assert_eq!((last.index, last.generation), (0, u32::MAX));
        slots.remove(last);
        assert_eq!(slots.insert(|_| 'b').unwrap().index, 1);
    }
}
