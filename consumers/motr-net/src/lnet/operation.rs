//! Operations in LNet, which begin when a buffer is added to a queue, and end when it is removed (motr-net 3.5).

use super::buffer_descriptor::{BufferDescriptor, Passive};
use super::completion::{EarlyReply, completion};
use super::end_point::address_of;
use super::fragments::with_prefix;
use super::machine::{RingEvent, Running, Shared, lnet_buffer, machine};
use super::match_bits;
use crate::Errno;
use crate::backend::{Access, Descriptor, Fragment, Handle, LnetEvent, Operation, ProcessId, Target};
use crate::net::descriptor::allocate;
use crate::net::queue::Queue;
use crate::net::types::m0_net_buffer;
use crate::object::Object;
use crate::support::{TIME_NEVER, m0_time_now};
use std::ffi::c_int;
use std::sync::Arc;

/// The operation of a queued buffer, for LNet's threads.
struct BufferOperation {
    shared: Arc<Shared>,
    queue: Queue,
    /// The buffer, which is only passed on to the thread that delivers the events.
    buffer: Object<m0_net_buffer>,
    early: Option<EarlyReply>,
}

// SAFETY: the buffer is handed through to who delivers the event, and not followed here.
unsafe impl Send for BufferOperation {}

impl Operation for BufferOperation {
    fn on_event(&mut self, event: &LnetEvent) {
        if let Some(completion) = completion(self.queue, *event, &mut self.early) {
            self.shared.ring.push(RingEvent {
                buffer: self.buffer,
                time: m0_time_now(),
                completion,
                sender: (event.source, event.header_data),
            });
        }
    }
}

/// Implements `xo_buf_add`.
pub(super) extern "C" fn buf_add(buf: Object<m0_net_buffer>) -> c_int {
    Errno::to_c_result(add(buf))
}

fn add(buf: Object<m0_net_buffer>) -> Result<(), Errno> {
    let machine = machine(buf.nb_tm.get());
    let queue = Queue::from_number(buf.nb_qtype.get()).ok_or(Errno::Invalid)?;
    let running = machine.running().ok_or(Errno::Invalid)?;
    let lnet = lnet_buffer(buf);
    let events = if queue == Queue::MsgRecv { buf.nb_max_receive_msgs.get() as usize } else { 1 };
    machine.shared.ring.reserve(events)?;
    let shared = Arc::clone(&machine.shared);
    let operation = Box::new(BufferOperation { shared, queue, buffer: buf, early: None });
    lnet.events.set(events);
    match start(buf, queue, &running, operation) {
        Ok(handle) => lnet.handle.set(Some(handle)),
        Err(errno) => {
            machine.shared.ring.release(events);
            return Err(errno);
        }
    }
    let deadline = buf.nb_timeout.get();
    if deadline != TIME_NEVER && deadline < machine.nearest_deadline.get() {
        machine.nearest_deadline.set(deadline);
        machine.wake();
    }
    Ok(())
}

