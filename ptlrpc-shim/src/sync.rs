//! Locks that go on after a panic: what they guard is whole whenever a lock is let go.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

/// Waits at most until then; `None`: without end.
pub(crate) fn wait_until<'a, T>(
    condvar: &Condvar,
    guard: MutexGuard<'a, T>,
    until: Option<Instant>,
) -> MutexGuard<'a, T> {
    match until {
        None => wait(condvar, guard),
        Some(until) => {
            let left = until.saturating_duration_since(Instant::now()).max(Duration::from_micros(1));
            condvar.wait_timeout(guard, left).unwrap_or_else(PoisonError::into_inner).0
        }
    }
}
