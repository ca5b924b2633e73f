//! Path selection (core-behaviour 2): the local NI and the peer NI of a message.
//!
//! [`choose`] reads the nets and the peer and changes nothing; [`ChosenPath::commit`] stores the use, so that round
//! robin selects another of equal candidates next. The criteria and their order are in `candidates`.

mod candidates;
mod compare;
mod explain;
mod numa;
mod routed;

pub use candidates::{GatewayCandidate, LocalNiCandidate, NetCandidate, PathState, PeerNiCandidate};
pub use compare::{Candidate, Criterion, Explained, best, explained};
pub use explain::{Explanation, GatewayLoser, LocalLoser, NetLoser, PeerLoser, explain};
pub use numa::{Numa, Origin};
pub(crate) use routed::{may_be_routed, route_state};

use crate::model::{
    ActiveRoute, GatewayTerms, LastUse, Net, Nets, Ni, Peer, PeerNet, PeerNi, Preferred, RouteState, Routes,
};
use lnet_wire::{Errno, NetId, Nid};
use routed::{Hop, best_hop};
use std::sync::{Arc, Weak};

/// What paths are made of: the local nets, and the routes to others.
#[derive(Clone, Copy, Debug)]
pub struct Paths<'a> {
    /// The local nets.
    pub nets: &'a Nets,
    /// The routes.
    pub routes: &'a Routes,
}

/// The properties of a message that its path depends on.
#[derive(Clone, Copy, Debug)]
pub struct PathRequest<'a> {
    /// The source NID that the caller asked for; `None` leaves it to selection.
    pub source: Option<Nid>,
    /// The NID that the caller named.
    pub destination: Nid,
    /// Whether the queued bytes of peers count before their credits (snd-035); the kernel does not compare them.
    pub compare_queued_bytes: bool,
    /// Whether it goes to the reserved portal. Such a request is sent from any interface, and does not bind a peer to
    /// that interface (PS-30).
    pub reserved: bool,
    /// Whether any path is unresponsive.
    pub any_unresponsive: bool,
    /// The paths on which it has failed, local NID first; `None` if it was not sent before.
    pub failed: Option<&'a [(Nid, Nid)]>,
    /// Whether an unresponsive path is better than one on which it has failed.
    pub tries_unresponsive: bool,
    /// The NUMA distances of interfaces from the memory; `None` where all are equal.
    pub numa: Option<&'a Numa<'a>>,
    /// Whether it is from another node: its destination is not changed (2.2).
    pub forwarded: bool,
    /// When the gateway of a route may be used.
    pub gateway_terms: GatewayTerms,
    /// Whether it is sent by a gateway only if this node and the peer have no net in common: it may have been sent without one, and
    /// only the peer itself could tell a copy from it.
    pub direct_only: bool,
    /// The net that a forwarded message came by: no gateway on it is used (RT-12).
    pub came_by: Option<NetId>,
}

/// The path of a message.
#[derive(Clone, Debug)]
pub struct ChosenPath {
    /// The local NI.
    pub ni: Arc<Ni>,
    /// The peer NI that it is sent to: the destination, or a gateway; `None` over the loopback.
    pub peer_ni: Option<Arc<PeerNi>>,
    /// Of a path over a gateway.
    routed: Option<Routed>,
    /// [`latest_use_of_others`].
    latest_use_of_others: u64,
    /// Whether the peer NI of the destination is to be bound to the local NI.
    sticks: bool,
}

/// The rest of a path behind its gateway.
#[derive(Clone, Debug)]
struct Routed {
    route: Arc<ActiveRoute>,
    /// Its state when it was selected.
    state: RouteState,
    destination: Arc<PeerNi>,
}

/// The latest use of the local NIs that are chosen in turn with this one: all on the nets of the peer.
fn latest_use_of_others(nets: &Nets, peer: &Peer, ni: &Ni) -> u64 {
    let nis = peer.nets.iter().filter_map(|net| nets.net(net.id)).flat_map(Net::nis);
    LastUse::latest_but(ni.last_use(), nis.map(|ni| ni.last_use()))
}

/// Stores the use of a local NI and a peer NI: among equals they come last next time.
fn note_use(ni: &Ni, others: u64, peer: &Peer, peer_ni: &PeerNi) {
    ni.last_use().note(others);
    note_use_of_peer_ni(peer, peer_ni);
}

