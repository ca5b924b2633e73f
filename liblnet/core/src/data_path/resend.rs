//! Resends, and messages whose path changes before they are sent.

use super::DataPath;
use super::paths::next_hop;
use crate::health::{Resend, ResendPlan, SendFailure};
use crate::model::message::{OutgoingMessage, Pooled, Role};
use crate::model::{PeerNi, PeerState};
use crate::select::{self, ChosenPath};
use lnet_wire::{Errno, Nid};
use std::sync::Arc;

impl DataPath {
    /// Plans the resend of a failed message (HE-20); `None` if it is not resent.
    pub(crate) fn plan_resend(
        &self,
        message: &mut OutgoingMessage,
        failure: SendFailure,
    ) -> Option<ResendPlan> {
        let Self { env, topology, health, .. } = self;
        if message.peer_ni.as_ref().is_some_and(|peer_ni| peer_ni.is_truncated()) {
            return None;
        }
        if !health.note_failed_attempt(env, topology, message, failure) || message.stays_on_path() {
            return None;
        }
        let path = match self.select_path_again(message) {
            Ok(path) => path,
            Err(Errno::HostUnreachable) if self.awaits_route(message) => {
                self.begin_route_wait(message);
                return Some(ResendPlan::wait_for_route(message, env.now()));
            }
            Err(_) => return None,
        };
        let spend_retry = |message: &OutgoingMessage, peer_ni: &PeerNi| {
            self.may_retry(message, peer_ni, env.settings().retry_count)
        };
        health.plan_resend(env, topology, message, failure, path, spend_retry)
    }

    /// Sets the new path of a message without credits; returns the message if it is to be sent now, and queues it otherwise.
    pub(crate) fn resend(
        &self,
        message: Pooled<OutgoingMessage>,
        plan: ResendPlan,
        failure: SendFailure,
    ) -> Option<Pooled<OutgoingMessage>> {
        match self.health.resend(&self.env, message, plan, failure) {
            Resend::Now(mut message, path) => {
                self.readdress(&mut message, path);
                Some(message)
            }
            Resend::Later => {
                // The shutdown may have emptied the queue just before.
                if self.env.is_ending() {
                    self.end_resends();
                }
                None
            }
        }
    }

    /// Ends the messages in the resend queue, because the node shuts down.
    pub(crate) fn end_resends(&self) {
        for message in self.health.take_all_resends() {
            self.end(message, Err(Errno::Shutdown.into()));
        }
    }

    /// Whether a message without a path waits for one until its deadline: a message of this node to a net that a route leads
    /// to, or to a peer that is being rediscovered. Forwarded messages do not wait, as they hold a buffer.
    pub(crate) fn awaits_route(&self, message: &OutgoingMessage) -> bool {
        let may_wait = !message.is_forwarded()
            && !message.is_reserved()
            && !message.is_recovery_ping()
            && message.deadline > self.env.now();
        may_wait
            && self.topology.peer_ni(self.destination_again(message)).is_some_and(|peer_ni| {
                is_being_rediscovered(&peer_ni)
                    || self.route_may_come(&peer_ni, message.source(), message.needs_origin()).is_some()
            })
    }

    /// The local NID for a message to this peer NI once a gateway is usable again; `None` if no route leads there, or if
    /// messages are not resent.
    pub(crate) fn route_may_come(
        &self,
        peer_ni: &PeerNi,
        source: Option<Nid>,
        needs_origin: bool,
    ) -> Option<Nid> {
        if self.env.settings().retry_count == 0 || self.env.is_ending() {
            return None;
        }
        self.topology.with_paths(|paths| select::may_be_routed(paths, peer_ni, source, needs_origin))
    }

    /// Whether no path is left to the destination of a message of this node: the destination has no net in common with this
    /// node, and no gateway to any of its nets works.
    pub(crate) fn is_unroutable(&self, message: &OutgoingMessage) -> bool {
        if message.is_forwarded() || message.is_recovery_ping() {
            return false;
        }
        let nid = self.destination_again(message);
        let peer = self.topology.peer(nid);
        let nids = peer.filter(|peer| peer.is_multi_rail()).map(|peer| peer.nids.clone());
        !self.topology.can_reach(&nids.unwrap_or_else(|| vec![nid]), self.gateway_terms())
    }

