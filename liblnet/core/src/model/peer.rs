//! Another node: known by one or more NIDs, each a peer NI; one of them is its primary NID.

use super::discovery_state::DiscoveryState;
use super::last_use::LastUse;
use super::net_usage::NetUsage;
use super::peer_ni::PeerNi;
use super::peer_state::PeerState;
use lnet_wire::{NetId, Nid};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};

/// Another node. Its NIDs never change: a node that gains or loses one gets a new `Peer`.
#[derive(Clone, Debug)]
pub struct Peer {
    /// The NID by which upper layers know it (OM-20).
    pub primary: Nid,
    /// All its NIDs, the primary first: net by net, in the order in which they were learned.
    pub nids: Vec<Nid>,
    /// The same by nets, in the order in which the nets came.
    pub(crate) nets: Vec<PeerNet>,
    /// What is known of it, and its discovery: stays with the peer whatever NIDs come and go.
    pub(crate) discovery: Arc<DiscoveryState>,
    /// Peers are listed in the order in which they came: this is its place.
    pub(crate) order: Arc<AtomicU64>,
}

/// The peer NIs of a peer on one net.
#[derive(Clone, Debug)]
pub(crate) struct PeerNet {
    pub(crate) id: NetId,
    /// Not to keep them alive: they keep the peer. One that is forgotten is not there any more.
    pub(crate) nis: Vec<Weak<PeerNi>>,
    /// When each of them was used last.
    pub(crate) last_uses: Vec<Arc<LastUse>>,
    /// Stays with the net of the peer whatever NIDs come and go.
    pub(crate) usage: Arc<NetUsage>,
}

impl PeerNet {
    pub(crate) fn nis(&self) -> impl Iterator<Item = Arc<PeerNi>> {
        self.nis.iter().filter_map(Weak::upgrade)
    }

    /// When any of them was used last.
    pub(crate) fn last_use(&self) -> u64 {
        self.last_uses.iter().map(|last_use| last_use.get()).max().unwrap_or(0)
    }
}

impl Peer {
    /// What is known of it.
    pub fn state(&self) -> PeerState {
        self.discovery.flags()
    }

    /// Whether any of its NIDs may be used in place of another.
    pub fn is_multi_rail(&self) -> bool {
        self.state().contains(PeerState::MULTI_RAIL)
    }

    /// Whether an operator made it.
    pub fn is_configured(&self) -> bool {
        self.state().contains(PeerState::CONFIGURED)
    }

    /// Its NIDs on one net, in order.
    pub fn nids_on(&self, net: NetId) -> impl Iterator<Item = Nid> {
        self.nids.iter().copied().filter(move |nid| nid.net() == net)
    }
}
