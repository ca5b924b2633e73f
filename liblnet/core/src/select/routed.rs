//! The way to a net that this node is not on: the route, the gateway's NID, and the local NI (core-behaviour 2.6, 2.7).

use super::candidates::GatewayCandidate;
use super::compare::best;
use super::{PathRequest, Paths, best_local_ni, best_peer_ni, path_state, shared_nets};
use crate::model::{ActiveRoute, GatewayTerms, Nets, Ni, Peer, PeerNi, RouteState};
use lnet_wire::{NetId, Nid};
use std::sync::Arc;

/// The next hop of a message to a net that this node is not on.
#[derive(Clone, Debug)]
pub(super) struct Hop {
    pub(super) ni: Arc<Ni>,
    /// The gateway.
    pub(super) peer_ni: Arc<PeerNi>,
    pub(super) route: Arc<ActiveRoute>,
    pub(super) route_state: RouteState,
}

/// The best hop to `net` over a route that may be used, from `source` if it is given. `None` without one.
pub(super) fn best_hop(
    paths: Paths<'_>,
    net: NetId,
    destination: &Peer,
    source: Option<&Arc<Ni>>,
    path_request: PathRequest<'_>,
) -> Option<Hop> {
    best(hops(paths, net, destination, source, path_request)).map(|(_, hop)| hop)
}

/// One hop for each route to `net` that may be used, in the order of the routes.
pub(super) fn hops<'a>(
    paths: Paths<'a>,
    net: NetId,
    destination: &Peer,
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
        let (ni, peer_ni) = best_path_to_gateway(paths.nets, route, source, path_request)?;
        let criteria = peer_ni.criteria();
        let candidate = GatewayCandidate {
            route_state,
            path_state: path_state(&ni, &peer_ni, path_request),
            health: criteria.usable_health(),
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
            None => best_local_ni(net, &its, path_request)?,
        };
        return Some((Arc::clone(ni), Arc::clone(named)));
    }
    let shared = shared_nets(nets, peer, path_request).filter(|(_, (net, _))| may_use(net.id()));
    let (_, (net, peer_net)) = best(shared)?;
    let ni = match source {
        Some(ni) => ni,
        None => best_local_ni(net, &peer_net.nis, path_request)?,
    };
    let peer_ni = best_peer_ni(peer_net, ni, path_request)?;
    Some((Arc::clone(ni), peer_ni))
}
