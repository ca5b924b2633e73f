//! A message that is sent or received.
//!
//! The same object serves a whole exchange: a received PUT becomes its ACK, a received GET its REPLY.

use super::failure::{Delivery, SendFailure};
use super::ni::Ni;
use super::peer_ni::PeerNi;
use super::provenance::{CarriedOrigin, MessageOrigin};
use super::router_buffer::RouterBuffer;
use crate::credit::NiCredit;
use crate::environment::time::Time;
use crate::event::{Event, EventKind};
use crate::memory::{Md, MemSlice, ResponseKind};
use crate::stats::ShardId;
use crate::sync::{Mutex, lock};
use lnet_wire::{Body, Header, NetId, Nid, Pid, ProcessId, RESERVED_PORTAL, WireHandle};
use std::cell::Cell;
use std::num::NonZeroU64;
use std::sync::Arc;

/// The length of a header on the wire in bytes.
const HEADER_LEN: u64 = 72;

/// A message that a driver sends, or whose payload it reads. The core creates it, and the driver returns it to the
/// core.
#[derive(Debug)]
pub struct Message {
    pub(crate) header: Header,
    pub(crate) next_hop: ProcessId,
    /// The MD of the payload.
    pub(crate) md: Option<Arc<Md>>,
    pub(crate) offset: u32,
    pub(crate) length: u32,
    /// The event to report when the operation ends; `None` without an MD.
    pub(crate) event: Option<Event>,
    pub(crate) ni: Option<Arc<Ni>>,
    /// The peer NI of the next hop; `None` over the loopback.
    pub(crate) peer_ni: Option<Arc<PeerNi>>,
    pub(crate) held: HeldCredits,
    /// The peer NI that the message counts as a pending response to.
    pub(crate) responds_to: Option<Arc<PeerNi>>,
    /// The shard of the message counters that counts the message.
    pub(crate) counted: ShardId,
    /// The id with which a driver first sent the message.
    pub(crate) message_id: Option<NonZeroU64>,
    /// The source NID that the caller asked for, to the exclusion of others.
    pub(crate) source: Option<Nid>,
    /// The time after which the message is not resent.
    pub(crate) deadline: Time,
    /// The number of resends on paths that had failed.
    pub(crate) attempts: u32,
    /// The number of resends.
    pub(crate) resends: u32,
    /// The paths that have failed since every path was last tried: local NID, peer NID.
    pub(crate) failed: Vec<(Nid, Nid)>,
    /// Whether failed paths on which something was received later have been made available again.
    pub(crate) has_returned: bool,
    /// Whether selection prefers an unresponsive path to a failed one that was made available again.
    pub(crate) tries_unresponsive: bool,
    /// Whether the message is a recovery ping, whose failure lowers no health value (HE-10).
    pub(crate) recovery: bool,
    /// The buffer of a message that is forwarded: then there is no MD.
    pub(crate) buffer: Option<Box<RouterBuffer>>,
    /// The node that a forwarded message came from, if that waits for this gateway's confirmation.
    pub(crate) previous_hop: Option<Box<PreviousHop>>,
    /// The origin of a message that is arriving for this node through a gateway; `None` once it has arrived.
    pub(crate) arrives_as: Option<MessageOrigin>,
    /// The origin of an outgoing message that may go through gateways of this library.
    pub(crate) origin: Option<MessageOrigin>,
    /// Whether the origin is sent with the message, because the next hop cannot know it otherwise.
    pub(crate) carries_origin: bool,
    /// Whether the destination may have the message already.
    pub(crate) may_have_arrived: bool,
    /// The failure since which the destination may have the message.
    pub(crate) first_failure: Option<SendFailure>,
    /// Whether the gateway that the message was sent to will confirm it.
    pub(crate) awaits_confirmation: bool,
    /// [`PeerNi::connection_epoch`] of the gateway when the message was sent.
    pub(crate) connection_epoch: u32,
}

/// The send credits that a message holds and must return once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeldCredits {
    pub(crate) peer: bool,
    /// The NI credit; `None` while the message waits for one.
    pub(crate) ni: Option<NiCredit>,
}

