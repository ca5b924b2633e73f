//! The path of a request whose candidates differ by nothing but their last use, as those of most requests do. Nothing is compared, and
//! the candidates are used in the step that selects them.

use super::chosen_path::ChosenPath;
use super::criteria::{LocalNiCandidate, PeerNiCandidate};
use super::direct::least_recently_used_ni;
use super::families::are_mixed;
use super::path_request::{PathRequest, Paths};
use super::peer_nis::least_recently_used_peer_ni;
use crate::model::{ActiveRoute, Net, NetUsage, Nets, Ni, Peer, PeerNet, PeerNi, ReadyPeer, can_reach};
use lnet_wire::NetId;
use std::sync::Arc;

/// A path between a local NI and a peer NI on one net, which has been taken.
pub(crate) struct PathInTurn {
    /// The local NI.
    pub(crate) ni: Arc<Ni>,
    /// The peer NI; `None` for the one that the caller named.
    pub(crate) peer_ni: Option<Arc<PeerNi>>,
}

/// Takes the path of a request without a source to a peer on one net: that of the least recently used interfaces, if no other can be better;
/// to a peer that is not multi-rail, the only one, if the peer is bound to that. `None` if the candidates have to be compared. No selection
/// rule counts messages.
#[inline(always)]
pub(crate) fn take_path_in_turn(
    nets: &Nets,
    named: &Arc<PeerNi>,
    peer: &Peer,
    path_request: &PathRequest<'_>,
) -> Option<PathInTurn> {
    let [peer_net] = &peer.nets[..] else { return None };
    let net = nets.net(peer_net.id)?;
    if !peer.is_multi_rail() {
        return take_bound_path(net, named, peer, peer_net);
    }
    if peer.discovery.has_restarted() || are_mixed(net, peer_net) {
        return None;
    }
    let own = (net.nis(), &**net.usage(), net.most_credits().0);
    take_path_on(own, (peer, peer_net), named, path_request)
}

/// Takes the path to a peer that is multi-rail, not restarted and on this net alone, where all have addresses of one family.
#[inline(always)]
fn take_path_on(
    (nis, usage, most_credits): (&[Arc<Ni>], &NetUsage, i32),
    (peer, peer_net): (&Peer, &PeerNet),
    named: &Arc<PeerNi>,
    path_request: &PathRequest<'_>,
) -> Option<PathInTurn> {
    let has_partners = peer_net.usage.has_partners();
    let ni = match nis {
        [only] => only,
        _ if LocalNiCandidate::does_rank_decide(usage, has_partners, false, *path_request) => {
            least_recently_used_ni(nis, usage, most_credits)?
        }
        _ => return None,
    };
    let peer_ni = match &peer_net.nis[..] {
        [_] => {
            note_first_use(named, peer, peer_net);
            None
        }
        _ => take_peer_ni_in_turn(peer, peer_net, named, *path_request)?,
    };
    ni.note_turn();
    Some(PathInTurn { ni: Arc::clone(ni), peer_ni })
}

/// Takes the path from the only interface on the net of a peer that is not multi-rail and has one NID, if the peer is bound to it.
fn take_bound_path(net: &Net, named: &PeerNi, peer: &Peer, peer_net: &PeerNet) -> Option<PathInTurn> {
    let ([only], [_]) = (net.nis(), &peer_net.nis[..]) else { return None };
    if named.sticky() != Some(only.nid()) || !can_reach(only, named) {
        return None;
    }
    note_first_use(named, peer, peer_net);
    only.note_turn();
    Some(PathInTurn { ni: Arc::clone(only), peer_ni: None })
}

/// Records the use of the only peer NI of a peer, of which only the first changes anything.
#[inline(always)]
fn note_first_use(named: &PeerNi, peer: &Peer, peer_net: &PeerNet) {
    if named.last_use().get() == 0 {
        peer_net.note_use(named.criteria(), &peer.latest_use);
    }
}

