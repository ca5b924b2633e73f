//! Other nodes: a peer is known by one or more NIDs, each a peer NI; one of them is its primary NID.

use crate::credit::{CreditPool, Credits};
use crate::message::{Message, MessagePool};
use crate::stats::Counters;
use crate::sync::{Mutex, lock};
use arc_swap::ArcSwap;
use foldhash::HashMap;
use lnet_wire::{NetId, Nid};
use std::sync::{Arc, PoisonError, RwLock};

/// Tables that peer NIs are spread over, so that threads seldom meet at a lock.
const SHARDS: usize = 16;

/// Another node. Never changes: a node that gains or loses a NID gets a new `Peer`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The NID by which upper layers know it (OM-20).
    pub primary: Nid,
    /// All its NIDs, the primary first.
    pub nids: Vec<Nid>,
    /// Whether any of its NIDs may be used in place of another.
    pub multi_rail: bool,
}

impl Peer {
    /// What traffic makes of an unknown NID: a peer with just that one (OM-21).
    fn of_one(nid: Nid) -> Self {
        Self { primary: nid, nids: vec![nid], multi_rail: false }
    }

    /// Its NIDs on one net, in order.
    pub fn nids_on(&self, net: NetId) -> impl Iterator<Item = Nid> {
        self.nids.iter().copied().filter(move |nid| nid.net() == net)
    }
}

/// One interface of another node.
pub struct PeerNi {
    nid: Nid,
    peer: ArcSwap<Peer>,
    tx: Mutex<CreditPool<Box<Message>>>,
    spare: MessagePool,
    counters: Counters,
}

impl PeerNi {
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

/// Every peer NI by its NID (OM-1).
pub(crate) struct PeerTable {
    shards: [RwLock<HashMap<Nid, Arc<PeerNi>>>; SHARDS],
}

impl PeerTable {
    pub(crate) fn new() -> Self {
        Self { shards: std::array::from_fn(|_| RwLock::new(HashMap::default())) }
    }

    /// The peer NI with this NID, if it is known.
    pub(crate) fn get(&self, nid: Nid) -> Option<Arc<PeerNi>> {
        self.shard(nid).read().unwrap_or_else(PoisonError::into_inner).get(&nid).cloned()
    }

    /// The peer NI with this NID; made, with `credits`, if it is not known.
    pub(crate) fn get_or_add(&self, nid: Nid, credits: u32) -> Arc<PeerNi> {
        self.get(nid).unwrap_or_else(|| {
            let mut shard = self.shard(nid).write().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(shard.entry(nid).or_insert_with(|| {
                Arc::new(PeerNi {
                    nid,
                    peer: ArcSwap::from_pointee(Peer::of_one(nid)),
                    tx: Mutex::new(CreditPool::new(credits)),
                    spare: MessagePool::default(),
                    counters: Counters::default(),
                })
            }))
        })
    }

    /// The primary NID of the node with this NID: itself, for a node that is not known (trap T13).
    pub(crate) fn primary(&self, nid: Nid) -> Nid {
        let shard = self.shard(nid).read().unwrap_or_else(PoisonError::into_inner);
        shard.get(&nid).map_or(nid, |peer_ni| peer_ni.primary())
    }

    /// Makes `nids` one multi-rail peer, the first its primary.
    pub(crate) fn configure(&self, nids: &[Nid], credits: impl Fn(Nid) -> u32) {
        let Some(primary) = nids.first() else { return };
        let peer = Arc::new(Peer { primary: *primary, nids: nids.to_vec(), multi_rail: true });
        for nid in nids {
            self.get_or_add(*nid, credits(*nid)).peer.store(Arc::clone(&peer));
        }
    }

    /// All peer NIs, in no order.
    pub(crate) fn all(&self) -> Vec<Arc<PeerNi>> {
        let read = |shard: &RwLock<HashMap<Nid, Arc<PeerNi>>>| {
            shard.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect::<Vec<_>>()
        };
        self.shards.iter().flat_map(read).collect()
    }

    fn shard(&self, nid: Nid) -> &RwLock<HashMap<Nid, Arc<PeerNi>>> {
        let bytes = nid.to_wire20();
        let sum =
            bytes.iter().fold(0_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(*byte)));
        &self.shards[sum % SHARDS]
    }
}
