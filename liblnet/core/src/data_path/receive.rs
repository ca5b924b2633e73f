//! Receiving: the path of an arriving message from the driver to its memory and its response.

use super::DataPath;
use crate::event::{Event, EventKind, EventParty};
use crate::health::SendFailure;
use crate::md::{Access, CommittedResponse, ResponseKind};
use crate::memory::{MdHandle, MdOptions, MdSpec, PortalPlace};
use crate::model::lnd::{CutThrough, DeferredRx, RxAction, Upcalls, Violation};
use crate::model::message::{
    ArrivingMessage, Asker, IncomingMessage, MessageHead, Operation, OutgoingMessage, Pooled, TakenCredits,
};
use crate::model::{Confirmation, Ni, Onward, PeerNi, Provenance};
use crate::objects::{Delayed, DropReason, Incoming, MatchRequest, MatchResult};
use crate::stats::{MessageOutcome, Partial};
use crate::topology::WayTo;
use lnet_log::LogClass;
use lnet_wire::{Body, Errno, Header, MAX_PAYLOAD, NetId, Nid, Pid, ProcessId, RESERVED_PORTAL, WireHandle};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

/// The result of the search for the memory of an arriving message.
pub(crate) enum Arrival {
    Wanted(Pooled<IncomingMessage>),
    Dropped(DropReason, Pooled<IncomingMessage>),
}

/// The node that a message with a valid header is for.
#[derive(Debug, PartialEq, Eq)]
enum Inspection {
    ForMe,
    /// The message is for another node: this one forwards it, if it is a router. `None`: nothing leads there.
    ForAnother(Option<Onward>),
}

impl Upcalls for DataPath {
    fn receive(
        &self,
        ni: &Arc<Ni>,
        from: Nid,
        header: &Header,
        provenance: &Provenance,
        make_deferred: &dyn Fn() -> Arc<dyn DeferredRx>,
    ) -> RxAction {
        if self.env.is_ending() {
            return RxAction::Reject(Violation::ShuttingDown);
        }
        let mut destination = None;
        let way_to = |nid| {
            let way;
            (way, destination) = self.topology.way_onward(nid);
            way
        };
        let inspection = match check_header(header, ni.nid(), way_to) {
            Ok(inspection) => inspection,
            Err(violation) => {
                self.message_counters.error();
                return RxAction::Reject(violation);
            }
        };
        if self.faults.act_on_arrival() && self.fault_drops_incoming(ni, header) {
            if let (Inspection::ForAnother(_), Some(lnd), Some(name)) = (inspection, ni.lnd(), provenance.hop)
            {
                // Confirmed, as if the message had been lost behind this gateway.
                lnd.confirm(from, name, Confirmation::Delivered);
            }
            return RxAction::Discard;
        }
        let Some(peer_ni) = self.arrival_peer_ni(ni, from) else {
            self.message_counters.error();
            self.env.log(
                LogClass::PeerLimit,
                from,
                format_args!("message from {from} dropped (this node knows as many peers as it may)"),
            );
            return RxAction::Discard;
        };
        let with_refusals;
        let provenance = match provenance.carried {
            None => provenance,
            Some(carried) => {
                with_refusals = self.with_refusals(header, from, peer_ni.as_deref(), provenance, carried);
                &with_refusals
            }
        };
        if let Inspection::ForAnother(onward) = inspection {
            if provenance.reply_here {
                return RxAction::Discard;
            }
            let mut message = self.transit(ni, from, peer_ni, header, provenance);
            message.destination = destination;
            return self.forward(ni, onward, message, make_deferred);
        }
        let mut message = self.incoming(ni, from, peer_ni, header);
        message.reply_here = provenance.reply_here;
        if header.src_nid.is_loopback() && !ni.nid().is_loopback() {
            return self.discard(message, "source is the loopback, but it came from the network");
        }
        if self.fail_rules.hits(header.src_nid) {
            return self.discard(message, "its source is set to fail");
        }
        if header.src_nid.net() != from.net() {
            if self.came_asymmetrically(header.src_nid.net(), from) {
                return self
                    .discard(message, "it came by a gateway that no route to the net of its source names");
            }
            message.behind_gateway = self.topology.peer_ni(header.src_nid);
            if let Some(source) = &message.behind_gateway {
                self.note_initiator(header, source);
            }
        }
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
        let message = match provenance.carried {
            Some(carried) if !carried.origin.is_refused() => {
                match self.unless_duplicate(carried, message, make_deferred) {
                    Ok(message) => message,
                    Err(action) => return action,
                }
            }
            _ => message,
        };
        if self.faults.act_on_arrival() {
            return self.deliver_unless_delayed(message, make_deferred);
        }
        self.deliver(message, make_deferred)
    }

