//! Receiving: the path of an arriving message from the driver to its memory and its response.

use crate::core::Core;
use crate::event::{Event, EventKind, EventParty};
use crate::health::SendFailure;
use crate::memory::{Access, MdHandle, MdOptions, MdSpec, PortalPlace, ResponseKind};
use crate::model::lnd::{DeferredRx, RxAction, Upcalls, Violation};
use crate::model::message::{Message, TakenCredits};
use crate::model::{CarriedOrigin, Confirmation, Ni, Provenance};
use crate::objects::{Delayed, DropReason, Found, Incoming, MatchRequest};
use crate::select;
use crate::stats::{Outcome, Partial};
use lnet_log::LogClass;
use lnet_wire::{Body, Errno, Header, MAX_PAYLOAD, NetId, Nid, ProcessId, WireHandle};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

/// The result of the search for the memory of an arriving message.
pub(crate) enum Arrival {
    Wanted(Box<Message>),
    Dropped(DropReason, Box<Message>),
}

/// The node that a message with a valid header is for.
#[derive(Debug, PartialEq, Eq)]
enum Inspection {
    ForMe,
    /// The message is for another node: this one forwards it, if it is a router.
    ForAnother,
}

impl Upcalls for Core {
    fn receive(
        &self,
        ni: &Arc<Ni>,
        from: Nid,
        header: &Header,
        provenance: &Provenance,
        make_deferred: &dyn Fn() -> Arc<dyn DeferredRx>,
    ) -> RxAction {
        if self.is_ending() {
            return RxAction::Reject(Violation::ShuttingDown);
        }
        let inspection = match check_header(header, ni.nid(), |nid| self.topology.is_own(nid)) {
            Ok(inspection) => inspection,
            Err(violation) => {
                self.message_counters.error();
                return RxAction::Reject(violation);
            }
        };
        if self.fault_drops_incoming(ni, header) {
            if let (Inspection::ForAnother, Some(lnd), Some(name)) = (inspection, ni.lnd(), provenance.hop) {
                // Confirmed, as if the message had been lost behind this gateway.
                lnd.confirm(from, name, Confirmation::Delivered);
            }
            return RxAction::Discard;
        }
        let Some(mut message) = self.incoming(ni, from, header) else {
            self.message_counters.error();
            self.env.log(
                LogClass::PeerLimit,
                from,
                format_args!("message from {from} dropped (this node knows as many peers as it may)"),
            );
            return RxAction::Discard;
        };
        let provenance = &self.with_refusals(&message, provenance);
        if inspection == Inspection::ForAnother {
            return self.forward(ni, message, provenance, make_deferred);
        }
        if header.src_nid.is_loopback() && !ni.nid().is_loopback() {
            return self.discard(message, "source is the loopback, but it came from the network");
        }
        if self.fail_rules.hits(header.src_nid) {
            return self.discard(message, "its source is set to fail");
        }
        if self.came_asymmetrically(header.src_nid.net(), from) {
            return self
                .discard(message, "it came by a gateway that no route to the net of its source names");
        }
        self.note_initiator(from, header);
        if self.exceeds_response_limit(&message) {
            self.env.log(
                LogClass::RepliesUnread,
                from,
                format_args!(
                    "request from {from} dropped (it does not receive the replies that it requested before)"
                ),
            );
            self.forget_dropped(message);
            return RxAction::Discard;
        }
        let believed = provenance.carried.filter(|carried| !carried.origin.is_refused());
        if let Some(CarriedOrigin { origin, .. }) = believed {
            message.arrives_as = Some(origin);
            message = match self.unless_duplicate(origin, message, make_deferred) {
                Ok(message) => message,
                Err(action) => return action,
            };
        }
        match self.delay_by_fault_rule(message, make_deferred) {
            Some(message) => self.deliver(message, make_deferred),
            None => RxAction::Defer,
        }
    }

    fn received(&self, mut message: Box<Message>, result: Result<(), Errno>) {
        match (message.arrives_as, result) {
            (None, _) => {}
            (Some(origin), Ok(())) => self.note_arrival(origin, &mut message),
            (Some(origin), Err(_)) => match self.keep_partial(origin, message) {
                Some(failed) => message = failed,
                None => return,
            },
        }
        self.finish_received(message, result);
    }

    fn finalize(&self, message: Box<Message>, result: Result<(), SendFailure>) {
        self.end(message, result);
    }

    fn lnd_timeout(&self) -> Duration {
        Duration::from_secs(self.settings().lnd_timeout().into())
    }

    fn is_late(&self, message: &Message) -> bool {
        self.env.now() >= message.deadline
    }

