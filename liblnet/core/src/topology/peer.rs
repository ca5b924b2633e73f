//! Other nodes: a peer is known by one or more NIDs, each a peer NI; one of them is its primary NID.

use crate::credit::{CreditPool, Credits};
use crate::message::{Message, MessagePool};
use crate::settings::MAX_HEALTH;
use crate::stats::Counters;
use crate::sync::{Mutex, lock};
use arc_swap::ArcSwap;
use lnet_wire::{NetId, Nid};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// What is known of a peer, in the bits that the kernel's tools show (DLC sheet, appendix C).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerState(pub u32);

impl PeerState {
    /// Any of its NIDs may be used in place of another.
    pub const MULTI_RAIL: Self = Self(1 << 0);
    /// An operator made it.
    pub const CONFIGURED: Self = Self(1 << 3);
    /// Its primary NID stays what it is (OM-24).
    pub const LOCK_PRIMARY: Self = Self(1 << 20);

    /// Whether all bits of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// With the bits of `other` if `set`.
    #[must_use]
    pub const fn with(self, other: Self, set: bool) -> Self {
        if set { Self(self.0 | other.0) } else { self }
    }
}

/// Bytes of a header on the wire.
const HEADER_LEN: usize = 72;

/// Another node. Never changes: a node that gains or loses a NID gets a new `Peer`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The NID by which upper layers know it (OM-20).
    pub primary: Nid,
    /// All its NIDs, the primary first.
    pub nids: Vec<Nid>,
    /// What is known of it.
    pub state: PeerState,
    /// Peers are listed in the order in which they came: this is its place.
    pub(crate) order: u64,
}

impl Peer {
    /// Whether any of its NIDs may be used in place of another.
    pub const fn is_multi_rail(&self) -> bool {
        self.state.contains(PeerState::MULTI_RAIL)
    }

    /// Whether an operator made it.
    pub const fn is_configured(&self) -> bool {
        self.state.contains(PeerState::CONFIGURED)
    }

    /// Its NIDs on one net, in order.
    pub fn nids_on(&self, net: NetId) -> impl Iterator<Item = Nid> {
        self.nids.iter().copied().filter(move |nid| nid.net() == net)
    }
}

/// One interface of another node.
pub struct PeerNi {
    nid: Nid,
    pub(super) peer: ArcSwap<Peer>,
    max_credits: u32,
    tx: Mutex<CreditPool<Box<Message>>>,
    health: AtomicU32,
    spare: MessagePool,
    counters: Counters,
}

impl PeerNi {
    pub(super) fn new(nid: Nid, peer: Arc<Peer>, credits: u32) -> Self {
        Self {
            nid,
            peer: ArcSwap::new(peer),
            max_credits: credits,
            tx: Mutex::new(CreditPool::new(credits)),
            health: AtomicU32::new(MAX_HEALTH),
            spare: MessagePool::default(),
            counters: Counters::default(),
        }
    }

    /// Its identity.
    pub const fn nid(&self) -> Nid {
        self.nid
    }

    /// The node that it belongs to.
    pub fn peer(&self) -> Arc<Peer> {
        self.peer.load_full()
    }

    /// The primary NID of that node.
    pub fn primary(&self) -> Nid {
        self.peer.load().primary
    }

    /// Send credits left.
    pub fn credits(&self) -> Credits {
        lock(&self.tx).credits()
    }

    /// Messages that may be under way to it at once.
    pub const fn max_credits(&self) -> u32 {
        self.max_credits
    }

    /// The fewest send credits there ever were.
    pub fn min_credits(&self) -> Credits {
        lock(&self.tx).low_water()
    }

    /// Bytes that wait for a credit, headers included.
    pub fn waiting_bytes(&self) -> usize {
        lock(&self.tx).waiting().map(|message| message.payload_len() + HEADER_LEN).sum()
    }

    /// How well it is: 0 to [`MAX_HEALTH`].
    pub fn health(&self) -> u32 {
        self.health.load(Ordering::Relaxed)
    }

    pub(crate) fn set_health(&self, value: u32) {
        self.health.store(value.min(MAX_HEALTH), Ordering::Relaxed);
    }

    /// What went to it and came from it.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Messages to and from it that are kept for the next use.
    pub(crate) const fn spare(&self) -> &MessagePool {
        &self.spare
    }

    pub(crate) const fn tx(&self) -> &Mutex<CreditPool<Box<Message>>> {
        &self.tx
    }
}

impl std::fmt::Debug for PeerNi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PeerNi").field("nid", &self.nid).finish_non_exhaustive()
    }
}