/// The node that a forwarded message came from, which waits for its confirmation.
#[derive(Debug)]
pub(crate) struct PreviousHop {
    /// The local interface that received the message.
    pub(crate) ni: Arc<Ni>,
    /// The NID of the node that sent the message here.
    pub(crate) from: Nid,
    /// The name that the node gave the message.
    pub(crate) name: MessageOrigin,
}

/// The credits of a message that the driver still has: see [`Message::take_credits`].
#[derive(Debug)]
pub struct TakenCredits {
    pub(crate) ni: Option<(Arc<Ni>, NiCredit)>,
    pub(crate) peer_ni: Option<Arc<PeerNi>>,
    pub(crate) next_hop: Nid,
    pub(crate) bytes: u64,
}

impl Message {
    /// Takes the send credits of the message, for [`crate::model::lnd::Upcalls::release_credits`]: it is stuck on a
    /// late or unresponsive path, and other messages should not wait for it. `None` if it holds none.
    pub fn take_credits(&mut self) -> Option<TakenCredits> {
        let held = std::mem::take(&mut self.held);
        (held.ni.is_some() || held.peer).then(|| TakenCredits {
            ni: self.ni.clone().zip(held.ni),
            peer_ni: self.peer_ni.clone().filter(|_| held.peer),
            next_hop: self.next_hop.nid,
            bytes: self.wire_len(),
        })
    }

    /// The complete header, in its wire form.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The next hop: the destination, or a router.
    pub const fn next_hop(&self) -> ProcessId {
        self.next_hop
    }

    /// The length of [`Message::payload`]: when sending, the bytes after the header; when receiving, the bytes to be delivered,
    /// which may be fewer than the header announces.
    pub const fn payload_len(&self) -> usize {
        self.length as usize
    }

    /// The id that a driver gave the message when it was first sent, by which the peer deduplicates it on another
    /// path; `None` for a message that was never sent, or without an id.
    pub const fn message_id(&self) -> Option<NonZeroU64> {
        self.message_id
    }

    /// Sets the id with which the driver sends the message, unless it has one.
    pub fn set_message_id(&mut self, id: NonZeroU64) {
        self.message_id.get_or_insert(id);
    }

    /// Whether the next hop is a gateway.
    pub fn is_routed(&self) -> bool {
        self.next_hop.nid.net() != self.header.dest_nid.net()
    }

    /// Whether the message may have been sent to its destination without a gateway.
    pub(crate) fn may_be_with_peer(&self) -> bool {
        self.message_id.is_some() && !self.is_routed() && !self.is_forwarded()
    }

    /// Records that the next hop is a gateway of this library, which will confirm the message; `named` is the driver's name for
    /// the message. Called each time that it is sent to such a gateway.
    pub fn expect_confirmation(&mut self, named: MessageOrigin) {
        self.origin.get_or_insert(named);
        self.awaits_confirmation = true;
    }

    /// The origin that the driver sends with the message.
    pub fn carried_origin(&self) -> Option<CarriedOrigin> {
        let origin = self.origin.filter(|_| self.carries_origin)?;
        Some(CarriedOrigin { origin, may_have_arrived: self.may_have_arrived })
    }

    /// Whether the message must not be sent without its origin: the destination may have it, and recognises a copy by the origin.
    pub fn needs_origin(&self) -> bool {
        self.carried_origin().is_some_and(|carried| carried.may_have_arrived)
    }

    /// Whether a driver keeps the message, if it has arrived in part, until the sender sends it again. If not it fails at once:
    /// the core keeps it, or it comes by another path.
    pub fn is_kept_for_resend(&self) -> bool {
        self.arrives_as.is_none() && !self.is_forwarded()
    }

    /// Records that an attempt to send the message failed. If a gateway may have the message, it is sent as a copy from now on.
    pub(crate) fn note_failure(&mut self, failure: SendFailure) {
        let delivery = failure.delivery;
        let was_sent = !matches!(delivery, Delivery::NotSent | Delivery::NeedsOrigin);
        if !self.is_routed() && !self.is_forwarded() || !was_sent {
            return;
        }
        if delivery != Delivery::Returned {
            self.may_have_arrived = true;
            self.first_failure.get_or_insert(failure);
        }
        self.awaits_confirmation = false;
        if self.is_routed() && self.origin.is_some() {
            self.carries_origin = true;
            self.message_id = None;
        }
    }

