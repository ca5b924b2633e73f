//! Selection of a path to a net that this node is not on: the route, the gateway's NID, and the local NI (core-behaviour 2.6,
//! 2.7).

use super::chosen_path::{Choice, ChosenPath};
use super::compare::best;
use super::criteria::{GatewayCandidate, NetCandidate};
use super::direct::{best_local_ni_to, best_pair, best_partner, shared_nets};
use super::families::{are_mixed, best_peer_ni_from};
use super::hop::Hop;
use super::is_named_only;
use super::path_request::{PathRequest, Paths};
use super::path_state::{PathState, path_state, route_state_by};
use super::peer_nis::best_peer_ni;
use super::preferring::Preferring;
use super::reach::Reach;
use crate::model::{ActiveRoute, Net, Nets, Ni, Peer, PeerNet, PeerNi, RouteState, can_reach};
use lnet_wire::{Errno, NetId, Nid};
use std::sync::Arc;

/// The path over a gateway to a peer with which this node has nets in common, if it is better than `direct`, the best path on
/// those: `direct` is dead, as far as is known, or a rule prefers the net behind the gateway, which is in no worse
/// health. Otherwise a common net comes first (PS-11).
pub(super) fn better_route(
    paths: Paths<'_>,
    named: &Arc<PeerNi>,
    peer: &Peer,
    direct: (&Net, &PeerNet),
    path_request: PathRequest<'_>,
) -> Option<ChosenPath> {
    let nets = paths.nets;
    let is_routed = |net: &PeerNet| nets.net(net.id).is_none() && paths.routes.lead_to(net.id);
    if path_request.direct_only || !peer.nets.iter().any(is_routed) {
        return None;
    }
    let its = |(_, (net, _)): &(NetCandidate, (&Net, _))| net.id() == direct.0.id();
    let direct = shared_nets(nets, peer, path_request).find(its).map(|(candidate, _)| candidate)?;
    let (routed, (peer_net, hop)) = best(routed_nets(paths, peer, named, path_request))?;
    let is_dead = direct.fatal || direct.path_state >= PathState::Unresponsive || direct.peer_health == 0;
    let is_preferred = routed.is_as_healthy_as(&direct)
        && routed.peer_priority < direct.peer_priority.min(direct.local_priority);
    let routed = to_best_of(paths, peer_net, hop, path_request)?;
    let works = !routed.is_dead() && peer_net.usable_health() > Some(0);
    (works && (is_dead || is_preferred)).then_some(routed)
}

/// The path to a node that this one has no net in common with. For a multi-rail peer the best NID is the destination, unless
/// `source` is given: then the exchange is with the NID that was named.
pub(super) fn over_gateway(
    paths: Paths<'_>,
    named: &Arc<PeerNi>,
    peer: &Peer,
    source: Option<&Arc<Ni>>,
    path_request: &PathRequest<'_>,
) -> Result<ChosenPath, Errno> {
    let chosen = over_gateway_without_binding(paths, named, peer, source, path_request)?;
    let may_stick = !path_request.reserved && !path_request.forwarded && !peer.is_multi_rail();
    let sticks = may_stick && named.sticky().is_none() && !named.criteria().prefers_local_nis();
    Ok(chosen.sticking(sticks))
}

/// The path of [`over_gateway`], which does not bind the peer to an interface: for one that is bound, from `source`.
pub(super) fn over_gateway_without_binding(
    paths: Paths<'_>,
    named: &Arc<PeerNi>,
    peer: &Peer,
    source: Option<&Arc<Ni>>,
    path_request: &PathRequest<'_>,
) -> Result<ChosenPath, Errno> {
    if is_any_nid_meant(peer, source, *path_request) {
        let routed = best(routed_nets(paths, peer, named, *path_request));
        let (_, (peer_net, hop)) = routed.ok_or(Errno::HostUnreachable)?;
        return to_best_of(paths, peer_net, hop, *path_request).ok_or(Errno::HostUnreachable);
    }
    let preferring = Preferring::one(named);
    let net = named.nid().net();
    let mut routes = paths.routes.to(net);
    let hop = match (routes.next(), routes.next()) {
        // A single route is not compared.
        (Some(only), None) => hop_by(paths, only, peer, preferring, source, path_request).map(|(_, hop)| hop),
        _ => best(hops(paths, net, peer, preferring, source, *path_request)).map(|(_, hop)| hop),
    };
    let hop = hop.ok_or(Errno::HostUnreachable)?;
    let choice = if source.is_none() { Choice::LocalEnd } else { Choice::Neither };
    Ok(ChosenPath::over(paths.nets, hop, named, choice))
}

