//! Receiving: what drivers call, and the admission of an arriving message, whose memory `matching` finds.

use super::DataPath;
use crate::health::SendFailure;
use crate::model::lnd::{CutThrough, DeferredRx, RxAction, Upcalls, Violation};
use crate::model::message::{ArrivingMessage, IncomingMessage, OutgoingMessage, Pooled, TakenCredits};
use crate::model::{Confirmation, Ni, Onward, PeerNi, Provenance};
use crate::stats::Partial;
use crate::topology::WayTo;
use lnet_log::LogClass;
use lnet_wire::{Body, Errno, Header, MAX_PAYLOAD, NetId, Nid};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

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
    /// Whether a message from the net `source` is to be dropped because it came by a node on another net, through which this node has
    /// no route to `source` (`drop_asym_route`, 3.7).
    fn came_asymmetrically(&self, source: NetId, from: Nid) -> bool {
        !from.is_loopback() && self.env.drop_asym_route() && !self.topology.has_route_over(source, from)
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
