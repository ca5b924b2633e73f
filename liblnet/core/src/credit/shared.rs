//! A credit pool for several threads, whose numbers are readable without its lock.

use super::open::OpenCredits;
use super::{CreditPool, Credits, Sent};
use crate::sync::{Mutex, lock};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// The epoch of pools that have one only.
const ONLY_EPOCH: u64 = 0;

/// A [`CreditPool`] behind a lock, which is taken only if an item has to wait, or another one waits. The numbers that path selection
/// compares are readable without it, slightly delayed.
#[derive(Debug)]
pub(crate) struct SharedPool<T> {
    pool: Mutex<CreditPool<T>>,
    open: OpenCredits,
    size: AtomicI32,
    /// The bytes of all items that hold or await a credit.
    bytes: AtomicU64,
}

impl<T> SharedPool<T> {
    pub(crate) fn new(credits: u32) -> Self {
        let pool = CreditPool::new(credits);
        let (open, size) = (OpenCredits::new(pool.credits().0), pool.size().0.into());
        Self { pool: Mutex::new(pool), open, size, bytes: AtomicU64::new(0) }
    }

    /// [`CreditPool::take`] for an item of `bytes` bytes.
    #[must_use]
    pub(crate) fn take(&self, item: T, bytes: u64) -> Option<T>
    where
        T: Sent,
    {
        if self.try_take(bytes) {
            return Some(item);
        }
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.change(|pool| pool.take(item))
    }

    /// Takes a credit for an item of `bytes` bytes, if there is one at the moment, without the lock. If not, [`SharedPool::take`]
    /// has to be called, which may find one.
    #[must_use]
    #[inline]
    pub(crate) fn try_take(&self, bytes: u64) -> bool {
        let taken = self.open.take().is_some();
        if taken {
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        taken
    }

    /// [`CreditPool::give_back`] of an item with the `bytes` passed to [`SharedPool::take`].
    #[must_use]
    #[inline]
    pub(crate) fn give_back(&self, bytes: u64) -> Option<T> {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        match self.open.give_back(ONLY_EPOCH) {
            true => None,
            false => self.change(CreditPool::give_back),
        }
    }

    /// See [`CreditPool::resize`].
    pub(crate) fn resize(&self, credits: u32) -> VecDeque<T> {
        self.change(|pool| pool.resize(credits))
    }

    /// The number of credits when none is in use.
    pub(crate) fn size(&self) -> Credits {
        Credits(self.size.load(Ordering::Relaxed))
    }

    /// [`CreditPool::withdraw`]; `bytes` is the size of each item as passed to [`SharedPool::take`].
    pub(crate) fn withdraw(&self, wanted: impl FnMut(&T) -> bool, bytes: impl Fn(&T) -> u64) -> VecDeque<T> {
        // The credits are negative while items wait.
        if self.credits().0 >= 0 {
            return VecDeque::new();
        }
        let out = self.change(|pool| pool.withdraw(wanted));
        self.bytes.fetch_sub(out.iter().map(bytes).sum(), Ordering::Relaxed);
        out
    }

    /// The recent number of credits.
    pub(crate) fn credits(&self) -> Credits {
        Credits(self.open.credits())
    }

    /// The lowest number of credits so far.
    pub(crate) fn low_water(&self) -> Credits {
        self.change(|pool| pool.low_water())
    }

    /// The recent number of bytes of all items that hold or await a credit.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn change<R>(&self, change: impl FnOnce(&mut CreditPool<T>) -> R) -> R {
        let mut pool = lock(&self.pool);
        if let Some(closed) = self.open.close() {
            pool.note_closed(closed);
        }
        let result = change(&mut pool);
        let credits = pool.credits().0;
        self.size.store(pool.size().0, Ordering::Relaxed);
        self.open.publish(credits, (credits >= 0).then_some(ONLY_EPOCH));
        result
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_published_credit_counts_equal_the_pools() {
        let pool = SharedPool::new(1);
        assert_eq!(pool.take('a', 100), Some('a'));
        assert_eq!(pool.take('b', 50), None);
        assert_eq!((pool.credits(), pool.bytes()), (Credits(-1), 150));
        assert_eq!(pool.give_back(100), Some('b'));
        assert_eq!(pool.give_back(50), None);
        assert_eq!((pool.credits(), pool.low_water(), pool.bytes()), (Credits(1), Credits(-1), 0));
    }

    proptest! {
        /// CR-1, CR-10: fails if a pool whose lock is not always taken grants other items than one that is always changed under it.
        #[test]
        fn a_shared_pool_grants_the_same_items_as_the_pool_behind_its_lock(
            size in 0_u32..4,
            steps in prop::collection::vec((0_u8..10, 0_u32..5), 0..100),
        ) {
            let (shared, mut plain) = (SharedPool::new(size), CreditPool::new(size));
            let (mut next, mut in_use) = (0_u32, 0_usize);
            for (step, number) in steps {
                match step {
                    0..=4 => {
                        let granted = plain.take(next);
                        prop_assert_eq!(shared.take(next, 1), granted);
                        in_use += usize::from(granted.is_some());
                        next += 1;
                    }
                    5..=7 if in_use > 0 => {
                        let granted = plain.give_back();
                        prop_assert_eq!(shared.give_back(1), granted);
                        in_use -= usize::from(granted.is_none());
                    }
                    8 => {
                        let granted = plain.resize(number);
                        in_use += granted.len();
                        prop_assert_eq!(shared.resize(number), granted);
                    }
                    9 => {
                        let out = plain.withdraw(|it| it % 5 == number);
                        prop_assert_eq!(shared.withdraw(|it| it % 5 == number, |_| 1), out);
                    }
                    _ => {}
                }
                prop_assert_eq!((shared.credits(), shared.size()), (plain.credits(), plain.size()));
                prop_assert_eq!(shared.low_water(), plain.low_water());
            }
        }
    }
}
