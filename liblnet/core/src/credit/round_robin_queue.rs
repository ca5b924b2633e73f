//! The queue of items that wait for a credit: their senders get credits in turn, the items of one sender in order.

use std::collections::VecDeque;

/// The sender of an item: a program that shares the node, by its PID, or the node itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderId(pub u32);

/// An item that may wait for a credit.
pub trait Sent {
    /// The sender, among which credits are shared.
    fn sender(&self) -> SenderId;
}

/// Waiting items.
#[derive(Debug)]
pub(super) struct RoundRobinQueue<T> {
    /// The senders with items, the next one first. If there is one only it may have none: its memory is used again.
    senders: VecDeque<(SenderId, VecDeque<T>)>,
}

impl<T> RoundRobinQueue<T> {
    pub(super) const fn new() -> Self {
        Self { senders: VecDeque::new() }
    }

    pub(super) fn push(&mut self, item: T)
    where
        T: Sent,
    {
        let sender = item.sender();
        if let [(only, items)] = self.senders.make_contiguous()
            && items.is_empty()
        {
            *only = sender;
        }
        match self.senders.iter_mut().find(|(other, _)| *other == sender) {
            Some((_, items)) => items.push_back(item),
            None => self.senders.push_back((sender, VecDeque::from([item]))),
        }
    }

    /// Removes the oldest item of the sender whose turn it is.
    pub(super) fn pop(&mut self) -> Option<T> {
        let (_, items) = self.senders.front_mut()?;
        let item = items.pop_front();
        if !items.is_empty() {
            self.senders.rotate_left(1);
        } else if self.senders.len() > 1 {
            self.senders.pop_front();
        }
        item
    }

    pub(super) fn len(&self) -> usize {
        self.senders.iter().map(|(_, items)| items.len()).sum()
    }

    /// Removes the items for which `wanted` holds. Those of one sender stay in order.
    pub(super) fn withdraw(&mut self, mut wanted: impl FnMut(&T) -> bool) -> VecDeque<T> {
        let mut out = VecDeque::new();
        for (_, items) in &mut self.senders {
            let (taken, left): (VecDeque<T>, VecDeque<T>) =
                std::mem::take(items).into_iter().partition(|item| wanted(item));
            *items = left;
            out.extend(taken);
        }
        self.senders.retain(|(_, items)| !items.is_empty());
        out
    }

    /// Removes all items.
    pub(super) fn take_all(&mut self) -> VecDeque<T> {
        self.withdraw(|_| true)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Item {
        sender: u32,
        number: u32,
    }

    impl Sent for Item {
        fn sender(&self) -> SenderId {
            SenderId(self.sender)
        }
    }

    #[test]
    fn each_sender_gets_its_turn_however_many_items_another_has() {
        let mut queue = RoundRobinQueue::new();
        (0..100).for_each(|number| queue.push(Item { sender: 1, number }));
        (0..2).for_each(|number| queue.push(Item { sender: 2, number }));
        queue.push(Item { sender: 3, number: 0 });
        let mut next = || queue.pop().map(|Item { sender, number }| (sender, number));
        let first: Vec<(u32, u32)> = std::iter::from_fn(&mut next).take(7).collect();
        assert_eq!(first, [(1, 0), (2, 0), (3, 0), (1, 1), (2, 1), (1, 2), (1, 3)]);
        assert_eq!(std::iter::from_fn(next).count(), 96);
    }

    proptest! {
        /// The model is a list of all items and the order of the senders.
        #[test]
        fn a_queue_behaves_as_its_reference_model(steps in prop::collection::vec((0..6_u32, 0..4_u32), 0..200)) {
            let mut queue = RoundRobinQueue::new();
            let (mut model, mut turns) = (Vec::<Item>::new(), Vec::<u32>::new());
            for (number, (step, sender)) in (0..).zip(steps) {
                match step {
                    0..=2 => {
                        let item = Item { sender, number };
                        queue.push(item);
                        model.push(item);
                        if !turns.contains(&sender) {
                            turns.push(sender);
                        }
                    }
                    3 | 4 => {
                        let at = turns.first().and_then(|sender| model.iter().position(|it| it.sender == *sender));
                        let expected = at.map(|at| model.remove(at));
                        if !turns.is_empty() {
                            turns.rotate_left(1);
                        }
                        prop_assert_eq!(queue.pop(), expected);
                    }
                    _ => {
                        let out = queue.withdraw(|it| it.number % 3 == sender);
                        let gone: Vec<Item> = model.extract_if(.., |it| it.number % 3 == sender).collect();
                        prop_assert_eq!(out.len(), gone.len());
                        prop_assert!(gone.iter().all(|it| out.contains(it)));
                    }
                }
                turns.retain(|sender| model.iter().any(|it| it.sender == *sender));
                prop_assert_eq!(queue.len(), model.len());
            }
            prop_assert_eq!(queue.take_all().len(), model.len());
            prop_assert_eq!(queue.pop(), None);
        }
    }
}
