//! Credits: the number of messages that a driver may have at a time.
//!
//! A message takes a credit of its peer NI, then one of its NI. So a peer that does not receive holds no more NI
//! credits than it has itself (`peer_credits`), and further messages to it wait for the peer's own credits, which does not
//! affect other peers. When `credits / peer_credits` peers (of one CPU partition, where the credits of the NI are
//! divided) are slow at the same time they hold all credits of the NI. Then messages to other peers wait in one FIFO queue
//! (CR-10), but not for long: see [`NiCreditPool`].
//!
//! The programs that share a node get returned credits in turn: none waits for all messages that another one has begun before.

mod ni;
mod open;
mod round_robin_queue;
mod shared;
mod waived_lengths;

pub(crate) use ni::SharedNiPool;
pub use ni::{NiCredit, NiCreditPool, RECLAIM_AFTER};
use open::Closed;
use round_robin_queue::RoundRobinQueue;
pub use round_robin_queue::{SenderId, Sent};
pub(crate) use shared::SharedPool;
use std::collections::VecDeque;
use std::num::NonZeroUsize;
pub(crate) use waived_lengths::WaivedLengths;

/// A number of credits; while messages wait it is negative by their number (CR-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Credits(pub i32);

/// A pool of credits with a queue of waiting items, which is FIFO for each of their senders.
///
/// While items wait, the number of credits is negative by the number of items. It is also negative after the pool was made
/// smaller than the number in use, until enough have been returned.
#[derive(Debug)]
pub struct CreditPool<T> {
    size: Credits,
    credits: Credits,
    low_water: Credits,
    waiting: RoundRobinQueue<T>,
}

impl<T> CreditPool<T> {
    /// A pool of `credits` credits, none of them in use.
    pub const fn new(credits: u32) -> Self {
        let size = size(credits);
        Self { size, credits: size, low_water: size, waiting: RoundRobinQueue::new() }
    }

    /// Takes a credit for `item`: returns the item if there was a credit, queues it otherwise. Either way the credit
    /// is taken; the item holds it when it leaves the queue.
    #[must_use]
    pub fn take(&mut self, item: T) -> Option<T>
    where
        T: Sent,
    {
        self.credits.0 -= 1;
        self.low_water = self.low_water.min(self.credits);
        if self.credits.0 < 0 {
            self.waiting.push(item);
            return None;
        }
        Some(item)
    }

    /// Returns a credit: the item that has waited longest gets it (CR-10), of those of the sender whose turn it is.
    #[must_use]
    pub fn give_back(&mut self) -> Option<T> {
        self.credits.0 += 1;
        if self.credits.0 <= 0 { self.waiting.pop() } else { None }
    }

    /// Changes the size of the pool; returns the waiting items that get new credits. Credits in use stay in use.
    pub fn resize(&mut self, credits: u32) -> VecDeque<T> {
        let waited = self.waiting.len();
        let more = size(credits).0.saturating_sub(self.size.0);
        self.size = size(credits);
        self.credits.0 = self.credits.0.saturating_add(more);
        self.low_water.0 = self.low_water.0.saturating_add(more);
        let wait_on = usize::try_from(self.credits.0.saturating_neg()).unwrap_or(0);
        (wait_on..waited).filter_map(|_| self.waiting.pop()).collect()
    }

    /// Removes all waiting items, without a credit.
    pub fn abandon(&mut self) -> VecDeque<T> {
        self.credits.0 += self.waiting.len() as i32;
        self.waiting.take_all()
    }

    /// Removes the waiting items for which `wanted` holds, without a credit.
    pub fn withdraw(&mut self, wanted: impl FnMut(&T) -> bool) -> VecDeque<T> {
        let out = self.waiting.withdraw(wanted);
        self.credits.0 += out.len() as i32;
        out
    }

    /// Sets the number of credits to that of the pool while it was open.
    fn note_closed(&mut self, Closed { credits, lowest }: Closed) {
        self.credits = Credits(credits);
        self.low_water = self.low_water.min(Credits(lowest));
    }

    /// The number of credits when none is in use.
    pub const fn size(&self) -> Credits {
        self.size
    }

    /// The current number of credits.
    pub const fn credits(&self) -> Credits {
        self.credits
    }

    /// The lowest number of credits so far.
    pub const fn low_water(&self) -> Credits {
        self.low_water
    }
}

const fn size(credits: u32) -> Credits {
    Credits(if credits > i32::MAX as u32 { i32::MAX } else { credits as i32 })
}