fn note_use_of_peer_ni(peer: &Peer, peer_ni: &PeerNi) {
    // A peer NI that is the only one of its peer is compared with none: no message writes to memory that other threads read.
    let is_compared = peer.nids.len() > 1 || peer_ni.last_use().get() == 0;
    if let Some(net) = peer.net(peer_ni.nid().net()).filter(|_| is_compared) {
        net.note_use(peer_ni.criteria(), &peer.latest_use);
    }
}

impl ChosenPath {
    fn loopback(ni: &Arc<Ni>) -> Self {
        Self { ni: Arc::clone(ni), peer_ni: None, routed: None, latest_use_of_others: 0, sticks: false }
    }

    fn over(nets: &Nets, hop: Hop, destination: &Arc<PeerNi>, sticks: bool) -> Self {
        let Hop { ni, peer_ni, route, route_state } = hop;
        Self {
            latest_use_of_others: latest_use_of_others(nets, &peer_ni.peer_now(), &ni),
            ni,
            peer_ni: Some(peer_ni),
            routed: Some(Routed { route, state: route_state, destination: Arc::clone(destination) }),
            sticks,
        }
    }

    /// The NID for the header.
    pub fn destination(&self) -> Nid {
        self.destination_ni().map_or(Nid::LOOPBACK, |peer_ni| peer_ni.nid())
    }

    /// The NID that the message is sent to: the destination, or a gateway.
    pub fn next_hop(&self) -> Nid {
        self.peer_ni.as_ref().map_or(Nid::LOOPBACK, |peer_ni| peer_ni.nid())
    }

    /// The route that it takes; `None` for a path without a gateway.
    pub fn route(&self) -> Option<&Arc<ActiveRoute>> {
        self.routed.as_ref().map(|routed| &routed.route)
    }

    fn destination_ni(&self) -> Option<&Arc<PeerNi>> {
        self.routed.as_ref().map(|routed| &routed.destination).or(self.peer_ni.as_ref())
    }

    /// Whether the path is selected only because there is no better one.
    pub(crate) fn is_last_resort(&self) -> bool {
        self.routed.as_ref().is_some_and(|routed| routed.state != RouteState::Up)
            || self.peer_ni.as_ref().is_some_and(|peer_ni| is_avoided(&self.ni, peer_ni))
    }

    /// Whether nothing gets through on the path, as far as is known.
    pub(crate) fn is_dead(&self) -> bool {
        self.routed.as_ref().is_some_and(|routed| routed.state >= RouteState::NoAnswer)
            || self.peer_ni.as_ref().is_some_and(|peer_ni| is_avoided(&self.ni, peer_ni))
    }

    /// Commits the selection: its candidates come last among equals next time (PS-31), and a peer that is not
    /// multi-rail is bound to the local NI (PS-30).
    pub(crate) fn commit(&self) {
        let Some(peer_ni) = &self.peer_ni else { return };
        note_use(&self.ni, self.latest_use_of_others, &peer_ni.peer_now(), peer_ni);
        if let Some(Routed { route, destination, .. }) = &self.routed {
            route.note_use();
            note_use_of_peer_ni(&destination.peer_now(), destination);
        }
        if let Some(destination) = self.destination_ni().filter(|_| self.sticks) {
            destination.set_preferred(Preferred::Sticky(self.ni.nid()));
        }
    }
}

