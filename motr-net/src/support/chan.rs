//! Channels and clinks (motr-net 8.3): every signal since a clink was added ends one wait.

use super::list::{
    Links, m0_list, m0_list_add_tail, m0_list_del, m0_list_first, m0_list_init, m0_list_is_empty,
    m0_list_link, m0_list_link_init,
};
use super::mutex::m0_mutex;
use super::semaphore::m0_semaphore;
use super::time::{TIME_NEVER, m0_time_t};
use crate::contract::require;
use std::mem::offset_of;
use std::ptr;

/// Runs under the guard, on the thread that signals; true: the signal is used up.
pub type m0_chan_cb_t = Option<unsafe extern "C" fn(*mut m0_clink) -> bool>;

/// A channel.
#[repr(C)]
#[derive(Debug)]
pub struct m0_chan {
    /// The clinks; the first one gets the next signal.
    pub ch_links: m0_list,
    /// The mutex that guards it.
    pub ch_guard: *mut m0_mutex,
    /// How many clinks there are.
    pub ch_waiters: u32,
}

/// A waiter's place at a channel.
#[repr(C)]
#[derive(Debug)]
pub struct m0_clink {
    /// What a signal calls.
    pub cl_cb: m0_chan_cb_t,
    /// The channel; NULL: none.
    pub cl_chan: *mut m0_chan,
    /// Whose semaphore its signals go to.
    pub cl_group: *mut Self,
    /// Its place among the channel's clinks.
    pub cl_linkage: m0_list_link,
    /// The signals that nobody waited for yet.
    pub cl_wait: m0_semaphore,
    /// The first signal takes it off.
    pub cl_is_oneshot: bool,
}

/// # Safety
/// The link is that of a clink.
unsafe fn clink_of(link: *mut m0_list_link) -> *mut m0_clink {
    link.wrapping_byte_sub(offset_of!(m0_clink, cl_linkage)).cast()
}

/// # Safety
/// The channel is valid.
unsafe fn require_guard(function: &str, chan: *const m0_chan) {
    // SAFETY: by contract; a channel has a guard.
    unsafe {
        require!(function, (*(*chan).ch_guard).is_locked(), "this thread does not have the channel's guard")
    };
}

/// Gives a signal to a clink of a channel whose guard is held.
///
/// # Safety
/// The clink is at a channel.
unsafe fn signal_clink(clink: *mut m0_clink) {
    // SAFETY: by contract. The callback may take the clink off, and even free it, if it returns true.
    unsafe {
        let (callback, group) = ((*clink).cl_cb, (*clink).cl_group);
        if (*clink).cl_is_oneshot {
            take_off(clink);
        }
        if !callback.is_some_and(|callback| callback(clink)) {
            (*group).cl_wait.up();
        }
    }
}

