//! Condition variables (motr-net 8.3): each wait adds a clink to a channel of the variable.

use super::chan::{
    m0_chan, m0_chan_broadcast, m0_chan_fini_lock, m0_chan_init, m0_chan_signal, m0_chan_timedwait, m0_clink,
    m0_clink_add, m0_clink_del, m0_clink_init,
};
use super::mutex::m0_mutex;
use super::time::{TIME_NEVER, m0_time_t};
use crate::object::Object;
use lnet_api::c_pointer::Out;

/// A condition variable, which belongs to one mutex.
#[repr(C)]
#[derive(Debug, Default)]
pub struct m0_cond {
    /// The channel of the waiters, guarded by the mutex.
    pub c_chan: m0_chan,
}

impl Object<m0_cond> {
    fn chan(self) -> Object<m0_chan> {
        self.part(|cond| &cond.c_chan)
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_cond_init(cond: Out<'_, m0_cond>, mutex: Object<m0_mutex>) {
    let cond = Object::init(cond, m0_cond::default());
    // SAFETY: just initialised, and nobody uses it yet.
    m0_chan_init(unsafe { cond.chan().memory() }, mutex);
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_cond_fini(cond: Object<m0_cond>) {
    m0_chan_fini_lock(cond.chan());
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_cond_wait(cond: Object<m0_cond>) {
    m0_cond_timedwait(cond, TIME_NEVER);
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_cond_timedwait(cond: Object<m0_cond>, abs_timeout: m0_time_t) -> bool {
    let mut clink = m0_clink::default();
    // SAFETY: the clink stays until this function returns, which takes it off the channel before.
    let clink = unsafe { Object::new(&raw mut clink) };
    // SAFETY: nobody uses it yet.
    m0_clink_init(unsafe { clink.memory() }, None);
    m0_clink_add(cond.chan(), clink);
    let mutex = cond.chan().ch_guard.get();
    mutex.unlock();
    let signalled = m0_chan_timedwait(clink, abs_timeout);
    mutex.lock();
    // A signal between the timeout and the lock is not lost.
    let signalled = signalled || m0_chan_timedwait(clink, 0);
    m0_clink_del(clink);
    signalled
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_cond_signal(cond: Object<m0_cond>) {
    m0_chan_signal(cond.chan());
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_cond_broadcast(cond: Object<m0_cond>) {
    m0_chan_broadcast(cond.chan());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::thread;

    struct Shared {
        mutex: m0_mutex,
        cond: m0_cond,
        count: Cell<u32>,
    }

    // SAFETY: everything is used with the mutex held.
    unsafe impl Sync for Shared {}

    #[test]
    fn threads_that_wait_for_a_number_are_woken_when_it_is_reached() {
        let shared = Shared { mutex: m0_mutex::new(), cond: m0_cond::default(), count: Cell::new(0) };
        let shared = &shared;
        let cond = move || Object::of_test(&shared.cond);
        m0_cond_init(Object::memory_of_test(&shared.cond), Object::of_test(&shared.mutex));
        thread::scope(|scope| {
            for wanted in 1..=4 {
                scope.spawn(move || {
                    shared.mutex.lock();
                    while shared.count.get() < wanted {
                        m0_cond_wait(cond());
                    }
                    shared.mutex.unlock();
                });
            }
            for _ in 0..4 {
                shared.mutex.lock();
                shared.count.update(|count| count + 1);
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