/// Selects the path of a request of this node (core-behaviour 2.2). `destination` is the peer NI of the NID that the
/// caller named.
///
/// `0@lo` always goes by the loopback, whatever `source` says (PS-1). A given `source` must be one of this
/// node's ([`Errno::Invalid`]) and on the destination's net, and then nothing is chosen (PS-10). Otherwise a
/// peer of one rail is sent to as named, by the interface that it sticks to; of a multi-rail peer the best of
/// all paths is taken, whichever of its NIDs was named. Where the two nodes have no net in common, it is sent to the
/// gateway of a route. [`Errno::HostUnreachable`] where there is no path.
pub fn choose(
    paths: Paths<'_>,
    destination: Option<&Arc<PeerNi>>,
    path_request: PathRequest<'_>,
) -> Result<ChosenPath, Errno> {
    let nets = paths.nets;
    let Some(named) = destination.filter(|_| !path_request.destination.is_loopback()) else {
        let ni = nets.ni(Nid::LOOPBACK).ok_or(Errno::HostUnreachable)?;
        return Ok(ChosenPath::loopback(ni));
    };
    let peer = &**named.peer_now();
    let chosen = |ni: &Arc<Ni>, peer_ni: &Arc<PeerNi>, sticks| ChosenPath {
        latest_use_of_others: latest_use_of_others(nets, peer, ni),
        ni: Arc::clone(ni),
        peer_ni: Some(Arc::clone(peer_ni)),
        routed: None,
        sticks,
    };
    if let Some(source) = path_request.source {
        let ni = nets.ni(source).ok_or(Errno::Invalid)?;
        return match source.net() == named.nid().net() {
            // A peer that is not multi-rail is bound to the first interface that sends to it (PS-30).
            true => {
                let sticks = !path_request.reserved && named.sticky().is_none() && !peer.is_multi_rail();
                Ok(chosen(ni, named, sticks))
            }
            false => over_gateway(paths, named, Some(ni), path_request),
        };
    }
    let exactly = !peer.is_multi_rail() || path_request.forwarded;
    // What is forwarded says nothing about which interface the peer knows this node by.
    let reserved = path_request.reserved || path_request.forwarded;
    if exactly {
        let Some(net) = nets.net(named.nid().net()) else {
            let sticky = named.sticky().filter(|_| !reserved).and_then(|nid| nets.ni(nid));
            let from_sticky = sticky.map(|ni| over_gateway(paths, named, Some(ni), path_request));
            return match from_sticky {
                Some(Ok(chosen)) if !chosen.is_last_resort() => Ok(chosen),
                _ => over_gateway(paths, named, None, path_request),
            };
        };
        // A peer that has never responded on an interface does not know this node by that NID.
        let may_stick = |ni: &&Arc<Ni>| named.was_ever_heard_by(ni) || !named.unresponsive().has(ni.nid());
        let sticky = named.sticky().filter(|_| !reserved).and_then(|nid| nets.ni(nid));
        let sticky = sticky.filter(may_stick);
        if let Some(ni) = sticky.filter(|ni| ni.nid().net() == net.id()) {
            return Ok(chosen(ni, named, false));
        }
        let its = [Arc::downgrade(named)];
        let ni = best_local_ni(net, &its, path_request).ok_or(Errno::HostUnreachable)?;
        return Ok(chosen(ni, named, !reserved));
    }
    let Some((net, peer_net)) = best_net(nets, peer, path_request) else {
        return over_gateway(paths, named, None, path_request);
    };
    if !paths.routes.is_empty()
        && let Some(routed) = better_route(paths, named, (net, peer_net), path_request)
    {
        return Ok(routed);
    }
    let ni = best_local_ni(net, &peer_net.nis, path_request).ok_or(Errno::HostUnreachable)?;
    let peer_ni = best_peer_ni(peer_net, ni, path_request).ok_or(Errno::HostUnreachable)?;
    Ok(chosen(ni, &peer_ni, false))
}

/// The path over a gateway to a peer with which this node has nets in common, of which `direct` is the best, if it is better
/// than that: nothing gets through there, as far as is known, or a rule prefers the net behind the gateway. Other than
/// that a common net comes first (PS-11).
fn better_route(
    paths: Paths<'_>,
    named: &Arc<PeerNi>,
    direct: (&Net, &PeerNet),
    path_request: PathRequest<'_>,
) -> Option<ChosenPath> {
    let nets = paths.nets;
    let peer = &**named.peer_now();
    let is_routed = |net: &PeerNet| nets.net(net.id).is_none() && paths.routes.lead_to(net.id);
    if path_request.direct_only || !peer.nets.iter().any(is_routed) {
        return None;
    }
    let its = |(_, (net, _)): &(NetCandidate, (&Net, _))| net.id() == direct.0.id();
    let candidate = shared_nets(nets, peer, path_request).find(its).map(|(candidate, _)| candidate)?;
    let routed = over_gateway(paths, named, None, path_request).ok()?;
    let behind = peer.net(routed.destination().net())?;
    let is_dead =
        candidate.fatal || candidate.path_state >= PathState::Unresponsive || candidate.peer_health == 0;
    let is_preferred = behind.usage.priority() < candidate.peer_priority.min(candidate.local_priority);
    let works = !routed.is_dead() && behind.usable_health() > Some(0);
    (works && (is_dead || is_preferred)).then_some(routed)
}

