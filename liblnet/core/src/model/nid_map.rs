//! A table by NID that is searched for every message.
//!
//! NIDs with four-byte addresses are numbers, and compared as such: a search reads one place of an array, or a few in a row. Nobody
//! else can choose NIDs that share their places, as the hash is seeded.

use foldhash::HashMap;
use foldhash::fast::RandomState;
use lnet_wire::Nid;
use std::hash::BuildHasher;

/// Values by NID, in no order.
#[derive(Debug)]
pub(crate) struct NidMap<V> {
    /// The values of NIDs with four-byte addresses, each at the place of its hash or after it, without a gap between. The number of places
    /// is 0 or a power of two.
    places: Vec<Option<(u64, V)>>,
    /// The number of values in `places`, at most half of the places.
    used: usize,
    hasher: RandomState,
    /// The values of all other NIDs.
    long: HashMap<Nid, V>,
}

/// The number of places of the first array.
const FIRST_PLACES: usize = 4;

impl<V> Default for NidMap<V> {
    fn default() -> Self {
        Self { places: Vec::new(), used: 0, hasher: RandomState::default(), long: HashMap::default() }
    }
}

impl<V> NidMap<V> {
    pub(crate) fn get(&self, nid: Nid) -> Option<&V> {
        match nid.to_u64() {
            Some(short) => self.get_short(short),
            None => self.long.get(&nid),
        }
    }

    /// The value of a NID with a four-byte address, in its eight-byte form.
    #[inline(always)]
    pub(crate) fn get_short(&self, short: u64) -> Option<&V> {
        let mut at = self.first_place(short);
        loop {
            match self.places.get(at)? {
                Some((its, value)) if *its == short => return Some(value),
                Some(_) => at = self.next(at),
                None => return None,
            }
        }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, nid: Nid) -> Option<&mut V> {
        let Some(short) = nid.to_u64() else { return self.long.get_mut(&nid) };
        if self.places.is_empty() {
            return None;
        }
        let at = self.place_for(short);
        self.places[at].as_mut().map(|(_, value)| value)
    }

    /// The value of `nid`, which `make` makes if there is none.
    #[inline]
    pub(crate) fn get_or_insert_with(&mut self, nid: Nid, make: impl FnOnce() -> V) -> &mut V {
        let Some(short) = nid.to_u64() else { return self.long.entry(nid).or_insert_with(make) };
        if 2 * (self.used + 1) > self.places.len() {
            self.grow();
        }
        let at = self.place_for(short);
        let place = &mut self.places[at];
        self.used += usize::from(place.is_none());
        &mut place.get_or_insert_with(|| (short, make())).1
    }

    pub(crate) fn remove(&mut self, nid: Nid) -> Option<V> {
        let Some(short) = nid.to_u64() else { return self.long.remove(&nid) };
        if self.places.is_empty() {
            return None;
        }
        let mut gap = self.place_for(short);
        let (_, removed) = self.places[gap].take()?;
        self.used -= 1;
        // What came after the gap is found only if it is moved there, unless its place is behind the gap.
        let mut at = self.next(gap);
        while let Some((its, _)) = &self.places[at] {
            if self.distance(self.first_place(*its), at) >= self.distance(gap, at) {
                self.places.swap(gap, at);
                gap = at;
            }
            at = self.next(at);
        }
        Some(removed)
    }

    /// Removes the values for which `stays` does not hold.
    pub(crate) fn retain(&mut self, mut stays: impl FnMut(&V) -> bool) {
        let places = std::mem::take(&mut self.places);
        let before = places.len();
        self.places.resize_with(before, || None);
        self.used = 0;
        for (short, value) in places.into_iter().flatten().filter(|(_, value)| stays(value)) {
            self.insert_new(short, value);
        }
        self.long.retain(|_, value| stays(value));
    }

    /// The NIDs with sixteen-byte addresses that have values.
    pub(crate) fn long_nids(&self) -> impl Iterator<Item = Nid> {
        self.long.keys().copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.used + self.long.len()
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.places.iter().flatten().map(|(_, value)| value).chain(self.long.values())
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.places.iter_mut().flatten().map(|(_, value)| value).chain(self.long.values_mut())
    }

    fn grow(&mut self) {
        let more = (2 * self.places.len()).max(FIRST_PLACES);
        let before = std::mem::take(&mut self.places);
        self.places.resize_with(more, || None);
        self.used = 0;
        for (short, value) in before.into_iter().flatten() {
            self.insert_new(short, value);
        }
    }

    /// Inserts a value whose NID has none, where there is room.
    fn insert_new(&mut self, short: u64, value: V) {
        let at = self.place_for(short);
        self.places[at] = Some((short, value));
        self.used += 1;
    }

    /// The place of a NID, or the free one where it belongs. Half of the places are free.
    fn place_for(&self, short: u64) -> usize {
        let mut at = self.first_place(short);
        while self.places[at].as_ref().is_some_and(|(its, _)| *its != short) {
            at = self.next(at);
        }
        at
    }

    #[inline(always)]
    fn first_place(&self, short: u64) -> usize {
        self.hasher.hash_one(short) as usize & self.mask()
    }

    #[inline(always)]
    fn next(&self, at: usize) -> usize {
        (at + 1) & self.mask()
    }

    /// The number of steps from one place to another.
    fn distance(&self, from: usize, to: usize) -> usize {
        to.wrapping_sub(from) & self.mask()
    }

    #[inline(always)]
    fn mask(&self) -> usize {
        self.places.len().wrapping_sub(1)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use lnet_wire::{NetId, NetType};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn nid(number: u8) -> Nid {
        let net = NetId::new(NetType::TCP, 0);
        match number % 4 {
            0 => Nid::new_long(net, [number; 16]),
            _ => Nid::new(net, number.into()),
        }
    }

    proptest! {
        #[test]
        fn a_nid_has_the_value_that_was_inserted_until_it_is_removed(
            steps in prop::collection::vec((0_u8..8, 0_u8..40, 1_u8..5), 0..200),
        ) {
            let (mut map, mut naive) = (NidMap::default(), BTreeMap::new());
            for (step, number, divisor) in steps {
                match step {
                    0..=4 => {
                        let value = *map.get_or_insert_with(nid(number), || (number, step));
                        prop_assert_eq!(value, *naive.entry(nid(number)).or_insert((number, step)));
                    }
                    5 | 6 => prop_assert_eq!(map.remove(nid(number)), naive.remove(&nid(number))),
                    _ => {
                        map.retain(|(its, _)| its % divisor != 0);
                        naive.retain(|_, (its, _)| *its % divisor != 0);
                    }
                }
                prop_assert_eq!(map.len(), naive.len());
                for number in 0..40 {
                    prop_assert_eq!(map.get(nid(number)), naive.get(&nid(number)));
                    prop_assert_eq!(map.get_mut(nid(number)), naive.get_mut(&nid(number)));
                }
                let (mut all, mut expected): (Vec<_>, Vec<_>) = (map.values().collect(), naive.values().collect());
                all.sort();
                expected.sort();
                prop_assert_eq!(all, expected);
            }
        }
    }
}
