//! Filling the receive queues of transfer machines from pools (motr-net 5.2).

use super::buffer::{add_locked, count, dequeue};
use super::guard::Guard;
use super::pool::{insert, m0_net_buffer_pool_put, take, tell_of_threshold};
use super::provision_thread;
use super::queue::Queue;
use super::tm_queues::{is_from_pool, queue_of};
use super::types::{
    ANY_COLOUR, DEFAULT_RECV_QUEUE_LEN, m0_bcount_t, m0_net_buffer, m0_net_buffer_callbacks,
    m0_net_buffer_pool, m0_net_domain, m0_net_transfer_mc, tm_state,
};
use crate::Errno;
use crate::contract::require;
use crate::families::{buffers_of_queue, m0_net_tm_tlist_length};
use crate::object::Object;
use crate::support::{TIME_NEVER, m0_chan_broadcast};
use std::ffi::c_int;
use std::mem::offset_of;

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_tm_pool_attach(
    tm: Object<m0_net_transfer_mc>,
    bufpool: Object<m0_net_buffer_pool>,
    callbacks: Object<m0_net_buffer_callbacks>,
    min_recv_size: m0_bcount_t,
    max_recv_msgs: u32,
    min_recv_queue_len: u32,
) -> c_int {
    let has_all = !tm.is_null()
        && !bufpool.is_null()
        && !callbacks.is_null()
        && tm.ntm_state.get() != tm_state::UNDEFINED;
    if !has_all || callbacks.nbc_cb[Queue::MsgRecv.index()].is_none() {
        return Errno::Invalid.to_c();
    }
    let _tm = Guard::tm(tm);
    let is_usable = tm.ntm_state.get() == tm_state::INITIALIZED
        && bufpool.nbp_ndom.get() == tm.ntm_dom.get()
        && min_recv_size > 0
        && max_recv_msgs > 0;
    if !is_usable {
        return Errno::Invalid.to_c();
    }
    tm.ntm_recv_pool.set(bufpool);
    tm.ntm_recv_pool_callbacks.set(callbacks);
    tm.ntm_recv_queue_min_recv_size.set(min_recv_size);
    tm.ntm_recv_queue_max_recv_msgs.set(max_recv_msgs);
    set_length(tm, min_recv_queue_len);
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_tm_pool_length_set(tm: Object<m0_net_transfer_mc>, len: u32) {
    let is_provisioned = {
        let _tm = Guard::tm(tm);
        set_length(tm, len);
        tm.ntm_state.get() == tm_state::STARTED && !tm.ntm_recv_pool.get().is_null()
    };
    if is_provisioned {
        provision(tm);
        let _tm = Guard::tm(tm);
        m0_chan_broadcast(tm.part(|it| &it.ntm_chan));
    }
}

fn set_length(tm: Object<m0_net_transfer_mc>, len: u32) {
    if len > DEFAULT_RECV_QUEUE_LEN {
        tm.ntm_recv_queue_min_length.set(len);
    }
}

/// The caller has the lock of the pool. In the callback of a pool that is no longer empty, this call only records the
/// request: a thread of the domain carries it out when the callback has returned, before `m0_net_buffer_pool_put` returns.
#[unsafe(no_mangle)]
pub extern "C" fn m0_net_domain_buffer_pool_not_empty(pool: Object<m0_net_buffer_pool>) {
    let has_lock = pool.nbp_mutex.is_locked();
    require!(
        "m0_net_domain_buffer_pool_not_empty",
        has_lock,
        "this thread does not have the lock of the pool"
    );
    provision_thread::request(provision_thread::Job { pool, is_needed: any_lacks, run: provision_all });
}

/// Fills the receive queue of a started machine that has a pool. Neither of the two is locked.
pub(super) fn provision(tm: Object<m0_net_transfer_mc>) {
    let pool = tm.ntm_recv_pool.get();
    let _pool = Guard::pool(pool);
    let took_any = {
        let _tm = Guard::tm(tm);
        provision_locked(tm)
    };
    if took_any {
        tell_of_threshold(pool);
    }
}

/// Returns the receive buffers that a machine has from its pool, and that its transport leaves queued, to the pool. The
/// machine is stopping, so that it gets no others. Neither of the two is locked.
pub(super) fn give_back_receive_buffers(tm: Object<m0_net_transfer_mc>) {
    let pool = tm.ntm_recv_pool.get();
    let _pool = Guard::pool(pool);
    let (left, colour): (Vec<Object<m0_net_buffer>>, u32) = {
        let _tm = Guard::tm(tm);
        tm.ntm_state.set(tm_state::STOPPING);
        tm.ntm_recv_queue_deficit.set(0);
        let queued = buffers_of_queue(queue_of(tm, Queue::MsgRecv));
        let left: Vec<Object<m0_net_buffer>> = queued.filter(|buf| is_from_pool(tm, *buf)).collect();
        left.iter().for_each(|buf| dequeue(*buf));
        (left, colour_of(tm))
    };
    left.into_iter().for_each(|buf| m0_net_buffer_pool_put(pool, buf, colour));
}

/// The colour with which a machine takes buffers from its pool and returns them.
fn colour_of(tm: Object<m0_net_transfer_mc>) -> u32 {
    match tm.ntm_pool_colour.get() {
        colour if colour < tm.ntm_recv_pool.get().nbp_colours_nr.get() => colour,
        _ => ANY_COLOUR,
    }
}

/// Whether a machine of the domain lacks buffers. The machines are not locked.
fn any_lacks(pool: Object<m0_net_buffer_pool>) -> bool {
    let dom = pool.nbp_ndom.get();
    let _domain = Guard::domain(dom);
    machines_of(dom).any(|tm| tm.ntm_recv_queue_deficit.get() > 0)
}

/// Fills the receive queues of those machines of the domain that lack buffers of this pool.
fn provision_all(pool: Object<m0_net_buffer_pool>) {
    let dom = pool.nbp_ndom.get();
    let mut took_any = false;
    {
        let _domain = Guard::domain(dom);
        for tm in machines_of(dom) {
            if tm.ntm_recv_queue_deficit.get() > 0 {
                let _tm = Guard::tm(tm);
                if tm.ntm_recv_pool.get() == pool {
                    took_any |= provision_locked(tm);
                }
            }
        }
    }
    if took_any {
        tell_of_threshold(pool);
    }
}

/// The machines of a domain, whose list changes only with the domain's lock.
fn machines_of(dom: Object<m0_net_domain>) -> impl Iterator<Item = Object<m0_net_transfer_mc>> {
    let links = dom.part(|it| &it.nd_tms).links();
    // SAFETY: what is linked there is that part of a machine, from its init to its fini.
    links.map(|link| unsafe { link.container(offset_of!(m0_net_transfer_mc, ntm_dom_linkage)) })
}

/// Adds one buffer of the pool to the receive queue. Returns whether there was one.
fn provision_locked(tm: Object<m0_net_transfer_mc>) -> bool {
    if tm.ntm_state.get() != tm_state::STARTED {
        return false;
    }
    let mut took_any = false;
    let pool = tm.ntm_recv_pool.get();
    let queued = m0_net_tm_tlist_length(queue_of(tm, Queue::MsgRecv));
    let mut lacking = (tm.ntm_recv_queue_min_length.get() as usize).saturating_sub(queued);
    let colour = colour_of(tm);
    while lacking > 0
        && let Some(buf) = take(pool, colour)
    {
        buf.nb_qtype.set(Queue::MsgRecv as u32);
        buf.nb_callbacks.set(tm.ntm_recv_pool_callbacks.get());
        buf.nb_min_receive_size.set(tm.ntm_recv_queue_min_recv_size.get());
        buf.nb_max_receive_msgs.set(tm.ntm_recv_queue_max_recv_msgs.get());
        buf.nb_timeout.set(TIME_NEVER);
        buf.nb_ep.set(Object::NULL);
        if add_locked(buf, tm).is_err() {
            insert(pool, buf, colour);
            break;
        }
        lacking -= 1;
        took_any = true;
    }
    let before = tm.ntm_recv_queue_deficit.get();
    let deficit = lacking as i64;
    tm.ntm_recv_queue_deficit.set(deficit);
    count(tm, Queue::MsgRecv, |stats| stats.nqs_num_f_events += (deficit - before).max(0) as u64);
    took_any
}