    /// Keeps a message without credits until a route may have come up.
    pub(crate) fn wait_for_route(&self, mut message: Pooled<OutgoingMessage>) {
        self.begin_route_wait(&mut message);
        self.health.wait_for_route(message, self.env.now());
        // The shutdown may have emptied the queue just before.
        if self.env.is_ending() {
            self.end_resends();
        }
    }

    /// Selects a new path for a message: for a request as the caller asked for it, for a response the reverse path if
    /// possible, any other if not (snd-070).
    pub(crate) fn select_path_again(&self, message: &OutgoingMessage) -> Result<ChosenPath, Errno> {
        if message.is_forwarded() {
            return self.select_path_onwards(message);
        }
        let destination = self.destination_again(message);
        let peer_ni = match &message.peer_ni {
            Some(peer_ni) if peer_ni.nid() == destination => Arc::clone(peer_ni),
            _ => self.responding_peer_ni(destination)?,
        };
        self.select_path_to(message, &peer_ni)
    }

    /// The peer NI that a response goes to. A node behind a gateway may be unknown: its request came from the gateway's NID.
    fn responding_peer_ni(&self, nid: Nid) -> Result<Arc<PeerNi>, Errno> {
        if let Some(known) = self.topology.peer_ni(nid) {
            return Ok(known);
        }
        let peer_ni = if self.topology.leads_to_nid(nid) { self.peer_ni_if_room(nid) } else { None };
        peer_ni.ok_or(Errno::HostUnreachable)
    }

    pub(crate) fn destination_again(&self, message: &OutgoingMessage) -> Nid {
        let named = match &message.role {
            Role::Request(request) => request.report.and_then(|report| report.target),
            Role::Response(_) | Role::Forwarded(_) => None,
        };
        named.unwrap_or(message.header.dest_nid)
    }

    pub(crate) fn readdress(&self, message: &mut OutgoingMessage, chosen: ChosenPath) {
        self.topology.use_path(&chosen);
        let destination = chosen.destination();
        message.header.dest_nid = destination;
        if !message.is_forwarded() {
            message.header.src_nid = chosen.ni.nid();
        }
        message.next_hop = next_hop(&chosen, message.header.dest_pid);
        if let Role::Request(request) = &message.role {
            request.md.goes_to(destination);
        }
        message.ni = Some(chosen.ni);
        message.change_peer_ni(chosen.peer_ni);
        if message.is_reserved() {
            self.note_request(message);
        }
    }

    /// Selects a new path to this peer NI, or to another NID of its peer.
    ///
    /// The source of the caller is kept (PS-3) as long as it has a working path. Without one, a message that the peer
    /// may have received in part, and that the peer deduplicates, takes another source rather than fail: a new
    /// message in its place would find the memory of the first in use. Only a multi-rail peer deduplicates by the
    /// node, whichever interface the message comes from.
    pub(crate) fn select_path_to(
        &self,
        message: &OutgoingMessage,
        peer_ni: &Arc<PeerNi>,
    ) -> Result<ChosenPath, Errno> {
        let chosen = self.select_path_from(message.source(), message, peer_ni);
        let may_leave_source = message.source().is_some()
            && message.message_id().is_some()
            && peer_ni.peer_now().is_multi_rail();
        if may_leave_source
            && chosen.as_ref().map_or(true, ChosenPath::is_last_resort)
            && let Ok(other) = self.select_path_from(None, message, peer_ni)
            && !other.is_last_resort()
        {
            return Ok(other);
        }
        chosen
    }

    /// Whether the message is a request of a discovery.
    pub(crate) fn is_of_discovery(&self, message: &OutgoingMessage) -> bool {
        let eq = message.event_queue();
        eq.is_some() && eq == self.discovery.eq()
    }

    /// Whether a failed message may be resent by a path that has failed, `retry_count` times in all. The messages of
    /// one discovery share its retries.
    pub(crate) fn may_retry(&self, message: &OutgoingMessage, peer_ni: &PeerNi, retry_count: u32) -> bool {
        match self.is_of_discovery(message) {
            true => self.discovery.spend_retry(&peer_ni.peer_now()),
            false => message.attempts.retries < retry_count,
        }
    }
}

/// Whether a peer that has restarted is being discovered.
fn is_being_rediscovered(peer_ni: &PeerNi) -> bool {
    let peer = peer_ni.peer_now();
    peer.discovery.has_restarted() && peer.state().contains(PeerState::DISCOVERING)
}
