//! Messages that arrive.

use super::arrival::Arrival;
use super::message::{
    AnsweredGet, ArrivingMessage, Asker, Forwarded, IncomingMessage, Memory, MessageHead, OutgoingMessage,
    Part, Pooled, Response, Role, TransitMessage,
};
use super::router_buffer::RouterBuffer;
use crate::memory::{MemSlice, MemoryOwner};
use lnet_wire::{Body, Header, Nid, Pid, ProcessId};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

impl ArrivingMessage {
    fn head(&self) -> &MessageHead {
        match self {
            Self::ForThisNode(message) => &message.head,
            Self::ForAnother(message) => &message.head,
        }
    }

    /// The complete header, in its wire form.
    pub fn header(&self) -> &Header {
        &self.head().header
    }

    /// The NID of the node that sent the message here: its source, or a gateway.
    pub fn sender(&self) -> Nid {
        match self {
            Self::ForThisNode(message) => message.from,
            Self::ForAnother(message) => message.from,
        }
    }

    /// The length of [`ArrivingMessage::payload`]: the bytes to be delivered, which may be fewer than the header announces.
    pub fn payload_len(&self) -> usize {
        match self {
            Self::ForThisNode(message) => message.delivered_len() as usize,
            Self::ForAnother(message) => message.buffered_len() as usize,
        }
    }

    /// The memory of the payload.
    pub fn payload(&self) -> MemSlice<'_> {
        match self {
            Self::ForThisNode(message) => match &message.operation {
                Some(operation) => operation.memory(message.delivered_len()),
                None => MemSlice::EMPTY,
            },
            Self::ForAnother(message) => match (&message.buffer, &message.arrival) {
                (Some(buffer), _) => buffer.bytes.slice(0, message.buffered_len()),
                (None, Some(arrival)) => arrival.payload(message.buffered_len()),
                (None, None) => MemSlice::EMPTY,
            },
        }
    }

    /// The MD of [`ArrivingMessage::payload`]; `None` without one.
    pub fn memory_owner(&self) -> Option<MemoryOwner> {
        match self {
            Self::ForThisNode(message) => message.operation.as_ref().map(|its| its.md.memory_owner()),
            Self::ForAnother(_) => None,
        }
    }

    /// The arrival of the payload, if the message is sent on before all of it is there: the driver reports to it what has arrived.
    pub fn arrival(&self) -> Option<&Arc<Arrival>> {
        match self {
            Self::ForThisNode(_) => None,
            Self::ForAnother(message) => message.arrival.as_ref(),
        }
    }

    /// Whether the owner of the MD has unlinked it: a driver need not wait for the rest of the message any longer.
    pub fn is_given_up(&self) -> bool {
        match self {
            Self::ForThisNode(message) => message.is_given_up(),
            Self::ForAnother(_) => false,
        }
    }

    /// Whether a driver keeps the message, if it has arrived in part, until the sender sends it again. If not it fails at once:
    /// the core keeps it, or it comes by another path.
    pub fn is_kept_for_resend(&self) -> bool {
        match self {
            Self::ForThisNode(message) => message.origin.is_none(),
            Self::ForAnother(_) => false,
        }
    }
}

impl From<Pooled<IncomingMessage>> for ArrivingMessage {
    fn from(message: Pooled<IncomingMessage>) -> Self {
        Self::ForThisNode(message)
    }
}

impl From<Pooled<TransitMessage>> for ArrivingMessage {
    fn from(message: Pooled<TransitMessage>) -> Self {
        Self::ForAnother(message)
    }
}

impl IncomingMessage {
    /// The bytes of the payload that are delivered. The memory of a GET is read later, by the REPLY.
    fn delivered_len(&self) -> u32 {
        let announced = self.head.header.payload_length;
        self.operation.as_ref().map_or(0, |operation| operation.length.min(announced))
    }

    /// Whether the owner of the MD has unlinked it.
    pub(crate) fn is_given_up(&self) -> bool {
        self.operation.as_ref().is_some_and(|operation| operation.md.is_aborted())
    }
}

impl Pooled<IncomingMessage> {
    /// Turns a request that has arrived into its response: from the NID it came to, to the NID it came from, on the path it
    /// came by (wire-tcp 5.7). The REPLY to a GET takes over the operation. `asker` counts the response as pending.
    #[inline(always)]
    pub(crate) fn into_response(mut self, body: Body, pid: Pid, asker: Asker) -> Pooled<OutgoingMessage> {
        let Memory { incoming, outgoing, .. } = self.memory();
        let MessageHead { header: request, ni, peer_ni, counted } = &mut incoming.head;
        (outgoing.head.ni, outgoing.head.peer_ni) = (ni.take(), peer_ni.take());
        outgoing.head.counted = *counted;
        incoming.origin = None;
        incoming.behind_gateway = None;
        let payload_length = incoming.operation.as_ref().map_or(0, |operation| operation.length);
        // Programs on one node use its other NIDs over the loopback, too.
        let next_hop = if incoming.from.is_loopback() { request.src_nid } else { incoming.from };
        outgoing.next_hop = ProcessId { nid: next_hop, pid: request.src_pid };
        let header = &mut outgoing.head.header;
        (header.dest_nid, header.src_nid) = (request.src_nid, request.dest_nid);
        (header.dest_pid, header.src_pid) = (request.src_pid, pid);
        (header.payload_length, header.body) = (payload_length, body);
        outgoing.begin(Role::Response(Response { get: None, asker, stays_on_path: incoming.reply_here }));
        // An ACK answers no GET, which is large.
        if let Some(operation) = incoming.operation.take()
            && let Role::Response(response) = &mut outgoing.role
        {
            response.get = Some(AnsweredGet { operation, header: *request, from: incoming.from });
        }
        self.become_other()
    }
}

