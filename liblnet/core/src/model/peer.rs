//! A peer: another node with one or more NIDs, each a peer NI; one of them is its primary NID.

use super::discovery_state::DiscoveryState;
use super::net_usage::NetUsage;
use super::peer_ni::{Criteria, PeerNi};
use super::peer_state::PeerState;
use lnet_wire::{NetId, Nid};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};

/// Another node. The NIDs of a `Peer` never change: a node that gains or loses one gets a new `Peer`.
#[derive(Clone, Debug)]
pub struct Peer {
    /// The NID by which upper layers know it (OM-20).
    pub primary: Nid,
    /// All NIDs, the primary first: net by net, in the order in which they were added.
    pub nids: Vec<Nid>,
    /// The NIDs by net, in the order in which the nets were added.
    pub(crate) nets: Vec<PeerNet>,
    /// The discovery state, which stays with the peer when it gains or loses NIDs.
    pub(crate) discovery: Arc<DiscoveryState>,
    /// The position in the list of peers, which is in the order of addition.
    pub(crate) order: Arc<AtomicU64>,
}

/// The peer NIs of a peer on one net.
#[derive(Clone, Debug)]
pub(crate) struct PeerNet {
    pub(crate) id: NetId,
    /// Weak, as the peer NIs hold the peer. A removed peer NI is gone from here.
    pub(crate) nis: Vec<Weak<PeerNi>>,
    /// The criteria of each of them.
    pub(crate) criteria: Vec<Arc<Criteria>>,
    /// Kept when the peer gains or loses NIDs.
    pub(crate) usage: Arc<NetUsage>,
}

impl PeerNet {
    pub(crate) fn nis(&self) -> impl Iterator<Item = Arc<PeerNi>> {
        self.nis.iter().filter_map(Weak::upgrade)
    }

    /// The most recent use of any of them.
    pub(crate) fn last_use(&self) -> u64 {
        self.criteria.iter().map(|criteria| criteria.last_use().get()).max().unwrap_or(0)
    }

    /// The best health of any of them; `None` if there are none.
    pub(crate) fn usable_health(&self) -> Option<u32> {
        self.criteria.iter().map(|criteria| criteria.usable_health()).max()
    }
}

impl Peer {
    /// The state flags.
    pub fn state(&self) -> PeerState {
        self.discovery.flags()
    }

    /// Whether its NIDs are interchangeable.
    pub fn is_multi_rail(&self) -> bool {
        self.state().contains(PeerState::MULTI_RAIL)
    }

    /// Whether it is configured.
    pub fn is_configured(&self) -> bool {
        self.state().contains(PeerState::CONFIGURED)
    }

    /// Its NIDs on one net, in order.
    pub fn nids_on(&self, net: NetId) -> impl Iterator<Item = Nid> {
        self.nids.iter().copied().filter(move |nid| nid.net() == net)
    }
}
