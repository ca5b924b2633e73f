//! Transfer machines, from init to fini (motr-net 1.4).

use super::buffer::cancel;
use super::domain::ops;
use super::end_point::m0_net_end_point_put;
use super::guard::Guard;
use super::queue::Queue;
use super::tm_queues::{is_from_pool, queue_of, queues_are_empty};
use super::types::{
    ANY_COLOUR, DEFAULT_RECV_QUEUE_LEN, QUEUES, m0_net_domain, m0_net_qstats, m0_net_transfer_mc, tm_state,
};
use crate::Errno;
use crate::contract::require;
use crate::families::{
    m0_nep_tlist_fini, m0_nep_tlist_init, m0_nep_tlist_length, m0_net_tm_tlist_fini, m0_net_tm_tlist_init,
};
use crate::object::Object;
use crate::support::{
    m0_bitmap, m0_chan_fini_lock, m0_chan_init, m0_chan_wait, m0_clink, m0_clink_add, m0_clink_del_lock,
    m0_clink_fini, m0_clink_init, m0_list_add_tail, m0_list_del, m0_mutex_fini, m0_mutex_init, m0_ref_read,
};
use lnet_api::c_pointer::Text;
use std::ffi::{c_int, c_uint};
use std::ptr;

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_tm_init(tm: Object<m0_net_transfer_mc>, dom: Object<m0_net_domain>) -> c_int {
    if tm.is_null() || dom.is_null() || dom.nd_xprt.get().is_null() {
        return Errno::Invalid.to_c();
    }
    let callbacks = tm.ntm_callbacks.get();
    let is_usable =
        tm.ntm_state.get() == tm_state::UNDEFINED && !callbacks.is_null() && callbacks.ntc_event_cb.is_some();
    if !is_usable {
        return Errno::Invalid.to_c();
    }
    let Some(init) = ops(dom).xo_tm_init else { return Errno::NoFunction.to_c() };
    let _domain = Guard::domain(dom);
    set_up(tm, dom);
    let rc = init(tm);
    if rc < 0 {
        tear_down(tm);
        return rc;
    }
    m0_list_add_tail(dom.part(|it| &it.nd_tms), tm.part(|it| &it.ntm_dom_linkage));
    tm.ntm_state.set(tm_state::INITIALIZED);
    0
}

fn set_up(tm: Object<m0_net_transfer_mc>, dom: Object<m0_net_domain>) {
    // SAFETY: the machine is not initialised: nobody uses its parts.
    unsafe {
        m0_mutex_init(tm.part(|it| &it.ntm_group.s_lock).memory());
        m0_chan_init(tm.part(|it| &it.ntm_chan).memory(), tm.part(|it| &it.ntm_group.s_lock));
        m0_nep_tlist_init(tm.part(|it| &it.ntm_end_points).memory());
        Queue::ALL.into_iter().for_each(|queue| m0_net_tm_tlist_init(queue_of(tm, queue).memory()));
    }
    tm.ntm_callback_counter.set(0);
    tm.ntm_dom.set(dom);
    tm.ntm_ep.set(Object::NULL);
    tm.ntm_qstats.iter().for_each(|stats| stats.set(m0_net_qstats::default()));
    tm.ntm_dom_linkage.reset();
    tm.ntm_xprt_private.set(ptr::null_mut());
    tm.ntm_bev_auto_deliver.set(true);
    tm.ntm_recv_pool.set(Object::NULL);
    tm.ntm_recv_pool_callbacks.set(Object::NULL);
    tm.ntm_recv_queue_min_length.set(DEFAULT_RECV_QUEUE_LEN);
    tm.ntm_recv_queue_deficit.set(0);
    tm.ntm_pool_colour.set(ANY_COLOUR);
    tm.ntm_recv_queue_min_recv_size.set(0);
    tm.ntm_recv_queue_max_recv_msgs.set(0);
}

