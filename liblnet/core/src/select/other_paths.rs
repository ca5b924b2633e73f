//! The paths between this node and a peer, apart from the one that a message has.

use super::path_request::Paths;
use super::path_state::route_state;
use crate::model::{ActiveRoute, AddressFamily, GatewayTerms, Nets, Ni, Peer, PeerNi, RouteState, can_reach};
use lnet_wire::{NetId, Nid};
use std::sync::Arc;

/// Whether this path is used only if there is no other.
#[inline(always)]
pub(crate) fn is_avoided(ni: &Ni, peer_ni: &PeerNi) -> bool {
    ni.is_fatal() || peer_ni.is_reported_down() || peer_ni.unresponsive().has(ni.nid())
}

/// Whether a message to the node of this peer NI, which is to leave on `ni`, may get through on another path. For a
/// peer that is not multi-rail the named NID is used, and only requests to the reserved portal (`reserved`) are sent
/// from any interface; other requests too as long as the peer has never responded on `ni`: it does not know this
/// node by that NID then.
pub(crate) fn has_other_path(nets: &Nets, peer_ni: &PeerNi, ni: &Ni, reserved: bool) -> bool {
    let local = ni.nid();
    let works = |ni: &Ni, its: &PeerNi| {
        (ni.nid(), its.nid()) != (local, peer_ni.nid())
            && !ni.is_fatal()
            && !its.is_reported_down()
            && !its.unresponsive().has(ni.nid())
            && can_reach(ni, its)
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

/// Whether a message to the node of this peer NI could be tried on another path, unresponsive or not: any may have recovered.
/// For a peer that is not multi-rail, as in [`has_other_path`], only a message that may be sent from any interface
/// (`reserved`).
pub(crate) fn may_try_other_path(nets: &Nets, peer_ni: &PeerNi, local: Nid, reserved: bool) -> bool {
    let peer = peer_ni.peer_now();
    let multi_rail = peer.is_multi_rail();
    let is_other = |ni: &Ni, its: &PeerNi| {
        (ni.nid(), its.nid()) != (local, peer_ni.nid())
            && !ni.is_fatal()
            && (multi_rail || its.nid() == peer_ni.nid())
    };
    (multi_rail || reserved) && any_path(nets, &peer, is_other)
}

/// Whether there is a path from this node to the peer that is not avoided.
pub(crate) fn has_usable_path(nets: &Nets, peer: &Peer) -> bool {
    any_path(nets, peer, |ni, its| !is_avoided(ni, its))
}

/// Whether there is a path from this node to a multi-rail peer that is neither avoided nor suspect.
pub(crate) fn has_proven_path(nets: &Nets, peer: &Peer) -> bool {
    peer.is_multi_rail() && any_path(nets, peer, |ni, its| !is_avoided(ni, its) && !its.is_suspect_from(ni))
}

/// The interfaces that are paths to a peer NI: those of its own address family first, then others that reach it.
pub(crate) fn local_nis_to<'a>(nets: &'a Nets, peer_ni: Option<&PeerNi>) -> Vec<&'a Arc<Ni>> {
    let Some((peer_ni, net)) = peer_ni.and_then(|its| Some((its, nets.net(its.nid().net())?))) else {
        return Vec::new();
    };
    let mut all: Vec<_> = net.nis().iter().filter(|ni| can_reach(ni, peer_ni)).collect();
    all.sort_by_key(|ni| !is_of_family(ni, peer_ni));
    all
}

/// The interfaces from which a peer NI is tried in turn: those of its own address family if any of them works, otherwise all that are paths
/// to it.
pub(crate) fn local_nis_to_try<'a>(nets: &'a Nets, peer_ni: Option<&PeerNi>) -> Vec<&'a Arc<Ni>> {
    let mut all = local_nis_to(nets, peer_ni);
    let own = all.iter().take_while(|ni| peer_ni.is_some_and(|its| is_of_family(ni, its)));
    let own: Vec<_> = own.copied().collect();
    if own.iter().any(|ni| !ni.is_fatal()) {
        all = own;
    }
    all
}

