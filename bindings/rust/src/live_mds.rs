//! Counts the descriptors of a node that have not had their last event.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Interval of the checks whether the network is still up.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// The number of descriptors that have not had their last event.
#[derive(Debug, Default)]
pub(crate) struct LiveMds {
    state: Mutex<State>,
    none_left: Condvar,
}

#[derive(Debug, Default)]
struct State {
    count: usize,
    /// The number of threads that wait until there are none. Notifying is a system call, even if no thread waits.
    waiting: usize,
}

/// A live descriptor, which is counted until the drop.
#[derive(Debug)]
pub(crate) struct LiveMd(Arc<LiveMds>);

impl LiveMds {
    pub(crate) fn add(self: &Arc<Self>) -> LiveMd {
        lock(&self.state).count += 1;
        LiveMd(Arc::clone(self))
    }

    /// Waits until no descriptor is left, or until `is_down`: then no event comes any more. Returns whether none is left.
    pub(crate) fn wait_until_none(&self, is_down: impl Fn() -> bool) -> bool {
        loop {
            let mut state = lock(&self.state);
            if state.count == 0 {
                return true;
            }
            state.waiting += 1;
            let waited = self.none_left.wait_timeout(state, CHECK_INTERVAL);
            let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
            state.waiting -= 1;
            if state.count == 0 {
                return true;
            }
            drop(state);
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
        let mut state = lock(&self.0.state);
        state.count -= 1;
        if state.count == 0 && state.waiting > 0 {
            self.0.none_left.notify_all();
        }
    }
}
