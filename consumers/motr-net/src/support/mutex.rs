//! A mutex that records which thread holds it (motr-net 8.1). `is_locked` means: by the calling thread.

use crate::contract::require;
use crate::object::Object;
use lnet_api::c_pointer::Out;
use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A mutex; a zeroed one is initialised.
#[repr(C)]
pub struct m0_mutex {
    lock: UnsafeCell<libc::pthread_mutex_t>,
    /// The thread that holds the mutex; 0: none. A thread compares it only with itself, and sees what it has written itself.
    owner: AtomicU64,
}

// SAFETY: a pthread mutex is made for several threads, and the owner is atomic.
unsafe impl Sync for m0_mutex {}
// SAFETY: nothing in it belongs to a thread but while that has it, and a mutex is moved only while nobody has it.
unsafe impl Send for m0_mutex {}

impl fmt::Debug for m0_mutex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("m0_mutex").field("owner", &self.owner).finish_non_exhaustive()
    }
}

impl m0_mutex {
    /// A mutex that is not locked.
    pub const fn new() -> Self {
        Self { lock: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER), owner: AtomicU64::new(0) }
    }

    /// Locks the mutex; waits until no thread holds it.
    pub fn lock(&self) {
        require!("m0_mutex_lock", !self.is_locked(), "this thread has the mutex already");
        // SAFETY: an initialised mutex; whoever has a reference to one that is shared has it from an `Object`, which does not move.
        let code = unsafe { libc::pthread_mutex_lock(self.lock.get()) };
        require!("m0_mutex_lock", code == 0, "the mutex is not initialised ({code})");
        self.owner.store(this_thread(), Relaxed);
    }

    /// Locks the mutex unless a thread holds it; returns whether it has locked it.
    pub fn try_lock(&self) -> bool {
        // SAFETY: an initialised mutex that does not move, as in `lock`.
        let taken = unsafe { libc::pthread_mutex_trylock(self.lock.get()) } == 0;
        if taken {
            self.owner.store(this_thread(), Relaxed);
        }
        taken
    }

    /// Unlocks the mutex, which the calling thread holds.
    pub fn unlock(&self) {
        require!("m0_mutex_unlock", self.is_locked(), "this thread does not have the mutex");
        self.owner.store(0, Relaxed);
        // SAFETY: an initialised mutex that does not move, as in `lock`, and that this thread has, as was checked.
        unsafe { libc::pthread_mutex_unlock(self.lock.get()) };
    }

    /// Makes the calling thread the owner: the thread that holds the mutex waits for this one, or has done so, and does not
    /// use it until then.
    pub(crate) fn take_over(&self) {
        self.owner.store(this_thread(), Relaxed);
    }

    /// Whether the calling thread holds the mutex.
    pub fn is_locked(&self) -> bool {
        self.owner.load(Relaxed) == this_thread()
    }
}

impl Default for m0_mutex {
    fn default() -> Self {
        Self::new()
    }
}

/// A number that identifies the calling thread among the running ones; never 0.
fn this_thread() -> u64 {
    // SAFETY: has no preconditions.
    unsafe { libc::pthread_self() as u64 }
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_mutex_init(mutex: Out<'_, m0_mutex>) {
    Object::init(mutex, m0_mutex::new());
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_mutex_fini(mutex: Object<m0_mutex>) {
    require!("m0_mutex_fini", mutex.owner.load(Relaxed) == 0, "a thread has the mutex");
    // SAFETY: an initialised mutex, which nobody has, as was checked, and nobody uses after its fini.
    unsafe { libc::pthread_mutex_destroy(mutex.lock.get()) };
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_mutex_lock(mutex: Object<m0_mutex>) {
    mutex.lock();
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_mutex_unlock(mutex: Object<m0_mutex>) {
    mutex.unlock();
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_mutex_trylock(mutex: Object<m0_mutex>) -> c_int {
    if mutex.try_lock() { 0 } else { -libc::EBUSY }
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_mutex_is_locked(mutex: Object<m0_mutex>) -> bool {
    mutex.is_locked()
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_mutex_is_not_locked(mutex: Object<m0_mutex>) -> bool {
    !mutex.is_locked()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;
    use std::thread;

    #[test]
    fn a_mutex_is_locked_only_for_the_thread_that_has_it() {
        // SAFETY: zeros are an initialised mutex.
        let zeros: m0_mutex = unsafe { std::mem::zeroed() };
        for mutex in [zeros, m0_mutex::new()] {
            assert!(!mutex.is_locked());
            mutex.lock();
            assert!(mutex.is_locked() && !mutex.try_lock());
            thread::scope(|scope| {
                scope.spawn(|| assert!(!mutex.is_locked() && !mutex.try_lock())).join().unwrap()
            });
            mutex.unlock();
            assert!(!mutex.is_locked() && mutex.try_lock());
            mutex.unlock();
        }
    }

    #[test]
    fn one_thread_at_a_time_has_a_mutex() {
        let (mutex, inside) = (m0_mutex::new(), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        mutex.lock();
                        assert_eq!(inside.fetch_add(1, Relaxed), 0);
                        inside.fetch_sub(1, Relaxed);
                        mutex.unlock();
                    }
                });
            }
        });
    }
}