/// # Safety
/// The clink is at a channel, whose guard is held.
unsafe fn take_off(clink: *mut m0_clink) {
    // SAFETY: by contract.
    unsafe {
        m0_list_del(&raw mut (*clink).cl_linkage);
        (*(*clink).cl_chan).ch_waiters -= 1;
        (*clink).cl_chan = ptr::null_mut();
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_chan_init(chan: *mut m0_chan, guard: *mut m0_mutex) {
    require!("m0_chan_init", !guard.is_null(), "there is no guard");
    // SAFETY: by contract the caller's to write.
    unsafe {
        chan.write(m0_chan { ch_links: m0_list::new(), ch_guard: guard, ch_waiters: 0 });
        m0_list_init(&raw mut (*chan).ch_links);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_chan_fini(chan: *mut m0_chan) {
    // SAFETY: by contract.
    unsafe {
        require_guard("m0_chan_fini", chan);
        require!("m0_chan_fini", m0_list_is_empty(&raw const (*chan).ch_links), "a clink is left");
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_chan_signal(chan: *mut m0_chan) {
    // SAFETY: by contract; the links are those of clinks, which are valid as long as they are at the channel.
    unsafe {
        require_guard("m0_chan_signal", chan);
        let links = &raw mut (*chan).ch_links;
        let first = m0_list_first(links);
        if !first.is_null() {
            m0_list_del(first);
            m0_list_add_tail(links, first);
            signal_clink(clink_of(first));
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_chan_broadcast(chan: *mut m0_chan) {
    // SAFETY: as in `m0_chan_signal`. A callback may take off any clink, and add some, which do not get this signal.
    unsafe {
        require_guard("m0_chan_broadcast", chan);
        let links = &raw mut (*chan).ch_links;
        let mut left = m0_list::new();
        let left = &raw mut left;
        for link in Links::of(links) {
            m0_list_del(link);
            m0_list_add_tail(left, link);
        }
        loop {
            let first = m0_list_first(left);
            if first.is_null() {
                break;
            }
            m0_list_del(first);
            m0_list_add_tail(links, first);
            signal_clink(clink_of(first));
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_chan_has_waiters(chan: *const m0_chan) -> bool {
    // SAFETY: by contract.
    unsafe { (*chan).ch_waiters > 0 }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_clink_init(link: *mut m0_clink, cb: m0_chan_cb_t) {
    // SAFETY: by contract the caller's to write.
    unsafe {
        link.write(m0_clink {
            cl_cb: cb,
            cl_chan: ptr::null_mut(),
            cl_group: link,
            cl_linkage: m0_list_link::new(),
            cl_wait: m0_semaphore::new(0),
            cl_is_oneshot: false,
        });
        m0_list_link_init(&raw mut (*link).cl_linkage);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_clink_fini(link: *mut m0_clink) {
    // SAFETY: by contract.
    require!("m0_clink_fini", unsafe { !m0_clink_is_armed(link) }, "the clink is at a channel");
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_clink_attach(link: *mut m0_clink, group: *mut m0_clink, cb: m0_chan_cb_t) {
    // SAFETY: by contract.
    unsafe {
        require!(
            "m0_clink_attach",
            ptr::eq((*group).cl_group, group),
            "the group's head is a member of another group"
        );
        m0_clink_init(link, cb);
        (*link).cl_group = group;
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_clink_add(chan: *mut m0_chan, link: *mut m0_clink) {
    // SAFETY: by contract.
    unsafe {
        require_guard("m0_clink_add", chan);
        require!("m0_clink_add", !m0_clink_is_armed(link), "the clink is at a channel");
        if ptr::eq((*link).cl_group, link) {
            (*link).cl_wait = m0_semaphore::new(0);
        }
        (*link).cl_chan = chan;
        m0_list_add_tail(&raw mut (*chan).ch_links, &raw mut (*link).cl_linkage);
        (*chan).ch_waiters += 1;
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_clink_del(link: *mut m0_clink) {
    // SAFETY: by contract.
    unsafe {
        require!("m0_clink_del", m0_clink_is_armed(link), "the clink is at no channel");
        require_guard("m0_clink_del", (*link).cl_chan);
        take_off(link);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_clink_is_armed(link: *const m0_clink) -> bool {
    // SAFETY: by contract.
    unsafe { !(*link).cl_chan.is_null() }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_chan_wait(link: *mut m0_clink) {
    // SAFETY: by contract.
    unsafe { (*(*link).cl_group).cl_wait.down_until(TIME_NEVER) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_chan_trywait(link: *mut m0_clink) -> bool {
    // SAFETY: by contract.
    unsafe { (*(*link).cl_group).cl_wait.try_down() }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_chan_timedwait(link: *mut m0_clink, abs_timeout: m0_time_t) -> bool {
    // SAFETY: by contract.
    unsafe { (*(*link).cl_group).cl_wait.down_until(abs_timeout) }
}

/// Runs `body` with the guard of a channel.
///
/// # Safety
/// The channel is valid.
unsafe fn with_guard(chan: *const m0_chan, body: impl FnOnce()) {
    // SAFETY: by contract; the guard outlives the channel.
    let guard = unsafe { &*(*chan).ch_guard };
    guard.lock();
    body();
    guard.unlock();
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_chan_fini_lock(chan: *mut m0_chan) {
    // SAFETY: by contract.
    unsafe { with_guard(chan, || m0_chan_fini(chan)) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_chan_signal_lock(chan: *mut m0_chan) {
    // SAFETY: by contract.
    unsafe { with_guard(chan, || m0_chan_signal(chan)) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_chan_broadcast_lock(chan: *mut m0_chan) {
    // SAFETY: by contract.
    unsafe { with_guard(chan, || m0_chan_broadcast(chan)) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_clink_add_lock(chan: *mut m0_chan, link: *mut m0_clink) {
    // SAFETY: by contract.
    unsafe { with_guard(chan, || m0_clink_add(chan, link)) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_clink_del_lock(link: *mut m0_clink) {
    // SAFETY: by contract; only the owner of a clink takes it off, so it stays at its channel until then.
    unsafe {
        require!("m0_clink_del_lock", m0_clink_is_armed(link), "the clink is at no channel");
        with_guard((*link).cl_chan, || m0_clink_del(link));
    }
}

#[cfg(test)]
#[path = "chan_tests.rs"]
mod tests;
