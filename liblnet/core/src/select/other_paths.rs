//! The paths between this node and a peer, apart from the one that a message has.

use crate::model::{Nets, Ni, Peer, PeerNi};
use lnet_wire::Nid;

/// Whether this path is used only if there is no other.
pub(crate) fn is_avoided(ni: &Ni, peer_ni: &PeerNi) -> bool {
    ni.is_fatal() || peer_ni.is_reported_down() || peer_ni.unresponsive().has(ni.nid())
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

/// Whether a message to the node of this peer NI could be tried on another path, unresponsive or not: any may have
/// recovered.
pub(crate) fn may_try_other_path(nets: &Nets, peer_ni: &PeerNi, local: Nid) -> bool {
    let peer = peer_ni.peer_now();
    let is_other = |ni: &Ni, its: &PeerNi| (ni.nid(), its.nid()) != (local, peer_ni.nid()) && !ni.is_fatal();
    peer.is_multi_rail() && any_path(nets, &peer, is_other)
}

/// Whether there is a path from this node to the peer that is not avoided.
pub(crate) fn has_usable_path(nets: &Nets, peer: &Peer) -> bool {
    any_path(nets, peer, |ni, its| !is_avoided(ni, its))
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