impl TransitMessage {
    /// The bytes of the payload that are received: all, once there is a buffer.
    fn buffered_len(&self) -> u32 {
        if self.buffer.is_some() || self.arrival.is_some() { self.head.header.payload_length } else { 0 }
    }
}

impl Pooled<TransitMessage> {
    /// Turns a message that has been received into its buffer into one that is sent on, with its header unchanged. Returns it
    /// unchanged if it has no buffer.
    #[inline(always)]
    pub(crate) fn into_forwarded(mut self) -> Result<Pooled<OutgoingMessage>, Self> {
        let Memory { transit, outgoing, .. } = self.memory();
        let Some(buffer) = transit.buffer.take() else { return Err(self) };
        let MessageHead { header, ni, peer_ni, counted } = &mut transit.head;
        (outgoing.head.header, outgoing.head.counted) = (*header, *counted);
        (outgoing.head.ni, outgoing.head.peer_ni) = (ni.take(), peer_ni.take());
        outgoing.next_hop = ProcessId { nid: transit.from, pid: outgoing.head.header.src_pid };
        outgoing.carry(transit.origin.take());
        let previous_hop = transit.previous_hop.take();
        outgoing.begin(Role::Forwarded(Forwarded { buffer: Some(buffer), previous_hop, arrival: None }));
        Ok(self.become_other())
    }
}

impl TransitMessage {
    /// Makes `outgoing`, a message with the same header, the one that is sent on, while this one goes on arriving: it takes over all
    /// but the path that the message comes by. `arrived` bytes of the payload are there. False if the message has no buffer.
    pub(crate) fn cut_through(&mut self, outgoing: &mut OutgoingMessage, arrived: usize) -> bool {
        let Some(mut buffer) = self.buffer.take() else { return false };
        let arrival = Arrival::renew(buffer.spare_arrival.take(), &buffer.memory, arrived);
        self.arrival = Some(Arc::clone(&arrival));
        outgoing.next_hop = ProcessId { nid: self.from, pid: self.head.header.src_pid };
        outgoing.carry(self.origin.take());
        outgoing.role = Role::Forwarded(Forwarded {
            buffer: Some(buffer),
            previous_hop: self.previous_hop.take(),
            arrival: Some(arrival),
        });
        true
    }
}

impl Forwarded {
    /// Takes the buffer, of a message that has ended.
    pub(crate) fn take_buffer(&mut self) -> Option<Box<RouterBuffer>> {
        let mut buffer = self.buffer.take()?;
        if self.arrival.is_some() {
            buffer.spare_arrival = self.arrival.take();
        }
        Some(buffer)
    }
}

impl Deref for IncomingMessage {
    type Target = MessageHead;

    fn deref(&self) -> &MessageHead {
        &self.head
    }
}

impl DerefMut for IncomingMessage {
    fn deref_mut(&mut self) -> &mut MessageHead {
        &mut self.head
    }
}

impl Deref for TransitMessage {
    type Target = MessageHead;

    fn deref(&self) -> &MessageHead {
        &self.head
    }
}

impl DerefMut for TransitMessage {
    fn deref_mut(&mut self) -> &mut MessageHead {
        &mut self.head
    }
}

impl Default for IncomingMessage {
    fn default() -> Self {
        Self {
            head: MessageHead::default(),
            from: Nid::LOOPBACK,
            origin: None,
            reply_here: false,
            behind_gateway: None,
            operation: None,
            request_begun: None,
        }
    }
}

impl Default for TransitMessage {
    fn default() -> Self {
        Self {
            head: MessageHead::default(),
            from: Nid::LOOPBACK,
            previous_hop: None,
            origin: None,
            buffer: None,
            arrival: None,
            destination: None,
            in_parts_since: None,
            waiting_since: None,
        }
    }
}

impl Part for IncomingMessage {
    fn of(memory: &Memory) -> &Self {
        &memory.incoming
    }

    fn of_mut(memory: &mut Memory) -> &mut Self {
        &mut memory.incoming
    }

    fn head_mut(&mut self) -> &mut MessageHead {
        &mut self.head
    }

    #[inline]
    fn clear(&mut self) {
        let Self { head, from: _, origin, reply_here, behind_gateway, operation, request_begun } = self;
        head.clear();
        *origin = None;
        *reply_here = false;
        *behind_gateway = None;
        *operation = None;
        *request_begun = None;
    }
}

impl Part for TransitMessage {
    fn of(memory: &Memory) -> &Self {
        &memory.transit
    }

    fn of_mut(memory: &mut Memory) -> &mut Self {
        &mut memory.transit
    }

    fn head_mut(&mut self) -> &mut MessageHead {
        &mut self.head
    }

    #[inline]
    fn clear(&mut self) {
        let Self {
            head,
            from: _,
            previous_hop,
            origin,
            buffer,
            arrival,
            destination,
            in_parts_since,
            waiting_since,
        } = self;
        head.clear();
        *previous_hop = None;
        *origin = None;
        *buffer = None;
        *arrival = None;
        *destination = None;
        *in_parts_since = None;
        *waiting_since = None;
    }
}
