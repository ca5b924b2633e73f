//! Delivery of events (motr-net 6.2 and 6.4).

use super::address::Address;
use super::debug;
use super::end_point::end_point;
use super::machine::{RingEvent, lnet_buffer, machine};
use super::match_bits::parse_header_data;
use crate::Errno;
use crate::net::buffer_event::m0_net_buffer_event_post;
use crate::net::callback;
use crate::net::queue::Queue;
use crate::net::types::{buf_flags, m0_net_buffer_event, m0_net_transfer_mc};
use crate::object::Object;
use crate::support::m0_chan;
use lnet_wire::Nid;

/// The number of events that the thread delivers before it checks for anything else.
const MAX_BATCH: usize = 1024;

/// Delivers the available events, unless another thread is doing so, and broadcasts once in the end. The machine is locked,
/// but not while callbacks run.
pub(super) fn deliver(tm: Object<m0_net_transfer_mc>) {
    if machine(tm).is_delivering.get() || machine(tm).shared.ring.is_empty() {
        return;
    }
    machine(tm).is_delivering.set(true);
    callback::begin(tm);
    for _ in 0..MAX_BATCH {
        let Some(event) = machine(tm).shared.ring.pop() else { break };
        let mut event = prepare(tm, &event);
        debug::buffer_event(tm, &event);
        tm.ntm_group.s_lock.unlock();
        // SAFETY: the event stays until the call returns.
        m0_net_buffer_event_post(unsafe { Object::new(&raw mut event) });
        tm.ntm_group.s_lock.lock();
    }
    machine(tm).is_delivering.set(false);
    callback::end(tm);
}

/// The event as it is reported to the program. The machine is locked.
fn prepare(tm: Object<m0_net_transfer_mc>, event: &RingEvent) -> m0_net_buffer_event {
    let RingEvent { buffer, time, completion, sender } = *event;
    let mut status = completion.status;
    let mut sender_end_point = Object::NULL;
    if status == 0 {
        // Of several messages all but the last come before the end of the operation, whose event says why it ended.
        if completion.last {
            buffer.nb_flags.update(|it| it & !buf_flags::TIMED_OUT);
        }
        if Queue::from_number(buffer.nb_qtype.get()) == Some(Queue::MsgRecv) {
            match sender_address(sender).and_then(|address| end_point(tm, address)) {
                Ok(ep) => sender_end_point = ep,
                Err(errno) => status = errno.to_c(),
            }
        }
    } else if status == Errno::Cancelled.to_c() && buffer.nb_flags.get() & buf_flags::TIMED_OUT != 0 {
        status = Errno::TimedOut.to_c();
    }
    if completion.last {
        let lnet = lnet_buffer(buffer);
        lnet.handle.set(None);
        machine(tm).shared.ring.release(lnet.events.get());
    } else {
        buffer.nb_flags.update(|it| it | buf_flags::RETAIN);
    }
    m0_net_buffer_event {
        nbe_buffer: buffer,
        nbe_time: time.max(buffer.nb_add_time.get()),
        nbe_status: status,
        nbe_length: completion.len.into(),
        nbe_offset: completion.offset.into(),
        nbe_ep: sender_end_point,
    }
}

fn sender_address((process, header_data): (crate::backend::ProcessId, u64)) -> Result<Address, Errno> {
    let (tmid, portal) = parse_header_data(header_data);
    let nid = Nid::from_u64(process.nid).ok_or(Errno::Invalid)?;
    Ok(Address { nid, pid: process.pid, portal, tmid })
}

/// Implements `xo_bev_deliver_all`.
pub(super) extern "C" fn bev_deliver_all(tm: Object<m0_net_transfer_mc>) {
    while !machine(tm).shared.ring.is_empty() && !machine(tm).is_delivering.get() {
        deliver(tm);
    }
    if machine(tm).stopping.get().is_some() {
        machine(tm).wake();
    }
}

/// Implements `xo_bev_pending`.
pub(super) extern "C" fn bev_pending(tm: Object<m0_net_transfer_mc>) -> bool {
    !machine(tm).shared.ring.is_empty()
}

/// Implements `xo_bev_notify`.
pub(super) extern "C" fn bev_notify(tm: Object<m0_net_transfer_mc>, chan: Object<m0_chan>) {
    machine(tm).notify.set(chan);
    machine(tm).wake();
}