fn tear_down(tm: Object<m0_net_transfer_mc>) {
    Queue::ALL.into_iter().for_each(|queue| m0_net_tm_tlist_fini(queue_of(tm, queue)));
    m0_nep_tlist_fini(tm.part(|it| &it.ntm_end_points));
    m0_chan_fini_lock(tm.part(|it| &it.ntm_chan));
    m0_mutex_fini(tm.part(|it| &it.ntm_group.s_lock));
    tm.ntm_state.set(tm_state::UNDEFINED);
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_tm_fini(tm: Object<m0_net_transfer_mc>) {
    const NAME: &str = "m0_net_tm_fini";
    require!(NAME, tm.ntm_state.get() != tm_state::UNDEFINED, "the transfer machine is not initialised");
    wait_for_callbacks(tm);
    let own = {
        let _tm = Guard::tm(tm);
        let is_over =
            matches!(tm.ntm_state.get(), tm_state::INITIALIZED | tm_state::STOPPED | tm_state::FAILED);
        require!(NAME, is_over, "the transfer machine is not stopped: its state is {}", tm.ntm_state.get());
        require!(NAME, queues_are_empty(tm), "buffers are queued");
        let own = tm.ntm_ep.get();
        let end_points = m0_nep_tlist_length(tm.part(|it| &it.ntm_end_points));
        let is_unused = end_points == usize::from(!own.is_null())
            && (own.is_null() || m0_ref_read(own.part(|it| &it.nep_ref)) == 1);
        require!(NAME, is_unused, "end points are in use");
        tm.ntm_ep.set(Object::NULL);
        own
    };
    if !own.is_null() {
        m0_net_end_point_put(own);
    }
    let dom = tm.ntm_dom.get();
    let _domain = Guard::domain(dom);
    if let Some(fini) = ops(dom).xo_tm_fini {
        fini(tm);
    }
    m0_list_del(tm.part(|it| &it.ntm_dom_linkage));
    tear_down(tm);
}

/// Waits until no callback of the machine is running, as it ends.
fn wait_for_callbacks(tm: Object<m0_net_transfer_mc>) {
    let mut clink = m0_clink::default();
    // SAFETY: the clink stays until this function returns, which takes it off the channel before; nobody uses it yet.
    let clink = unsafe { Object::new(&raw mut clink) };
    // SAFETY: the same.
    m0_clink_init(unsafe { clink.memory() }, None);
    {
        let _tm = Guard::tm(tm);
        m0_clink_add(tm.part(|it| &it.ntm_chan), clink);
    }
    let is_busy = || {
        let _tm = Guard::tm(tm);
        tm.ntm_callback_counter.get() > 0
    };
    while is_busy() {
        m0_chan_wait(clink);
    }
    m0_clink_del_lock(clink);
    m0_clink_fini(clink);
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_tm_start(tm: Object<m0_net_transfer_mc>, addr: Text<'_>) -> c_int {
    if tm.is_null() || addr.get().is_none() || tm.ntm_state.get() == tm_state::UNDEFINED {
        return Errno::Invalid.to_c();
    }
    let _tm = Guard::tm(tm);
    if tm.ntm_state.get() != tm_state::INITIALIZED {
        return Errno::Invalid.to_c();
    }
    let Some(start) = ops(tm.ntm_dom.get()).xo_tm_start else { return Errno::NoFunction.to_c() };
    tm.ntm_state.set(tm_state::STARTING);
    let rc = start(tm, addr);
    if rc < 0 {
        tm.ntm_state.set(tm_state::FAILED);
    }
    rc.min(0)
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_tm_stop(tm: Object<m0_net_transfer_mc>, abort: bool) -> c_int {
    if tm.is_null() || tm.ntm_state.get() == tm_state::UNDEFINED {
        return Errno::Invalid.to_c();
    }
    let _tm = Guard::tm(tm);
    let before = tm.ntm_state.get();
    if !matches!(before, tm_state::INITIALIZED | tm_state::STARTING | tm_state::STARTED) {
        return Errno::Invalid.to_c();
    }
    let Some(stop) = ops(tm.ntm_dom.get()).xo_tm_stop else { return Errno::NoFunction.to_c() };
    tm.ntm_state.set(tm_state::STOPPING);
    let deficit = tm.ntm_recv_queue_deficit.get();
    tm.ntm_recv_queue_deficit.set(0);
    let rc = stop(tm, abort);
    if rc < 0 {
        tm.ntm_state.set(before);
        tm.ntm_recv_queue_deficit.set(deficit);
    } else if !abort {
        // An abort ends every operation; a normal stop ends those that the machine has begun by itself.
        cancel(tm, &[Queue::MsgRecv], |buf| is_from_pool(tm, buf));
    }
    rc.min(0)
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_tm_confine(tm: Object<m0_net_transfer_mc>, processors: Object<m0_bitmap>) -> c_int {
    if tm.is_null() || processors.is_null() || tm.ntm_state.get() == tm_state::UNDEFINED {
        return Errno::Invalid.to_c();
    }
    let _tm = Guard::tm(tm);
    if tm.ntm_state.get() != tm_state::INITIALIZED {
        return Errno::Invalid.to_c();
    }
    let confine = ops(tm.ntm_dom.get()).xo_tm_confine;
    confine.map_or(Errno::NoFunction.to_c(), |confine| confine(tm, processors))
}

/// # Safety
/// Unless `qs` is NULL, it has space for the statistics of as many queues as `qtype` requests.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_tm_stats_get(
    tm: Object<m0_net_transfer_mc>,
    qtype: c_uint,
    qs: *mut m0_net_qstats,
    reset: bool,
) -> c_int {
    if tm.is_null() || tm.ntm_state.get() == tm_state::UNDEFINED || qs.is_null() && !reset {
        return Errno::Invalid.to_c();
    }
    let range = match Queue::from_number(qtype) {
        Some(queue) => queue.index()..queue.index() + 1,
        None if qtype as usize == QUEUES => 0..QUEUES,
        None => return Errno::Invalid.to_c(),
    };
    let _tm = Guard::tm(tm);
    for (place, stats) in tm.ntm_qstats[range].iter().enumerate() {
        if !qs.is_null() {
            // SAFETY: not NULL, so there is room for the statistics of every queue of the range, for which the caller vouches.
            unsafe { qs.add(place).write(stats.get()) };
        }
        if reset {
            stats.take();
        }
    }
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_tm_colour_set(tm: Object<m0_net_transfer_mc>, colour: u32) {
    let _tm = Guard::tm(tm);
    tm.ntm_pool_colour.set(colour);
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_tm_colour_get(tm: Object<m0_net_transfer_mc>) -> u32 {
    let _tm = Guard::tm(tm);
    tm.ntm_pool_colour.get()
}
