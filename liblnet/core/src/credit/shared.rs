//! A credit pool that several threads use, and whose state anybody may look at without its lock.

use super::{CreditPool, Credits};
use crate::sync::{Mutex, lock};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// A [`CreditPool`] behind a lock. What path selection compares is readable beside it: a moment old at worst.
#[derive(Debug)]
pub(crate) struct SharedPool<T> {
    pool: Mutex<CreditPool<T>>,
    credits: AtomicI32,
    /// Of everything that holds a credit or waits for one.
    bytes: AtomicU64,
}

impl<T> SharedPool<T> {
    pub(crate) fn new(credits: u32) -> Self {
        let pool = CreditPool::new(credits);
        let credits = AtomicI32::new(pool.credits().0);
        Self { pool: Mutex::new(pool), credits, bytes: AtomicU64::new(0) }
    }

    /// [`CreditPool::take`] for something of this many bytes.
    #[must_use]
    pub(crate) fn take(&self, item: T, bytes: u64) -> Option<T> {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.change(|pool| pool.take(item))
    }

    /// [`CreditPool::give_back`] of what [`SharedPool::take`] was told so many bytes of.
    #[must_use]
    pub(crate) fn give_back(&self, bytes: u64) -> Option<T> {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.change(CreditPool::give_back)
    }

    /// [`CreditPool::resize`].
    pub(crate) fn resize(&self, credits: u32) -> VecDeque<T> {
        self.change(|pool| pool.resize(credits))
    }

    /// Credits when none is in use.
    pub(crate) fn size(&self) -> Credits {
        lock(&self.pool).size()
    }

    /// [`CreditPool::withdraw`]; `bytes` is what [`SharedPool::take`] was told of each.
    pub(crate) fn withdraw(&self, wanted: impl FnMut(&T) -> bool, bytes: impl Fn(&T) -> u64) -> VecDeque<T> {
        // Whoever waits has made the credits negative.
        if self.credits().0 >= 0 {
            return VecDeque::new();
        }
        let out = self.change(|pool| pool.withdraw(wanted));
        self.bytes.fetch_sub(out.iter().map(bytes).sum(), Ordering::Relaxed);
        out
    }

    /// Credits as of just now.
    pub(crate) fn credits(&self) -> Credits {
        Credits(self.credits.load(Ordering::Relaxed))
    }

    /// The fewest there ever were.
    pub(crate) fn low_water(&self) -> Credits {
        lock(&self.pool).low_water()
    }

    /// Bytes of everything that holds a credit or waits for one, as of just now.
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
