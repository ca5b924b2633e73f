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
use crate::contract::require;
use crate::errno::Errno;
use crate::families::{
    m0_nep_tlist_fini, m0_nep_tlist_init, m0_nep_tlist_length, m0_net_tm_tlist_fini, m0_net_tm_tlist_init,
};
use crate::support::{
    m0_bitmap, m0_chan_fini_lock, m0_chan_init, m0_chan_wait, m0_clink, m0_clink_add, m0_clink_del_lock,
    m0_clink_fini, m0_clink_init, m0_list_add_tail, m0_list_del, m0_mutex_fini, m0_mutex_init, m0_ref_read,
};
use std::ffi::{c_char, c_int, c_uint};
use std::mem::MaybeUninit;
use std::ptr;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_tm_init(tm: *mut m0_net_transfer_mc, dom: *mut m0_net_domain) -> c_int {
    // SAFETY: the contract of the C functions (`super`).
    unsafe {
        if tm.is_null() || dom.is_null() || (*dom).nd_xprt.is_null() {
            return Errno::INVALID.to_c();
        }
        let callbacks = (*tm).ntm_callbacks;
        let is_usable = (*tm).ntm_state == tm_state::UNDEFINED
            && !callbacks.is_null()
            && (*callbacks).ntc_event_cb.is_some();
        if !is_usable {
            return Errno::INVALID.to_c();
        }
        let Some(init) = ops(dom).xo_tm_init else { return Errno::NOT_SUPPORTED.to_c() };
        let _domain = Guard::domain(dom);
        set_up(tm, dom);
        let rc = init(tm);
        if rc < 0 {
            tear_down(tm);
            return rc;
        }
        m0_list_add_tail(&raw mut (*dom).nd_tms, &raw mut (*tm).ntm_dom_linkage);
        (*tm).ntm_state = tm_state::INITIALIZED;
        0
    }
}

/// # Safety
/// The memory is the machine's, which is not initialised.
unsafe fn set_up(tm: *mut m0_net_transfer_mc, dom: *mut m0_net_domain) {
    // SAFETY: by contract.
    unsafe {
        m0_mutex_init(&raw mut (*tm).ntm_group.s_lock);
        m0_chan_init(&raw mut (*tm).ntm_chan, &raw mut (*tm).ntm_group.s_lock);
        m0_nep_tlist_init(&raw mut (*tm).ntm_end_points);
        Queue::ALL.into_iter().for_each(|queue| m0_net_tm_tlist_init(queue_of(tm, queue)));
        (*tm).ntm_callback_counter = 0;
        (*tm).ntm_dom = dom;
        (*tm).ntm_ep = ptr::null_mut();
        (*tm).ntm_qstats = [m0_net_qstats::default(); QUEUES];
        (*tm).ntm_dom_linkage = crate::support::m0_list_link::new();
        (*tm).ntm_xprt_private = ptr::null_mut();
        (*tm).ntm_bev_auto_deliver = true;
        (*tm).ntm_recv_pool = ptr::null_mut();
        (*tm).ntm_recv_pool_callbacks = ptr::null();
        (*tm).ntm_recv_queue_min_length = DEFAULT_RECV_QUEUE_LEN;
        (*tm).ntm_recv_queue_deficit.set(0);
        (*tm).ntm_pool_colour = ANY_COLOUR;
        (*tm).ntm_recv_queue_min_recv_size = 0;
        (*tm).ntm_recv_queue_max_recv_msgs = 0;
    }
}

