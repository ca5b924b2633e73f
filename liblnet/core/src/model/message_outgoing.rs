//! Messages that this node sends.

use super::arrival::{Arrival, Arrived};
use super::failure::{Delivery, SendFailure};
use super::message::{
    Asker, Forwarded, Memory, MessageHead, OutgoingMessage, Part, Request, Response, Role, TakenCredits,
};
use super::message_attempts::{Attempts, HeldCredits, KnownOrigin};
use super::peer_ni::PeerNi;
use super::provenance::{CarriedOrigin, MessageOrigin};
use crate::environment::time::Time;
use crate::memory::{MemSlice, MemoryOwner};
use lnet_wire::header::HEADER_LEN;
use lnet_wire::{Body, Header, Nid, Pid, ProcessId};
use std::num::NonZeroU64;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Methods for drivers.
impl OutgoingMessage {
    /// Takes the send credits of the message, for [`crate::model::lnd::Upcalls::release_credits`], so that other messages do not wait for
    /// it: it is stuck on a late or unresponsive path, or has left. `None` if it holds none.
    pub fn take_credits(&mut self) -> Option<TakenCredits> {
        let held = std::mem::take(&mut self.held);
        (held.ni.is_some() || held.peer).then(|| TakenCredits {
            ni: self.head.ni.clone().zip(held.ni),
            peer_ni: self.head.peer_ni.clone().filter(|_| held.peer),
            next_hop: self.next_hop.nid,
            bytes: self.wire_len(),
        })
    }

    /// The complete header, in its wire form.
    pub const fn header(&self) -> &Header {
        &self.head.header
    }

    /// The next hop: the destination, or a router.
    pub const fn next_hop(&self) -> ProcessId {
        self.next_hop
    }

    /// The length of [`OutgoingMessage::payload`], which follows the header.
    pub const fn payload_len(&self) -> usize {
        self.head.header.payload_length as usize
    }

    /// The memory of the payload.
    pub fn payload(&self) -> MemSlice<'_> {
        let length = self.head.header.payload_length;
        match &self.role {
            Role::Request(request) => request.md.memory().slice(0, length),
            Role::Response(Response { get: Some(get), .. }) => get.operation.memory(length),
            Role::Response(Response { get: None, .. }) => MemSlice::EMPTY,
            Role::Forwarded(Forwarded { buffer: Some(buffer), .. }) => buffer.bytes.slice(0, length),
            Role::Forwarded(Forwarded { buffer: None, .. }) => MemSlice::EMPTY,
        }
    }

    /// The arrival of the payload, if that is not complete yet: the driver writes what has arrived, and waits for more.
    pub fn arrival(&self) -> Option<&Arc<Arrival>> {
        match &self.role {
            Role::Forwarded(Forwarded { arrival: Some(arrival), .. })
                if arrival.arrived() != Arrived::Whole =>
            {
                Some(arrival)
            }
            _ => None,
        }
    }

    /// The memory that the REPLY to a GET of this node is for; empty for any other message. Valid as long as the driver has the message.
    pub fn reply_memory(&self) -> MemSlice<'_> {
        match (&self.role, self.head.header.body) {
            (Role::Request(request), Body::Get { sink_length, .. }) => {
                request.md.memory().slice(0, sink_length)
            }
            _ => MemSlice::EMPTY,
        }
    }

    /// The MD of [`OutgoingMessage::payload`] and [`OutgoingMessage::reply_memory`]; `None` without one, and for the payload of a
    /// REPLY that was fetched ([`crate::memory::ReplyMemory`]), which is valid only as long as the driver has the message.
    pub fn memory_owner(&self) -> Option<MemoryOwner> {
        if let Role::Response(Response { get: Some(get), .. }) = &self.role
            && get.operation.fetched.is_some()
        {
            return None;
        }
        self.md().map(|md| md.memory_owner())
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

    /// Removes the id, under which no byte was sent: the message is sent as a new one.
    pub fn forget_message_id(&mut self) {
        self.message_id = None;
        if matches!(self.origin, KnownOrigin::Implied(_)) {
            self.origin = KnownOrigin::None;
        }
    }

    /// Whether the next hop is a gateway.
    pub fn is_routed(&self) -> bool {
        self.next_hop.nid.net() != self.head.header.dest_nid.net()
    }

    /// Records that the next hop is a gateway of this library, which will confirm the message; `named` is the driver's name for
    /// the message. Called each time that it is sent to such a gateway.
    pub fn expect_confirmation(&mut self, named: MessageOrigin) {
        if self.origin == KnownOrigin::None {
            self.origin = KnownOrigin::Implied(named);
        }
        if let Some(gateway) = &mut self.gateway {
            gateway.confirms = true;
        }
    }

    /// The origin that the driver sends with the message.
    pub fn carried_origin(&self) -> Option<CarriedOrigin> {
        match self.origin {
            KnownOrigin::None | KnownOrigin::Implied(_) => None,
            KnownOrigin::Carried(origin) => {
                Some(CarriedOrigin { origin, may_have_arrived: self.may_have_arrived })
            }
        }
    }

    /// Whether the message must not be sent without its origin: the destination may have it, and recognises a copy by the origin.
    pub fn needs_origin(&self) -> bool {
        self.carried_origin().is_some_and(|carried| carried.may_have_arrived)
    }

    /// Whether the message is a recovery ping. Its failure is not logged: the interface is known to be unhealthy.
    pub const fn is_recovery_ping(&self) -> bool {
        matches!(self.role, Role::Request(Request { recovery: true, .. }))
    }

    /// Whether the owner of the MD has unlinked it: a driver need not try to send the message any longer.
    pub fn is_given_up(&self) -> bool {
        self.md().is_some_and(|md| md.is_aborted())
    }
}

