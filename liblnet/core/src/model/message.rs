//! Messages. The type of a message shows its use by the node:
//!
//! - [`OutgoingMessage`]: the node sends it, as a request, a response, or for another node.
//! - [`IncomingMessage`]: it has arrived for this node. `into_response` makes its ACK or REPLY of it.
//! - [`TransitMessage`]: it has arrived for another node. `into_forwarded` makes the message of it that is sent on.
//!
//! All have a [`MessageHead`]. [`Pooled`] is a message in memory that is used again; a message that becomes another one stays in
//! the same memory.

use super::arrival::Arrival;
use super::failure::SendFailure;
use super::message_attempts::{Attempts, Gateway, HeldCredits, KnownOrigin};
use super::ni::Ni;
use super::peer_ni::PeerNi;
use super::provenance::{CarriedOrigin, MessageOrigin};
use super::router_buffer::RouterBuffer;
use crate::credit::NiCredit;
use crate::environment::time::Time;
use crate::md::{Md, ResponseKind};
use crate::memory::{MemSlice, ReplyMemory};
use crate::stats::ShardId;
use crate::sync::{Mutex, lock};
use lnet_wire::{Body, Header, Nid, Pid, ProcessId, RESERVED_PORTAL, WireHandle};
use std::cell::Cell;
use std::fmt::{Debug, Formatter};
use std::marker::PhantomData;
use std::num::NonZeroU64;
use std::ops::{Deref, DerefMut};
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

/// A message that this node sends. The core creates it, a driver sends it, and returns it to the core.
#[derive(Debug)]
pub struct OutgoingMessage {
    pub(crate) head: MessageHead,
    pub(crate) role: Role,
    pub(crate) next_hop: ProcessId,
    pub(crate) held: HeldCredits,
    /// The id with which a driver first sent the message.
    pub(crate) message_id: Option<NonZeroU64>,
    /// The time after which the message is not resent.
    pub(crate) deadline: Time,
    /// The time of the call of a request, if its delays are measured.
    pub(crate) begun: Option<Time>,
    /// The time since which the message waits for a credit or for a route, if that is measured.
    pub(crate) waiting_since: Option<Time>,
    pub(crate) attempts: Attempts,
    pub(crate) origin: KnownOrigin,
    /// Whether the destination may have the message already.
    pub(crate) may_have_arrived: bool,
    /// The failure since which the destination may have the message.
    pub(crate) first_failure: Option<SendFailure>,
    /// The gateway that the message was sent to; `None` if the next hop is the destination.
    pub(crate) gateway: Option<Gateway>,
}

/// The role of a message that this node sends, with what only a message in that role has.
#[derive(Debug)]
pub(crate) enum Role {
    Request(Request),
    Response(Response),
    Forwarded(Forwarded),
}

/// A PUT or GET of this node.
#[derive(Debug)]
pub(crate) struct Request {
    /// The MD of the payload, or of the response.
    pub(crate) md: Arc<Md>,
    /// The report of the end of the message by a SEND event; `None` once it is reported, and for a copy of a request whose result
    /// another message reports.
    pub(crate) report: Option<SendReport>,
    /// The source NID that the caller asked for, to the exclusion of others.
    pub(crate) source: Option<Nid>,
    /// Whether the request is a recovery ping, whose failure lowers no health value (HE-10).
    pub(crate) recovery: bool,
}

/// The fields of a SEND event that neither the header of its message nor the MD has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendReport {
    /// The NID that the caller named.
    pub(crate) target: Option<Nid>,
    /// The threshold of the MD after the operation.
    pub(crate) threshold: i32,
}

/// An ACK or REPLY of this node.
#[derive(Debug, Default)]
pub(crate) struct Response {
    /// The GET that the REPLY answers; `None` for an ACK, and once the operation has ended.
    pub(crate) get: Option<AnsweredGet>,
    pub(crate) asker: Asker,
    /// Whether the message may leave only by the path that the request came by ([`super::provenance::Provenance::reply_here`]).
    pub(crate) stays_on_path: bool,
}

