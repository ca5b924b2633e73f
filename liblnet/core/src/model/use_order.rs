//! The order of last use of the many peer NIs of a peer on one net, so that a selection among them reads few.

use crate::sync::{Mutex, lock};

/// The number of least recently used positions that a selection checks here before it compares all candidates.
const MAX_CHECKED: usize = 16;

/// Positions of peer NIs on a net, from the least to the most recently used. Any thread may call.
#[derive(Debug)]
pub(crate) struct UseOrder(Mutex<List>);

impl UseOrder {
    /// An order of `positions`, which are all numbers from 0 up, the least recently used first.
    pub(crate) fn new(positions: &[usize]) -> Self {
        let end = positions.len();
        let mut list = List { links: vec![Link { before: end, after: end }; end + 1] };
        for position in positions {
            list.insert_last(*position);
        }
        Self(Mutex::new(list))
    }

    /// Moves a position behind all others; `note` is called under the lock, so that the values that it stores have the same
    /// order.
    pub(crate) fn used(&self, position: usize, note: impl FnOnce()) {
        let mut list = lock(&self.0);
        if position < list.end() {
            list.remove(position);
            list.insert_last(position);
        }
        note();
    }

    /// The least recently used position for which `is_best` holds; `None` if it holds for none of the first few.
    pub(crate) fn least_recently_used(&self, is_best: impl Fn(usize) -> bool) -> Option<usize> {
        lock(&self.0).first(is_best)
    }

    /// Moves the least recently used position for which `is_best` holds behind all others, as [`UseOrder::used`] does; `note` gets it. `None`
    /// as from [`UseOrder::least_recently_used`].
    pub(crate) fn take_least_recently_used(
        &self,
        is_best: impl Fn(usize) -> bool,
        note: impl FnOnce(usize),
    ) -> Option<usize> {
        let mut list = lock(&self.0);
        let position = list.first(is_best)?;
        list.remove(position);
        list.insert_last(position);
        note(position);
        Some(position)
    }

    /// The most recently used position.
    pub(crate) fn most_recently_used(&self) -> usize {
        let list = lock(&self.0);
        list.links[list.end()].before
    }
}

/// A circular list of positions. The last link is its head: before the first position and after the last.
#[derive(Debug)]
struct List {
    links: Vec<Link>,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    before: usize,
    after: usize,
}

impl List {
    fn end(&self) -> usize {
        self.links.len() - 1
    }

    /// The first position for which `is_best` holds; `None` if it holds for none of the first few.
    fn first(&self, is_best: impl Fn(usize) -> bool) -> Option<usize> {
        let mut position = self.links[self.end()].after;
        for _ in 0..MAX_CHECKED.min(self.end()) {
            if is_best(position) {
                return Some(position);
            }
            position = self.links[position].after;
        }
        None
    }

    fn remove(&mut self, position: usize) {
        let Link { before, after } = self.links[position];
        self.links[before].after = after;
        self.links[after].before = before;
    }

    fn insert_last(&mut self, position: usize) {
        let end = self.end();
        let before = self.links[end].before;
        self.links[position] = Link { before, after: end };
        self.links[before].after = position;
        self.links[end].before = position;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// PS-31: fails if the order is not that of a list from which each used position is taken and appended.
        #[test]
        fn positions_are_in_the_order_of_their_last_use(
            uses in prop::collection::vec(0_usize..40, 0..100),
            best in prop::collection::vec(any::<bool>(), 40),
        ) {
            let mut naive: Vec<usize> = (0..best.len()).rev().collect();
            let order = UseOrder::new(&naive);
            for position in uses {
                let expected = naive.iter().take(MAX_CHECKED).copied().find(|position| best[*position]);
                prop_assert_eq!(order.least_recently_used(|position| best[position]), expected);
                naive.retain(|its| *its != position);
                naive.push(position);
                order.used(position, || ());
                prop_assert_eq!(order.most_recently_used(), position);
            }
        }
    }
}