/// Starts an operation in LNet. Its memory is that of a queued buffer, which stays until the last event (`net/net.h`).
fn start(
    buf: Object<m0_net_buffer>,
    queue: Queue,
    running: &Running,
    operation: Box<dyn Operation>,
) -> Result<Handle, Errno> {
    let lnet = lnet_buffer(buf);
    let own = running.address;
    let own_nid = own.nid.to_u64().ok_or(Errno::Invalid)?;
    let header_data = match_bits::header_data(own.tmid, own.portal);
    let lnet_queue = &*running.queue;
    let sends = !queue.receives();
    if sends && (buf.nb_offset.get() != 0 || buf.nb_length.get() > lnet.total) {
        return Err(Errno::Invalid);
    }
    let to_send = buf.nb_length.get() as usize;
    match queue {
        Queue::MsgRecv => {
            let fragments = lnet.fragments.borrow();
            let descriptor = Descriptor {
                max_size: Some(u32::try_from(buf.nb_min_receive_size.get()).map_err(|_| Errno::Invalid)?),
                ..plain(&fragments, buf.nb_max_receive_msgs.get())
            };
            let bits = match_bits::of_messages(own.tmid);
            // SAFETY: the fragments are the memory of a queued buffer, which stays until the last event.
            unsafe { lnet_queue.attach(own.portal, bits, Access::Put, &descriptor, operation) }
        }
        Queue::MsgSend => {
            let to = address_of(buf.nb_ep.get());
            let target = Target {
                process: ProcessId { nid: to.nid.to_u64().ok_or(Errno::Invalid)?, pid: to.pid },
                portal: to.portal,
                match_bits: match_bits::of_messages(to.tmid),
            };
            // The receiver takes the NID that a message comes from as the sender's address.
            let from = Some(own_nid);
            with_prefix(&mut lnet.fragments.borrow_mut(), to_send, |fragments| {
                // SAFETY: the fragments are the memory of a queued buffer, which stays until the last event.
                unsafe { lnet_queue.put(from, target, header_data, &plain(fragments, 1), operation) }
            })
        }
        Queue::PassiveBulkRecv | Queue::PassiveBulkSend => {
            let id = machine(buf.nb_tm.get()).take_id();
            let (passive, size) = match queue {
                Queue::PassiveBulkRecv => (Passive::Receives, lnet.total),
                _ => (Passive::Sends, buf.nb_length.get()),
            };
            let described = BufferDescriptor {
                match_bits: match_bits::of_buffer(own.tmid, id),
                nid: own_nid,
                pid: own.pid,
                portal: own.portal,
                tmid: own.tmid,
                passive,
                size,
            };
            buf.nb_desc.set(allocate(&described.to_bytes())?);
            let access = if passive == Passive::Receives { Access::Put } else { Access::Get };
            with_prefix(&mut lnet.fragments.borrow_mut(), size as usize, |fragments| {
                let (portal, bits) = (own.portal, described.match_bits);
                // SAFETY: the fragments are the memory of a queued buffer, which stays until the last event.
                unsafe { lnet_queue.attach(portal, bits, access, &plain(fragments, 1), operation) }
            })
        }
        Queue::ActiveBulkRecv | Queue::ActiveBulkSend => {
            let descriptor = buf.nb_desc.get();
            // SAFETY: the descriptor of a queued buffer has as many bytes as it says, unchanged (`net/net.h`).
            let bytes = unsafe { descriptor.bytes() };
            let (passive, here) = match queue {
                Queue::ActiveBulkRecv => (Passive::Sends, lnet.total),
                _ => (Passive::Receives, buf.nb_length.get()),
            };
            let there = BufferDescriptor::read(bytes, passive, here)?;
            let target = Target {
                process: ProcessId { nid: there.nid, pid: there.pid },
                portal: there.portal,
                match_bits: there.match_bits,
            };
            // The match bits alone admit a peer to the buffer, so bulk data may use any path.
            if passive == Passive::Receives {
                with_prefix(&mut lnet.fragments.borrow_mut(), to_send, |fragments| {
                    // SAFETY: the fragments are the memory of a queued buffer, which stays until the last event.
                    unsafe { lnet_queue.put(None, target, header_data, &plain(fragments, 1), operation) }
                })
            } else {
                with_prefix(&mut lnet.fragments.borrow_mut(), there.size as usize, |fragments| {
                    // SAFETY: the same.
                    unsafe { lnet_queue.get(None, target, &plain(fragments, 2), operation) }
                })
            }
        }
    }
}

/// A descriptor of memory that receives at most one message.
fn plain(fragments: &[Fragment], threshold: u32) -> Descriptor<'_> {
    Descriptor { fragments, threshold, max_size: None }
}

/// Implements `xo_buf_del`.
pub(super) extern "C" fn buf_del(buf: Object<m0_net_buffer>) {
    let machine = machine(buf.nb_tm.get());
    if let (Some(running), Some(handle)) = (machine.running(), lnet_buffer(buf).handle.get()) {
        running.queue.unlink(handle);
    }
}