    /// Whether the response to the message has arrived, which proves that the message has arrived, whatever its driver reports.
    pub(crate) fn has_response(&self) -> bool {
        let Some(response) = response_to(&self.header.body) else { return false };
        self.event.as_ref().is_none_or(|event| event.kind == EventKind::Send)
            && self.md.as_ref().is_some_and(|md| md.has_response(response))
    }

    /// Whether the message repeats a request whose result another message reports.
    pub(crate) const fn is_copy(&self) -> bool {
        self.event.is_none()
            && self.md.is_some()
            && matches!(self.header.body, Body::Put { .. } | Body::Get { .. })
    }

    /// Whether the message is a recovery ping. Its failure is not logged: the interface is known to be unhealthy.
    pub const fn is_recovery_ping(&self) -> bool {
        self.recovery
    }

    /// Whether the owner of the MD has unlinked it: a driver need not try to send the message any longer.
    pub fn is_given_up(&self) -> bool {
        self.md.as_ref().is_some_and(|md| md.is_aborted())
    }

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

    /// The length of the message on the wire in bytes, header included.
    pub(crate) const fn wire_len(&self) -> u64 {
        HEADER_LEN + self.length as u64
    }

    /// The memory of the payload.
    pub fn payload(&self) -> MemSlice<'_> {
        let memory = match (&self.md, &self.buffer) {
            (Some(md), _) => md.memory(),
            (None, Some(buffer)) => &buffer.bytes,
            (None, None) => return MemSlice::EMPTY,
        };
        memory.slice(self.offset, self.length)
    }

    /// Gives the message the buffer that it is received into and sent from.
    pub(crate) fn hold_buffer(&mut self, buffer: Box<RouterBuffer>) {
        self.length = self.header.payload_length;
        self.buffer = Some(buffer);
    }

    /// The net from which a forwarded message arrived.
    pub(crate) fn came_by(&self) -> Option<NetId> {
        self.buffer.as_ref().and_then(|buffer| buffer.from).map(Nid::net)
    }

    /// Whether this node forwards the message from one node to another.
    pub(crate) const fn is_forwarded(&self) -> bool {
        self.buffer.is_some()
    }

    fn blank() -> Self {
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
            next_hop: ProcessId { nid: Nid::LOOPBACK, pid: Pid(0) },
            md: None,
            offset: 0,
            length: 0,
            event: None,
            ni: None,
            peer_ni: None,
            held: HeldCredits::default(),
            responds_to: None,
            counted: ShardId::default(),
            message_id: None,
            source: None,
            deadline: Time::START,
            attempts: 0,
            resends: 0,
            failed: Vec::new(),
            has_returned: false,
            tries_unresponsive: false,
            recovery: false,
            buffer: None,
            previous_hop: None,
            arrives_as: None,
            origin: None,
            carries_origin: false,
            may_have_arrived: false,
            first_failure: None,
            awaits_confirmation: false,
            connection_epoch: 0,
        }
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

/// A pool of unused messages, so that the steady state allocates nothing.
#[derive(Debug, Default)]
#[allow(clippy::vec_box, reason = "the boxes are what is kept")]
pub(crate) struct MessagePool(Mutex<Vec<Box<Message>>>);

/// The number of messages kept: more than the default credits of a peer in both directions. The rest of a burst is freed.
const SPARE_MESSAGES: usize = 32;

thread_local! {
    /// The message that this thread recycled last, of any pool: most threads end one message before the next begins.
    static LAST_RECYCLED: Cell<Option<Box<Message>>> = const { Cell::new(None) };
}

impl MessagePool {
    pub(crate) fn take(&self, header: Header) -> Box<Message> {
        let mut message = LAST_RECYCLED
            .take()
            .or_else(|| lock(&self.0).pop())
            .unwrap_or_else(|| Box::new(Message::blank()));
        message.header = header;
        message
    }

    /// Recycles a message: drops all that it refers to.
    pub(crate) fn put(&self, mut message: Box<Message>) {
        *message = Message::blank();
        let Some(message) = LAST_RECYCLED.replace(Some(message)) else { return };
        let mut kept = lock(&self.0);
        if kept.len() < SPARE_MESSAGES {
            kept.push(message);
        }
    }
}
