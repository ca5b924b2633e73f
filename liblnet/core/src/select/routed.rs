//! The way to a net that this node is not on: the route, the gateway's NID, and the local NI (core-behaviour 2.6, 2.7).

use super::candidates::GatewayCandidate;
use super::compare::best;
use super::{PathRequest, Paths, best_local_ni, best_peer_ni, path_state, shared_nets};
use crate::model::{ActiveRoute, GatewayTerms, Nets, Ni, Peer, PeerNi};
use lnet_wire::NetId;
use std::sync::Arc;

/// The next hop of a message to a net that this node is not on.
#[derive(Clone, Debug)]
pub(super) struct Hop {
    pub(super) ni: Arc<Ni>,
    /// The gateway.
    pub(super) peer_ni: Arc<PeerNi>,
    pub(super) route: Arc<ActiveRoute>,
}

/// The best hop to `net` over a route that is up, from `source` if it is given. `None` without one.
pub(super) fn best_hop(
    paths: Paths<'_>,
    net: NetId,
    destination: &Peer,
    source: Option<&Arc<Ni>>,
    path_request: PathRequest<'_>,
) -> Option<Hop> {
    best(hops(paths, net, destination, source, path_request)).map(|(_, hop)| hop)
}

/// One hop for each route to `net` that is up, in the order of the routes.
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
    let up = paths.routes.to(net).filter(move |route| is_up(route, paths.nets, path_request.gateway_terms));
    up.filter(is_other).filter_map(move |route| {
        let (ni, peer_ni) = best_path_to_gateway(paths.nets, route, source, path_request)?;
        let criteria = peer_ni.criteria();
        let candidate = GatewayCandidate {
            path_state: path_state(&ni, &peer_ni, path_request),
            health: criteria.usable_health(),
            priority: route.route.priority,
            hops: route.hops(),
            queued_bytes: criteria.tx().bytes(),
            credits: criteria.tx().credits().0,
            last_use: route.last_use(),
        };
        Some((candidate, Hop { ni, peer_ni, route: Arc::clone(route) }))
    })
}

/// Whether a route may be used (RT-22). One by a NID of this node itself never may.
pub(crate) fn is_up(route: &ActiveRoute, nets: &Nets, terms: GatewayTerms) -> bool {
    nets.ni(route.route.gateway).is_none() && route.is_up(terms, |net| nets.net(net).is_some())
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