    fn path_is_unresponsive(&self, ni: &Arc<Ni>, peer: Nid) -> bool {
        let all_may_move =
            self.topology.peer_ni(peer).is_some_and(|peer_ni| self.note_path_unresponsive(ni, &peer_ni));
        self.lose_confirmations(ni, peer);
        all_may_move
    }

    fn path_is_responsive(&self, ni: &Arc<Ni>, peer: Nid) {
        if let Some(peer_ni) = self.topology.peer_ni(peer) {
            self.health.path_is_responsive(&self.env, ni.nid(), &peer_ni);
            peer_ni.trust_from(ni);
        }
    }

    fn path_is_late(&self, ni: &Arc<Ni>, peer: Nid) -> bool {
        self.topology.peer_ni(peer).is_some_and(|peer_ni| self.note_path_late(ni, &peer_ni))
    }

    fn may_change_path(&self, message: &Message) -> bool {
        self.topology.may_change_path(message)
    }

    fn release_credits(&self, credits: Vec<TakenCredits>) {
        self.release_taken(credits);
    }

    fn confirmed(&self, from: Nid, id: NonZeroU64, confirmation: Confirmation) {
        self.take_confirmation(from, id, confirmation);
    }

    fn count_partial(&self, change: Partial) {
        self.message_counters.partial(change);
    }

    fn deferred_is_lost(&self) {
        self.note_lost_deferred();
    }

    fn connected(&self, _: &Arc<Ni>, peer: Nid, incarnation: u64) {
        self.note_connected(peer, incarnation);
    }

    fn is_for_earlier_incarnation(&self, message: &Message) -> bool {
        self.is_by_old_list(message)
    }

    fn connections_ended(&self, ni: &Arc<Ni>, peer: Nid) {
        if let Some(peer_ni) = self.topology.peer_ni(peer) {
            // This comes before the loss of confirmations: a message that is about to wait for one checks the epoch afterwards.
            peer_ni.note_connections_ended();
            self.ask_gateway(&peer_ni);
        }
        self.lose_confirmations(ni, peer);
    }
}

impl Core {
    /// Completes a message whose payload has been received, or has finally failed.
    pub(crate) fn finish_received(&self, message: Box<Message>, result: Result<(), Errno>) {
        self.count(&message, if result.is_ok() { Outcome::Received } else { Outcome::Dropped });
        match (&result, &message.ni, &message.peer_ni) {
            (Err(_), ..) => self.message_counters.error(),
            (Ok(()), Some(ni), Some(peer_ni)) => {
                self.health.heard(&self.env, &self.topology, ni, peer_ni);
                let source = message.header.src_nid;
                if self.gateway_checks.any_down() {
                    self.recheck_gateway_now(peer_ni, source != peer_ni.nid());
                }
                if source.net() != peer_ni.nid().net()
                    && !message.is_forwarded()
                    && let Some(its) = self.topology.peer_ni(source)
                {
                    self.health.heard_behind_gateway(&self.env, &its);
                }
            }
            _ => {}
        }
        if message.is_forwarded() {
            return self.forward_received(message, result);
        }
        match message.header.body {
            Body::Put { ack, .. } => self.put_received(message, ack, result),
            Body::Get { reply, .. } if result.is_ok() => self.reply_to(message, reply),
            _ => self.respond_to_received(message, result),
        }
    }

