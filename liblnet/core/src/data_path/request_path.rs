//! The way of a request to its path: its destination, the wait for discovery, the path that it takes.

use super::DataPath;
use super::refusal::Refusal;
use crate::md::Md;
use crate::model::{DiscoveryWait, Ni, Peer, PeerNi, RequestTerms, SendRequest, response_to};
use crate::select::{self, PathEnds, PathInTurn};
use crate::topology::PathTables;
use arc_swap::Guard;
use lnet_wire::{Errno, MAX_PAYLOAD, Nid, ProcessId, RESERVED_PORTAL};
use std::sync::Arc;

impl DataPath {
    /// Sends a request, or parks it until its peer is discovered.
    #[cold]
    pub(crate) fn send_request(&self, mut request: SendRequest) {
        loop {
            let named = self.known_destination(request.terms.target);
            match self.send_or_park(request.md, &mut request.terms, named) {
                Some(again) => request = again,
                None => return,
            }
        }
    }

    /// Sends a request, or parks it; returns it if its destination is to be looked up again. `named` is the peer NI of its target, if that
    /// is known.
    #[inline(always)]
    pub(super) fn send_or_park(
        &self,
        md: Arc<Md>,
        terms: &mut RequestTerms,
        named: Option<Arc<PeerNi>>,
    ) -> Option<SendRequest> {
        let revision = self.topology.peers().revision().get();
        let destination = match self.destination(&md, terms, named) {
            Ok(destination) => destination,
            Err(why) => {
                self.refuse(SendRequest { md, terms: *terms }, why);
                return None;
            }
        };
        if let Some(peer_ni) = destination.as_ref().filter(|_| terms.source.is_none())
            && let Some(hop) = self.topology.take_only_hop(peer_ni, revision)
        {
            self.send_by_only_hop(md, terms, hop, peer_ni);
            return None;
        }
        let peer_guard = destination.as_ref().map(|peer_ni| peer_ni.peer_now());
        let destination_of_peer = destination.as_ref().zip(peer_guard.as_deref());
        let mut need_not_wait = false;
        if let Some((peer_ni, peer)) = destination_of_peer {
            let has_response = response_to(&terms.outgoing.body).is_some();
            terms.begun = self.begin_measuring(&md, terms.wait, has_response, peer_ni).or(terms.begun);
            let portal = terms.target.portal;
            let may_wait = terms.wait != DiscoveryWait::Over && !self.discovery.is_kept_by_this_handler();
            if may_wait && self.discovery.must_wait(&self.topology, peer_ni, peer, portal) {
                return self.park_request(SendRequest { md, terms: *terms }, peer_ni);
            }
            need_not_wait = may_wait && portal != RESERVED_PORTAL;
        }
        let tables = self.topology.tables();
        if let Some((peer_ni, peer)) = destination_of_peer
            && let Some(path) = self.take_path_in_turn(tables.paths(), terms, (peer_ni, peer))
        {
            if need_not_wait {
                self.topology.note_ready(peer_ni, peer, &tables, revision);
            }
            drop((tables, peer_guard));
            self.send_in_turn(md, terms, path, destination);
        } else {
            let is_only_nid = peer_guard.as_ref().is_some_and(|peer| peer.nids.len() == 1);
            let ready_at = (need_not_wait && is_only_nid).then_some(revision);
            self.send_by_selected_path(md, terms, destination, tables, peer_guard, ready_at);
        }
        None
    }

    /// Sends a request that has not waited by a path that it has taken to a peer NI that was ready. Its response is tracked at the NID that it
    /// goes to, if its MD had no other tracker.
    #[inline(always)]
    pub(super) fn send_to_ready(
        &self,
        md: Arc<Md>,
        terms: &RequestTerms,
        path: PathInTurn,
        named: Arc<PeerNi>,
    ) {
        let PathInTurn { ni, peer_ni } = path;
        let peer_ni = peer_ni.unwrap_or(named);
        let destination = peer_ni.nid();
        let ends = PathEnds { ni, peer_ni: Some(peer_ni), destination, is_routed: false };
        self.launch(self.address_tracked(md, terms, ends, terms.tracker.is_some()));
    }

    /// Sends a request to a node behind gateways by the only local NI and the only gateway, which it has taken.
    fn send_by_only_hop(
        &self,
        md: Arc<Md>,
        terms: &mut RequestTerms,
        (ni, gateway): (Arc<Ni>, Arc<PeerNi>),
        peer_ni: &PeerNi,
    ) {
        let has_response = response_to(&terms.outgoing.body).is_some();
        terms.begun = self.begin_measuring(&md, terms.wait, has_response, peer_ni).or(terms.begun);
        self.count_discovery_wait(terms, &ni, Some(peer_ni));
        let destination = peer_ni.nid();
        let ends = PathEnds { ni, peer_ni: Some(gateway), destination, is_routed: true };
        self.launch(self.address(md, terms, ends));
    }

