//! Locks that ignore poisoning: the data that they guard is consistent whenever a lock is released. Conditions, whose waits end by a
//! [`Clock`].

use crate::clock::{Clock, Time};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Minimum timeout that is passed to the system: 0 would not release the lock.
const MIN_SLEEP: Duration = Duration::from_micros(1);

/// Takes the lock.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A condition variable that knows whether a thread waits: notifying is a system call, which most events do not need.
///
/// Notifying comes after a change of what the lock guards, made with the lock taken. So a thread that has not seen the change is already
/// counted as waiting.
#[derive(Debug, Default)]
pub struct Condition {
    condvar: Condvar,
    /// The number of threads that wait. Only changed with the lock taken.
    waiting: AtomicUsize,
}

impl Condition {
    /// A condition that no thread waits for.
    pub const fn new() -> Self {
        Self { condvar: Condvar::new(), waiting: AtomicUsize::new(0) }
    }

    /// Waits until notified; may return without a reason.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.counted(|condvar| condvar.wait(guard).unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until `until` at most, or without end. May return earlier: the caller checks its condition and the time.
    pub fn wait_until<'a, T>(
        &self,
        clock: &dyn Clock,
        guard: MutexGuard<'a, T>,
        until: Option<Time>,
    ) -> MutexGuard<'a, T> {
        let Some(until) = until else { return self.wait(guard) };
        let left = until.since(clock.now());
        let sleep = clock.sleep_limit(left).max(MIN_SLEEP);
        self.counted(|condvar| condvar.wait_timeout(guard, sleep).unwrap_or_else(PoisonError::into_inner).0)
    }

    /// Wakes one thread, if one waits.
    pub fn notify_one(&self) {
        if self.is_awaited() {
            self.condvar.notify_one();
        }
    }

    /// Wakes all threads that wait.
    pub fn notify_all(&self) {
        if self.is_awaited() {
            self.condvar.notify_all();
        }
    }

    /// Relaxed: the lock, which was released by the thread that waits and taken since by this one, orders the accesses.
    fn is_awaited(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    fn counted<G>(&self, wait: impl FnOnce(&Condvar) -> G) -> G {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let guard = wait(&self.condvar);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        guard
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread;

    /// Hangs if a change that comes while the other thread is about to wait wakes nobody.
    #[test]
    fn a_thread_that_waits_sees_every_change() {
        let shared = Arc::new((Mutex::new(0), Condition::new()));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            let (turn, changed) = &*other;
            for wanted in (1..2000).step_by(2) {
                let mut now = lock(turn);
                while *now != wanted {
                    now = changed.wait(now);
                }
                *now += 1;
                drop(now);
                changed.notify_one();
            }
        });
        let (turn, changed) = &*shared;
        for wanted in (0..2000).step_by(2) {
            let mut now = lock(turn);
            while *now != wanted {
                now = changed.wait(now);
            }
            *now += 1;
            drop(now);
            changed.notify_all();
        }
        thread.join().unwrap();
        assert_eq!(*lock(turn), 2000);
        assert!(!changed.is_awaited());
    }
}
