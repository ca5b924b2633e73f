//! The synchronisation primitives of this crate: the standard ones, or loom's when its model checker runs.

#[cfg(not(loom))]
use std::sync::TryLockError;
#[cfg(not(loom))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, RwLock};
#[cfg(not(loom))]
pub(crate) use std::thread;

#[cfg(not(loom))]
pub(crate) use lnet_os::spinlock::{Spinlock, SpinlockGuard};

#[cfg(loom)]
pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard, RwLock};
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

/// A lock that loom knows in place of [`lnet_os::spinlock::Spinlock`].
#[cfg(loom)]
#[derive(Debug, Default)]
pub(crate) struct Spinlock<T>(Mutex<T>);

#[cfg(loom)]
pub(crate) type SpinlockGuard<'a, T> = MutexGuard<'a, T>;

#[cfg(loom)]
impl<T> Spinlock<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        lock(&self.0)
    }
}
