//! The memory for an arriving message: matching at a portal for a PUT or GET, the MD of the request for an ACK or REPLY.

use super::DataPath;
use crate::md::{Access, CommittedResponse, ResponseKind};
use crate::memory::{MdHandle, MdOptions};
use crate::model::lnd::{DeferredRx, RxAction};
use crate::model::message::{IncomingMessage, Operation, Pooled};
use crate::objects::{Delayed, DropReason, Incoming, MatchRequest, MatchResult};
use lnet_wire::{Body, MAX_PAYLOAD, Nid, ProcessId, WireHandle};
use std::sync::Arc;

/// The result of the search for the memory of an arriving message.
pub(crate) enum Arrival {
    Wanted(Pooled<IncomingMessage>),
    Dropped(DropReason, Pooled<IncomingMessage>),
}

impl DataPath {
    /// Finds the memory for the payload of a message that is for this node and not delayed.
    pub(crate) fn deliver(
        &self,
        message: Pooled<IncomingMessage>,
        make_deferred: &dyn Fn() -> Arc<dyn DeferredRx>,
    ) -> RxAction {
        let arrival = match message.header.body {
            Body::Put { portal, .. } | Body::Get { portal, .. } => {
                return self.find_memory(portal, message, make_deferred);
            }
            Body::Ack { handle, .. } => self.find_request_md(handle, ResponseKind::Ack, message),
            Body::Reply { handle } => self.find_request_md(handle, ResponseKind::Reply, message),
        };
        match arrival {
            Arrival::Wanted(message) => RxAction::Deliver(message.into()),
            Arrival::Dropped(why, message) => self.discard(message, why),
        }
    }

    /// Gives a PUT or GET the memory that was found for it.
    #[inline(always)]
    pub(crate) fn arrival(
        &self,
        mut message: Pooled<IncomingMessage>,
        found: MatchResult,
        initiator: Nid,
    ) -> Arrival {
        let MatchResult::Md { md, offset, length, threshold, last } = found else {
            return Arrival::Dropped(DropReason::TooLong, message);
        };
        if last {
            self.objects.remove_md(&md);
        }
        message.operation = Some(Operation { md, offset, length, threshold, initiator, fetched: None });
        Arrival::Wanted(message)
    }

    fn find_memory(
        &self,
        portal: u32,
        message: Pooled<IncomingMessage>,
        make_deferred: &dyn Fn() -> Arc<dyn DeferredRx>,
    ) -> RxAction {
        let Ok(portal) = self.objects.portal(portal) else {
            return self.discard(message, DropReason::NoSuchPortal);
        };
        let Some((request, may_wait)) = self.request_of(&message) else {
            return self.discard(message, "not a request");
        };
        let mut message = Some(message);
        let mut delay =
            || message.take().map(|message| Delayed { request, message, deferred: make_deferred() });
        let incoming = portal.find(&request, may_wait, &mut delay);
        let Some(message) = message else { return RxAction::Defer };
        match incoming {
            Incoming::Matched(found) => match self.arrival(message, found, request.initiator.nid) {
                Arrival::Wanted(message) => RxAction::Deliver(message.into()),
                Arrival::Dropped(why, message) => self.discard(message, why),
            },
            Incoming::Dropped(why) => self.discard(message, why),
            Incoming::Held => RxAction::Defer,
        }
    }

    /// The match request of a PUT or GET, and whether it may wait at a lazy portal (TRAP-15).
    fn request_of(&self, message: &IncomingMessage) -> Option<(MatchRequest, bool)> {
        let header = &message.header;
        let (needs, match_bits, length, remote_offset) = match header.body {
            Body::Put { match_bits, offset, .. } => {
                (MdOptions::OP_PUT, match_bits, header.payload_length, offset)
            }
            Body::Get { match_bits, offset, sink_length, .. } => {
                // A REPLY is one message, however large the sink is.
                (MdOptions::OP_GET, match_bits, sink_length.min(MAX_PAYLOAD), offset)
            }
            Body::Ack { .. } | Body::Reply { .. } => return None,
        };
        let initiator = ProcessId { nid: self.primary_of(message), pid: header.src_pid };
        let access = Access { needs, length, remote_offset };
        Some((MatchRequest { initiator, match_bits, access }, needs == MdOptions::OP_PUT))
    }

    /// The primary NID of the node that a message is from (OM-20).
    #[inline(always)]
    pub(crate) fn primary_of(&self, message: &IncomingMessage) -> Nid {
        let source = message.header.src_nid;
        match &message.peer_ni {
            Some(peer_ni) if peer_ni.nid() == source => peer_ni.primary(),
            _ => match &message.behind_gateway {
                Some(peer_ni) => peer_ni.primary(),
                None => self.topology.peers().primary(source),
            },
        }
    }

    /// Finds the MD that an ACK or REPLY belongs to (MA-42).
    fn find_request_md(
        &self,
        handle: WireHandle,
        kind: ResponseKind,
        mut message: Pooled<IncomingMessage>,
    ) -> Arrival {
        if handle.interface_cookie != self.env.config().interface_cookie {
            return Arrival::Dropped("response to a former instance of this node".into(), message);
        }
        let Some(md) = self.objects.md(MdHandle::from_cookie(handle.object_cookie)) else {
            return Arrival::Dropped("no MD waits for this response".into(), message);
        };
        let Some(CommittedResponse { length, threshold, begun }) =
            md.commit_response(kind, message.header.payload_length)
        else {
            return Arrival::Dropped(
                "its MD did not request it, is exhausted, or is too short".into(),
                message,
            );
        };
        let length = match message.header.body {
            Body::Ack { accepted, .. } => accepted,
            _ => length,
        };
        let initiator = self.primary_of(&message);
        message.operation = Some(Operation { md, offset: 0, length, threshold, initiator, fetched: None });
        message.request_begun = begun;
        Arrival::Wanted(message)
    }
}
