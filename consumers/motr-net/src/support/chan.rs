//! Channels and clinks (motr-net 8.3): each signal since a clink was added ends one wait.

use super::list::{m0_list, m0_list_add_tail, m0_list_del, m0_list_first, m0_list_is_empty, m0_list_link};
use super::mutex::m0_mutex;
use super::semaphore::m0_semaphore;
use super::time::{TIME_NEVER, m0_time_t};
use crate::contract::require;
use crate::object::Object;
use lnet_api::c_pointer::Out;
use std::cell::Cell;
use std::mem::offset_of;

/// A callback that runs under the guard, on the thread that signals; it returns true if it has consumed the signal.
pub type m0_chan_cb_t = Option<extern "C" fn(Object<m0_clink>) -> bool>;

/// A channel, at which threads wait for signals.
#[repr(C)]
#[derive(Debug, Default)]
pub struct m0_chan {
    /// The clinks; the first one gets the next signal.
    pub ch_links: m0_list,
    /// The mutex that guards the channel.
    pub ch_guard: Cell<Object<m0_mutex>>,
    /// The number of clinks.
    pub ch_waiters: Cell<u32>,
}

/// A clink, which registers a waiter at a channel.
#[repr(C)]
#[derive(Debug, Default)]
pub struct m0_clink {
    /// The callback for signals.
    pub cl_cb: Cell<m0_chan_cb_t>,
    /// The channel; NULL if the clink is not added to one.
    pub cl_chan: Cell<Object<m0_chan>>,
    /// The clink whose semaphore counts the signals.
    pub cl_group: Cell<Object<Self>>,
    /// The link in the channel's list of clinks.
    pub cl_linkage: m0_list_link,
    /// Counts the signals that no wait has consumed yet.
    pub cl_wait: m0_semaphore,
    /// Whether the first signal removes the clink.
    pub cl_is_oneshot: Cell<bool>,
}

impl Object<m0_chan> {
    fn links(self) -> Object<m0_list> {
        self.part(|chan| &chan.ch_links)
    }

    fn require_guard(self, function: &str) {
        require!(function, self.ch_guard.get().is_locked(), "this thread does not have the channel's guard");
    }

    /// Runs `body` with the guard locked.
    fn with_guard(self, body: impl FnOnce()) {
        let guard = self.ch_guard.get();
        guard.lock();
        body();
        guard.unlock();
    }

    /// Moves a link of `from` to the end of the channel's list, and signals its clink.
    fn signal_first(self, from: Object<m0_list>) {
        let first = m0_list_first(from);
        m0_list_del(first);
        m0_list_add_tail(self.links(), first);
        // SAFETY: what is linked at a channel is that part of a clink, which is valid as long as it is there.
        unsafe { first.container::<m0_clink>(offset_of!(m0_clink, cl_linkage)) }.signal();
    }
}

impl Object<m0_clink> {
    /// Signals the clink; it is at a channel whose guard is held. The callback may remove the clink, and even free it, if it
    /// returns true.
    fn signal(self) {
        let (callback, group) = (self.cl_cb.get(), self.cl_group.get());
        if self.cl_is_oneshot.get() {
            self.take_off();
        }
        if !callback.is_some_and(|callback| callback(self)) {
            group.cl_wait.up();
        }
    }

