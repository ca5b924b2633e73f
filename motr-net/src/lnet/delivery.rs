//! Delivering events (motr-net 6.2 and 6.4).

use super::address::Address;
use super::debug;
use super::end_point::end_point;
use super::machine::{RingEvent, lnet_buffer, machine};
use super::match_bits::parse_header_data;
use crate::errno::Errno;
use crate::net::buffer_event::m0_net_buffer_event_post;
use crate::net::callback;
use crate::net::queue::Queue;
use crate::net::types::{buf_flags, m0_net_buffer_event, m0_net_transfer_mc};
use crate::support::m0_chan;
use lnet_wire::Nid;
use std::ptr;

/// Events that are delivered before the thread looks at anything else again.
const MAX_BATCH: usize = 1024;

/// Delivers the events there are, unless another thread is doing so, with one broadcast in the end. The machine is locked, but not while
/// callbacks run.
///
/// # Safety
/// A machine of this transport.
pub(super) unsafe fn deliver(tm: *mut m0_net_transfer_mc) {
    // SAFETY: by contract. The state of the machine is looked at anew each time that the lock has been taken.
    unsafe {
        if machine(tm).is_delivering || machine(tm).shared.ring.is_empty() {
            return;
        }
        machine(tm).is_delivering = true;
        callback::begin(tm);
        for _ in 0..MAX_BATCH {
            let Some(event) = machine(tm).shared.ring.pop() else { break };
            let event = prepare(tm, &event);
            debug::buffer_event(tm, &event);
            let lock = &raw const (*tm).ntm_group.s_lock;
            (*lock).unlock();
            m0_net_buffer_event_post(&raw const event);
            (*lock).lock();
        }
        machine(tm).is_delivering = false;
        callback::end(tm);
    }
}

/// What the program is told of an event. The machine is locked.
///
/// # Safety
/// A machine of this transport; the buffer of the event is queued there.
unsafe fn prepare(tm: *mut m0_net_transfer_mc, event: &RingEvent) -> m0_net_buffer_event {
    let RingEvent { buffer, time, completion, sender } = *event;
    let mut status = completion.status;
    let mut sender_end_point = ptr::null_mut();
    // SAFETY: by contract.
    unsafe {
        if status == 0 {
            // Of several messages all but the last come before the end of the operation, which says why it ended.
            if completion.last {
                (*buffer).nb_flags &= !buf_flags::TIMED_OUT;
            }
            if Queue::from_number((*buffer).nb_qtype) == Some(Queue::MsgRecv) {
                match sender_address(sender).and_then(|address| end_point(tm, address)) {
                    Ok(ep) => sender_end_point = ep,
                    Err(errno) => status = errno.to_c(),
                }
            }
        } else if status == Errno::CANCELED.to_c() && (*buffer).nb_flags & buf_flags::TIMED_OUT != 0 {
            status = Errno::TIMED_OUT.to_c();
        }
        if completion.last {
            let lnet = lnet_buffer(buffer);
            lnet.handle = None;
            machine(tm).shared.ring.release(lnet.events);
        } else {
            (*buffer).nb_flags |= buf_flags::RETAIN;
        }
        m0_net_buffer_event {
            nbe_buffer: buffer,
            nbe_time: time.max((*buffer).nb_add_time),
            nbe_status: status,
            nbe_length: completion.len.into(),
            nbe_offset: completion.offset.into(),
            nbe_ep: sender_end_point,
        }
    }
}

fn sender_address((process, header_data): (crate::backend::ProcessId, u64)) -> Result<Address, Errno> {
    let (tmid, portal) = parse_header_data(header_data);
    let nid = Nid::from_u64(process.nid).ok_or(Errno::INVALID)?;
    Ok(Address { nid, pid: process.pid, portal, tmid })
}

/// `xo_bev_deliver_all`
pub(super) unsafe extern "C" fn bev_deliver_all(tm: *mut m0_net_transfer_mc) {
    // SAFETY: the contract of the transport's functions (`super::transport`).
    unsafe {
        while !machine(tm).shared.ring.is_empty() && !machine(tm).is_delivering {
            deliver(tm);
        }
        if machine(tm).stopping.is_some() {
            machine(tm).wake();
        }
    }
}

/// `xo_bev_pending`
pub(super) unsafe extern "C" fn bev_pending(tm: *mut m0_net_transfer_mc) -> bool {
    // SAFETY: the contract of the transport's functions (`super::transport`).
    unsafe { !machine(tm).shared.ring.is_empty() }
}

/// `xo_bev_notify`
pub(super) unsafe extern "C" fn bev_notify(tm: *mut m0_net_transfer_mc, chan: *mut m0_chan) {
    // SAFETY: the contract of the transport's functions (`super::transport`).
    unsafe {
        machine(tm).notify = chan;
        machine(tm).wake();
    }
}