/// Whether a message may go to another NID of the peer behind a gateway than the one that was named.
pub(super) fn is_any_nid_meant(peer: &Peer, source: Option<&Arc<Ni>>, path_request: PathRequest<'_>) -> bool {
    source.is_none() && !is_named_only(peer, &path_request)
}

/// The local NI for sending to a node that is not multi-rail and is behind a gateway: the one that rules prefer. It stays the
/// same as long as nothing changes, as the peer knows this node by it. Without such a rule it is the NI that the peer is
/// bound to.
pub(super) fn bound_ni<'a>(paths: Paths<'a>, named: &PeerNi) -> Option<&'a Arc<Ni>> {
    let preferred = match named.criteria().prefers_local_nis() {
        false => None,
        true => {
            // Health comes first: an NI that is not preferred is taken if the preferred ones are in worse health.
            let nis = paths.nets_towards(named.nid().net()).flat_map(|net| net.nis());
            best_partner(named, nis, |_| (PathState::Usable, Reach::ALL))
        }
    };
    preferred.or_else(|| named.sticky().and_then(|nid| paths.nets.ni(nid)))
}

/// The nets of a peer that this node is not on and that gateways lead to, each with the best hop to it, in the order of the peer.
pub(super) fn routed_nets<'a>(
    paths: Paths<'a>,
    peer: &'a Peer,
    named: &'a PeerNi,
    path_request: PathRequest<'a>,
) -> impl Iterator<Item = (NetCandidate, (&'a PeerNet, Hop))> {
    peer.nets.iter().filter_map(move |peer_net| {
        let preferring = Preferring::behind_gateway(peer, peer_net.id, named, true);
        let (by, hop) = best(hops(paths, peer_net.id, peer, preferring, None, path_request))?;
        let candidate = NetCandidate::routed(peer_net, peer_net.usable_health()?, &hop, &by);
        Some((candidate, (peer_net, hop)))
    })
}

/// The path to the best peer NI on a net behind a gateway.
fn to_best_of(
    paths: Paths<'_>,
    peer_net: &PeerNet,
    hop: Hop,
    path_request: PathRequest<'_>,
) -> Option<ChosenPath> {
    let gateway = Some(hop.route.route.gateway);
    let destination = best_peer_ni(peer_net, &hop.ni, gateway, &path_request)?;
    Some(ChosenPath::over(paths.nets, hop, &destination, Choice::BothEnds))
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
    let preferences = preferring.gateways(paths.routes.to(net).map(|route| route.route.gateway));
    paths.routes.to(net).enumerate().filter_map(move |(position, route)| {
        let (net, hop) = hop_by(paths, route, destination, preferring, source, &path_request)?;
        let path_state = path_state(&hop.ni, &hop.peer_ni, path_request);
        let preference = preferences.of(position, route.route.gateway);
        let local_ni_preference = preferring.local_ni(hop.ni.nid());
        Some((GatewayCandidate::of(&hop, net, path_state, preference, local_ni_preference), hop))
    })
}

/// The hop by a route, and the net of its local NI, if the route may be used.
fn hop_by<'a>(
    paths: Paths<'a>,
    route: &Arc<ActiveRoute>,
    destination: &Peer,
    preferring: Preferring<'_>,
    source: Option<&Arc<Ni>>,
    path_request: &PathRequest<'_>,
) -> Option<(&'a Net, Hop)> {
    let gateway = &**route.gateway.peer_now();
    // A node refuses messages that arrive on one of its interfaces for another.
    if is_same_peer(gateway, destination) {
        return None;
    }
    let route_state = route_state_by(route, gateway, paths.nets, path_request.gateway_terms);
    if route_state == RouteState::Excluded || path_request.needs_origin && takes_no_origins(gateway) {
        return None;
    }
    let (ni, peer_ni) = best_path_to_gateway(paths.nets, route, gateway, preferring, source, *path_request)?;
    let net = paths.nets.net(ni.nid().net())?;
    Some((net, Hop { ni, peer_ni, route: Arc::clone(route), route_state }))
}

