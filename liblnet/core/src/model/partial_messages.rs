//! The limit on messages that have arrived in part, and are kept because their senders may send them again.

use lnet_wire::Nid;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

/// The most messages kept for one peer NI. Each connection has at most one when it ends, and this many may end at the same time.
const MAX_OF_ONE: usize = 32;
/// The messages kept for all peer NIs together.
const MAX_OF_ALL: usize = 1024;

/// The messages that are kept, by the peer NI that they came from. Above the limit for one peer NI, or for all, the oldest
/// are given up.
#[derive(Debug)]
pub struct PartialMessages<K> {
    /// All messages by age, the oldest first.
    order: BTreeMap<u64, (Nid, K)>,
    of_one: HashMap<Nid, BTreeSet<u64>>,
    places: HashMap<K, u64>,
    next: u64,
}

impl<K> Default for PartialMessages<K> {
    fn default() -> Self {
        let (order, of_one, places) = (BTreeMap::new(), HashMap::new(), HashMap::new());
        Self { order, of_one, places, next: 0 }
    }
}

impl<K: Clone + Eq + Hash> PartialMessages<K> {
    /// Adds the message `key` from `peer`. Returns the messages that are not kept any more, which the caller must give up.
    #[must_use]
    pub fn keep(&mut self, peer: Nid, key: K) -> Vec<K> {
        self.release(&key);
        let place = self.next;
        self.next += 1;
        self.order.insert(place, (peer, key.clone()));
        self.places.insert(key, place);
        let its = self.of_one.entry(peer).or_default();
        its.insert(place);
        let oldest = match (its.len() > MAX_OF_ONE, self.order.len() > MAX_OF_ALL) {
            (true, _) => its.first().copied(),
            (false, true) => self.order.keys().next().copied(),
            (false, false) => None,
        };
        oldest.and_then(|oldest| self.remove(oldest)).into_iter().collect()
    }

    /// Removes the message, if it is kept.
    pub fn release(&mut self, key: &K) {
        if let Some(place) = self.places.get(key).copied() {
            self.remove(place);
        }
    }

    fn remove(&mut self, place: u64) -> Option<K> {
        let (peer, key) = self.order.remove(&place)?;
        self.places.remove(&key);
        if let Some(its) = self.of_one.get_mut(&peer) {
            its.remove(&place);
            if its.is_empty() {
                self.of_one.remove(&peer);
            }
        }
        Some(key)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn peer(number: usize) -> Nid {
        format!("10.0.{}.{}@tcp", number / 250, 1 + number % 250).parse().unwrap()
    }

    /// Fails if a peer keeps more than its share, or if its messages replace those of other peers.
    #[test]
    fn the_oldest_of_a_peer_goes_when_it_has_too_many() {
        let mut kept = PartialMessages::default();
        assert_eq!(kept.keep(peer(1), 1_000_000), [0; 0]);
        let gone: Vec<usize> = (0..10 * MAX_OF_ONE).flat_map(|key| kept.keep(peer(2), key)).collect();
        assert_eq!(gone, (0..9 * MAX_OF_ONE).collect::<Vec<_>>());
        assert_eq!(kept.order.len(), 1 + MAX_OF_ONE);
        // A message that is kept again becomes the newest.
        assert_eq!(kept.keep(peer(2), 9 * MAX_OF_ONE), [0; 0]);
        assert_eq!(kept.keep(peer(2), 5000), [9 * MAX_OF_ONE + 1]);
    }

    #[test]
    fn the_oldest_of_all_goes_when_there_are_too_many() {
        let mut kept = PartialMessages::default();
        let gone: Vec<usize> = (0..MAX_OF_ALL + 10).flat_map(|key| kept.keep(peer(key), key)).collect();
        assert_eq!(gone, (0..10).collect::<Vec<_>>());
        (0..MAX_OF_ALL + 10).for_each(|key| kept.release(&key));
        assert!(kept.order.is_empty() && kept.of_one.is_empty() && kept.places.is_empty());
    }
}
