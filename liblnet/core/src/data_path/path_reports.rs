//! Reports of drivers and of messages about paths and gateways.

use super::DataPath;
use crate::health::SendFailure;
use crate::model::message::OutgoingMessage;
use crate::model::{Ni, PeerNi, PeerState};
use crate::select;
use lnet_wire::Nid;
use std::sync::Arc;

impl DataPath {
    /// Handles a driver's report of an unresponsive path. Returns whether all messages to the peer could take another path.
    pub(crate) fn note_path_unresponsive(&self, ni: &Ni, peer_ni: &PeerNi) -> bool {
        if self.health.path_is_unresponsive(&self.env, &self.topology, ni, peer_ni) {
            self.ask_gateway(peer_ni);
            self.move_waiting_for_peers(|message| {
                message.source().is_none()
                    && message.peer_ni.as_ref().is_some_and(|its| its.nid() == peer_ni.nid())
                    && message.ni.as_ref().is_some_and(|its| its.nid() == ni.nid())
            });
        }
        // Unresponsive other paths count as well: a message on the last path would wait for as long as the driver
        // tries, and another path may have recovered before that is known.
        self.topology.with_nets(|nets| select::may_try_other_path(nets, peer_ni, ni.nid(), false))
            || self.topology.has_substitute_gateways(peer_ni)
            // Forwarded messages can be returned to their previous hop.
            || self.topology.forwards()
    }

    /// Records that a path is late. If another path to the peer is known to work, moves the messages that wait for a credit to
    /// leave by the late one. Returns whether another path works.
    pub(crate) fn note_path_late(&self, ni: &Arc<Ni>, peer_ni: &Arc<PeerNi>) -> bool {
        self.health.path_is_late(&self.topology, ni, peer_ni, self.env.now());
        let is_other_proven = self.topology.has_proven_path(peer_ni);
        if is_other_proven {
            let may_move = |message: &OutgoingMessage| message.source().is_none() && message.is_by(ni);
            self.resume_all(self.sending.withdraw_from_peer(peer_ni, may_move));
        }
        is_other_proven
    }

    /// Schedules a check of a gateway that a message has arrived from, if the gateway had not responded, or if it has `forwarded`
    /// the message though it reported that it does not forward (CR-31).
    pub(crate) fn recheck_gateway_now(&self, gateway: &PeerNi, forwarded: bool) {
        let state = Arc::clone(&gateway.peer_now().discovery);
        if state.has_failed() || forwarded && !state.flags().contains(PeerState::ROUTER_ENABLED) {
            self.ask_gateway(gateway);
        }
    }

    /// Schedules a check of a gateway at once after an event that may mean a change: a failed message, an unresponsive path, or
    /// ended connections. Does nothing for other peers.
    pub(crate) fn ask_gateway(&self, gateway: &PeerNi) {
        if self.gateway_checks.recheck_now(gateway.peer_now().discovery.id(), self.env.now()) {
            self.health.wake();
        }
    }

    /// Records that a node cannot be reached through gateways, as one has returned a message for it and no other is left to try.
    pub(crate) fn note_returned(&self, destination: Nid) {
        if let Some(peer_ni) = self.topology.peer_ni(destination) {
            self.health.note_unresponsive_behind_gateways(&peer_ni);
        }
    }

    /// Schedules a check of a gateway to which a message could not be sent, or that has not accepted it.
    pub(super) fn note_failure_of_gateway(&self, message: &OutgoingMessage, failure: SendFailure) {
        if let Some(gateway) = &message.peer_ni
            && message.is_routed()
            && failure.delivery.concerns_path()
            && failure.cause.blames_peer_ni()
        {
            self.ask_gateway(gateway);
        }
    }
}