    /// Removes the clink from its channel, whose guard is held.
    fn take_off(self) {
        m0_list_del(self.part(|clink| &clink.cl_linkage));
        let chan = self.cl_chan.replace(Object::NULL);
        chan.ch_waiters.update(|waiters| waiters - 1);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_chan_init(chan: Out<'_, m0_chan>, guard: Object<m0_mutex>) {
    require!("m0_chan_init", !guard.is_null(), "there is no guard");
    let chan = Object::init(chan, m0_chan { ch_guard: Cell::new(guard), ..m0_chan::default() });
    chan.links().close();
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_chan_fini(chan: Object<m0_chan>) {
    chan.require_guard("m0_chan_fini");
    require!("m0_chan_fini", m0_list_is_empty(chan.links()), "a clink is left");
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_chan_signal(chan: Object<m0_chan>) {
    chan.require_guard("m0_chan_signal");
    if !m0_list_is_empty(chan.links()) {
        chan.signal_first(chan.links());
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_chan_broadcast(chan: Object<m0_chan>) {
    chan.require_guard("m0_chan_broadcast");
    let mut left = m0_list::new();
    // SAFETY: the list stays until this function returns, when no link is in it: a clink is moved before it is signalled, and whoever takes one
    // off meanwhile has the guard, on this thread.
    let left = unsafe { Object::new(&raw mut left) };
    for link in chan.links().links() {
        m0_list_del(link);
        m0_list_add_tail(left, link);
    }
    // A callback may remove any clink, and add some, which do not get this signal.
    while !m0_list_is_empty(left) {
        chan.signal_first(left);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_chan_has_waiters(chan: Object<m0_chan>) -> bool {
    chan.ch_waiters.get() > 0
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_clink_init(link: Out<'_, m0_clink>, cb: m0_chan_cb_t) {
    let clink = Object::init(link, m0_clink { cl_cb: Cell::new(cb), ..m0_clink::default() });
    clink.cl_group.set(clink);
    clink.part(|clink| &clink.cl_linkage).close();
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_clink_fini(link: Object<m0_clink>) {
    require!("m0_clink_fini", !m0_clink_is_armed(link), "the clink is at a channel");
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_clink_attach(link: Out<'_, m0_clink>, group: Object<m0_clink>, cb: m0_chan_cb_t) {
    let is_head = group.cl_group.get() == group;
    require!("m0_clink_attach", is_head, "the group's head is a member of another group");
    let clink = Object::init(link, m0_clink { cl_cb: Cell::new(cb), ..m0_clink::default() });
    clink.cl_group.set(group);
    clink.part(|clink| &clink.cl_linkage).close();
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_clink_add(chan: Object<m0_chan>, link: Object<m0_clink>) {
    chan.require_guard("m0_clink_add");
    require!("m0_clink_add", !m0_clink_is_armed(link), "the clink is at a channel");
    if link.cl_group.get() == link {
        link.cl_wait.reset();
    }
    link.cl_chan.set(chan);
    m0_list_add_tail(chan.links(), link.part(|clink| &clink.cl_linkage));
    chan.ch_waiters.update(|waiters| waiters + 1);
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_clink_del(link: Object<m0_clink>) {
    require!("m0_clink_del", m0_clink_is_armed(link), "the clink is at no channel");
    link.cl_chan.get().require_guard("m0_clink_del");
    link.take_off();
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_clink_is_armed(link: Object<m0_clink>) -> bool {
    !link.cl_chan.get().is_null()
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_chan_wait(link: Object<m0_clink>) {
    link.cl_group.get().cl_wait.down_until(TIME_NEVER);
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_chan_trywait(link: Object<m0_clink>) -> bool {
    link.cl_group.get().cl_wait.try_down()
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_chan_timedwait(link: Object<m0_clink>, abs_timeout: m0_time_t) -> bool {
    link.cl_group.get().cl_wait.down_until(abs_timeout)
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_chan_fini_lock(chan: Object<m0_chan>) {
    chan.with_guard(|| m0_chan_fini(chan));
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_chan_signal_lock(chan: Object<m0_chan>) {
    chan.with_guard(|| m0_chan_signal(chan));
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_chan_broadcast_lock(chan: Object<m0_chan>) {
    chan.with_guard(|| m0_chan_broadcast(chan));
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_clink_add_lock(chan: Object<m0_chan>, link: Object<m0_clink>) {
    chan.with_guard(|| m0_clink_add(chan, link));
}

/// Only the owner of a clink removes it, so it stays at its channel until the guard is held.
#[unsafe(no_mangle)]
pub extern "C" fn m0_clink_del_lock(link: Object<m0_clink>) {
    require!("m0_clink_del_lock", m0_clink_is_armed(link), "the clink is at no channel");
    link.cl_chan.get().with_guard(|| m0_clink_del(link));
}

#[cfg(test)]
#[path = "chan_tests.rs"]
mod tests;
