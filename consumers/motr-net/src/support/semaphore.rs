//! A counting semaphore on a futex, on which the waiters of channels wait.

use super::time::{TIME_NEVER, m0_time_t, monotonic_deadline};
use crate::object::Object;
use lnet_api::c_pointer::Out;
use std::ffi::{c_int, c_uint};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// A semaphore; a zeroed one is initialised and has the count 0.
#[repr(C)]
#[derive(Debug, Default)]
pub struct m0_semaphore {
    count: AtomicU32,
    /// The number of threads that may be asleep in the kernel.
    waiters: AtomicU32,
}

impl m0_semaphore {
    /// A semaphore with this count.
    pub const fn new(count: u32) -> Self {
        Self { count: AtomicU32::new(count), waiters: AtomicU32::new(0) }
    }

    /// Sets the count to 0. No thread waits for it.
    pub(super) fn reset(&self) {
        self.count.store(0, SeqCst);
        self.waiters.store(0, SeqCst);
    }

    /// Adds one to the count, and wakes one thread that waits.
    ///
    /// The semaphore is accessed after the addition, so a thread that frees it must wait for the caller too. For clinks the
    /// guard of the channel ensures that.
    pub fn up(&self) {
        self.count.fetch_add(1, SeqCst);
        if self.waiters.load(SeqCst) > 0 {
            // SAFETY: the address of an atomic number of `self`; to wake nobody does no harm.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    self.count.as_ptr(),
                    libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
                    1,
                )
            };
        }
    }

    /// Subtracts one if the count is not 0; returns whether it has done so.
    pub fn try_down(&self) -> bool {
        self.count.fetch_update(SeqCst, SeqCst, |count| count.checked_sub(1)).is_ok()
    }

    /// Subtracts one; waits for that until `deadline` at most. Returns false at the deadline.
    pub fn down_until(&self, deadline: m0_time_t) -> bool {
        if self.try_down() {
            return true;
        }
        let timeout = (deadline != TIME_NEVER).then(|| monotonic_deadline(deadline));
        self.waiters.fetch_add(1, SeqCst);
        let taken = loop {
            if self.try_down() {
                break true;
            }
            if self.sleep(timeout.as_ref()) == Some(libc::ETIMEDOUT) {
                break self.try_down();
            }
        };
        self.waiters.fetch_sub(1, SeqCst);
        taken
    }

    /// Sleeps while the count is 0, until a time of the monotonic clock. Returns the error number of the system call, if
    /// there is one.
    fn sleep(&self, timeout: Option<&libc::timespec>) -> Option<c_int> {
        let timeout = timeout.map_or(ptr::null(), ptr::from_ref);
        // SAFETY: the address of an atomic number of `self`, and of a time that outlives the call, or NULL.
        let code = unsafe {
            libc::syscall(
                libc::SYS_futex,
                self.count.as_ptr(),
                libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG,
                0,
                timeout,
                ptr::null::<u32>(),
                libc::FUTEX_BITSET_MATCH_ANY,
            )
        };
        if code < 0 { std::io::Error::last_os_error().raw_os_error() } else { None }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_semaphore_init(semaphore: Out<'_, m0_semaphore>, value: c_uint) -> c_int {
    Object::init(semaphore, m0_semaphore::new(value));
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_semaphore_fini(_: Object<m0_semaphore>) {}

#[unsafe(no_mangle)]
pub extern "C" fn m0_semaphore_down(semaphore: Object<m0_semaphore>) {
    semaphore.down_until(TIME_NEVER);
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_semaphore_up(semaphore: Object<m0_semaphore>) {
    semaphore.up();
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_semaphore_trydown(semaphore: Object<m0_semaphore>) -> bool {
    semaphore.try_down()
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_semaphore_timeddown(semaphore: Object<m0_semaphore>, abs_timeout: m0_time_t) -> bool {
    semaphore.down_until(abs_timeout)
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_semaphore_value(semaphore: Object<m0_semaphore>) -> c_uint {
    semaphore.count.load(SeqCst)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn as_many_waits_end_as_there_were_ups() {
        let semaphore = m0_semaphore::new(1);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..500).for_each(|_| assert!(semaphore.down_until(TIME_NEVER))));
                scope.spawn(|| (0..500).for_each(|_| semaphore.up()));
            }
        });
        assert!(semaphore.try_down() && !semaphore.try_down());
    }

    #[test]
    fn a_wait_until_a_time_that_is_past_takes_what_is_there_and_no_more() {
        let semaphore = m0_semaphore::new(1);
        for deadline in [0, 1, super::super::time::m0_time_now()] {
            assert!(semaphore.down_until(deadline), "{deadline}");
            assert!(!semaphore.down_until(deadline), "{deadline}");
            semaphore.up();
        }
    }
}
