//! The message of a request: its header, its deadline, and the tracking of its response.

use super::DataPath;
use crate::environment::time::Time;
use crate::health::response;
use crate::md::{Md, ResponseKind, ResponseTracker};
use crate::memory::PortalPlace;
use crate::model::message::{OutgoingMessage, Pooled, Request, Role, SendReport};
use crate::model::{PeerNi, RequestTerms, response_to};
use crate::select::PathEnds;
use lnet_wire::{Header, Pid, ProcessId};
use std::sync::Arc;

impl DataPath {
    /// Makes a message of a request, with the path that it takes. Its response is tracked.
    #[inline(always)]
    pub(super) fn address(
        &self,
        md: Arc<Md>,
        terms: &RequestTerms,
        ends: PathEnds,
    ) -> Pooled<OutgoingMessage> {
        self.address_tracked(md, terms, ends, false)
    }

    /// Does the same; `is_tracked`: whether the response is tracked at the NID that the request goes to, whichever that is.
    #[inline(always)]
    pub(super) fn address_tracked(
        &self,
        md: Arc<Md>,
        terms: &RequestTerms,
        ends: PathEnds,
        is_tracked: bool,
    ) -> Pooled<OutgoingMessage> {
        let PathEnds { ni, peer_ni, destination, is_routed } = ends;
        let pid = terms.target.pid;
        let nids = match (&peer_ni, terms.target.nid) {
            (None, Some(nid)) => (terms.source.unwrap_or(nid), nid),
            _ => (ni.nid(), destination),
        };
        let destination = ProcessId { nid: nids.1, pid };
        let source = ProcessId { nid: nids.0, pid: self.sender_pid(&md, peer_ni.is_none()) };
        let mut message = self.message_of(md, terms, peer_ni.as_ref(), source, destination);
        if is_routed && let Some(gateway) = &peer_ni {
            message.next_hop = ProcessId { nid: gateway.nid(), pid: Pid::LUSTRE };
        }
        message.ni = Some(ni);
        message.peer_ni = peer_ni;
        let is_tracked_as_named =
            || terms.tracker.is_some() && terms.target.nid == Some(message.header.dest_nid);
        match is_tracked || is_tracked_as_named() {
            true => self.health.watch(),
            false => self.track(&message),
        }
        if message.is_reserved() {
            self.note_request(&message);
        }
        message
    }

    /// Makes a message of a request, without a path beyond the NIDs in the header.
    #[inline(always)]
    pub(super) fn message_of(
        &self,
        md: Arc<Md>,
        terms: &RequestTerms,
        peer_ni: Option<&Arc<PeerNi>>,
        source: ProcessId,
        destination: ProcessId,
    ) -> Pooled<OutgoingMessage> {
        let outgoing = &terms.outgoing;
        let mut message: Pooled<OutgoingMessage> = self.blank_message(peer_ni);
        let Header { dest_nid, src_nid, dest_pid, src_pid, payload_length, body } = &mut message.header;
        (*dest_nid, *dest_pid) = (destination.nid, destination.pid);
        (*src_nid, *src_pid) = (source.nid, source.pid);
        (*payload_length, *body) = (outgoing.length, outgoing.body);
        message.next_hop = destination;
        message.deadline = terms.deadline;
        message.begun = terms.begun;
        message.begin(Role::Request(Request {
            md,
            report: Some(SendReport { target: terms.target.nid, threshold: terms.threshold }),
            source: terms.source,
            recovery: terms.recovery,
        }));
        message
    }

    /// The PID that a message with this MD comes from. Other nodes get that of the node: they connect to it for their responses, and know no
    /// other.
    pub(crate) fn sender_pid(&self, md: &Md, stays_on_node: bool) -> Pid {
        let node = self.env.pid();
        if stays_on_node { md.pid(node) } else { node }
    }

    /// The deadline of an operation that begins now.
    pub(crate) fn deadline_from_now(&self) -> Time {
        self.env.now() + self.env.transaction_timeout()
    }

    /// Makes the MD wait for the response until the deadline of the request, if the response is tracked.
    #[inline(always)]
    pub(super) fn track(&self, message: &OutgoingMessage) {
        let body = &message.header.body;
        let (Some(response), Some(place)) = (response_to(body), PortalPlace::of(body)) else { return };
        if let Some(md) = message.md().filter(|md| self.is_tracked(md, response)) {
            md.track(ResponseTracker { deadline: message.deadline, asked: message.header.dest_nid, place });
            self.health.watch();
        }
    }

    /// Whether this response to a request with this MD is tracked.
    #[inline(always)]
    pub(super) fn is_tracked(&self, md: &Md, response: ResponseKind) -> bool {
        response::is_tracked(self.env.response_tracking(), md.options(), response)
    }

    /// Records a request to the reserved portal that is about to be sent. A copy of a request of discovery may be sent from
    /// another source; a copy of a program's request keeps the requested source.
    pub(crate) fn note_request(&self, message: &OutgoingMessage) {
        if !message.is_reserved() {
            return;
        }
        let source = message.source().filter(|_| !self.is_of_discovery(message));
        self.health.note_request(&self.env, message, source);
    }
}
