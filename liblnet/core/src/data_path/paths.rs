//! Selection of the paths of messages: what it depends on, and when it is repeated.

use super::DataPath;
use crate::md::Md;
use crate::memory::Near;
use crate::model::message::OutgoingMessage;
use crate::model::{Attempts, GatewayTerms, Peer, PeerNi, RequestTerms};
use crate::select::{self, ChosenPath, Explanation, Numa, Origin, PathInTurn, PathRequest, Paths};
use crate::topology::PeerTable;
use lnet_wire::{Errno, Nid, Pid, ProcessId};
use std::sync::Arc;

impl DataPath {
    /// The path that a message to `destination` would take now. Nothing is committed: the same call returns the same
    /// path until something changes.
    pub fn select_path(&self, source: Option<Nid>, destination: Nid) -> Result<ChosenPath, Errno> {
        let peer_ni = (!destination.is_loopback()).then(|| self.peer_ni(destination));
        let numa = self.numa(None);
        let path_request = self.path_request(source, destination, numa.as_ref());
        self.topology.with_paths(|paths| select::select_path(paths, peer_ni.as_ref(), path_request))
    }

    /// Like [`DataPath::select_path`], with the reasons. An unknown NID is treated as a peer that is not multi-rail, and is
    /// not added.
    pub fn explain(&self, source: Option<Nid>, destination: Nid) -> Result<Explanation, Errno> {
        let numa = self.numa(None);
        let path_request = self.path_request(source, destination, numa.as_ref());
        let unknown_peers = PeerTable::new();
        let peer_ni = (!destination.is_loopback()).then(|| {
            let known = self.topology.peer_ni(destination);
            known.unwrap_or_else(|| {
                unknown_peers.get_or_add(destination, self.topology.first_peer_credits(destination))
            })
        });
        self.topology.with_paths(|paths| select::explain(paths, peer_ni.as_ref(), path_request))
    }

    /// Takes the path of a request, if nothing has to be compared to find it.
    #[inline(always)]
    pub(super) fn take_path_in_turn(
        &self,
        paths: Paths<'_>,
        terms: &RequestTerms,
        to: (&Arc<PeerNi>, &Peer),
    ) -> Option<PathInTurn> {
        if terms.source.is_some() || self.env.config().cpts.tells_apart() {
            return None;
        }
        let (any_suspect, by_bytes) = (self.health.any_suspect(), self.env.compare_queued_bytes());
        self.topology.take_path_in_turn(paths.nets, to, any_suspect, by_bytes)
    }

    /// Takes the path of a request without a source to a peer NI that was ready at this revision, which is the present one, if nothing has to
    /// be compared to find it.
    #[inline(always)]
    pub(super) fn take_path_to_ready(&self, peer_ni: &Arc<PeerNi>, revision: u64) -> Option<PathInTurn> {
        let look = || {
            let is_by_turn = !self.env.config().cpts.tells_apart();
            is_by_turn.then(|| (self.health.any_suspect(), self.env.compare_queued_bytes()))
        };
        self.topology.take_path_to_ready(peer_ni, revision, look)
    }

    /// Selects the path of a request, which takes it.
    #[inline(always)]
    pub(super) fn take_path_of_request(
        &self,
        paths: Paths<'_>,
        md: &Md,
        terms: &RequestTerms,
        to: Option<(&Arc<PeerNi>, &Peer)>,
        reserved: bool,
    ) -> Result<ChosenPath, Errno> {
        let numa = self.numa(Some(md));
        let destination = to.map_or(Nid::LOOPBACK, |(peer_ni, _)| peer_ni.nid());
        let path_request =
            PathRequest { reserved, ..self.path_request(terms.source, destination, numa.as_ref()) };
        self.topology.take_path(paths, to, &path_request)
    }

