//! Locks that ignore poisoning: the data that they guard is consistent whenever a lock is released. Waits that end by a
//! [`Clock`].

use crate::clock::{Clock, Time};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Minimum timeout that is passed to the system: 0 would not release the lock.
const MIN_SLEEP: Duration = Duration::from_micros(1);

/// Takes the lock.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until notified; may return without a reason.
pub fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

/// Waits until `until` at most, or without end. May return earlier: the caller checks its condition and the time.
pub fn wait_until<'a, T>(
    clock: &dyn Clock,
    condvar: &Condvar,
    guard: MutexGuard<'a, T>,
    until: Option<Time>,
) -> MutexGuard<'a, T> {
    let Some(until) = until else { return wait(condvar, guard) };
    let left = until.since(clock.now());
    let sleep = clock.sleep_limit(left).max(MIN_SLEEP);
    condvar.wait_timeout(guard, sleep).unwrap_or_else(PoisonError::into_inner).0
}
