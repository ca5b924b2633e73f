//! Ping: a GET of the ping information of another node.

use crate::node::Node;
use lnet_core::event::in_handler;
use lnet_core::memory::RecvBuffer;
use lnet_core::{Errno, Event, EventKind, MdOptions, MdSpec, Target};
use lnet_log::LogClass;
use lnet_wire::ping_info::{PingInfo, ReceivedPingInfo, ping_buffer_len};
use lnet_wire::{MAX_PAYLOAD, Nid, ProcessId};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// The number of entries for which the first reply has memory: most nodes have fewer, and some drivers of the kernel handle a
/// reply badly that is much shorter than its memory (wire-o2ib 8.4).
const FIRST_ENTRIES: u32 = 256;

/// The parameters of a ping.
#[derive(Clone, Copy, Debug)]
pub struct PingRequest {
    /// The node and process to ping.
    pub target: ProcessId,
    /// The local NID to send from; `None`: LNet selects one.
    pub source: Option<Nid>,
    /// The maximum number of interfaces in the reply, the loopback among them; more are left out. The kernel's `lnetctl ping`
    /// uses 200.
    pub max_entries: u32,
    /// The time to wait for a reply; `None`: unlimited.
    pub timeout: Option<Duration>,
}

impl Node {
    /// Pings a node; once more with more memory, if it has more interfaces than there is memory for (wire-tcp 6.3).
    /// [`Errno::TimedOut`] without a reply in time, [`Errno::Protocol`] for an invalid reply,
    /// [`Errno::Invalid`] for `max_entries` of 0, [`Errno::Busy`] in an event handler, whose thread may have to
    /// receive the reply, or the error of the request.
    pub fn ping(&self, request: PingRequest) -> Result<ReceivedPingInfo, Errno> {
        if in_handler() {
            return Err(Errno::Busy);
        }
        if request.max_entries == 0 {
            return Err(Errno::Invalid);
        }
        let received = self.ping_once(request, ping_buffer_len(request.max_entries.min(FIRST_ENTRIES)))?;
        match received.truncated {
            true => self.ping_once(request, received.claimed_len),
            false => Ok(received),
        }
    }

    /// Pings a node, with memory of `len` bytes for the reply, or as many as a message can have.
    fn ping_once(&self, request: PingRequest, len: usize) -> Result<ReceivedPingInfo, Errno> {
        let len = u32::try_from(len).unwrap_or(u32::MAX).min(MAX_PAYLOAD);
        let room = RecvBuffer::new(len);
        let (results, received) = sync_channel(4);
        let core = self.core();
        let eq = core.data_path().eq_alloc(0, Some(Box::new(move |event| report(event, &results))))?;
        let spec = MdSpec {
            start: room.address(),
            length: len,
            threshold: 2,
            max_size: 0,
            options: MdOptions::TRUNCATE,
            user_ptr: 0,
            eq: Some(eq),
        };
        let (target, owner) = (Target::of_pings(request.target), Arc::new(room.clone()));
        let response = core.data_path().bind_owned(spec, room.memory(), true, owner).and_then(|md| {
            let response = core
                .data_path()
                .get(request.source, md, target)
                .and_then(|()| wait(&received, request.timeout));
            // After a reply the MD has ended. After a timeout this call unlinks it; its memory stays as long as a driver
            // may write there.
            let _ = core.data_path().md_unlink(md);
            response
        });
        // A driver may still have the message; the core frees the queue after that.
        let _ = core.data_path().eq_release(eq);
        let len = response?;
        PingInfo::decode(&room.read(len), request.max_entries - 1).map_err(|error| {
            let nid = request.target.nid;
            core.log(
                LogClass::PingInfoInvalid,
                nid,
                format_args!("peer {nid}: invalid reply to a ping ({error}); ignored"),
            );
            Errno::Protocol
        })
    }
}

/// Sends the result to the waiting thread: the length of the reply, or a failure.
fn report(event: &Event, results: &SyncSender<Result<u32, Errno>>) {
    let result = match (event.kind, event.status) {
        (EventKind::Reply, Ok(())) => Ok(event.mlength),
        (_, Err(errno)) => Err(errno),
        _ => return,
    };
    // After a timeout the receiver has been dropped, and sending fails.
    let _ = results.try_send(result);
}

fn wait(received: &Receiver<Result<u32, Errno>>, timeout: Option<Duration>) -> Result<u32, Errno> {
    match timeout {
        Some(timeout) => received.recv_timeout(timeout).unwrap_or_else(|why| {
            Err(match why {
                RecvTimeoutError::Timeout => Errno::TimedOut,
                RecvTimeoutError::Disconnected => Errno::Shutdown,
            })
        }),
        None => received.recv().unwrap_or(Err(Errno::Shutdown)),
    }
}
