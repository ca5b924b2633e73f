//! Messages. The type of a message shows its use by the node:
//!
//! - [`OutgoingMessage`]: the node sends it, as a request, a response, or for another node.
//! - [`IncomingMessage`]: it has arrived for this node. `into_response` makes its ACK or REPLY of it.
//! - [`TransitMessage`]: it has arrived for another node. `into_forwarded` makes the message of it that is sent on.
//!
//! All have a [`MessageHead`]. [`Pooled`] is a message in memory that is used again; a message that becomes another one stays in
//! the same memory.

mod arriving;
mod outgoing;
mod pool;
mod role;

pub use arriving::{ArrivingMessage, IncomingMessage, TransitMessage};
pub(crate) use outgoing::{Attempts, Gateway};
pub use outgoing::{OutgoingMessage, TakenCredits};
pub use pool::Pooled;
pub(crate) use pool::{MessagePool, Part};
pub(crate) use role::{Forwarded, Request, Response, Role};

use super::ni::Ni;
use super::peer_ni::PeerNi;
use super::provenance::MessageOrigin;
use crate::event::Event;
use crate::memory::{Md, MemSlice, ResponseKind};
use crate::stats::ShardId;
use lnet_wire::{Body, Header, Nid, Pid, RESERVED_PORTAL, WireHandle};
use std::sync::Arc;

/// The fields of every message.
#[derive(Debug)]
pub struct MessageHead {
    pub(crate) header: Header,
    /// The local interface that sends or has received the message; `None` while the message waits for a path.
    pub(crate) ni: Option<Arc<Ni>>,
    /// The peer NI at the other end of the path; `None` over the loopback.
    pub(crate) peer_ni: Option<Arc<PeerNi>>,
    /// The shard of the message counters that counts the message.
    pub(crate) counted: ShardId,
}

/// An operation of an MD in which a message from a peer, or the REPLY to a GET, takes part.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) md: Arc<Md>,
    /// The event to report when the operation ends, without its status. Its `offset` and `mlength` are those of the memory.
    pub(crate) event: Event,
}

/// The node that a message for another node came from, which waits for its confirmation.
#[derive(Debug)]
pub(crate) struct PreviousHop {
    /// The local interface that received the message.
    pub(crate) ni: Arc<Ni>,
    /// The NID of the node that sent the message here.
    pub(crate) from: Nid,
    /// The name that the node gave the message.
    pub(crate) name: MessageOrigin,
}

impl MessageHead {
    /// Whether the message is a request to the reserved portal.
    pub(crate) const fn is_reserved(&self) -> bool {
        matches!(
            self.header.body,
            Body::Put { portal: RESERVED_PORTAL, .. } | Body::Get { portal: RESERVED_PORTAL, .. }
        )
    }

    /// Whether the message may leave by any interface to a peer that is not multi-rail: a request to the reserved portal,
    /// or a response, which its receiver identifies by a handle. A restarted node knows each peer by a single NID,
    /// and the message may have arrived on a better path than the first one.
    pub(crate) const fn leaves_by_any(&self) -> bool {
        self.is_reserved() || matches!(self.header.body, Body::Ack { .. } | Body::Reply { .. })
    }

    /// Whether the message is sent or was received by the interface `ni`.
    pub(crate) fn is_by(&self, ni: &Arc<Ni>) -> bool {
        self.ni.as_ref().is_some_and(|its| Arc::ptr_eq(its, ni))
    }

    /// Drops the objects to which the head refers.
    fn clear(&mut self) {
        let Self { header: _, ni, peer_ni, counted: _ } = self;
        (*ni, *peer_ni) = (None, None);
    }
}

impl Default for MessageHead {
    fn default() -> Self {
        let nobody = WireHandle { interface_cookie: 0, object_cookie: 0 };
        Self {
            header: Header {
                dest_nid: Nid::LOOPBACK,
                src_nid: Nid::LOOPBACK,
                dest_pid: Pid(0),
                src_pid: Pid(0),
                payload_length: 0,
                body: Body::Reply { handle: nobody },
            },
            ni: None,
            peer_ni: None,
            counted: ShardId::default(),
        }
    }
}

impl Operation {
    /// The memory of the operation, or as much of it as a message with `length` bytes of payload has.
    fn memory(&self, length: u32) -> MemSlice<'_> {
        self.md.memory().slice(self.event.offset, length)
    }
}

/// The kind of response that a request asks for.
pub(crate) const fn response_to(body: &Body) -> Option<ResponseKind> {
    match body {
        Body::Put { ack: Some(_), .. } => Some(ResponseKind::Ack),
        Body::Get { .. } => Some(ResponseKind::Reply),
        _ => None,
    }
}

#[cfg(all(test, not(loom)))]
mod message_tests;
