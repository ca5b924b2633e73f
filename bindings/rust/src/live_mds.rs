//! Counts the descriptors of a queue that have not had their last event, and the events whose handler has returned.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Interval of the checks whether the network is still up.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// The number of descriptors that have not had their last event, and of the events that have been handled.
#[derive(Debug, Default)]
pub(crate) struct LiveMds {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    count: usize,
    /// The number of events whose handler has returned.
    handled: u64,
    /// The number of threads that wait for a change. Notifying is a system call, even if no thread waits.
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
            let waited = self.changed.wait_timeout(state, CHECK_INTERVAL);
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

    /// Waits until as many events have been handled. Must not be called from a handler.
    pub(crate) fn wait_until_handled(&self, events: u64) {
        let mut state = lock(&self.state);
        while state.handled < events {
            state.waiting += 1;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
    }
}

impl LiveMd {
    /// Counts an event of the descriptor as handled.
    pub(crate) fn count_handled(&self) {
        let mut state = lock(&self.0.state);
        state.handled += 1;
        if state.waiting > 0 {
            self.0.changed.notify_all();
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
            self.0.changed.notify_all();
        }
    }
}