/// The path to a node that this one has no net in common with. Of a multi-rail peer the best NID is the destination, unless
/// `source` is given: then the conversation is with the one that was named.
fn over_gateway(
    paths: Paths<'_>,
    named: &Arc<PeerNi>,
    source: Option<&Arc<Ni>>,
    path_request: PathRequest<'_>,
) -> Result<ChosenPath, Errno> {
    let peer = &**named.peer_now();
    let hop_to = |net: NetId| best_hop(paths, net, peer, source, path_request);
    if peer.is_multi_rail() && source.is_none() && !path_request.forwarded {
        let routed = peer.nets.iter().filter_map(|peer_net| {
            let hop = hop_to(peer_net.id)?;
            Some((peer_net_candidate(peer_net)?, (peer_net, hop)))
        });
        let (_, (peer_net, hop)) = best(routed).ok_or(Errno::HostUnreachable)?;
        let destination = best_peer_ni(peer_net, &hop.ni, path_request).ok_or(Errno::HostUnreachable)?;
        return Ok(ChosenPath::over(paths.nets, hop, &destination, false));
    }
    let hop = hop_to(named.nid().net()).ok_or(Errno::HostUnreachable)?;
    let may_stick = !path_request.reserved && !path_request.forwarded && !peer.is_multi_rail();
    let sticks = may_stick && named.sticky().is_none();
    Ok(ChosenPath::over(paths.nets, hop, named, sticks))
}

/// A net of the peer that this node is not on.
fn peer_net_candidate(peer_net: &PeerNet) -> Option<NetCandidate> {
    Some(NetCandidate {
        peer_health: peer_net.usable_health()?,
        peer_priority: peer_net.usage.priority(),
        peer_last_use: peer_net.last_use(),
        ..NetCandidate::default()
    })
}

/// Stores the use of a path by a response: among equals the last used comes last, whoever selected it (PS-31).
pub(crate) fn answered(nets: &Nets, ni: &Ni, peer_ni: &PeerNi) {
    let peer = &**peer_ni.peer_now();
    note_use(ni, latest_use_of_others(nets, peer, ni), peer, peer_ni);
}

/// The best common net of this node and a peer. A single one is not compared.
fn best_net<'a>(
    nets: &'a Nets,
    peer: &'a Peer,
    path_request: PathRequest<'a>,
) -> Option<(&'a Net, &'a PeerNet)> {
    let mut shared = peer.nets.iter().filter_map(|peer_net| Some((nets.net(peer_net.id)?, peer_net)));
    let first = shared.next()?;
    match shared.next() {
        None => Some(first),
        Some(_) => best(shared_nets(nets, peer, path_request)).map(|(_, nets)| nets),
    }
}

/// The common nets of this node and a peer, in the order of the peer.
fn shared_nets<'a>(
    nets: &'a Nets,
    peer: &'a Peer,
    path_request: PathRequest<'a>,
) -> impl Iterator<Item = (NetCandidate, (&'a Net, &'a PeerNet))> {
    peer.nets.iter().filter_map(move |peer_net| {
        let net = nets.net(peer_net.id)?;
        let peer_health = peer_net.usable_health()?;
        let working = || net.nis().iter().filter(|ni| !ni.is_fatal());
        let candidate = NetCandidate {
            fatal: working().next().is_none(),
            path_state: working()
                .map(|ni| path_state_of(ni, &peer_net.nis, path_request))
                .min()
                .unwrap_or_default(),
            peer_health,
            peer_priority: peer_net.usage.priority(),
            local_health: working().map(|ni| ni.health()).max().unwrap_or(0),
            local_priority: net.usage().priority(),
            peer_last_use: peer_net.last_use(),
            local_last_use: net.last_use(),
        };
        Some((candidate, (net, peer_net)))
    })
}

/// The best local NI on a net to send to these peer NIs.
fn best_local_ni<'a>(
    net: &'a Net,
    peer_nis: &'a [Weak<PeerNi>],
    path_request: PathRequest<'_>,
) -> Option<&'a Arc<Ni>> {
    match (net.nis(), path_request.numa) {
        ([only], _) => Some(only),
        (nis, None) => {
            let path_state = |ni: &Ni| path_state_of(ni, peer_nis, path_request);
            best(nis.iter().map(|ni| (local_ni(ni, 0, path_state(ni)), ni))).map(|(_, ni)| ni)
        }
        _ => best(local_nis(net, peer_nis, path_request)).map(|(_, ni)| ni),
    }
}