/// The peer NI that a message counts as a pending response to.
#[derive(Debug, Default)]
pub(crate) enum Asker {
    /// None: over the loopback, or the message is not counted.
    #[default]
    None,
    /// The peer NI of the message.
    OfMessage,
    /// Another one, as the message has taken another path since.
    Other(Arc<PeerNi>),
}

/// A message from one node to another that this node, a gateway, sends on.
#[derive(Debug)]
pub(crate) struct Forwarded {
    /// The memory of the payload; `None` once the message has ended.
    pub(crate) buffer: Option<Box<RouterBuffer>>,
    /// The node that the message came from, as long as that waits for this gateway's confirmation.
    pub(crate) previous_hop: Option<PreviousHop>,
    /// The arrival of the payload, if the message was begun before that was complete.
    pub(crate) arrival: Option<Arc<Arrival>>,
}

/// The credits of a message that the driver still has: see [`OutgoingMessage::take_credits`].
#[derive(Debug)]
pub struct TakenCredits {
    pub(crate) ni: Option<(Arc<Ni>, NiCredit)>,
    pub(crate) peer_ni: Option<Arc<PeerNi>>,
    pub(crate) next_hop: Nid,
    pub(crate) bytes: u64,
}

/// A message that arrives, whose payload its driver is to read. The core creates it, and the driver returns it to the core.
#[derive(Debug)]
pub enum ArrivingMessage {
    /// The message is for this node.
    ForThisNode(Pooled<IncomingMessage>),
    /// The message is for another node, to which this one forwards it.
    ForAnother(Pooled<TransitMessage>),
}

/// A message from a peer for this node.
#[derive(Debug)]
pub struct IncomingMessage {
    pub(super) head: MessageHead,
    /// The NID of the node that sent the message here: its source, or a gateway.
    pub(crate) from: Nid,
    /// The origin by which copies of the message are recognised while it is arriving; `None` once it has arrived, and for one
    /// that came without a gateway.
    pub(crate) origin: Option<MessageOrigin>,
    /// Whether the response leaves by the path that the message came by, and no other.
    pub(crate) reply_here: bool,
    /// The peer NI of the source behind a gateway, if it was known when the message arrived; `None` for a message from a node on the
    /// same net.
    pub(crate) behind_gateway: Option<Arc<PeerNi>>,
    /// The operation that the message belongs to, once its memory has been found.
    pub(crate) operation: Option<Operation>,
    /// The time of the call of the request that the message responds to, if that was measured.
    pub(crate) request_begun: Option<Time>,
}

/// A message from a peer that this node receives for another node.
#[derive(Debug)]
pub struct TransitMessage {
    pub(super) head: MessageHead,
    /// The NID of the node that sent the message here.
    pub(crate) from: Nid,
    /// The node that the message came from, if that waits for this gateway's confirmation.
    pub(crate) previous_hop: Option<PreviousHop>,
    /// The origin that goes with the message to the next hop.
    pub(crate) origin: Option<CarriedOrigin>,
    /// The memory of the payload; `None` while the message waits for a buffer, and once another message sends it on.
    pub(crate) buffer: Option<Box<RouterBuffer>>,
    /// The arrival of the payload, once another message sends it on.
    pub(crate) arrival: Option<Arc<Arrival>>,
    /// The peer NI that the message is for, if that was known when the message arrived.
    pub(crate) destination: Option<Arc<PeerNi>>,
    /// The time since which a large payload has arrived in parts.
    pub(crate) in_parts_since: Option<Time>,
    /// The time since which the message waits for a buffer, if that is measured.
    pub(crate) waiting_since: Option<Time>,
}

