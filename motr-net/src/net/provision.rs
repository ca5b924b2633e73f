//! Filling the receive queues of transfer machines from pools (motr-net 5.2).

use super::buffer::{add_locked, dequeue, stats_of};
use super::guard::Guard;
use super::pool::{insert, m0_net_buffer_pool_put, take, tell_of_threshold};
use super::provision_thread;
use super::queue::Queue;
use super::tm_queues::{is_from_pool, queue_of};
use super::types::{
    ANY_COLOUR, DEFAULT_RECV_QUEUE_LEN, m0_bcount_t, m0_net_buffer, m0_net_buffer_callbacks,
    m0_net_buffer_pool, m0_net_transfer_mc, tm_state,
};
use crate::contract::require;
use crate::errno::Errno;
use crate::families::{m0_net_tm_tl, m0_net_tm_tlist_length};
use crate::support::{Links, TIME_NEVER, m0_chan_broadcast};
use std::ffi::c_int;
use std::mem::offset_of;
use std::ptr;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_tm_pool_attach(
    tm: *mut m0_net_transfer_mc,
    bufpool: *mut m0_net_buffer_pool,
    callbacks: *const m0_net_buffer_callbacks,
    min_recv_size: m0_bcount_t,
    max_recv_msgs: u32,
    min_recv_queue_len: u32,
) -> c_int {
    // SAFETY: the contract of the C functions (`super`).
    unsafe {
        let has_all = !tm.is_null()
            && !bufpool.is_null()
            && !callbacks.is_null()
            && (*tm).ntm_state != tm_state::UNDEFINED;
        if !has_all || (*callbacks).nbc_cb[Queue::MsgRecv.index()].is_none() {
            return Errno::INVALID.to_c();
        }
        let _tm = Guard::tm(tm);
        let is_usable = (*tm).ntm_state == tm_state::INITIALIZED
            && ptr::eq((*bufpool).nbp_ndom, (*tm).ntm_dom)
            && min_recv_size > 0
            && max_recv_msgs > 0;
        if !is_usable {
            return Errno::INVALID.to_c();
        }
        (*tm).ntm_recv_pool = bufpool;
        (*tm).ntm_recv_pool_callbacks = callbacks;
        (*tm).ntm_recv_queue_min_recv_size = min_recv_size;
        (*tm).ntm_recv_queue_max_recv_msgs = max_recv_msgs;
        set_length(tm, min_recv_queue_len);
        0
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_tm_pool_length_set(tm: *mut m0_net_transfer_mc, len: u32) {
    // SAFETY: the contract of the C functions (`super`).
    unsafe {
        let is_provisioned = {
            let _tm = Guard::tm(tm);
            set_length(tm, len);
            (*tm).ntm_state == tm_state::STARTED && !(*tm).ntm_recv_pool.is_null()
        };
        if is_provisioned {
            provision(tm);
            let _tm = Guard::tm(tm);
            m0_chan_broadcast(&raw mut (*tm).ntm_chan);
        }
    }
}

/// # Safety
/// The machine is initialised and locked.
unsafe fn set_length(tm: *mut m0_net_transfer_mc, len: u32) {
    if len > DEFAULT_RECV_QUEUE_LEN {
        // SAFETY: by contract.
        unsafe { (*tm).ntm_recv_queue_min_length = len };
    }
}

/// To be called with the lock of the pool. In the callback of a pool that is no longer empty it only notes what is to be done: a thread of
/// the domain does it when the callback has returned, and before `m0_net_buffer_pool_put` does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_domain_buffer_pool_not_empty(pool: *mut m0_net_buffer_pool) {
    // SAFETY: the contract of the C functions (`super`).
    unsafe {
        let has_lock = (*pool).nbp_mutex.is_locked();
        require!(
            "m0_net_domain_buffer_pool_not_empty",
            has_lock,
            "this thread does not have the lock of the pool"
        );
        provision_thread::request(provision_thread::Job { pool, is_needed: any_lacks, run: provision_all });
    }
}

/// Fills the receive queue of a started machine with a pool. Neither of the two is locked.
///
/// # Safety
/// The machine is initialised, and its callback counter above 0 or its state STARTED.
pub(super) unsafe fn provision(tm: *mut m0_net_transfer_mc) {
    // SAFETY: by contract. The pool of a machine that is not INITIALIZED any more stays.
    unsafe {
        let pool = (*tm).ntm_recv_pool;
        let _pool = Guard::pool(pool);
        let took_any = {
            let _tm = Guard::tm(tm);
            provision_locked(tm)
        };
        if took_any {
            tell_of_threshold(pool);
        }
    }
}

/// Puts the buffers that a machine has from its pool, and that its transport leaves queued, back into the pool. The machine is stopping
/// from now on, so that it gets no others. Neither of the two is locked.
///
/// # Safety
/// The machine is initialised and has a pool; its transport uses its buffers no longer.
pub(super) unsafe fn give_back_receive_buffers(tm: *mut m0_net_transfer_mc) {
    // SAFETY: by contract. The pool of a machine that is not INITIALIZED any more stays.
    unsafe {
        let pool = (*tm).ntm_recv_pool;
        let _pool = Guard::pool(pool);
        let (left, colour): (Vec<*mut m0_net_buffer>, u32) = {
            let _tm = Guard::tm(tm);
            (*tm).ntm_state = tm_state::STOPPING;
            (*tm).ntm_recv_queue_deficit.set(0);
            let queued = m0_net_tm_tl.objects(queue_of(tm, Queue::MsgRecv)).map(|buf| buf.cast());
            let left: Vec<*mut m0_net_buffer> = queued.filter(|buf| is_from_pool(tm, &**buf)).collect();
            left.iter().for_each(|buf| dequeue(*buf));
            (left, colour_of(tm))
        };
        left.into_iter().for_each(|buf| m0_net_buffer_pool_put(pool, buf, colour));
    }
}

/// The colour with which a machine takes buffers from its pool and gives them back.
///
/// # Safety
/// The machine has a pool.
unsafe fn colour_of(tm: *const m0_net_transfer_mc) -> u32 {
    // SAFETY: by contract.
    unsafe {
        match (*tm).ntm_pool_colour {
            colour if colour < (*(*tm).ntm_recv_pool).nbp_colours_nr => colour,
            _ => ANY_COLOUR,
        }
    }
}

/// Whether a machine of the domain lacks buffers. The machines are not locked.
///
/// # Safety
/// The pool is initialised, and locked by this thread.
unsafe fn any_lacks(pool: *mut m0_net_buffer_pool) -> bool {
    // SAFETY: by contract.
    unsafe {
        let dom = (*pool).nbp_ndom;
        let _domain = Guard::domain(dom);
        Links::of(&raw const (*dom).nd_tms).any(|link| (*tm_of(link)).ntm_recv_queue_deficit.get() > 0)
    }
}

/// Fills the receive queues of those machines of the domain that lack buffers of this pool.
///
/// # Safety
/// The pool is locked, on behalf of this thread.
unsafe fn provision_all(pool: *mut m0_net_buffer_pool) {
    // SAFETY: by contract. The list of machines changes only with the domain's lock.
    unsafe {
        let dom = (*pool).nbp_ndom;
        let mut took_any = false;
        {
            let _domain = Guard::domain(dom);
            for link in Links::of(&raw const (*dom).nd_tms) {
                let tm = tm_of(link);
                if (*tm).ntm_recv_queue_deficit.get() > 0 {
                    let _tm = Guard::tm(tm);
                    if ptr::eq((*tm).ntm_recv_pool, pool) {
                        took_any |= provision_locked(tm);
                    }
                }
            }
        }
        if took_any {
            tell_of_threshold(pool);
        }
    }
}

fn tm_of(link: *mut crate::support::m0_list_link) -> *mut m0_net_transfer_mc {
    link.wrapping_byte_sub(offset_of!(m0_net_transfer_mc, ntm_dom_linkage)).cast()
}

/// Whether a buffer was taken.
///
/// # Safety
/// The machine has a pool; both are locked, on behalf of this thread.
unsafe fn provision_locked(tm: *mut m0_net_transfer_mc) -> bool {
    // SAFETY: by contract.
    unsafe {
        if (*tm).ntm_state != tm_state::STARTED {
            return false;
        }
        let mut took_any = false;
        let pool = (*tm).ntm_recv_pool;
        let queued = m0_net_tm_tlist_length(queue_of(tm, Queue::MsgRecv));
        let mut lacking = ((*tm).ntm_recv_queue_min_length as usize).saturating_sub(queued);
        let colour = colour_of(tm);
        while lacking > 0
            && let Some(buf) = take(pool, colour)
        {
            (*buf).nb_qtype = Queue::MsgRecv as u32;
            (*buf).nb_callbacks = (*tm).ntm_recv_pool_callbacks;
            (*buf).nb_min_receive_size = (*tm).ntm_recv_queue_min_recv_size;
            (*buf).nb_max_receive_msgs = (*tm).ntm_recv_queue_max_recv_msgs;
            (*buf).nb_timeout = TIME_NEVER;
            (*buf).nb_ep = ptr::null_mut();
            if add_locked(buf, tm).is_err() {
                insert(pool, buf, colour);
                break;
            }
            lacking -= 1;
            took_any = true;
        }
        let before = (*tm).ntm_recv_queue_deficit.get();
        let deficit = lacking as i64;
        (*tm).ntm_recv_queue_deficit.set(deficit);
        (*stats_of(tm, Queue::MsgRecv)).nqs_num_f_events += (deficit - before).max(0) as u64;
        took_any
    }
}