    /// Finds the memory for the payload of a message that is for this node and not delayed.
    pub(crate) fn deliver(
        &self,
        message: Box<Message>,
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
            Arrival::Wanted(message) => RxAction::Deliver(message),
            Arrival::Dropped(why, message) => self.discard(message, why),
        }
    }

    /// Gives a PUT or GET the memory that was found for it.
    pub(crate) fn arrival(&self, mut message: Box<Message>, found: Found, initiator: Nid) -> Arrival {
        let Found::Md { md, offset, length, spec, last } = found else {
            return Arrival::Dropped(DropReason::TooLong, message);
        };
        if last {
            self.objects.remove_md(&md);
        }
        let event = arrival_event(&message, initiator, md.handle(), spec);
        message.event = Some(Event { offset, mlength: length, ..event });
        message.offset = offset;
        // The memory of a GET is read later, by the REPLY.
        message.length = if matches!(message.header.body, Body::Put { .. }) { length } else { 0 };
        message.md = Some(md);
        Arrival::Wanted(message)
    }

    /// Logs that an arrived message is dropped, counts it, and recycles it (dbg-025).
    pub(crate) fn count_drop(&self, message: Box<Message>, why: impl Into<DropReason>) {
        let (header, kind) = (&message.header, message.header.body.kind());
        let (from, to) = (header.src_nid, header.dest_nid);
        let length = match header.body {
            Body::Get { sink_length, .. } => sink_length,
            _ => header.payload_length,
        };
        let why: DropReason = why.into();
        let (cause, remedy) = (why.text(), why.remedy());
        match (PortalPlace::of(&header.body), remedy) {
            (Some(place), Some(remedy)) => self.env.log(
                LogClass::MessageDropped,
                from,
                format_args!(
                    "{kind} {from} -> {to} of {length} bytes dropped ({cause}); {place}; its sender gets no answer: {remedy}"
                ),
            ),
            _ => self.env.log(
                drop_class(&header.body),
                from,
                format_args!("{kind} {from} -> {to} of {length} bytes dropped ({cause})"),
            ),
        }
        self.forget_dropped(message);
    }

    fn forget_dropped(&self, mut message: Box<Message>) {
        self.count(&message, Outcome::Dropped);
        let peer_ni = message.peer_ni.take();
        self.recycle(message, peer_ni.as_ref());
    }

    /// Whether a message from the net `source` is to be dropped because it came by a node through which this node has no route to
    /// that net (`drop_asym_route`, 3.7).
    fn came_asymmetrically(&self, source: NetId, from: Nid) -> bool {
        source != from.net() && self.settings().drop_asym_route && !self.topology.has_route_over(source, from)
    }

    pub(crate) fn discard(&self, message: Box<Message>, why: impl Into<DropReason>) -> RxAction {
        self.count_drop(message, why);
        RxAction::Discard
    }

    fn incoming(&self, ni: &Arc<Ni>, from: Nid, header: &Header) -> Option<Box<Message>> {
        let peer_ni = if from.is_loopback() { None } else { Some(self.sender(from, ni)?) };
        let mut message = self.new_message(peer_ni.as_ref(), *header);
        message.next_hop = ProcessId { nid: from, pid: header.src_pid };
        message.ni = Some(Arc::clone(ni));
        message.peer_ni = peer_ni;
        Some(message)
    }

    fn find_memory(
        &self,
        portal: u32,
        message: Box<Message>,
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
        let arrival = match incoming {
            Incoming::Matched(found) => self.arrival(message, found, request.initiator.nid),
            Incoming::Dropped(why) => Arrival::Dropped(why, message),
            Incoming::Held => return RxAction::Defer,
        };
        match arrival {
            Arrival::Wanted(message) => RxAction::Deliver(message),
            Arrival::Dropped(why, message) => self.discard(message, why),
        }
    }

    /// The match request of a PUT or GET, and whether it may wait at a lazy portal (TRAP-15).
    fn request_of(&self, message: &Message) -> Option<(MatchRequest, bool)> {
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
    pub(crate) fn primary_of(&self, message: &Message) -> Nid {
        let source = message.header.src_nid;
        match &message.peer_ni {
            Some(peer_ni) if peer_ni.nid() == source => peer_ni.primary(),
            _ => self.topology.peers().primary(source),
        }
    }

    /// Finds the MD that an ACK or REPLY belongs to (MA-42).
    fn find_request_md(&self, handle: WireHandle, kind: ResponseKind, mut message: Box<Message>) -> Arrival {
        if handle.interface_cookie != self.env.config().interface_cookie {
            return Arrival::Dropped("response to a former instance of this node".into(), message);
        }
        let Some(md) = self.objects.md(MdHandle::from_cookie(handle.object_cookie)) else {
            return Arrival::Dropped("no MD waits for this response".into(), message);
        };
        let Some((length, spec)) = md.commit_response(kind, message.header.payload_length) else {
            return Arrival::Dropped(
                "its MD did not request it, is exhausted, or is too short".into(),
                message,
            );
        };
        let event = arrival_event(&message, self.primary_of(&message), md.handle(), spec);
        message.event = Some(match message.header.body {
            Body::Ack { accepted, .. } => Event { mlength: accepted, ..event },
            _ => Event { mlength: length, ..event },
        });
        message.length = length;
        message.md = Some(md);
        Arrival::Wanted(message)
    }

    /// Reports the PUT event, then sends the ACK, if one is requested and the PUT succeeded.
    fn put_received(&self, mut message: Box<Message>, ack: Option<WireHandle>, result: Result<(), Errno>) {
        let (Some(md), Some(event)) = (message.md.take(), message.event.take()) else { return };
        let ack = ack.filter(|_| result.is_ok() && !md.options().has(MdOptions::ACK_DISABLE));
        if ack.is_some() {
            // Counted before the event: if its handler shuts the node down, the ACK is still sent.
            self.count_response(&mut message);
        }
        self.complete(&md, event, result);
        drop(md);
        match ack {
            Some(handle) => {
                let body = Body::Ack { handle, match_bits: event.match_bits, accepted: event.mlength };
                message.length = 0;
                self.respond(message, body, 0);
            }
            None => self.forget(message),
        }
    }

    /// Sends the REPLY to a GET; the GET event is reported when it has left.
    fn reply_to(&self, mut message: Box<Message>, handle: WireHandle) {
        let length = message.event.as_ref().map_or(0, |event| event.mlength);
        message.length = length;
        self.count_response(&mut message);
        self.respond(message, Body::Reply { handle }, length);
    }

    /// Turns a received message into its response: from the NID that the message was sent to, to the NID that it came from,
    /// on the path on which it came (wire-tcp 5.7).
    fn respond(&self, mut message: Box<Message>, body: Body, payload_length: u32) {
        let question = message.header;
        message.header = Header {
            dest_nid: question.src_nid,
            src_nid: question.dest_nid,
            dest_pid: question.src_pid,
            src_pid: self.env.pid(),
            payload_length,
            body,
        };
        let asker = question.src_nid;
        // A node that sends requests from many unknown NIDs gets its responses by the interface on which they came, and no
        // peers are created for these NIDs.
        if asker.net() == question.dest_nid.net()
            && asker != message.next_hop.nid
            && let Some(peer_ni) = self.topology.peer_ni(asker)
        {
            message.next_hop.nid = asker;
            message.peer_ni = Some(peer_ni);
        }
        if let (Some(ni), Some(peer_ni)) = (&message.ni, &message.peer_ni) {
            self.topology.with_nets(|nets| select::answered(nets, ni, peer_ni));
        }
        message.deadline = self.deadline_from_now();
        self.launch_response(message);
    }

    fn respond_to_received(&self, mut message: Box<Message>, result: Result<(), Errno>) {
        if let (Some(md), Some(event)) = (message.md.take(), message.event.take()) {
            self.complete(&md, event, result);
        }
        self.forget(message);
    }

    pub(crate) fn forget(&self, mut message: Box<Message>) {
        let peer_ni = message.peer_ni.take();
        self.recycle(message, peer_ni.as_ref());
    }
}