/// Does what [`take_path_in_turn`] does, for a peer NI of a multi-rail peer to which it has returned a path with these nets and this peer
/// before, and which have not changed.
#[inline(always)]
pub(crate) fn take_path_to_ready(
    ready: &ReadyPeer,
    named: &Arc<PeerNi>,
    path_request: &PathRequest<'_>,
) -> Option<PathInTurn> {
    let ReadyPeer { nis, usage, most_credits, peer, .. } = ready;
    take_path_on((nis, usage, most_credits.0), (peer, peer.nets.first()?), named, path_request)
}

/// Does what [`take_path_in_turn`] does, for a peer NI to which it has returned a path before, and which is the only one of its peer. `only`
/// is the only local NI on the net. The peer is not looked at.
#[inline(always)]
pub(crate) fn take_only_path_to_ready(only: &Arc<Ni>, peer_ni: &PeerNi) -> Option<PathInTurn> {
    if !can_reach(only, peer_ni) {
        return None;
    }
    only.note_turn();
    Some(PathInTurn { ni: Arc::clone(only), peer_ni: None })
}

/// Does what path selection does, for a peer NI behind gateways whose path was the only one ([`is_only_hop`]) and has been taken before: the
/// local NI and the gateway. Neither the peer nor its gateway is looked at.
#[inline(always)]
pub(crate) fn take_only_hop(paths: Paths<'_>, destination: &PeerNi) -> Option<(Arc<Ni>, Arc<PeerNi>)> {
    let (ni, route) = only_hop(paths, destination.nid().net())?;
    ni.note_use(ni.latest_use_of_others());
    destination.note_sent();
    Some((Arc::clone(ni), Arc::clone(&route.gateway)))
}

/// Whether a path over a gateway, which has been taken to the only NID of a peer, stays the only one as long as the interfaces, the routes
/// and the gateway stay the same: whatever the state of its parts, it is used, unless the route is excluded.
pub(crate) fn is_only_hop(paths: Paths<'_>, destination: &PeerNi, chosen: &ChosenPath) -> bool {
    let Some((ni, route)) = only_hop(paths, destination.nid().net()) else { return false };
    let gateway = route.gateway.peer_now();
    let local = gateway.nids.iter().filter(|nid| paths.nets.net(nid.net()).is_some());
    local.count() == 1
        && Arc::ptr_eq(ni, &chosen.ni)
        && chosen.peer_ni.as_ref().is_some_and(|its| Arc::ptr_eq(its, &route.gateway))
}

/// The only interface and the only route to a net that this node is not on.
#[inline(always)]
fn only_hop<'a>(paths: Paths<'a>, net: NetId) -> Option<(&'a Arc<Ni>, &'a Arc<ActiveRoute>)> {
    let route = paths.routes.only_to(net)?;
    let [only] = paths.nets.net(route.gateway.nid().net())?.nis() else { return None };
    can_reach(only, &route.gateway).then_some((only, route))
}

/// Uses the least recently used peer NI; returns it, or `None` for the one that was named.
#[inline(always)]
#[allow(clippy::option_option, reason = "the outer one is that of the caller")]
fn take_peer_ni_in_turn(
    peer: &Peer,
    peer_net: &PeerNet,
    named: &Arc<PeerNi>,
    path_request: PathRequest<'_>,
) -> Option<Option<Arc<PeerNi>>> {
    if !PeerNiCandidate::does_rank_decide(path_request) {
        return None;
    }
    let chosen = match peer_net.has_many() {
        true => peer_net.take_least_recently_used(PeerNiCandidate::is_unsurpassed, &peer.latest_use)?,
        false => least_recently_used_peer_ni(peer_net)?,
    };
    // A peer NI that is just being removed is not selected.
    let is_named = std::ptr::eq(chosen.as_ptr(), Arc::as_ptr(named));
    let chosen = if is_named { None } else { Some(chosen.upgrade()?) };
    if !peer_net.has_many() {
        peer_net.note_use(chosen.as_ref().unwrap_or(named).criteria(), &peer.latest_use);
    }
    Some(chosen)
}
