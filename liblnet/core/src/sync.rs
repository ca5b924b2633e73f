//! The synchronisation primitives of this crate: the standard ones, or loom's when its model checker runs.

#[cfg(not(loom))]
use std::sync::TryLockError;
#[cfg(not(loom))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
#[cfg(not(loom))]
pub(crate) use std::thread;

#[cfg(loom)]
pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
#[cfg(loom)]
pub(crate) use loom::thread;

/// Locks `mutex` even if a thread panicked while holding it: the data behind it is kept consistent by code
/// that does not call out while the lock is held.
#[inline(always)]
#[cfg(not(loom))]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Few locks are contended. `Mutex::lock` itself is not always compiled into its callers.
    match mutex.try_lock() {
        Ok(guard) => guard,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => wait_for(mutex),
    }
}

#[cfg(loom)]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    wait_for(mutex)
}

/// Locks `mutex`, which another thread may hold.
#[cold]
fn wait_for<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Locks `values` for reading, as [`lock`] does.
#[inline(always)]
pub(crate) fn read<T>(values: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    values.read().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Locks `values` for writing, as [`lock`] does.
pub(crate) fn write<T>(values: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    values.write().unwrap_or_else(|poisoned| poisoned.into_inner())
}
