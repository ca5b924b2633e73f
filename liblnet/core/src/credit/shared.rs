//! A credit pool for several threads, whose numbers are readable without its lock.

use super::{CreditPool, Credits, Sent};
use crate::sync::{Mutex, lock};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// A [`CreditPool`] behind a lock. The numbers that path selection compares are readable without it, slightly
/// delayed.
#[derive(Debug)]
pub(crate) struct SharedPool<T> {
    pool: Mutex<CreditPool<T>>,
    credits: AtomicI32,
    /// The bytes of all items that hold or await a credit.
    bytes: AtomicU64,
}

impl<T> SharedPool<T> {
    pub(crate) fn new(credits: u32) -> Self {
        let pool = CreditPool::new(credits);
        let credits = AtomicI32::new(pool.credits().0);
        Self { pool: Mutex::new(pool), credits, bytes: AtomicU64::new(0) }
    }

    /// [`CreditPool::take`] for an item of `bytes` bytes.
    #[must_use]
    pub(crate) fn take(&self, item: T, bytes: u64) -> Option<T>
    where
        T: Sent,
    {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.change(|pool| pool.take(item))
    }

    /// [`CreditPool::give_back`] of an item with the `bytes` passed to [`SharedPool::take`].
    #[must_use]
    pub(crate) fn give_back(&self, bytes: u64) -> Option<T> {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.change(CreditPool::give_back)
    }

    /// See [`CreditPool::resize`].
    pub(crate) fn resize(&self, credits: u32) -> VecDeque<T> {
        self.change(|pool| pool.resize(credits))
    }

    /// The number of credits when none is in use.
    pub(crate) fn size(&self) -> Credits {
        lock(&self.pool).size()
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
        Credits(self.credits.load(Ordering::Relaxed))
    }

    /// The lowest number of credits so far.
    pub(crate) fn low_water(&self) -> Credits {
        lock(&self.pool).low_water()
    }

    /// The recent number of bytes of all items that hold or await a credit.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn change<R>(&self, change: impl FnOnce(&mut CreditPool<T>) -> R) -> R {
        let mut pool = lock(&self.pool);
        let result = change(&mut pool);
        self.credits.store(pool.credits().0, Ordering::Relaxed);
        result
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

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
}