/// Compares the discovery states and not the numbers of the peers: a peer that exists only for an explanation has its own number.
fn is_same_peer(one: &Peer, other: &Peer) -> bool {
    Arc::ptr_eq(&one.discovery, &other.discovery)
}

/// Whether the gateway of a route has turned out not to take origins.
fn takes_no_origins(gateway: &Peer) -> bool {
    gateway.nets.iter().flat_map(|net| net.nis()).any(|peer_ni| peer_ni.takes_no_origins())
}

/// The routes to `net` by which a node on it may be reached, without those whose gateway is the node itself.
pub(crate) fn routes_to<'a>(
    paths: Paths<'a>,
    destination: &Peer,
    net: NetId,
) -> impl Iterator<Item = &'a Arc<ActiveRoute>> {
    // A node refuses messages that arrive on one of its interfaces for another.
    paths.routes.to(net).filter(|route| !is_same_peer(&route.gateway.peer_now(), destination))
}

/// The NID of this node on the net of a gateway, if any route leads to a peer that this node has no net in common with, from
/// `source` if it is given, in whatever state the route is, and over a gateway that may accept origins if the message
/// `needs_origin`.
pub(crate) fn may_be_routed(
    paths: Paths<'_>,
    named: &PeerNi,
    source: Option<Nid>,
    needs_origin: bool,
) -> Option<Nid> {
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
        if needs_origin && takes_no_origins(&route.gateway.peer_now()) {
            return None;
        }
        let net = nets.net(gateway.net()).filter(|_| nets.ni(gateway).is_none())?;
        match source {
            Some(source) => (source.net() == net.id()).then_some(source),
            None => net.nis().first().map(|ni| ni.nid()),
        }
    };
    its_nets.iter().flat_map(|net| routes.to(*net)).find_map(may_lead)
}

/// The best path to the gateway of a route, which is `peer` now. A gateway that is not multi-rail is sent to by the NID that the route names.
fn best_path_to_gateway(
    nets: &Nets,
    route: &ActiveRoute,
    peer: &Peer,
    preferring: Preferring<'_>,
    source: Option<&Arc<Ni>>,
    path_request: PathRequest<'_>,
) -> Option<(Arc<Ni>, Arc<PeerNi>)> {
    let named = &route.gateway;
    if !peer.is_multi_rail() {
        let net = nets.net(named.nid().net()).filter(|net| may_use(net.id(), source, path_request))?;
        let ni = match source {
            Some(ni) => Some(ni).filter(|ni| can_reach(ni, named))?,
            None => {
                best_local_ni_to(net, named, preferring.by_gateway(Preferring::one(named)), &path_request)?
            }
        };
        return Some((Arc::clone(ni), Arc::clone(named)));
    }
    let (_, (net, peer_net)) = best(nets_of_gateway(nets, peer, preferring, source, path_request))?;
    let (ni, peer_ni) = match source {
        Some(ni) if are_mixed(net, peer_net) => (ni, best_peer_ni_from(ni, peer_net, &path_request)?),
        Some(ni) => (ni, best_peer_ni(peer_net, ni, None, &path_request)?),
        None => best_pair(net, peer_net, |of_gateway| preferring.by_gateway(of_gateway), &path_request)?,
    };
    Some((Arc::clone(ni), peer_ni))
}

/// The nets by which a multi-rail gateway is reached.
pub(super) fn nets_of_gateway<'a>(
    nets: &'a Nets,
    gateway: &'a Peer,
    preferring: Preferring<'a>,
    source: Option<&'a Arc<Ni>>,
    path_request: PathRequest<'a>,
) -> impl Iterator<Item = (NetCandidate, (&'a Net, &'a PeerNet))> {
    let shared = shared_nets(nets, gateway, path_request);
    let usable = shared.filter(move |(_, (net, _))| may_use(net.id(), source, path_request));
    usable.map(move |(candidate, (net, peer_net))| {
        (
            NetCandidate { preference: preferring.best_local_ni(net.nis()).priority, ..candidate },
            (net, peer_net),
        )
    })
}

fn may_use(net: NetId, source: Option<&Arc<Ni>>, path_request: PathRequest<'_>) -> bool {
    source.is_none_or(|ni| ni.nid().net() == net) && path_request.came_by != Some(net)
}
