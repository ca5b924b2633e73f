//! The events of buffers (motr-net 6.1).

use super::buffer::{dequeue, stats_of};
use super::callback;
use super::end_point::m0_net_end_point_put;
use super::guard::Guard;
use super::provision::provision;
use super::queue::Queue;
use super::statistics::{Counted, count};
use super::types::{buf_flags, m0_net_buffer_event, tm_state};
use crate::contract::require;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_buffer_event_post(ev: *const m0_net_buffer_event) {
    const NAME: &str = "m0_net_buffer_event_post";
    // SAFETY: the contract of the C functions (`super`). A queued buffer stays, and so does its machine.
    unsafe {
        let event = &*ev;
        let buf = event.nbe_buffer;
        require!(NAME, !buf.is_null() && !(*buf).nb_tm.is_null(), "the event has no buffer that was added");
        let tm = (*buf).nb_tm;
        let (callback, queue, used_end_point, lacks_buffer) = {
            let _tm = Guard::tm(tm);
            require!(NAME, (*buf).nb_flags & buf_flags::QUEUED != 0, "the buffer is not queued");
            let Some(queue) = Queue::from_number((*buf).nb_qtype) else {
                crate::contract::violated(NAME, "queue", format_args!("there is no such queue"));
            };
            let ok = event.nbe_status == 0;
            let stays = (*buf).nb_flags & buf_flags::RETAIN != 0;
            if stays {
                (*buf).nb_flags &= !buf_flags::RETAIN;
            } else {
                dequeue(buf);
            }
            let time = event.nbe_time.saturating_sub((*buf).nb_add_time);
            let counted = Counted {
                queue,
                ok,
                received: event.nbe_length,
                to_send: (*buf).nb_length,
                time_in_queue: (!stays).then_some(time),
            };
            count(&mut *stats_of(tm, queue), counted);
            if queue == Queue::MsgRecv && ok {
                (*buf).nb_msgs_received += 1;
            }
            callback::begin(tm);
            // The callback may add the buffer again.
            let used_end_point = match queue {
                Queue::MsgRecv if ok => event.nbe_ep,
                Queue::MsgSend => (*buf).nb_ep,
                _ => std::ptr::null_mut(),
            };
            let lacks_buffer = queue == Queue::MsgRecv
                && !stays
                && !(*tm).ntm_recv_pool.is_null()
                && (*tm).ntm_state == tm_state::STARTED;
            ((*(*buf).nb_callbacks).nbc_cb[queue.index()], queue, used_end_point, lacks_buffer)
        };
        if lacks_buffer {
            provision(tm);
        }
        require!(NAME, callback.is_some(), "the buffer has no callback for {queue:?}");
        if let Some(callback) = callback {
            callback(ev);
        }
        if !used_end_point.is_null() {
            m0_net_end_point_put(used_end_point);
        }
        let _tm = Guard::tm(tm);
        callback::end(tm);
    }
}
