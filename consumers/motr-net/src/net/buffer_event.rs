//! The events of buffers (motr-net 6.1).

use super::buffer::{self, dequeue};
use super::callback;
use super::end_point::m0_net_end_point_put;
use super::guard::Guard;
use super::provision::provision;
use super::queue::Queue;
use super::statistics::{Counted, count};
use super::types::{buf_flags, m0_net_buffer_event, tm_state};
use crate::contract::require;
use crate::object::Object;

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_buffer_event_post(ev: Object<m0_net_buffer_event>) {
    const NAME: &str = "m0_net_buffer_event_post";
    let event = *ev;
    let buf = event.nbe_buffer;
    require!(NAME, !buf.is_null() && !buf.nb_tm.get().is_null(), "the event has no buffer that was added");
    let tm = buf.nb_tm.get();
    let (callback, queue, used_end_point, lacks_buffer) = {
        let _tm = Guard::tm(tm);
        require!(NAME, buf.nb_flags.get() & buf_flags::QUEUED != 0, "the buffer is not queued");
        let Some(queue) = Queue::from_number(buf.nb_qtype.get()) else {
            crate::contract::violated(NAME, "queue", format_args!("there is no such queue"));
        };
        let ok = event.nbe_status == 0;
        let stays = buf.nb_flags.get() & buf_flags::RETAIN != 0;
        if stays {
            buf.nb_flags.update(|it| it & !buf_flags::RETAIN);
        } else {
            dequeue(buf);
        }
        let time = event.nbe_time.saturating_sub(buf.nb_add_time.get());
        let counted = Counted {
            queue,
            ok,
            received: event.nbe_length,
            to_send: buf.nb_length.get(),
            time_in_queue: (!stays).then_some(time),
        };
        buffer::count(tm, queue, |stats| count(stats, counted));
        if queue == Queue::MsgRecv && ok {
            buf.nb_msgs_received.update(|it| it + 1);
        }
        callback::begin(tm);
        // The callback may add the buffer again.
        let used_end_point = match queue {
            Queue::MsgRecv if ok => event.nbe_ep,
            Queue::MsgSend => buf.nb_ep.get(),
            _ => Object::NULL,
        };
        let lacks_buffer = queue == Queue::MsgRecv
            && !stays
            && !tm.ntm_recv_pool.get().is_null()
            && tm.ntm_state.get() == tm_state::STARTED;
        (buf.nb_callbacks.get().nbc_cb[queue.index()], queue, used_end_point, lacks_buffer)
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