/// An operation of an MD in which a message from a peer, or the REPLY to a GET, takes part.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) md: Arc<Md>,
    /// The place of the payload in the MD's memory, in bytes.
    pub(crate) offset: u32,
    /// The bytes that are moved. In an ACK that is what the peer has accepted.
    pub(crate) length: u32,
    /// The threshold of the MD after the begin of the operation.
    pub(crate) threshold: i32,
    /// The primary NID of the peer.
    pub(crate) initiator: Nid,
    /// The payload of a REPLY that is not in the MD's memory; boxed, as few messages have one.
    pub(crate) fetched: Option<Box<ReplyMemory>>,
}

/// A GET whose event is reported when the REPLY has left.
#[derive(Debug)]
pub(crate) struct AnsweredGet {
    pub(crate) operation: Operation,
    pub(crate) header: Header,
    /// The NID of the node that sent the GET here.
    pub(crate) from: Nid,
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
        is_reserved(&self.header.body)
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
    pub(super) fn clear(&mut self) {
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
    pub(super) fn memory(&self, length: u32) -> MemSlice<'_> {
        match &self.fetched {
            None => self.md.memory().slice(self.offset, length),
            Some(fetched) => fetched.memory.slice(0, length),
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

/// Whether a message with this body is a request to the reserved portal.
pub(crate) const fn is_reserved(body: &Body) -> bool {
    matches!(body, Body::Put { portal: RESERVED_PORTAL, .. } | Body::Get { portal: RESERVED_PORTAL, .. })
}

/// A message of the type `M`, in memory that is used again for messages of any type.
pub struct Pooled<M> {
    /// The parts of other types than `M` refer to nothing.
    memory: Box<Memory>,
    message: PhantomData<M>,
}

/// The memory of one message.
#[derive(Default)]
pub(crate) struct Memory {
    pub(super) outgoing: OutgoingMessage,
    pub(super) incoming: IncomingMessage,
    pub(super) transit: TransitMessage,
}

/// A type of message. [`Memory`] has a part for each.
pub(crate) trait Part {
    /// The part of this type.
    fn of(memory: &Memory) -> &Self;

    /// The part of this type.
    fn of_mut(memory: &mut Memory) -> &mut Self;

    fn head_mut(&mut self) -> &mut MessageHead;

    /// Drops what the message refers to, before another one is made in its memory.
    fn clear(&mut self);
}

impl<M> Pooled<M> {
    /// A message of another type in the same memory. The caller has moved there what the message refers to.
    pub(super) fn become_other<N>(self) -> Pooled<N> {
        Pooled { memory: self.memory, message: PhantomData }
    }

    pub(super) fn memory(&mut self) -> &mut Memory {
        &mut self.memory
    }
}

impl<M: Part> Deref for Pooled<M> {
    type Target = M;

    fn deref(&self) -> &M {
        M::of(&self.memory)
    }
}

impl<M: Part> DerefMut for Pooled<M> {
    fn deref_mut(&mut self) -> &mut M {
        M::of_mut(&mut self.memory)
    }
}

impl<M: Part + Debug> Debug for Pooled<M> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}

/// Memory of messages that have ended, so that the steady state allocates nothing.
#[derive(Default)]
#[allow(clippy::vec_box, reason = "the boxes are what is kept")]
pub(crate) struct MessagePool(Mutex<Vec<Box<Memory>>>);

/// The number of messages kept: more than the default credits of a peer in both directions. The node's pool keeps what is left of a
/// burst.
const SPARE_MESSAGES: usize = 32;
/// The number of messages that the node's pool keeps besides. The memory of a message that a router forwards comes from the pool of one
/// peer and goes to that of another.
const SPARE_MESSAGES_OF_NODE: usize = 256;

/// The number of messages that a thread keeps: those of one batch in both directions. Nothing is locked for them.
const SPARE_MESSAGES_OF_THREAD: usize = 64;

thread_local! {
    static RECYCLED: Recycled = const {
        Recycled {
            last: Cell::new(None),
            count: Cell::new(0),
            before: [const { Cell::new(None) }; SPARE_MESSAGES_OF_THREAD - 1],
        }
    };
}

/// The memory of messages that a thread has recycled, of any pool.
struct Recycled {
    /// The memory of the last message: many threads end one before the next begins.
    last: Cell<Option<Box<Memory>>>,
    /// The number of messages before, whose memory is kept.
    count: Cell<usize>,
    /// Their memory, in the first places.
    before: [Cell<Option<Box<Memory>>>; SPARE_MESSAGES_OF_THREAD - 1],
}

impl Recycled {
    #[inline(always)]
    fn take(&self) -> Option<Box<Memory>> {
        self.last.take().or_else(|| self.take_before())
    }

    #[inline(never)]
    fn take_before(&self) -> Option<Box<Memory>> {
        let last = self.count.get().checked_sub(1)?;
        self.count.set(last);
        self.before.get(last)?.take()
    }

    /// Keeps the memory of a message; returns what there is no room for.
    #[inline(always)]
    fn keep(&self, memory: Box<Memory>) -> Option<Box<Memory>> {
        self.last.replace(Some(memory)).and_then(|before| self.keep_before(before))
    }

    #[inline(never)]
    fn keep_before(&self, memory: Box<Memory>) -> Option<Box<Memory>> {
        let count = self.count.get();
        let Some(place) = self.before.get(count) else { return Some(memory) };
        place.set(Some(memory));
        self.count.set(count + 1);
        None
    }
}

impl MessagePool {
    /// A message that refers to nothing yet, in memory of this pool or of the node's. Its header is that of any message, until the
    /// caller writes it.
    #[inline(always)]
    pub(crate) fn take_with<M: Part>(&self, of_node: &Self) -> Pooled<M> {
        let recycled = RECYCLED.try_with(Recycled::take).ok().flatten();
        let memory = recycled.unwrap_or_else(|| self.take_spare(of_node));
        Pooled { memory, message: PhantomData }
    }

    /// Recycles a message, into the node's pool if this one is full: drops all that it refers to.
    #[inline(always)]
    pub(crate) fn put_with<M: Part>(&self, of_node: &Self, mut message: Pooled<M>) {
        message.clear();
        // A handler of the program's exit sends when the variables of its thread are gone.
        if let Ok(Some(memory)) = RECYCLED.try_with(|recycled| recycled.keep(message.memory)) {
            self.keep(of_node, memory);
        }
    }

    #[inline(never)]
    fn take_spare(&self, of_node: &Self) -> Box<Memory> {
        self.pop().or_else(|| of_node.pop()).unwrap_or_default()
    }

    #[inline(never)]
    fn keep(&self, of_node: &Self, memory: Box<Memory>) {
        if let Err(memory) = self.push(memory, SPARE_MESSAGES) {
            // Beyond both the rest of a burst is freed.
            drop(of_node.push(memory, SPARE_MESSAGES_OF_NODE));
        }
    }

    fn pop(&self) -> Option<Box<Memory>> {
        lock(&self.0).pop()
    }

    fn push(&self, memory: Box<Memory>, limit: usize) -> Result<(), Box<Memory>> {
        let mut kept = lock(&self.0);
        if kept.len() >= limit {
            return Err(memory);
        }
        kept.push(memory);
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
impl MessagePool {
    /// [`MessagePool::take_with`] of the node's pool, with this header.
    pub(crate) fn take<M: Part>(&self, header: Header) -> Pooled<M> {
        let mut message: Pooled<M> = self.take_with(self);
        message.head_mut().header = header;
        message
    }

    fn put<M: Part>(&self, message: Pooled<M>) {
        self.put_with(self, message);
    }

    fn len(&self) -> usize {
        lock(&self.0).len()
    }
}

impl Debug for MessagePool {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MessagePool").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
#[path = "message_tests.rs"]
mod tests;