fn is_of_family(ni: &Ni, peer_ni: &PeerNi) -> bool {
    AddressFamily::of(ni.nid()) == AddressFamily::of(peer_ni.nid())
}

/// Whether there is a path from this node to exactly this peer NI that is not avoided.
pub(crate) fn is_usable(nets: &Nets, peer_ni: &PeerNi) -> bool {
    let nis = nets.net(peer_ni.nid().net()).map_or(&[][..], |net| net.nis());
    nis.iter().any(|ni| !is_avoided(ni, peer_ni) && can_reach(ni, peer_ni))
}

/// Whether the node of this peer NI is reached from another interface of this node than `ni`, by a path on which something has arrived.
pub(crate) fn is_reached_from_another(nets: &Nets, peer_ni: &PeerNi, ni: &Ni) -> bool {
    let is_it = |other: &Ni, its: &PeerNi| {
        other.nid() != ni.nid() && its.was_ever_heard_by(other) && !is_avoided(other, its)
    };
    any_path(nets, &peer_ni.peer_now(), is_it)
}

/// Whether a route is up, by the state of its gateway, and because some path to the gateway is not avoided. This decides how
/// the route is shown and logged, and whether messages are failed because no gateway works.
pub(crate) fn is_route_up(route: &ActiveRoute, nets: &Nets, terms: GatewayTerms) -> bool {
    route_state(route, nets, terms) == RouteState::Up && has_usable_path(nets, &route.gateway.peer_now())
}

/// Whether a message by this route gets through to its gateway, as far as is known: the route may be used although others
/// come before it.
pub(crate) fn is_route_usable(route: &ActiveRoute, nets: &Nets, terms: GatewayTerms) -> bool {
    route_state(route, nets, terms) < RouteState::NoResponse
        && has_usable_path(nets, &route.gateway.peer_now())
}

/// Whether a route to `net` over another gateway than this one is up.
pub(crate) fn has_other_gateway(paths: Paths<'_>, net: NetId, gateway: &Peer) -> bool {
    let id = gateway.discovery.id();
    is_up_by(paths, net, |route| route.gateway.peer_now().discovery.id() != id)
}

/// Whether a peer is reached without this gateway, as far as is known: over another one, or on a common net. For a multi-rail
/// peer any net counts, for another one only `net`.
pub(crate) fn is_reached_without(paths: Paths<'_>, peer: &Peer, net: NetId, gateway: &Peer) -> bool {
    if !peer.is_multi_rail() {
        return has_other_gateway(paths, net, gateway);
    }
    let (itself, by) = (peer.discovery.id(), gateway.discovery.id());
    let is_other = |route: &ActiveRoute| ![itself, by].contains(&route.gateway.peer_now().discovery.id());
    peer.nets.iter().any(|its| is_up_by(paths, its.id, is_other))
        || any_path(paths.nets, peer, |ni, its| !is_avoided(ni, its))
}

/// Whether a route leads to a net of this peer that this node is not on.
pub(crate) fn is_routed_too(paths: Paths<'_>, peer: &Peer) -> bool {
    peer.is_multi_rail()
        && peer.nets.iter().any(|net| paths.nets.net(net.id).is_none() && is_up_by(paths, net.id, |_| true))
}

/// Whether any of these routes to `net` is up.
fn is_up_by(paths: Paths<'_>, net: NetId, is_meant: impl Fn(&ActiveRoute) -> bool) -> bool {
    let is_up = |route: &Arc<ActiveRoute>| {
        is_meant(route) && route_state(route, paths.nets, GatewayTerms::default()) == RouteState::Up
    };
    paths.routes.to(net).any(is_up)
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
        nis.iter().any(|ni| peer_net.nis().any(|its| can_reach(ni, &its) && is_it(ni, &its)))
    })
}
