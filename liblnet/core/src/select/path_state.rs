//! The state of the path between a local NI and a peer NI, and of a route, as selection compares them.

use super::path_request::PathRequest;
use crate::model::{ActiveRoute, GatewayTerms, Nets, Ni, Peer, PeerNi, RouteState};
use std::sync::Weak;

/// The state of a path, the best first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PathState {
    /// The path works, as far as is known.
    #[default]
    Usable,
    /// The message has failed elsewhere, and nothing has arrived over this path since it last failed, if ever; or the
    /// path is suspect. Both ends are on one link: what fails beyond that does not concern the path.
    UnprovenOnLink,
    /// As [`PathState::UnprovenOnLink`], with ends that are not known to be on one link.
    Unproven,
    /// Something is in flight on the path, and nothing is received: the first sign that it may be unresponsive.
    Late,
    /// The path is unresponsive, or the message has failed on it.
    Unresponsive,
    /// The message has failed on the path, and unresponsive paths may have recovered.
    Failed,
}

/// The state of the best path from this interface to these peer NIs.
pub(super) fn path_state_of(ni: &Ni, peer_nis: &[Weak<PeerNi>], path_request: PathRequest<'_>) -> PathState {
    if !path_request.looks_at_pairs() {
        return PathState::Usable;
    }
    let its = peer_nis.iter().filter_map(Weak::upgrade);
    its.map(|peer_ni| path_state(ni, &peer_ni, path_request)).min().unwrap_or_default()
}

/// The state of a path.
pub(super) fn path_state(ni: &Ni, peer_ni: &PeerNi, path_request: PathRequest<'_>) -> PathState {
    if !path_request.looks_at_pairs() {
        return PathState::Usable;
    }
    let path_nids = (ni.nid(), peer_ni.nid());
    match path_request.failed {
        Some(failed) if path_request.tries_unresponsive && failed.contains(&path_nids) => PathState::Failed,
        _ if peer_ni.is_reported_down() || peer_ni.unresponsive().has(path_nids.0) => PathState::Unresponsive,
        Some(failed) if failed.contains(&path_nids) => PathState::Unresponsive,
        _ if peer_ni.is_late_from(ni) => PathState::Late,
        Some(_) if !peer_ni.was_heard_by(ni) => unproven(ni, peer_ni),
        _ if peer_ni.is_suspect_from(ni) => unproven(ni, peer_ni),
        _ => PathState::Usable,
    }
}

fn unproven(ni: &Ni, peer_ni: &PeerNi) -> PathState {
    match ni.is_neighbour(peer_ni.nid()) {
        true => PathState::UnprovenOnLink,
        false => PathState::Unproven,
    }
}

/// The state of a route. One by a NID of this node itself is never used.
pub(crate) fn route_state(route: &ActiveRoute, nets: &Nets, terms: GatewayTerms) -> RouteState {
    route_state_by(route, &route.gateway.peer_now(), nets, terms)
}

/// The state of a route whose gateway is `gateway` now.
pub(super) fn route_state_by(
    route: &ActiveRoute,
    gateway: &Peer,
    nets: &Nets,
    terms: GatewayTerms,
) -> RouteState {
    match nets.ni(route.route.gateway) {
        Some(_) => RouteState::Excluded,
        None => route.state(gateway, terms, |net| nets.net(net).is_some()),
    }
}
