//! The credits of a pool that are taken and returned without its lock, while it has credits and nothing waits for one.

use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// The number of credits of a pool, and whether it is open: whoever takes or returns a credit of an open pool changes the number
/// and nothing else. A pool is open only while no item waits; the holder of its lock closes it before looking at it.
#[derive(Debug)]
pub(super) struct OpenCredits {
    /// The number of credits in the lower half, the epoch of the pool above it, and [`CLOSED`].
    word: AtomicU64,
    /// The lowest number of credits since the pool was opened.
    lowest: AtomicI32,
}

/// The bit of a closed pool.
const CLOSED: u64 = 1 << 63;

/// The highest epoch of an open pool. A pool has ten epochs in a second, at most.
const MAX_EPOCH: u64 = (1 << 31) - 1;

/// The state of a pool when it was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Closed {
    pub(super) credits: i32,
    /// The lowest number of credits while the pool was open.
    pub(super) lowest: i32,
}

impl OpenCredits {
    /// The credits of an open pool in its first epoch.
    pub(super) const fn new(credits: i32) -> Self {
        Self { word: AtomicU64::new(credits.cast_unsigned() as u64), lowest: AtomicI32::new(credits) }
    }

    /// The recent number of credits.
    pub(super) fn credits(&self) -> i32 {
        credits_of(self.word.load(Ordering::Relaxed))
    }

    /// Takes a credit, if the pool is open and has one; returns the epoch of the pool.
    #[inline]
    pub(super) fn take(&self) -> Option<u64> {
        let mut word = self.word.load(Ordering::Relaxed);
        while word & CLOSED == 0 && credits_of(word) > 0 {
            match self.word.compare_exchange_weak(word, word - 1, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => {
                    let credits = credits_of(word) - 1;
                    if credits < self.lowest.load(Ordering::Relaxed) {
                        self.lowest.fetch_min(credits, Ordering::Relaxed);
                    }
                    return Some(word >> 32);
                }
                Err(changed) => word = changed,
            }
        }
        None
    }

    /// Returns a credit that was taken in this epoch; `false` if the pool is closed, or in another epoch.
    #[inline]
    pub(super) fn give_back(&self, epoch: u64) -> bool {
        let mut word = self.word.load(Ordering::Relaxed);
        while word >> 32 == epoch && credits_of(word) >= 0 {
            match self.word.compare_exchange_weak(word, word + 1, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(changed) => word = changed,
            }
        }
        false
    }

    /// Closes the pool; `None` if it is closed. Only the holder of the lock calls this and [`OpenCredits::publish`].
    pub(super) fn close(&self) -> Option<Closed> {
        let word = self.word.fetch_or(CLOSED, Ordering::AcqRel);
        let credits = credits_of(word);
        let lowest = self.lowest.load(Ordering::Relaxed).min(credits);
        (word & CLOSED == 0).then_some(Closed { credits, lowest })
    }

    /// Publishes the number of credits of a closed pool, and opens it in this epoch; it stays closed if that is `None`.
    pub(super) fn publish(&self, credits: i32, epoch: Option<u64>) {
        let above = match epoch.filter(|epoch| *epoch <= MAX_EPOCH) {
            Some(epoch) => epoch << 32,
            None => CLOSED,
        };
        self.lowest.store(credits, Ordering::Relaxed);
        self.word.store(above | u64::from(credits.cast_unsigned()), Ordering::Release);
    }
}

const fn credits_of(word: u64) -> i32 {
    (word as u32).cast_signed()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_open_pool_is_counted_without_its_holder_and_a_closed_one_is_not() {
        let open = OpenCredits::new(2);
        assert_eq!((open.take(), open.take(), open.take()), (Some(0), Some(0), None));
        assert!(open.give_back(0) && !open.give_back(1), "credits of other epochs are not returned here");
        assert_eq!(open.close(), Some(Closed { credits: 1, lowest: 0 }));
        assert_eq!((open.close(), open.take(), open.give_back(0)), (None, None, false));
        open.publish(-1, None);
        assert_eq!((open.credits(), open.take(), open.give_back(0)), (-1, None, false));
        open.publish(1, Some(7));
        assert_eq!((open.take(), open.give_back(0), open.give_back(7)), (Some(7), false, true));
        assert_eq!(open.close(), Some(Closed { credits: 1, lowest: 0 }));
        open.publish(1, Some(MAX_EPOCH + 1));
        assert_eq!((open.take(), open.credits()), (None, 1));
    }
}
