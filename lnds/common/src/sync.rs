//! Locks that survive a panic of another thread: the data that they guard is never left half changed.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`, also after a panic.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