    /// Selects a new path from `source`, or from any NID, for a message that may have been sent before.
    pub(crate) fn select_path_from(
        &self,
        source: Option<Nid>,
        message: &OutgoingMessage,
        peer_ni: &Arc<PeerNi>,
    ) -> Result<ChosenPath, Errno> {
        let numa = self.numa(message.md().map(|md| &**md));
        let path_request = self.path_request_again(source, message, peer_ni.nid(), numa.as_ref());
        self.topology.with_paths(|paths| select::select_path(paths, Some(peer_ni), path_request))
    }

    /// The path of a forwarded message to another NID of the destination node, if that node and the sender are multi-rail (PS-6).
    pub(crate) fn select_path_to_other_nid(
        &self,
        message: &OutgoingMessage,
        destination: &PeerNi,
    ) -> Option<ChosenPath> {
        let is_multi_rail = |nid: Nid| self.topology.peer(nid).is_some_and(|peer| peer.is_multi_rail());
        if !destination.peer_now().is_multi_rail() || !is_multi_rail(message.header.src_nid) {
            return None;
        }
        let numa = self.numa(None);
        let path_request = self.path_request_again(None, message, destination.nid(), numa.as_ref());
        self.topology.with_nets(|nets| select::select_path_to_other_nid(nets, destination, path_request))
    }

    fn path_request_again<'a>(
        &self,
        source: Option<Nid>,
        message: &'a OutgoingMessage,
        destination: Nid,
        numa: Option<&'a Numa<'a>>,
    ) -> PathRequest<'a> {
        let Attempts { resends, failed, tries_unresponsive, .. } = &message.attempts;
        let failed = (*resends > 0 || !failed.is_empty()).then_some(&failed[..]);
        PathRequest {
            reserved: message.leaves_by_any(),
            failed,
            tries_unresponsive: *tries_unresponsive,
            forwarded: message.is_forwarded(),
            direct_only: message.may_be_with_peer(),
            needs_origin: message.needs_origin(),
            came_by: message.came_by(),
            ..self.path_request(source, destination, numa)
        }
    }

    fn path_request<'a>(
        &self,
        source: Option<Nid>,
        destination: Nid,
        numa: Option<&'a Numa<'a>>,
    ) -> PathRequest<'a> {
        let compare_queued_bytes = self.env.compare_queued_bytes();
        let any_suspect = self.health.any_suspect();
        PathRequest {
            source,
            destination,
            compare_queued_bytes,
            reserved: false,
            numa,
            any_suspect,
            failed: None,
            tries_unresponsive: false,
            forwarded: false,
            gateway_terms: self.gateway_terms(),
            direct_only: false,
            needs_origin: false,
            came_by: None,
        }
    }

    /// The conditions under which the gateway of a route may be used.
    pub(crate) fn gateway_terms(&self) -> GatewayTerms {
        GatewayTerms::new(self.env.router_sensitivity(), self.env.avoid_asym_router_failure())
    }

    /// The parameters of the NUMA distances to a message's memory, where these differ.
    #[inline(always)]
    fn numa(&self, md: Option<&Md>) -> Option<Numa<'_>> {
        self.env.config().cpts.tells_apart().then(|| Numa {
            cpts: &self.env.config().cpts,
            range: self.env.settings().numa_range,
            placement: self.env.config().placement.as_deref(),
            origin: md.map_or(Origin::Thread, |md| self.origin(md)),
        })
    }
}

impl DataPath {
    /// The origin of the NUMA distances of a message with this memory (core-behaviour 2.4).
    fn origin(&self, md: &Md) -> Origin {
        let first = |md: &Md| md.memory().first().map_or(Origin::Thread, Origin::Memory);
        match md.memory().near() {
            None => first(md),
            Some(Near::Cpt(cpt)) => Origin::Cpt(cpt),
            Some(Near::Md(bulk)) => self.objects.md(bulk).map_or_else(|| first(md), |bulk| first(&bulk)),
        }
    }
}

/// The next hop of a message for the process `pid`. On a gateway that is the process of LNet itself.
pub(crate) fn next_hop(chosen: &ChosenPath, pid: Pid) -> ProcessId {
    ProcessId { nid: chosen.next_hop(), pid: if chosen.route().is_some() { Pid::LUSTRE } else { pid } }
}
