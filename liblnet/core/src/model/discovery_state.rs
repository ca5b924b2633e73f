//! The discovery state of one peer, which stays the same when the peer gains and loses NIDs.

use super::discovery_progress::{LocalState, Progress, is_up_to_date};
use super::discovery_result::{Difference, Failure};
use super::peer_revision::PeerRevision;
use super::peer_state::PeerState;
use super::reachability::Remembered;
use crate::environment::time::Time;
use crate::sync::{Mutex, lock};
use lnet_wire::ping_info::{NiStatus, PingInfo};
use lnet_wire::{NetId, Nid};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The discovery state of one peer.
#[derive(Debug)]
pub(crate) struct DiscoveryState {
    /// A number that no other peer of the node has, nor had before it was removed.
    id: u64,
    /// Copies of fields of `inner`, to be read without its lock.
    flags: AtomicU32,
    node_sequence: AtomicU32,
    /// Whether the last discovery failed.
    failed: AtomicBool,
    restarted: AtomicBool,
    /// The revision that the changes of these copies begin.
    pub(super) revision: PeerRevision,
    inner: Mutex<Inner>,
    /// The nets of which the peer has told in its last ping information, whether its NIDs there were taken or not. A lock of its own: it is
    /// read while a route is selected.
    told_nets: Mutex<Vec<ToldNet>>,
    /// The stored reachability of the peer.
    pub(crate) reachability: Mutex<Remembered>,
}

/// A net that a peer says it is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ToldNet {
    id: NetId,
    /// Whether one of its interfaces there is up.
    is_up: bool,
}

/// The fields of [`DiscoveryState`] that its lock protects.
#[derive(Debug, Default)]
pub(crate) struct Inner {
    pub(crate) progress: Progress,
    /// The NID by which the peer is found; once the peer is removed it may be that of another peer.
    pub(crate) primary: Option<Nid>,
    pub(crate) failure: Option<Failure>,
    /// The time at which the discovery in progress fails; `None` before its first step.
    pub(crate) deadline: Option<Time>,
    /// The number of failed discoveries in a row for which requests waited.
    pub(crate) rounds: u32,
    pub(crate) differences: Vec<Difference>,
    /// NIDs that the peer reported and that were not added to it.
    pub(crate) rejected_nids: Vec<Nid>,
    /// Whether a message with an origin that was refused has arrived from the peer.
    pub(crate) origin_refused: bool,
    /// The number of NIDs that the peer reported beyond those that are kept.
    pub(crate) ignored_nids: u32,
    /// The number of requests parked until the discovery ends; the discovery engine keeps them.
    pub(crate) parked: usize,
    /// Whether the peer is in one of the discovery queues.
    pub(crate) queued: bool,
    /// Whether the peer is in the urgent queue.
    pub(crate) urgent: bool,
    /// The NID of the peer to which a request failed last.
    pub(crate) failing: Option<Nid>,
    /// Whether the peer has been removed: no request may be parked for it any more.
    pub(crate) removed: bool,
}

impl DiscoveryState {
    pub(crate) fn new(id: u64, primary: Nid, state: PeerState, revision: PeerRevision) -> Self {
        let progress = Progress { flags: state, ..Progress::default() };
        Self {
            id,
            flags: AtomicU32::new(state.0),
            node_sequence: AtomicU32::new(0),
            failed: AtomicBool::new(false),
            restarted: AtomicBool::new(false),
            revision,
            inner: Mutex::new(Inner { progress, primary: Some(primary), ..Inner::default() }),
            told_nets: Mutex::default(),
            reachability: Mutex::default(),
        }
    }

    /// A number that no other peer of the node has, nor had before it was removed.
    pub(crate) const fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn flags(&self) -> PeerState {
        PeerState(self.flags.load(Ordering::Acquire))
    }

    /// Whether the last discovery of the peer failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// Whether the peer has been restarted and not been discovered since. Cheap: read for every message.
    pub(crate) fn has_restarted(&self) -> bool {
        self.restarted.load(Ordering::Acquire)
    }

    /// Stores the nets of which the peer tells.
    pub(crate) fn note_told_nets(&self, info: &PingInfo) {
        let mut told: Vec<ToldNet> = Vec::new();
        for entry in &info.entries {
            let (id, is_up) = (entry.nid.net(), entry.status == NiStatus::Up);
            match told.iter_mut().find(|net| net.id == id) {
                Some(net) => net.is_up |= is_up,
                None => told.push(ToldNet { id, is_up }),
            }
        }
        let mut known = lock(&self.told_nets);
        if *known != told {
            *known = told;
            self.revision.note_change();
        }
    }

    /// Whether one of the peer's interfaces on a net is up, as it told last; `None` if it told of none there.
    pub(crate) fn told_net(&self, net: NetId) -> Option<bool> {
        lock(&self.told_nets).iter().find(|told| told.id == net).map(|told| told.is_up)
    }

    /// Whether messages are sent to the peer without waiting for discovery (DI-11). Cheap: read for every message.
    pub(crate) fn is_up_to_date(&self, local: &LocalState) -> bool {
        is_up_to_date(self.flags(), self.node_sequence.load(Ordering::Acquire), local)
    }

    /// Whether the peer is discovered, and the discovery under way only checks it as a gateway (DI-30).
    pub(crate) fn is_only_checked(&self) -> bool {
        let flags = self.flags();
        flags.contains(PeerState::RTR_DISCOVERY.union(PeerState::DISCOVERED).union(PeerState::NIDS_UPTODATE))
            && !flags.contains(PeerState::MARK_DELETION)
    }

    /// Runs `change` under the lock. `change` must not make upcalls.
    pub(crate) fn with<R>(&self, change: impl FnOnce(&mut Inner) -> R) -> R {
        let inner = &mut *lock(&self.inner);
        let result = change(inner);
        let copies = || (self.flags().0, self.node_sequence.load(Ordering::Relaxed), self.has_restarted());
        let before = copies();
        self.node_sequence.store(inner.progress.node_sequence, Ordering::Release);
        self.failed.store(inner.failure.is_some(), Ordering::Release);
        self.restarted.store(inner.progress.restarted, Ordering::Release);
        self.flags.store(inner.progress.flags.0, Ordering::Release);
        if copies() != before {
            self.revision.note_change();
        }
        result
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Fails if a request may rely on a discovery state that has changed.
    #[test]
    fn each_change_of_what_requests_read_begins_a_revision() {
        let revision = PeerRevision::default();
        let state = DiscoveryState::new(1, Nid::LOOPBACK, PeerState::default(), revision.clone());
        type Change = fn(&mut Inner);
        let changes: [(&str, Change, u64); 5] = [
            ("nothing", |_| (), 0),
            ("the flags", |inner| inner.progress.flags = PeerState::MULTI_RAIL, 1),
            ("the node's sequence number", |inner| inner.progress.node_sequence = 2, 1),
            ("a restart", |inner| inner.progress.restarted = true, 1),
            ("the number of waiting requests", |inner| inner.parked = 1, 0),
        ];
        for (case, change, revisions) in changes {
            let before = revision.get();
            state.with(change);
            assert_eq!(revision.get() - before, revisions, "{case}");
        }
    }
}
