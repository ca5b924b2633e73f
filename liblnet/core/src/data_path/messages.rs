//! Creating, counting and recycling messages.

use super::DataPath;
use super::confirm::confirmation_of;
use crate::health::Delivery;
use crate::model::PeerNi;
use crate::model::message::{
    Asker, IncomingMessage, MessageHead, MessagePool, OutgoingMessage, Part, Pooled, Role, TransitMessage,
};
use crate::stats::{MessageCounters, MessageOutcome, ShardId};
use lnet_wire::{Body, Header};
use std::sync::Arc;

/// The number of pending responses that each peer may have, however many other peers have: twice the default credits of a peer.
const MIN_PENDING_RESPONSES_PER_PEER: u32 = 16;

impl DataPath {
    /// A message to or from `peer_ni`, or over the loopback.
    #[inline(always)]
    pub(crate) fn new_message<M: Part>(&self, peer_ni: Option<&Arc<PeerNi>>, header: &Header) -> Pooled<M> {
        let mut message: Pooled<M> = self.blank_message(peer_ni);
        M::head_mut(&mut message).header = *header;
        message
    }

    /// A message whose header the caller writes.
    #[inline(always)]
    pub(crate) fn blank_message<M: Part>(&self, peer_ni: Option<&Arc<PeerNi>>) -> Pooled<M> {
        let mut message: Pooled<M> = self.spare_of(peer_ni).take_with(&self.spare);
        M::head_mut(&mut message).counted =
            self.message_counters.enter(peer_ni.map_or(0, |peer_ni| peer_ni.number()));
        message
    }

    /// Recycles a message into the pool of its peer NI.
    #[inline(always)]
    pub(crate) fn recycle<M: Part>(&self, message: Pooled<M>) {
        self.recycle_with(message, MessageCounters::leave);
    }

    #[inline(always)]
    fn recycle_with<M: Part>(&self, mut message: Pooled<M>, leave: fn(&MessageCounters, ShardId)) {
        let head = M::head_mut(&mut message);
        let peer_ni = head.peer_ni.take();
        leave(&self.message_counters, head.counted);
        self.spare_of(peer_ni.as_ref()).put_with(&self.spare, message);
    }

    /// Ends an outgoing message whose result has been reported and that holds no credits.
    #[inline(always)]
    pub(crate) fn retire(&self, mut message: Pooled<OutgoingMessage>) {
        match &mut message.role {
            Role::Request(_) => {}
            Role::Response(response) => {
                let asker = std::mem::take(&mut response.asker);
                if let Some(asker) = asker.peer_ni(&message) {
                    asker.end_response();
                    return self.recycle_with(message, MessageCounters::leave_response);
                }
            }
            Role::Forwarded(forwarded) => {
                if let Some(buffer) = forwarded.take_buffer() {
                    self.return_buffer(buffer);
                }
            }
        }
        self.recycle(message);
    }

    /// Ends a message for this node that is not received, or whose operation has been reported.
    #[inline(always)]
    pub(crate) fn forget(&self, mut message: Pooled<IncomingMessage>) {
        if let Some(origin) = message.origin.take() {
            self.note_arrival(origin, &message);
        }
        self.recycle(message);
    }

    /// Ends a message for another node that is not forwarded, and tells the node that it came from.
    pub(crate) fn forget_transit(&self, mut message: Pooled<TransitMessage>) {
        if let Some(previous) = message.previous_hop.take() {
            let may_have_arrived = message.origin.is_some_and(|carried| carried.may_have_arrived);
            self.confirm_to(previous, confirmation_of(Err(Delivery::NotSent), may_have_arrived));
        }
        if let Some(buffer) = message.buffer.take() {
            self.return_buffer(buffer);
        }
        self.recycle(message);
    }

    /// Counts the response to the message as pending at the peer NI that it came from, until the response has ended.
    pub(crate) fn count_response(&self, message: &MessageHead) -> Asker {
        let Some(asker) = &message.peer_ni else { return Asker::None };
        asker.begin_response();
        self.message_counters.begin_response(message.counted);
        Asker::OfMessage
    }

    /// Whether the response to `message` would exceed the limits on pending responses: that of its peer, or, beyond the few that
    /// each peer may always have, that of the node.
    #[inline(always)]
    pub(crate) fn exceeds_response_limit(&self, message: &MessageHead) -> bool {
        let Some(asker) = &message.peer_ni else { return false };
        let (pending, most) = (asker.pending_responses(), self.env.config().max_pending_responses_per_peer);
        if pending < most.min(MIN_PENDING_RESPONSES_PER_PEER) {
            return false;
        }
        let wants_response = matches!(message.header.body, Body::Get { .. } | Body::Put { ack: Some(_), .. });
        let exceeds_most_of_all = || {
            let most = self.env.config().max_pending_responses;
            self.message_counters.exceeds_response_limit(message.counted, most)
        };
        wants_response && (pending >= most || exceeds_most_of_all())
    }

    fn spare_of<'a>(&'a self, peer_ni: Option<&'a Arc<PeerNi>>) -> &'a MessagePool {
        peer_ni.map_or(&self.spare, |peer_ni| peer_ni.spare())
    }

    /// Counts a message at its NI and its peer NI.
    #[inline(always)]
    pub(crate) fn count(&self, message: &MessageHead, outcome: MessageOutcome) {
        let kind = message.header.body.kind();
        let bytes = message.header.payload_length;
        if let Some(ni) = &message.ni {
            ni.counters().count(outcome, kind, bytes);
        }
        if let Some(peer_ni) = &message.peer_ni {
            peer_ni.counters().count(outcome, kind, bytes);
        }
    }
}
