//! Measuring delays: of requests of this node, and of messages that wait.
//!
//! A delay is counted for the interface that sends the message or has received the response, and for a peer NI: the next hop of a
//! message that waits for a credit or a route, or has been sent; the node that has responded; the previous hop of a message that waits for
//! a buffer.

use super::DataPath;
use crate::environment::time::Time;
use crate::md::Md;
use crate::model::message::{IncomingMessage, OutgoingMessage, TransitMessage};
use crate::model::{DiscoveryWait, Ni, PeerNi, RequestTerms};
use lnet_wire::latency::Delay;
use lnet_wire::{Body, MessageType};

impl DataPath {
    /// Decides whether the delays of a request to `destination` are measured, before it waits for anything.
    #[inline(always)]
    pub(super) fn begin_measuring(
        &self,
        md: &Md,
        wait: DiscoveryWait,
        has_response: bool,
        destination: &PeerNi,
    ) -> Option<Time> {
        let is_measured = wait == DiscoveryWait::IfNeeded && destination.latencies().measures_request();
        is_measured.then(|| self.measure(md, has_response))
    }

    #[cold]
    fn measure(&self, md: &Md, has_response: bool) -> Time {
        let begun = self.env.exact_now();
        if has_response {
            md.measure_response(begun);
        }
        begun
    }

    /// Counts the wait of a request for discovery, which has ended, if it was measured.
    pub(super) fn count_discovery_wait(&self, terms: &RequestTerms, ni: &Ni, destination: Option<&PeerNi>) {
        if terms.wait != DiscoveryWait::IfNeeded
            && let (Some(begun), Some(destination)) = (terms.begun, destination)
        {
            self.count_delay(Delay::DiscoveryWait, begun, ni, destination);
        }
    }

    /// Begins to measure the wait of a message for a credit, if that of this message is measured.
    #[cold]
    pub(super) fn begin_credit_wait(&self, message: &mut OutgoingMessage, peer_ni: &PeerNi) {
        if message.begun.is_some() || peer_ni.latencies().measures_wait() {
            message.waiting_since = Some(self.env.exact_now());
        }
    }

    /// Begins to measure the wait of a message for a route, unless that is measured already.
    pub(super) fn begin_route_wait(&self, message: &mut OutgoingMessage) {
        message.waiting_since.get_or_insert_with(|| self.env.exact_now());
    }

    /// Begins to measure the wait of a message for a router buffer.
    pub(super) fn begin_buffer_wait(&self, message: &mut TransitMessage) {
        let measured = message.peer_ni.as_ref().is_some_and(|peer_ni| peer_ni.latencies().measures_wait());
        message.waiting_since = measured.then(|| self.env.exact_now());
    }

    /// Counts the wait of a message for a credit or a route, which has ended, if it was measured.
    pub(super) fn count_wait(&self, delay: Delay, message: &mut OutgoingMessage) {
        if let Some(since) = message.waiting_since.take()
            && let (Some(ni), Some(peer_ni)) = (&message.ni, &message.peer_ni)
        {
            self.count_delay(delay, since, ni, peer_ni);
        }
    }

    /// Counts the wait of a message for a router buffer, which has ended, if it was measured.
    pub(super) fn count_buffer_wait(&self, message: &mut TransitMessage) {
        if let Some(since) = message.waiting_since.take()
            && let (Some(ni), Some(peer_ni)) = (&message.ni, &message.peer_ni)
        {
            self.count_delay(Delay::BufferWait, since, ni, peer_ni);
        }
    }

    /// Counts the delay of a PUT that has been sent, if it was measured.
    pub(super) fn count_sent(&self, message: &mut OutgoingMessage) {
        let Some(begun) = message.begun.take() else { return };
        if message.header.body.kind() == MessageType::Put
            && let (Some(ni), Some(peer_ni)) = (&message.ni, &message.peer_ni)
        {
            self.count_delay(Delay::PutSent, begun, ni, peer_ni);
        }
    }

    /// Counts the delay of a request whose response has arrived, if it was measured.
    pub(super) fn count_response_delay(&self, message: &mut IncomingMessage) {
        let Some(begun) = message.request_begun.take() else { return };
        let (Some(ni), Some(sender)) = (&message.ni, &message.peer_ni) else { return };
        let source = message.header.src_nid;
        // The response of a node behind a gateway says nothing about the gateway.
        let behind_gateway =
            (sender.nid().net() != source.net()).then(|| self.topology.peer_ni(source)).flatten();
        let delay = match message.header.body {
            Body::Reply { .. } => Delay::GetReply,
            _ => Delay::PutAck,
        };
        self.count_delay(delay, begun, ni, behind_gateway.as_ref().unwrap_or(sender));
    }

    fn count_delay(&self, delay: Delay, since: Time, ni: &Ni, peer_ni: &PeerNi) {
        let lasted = self.env.exact_now().since(since);
        ni.latencies().count(delay, lasted);
        peer_ni.latencies().count(delay, lasted);
    }
}
