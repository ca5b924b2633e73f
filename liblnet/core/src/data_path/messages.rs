//! Creating, counting and recycling messages.

use crate::core::Core;
use crate::health::Delivery;
use crate::model::{Message, MessagePool, PeerNi};
use lnet_wire::{Body, Header};
use std::sync::Arc;

/// The number of pending responses that each peer may have, however many other peers have: twice the default credits of a peer.
const MIN_PENDING_RESPONSES_PER_PEER: u32 = 16;

impl Core {
    /// A message to or from `peer_ni`, or over the loopback.
    pub(crate) fn new_message(&self, peer_ni: Option<&Arc<PeerNi>>, header: Header) -> Box<Message> {
        let mut message = self.spare_of(peer_ni).take(header);
        message.counted = self.message_counters.enter(peer_ni.map_or(0, |peer_ni| peer_ni.number()));
        message
    }

    /// Recycles a message that refers to no MD any more into the pool of `peer_ni`.
    pub(crate) fn recycle(&self, mut message: Box<Message>, peer_ni: Option<&Arc<PeerNi>>) {
        if let Some(asker) = message.responds_to.take() {
            asker.end_response();
            self.message_counters.end_response(message.counted);
        }
        if let Some(origin) = message.arrives_as {
            self.note_arrival(origin, &mut message);
        }
        if message.previous_hop.is_some() {
            self.confirm_forwarded(&mut message, Err(Delivery::NotSent));
        }
        if let Some(buffer) = message.buffer.take() {
            self.return_buffer(buffer);
        }
        self.message_counters.leave(message.counted);
        self.spare_of(peer_ni).put(message);
    }

    /// Counts the message as a pending response to `asker` until it is recycled.
    pub(crate) fn count_response(&self, message: &mut Message) {
        if let Some(asker) = &message.peer_ni {
            asker.begin_response();
            self.message_counters.begin_response(message.counted);
            message.responds_to = Some(Arc::clone(asker));
        }
    }

    /// Whether the response to `message` would exceed the limits on pending responses: that of its peer, or, beyond the few that
    /// each peer may always have, that of the node.
    pub(crate) fn exceeds_response_limit(&self, message: &Message) -> bool {
        let wants_response = matches!(message.header.body, Body::Get { .. } | Body::Put { ack: Some(_), .. });
        wants_response
            && message.peer_ni.as_ref().is_some_and(|asker| {
                let pending = asker.pending_responses();
                pending >= self.env.config().max_pending_responses_per_peer
                    || pending >= MIN_PENDING_RESPONSES_PER_PEER
                        && self
                            .message_counters
                            .exceeds_response_limit(message.counted, self.env.config().max_pending_responses)
            })
    }

    fn spare_of<'a>(&'a self, peer_ni: Option<&'a Arc<PeerNi>>) -> &'a MessagePool {
        peer_ni.map_or(&self.spare, |peer_ni| peer_ni.spare())
    }
}
