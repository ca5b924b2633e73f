//! The peers: which peer a NID belongs to, and which peers are listed.

use super::Topology;
use crate::model::{DiscoveryState, Peer};
use lnet_wire::Nid;
use std::sync::Arc;

impl Topology {
    /// The peer with this NID, if it is known.
    pub(crate) fn peer(&self, nid: Nid) -> Option<Arc<Peer>> {
        self.peers.get(nid).map(|peer_ni| peer_ni.peer())
    }

    /// Whether both NIDs belong to one peer, as far as is known.
    pub(crate) fn is_same_peer(&self, one: Nid, other: Nid) -> bool {
        one == other || self.peer(one).is_some_and(|peer| peer.nids.contains(&other))
    }

    /// The current value of the peer with this discovery state; `None` once the peer is removed.
    pub(crate) fn peer_of(&self, state: &DiscoveryState) -> Option<Arc<Peer>> {
        let primary = state.with(|inner| inner.primary)?;
        self.peer(primary).filter(|peer| peer.discovery.id() == state.id())
    }

    /// All peers, in the order in which they were added. This node itself is one of them once a message has been sent
    /// to one of its NIDs; a recovery ping of one of its interfaces does not count (HE-53). Neither does a shortened NID.
    pub(crate) fn listed_peers(&self) -> Vec<Arc<Peer>> {
        let mut peers = self.peers.peers();
        let only_probed = |nid: &Nid| self.peer_ni(*nid).is_some_and(|peer_ni| peer_ni.is_only_probed());
        // All NIDs are checked: a peer with one that was used, or that is not local any more, must be listed.
        peers.retain(|peer| !peer.nids.iter().all(|nid| self.is_own(*nid) && only_probed(nid)));
        peers.retain(|peer| !self.is_truncated(peer));
        peers
    }

    /// Whether the peer is only the rest of a shortened NID from which messages came.
    fn is_truncated(&self, peer: &Peer) -> bool {
        let is_rest = |nid: Nid| self.peer_ni(nid).is_some_and(|peer_ni| peer_ni.is_truncated());
        self.has_truncated_nids() && is_rest(peer.primary) && self.peers.is_only_seen(peer.primary)
    }

    /// Whether a route, in whatever state, leads to a net of this peer, so that messages wait for it to come up.
    pub(crate) fn is_routed(&self, peer: &Peer) -> bool {
        let tables = self.tables.load();
        peer.nets.iter().any(|net| tables.routes.lead_to(net.id))
    }

    /// Whether a message has ever arrived from any NID of this peer.
    pub(crate) fn was_heard(&self, peer: &Peer) -> bool {
        peer.nids.iter().any(|nid| self.peer_ni(*nid).is_some_and(|peer_ni| peer_ni.was_heard()))
    }
}
