//! Path selection (core-behaviour 2): the local NI and the peer NI of a message.
//!
//! [`select_path`] reads the nets and the peer and changes nothing; [`ChosenPath::commit`] stores the use, so that round
//! robin selects another of equal candidates next. The criteria and their order are in `criteria`.

mod chosen_path;
mod compare;
mod criteria;
mod criterion;
mod direct;
mod explain;
mod families;
mod hop;
mod in_turn;
mod numa;
mod other_paths;
mod path_request;
mod path_state;
mod peer_nis;
mod preferring;
mod rank;
mod reach;
mod routed;

use chosen_path::Choice;
pub use chosen_path::ChosenPath;
pub(crate) use chosen_path::{PathEnds, answered, answered_on_only_net};
pub use compare::Reason;
pub use criterion::Criterion;
pub(crate) use direct::do_rules_distinguish_local;
pub use explain::{Explanation, Loser, explain};
pub(crate) use in_turn::{
    PathInTurn, is_only_hop, take_only_hop, take_only_path_to_ready, take_path_in_turn, take_path_to_ready,
};
pub use numa::{Numa, Origin};
pub(crate) use other_paths::{
    for_each_path, has_other_gateway, has_other_path, has_proven_path, has_usable_path, is_avoided,
    is_only_path, is_reached_from_another, is_reached_without, is_route_up, is_route_usable, is_routed_too,
    is_usable, local_nis_to, local_nis_to_try, may_try_other_path,
};
pub use path_request::{PathRequest, Paths};
pub(crate) use path_state::route_state;
pub(crate) use peer_nis::do_rules_distinguish;
pub(crate) use routed::{may_be_routed, routes_to};

use crate::model::{Nets, Ni, Peer, PeerNi, can_reach};
use compare::best;
use direct::{best_local_ni_to, best_net, best_pair, partner_of, shared_nets};
use lnet_wire::{Errno, NetId, Nid};
use preferring::Preferring;
use routed::{better_route, bound_ni, over_gateway, over_gateway_without_binding};
use std::sync::Arc;

/// Selects the path of a request of this node (core-behaviour 2.2). `destination` is the peer NI of the NID that the
/// caller named.
///
/// `0@lo` always goes by the loopback, whatever `source` is (PS-1). A given `source` must be one of this node's
/// ([`Errno::Invalid`]) and on the destination's net, and then nothing is selected (PS-10). An interface is a path only to NIDs of its
/// own address family, and of the other one as far as it reaches that. Otherwise a message to a peer
/// that is not multi-rail goes to the NID as named, by the interface that it sticks to; for a multi-rail peer the best of all
/// paths is taken, whichever of its NIDs was named. If the two nodes have no net in common, the message is sent to the
/// gateway of a route. [`Errno::HostUnreachable`] if there is no path.
#[inline(never)]
pub fn select_path(
    paths: Paths<'_>,
    destination: Option<&Arc<PeerNi>>,
    path_request: PathRequest<'_>,
) -> Result<ChosenPath, Errno> {
    match destination.filter(|_| !path_request.destination.is_loopback()) {
        None => select_loopback(paths),
        Some(named) => select_path_to(paths, named, &named.peer_now(), &path_request),
    }
}

/// Selects the path of a request as [`select_path`] does, and commits it ([`ChosenPath::commit`]). The destination is given with its peer.
#[inline(always)]
pub(crate) fn take_path(
    paths: Paths<'_>,
    destination: Option<(&Arc<PeerNi>, &Peer)>,
    path_request: &PathRequest<'_>,
) -> Result<ChosenPath, Errno> {
    let Some((named, peer)) = destination.filter(|_| !path_request.destination.is_loopback()) else {
        return select_loopback(paths);
    };
    let chosen = select_path_to(paths, named, peer, path_request);
    if let Ok(chosen) = &chosen {
        chosen.commit_to(peer);
    }
    chosen
}

fn select_loopback(paths: Paths<'_>) -> Result<ChosenPath, Errno> {
    paths.nets.ni(Nid::LOOPBACK).map(ChosenPath::loopback).ok_or(Errno::HostUnreachable)
}

/// Selects the path to a peer.
#[inline(always)]
fn select_path_to(
    paths: Paths<'_>,
    named: &Arc<PeerNi>,
    peer: &Peer,
    path_request: &PathRequest<'_>,
) -> Result<ChosenPath, Errno> {
    let nets = paths.nets;
    if let Some(source) = path_request.source {
        let ni = nets.ni(source).ok_or(Errno::Invalid)?;
        return match source.net() == named.nid().net() {
            // A peer that is not multi-rail is bound to the first interface that sends to it (PS-30).
            true if !can_reach(ni, named) => Err(Errno::HostUnreachable),
            true => {
                let sticks = !path_request.reserved && named.sticky().is_none() && !peer.is_multi_rail();
                Ok(ChosenPath::direct(nets, peer, ni, Arc::clone(named), Choice::Neither).sticking(sticks))
            }
            false => over_gateway(paths, named, peer, Some(ni), path_request),
        };
    }
    if is_named_only(peer, path_request) {
        return select_path_to_named(paths, named, peer, path_request);
    }
    let Some((net, peer_net)) = best_net(nets, peer, path_request) else {
        return over_gateway(paths, named, peer, None, path_request);
    };
    if !paths.routes.is_empty()
        && let Some(routed) = better_route(paths, named, peer, (net, peer_net), *path_request)
    {
        return Ok(routed);
    }
    let pair = best_pair(net, peer_net, |preferring| preferring, path_request);
    let (ni, peer_ni) = pair.ok_or(Errno::HostUnreachable)?;
    Ok(ChosenPath::direct(nets, peer, ni, peer_ni, Choice::BothEnds))
}