    fn received(&self, message: ArrivingMessage, result: Result<(), Errno>) {
        match message {
            ArrivingMessage::ForThisNode(message) => self.incoming_received(message, result),
            ArrivingMessage::ForAnother(message) => self.transit_received(message, result),
        }
    }

    fn cut_through(&self, message: &mut ArrivingMessage, arrived: usize) -> CutThrough {
        match message {
            ArrivingMessage::ForThisNode(_) => CutThrough::Never,
            ArrivingMessage::ForAnother(message) => Self::cut_through(self, message, arrived),
        }
    }

    fn send_cut_through(&self, message: Pooled<OutgoingMessage>) {
        Self::send_cut_through(self, message);
    }

    fn finalize(&self, message: Pooled<OutgoingMessage>, result: Result<(), SendFailure>) {
        self.end(message, result);
    }

    fn lnd_timeout(&self) -> Duration {
        Duration::from_secs(self.env.settings().lnd_timeout().into())
    }

    fn is_late(&self, message: &OutgoingMessage) -> bool {
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

    fn may_change_path(&self, message: &OutgoingMessage) -> bool {
        self.topology.may_change_path(message)
    }

    fn release_credits(&self, credits: TakenCredits) {
        self.release_taken(credits);
    }

    fn confirmed(&self, from: Nid, id: NonZeroU64, confirmation: Confirmation) {
        self.take_confirmation(from, id, confirmation);
    }

    fn is_of_node(&self, peer: Nid) -> bool {
        !self.topology.is_truncated_nid(peer)
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

    fn is_for_earlier_incarnation(&self, message: &OutgoingMessage) -> bool {
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

impl DataPath {
    /// Handles a message for this node whose payload has been received or has failed.
    #[inline]
    fn incoming_received(&self, mut message: Pooled<IncomingMessage>, result: Result<(), Errno>) {
        match (message.origin, result) {
            (None, _) => {}
            (Some(origin), Ok(())) => {
                message.origin = None;
                self.note_arrival(origin, &message);
            }
            (Some(origin), Err(_)) => match self.keep_partial(origin, message) {
                Some(failed) => message = failed,
                None => return,
            },
        }
        self.finish_received(message, result);
    }

    /// Completes a message for this node whose payload has been received, or has finally failed.
    #[inline(always)]
    pub(crate) fn finish_received(&self, message: Pooled<IncomingMessage>, result: Result<(), Errno>) {
        self.note_received(&message, result);
        if let (Ok(()), Some(peer_ni)) = (result, &message.peer_ni)
            && let Some(source) = &message.behind_gateway
            && source.nid().net() != peer_ni.nid().net()
        {
            self.health.heard_behind_gateway(&self.env, source);
        }
        match message.header.body {
            Body::Put { ack, match_bits, .. } => self.put_received(message, match_bits, ack, result),
            Body::Get { reply, .. } if result.is_ok() => self.reply_to(message, reply),
            _ => self.respond_to_received(message, result),
        }
    }

    /// Counts a message whose payload has been received, or has finally failed, and records that its path works.
    #[inline(always)]
    pub(crate) fn note_received(&self, message: &MessageHead, result: Result<(), Errno>) {
        match result {
            Ok(()) => self.count(message, MessageOutcome::Received),
            Err(_) => self.count(message, MessageOutcome::Dropped),
        }
        match (result, &message.ni, &message.peer_ni) {
            (Err(_), ..) => self.message_counters.error(),
            (Ok(()), Some(ni), Some(peer_ni)) => {
                self.health.heard(&self.env, &self.topology, ni, peer_ni);
                if self.gateway_checks.any_down() {
                    self.recheck_gateway_now(peer_ni, message.header.src_nid != peer_ni.nid());
                }
            }
            _ => {}
        }
    }

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

    /// Logs that an arrived message is dropped, counts it, and recycles it (dbg-025).
    pub(crate) fn count_drop(&self, message: Pooled<IncomingMessage>, why: impl Into<DropReason>) {
        self.log_drop(&message.header, why);
        self.forget_dropped(message);
    }

    /// Logs that a message is dropped that has arrived for this node, or that it does not take for another one (dbg-025).
    pub(crate) fn log_drop(&self, header: &Header, why: impl Into<DropReason>) {
        let kind = header.body.kind();
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
    }

    fn forget_dropped(&self, message: Pooled<IncomingMessage>) {
        self.count(&message, MessageOutcome::Dropped);
        self.forget(message);
    }

    /// Whether a message from the net `source` is to be dropped because it came by a node on another net, through which this node has
    /// no route to `source` (`drop_asym_route`, 3.7).
    fn came_asymmetrically(&self, source: NetId, from: Nid) -> bool {
        !from.is_loopback() && self.env.drop_asym_route() && !self.topology.has_route_over(source, from)
    }

    pub(crate) fn discard(&self, message: Pooled<IncomingMessage>, why: impl Into<DropReason>) -> RxAction {
        self.count_drop(message, why);
        RxAction::Discard
    }

    /// The peer NI that a message came from: `Some(None)` over the loopback, `None` if there are too many peers.
    #[allow(clippy::option_option, reason = "the loopback has no peer NI, and is no failure")]
    fn arrival_peer_ni(&self, ni: &Arc<Ni>, from: Nid) -> Option<Option<Arc<PeerNi>>> {
        if from.is_loopback() { Some(None) } else { self.sender(from, ni).map(Some) }
    }

    fn incoming(
        &self,
        ni: &Arc<Ni>,
        from: Nid,
        peer_ni: Option<Arc<PeerNi>>,
        header: &Header,
    ) -> Pooled<IncomingMessage> {
        let mut message: Pooled<IncomingMessage> = self.new_message(peer_ni.as_ref(), header);
        message.from = from;
        message.ni = Some(Arc::clone(ni));
        message.peer_ni = peer_ni;
        message
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

    /// Reports the PUT event, then sends the ACK, if one is requested and the PUT succeeded: at once, or when a program in another
    /// process has handled the event.
    #[inline(always)]
    fn put_received(
        &self,
        mut message: Pooled<IncomingMessage>,
        match_bits: u64,
        ack: Option<WireHandle>,
        result: Result<(), Errno>,
    ) {
        let Some(Operation { md, length, .. }) = &message.operation else { return self.forget(message) };
        let ack = ack.filter(|_| result.is_ok() && !md.options().has(MdOptions::ACK_DISABLE));
        let client = ack.and_then(|_| md.acknowledging_client()).map(Arc::clone);
        // Counted before the event: if its handler shuts the node down, the ACK is still sent.
        let is_counted = ack.is_some() && client.is_none();
        let asker = if is_counted { self.count_response(&message) } else { Asker::None };
        let pid = self.sender_pid(md, message.from.is_loopback());
        let accepted = *length;
        self.end_operation(&mut message, result);
        let Some(handle) = ack else { return self.forget(message) };
        let body = Body::Ack { handle, match_bits, accepted };
        match client {
            None => self.respond(message, body, pid, asker),
            Some(client) => self.acknowledge_when_handled(message, body, pid, &*client),
        }
    }

    /// Sends the REPLY to a GET; the GET event is reported when it has left.
    fn reply_to(&self, message: Pooled<IncomingMessage>, handle: WireHandle) {
        let asker = self.count_response(&message);
        let reply = Body::Reply { handle };
        let client = message.operation.as_ref().and_then(|its| its.md.fetched_memory()).map(Arc::clone);
        match client {
            None => {
                let pid = self.pid_of_reply(&message);
                self.respond(message, reply, pid, asker);
            }
            Some(client) => self.reply_when_fetched(message, reply, asker, &*client),
        }
    }

    /// The PID that the REPLY to a GET comes from.
    pub(super) fn pid_of_reply(&self, get: &IncomingMessage) -> Pid {
        let stays_on_node = get.from.is_loopback();
        get.operation
            .as_ref()
            .map_or_else(|| self.env.pid(), |operation| self.sender_pid(&operation.md, stays_on_node))
    }

    /// Sends the response to a message, from this PID.
    pub(super) fn respond(&self, message: Pooled<IncomingMessage>, body: Body, pid: Pid, asker: Asker) {
        let is_ping = matches!(message.header.body, Body::Get { portal: RESERVED_PORTAL, .. });
        let mut message = message.into_response(body, pid, asker);
        let (asker, asked) = (message.header.dest_nid, message.header.src_nid);
        // A node that sends requests from many unknown NIDs gets its responses by the interface on which they came, and no
        // peers are created for these NIDs.
        if !message.stays_on_path()
            && asker.net() == asked.net()
            && asker != message.next_hop.nid
            && let Some(peer_ni) = self.topology.peer_ni(asker)
        {
            message.next_hop.nid = asker;
            message.change_peer_ni(Some(peer_ni));
        }
        if let (Some(ni), Some(peer_ni)) = (&message.ni, &message.peer_ni) {
            self.topology.note_answered(ni, peer_ni);
        }
        message.deadline = self.deadline_from_now();
        match is_ping && !self.topology.is_broken_path(&message) {
            true => self.launch(message),
            false => self.launch_response(message),
        }
    }

    #[inline(always)]
    fn respond_to_received(&self, mut message: Pooled<IncomingMessage>, result: Result<(), Errno>) {
        if result.is_ok() {
            self.count_response_delay(&mut message);
        }
        self.end_operation(&mut message, result);
        self.forget(message);
    }

    /// Reports the end of the operation of a message, if it has one, which does not answer it.
    #[inline(always)]
    fn end_operation(&self, message: &mut IncomingMessage, result: Result<(), Errno>) {
        if let Some(operation) = &message.operation {
            self.complete(operation, &message.header, message.from, result);
            message.operation = None;
        }
    }
}

/// The log class of a dropped message. A response that nothing waits for is no failure: its request has ended before.
const fn drop_class(body: &Body) -> LogClass {
    match body {
        Body::Ack { .. } | Body::Reply { .. } => LogClass::ResponseUnclaimed,
        Body::Put { .. } | Body::Get { .. } => LogClass::MessageDropped,
    }
}

/// Writes the event of a message that arrived from the node `from` for an operation, without what the MD decides (c-abi 2.7).
#[inline(always)]
pub(super) fn write_arrival_event(
    event: &mut Event,
    header: &Header,
    from: Nid,
    operation: &Operation,
    status: Result<(), Errno>,
) {
    let Operation { md, offset, length, threshold, initiator, fetched: _ } = operation;
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
    event.kind = kind;
    event.target = EventParty { nid: Some(header.dest_nid), pid: header.dest_pid };
    event.initiator = party(*initiator);
    event.source = party(header.src_nid);
    event.sender = Some(from);
    event.portal = portal;
    event.match_bits = match_bits;
    event.rlength = rlength;
    event.mlength = *length;
    event.md_handle = md.handle();
    event.md = MdSpec { threshold: *threshold, ..*md.spec() };
    event.hdr_data = hdr_data;
    event.status = status;
    event.offset = *offset;
}

/// Makes the checks that close the connection if they fail, in the order of wire-tcp 5.1.
#[inline]
fn check_header(
    header: &Header,
    my_nid: Nid,
    mut way_to: impl FnMut(Nid) -> WayTo,
) -> Result<Inspection, Violation> {
    match header.body {
        Body::Ack { .. } | Body::Get { .. } if header.payload_length > 0 => {
            Err(Violation::UnexpectedPayload(header.payload_length))
        }
        _ if header.payload_length > MAX_PAYLOAD => Err(Violation::PayloadTooLong(header.payload_length)),
        _ if header.dest_nid == my_nid => Ok(Inspection::ForMe),
        // From one program on this node to another.
        _ if my_nid.is_loopback() && way_to(header.dest_nid) == WayTo::ThisNode => Ok(Inspection::ForMe),
        _ if header.dest_nid.net() == my_nid.net() => Err(Violation::ShouldHaveGoneDirect),
        _ => match way_to(header.dest_nid) {
            WayTo::ThisNode => Err(Violation::WrongInterface),
            WayTo::Onward(onward) => Ok(Inspection::ForAnother(Some(onward))),
            WayTo::Nowhere => Ok(Inspection::ForAnother(None)),
        },
    }
}