/// The local NIs on a net, in the order of configuration.
fn local_nis<'a>(
    net: &'a Net,
    peer_nis: &'a [Weak<PeerNi>],
    path_request: PathRequest<'_>,
) -> impl Iterator<Item = (LocalNiCandidate, &'a Arc<Ni>)> {
    let distances = path_request.numa.and_then(|numa| numa.distances(net.nis()));
    net.nis().iter().map(move |ni| {
        let path_state = path_state_of(ni, peer_nis, path_request);
        (local_ni(ni, distances.map_or(0, |distances| distances.to(ni)), path_state), ni)
    })
}

/// The state of the best path from this interface to these peer NIs.
fn path_state_of(ni: &Ni, peer_nis: &[Weak<PeerNi>], path_request: PathRequest<'_>) -> PathState {
    if !path_request.looks_at_pairs() {
        return PathState::Usable;
    }
    let its = peer_nis.iter().filter_map(Weak::upgrade);
    its.map(|peer_ni| path_state(ni, &peer_ni, path_request)).min().unwrap_or_default()
}

/// The state of a path.
fn path_state(ni: &Ni, peer_ni: &PeerNi, path_request: PathRequest<'_>) -> PathState {
    if !path_request.looks_at_pairs() {
        return PathState::Usable;
    }
    let path_nids = (ni.nid(), peer_ni.nid());
    match path_request.failed {
        Some(failed) if path_request.tries_unresponsive && failed.contains(&path_nids) => PathState::Failed,
        _ if peer_ni.unresponsive().has(path_nids.0) => PathState::Unresponsive,
        Some(failed) if failed.contains(&path_nids) => PathState::Unresponsive,
        Some(_) if !peer_ni.was_heard_by(ni) => PathState::Unproven,
        _ if peer_ni.is_suspect_from(ni) => PathState::Unproven,
        _ => PathState::Usable,
    }
}

impl PathRequest<'_> {
    /// Whether path states can differ.
    const fn looks_at_pairs(&self) -> bool {
        self.any_unresponsive || self.failed.is_some()
    }
}

/// Whether a message to the node of this peer NI, which is to leave on `ni`, may get through on another path. To a
/// peer that is not multi-rail the named NID is used, and only requests to the reserved portal (`reserved`) are sent
/// from any interface; other requests as well as long as the peer has never responded on `ni`: it does not know this
/// node by that NID then.
pub(crate) fn has_other_path(nets: &Nets, peer_ni: &PeerNi, ni: &Ni, reserved: bool) -> bool {
    let local = ni.nid();
    let works = |ni: &Ni, its: &PeerNi| {
        (ni.nid(), its.nid()) != (local, peer_ni.nid())
            && !ni.is_fatal()
            && !its.is_reported_down()
            && !its.unresponsive().has(ni.nid())
    };
    let peer = peer_ni.peer_now();
    if !peer.is_multi_rail() {
        let nis = nets.net(peer_ni.nid().net()).map_or(&[][..], |net| net.nis());
        return (reserved || !peer_ni.was_ever_heard_by(ni)) && nis.iter().any(|ni| works(ni, peer_ni));
    }
    any_path(nets, &peer, works)
}

/// Whether there is no other path from this node to the peer, in whatever state.
pub(crate) fn is_only_path(nets: &Nets, peer_ni: &PeerNi, local: Nid) -> bool {
    let is_other = |ni: &Ni, its: &PeerNi| (ni.nid(), its.nid()) != (local, peer_ni.nid());
    !any_path(nets, &peer_ni.peer_now(), is_other)
}

/// Every path from this node to the peer.
pub(crate) fn for_each_path(nets: &Nets, peer: &Peer, mut visit: impl FnMut(&Ni, &PeerNi)) {
    any_path(nets, peer, |ni, its| {
        visit(ni, its);
        false
    });
}

fn any_path(nets: &Nets, peer: &Peer, mut is_it: impl FnMut(&Ni, &PeerNi) -> bool) -> bool {
    peer.nets.iter().any(|peer_net| {
        let nis = nets.net(peer_net.id).map_or(&[][..], |net| net.nis());
        nis.iter().any(|ni| peer_net.nis().any(|its| is_it(ni, &its)))
    })
}

/// Whether a message to the node of this peer NI could be tried on another path, unresponsive or not: any may have
/// recovered.
pub(crate) fn may_try_other_path(nets: &Nets, peer_ni: &PeerNi, local: Nid) -> bool {
    let peer = peer_ni.peer_now();
    let is_other = |ni: &Ni, its: &PeerNi| (ni.nid(), its.nid()) != (local, peer_ni.nid()) && !ni.is_fatal();
    peer.is_multi_rail() && any_path(nets, &peer, is_other)
}