/// The interface of a path to exactly this peer NI, which is taken, if it is the only one on the net of the peer NI, and the path is not
/// avoided. `None` if the path has to be selected.
#[inline]
pub(crate) fn take_only_path(nets: &Nets, peer_ni: &PeerNi) -> Option<Arc<Ni>> {
    let [only] = nets.net(peer_ni.nid().net())?.nis() else { return None };
    (can_reach(only, peer_ni) && !is_avoided(only, peer_ni) && answered_on_only_net(only, peer_ni))
        .then(|| Arc::clone(only))
}

/// Whether a message must go to the NID that was named: its peer is not multi-rail, or it has been restarted
/// and has not yet reported its NIDs. Until then only requests to the reserved portal, which ask for them, go to the others.
fn is_named_only(peer: &Peer, path_request: &PathRequest<'_>) -> bool {
    !peer.is_multi_rail()
        || path_request.forwarded
        || peer.discovery.has_restarted() && !path_request.reserved
}

/// The path to exactly the NID that was named, by the interface that it sticks to.
fn select_path_to_named(
    paths: Paths<'_>,
    named: &Arc<PeerNi>,
    peer: &Peer,
    path_request: &PathRequest<'_>,
) -> Result<ChosenPath, Errno> {
    let nets = paths.nets;
    // A forwarded message does not show by which interface the peer knows this node; a multi-rail peer knows all of them.
    let reserved = path_request.reserved || path_request.forwarded || peer.is_multi_rail();
    let Some(net) = nets.net(named.nid().net()) else {
        let bound = if reserved { None } else { bound_ni(paths, named) };
        let by_bound = |ni| over_gateway_without_binding(paths, named, peer, Some(ni), path_request);
        return match bound.map(by_bound) {
            Some(Ok(chosen)) if !chosen.is_last_resort() => Ok(chosen),
            _ => over_gateway(paths, named, peer, None, path_request),
        };
    };
    if !reserved && named.criteria().prefers_local_nis() {
        let ni = partner_of(net, named, *path_request).ok_or(Errno::HostUnreachable)?;
        return Ok(ChosenPath::direct(nets, peer, ni, Arc::clone(named), Choice::Neither));
    }
    let sticky = named.sticky().filter(|_| !reserved).and_then(|nid| nets.ni(nid));
    // A peer that has never responded on an interface does not know this node by that NID.
    let may_stick = |ni: &&Arc<Ni>| named.was_ever_heard_by(ni) || !named.unresponsive().has(ni.nid());
    let may_send = |ni: &&Arc<Ni>| ni.nid().net() == net.id() && can_reach(ni, named);
    if let Some(ni) = sticky.filter(may_stick).filter(may_send) {
        return Ok(ChosenPath::direct(nets, peer, ni, Arc::clone(named), Choice::Neither));
    }
    let ni =
        best_local_ni_to(net, named, Preferring::one(named), path_request).ok_or(Errno::HostUnreachable)?;
    Ok(ChosenPath::direct(nets, peer, ni, Arc::clone(named), Choice::LocalEnd).sticking(!reserved))
}

/// The path of a forwarded message to another NID of its destination node, if the NID that its sender selected cannot be
/// reached (PS-6); not on the net on which the message arrived. `None`: the others cannot be reached either, as far as is known.
pub(crate) fn select_path_to_other_nid(
    nets: &Nets,
    named: &PeerNi,
    path_request: PathRequest<'_>,
) -> Option<ChosenPath> {
    let peer = &**named.peer_now();
    let others =
        shared_nets(nets, peer, path_request).filter(|(_, (net, _))| path_request.came_by != Some(net.id()));
    let (_, (net, peer_net)) = best(others)?;
    let (ni, peer_ni) = best_pair(net, peer_net, |preferring| preferring, &path_request)?;
    let chosen = ChosenPath::direct(nets, peer, ni, peer_ni, Choice::BothEnds);
    (!chosen.is_dead()).then_some(chosen)
}

/// The best local NI to reach exactly this peer NI.
pub(crate) fn best_source(nets: &Nets, peer_ni: &Arc<PeerNi>, any_suspect: bool) -> Option<Nid> {
    let net = nets.net(peer_ni.nid().net())?;
    let path_request = of_ping(peer_ni.nid(), any_suspect);
    best_local_ni_to(net, peer_ni, Preferring::NONE, &path_request).map(|ni| ni.nid())
}

/// The best path to a peer on one of the nets that it has in common with this node: the local NID and the peer's.
pub(crate) fn best_path_on(nets: &Nets, peer: &Peer, net: NetId) -> Option<(Nid, Nid)> {
    let (net, peer_net) = (nets.net(net)?, peer.net(net)?);
    let path_request = of_ping(peer.primary, true);
    let (ni, peer_ni) = best_pair(net, peer_net, |preferring| preferring, &path_request)?;
    Some((ni.nid(), peer_ni.nid()))
}

fn of_ping(destination: Nid, any_suspect: bool) -> PathRequest<'static> {
    PathRequest { reserved: true, ..PathRequest::unbound(destination, any_suspect) }
}

#[cfg(all(test, not(loom)))]
#[path = "select_tests.rs"]
mod tests;

#[cfg(all(test, not(loom)))]
mod criteria_tests;

#[cfg(all(test, not(loom)))]
mod families_tests;

#[cfg(all(test, not(loom)))]
mod in_turn_tests;

#[cfg(all(test, not(loom)))]
mod numa_tests;

#[cfg(all(test, not(loom)))]
mod only_path_tests;

#[cfg(all(test, not(loom)))]
mod order_tests;