    /// Sends a request by a path that it has taken.
    fn send_in_turn(&self, md: Arc<Md>, terms: &RequestTerms, path: PathInTurn, named: Option<Arc<PeerNi>>) {
        self.count_discovery_wait(terms, &path.ni, named.as_deref());
        let PathInTurn { ni, peer_ni } = path;
        let peer_ni = peer_ni.or(named);
        let destination = peer_ni.as_ref().map_or(Nid::LOOPBACK, |peer_ni| peer_ni.nid());
        let ends = PathEnds { ni, peer_ni, destination, is_routed: false };
        self.launch(self.address(md, terms, ends));
    }

    /// Sends a request to its destination, which has this peer, by the path that is selected. `ready_at` is the revision at which requests
    /// to the destination, the only NID of its peer, need not wait for discovery, if they need not.
    #[inline(never)]
    fn send_by_selected_path(
        &self,
        md: Arc<Md>,
        terms: &RequestTerms,
        destination: Option<Arc<PeerNi>>,
        tables: Guard<Arc<PathTables>>,
        peer: Option<Guard<Arc<Peer>>>,
        ready_at: Option<u64>,
    ) {
        let reserved = terms.target.portal == RESERVED_PORTAL;
        let to = destination.as_ref().zip(peer.as_ref().map(|peer| &***peer));
        let chosen = self.take_path_of_request(tables.paths(), &md, terms, to, reserved);
        if let (Ok(chosen), Some(peer_ni), Some(revision)) = (&chosen, &destination, ready_at)
            && terms.source.is_none()
            && select::is_only_hop(tables.paths(), peer_ni, chosen)
        {
            peer_ni.routing().note_only_hop_at(revision);
        }
        drop((tables, peer));
        match chosen {
            Ok(chosen) => {
                self.count_discovery_wait(terms, &chosen.ni, destination.as_deref());
                self.launch(self.address(md, terms, chosen.into()));
            }
            Err(errno) => {
                let may_wait = errno == Errno::HostUnreachable && !reserved && !terms.recovery;
                let later = destination.filter(|_| may_wait);
                let request = SendRequest { md, terms: *terms };
                match later.and_then(|peer_ni| self.route_may_come(&peer_ni, terms.source, false)) {
                    Some(own) => self.send_later(request, own),
                    None => self.refuse(request, errno),
                }
            }
        }
    }

    /// Parks a request until its peer is discovered. Returns it if that has ended in the meantime, or the peer is being replaced: its
    /// destination is to be looked up again.
    #[cold]
    fn park_request(&self, mut request: SendRequest, peer_ni: &PeerNi) -> Option<SendRequest> {
        request.untrack();
        let again = self.discovery.park(&self.env, &peer_ni.peer().discovery, request)?;
        if again.md.is_aborted() {
            self.refuse(again, Errno::Cancelled);
            return None;
        }
        Some(again)
    }

    /// Keeps a request for which no gateway is usable at the moment. `own` is the NID that it may leave by.
    fn send_later(&self, request: SendRequest, own: Nid) {
        let Some(destination) = request.terms.target.nid else {
            return self.refuse(request, Refusal::AnyTarget);
        };
        let next_hop = ProcessId { nid: destination, pid: request.terms.target.pid };
        let SendRequest { md, terms } = request;
        let message =
            self.message_of(md, &terms, None, ProcessId { nid: own, pid: self.env.pid() }, next_hop);
        match terms.tracker {
            Some(_) => self.health.watch(),
            None => self.track(&message),
        }
        self.wait_for_route(message);
    }

    /// The peer NI of a request's destination; `None` for the loopback.
    #[inline(always)]
    fn destination(
        &self,
        md: &Md,
        terms: &RequestTerms,
        known: Option<Arc<PeerNi>>,
    ) -> Result<Option<Arc<PeerNi>>, Refusal> {
        match terms.target.nid {
            None => Err(Refusal::AnyTarget),
            Some(_) if self.env.is_ending() => Err(Refusal::Withdrawn(Errno::Shutdown)),
            // For a GET the response would be too long.
            Some(_) if md.memory().len() > MAX_PAYLOAD => Err(Refusal::TooLong),
            Some(nid) if nid.is_loopback() => Ok(None),
            Some(nid) if self.stays_on_node(md, nid) => Ok(None),
            // The source is checked even if the peer is unknown.
            Some(nid) => {
                if let Some(source) = terms.source.filter(|source| !self.topology.is_own(*source)) {
                    return Err(Refusal::ForeignSource(source));
                }
                // A request that cannot be sent adds no peer.
                if known.is_none() && !self.topology.leads_to_nid(nid) {
                    return Err(Refusal::NoPath);
                }
                let is_new = terms.recovery && known.is_none();
                let peer_ni = known.unwrap_or_else(|| self.peer_ni(nid));
                // This node becomes its own peer only with this request (HE-53).
                if peer_ni.note_use(is_new, terms.recovery) && self.topology.is_own(nid) {
                    self.topology.peers().list_last(&peer_ni.peer());
                }
                Ok(Some(peer_ni))
            }
        }
    }

    /// Whether a request of a program that shares this node is for a program on it, by one of its NIDs: it goes by the loopback, with the
    /// NIDs that the programs use.
    pub(super) fn stays_on_node(&self, md: &Md, nid: Nid) -> bool {
        md.is_of_client() && self.topology.is_own(nid)
    }
}