/// The log class of a dropped message. A response that nothing waits for is no failure: its request has ended before.
const fn drop_class(body: &Body) -> LogClass {
    match body {
        Body::Ack { .. } | Body::Reply { .. } => LogClass::ResponseUnclaimed,
        Body::Put { .. } | Body::Get { .. } => LogClass::MessageDropped,
    }
}

/// The event of a message that arrived from the peer with the primary NID `initiator`, without the fields that the MD
/// decides (c-abi 2.7).
fn arrival_event(message: &Message, initiator: Nid, md_handle: MdHandle, md: MdSpec) -> Event {
    let header = &message.header;
    let party = |nid| EventParty { nid: Some(nid), pid: header.src_pid };
    let (kind, portal, match_bits, rlength, hdr_data) = match header.body {
        Body::Put { portal, match_bits, hdr_data, .. } => {
            (EventKind::Put, portal, match_bits, header.payload_length, hdr_data)
        }
        Body::Get { portal, match_bits, sink_length, .. } => {
            (EventKind::Get, portal, match_bits, sink_length, 0)
        }
        Body::Ack { match_bits, .. } => (EventKind::Ack, 0, match_bits, 0, 0),
        Body::Reply { .. } => (EventKind::Reply, 0, 0, header.payload_length, 0),
    };
    Event {
        kind,
        target: EventParty { nid: Some(header.dest_nid), pid: header.dest_pid },
        initiator: party(initiator),
        source: party(header.src_nid),
        sender: Some(message.next_hop.nid),
        portal,
        match_bits,
        rlength,
        mlength: 0,
        md_handle,
        md,
        hdr_data,
        status: Ok(()),
        unlinked: false,
        offset: 0,
        sequence: 0,
    }
}

/// Makes the checks that close the connection if they fail, in the order of wire-tcp 5.1.
fn check_header(
    header: &Header,
    my_nid: Nid,
    is_own: impl FnOnce(Nid) -> bool,
) -> Result<Inspection, Violation> {
    match header.body {
        Body::Ack { .. } | Body::Get { .. } if header.payload_length > 0 => {
            Err(Violation::UnexpectedPayload(header.payload_length))
        }
        _ if header.payload_length > MAX_PAYLOAD => Err(Violation::PayloadTooLong(header.payload_length)),
        _ if header.dest_nid == my_nid => Ok(Inspection::ForMe),
        _ if header.dest_nid.net() == my_nid.net() => Err(Violation::ShouldHaveGoneDirect),
        _ if is_own(header.dest_nid) => Err(Violation::WrongInterface),
        _ => Ok(Inspection::ForAnother),
    }
}