/// # Safety
/// A machine that nobody uses.
unsafe fn tear_down(tm: *mut m0_net_transfer_mc) {
    // SAFETY: by contract.
    unsafe {
        Queue::ALL.into_iter().for_each(|queue| m0_net_tm_tlist_fini(queue_of(tm, queue)));
        m0_nep_tlist_fini(&raw mut (*tm).ntm_end_points);
        m0_chan_fini_lock(&raw mut (*tm).ntm_chan);
        m0_mutex_fini(&raw mut (*tm).ntm_group.s_lock);
        (*tm).ntm_state = tm_state::UNDEFINED;
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_tm_fini(tm: *mut m0_net_transfer_mc) {
    const NAME: &str = "m0_net_tm_fini";
    // SAFETY: the contract of the C functions (`super`).
    unsafe {
        require!(NAME, (*tm).ntm_state != tm_state::UNDEFINED, "the transfer machine is not initialised");
        wait_for_callbacks(tm);
        let own = {
            let _tm = Guard::tm(tm);
            let is_over =
                matches!((*tm).ntm_state, tm_state::INITIALIZED | tm_state::STOPPED | tm_state::FAILED);
            require!(NAME, is_over, "the transfer machine is not stopped: its state is {}", (*tm).ntm_state);
            require!(NAME, queues_are_empty(tm), "buffers are queued");
            let own = (*tm).ntm_ep;
            let end_points = m0_nep_tlist_length(&raw const (*tm).ntm_end_points);
            let is_unused = end_points == usize::from(!own.is_null())
                && (own.is_null() || m0_ref_read(&raw const (*own).nep_ref) == 1);
            require!(NAME, is_unused, "end points are in use");
            (*tm).ntm_ep = ptr::null_mut();
            own
        };
        if !own.is_null() {
            m0_net_end_point_put(own);
        }
        let dom = (*tm).ntm_dom;
        let _domain = Guard::domain(dom);
        if let Some(fini) = ops(dom).xo_tm_fini {
            fini(tm);
        }
        m0_list_del(&raw mut (*tm).ntm_dom_linkage);
        tear_down(tm);
    }
}

/// Waits until no callback is running, of a machine that ends.
///
/// # Safety
/// The machine is initialised.
unsafe fn wait_for_callbacks(tm: *mut m0_net_transfer_mc) {
    let mut clink = MaybeUninit::<m0_clink>::zeroed();
    let clink = clink.as_mut_ptr();
    // SAFETY: by contract; the clink is taken off before its memory goes.
    unsafe {
        m0_clink_init(clink, None);
        {
            let _tm = Guard::tm(tm);
            m0_clink_add(&raw mut (*tm).ntm_chan, clink);
        }
        let is_busy = || {
            let _tm = Guard::tm(tm);
            (*tm).ntm_callback_counter > 0
        };
        while is_busy() {
            m0_chan_wait(clink);
        }
        m0_clink_del_lock(clink);
        m0_clink_fini(clink);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_tm_start(tm: *mut m0_net_transfer_mc, addr: *const c_char) -> c_int {
    // SAFETY: the contract of the C functions (`super`).
    unsafe {
        if tm.is_null() || addr.is_null() || (*tm).ntm_state == tm_state::UNDEFINED {
            return Errno::INVALID.to_c();
        }
        let _tm = Guard::tm(tm);
        if (*tm).ntm_state != tm_state::INITIALIZED {
            return Errno::INVALID.to_c();
        }
        let Some(start) = ops((*tm).ntm_dom).xo_tm_start else { return Errno::NOT_SUPPORTED.to_c() };
        (*tm).ntm_state = tm_state::STARTING;
        let rc = start(tm, addr);
        if rc < 0 {
            (*tm).ntm_state = tm_state::FAILED;
        }
        rc.min(0)
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_tm_stop(tm: *mut m0_net_transfer_mc, abort: bool) -> c_int {
    // SAFETY: the contract of the C functions (`super`).
    unsafe {
        if tm.is_null() || (*tm).ntm_state == tm_state::UNDEFINED {
            return Errno::INVALID.to_c();
        }
        let _tm = Guard::tm(tm);
        let before = (*tm).ntm_state;
        if !matches!(before, tm_state::INITIALIZED | tm_state::STARTING | tm_state::STARTED) {
            return Errno::INVALID.to_c();
        }
        let Some(stop) = ops((*tm).ntm_dom).xo_tm_stop else { return Errno::NOT_SUPPORTED.to_c() };
        (*tm).ntm_state = tm_state::STOPPING;
        let deficit = (*tm).ntm_recv_queue_deficit.get();
        (*tm).ntm_recv_queue_deficit.set(0);
        let rc = stop(tm, abort);
        if rc < 0 {
            (*tm).ntm_state = before;
            (*tm).ntm_recv_queue_deficit.set(deficit);
        } else if !abort {
            // An abort ends every operation; otherwise those that the machine has begun itself end with it.
            cancel(tm, &[Queue::MsgRecv], |buf| is_from_pool(tm, buf));
        }
        rc.min(0)
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_tm_confine(
    tm: *mut m0_net_transfer_mc,
    processors: *const m0_bitmap,
) -> c_int {
    // SAFETY: the contract of the C functions (`super`). The bitmap is the transport's to look at.
    unsafe {
        if tm.is_null() || processors.is_null() || (*tm).ntm_state == tm_state::UNDEFINED {
            return Errno::INVALID.to_c();
        }
        let _tm = Guard::tm(tm);
        if (*tm).ntm_state != tm_state::INITIALIZED {
            return Errno::INVALID.to_c();
        }
        let confine = ops((*tm).ntm_dom).xo_tm_confine;
        confine.map_or(Errno::NOT_SUPPORTED.to_c(), |confine| confine(tm, processors))
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_tm_stats_get(
    tm: *mut m0_net_transfer_mc,
    qtype: c_uint,
    qs: *mut m0_net_qstats,
    reset: bool,
) -> c_int {
    // SAFETY: the contract of the C functions (`super`).
    unsafe {
        if tm.is_null() || (*tm).ntm_state == tm_state::UNDEFINED || qs.is_null() && !reset {
            return Errno::INVALID.to_c();
        }
        let range = match Queue::from_number(qtype) {
            Some(queue) => queue.index()..queue.index() + 1,
            None if qtype as usize == QUEUES => 0..QUEUES,
            None => return Errno::INVALID.to_c(),
        };
        let _tm = Guard::tm(tm);
        let stats = (&raw mut (*tm).ntm_qstats).cast::<m0_net_qstats>();
        for (place, index) in range.enumerate() {
            if !qs.is_null() {
                qs.add(place).write(*stats.add(index));
            }
            if reset {
                *stats.add(index) = m0_net_qstats::default();
            }
        }
        0
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_tm_colour_set(tm: *mut m0_net_transfer_mc, colour: u32) {
    // SAFETY: the contract of the C functions (`super`).
    unsafe {
        let _tm = Guard::tm(tm);
        (*tm).ntm_pool_colour = colour;
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_tm_colour_get(tm: *mut m0_net_transfer_mc) -> u32 {
    // SAFETY: the contract of the C functions (`super`).
    unsafe {
        let _tm = Guard::tm(tm);
        (*tm).ntm_pool_colour
    }
}
