//! Registering buffers, adding them to queues, and taking them out (motr-net 1.6 and 2.2).

use super::descriptor::m0_net_desc_free;
use super::domain::ops;
use super::end_point::m0_net_end_point_get;
use super::guard::Guard;
use super::queue::Queue;
use super::tm_queues::queue_of;
use super::types::{
    buf_flags, m0_net_buf_desc, m0_net_buffer, m0_net_domain, m0_net_qstats, m0_net_transfer_mc, tm_state,
};
use crate::contract::require;
use crate::errno::Errno;
use crate::families::{
    m0_net_pool_tlink_init, m0_net_tm_tl, m0_net_tm_tlink_init, m0_net_tm_tlist_add_tail, m0_net_tm_tlist_del,
};
use crate::support::{TIME_NEVER, m0_list_add_tail, m0_list_del, m0_list_link, m0_time_now, m0_vec_count};
use std::ffi::c_int;
use std::ptr;

/// What a buffer that is to be added must not have.
const BUSY: u64 =
    buf_flags::QUEUED | buf_flags::IN_USE | buf_flags::CANCELLED | buf_flags::TIMED_OUT | buf_flags::RETAIN;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_buffer_register(buf: *mut m0_net_buffer, dom: *mut m0_net_domain) -> c_int {
    // SAFETY: the contract of the C functions (`super`).
    unsafe {
        if buf.is_null() || dom.is_null() || (*dom).nd_xprt.is_null() {
            return Errno::INVALID.to_c();
        }
        let is_usable = (*buf).nb_dom.is_null()
            && (*buf).nb_flags == 0
            && (*buf).nb_buffer.ov_vec.v_nr > 0
            && !(*buf).nb_buffer.ov_buf.is_null()
            && !(*buf).nb_buffer.ov_vec.v_count.is_null();
        if !is_usable {
            return Errno::INVALID.to_c();
        }
        let Some(register) = ops(dom).xo_buf_register else { return Errno::NOT_SUPPORTED.to_c() };
        let _domain = Guard::domain(dom);
        (*buf).nb_dom = dom;
        (*buf).nb_xprt_private = ptr::null_mut();
        (*buf).nb_timeout = TIME_NEVER;
        m0_net_tm_tlink_init(buf);
        m0_net_pool_tlink_init(buf);
        (*buf).nb_dom_linkage = m0_list_link::new();
        let rc = register(buf);
        if rc < 0 {
            (*buf).nb_dom = ptr::null_mut();
            return rc;
        }
        (*buf).nb_flags |= buf_flags::REGISTERED;
        m0_list_add_tail(&raw mut (*dom).nd_registered_bufs, &raw mut (*buf).nb_dom_linkage);
        0
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_buffer_deregister(buf: *mut m0_net_buffer, dom: *mut m0_net_domain) {
    const NAME: &str = "m0_net_buffer_deregister";
    // SAFETY: the contract of the C functions (`super`).
    unsafe {
        require!(NAME, ptr::eq((*buf).nb_dom, dom) && !dom.is_null(), "it is not a buffer of this domain");
        let flags = (*buf).nb_flags;
        require!(NAME, flags == buf_flags::REGISTERED, "the buffer is in use: its flags are {flags:#x}");
        let _domain = Guard::domain(dom);
        if let Some(deregister) = ops(dom).xo_buf_deregister {
            deregister(buf);
        }
        m0_list_del(&raw mut (*buf).nb_dom_linkage);
        (*buf).nb_flags = 0;
        (*buf).nb_dom = ptr::null_mut();
        (*buf).nb_xprt_private = ptr::null_mut();
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_buffer_add(buf: *mut m0_net_buffer, tm: *mut m0_net_transfer_mc) -> c_int {
    // SAFETY: the contract of the C functions (`super`).
    unsafe {
        if buf.is_null() || tm.is_null() || (*tm).ntm_state == tm_state::UNDEFINED {
            return Errno::INVALID.to_c();
        }
        let _tm = Guard::tm(tm);
        Errno::to_c_result(add_locked(buf, tm))
    }
}

/// Adds a buffer to the queue that it says. The machine is locked.
///
/// # Safety
/// The contract of `m0_net_buffer_add`.
pub(crate) unsafe fn add_locked(buf: *mut m0_net_buffer, tm: *mut m0_net_transfer_mc) -> Result<(), Errno> {
    // SAFETY: by contract.
    unsafe {
        let queue = Queue::from_number((*buf).nb_qtype).ok_or(Errno::INVALID)?;
        if !can_be_added(&*buf, queue, tm) {
            return Err(Errno::INVALID);
        }
        let add = ops((*tm).ntm_dom).xo_buf_add.ok_or(Errno::NOT_SUPPORTED)?;
        if queue.is_passive() {
            (*buf).nb_desc = m0_net_buf_desc { nbd_len: 0, nbd_data: ptr::null_mut() };
        }
        let now = m0_time_now();
        if (*buf).nb_timeout != TIME_NEVER && now >= (*buf).nb_timeout {
            return Err(Errno::DEADLINE_PASSED);
        }
        m0_net_tm_tlink_init(buf);
        m0_net_tm_tlist_add_tail(queue_of(tm, queue), buf);
        (*buf).nb_flags |= buf_flags::QUEUED;
        (*buf).nb_add_time = now;
        (*buf).nb_msgs_received = 0;
        (*buf).nb_tm = tm;
        if let Err(errno) = Errno::check(add(buf)) {
            m0_net_tm_tlist_del(buf);
            (*buf).nb_flags &= !buf_flags::QUEUED;
            if queue.is_passive() {
                m0_net_desc_free(&raw mut (*buf).nb_desc);
            }
            return Err(errno);
        }
        (*stats_of(tm, queue)).nqs_num_adds += 1;
        if queue == Queue::MsgSend {
            m0_net_end_point_get((*buf).nb_ep);
        }
        Ok(())
    }
}

/// What the reference asserts.
///
/// # Safety
/// The contract of `m0_net_buffer_add`.
unsafe fn can_be_added(buf: &m0_net_buffer, queue: Queue, tm: *mut m0_net_transfer_mc) -> bool {
    // SAFETY: by contract.
    unsafe {
        let total = m0_vec_count(&raw const buf.nb_buffer.ov_vec);
        let fits =
            buf.nb_length > 0 && buf.nb_offset.checked_add(buf.nb_length).is_some_and(|end| end <= total);
        let own_part = match queue {
            Queue::MsgRecv => {
                buf.nb_ep.is_null()
                    && (1..=total).contains(&buf.nb_min_receive_size)
                    && buf.nb_max_receive_msgs > 0
            }
            Queue::MsgSend => fits && !buf.nb_ep.is_null() && ptr::eq((*buf.nb_ep).nep_tm, tm),
            Queue::PassiveBulkSend => fits,
            Queue::ActiveBulkSend => fits && buf.nb_desc.nbd_len > 0 && !buf.nb_desc.nbd_data.is_null(),
            Queue::ActiveBulkRecv => buf.nb_desc.nbd_len > 0 && !buf.nb_desc.nbd_data.is_null(),
            Queue::PassiveBulkRecv => true,
        };
        own_part
            && (*tm).ntm_state == tm_state::STARTED
            && ptr::eq(buf.nb_dom, (*tm).ntm_dom)
            && buf.nb_flags & buf_flags::REGISTERED != 0
            && buf.nb_flags & BUSY == 0
            && !buf.nb_callbacks.is_null()
            && (*buf.nb_callbacks).nbc_cb[queue.index()].is_some()
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_buffer_del(buf: *mut m0_net_buffer, tm: *mut m0_net_transfer_mc) -> bool {
    const NAME: &str = "m0_net_buffer_del";
    // SAFETY: the contract of the C functions (`super`).
    unsafe {
        let _tm = Guard::tm(tm);
        if (*buf).nb_flags & buf_flags::QUEUED == 0 {
            return false;
        }
        require!(NAME, ptr::eq((*buf).nb_tm, tm), "the buffer is queued at another transfer machine");
        del_locked(buf);
        true
    }
}

/// # Safety
/// The buffer is queued, and its machine locked.
unsafe fn del_locked(buf: *mut m0_net_buffer) {
    // SAFETY: by contract.
    unsafe {
        let tm = (*buf).nb_tm;
        if let Some(queue) = Queue::from_number((*buf).nb_qtype) {
            (*stats_of(tm, queue)).nqs_num_dels += 1;
        }
        if let Some(del) = ops((*tm).ntm_dom).xo_buf_del {
            del(buf);
        }
    }
}

/// Asks all buffers of these queues that `which` wants to end. The machine is locked.
///
/// # Safety
/// The machine is initialised.
pub(crate) unsafe fn cancel(
    tm: *mut m0_net_transfer_mc,
    queues: &[Queue],
    which: impl Fn(&m0_net_buffer) -> bool,
) {
    for queue in queues {
        // SAFETY: by contract; taking out of the queue needs the lock, which the caller has.
        unsafe {
            for buf in m0_net_tm_tl.objects(queue_of(tm, *queue)) {
                let buf = buf.cast::<m0_net_buffer>();
                if which(&*buf) {
                    del_locked(buf);
                }
            }
        }
    }
}

/// Takes a buffer out of its queue: its operation is over. Its machine is locked.
///
/// # Safety
/// The buffer is queued.
pub(super) unsafe fn dequeue(buf: *mut m0_net_buffer) {
    // SAFETY: by contract.
    unsafe {
        m0_net_tm_tlist_del(buf);
        (*buf).nb_flags &=
            !(buf_flags::QUEUED | buf_flags::IN_USE | buf_flags::CANCELLED | buf_flags::TIMED_OUT);
        (*buf).nb_timeout = TIME_NEVER;
    }
}

/// The statistics of a queue.
///
/// # Safety
/// The pointer is valid.
pub(super) unsafe fn stats_of(tm: *mut m0_net_transfer_mc, queue: Queue) -> *mut m0_net_qstats {
    // SAFETY: by contract, and the index is one of the array's.
    unsafe { (&raw mut (*tm).ntm_qstats).cast::<m0_net_qstats>().add(queue.index()) }
}
