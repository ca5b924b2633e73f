//! Condition variables (motr-net 8.3): a clink at a channel of their own for as long as a wait lasts.

use super::chan::{
    m0_chan, m0_chan_broadcast, m0_chan_fini_lock, m0_chan_init, m0_chan_signal, m0_chan_timedwait, m0_clink,
    m0_clink_add, m0_clink_del, m0_clink_init,
};
use super::mutex::m0_mutex;
use super::time::{TIME_NEVER, m0_time_t};
use std::mem::MaybeUninit;

/// A condition variable of one mutex.
#[repr(C)]
#[derive(Debug)]
pub struct m0_cond {
    /// Its waiters, guarded by the mutex.
    pub c_chan: m0_chan,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_cond_init(cond: *mut m0_cond, mutex: *mut m0_mutex) {
    // SAFETY: by contract.
    unsafe { m0_chan_init(&raw mut (*cond).c_chan, mutex) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_cond_fini(cond: *mut m0_cond) {
    // SAFETY: by contract.
    unsafe { m0_chan_fini_lock(&raw mut (*cond).c_chan) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_cond_wait(cond: *mut m0_cond) {
    // SAFETY: by contract.
    unsafe { m0_cond_timedwait(cond, TIME_NEVER) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_cond_timedwait(cond: *mut m0_cond, abs_timeout: m0_time_t) -> bool {
    let mut clink = MaybeUninit::<m0_clink>::uninit();
    let clink = clink.as_mut_ptr();
    // SAFETY: by contract; the clink is taken off before it goes.
    unsafe {
        let chan = &raw mut (*cond).c_chan;
        m0_clink_init(clink, None);
        m0_clink_add(chan, clink);
        let mutex = &*(*chan).ch_guard;
        mutex.unlock();
        let signalled = m0_chan_timedwait(clink, abs_timeout);
        mutex.lock();
        // A signal between the end of the time and the lock is not lost.
        let signalled = signalled || m0_chan_timedwait(clink, 0);
        m0_clink_del(clink);
        signalled
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_cond_signal(cond: *mut m0_cond) {
    // SAFETY: by contract.
    unsafe { m0_chan_signal(&raw mut (*cond).c_chan) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_cond_broadcast(cond: *mut m0_cond) {
    // SAFETY: by contract.
    unsafe { m0_chan_broadcast(&raw mut (*cond).c_chan) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::UnsafeCell;
    use std::thread;

    struct Shared {
        mutex: m0_mutex,
        cond: UnsafeCell<MaybeUninit<m0_cond>>,
        count: UnsafeCell<u32>,
    }

    // SAFETY: everything is used with the mutex held.
    unsafe impl Sync for Shared {}

    #[test]
    fn threads_that_wait_for_a_number_are_woken_when_it_is_reached() {
        let shared = Shared {
            mutex: m0_mutex::new(),
            cond: UnsafeCell::new(MaybeUninit::uninit()),
            count: UnsafeCell::new(0),
        };
        let shared = &shared;
        let cond = || shared.cond.get().cast::<m0_cond>();
        // SAFETY: the mutex is held wherever a field is used.
        unsafe {
            m0_cond_init(cond(), ptr_to(&shared.mutex));
            thread::scope(|scope| {
                for wanted in 1..=4 {
                    scope.spawn(move || {
                        let cond = shared.cond.get().cast::<m0_cond>();
                        shared.mutex.lock();
                        while *shared.count.get() < wanted {
                            m0_cond_wait(cond);
                        }
                        shared.mutex.unlock();
                    });
                }
                for _ in 0..4 {
                    shared.mutex.lock();
                    *shared.count.get() += 1;
                    m0_cond_broadcast(cond());
                    shared.mutex.unlock();
                }
            });
            shared.mutex.lock();
            assert!(!m0_cond_timedwait(cond(), 1), "nobody has signalled");
            m0_cond_signal(cond());
            shared.mutex.unlock();
            m0_cond_fini(cond());
        }
    }

    fn ptr_to(mutex: &m0_mutex) -> *mut m0_mutex {
        std::ptr::from_ref(mutex).cast_mut()
    }
}
