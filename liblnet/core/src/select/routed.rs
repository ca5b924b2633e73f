//! The way to a net that this node is not on: the route, the gateway's NID, and the local NI (core-behaviour 2.6, 2.7).

use super::candidates::{GatewayCandidate, NetCandidate, PathState};
use super::chosen_path::{ChosenPath, Hop};
use super::compare::best;
use super::direct::{best_local_ni, best_peer_ni, path_state, shared_nets};
use super::path_request::{PathRequest, Paths};
use super::preferring::Preferring;
use crate::model::{ActiveRoute, GatewayTerms, Net, Nets, Ni, Peer, PeerNet, PeerNi, RouteState};
use lnet_wire::{Errno, NetId, Nid};
use std::sync::Arc;

/// The path over a gateway to a peer with which this node has nets in common, of which `direct` is the best, if it is better
/// than that: nothing gets through there, as far as is known, or a rule prefers the net behind the gateway. Other than
/// that a common net comes first (PS-11).
pub(super) fn better_route(
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
    // Health comes before rules.
    let is_as_healthy = behind.usable_health() >= Some(candidate.peer_health);
    let is_preferred =
        is_as_healthy && behind.usage.priority() < candidate.peer_priority.min(candidate.local_priority);
    let works = !routed.is_dead() && behind.usable_health() > Some(0);
    (works && (is_dead || is_preferred)).then_some(routed)
}

/// The path to a node that this one has no net in common with. Of a multi-rail peer the best NID is the destination, unless
/// `source` is given: then the conversation is with the one that was named.
pub(super) fn over_gateway(
    paths: Paths<'_>,
    named: &Arc<PeerNi>,
    source: Option<&Arc<Ni>>,
    path_request: PathRequest<'_>,
) -> Result<ChosenPath, Errno> {
    let peer = &**named.peer_now();
    let any_nid = peer.is_multi_rail() && source.is_none() && !path_request.forwarded;
    let hop_to = |net: NetId| {
        let preferring = Preferring::behind_gateway(peer, net, named, any_nid);
        best_hop(paths, net, peer, preferring, source, path_request)
    };
    if any_nid {
        let routed = peer.nets.iter().filter_map(|peer_net| {
            let hop = hop_to(peer_net.id)?;
            Some((peer_net_candidate(peer_net)?, (peer_net, hop)))
        });
        let (_, (peer_net, hop)) = best(routed).ok_or(Errno::HostUnreachable)?;
        let gateway = Some(hop.route.route.gateway);
        let destination =
            best_peer_ni(peer_net, &hop.ni, gateway, path_request).ok_or(Errno::HostUnreachable)?;
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
        peer_turn_ended: peer_net.usage.turn().ended(),
        peer_last_use: peer_net.last_use(),
        ..NetCandidate::default()
    })
}

/// The best hop to `net` over a route that may be used, from `source` if it is given. `None` without one.
fn best_hop(
    paths: Paths<'_>,
    net: NetId,
    destination: &Peer,
    preferring: Preferring<'_>,
    source: Option<&Arc<Ni>>,
    path_request: PathRequest<'_>,
) -> Option<Hop> {
    best(hops(paths, net, destination, preferring, source, path_request)).map(|(_, hop)| hop)
}

/// One hop for each route to `net` that may be used, in the order of the routes.
pub(super) fn hops<'a>(
    paths: Paths<'a>,
    net: NetId,
    destination: &Peer,
    preferring: Preferring<'a>,
    source: Option<&'a Arc<Ni>>,
    path_request: PathRequest<'a>,
) -> impl Iterator<Item = (GatewayCandidate, Hop)> {
    // A node refuses what comes to one of its interfaces for another.
    let itself = destination.discovery.id();
    let is_other = move |route: &&Arc<ActiveRoute>| route.gateway.peer_now().discovery.id() != itself;
    paths.routes.to(net).filter(is_other).filter_map(move |route| {
        let route_state = route_state(route, paths.nets, path_request.gateway_terms);
        if route_state == RouteState::Excluded {
            return None;
        }
        let (ni, peer_ni) = best_path_to_gateway(paths.nets, route, preferring, source, path_request)?;
        let criteria = peer_ni.criteria();
        let candidate = GatewayCandidate {
            route_state,
            path_state: path_state(&ni, &peer_ni, path_request),
            health: criteria.usable_health(),
            preference: preferring.gateway(route.route.gateway),
            priority: route.route.priority,
            hops: route.hops(),
            queued_bytes: criteria.tx().bytes(),
            credits: criteria.tx().credits().0,
            last_use: route.last_use(),
        };
        Some((candidate, Hop { ni, peer_ni, route: Arc::clone(route), route_state }))
    })
}

/// The state of a route. One by a NID of this node itself is never used.
pub(crate) fn route_state(route: &ActiveRoute, nets: &Nets, terms: GatewayTerms) -> RouteState {
    match nets.ni(route.route.gateway) {
        Some(_) => RouteState::Excluded,
        None => route.state(terms, |net| nets.net(net).is_some()),
    }
}

/// Whether any route leads to a peer that this node has no net in common with, from `source` if it is given, in whatever state
/// the route is: the NID of this node on the net of the gateway.
pub(crate) fn may_be_routed(paths: Paths<'_>, named: &PeerNi, source: Option<Nid>) -> Option<Nid> {
    let Paths { nets, routes } = paths;
    let peer = &**named.peer_now();
    let named_net = [named.nid().net()];
    let its_nets: Vec<NetId> = match peer.is_multi_rail() {
        true => peer.nets.iter().map(|net| net.id).collect(),
        false => named_net.to_vec(),
    };
    if its_nets.iter().any(|net| nets.net(*net).is_some()) {
        return None;
    }
    let may_lead = |route: &Arc<ActiveRoute>| {
        let gateway = route.route.gateway;
        let net = nets.net(gateway.net()).filter(|_| nets.ni(gateway).is_none())?;
        match source {
            Some(source) => (source.net() == net.id()).then_some(source),
            None => net.nis().first().map(|ni| ni.nid()),
        }
    };
    its_nets.iter().flat_map(|net| routes.to(*net)).find_map(may_lead)
}

/// The best path to the gateway of a route. A gateway that is not multi-rail is sent to by the NID that the route names.
fn best_path_to_gateway(
    nets: &Nets,
    route: &ActiveRoute,
    preferring: Preferring<'_>,
    source: Option<&Arc<Ni>>,
    path_request: PathRequest<'_>,
) -> Option<(Arc<Ni>, Arc<PeerNi>)> {
    let named = &route.gateway;
    let peer = &**named.peer_now();
    let may_use =
        |net: NetId| source.is_none_or(|ni| ni.nid().net() == net) && path_request.came_by != Some(net);
    if !peer.is_multi_rail() {
        let net = nets.net(named.nid().net()).filter(|net| may_use(net.id()))?;
        let its = [Arc::downgrade(named)];
        let ni = match source {
            Some(ni) => ni,
            None => best_local_ni(net, &its, preferring.or(Preferring::one(named)), path_request)?,
        };
        return Some((Arc::clone(ni), Arc::clone(named)));
    }
    let shared = shared_nets(nets, peer, path_request).filter(|(_, (net, _))| may_use(net.id()));
    let (_, (net, peer_net)) = best(shared)?;
    let ni = match source {
        Some(ni) => ni,
        None => {
            let preferring = preferring.or(Preferring::best_of(peer_net));
            best_local_ni(net, &peer_net.nis, preferring, path_request)?
        }
    };
    let peer_ni = best_peer_ni(peer_net, ni, None, path_request)?;
    Some((Arc::clone(ni), peer_ni))
}
