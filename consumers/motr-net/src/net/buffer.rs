//! Registration of buffers, and their addition to queues and removal (motr-net 1.6 and 2.2).

use super::descriptor;
use super::domain::ops;
use super::end_point::m0_net_end_point_get;
use super::guard::Guard;
use super::queue::Queue;
use super::tm_queues::queue_of;
use super::types::{buf_flags, m0_net_buffer, m0_net_domain, m0_net_qstats, m0_net_transfer_mc, tm_state};
use crate::Errno;
use crate::contract::require;
use crate::families::{
    buffers_of_queue, m0_net_pool_tlink_init, m0_net_tm_tlink_init, m0_net_tm_tlist_add_tail,
    m0_net_tm_tlist_del,
};
use crate::object::Object;
use crate::support::{TIME_NEVER, m0_list_add_tail, m0_list_del, m0_time_now, m0_vec_count};
use std::ffi::c_int;
use std::ptr;

/// The flags that a buffer must not have when it is added.
const BUSY: u64 =
    buf_flags::QUEUED | buf_flags::IN_USE | buf_flags::CANCELLED | buf_flags::TIMED_OUT | buf_flags::RETAIN;

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_buffer_register(buf: Object<m0_net_buffer>, dom: Object<m0_net_domain>) -> c_int {
    if buf.is_null() || dom.is_null() || dom.nd_xprt.get().is_null() {
        return Errno::Invalid.to_c();
    }
    let is_usable = buf.nb_dom.get().is_null()
        && buf.nb_flags.get() == 0
        && buf.nb_buffer.ov_vec.v_nr.get() > 0
        && !buf.nb_buffer.ov_buf.get().is_null()
        && !buf.nb_buffer.ov_vec.v_count.get().is_null();
    if !is_usable {
        return Errno::Invalid.to_c();
    }
    let Some(register) = ops(dom).xo_buf_register else { return Errno::NoFunction.to_c() };
    let _domain = Guard::domain(dom);
    buf.nb_dom.set(dom);
    buf.nb_xprt_private.set(ptr::null_mut());
    buf.nb_timeout.set(TIME_NEVER);
    m0_net_tm_tlink_init(buf);
    m0_net_pool_tlink_init(buf);
    buf.nb_dom_linkage.reset();
    let rc = register(buf);
    if rc < 0 {
        buf.nb_dom.set(Object::NULL);
        return rc;
    }
    buf.nb_flags.update(|it| it | buf_flags::REGISTERED);
    m0_list_add_tail(dom.part(|it| &it.nd_registered_bufs), buf.part(|it| &it.nb_dom_linkage));
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_buffer_deregister(buf: Object<m0_net_buffer>, dom: Object<m0_net_domain>) {
    const NAME: &str = "m0_net_buffer_deregister";
    require!(NAME, buf.nb_dom.get() == dom && !dom.is_null(), "it is not a buffer of this domain");
    let flags = buf.nb_flags.get();
    require!(NAME, flags == buf_flags::REGISTERED, "the buffer is in use: its flags are {flags:#x}");
    let _domain = Guard::domain(dom);
    if let Some(deregister) = ops(dom).xo_buf_deregister {
        deregister(buf);
    }
    m0_list_del(buf.part(|it| &it.nb_dom_linkage));
    buf.nb_flags.set(0);
    buf.nb_dom.set(Object::NULL);
    buf.nb_xprt_private.set(ptr::null_mut());
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_buffer_add(buf: Object<m0_net_buffer>, tm: Object<m0_net_transfer_mc>) -> c_int {
    if buf.is_null() || tm.is_null() || tm.ntm_state.get() == tm_state::UNDEFINED {
        return Errno::Invalid.to_c();
    }
    let _tm = Guard::tm(tm);
    Errno::to_c_result(add_locked(buf, tm))
}

/// Adds a buffer to the queue that its type names. The machine is locked.
pub(crate) fn add_locked(buf: Object<m0_net_buffer>, tm: Object<m0_net_transfer_mc>) -> Result<(), Errno> {
    let queue = Queue::from_number(buf.nb_qtype.get()).ok_or(Errno::Invalid)?;
    if !can_be_added(buf, queue, tm) {
        return Err(Errno::Invalid);
    }
    let add = ops(tm.ntm_dom.get()).xo_buf_add.ok_or(Errno::NoFunction)?;
    if queue.is_passive() {
        buf.nb_desc.take();
    }
    let now = m0_time_now();
    if buf.nb_timeout.get() != TIME_NEVER && now >= buf.nb_timeout.get() {
        return Err(Errno::Expired);
    }
    m0_net_tm_tlink_init(buf);
    m0_net_tm_tlist_add_tail(queue_of(tm, queue), buf);
    buf.nb_flags.update(|it| it | buf_flags::QUEUED);
    buf.nb_add_time.set(now);
    buf.nb_msgs_received.set(0);
    buf.nb_tm.set(tm);
    if let Err(errno) = Errno::check(add(buf)) {
        m0_net_tm_tlist_del(buf);
        buf.nb_flags.update(|it| it & !buf_flags::QUEUED);
        if queue.is_passive() {
            // SAFETY: none, or what the transport has just made with `m0_alloc` and given to the buffer alone.
            unsafe { descriptor::free(buf.nb_desc.take()) };
        }
        return Err(errno);
    }
    count(tm, queue, |stats| stats.nqs_num_adds += 1);
    if queue == Queue::MsgSend {
        m0_net_end_point_get(buf.nb_ep.get());
    }
    Ok(())
}

/// Whether the buffer satisfies the conditions that Motr's own implementation asserts for its queue.
fn can_be_added(buf: Object<m0_net_buffer>, queue: Queue, tm: Object<m0_net_transfer_mc>) -> bool {
    let total = m0_vec_count(buf.part(|it| &it.nb_buffer.ov_vec));
    let fits = buf.nb_length.get() > 0
        && buf.nb_offset.get().checked_add(buf.nb_length.get()).is_some_and(|end| end <= total);
    let own_part = match queue {
        Queue::MsgRecv => {
            buf.nb_ep.get().is_null()
                && (1..=total).contains(&buf.nb_min_receive_size.get())
                && buf.nb_max_receive_msgs.get() > 0
        }
        Queue::MsgSend => fits && !buf.nb_ep.get().is_null() && buf.nb_ep.get().nep_tm.get() == tm,
        Queue::PassiveBulkSend => fits,
        Queue::ActiveBulkSend => {
            fits && buf.nb_desc.get().nbd_len > 0 && !buf.nb_desc.get().nbd_data.is_null()
        }
        Queue::ActiveBulkRecv => buf.nb_desc.get().nbd_len > 0 && !buf.nb_desc.get().nbd_data.is_null(),
        Queue::PassiveBulkRecv => true,
    };
    own_part
        && tm.ntm_state.get() == tm_state::STARTED
        && buf.nb_dom.get() == tm.ntm_dom.get()
        && buf.nb_flags.get() & buf_flags::REGISTERED != 0
        && buf.nb_flags.get() & BUSY == 0
        && !buf.nb_callbacks.get().is_null()
        && buf.nb_callbacks.get().nbc_cb[queue.index()].is_some()
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_buffer_del(buf: Object<m0_net_buffer>, tm: Object<m0_net_transfer_mc>) -> bool {
    const NAME: &str = "m0_net_buffer_del";
    let _tm = Guard::tm(tm);
    if buf.nb_flags.get() & buf_flags::QUEUED == 0 {
        return false;
    }
    require!(NAME, buf.nb_tm.get() == tm, "the buffer is queued at another transfer machine");
    del_locked(buf);
    true
}

fn del_locked(buf: Object<m0_net_buffer>) {
    let tm = buf.nb_tm.get();
    if let Some(queue) = Queue::from_number(buf.nb_qtype.get()) {
        count(tm, queue, |stats| stats.nqs_num_dels += 1);
    }
    if let Some(del) = ops(tm.ntm_dom.get()).xo_buf_del {
        del(buf);
    }
}

/// Cancels the buffers of these queues for which `which` returns true. The machine is locked.
pub(crate) fn cancel(
    tm: Object<m0_net_transfer_mc>,
    queues: &[Queue],
    which: impl Fn(Object<m0_net_buffer>) -> bool,
) {
    for queue in queues {
        // A buffer leaves its queue only with the lock, which the caller has.
        buffers_of_queue(queue_of(tm, *queue)).filter(|buf| which(*buf)).for_each(del_locked);
    }
}

/// Removes a buffer from its queue, since its operation has ended. Its machine is locked.
pub(super) fn dequeue(buf: Object<m0_net_buffer>) {
    m0_net_tm_tlist_del(buf);
    buf.nb_flags.update(|it| {
        it & !(buf_flags::QUEUED | buf_flags::IN_USE | buf_flags::CANCELLED | buf_flags::TIMED_OUT)
    });
    buf.nb_timeout.set(TIME_NEVER);
}

/// Changes the statistics of a queue. The machine is locked.
pub(super) fn count(tm: Object<m0_net_transfer_mc>, queue: Queue, change: impl FnOnce(&mut m0_net_qstats)) {
    let place = &tm.ntm_qstats[queue.index()];
    let mut stats = place.get();
    change(&mut stats);
    place.set(stats);
}