/// The credits of one NI on each of `cpts` CPU partitions (core-behaviour 3.1).
pub fn ni_credits_per_cpt(credits: u32, peer_credits: u32, cpts: NonZeroUsize) -> u32 {
    let cpts = u32::try_from(cpts.get()).unwrap_or(u32::MAX);
    match cpts {
        1 => credits,
        _ => credits.min((credits / cpts).max(peer_credits.saturating_mul(8))),
    }
}

#[cfg(test)]
mod test_items {
    use super::{SenderId, Sent};

    impl Sent for char {
        fn sender(&self) -> SenderId {
            SenderId::default()
        }
    }

    impl Sent for u32 {
        fn sender(&self) -> SenderId {
            SenderId::default()
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn credits_are_spread_over_partitions_as_the_spec_computes() {
        let table = [
            ((256, 8, 1), 256),
            ((256, 8, 2), 128),
            ((256, 8, 8), 64),
            ((256, 32, 4), 256),
            ((1024, 8, 4), 256),
            ((64, 16, 4), 64),
        ];
        for ((credits, peer_credits, cpts), want) in table {
            let cpts = NonZeroUsize::new(cpts).unwrap();
            assert_eq!(
                ni_credits_per_cpt(credits, peer_credits, cpts),
                want,
                "{credits} {peer_credits} {cpts}"
            );
        }
    }

    #[test]
    fn abandoning_the_queue_restores_the_credits() {
        let mut pool = CreditPool::new(1);
        assert_eq!(pool.take('a'), Some('a'));
        assert_eq!(pool.take('b'), None);
        assert_eq!(pool.abandon(), ['b']);
        assert_eq!(pool.credits(), Credits(0));
        assert_eq!(pool.give_back(), None);
        assert_eq!((pool.credits(), pool.low_water()), (Credits(1), Credits(-1)));
    }

    #[test]
    fn a_pool_that_grows_wakes_one_waiter_per_new_credit_and_a_pool_that_shrinks_keeps_the_order() {
        let mut pool = CreditPool::new(1);
        assert_eq!(pool.take('a'), Some('a'));
        for waiting in ['b', 'c', 'd'] {
            assert_eq!(pool.take(waiting), None);
        }
        assert_eq!(pool.resize(3), ['b', 'c']);
        assert_eq!((pool.size(), pool.credits(), pool.low_water()), (Credits(3), Credits(-1), Credits(-1)));
        assert_eq!(pool.give_back(), Some('d'));
        assert_eq!(pool.resize(1), []);
        assert_eq!(pool.credits(), Credits(-2));
        assert_eq!([pool.give_back(), pool.give_back(), pool.give_back()], [None; 3]);
        assert_eq!((pool.credits(), pool.low_water()), (Credits(1), Credits(-3)));
    }

    proptest! {
        #[test]
        fn a_pool_serves_in_order_and_counts_its_queue(start in 0_u32..4, steps in prop::collection::vec(any::<bool>(), 0..60)) {
            let mut pool = CreditPool::new(start);
            let (mut holders, mut next, mut queue) = (0_i32, 0_u32, VecDeque::new());
            for take in steps {
                if take {
                    match pool.take(next) {
                        Some(it) => { prop_assert_eq!(it, next); holders += 1; }
                        None => queue.push_back(next),
                    }
                    next += 1;
                } else if holders > 0 {
                    let woken = pool.give_back();
                    prop_assert_eq!(woken, queue.pop_front());
                    holders += i32::from(woken.is_some()) - 1;
                }
                prop_assert_eq!(pool.credits().0, start as i32 - holders - queue.len() as i32);
                prop_assert_eq!(pool.credits().0 < 0, !queue.is_empty());
            }
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::CreditPool;
    use loom::sync::{Arc, Mutex};
    use loom::thread;

    #[test]
    fn loom_every_waiter_gets_its_credit() {
        loom::model(|| {
            let pool = Arc::new(Mutex::new(CreditPool::new(1)));
            let run = |id: u32, pool: Arc<Mutex<CreditPool<u32>>>| {
                // An item that gets a credit works, then returns it and works for the item that gets it next.
                let mut work = pool.lock().unwrap().take(id);
                let mut done = 0;
                while work.is_some() {
                    done += 1;
                    work = pool.lock().unwrap().give_back();
                }
                done
            };
            let theirs = Arc::clone(&pool);
            let other = thread::spawn(move || run(1, theirs));
            let mine = run(2, Arc::clone(&pool));
            assert_eq!(mine + other.join().unwrap(), 2);
            assert_eq!(pool.lock().unwrap().credits().0, 1);
        });
    }
}