/// Whether this path is used only if there is no other.
pub(crate) fn is_avoided(ni: &Ni, peer_ni: &PeerNi) -> bool {
    ni.is_fatal() || peer_ni.is_reported_down() || peer_ni.unresponsive().has(ni.nid())
}

/// The best local NI to reach exactly this peer NI.
pub(crate) fn best_source(nets: &Nets, peer_ni: &Arc<PeerNi>, any_unresponsive: bool) -> Option<Nid> {
    let destination = peer_ni.nid();
    let path_request = PathRequest {
        source: None,
        destination,
        compare_queued_bytes: false,
        reserved: true,
        numa: None,
        any_unresponsive,
        failed: None,
        tries_unresponsive: false,
        forwarded: false,
        gateway_terms: GatewayTerms::default(),
        direct_only: false,
        came_by: None,
    };
    let net = nets.net(destination.net())?;
    best_local_ni(net, &[Arc::downgrade(peer_ni)], path_request).map(|ni| ni.nid())
}

fn local_ni(ni: &Ni, distance: u32, path_state: PathState) -> LocalNiCandidate {
    LocalNiCandidate {
        fatal: ni.is_fatal(),
        path_state,
        health: ni.health(),
        priority: ni.priority(),
        distance,
        credits: ni.credits().0,
        last_use: ni.last_use().get(),
    }
}

/// The best peer NI of a peer on a net.
fn best_peer_ni(peer_net: &PeerNet, ni: &Ni, path_request: PathRequest<'_>) -> Option<Arc<PeerNi>> {
    let by_rank = if path_request.looks_at_pairs() || path_request.compare_queued_bytes {
        None
    } else {
        peer_net.least_recently_used().or_else(|| best_by_rank(peer_net))
    };
    let chosen = match by_rank {
        Some(chosen) => chosen,
        None => best(peer_nis(peer_net, ni, path_request))?.1,
    };
    // One that is just being removed is not chosen.
    chosen.upgrade().or_else(|| best(held_peer_nis(peer_net, ni, path_request)).map(|(_, its)| its))
}

/// The peer NI that is best if nothing but `PeerNiCriteria::rank` counts: the first of equals. `None` if a selection
/// rule prefers local NIDs of one of them.
fn best_by_rank(peer_net: &PeerNet) -> Option<&Weak<PeerNi>> {
    let (mut best, mut chosen) = (0, None);
    for (its, criteria) in peer_net.nis.iter().zip(&peer_net.criteria) {
        if criteria.is_by_rule() {
            return None;
        }
        let rank = criteria.rank();
        if chosen.is_none() || rank > best {
            (best, chosen) = (rank, Some(its));
        }
    }
    chosen
}

/// [`peer_nis`], each of them held.
fn held_peer_nis(
    peer_net: &PeerNet,
    ni: &Ni,
    path_request: PathRequest<'_>,
) -> impl Iterator<Item = (PeerNiCandidate, Arc<PeerNi>)> {
    peer_nis(peer_net, ni, path_request).filter_map(|(candidate, its)| Some((candidate, its.upgrade()?)))
}

/// The peer NIs of a peer on a net, the primary one first. They are held only to look at what belongs to a pair with
/// the local NI: with many of them that would cost more than all else.
fn peer_nis<'a>(
    peer_net: &'a PeerNet,
    ni: &Ni,
    path_request: PathRequest<'_>,
) -> impl Iterator<Item = (PeerNiCandidate, &'a Weak<PeerNi>)> {
    peer_net.nis.iter().zip(&peer_net.criteria).filter_map(move |(its, criteria)| {
        let (path_state, preferred) = match path_request.looks_at_pairs() || criteria.is_by_rule() {
            false => (PathState::Usable, false),
            true => {
                let peer_ni = its.upgrade()?;
                (path_state(ni, &peer_ni, path_request), peer_ni.prefers(ni.nid()))
            }
        };
        let candidate = PeerNiCandidate {
            path_state,
            health: criteria.usable_health(),
            priority: criteria.priority(),
            preferred,
            queued_bytes: if path_request.compare_queued_bytes { criteria.tx().bytes() } else { 0 },
            credits: criteria.tx().credits().0,
            last_use: criteria.last_use().get(),
        };
        Some((candidate, its))
    })
}

#[cfg(all(test, not(loom)))]
#[path = "select_tests.rs"]
mod tests;

#[cfg(all(test, not(loom)))]
mod numa_tests;