/// Methods about sending.
impl OutgoingMessage {
    /// Whether the message may have been sent to its destination without a gateway.
    pub(crate) fn may_be_with_peer(&self) -> bool {
        self.message_id.is_some() && !self.is_routed() && !self.is_forwarded()
    }

    /// Whether the gateway that the message was sent to will confirm it.
    pub(crate) fn awaits_confirmation(&self) -> bool {
        self.gateway.is_some_and(|gateway| gateway.confirms)
    }

    /// Gives the message another peer NI. One that counts it as a pending response still does.
    pub(crate) fn change_peer_ni(&mut self, peer_ni: Option<Arc<PeerNi>>) {
        let earlier = std::mem::replace(&mut self.head.peer_ni, peer_ni);
        if let Role::Response(Response { asker: asker @ Asker::OfMessage, .. }) = &mut self.role {
            *asker = earlier.map_or(Asker::None, Asker::Other);
        }
    }

    /// Records that an attempt to send the message failed. If a gateway may have the message, it is sent as a copy from now on.
    pub(crate) fn note_failure(&mut self, failure: SendFailure) {
        let delivery = failure.delivery;
        let was_sent = !matches!(delivery, Delivery::NotSent | Delivery::NeedsOrigin | Delivery::DoesNotFit);
        if !self.is_routed() && !self.is_forwarded() || !was_sent {
            return;
        }
        if delivery != Delivery::Returned {
            self.may_have_arrived = true;
            self.first_failure.get_or_insert(failure);
        }
        self.gateway = None;
        if self.is_routed()
            && let Some(origin) = self.origin.name()
        {
            self.origin = KnownOrigin::Carried(origin);
            self.message_id = None;
        }
    }

    /// Gives a message that comes from another node the origin that goes with it.
    pub(super) fn carry(&mut self, carried: Option<CarriedOrigin>) {
        let Some(CarriedOrigin { origin, may_have_arrived }) = carried else { return };
        self.origin = KnownOrigin::Carried(origin);
        self.may_have_arrived = may_have_arrived;
    }

    /// The length of the message on the wire in bytes, header included.
    pub(crate) const fn wire_len(&self) -> u64 {
        HEADER_LEN as u64 + self.head.header.payload_length as u64
    }
}

impl Deref for OutgoingMessage {
    type Target = MessageHead;

    fn deref(&self) -> &MessageHead {
        &self.head
    }
}

impl DerefMut for OutgoingMessage {
    fn deref_mut(&mut self) -> &mut MessageHead {
        &mut self.head
    }
}

impl Default for OutgoingMessage {
    fn default() -> Self {
        Self {
            head: MessageHead::default(),
            role: Role::default(),
            next_hop: ProcessId { nid: Nid::LOOPBACK, pid: Pid(0) },
            held: HeldCredits::default(),
            message_id: None,
            deadline: Time::START,
            begun: None,
            waiting_since: None,
            attempts: Attempts::default(),
            origin: KnownOrigin::None,
            may_have_arrived: false,
            first_failure: None,
            gateway: None,
        }
    }
}

impl Part for OutgoingMessage {
    fn of(memory: &Memory) -> &Self {
        &memory.outgoing
    }

    fn of_mut(memory: &mut Memory) -> &mut Self {
        &mut memory.outgoing
    }

    fn head_mut(&mut self) -> &mut MessageHead {
        &mut self.head
    }

    #[inline]
    fn clear(&mut self) {
        let Self {
            head,
            role: _,
            next_hop: _,
            held,
            message_id,
            deadline: _,
            begun,
            waiting_since,
            attempts,
            origin,
            may_have_arrived,
            first_failure,
            gateway,
        } = self;
        head.clear();
        *held = HeldCredits::default();
        *message_id = None;
        (*begun, *waiting_since) = (None, None);
        attempts.clear();
        *origin = KnownOrigin::None;
        *may_have_arrived = false;
        *first_failure = None;
        *gateway = None;
        self.begin(Role::default());
    }
}
