//! Counts the descriptors of a queue that have not had their last event, and the events whose handler has returned.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Interval of the checks whether the network is still up.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// The number of descriptors that have not had their last event, and of the events that have been handled.
///
/// The numbers are changed without the lock, which only threads that wait take, and those that wake them. A thread that waits is counted
/// before it looks at the numbers again, and they are changed before it is looked for: so either it sees the change or it is seen. All that is
/// `SeqCst`.
#[derive(Debug, Default)]
pub(crate) struct LiveMds {
    count: AtomicUsize,
    /// The number of events whose handler has returned.
    handled: AtomicU64,
    /// The number of threads that wait for a change. Notifying is a system call, even if no thread waits.
    waiting: AtomicUsize,
    lock: Mutex<()>,
    changed: Condvar,
}

/// A live descriptor, which is counted until the drop.
#[derive(Debug)]
pub(crate) struct LiveMd(Arc<LiveMds>);

impl LiveMds {
    pub(crate) fn add(self: &Arc<Self>) -> LiveMd {
        self.count.fetch_add(1, Ordering::SeqCst);
        LiveMd(Arc::clone(self))
    }

    /// Waits until no descriptor is left, or until `is_down`: then no event comes any more. Returns whether none is left.
    pub(crate) fn wait_until_none(&self, is_down: impl Fn() -> bool) -> bool {
        let none_left = || self.count.load(Ordering::SeqCst) == 0;
        while !none_left() {
            self.wait_once(none_left, Some(CHECK_INTERVAL));
            if !none_left() && is_down() {
                return false;
            }
        }
        true
    }

    /// Waits until as many events have been handled. Must not be called from a handler.
    pub(crate) fn wait_until_handled(&self, events: u64) {
        let are_handled = || self.handled.load(Ordering::SeqCst) >= events;
        while !are_handled() {
            self.wait_once(are_handled, None);
        }
    }

    /// Waits for a change, or for this time, unless `done`.
    #[cold]
    fn wait_once(&self, done: impl Fn() -> bool, timeout: Option<Duration>) {
        let guard = lock(&self.lock);
        self.waiting.fetch_add(1, Ordering::SeqCst);
        if !done() {
            match timeout {
                Some(timeout) => drop(self.changed.wait_timeout(guard, timeout)),
                None => drop(self.changed.wait(guard)),
            }
        }
        self.waiting.fetch_sub(1, Ordering::SeqCst);
    }

    /// Wakes the threads that wait, after a change of the numbers.
    fn notify(&self) {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        // A thread that has looked, and does not wait yet, has the lock until it does.
        drop(lock(&self.lock));
        self.changed.notify_all();
    }
}

impl LiveMd {
    /// Counts an event of the descriptor as handled.
    pub(crate) fn count_handled(&self) {
        self.0.handled.fetch_add(1, Ordering::SeqCst);
        self.0.notify();
    }
}

/// Takes a lock. What it guards is consistent whenever it is released.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for LiveMd {
    fn drop(&mut self) {
        if self.0.count.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.notify();
        }
    }
}
