//! The order of last use of the many peer NIs of a peer on one net, so that a selection among them reads few.

use crate::sync::{Spinlock, SpinlockGuard};

/// The number of least recently used positions that a selection checks here before it compares all candidates.
const MAX_CHECKED: usize = 16;

/// Positions of peer NIs on a net, from the least to the most recently used. Any thread may call.
#[derive(Debug)]
pub(crate) struct UseOrder(Spinlock<List>);

impl UseOrder {
    /// An order of `positions`, which are all numbers from 0 up, the least recently used first.
    pub(crate) fn new(positions: &[usize]) -> Self {
        Self(Spinlock::new(List::new(positions)))
    }

    /// Moves a position behind all others; `note` is called under the lock, so that the values that it stores have the same
    /// order.
    pub(crate) fn used(&self, position: usize, note: impl FnOnce()) {
        let mut list = self.0.lock();
        if position < list.links.len() {
            list.move_last(position);
        }
        note();
    }

    /// The least recently used position for which `is_best` holds; `None` if it holds for none of the first few.
    pub(crate) fn least_recently_used(&self, is_best: impl Fn(usize) -> bool) -> Option<usize> {
        self.0.lock().find(is_best)
    }

    /// Locks the order, to move a position behind all others.
    #[inline(always)]
    pub(crate) fn begin_turn(&self) -> Turn<'_> {
        Turn(self.0.lock())
    }

    /// The most recently used position.
    pub(crate) fn most_recently_used(&self) -> usize {
        self.0.lock().last()
    }
}

/// A selection from the order, which is locked.
pub(crate) struct Turn<'a>(SpinlockGuard<'a, List>);

impl Turn<'_> {
    /// The least recently used position.
    #[inline(always)]
    pub(crate) fn first(&self) -> usize {
        self.0.first
    }

    /// Moves the least recently used position behind all others.
    #[inline(always)]
    pub(crate) fn take_first(&mut self) {
        if let Some(link) = self.0.links.get(self.0.first) {
            self.0.first = link.after;
        }
    }

    /// Moves the least recently used position for which `is_best` holds behind all others, and returns it; `None` if it holds for none of the
    /// first few.
    pub(crate) fn take(&mut self, is_best: impl Fn(usize) -> bool) -> Option<usize> {
        self.0.find(is_best).inspect(|position| self.0.move_last(*position))
    }
}

/// A circular list of positions: the most recently used one is before the least recently used one.
#[derive(Debug)]
struct List {
    links: Vec<Link>,
    /// The least recently used position.
    first: usize,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    before: usize,
    after: usize,
}

impl List {
    fn new(positions: &[usize]) -> Self {
        let mut links = vec![Link { before: 0, after: 0 }; positions.len()];
        for (position, after) in positions.iter().zip(positions.iter().cycle().skip(1)) {
            links[*position].after = *after;
            links[*after].before = *position;
        }
        Self { links, first: positions.first().copied().unwrap_or(0) }
    }

    fn last(&self) -> usize {
        self.links.get(self.first).map_or(0, |first| first.before)
    }

    /// The first position for which `is_best` holds; `None` if it holds for none of the first few.
    fn find(&self, is_best: impl Fn(usize) -> bool) -> Option<usize> {
        let mut position = self.first;
        for _ in 0..MAX_CHECKED.min(self.links.len()) {
            if is_best(position) {
                return Some(position);
            }
            position = self.links[position].after;
        }
        None
    }

    /// Makes a position the last one. If it was the first, the list begins one further on.
    fn move_last(&mut self, position: usize) {
        if position == self.first {
            self.first = self.links[position].after;
        } else {
            self.move_before_first(position);
        }
    }

    fn move_before_first(&mut self, position: usize) {
        let Link { before, after } = self.links[position];
        self.links[before].after = after;
        self.links[after].before = before;
        let (last, first) = (self.last(), self.first);
        self.links[position] = Link { before: last, after: first };
        self.links[last].after = position;
        self.links[first].before = position;
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
            uses in prop::collection::vec((0_usize..40, any::<bool>()), 0..100),
            best in prop::collection::vec(any::<bool>(), 40),
        ) {
            let mut naive: Vec<usize> = (0..best.len()).rev().collect();
            let order = UseOrder::new(&naive);
            for (position, is_taken) in uses {
                let expected = naive.iter().take(MAX_CHECKED).copied().find(|position| best[*position]);
                prop_assert_eq!(order.least_recently_used(|position| best[position]), expected);
                let position = expected.filter(|_| is_taken).unwrap_or(position);
                if is_taken {
                    let mut turn = order.begin_turn();
                    let first = turn.first();
                    let taken = if best[first] {
                        turn.take_first();
                        Some(first)
                    } else {
                        turn.take(|position| best[position])
                    };
                    prop_assert_eq!(taken, expected);
                }
                naive.retain(|its| *its != position);
                naive.push(position);
                if !is_taken || expected.is_none() {
                    order.used(position, || ());
                }
                prop_assert_eq!(order.most_recently_used(), position);
            }
        }
    }
}
