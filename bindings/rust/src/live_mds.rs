//! Counts the descriptors of a node that have not had their last event.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Interval of the checks whether the network is still up.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// The number of descriptors that have not had their last event.
#[derive(Debug, Default)]
pub(crate) struct LiveMds {
    count: Mutex<usize>,
    none_left: Condvar,
}

/// A live descriptor, which is counted until the drop.
#[derive(Debug)]
pub(crate) struct LiveMd(Arc<LiveMds>);

impl LiveMds {
    pub(crate) fn add(self: &Arc<Self>) -> LiveMd {
        *lock(&self.count) += 1;
        LiveMd(Arc::clone(self))
    }

    /// Waits until no descriptor is left, or until `is_down`: then no event comes any more. Returns whether none is left.
    pub(crate) fn wait_until_none(&self, is_down: impl Fn() -> bool) -> bool {
        loop {
            let count = lock(&self.count);
            if *count == 0 {
                return true;
            }
            let waited = self.none_left.wait_timeout(count, CHECK_INTERVAL);
            if *waited.unwrap_or_else(PoisonError::into_inner).0 == 0 {
                return true;
            }
            if is_down() {
                return false;
            }
        }
    }
}

/// Takes a lock. What it guards is consistent whenever it is released.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for LiveMd {
    fn drop(&mut self) {
        let mut count = lock(&self.0.count);
        *count -= 1;
        if *count == 0 {
            self.0.none_left.notify_all();
        }
    }
}
