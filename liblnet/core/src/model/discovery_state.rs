//! The discovery state of one peer, which stays the same when the peer gains and loses NIDs.

use super::discovery_progress::{LocalState, Progress, is_up_to_date};
use super::discovery_result::{Difference, Failure};
use super::peer_state::PeerState;
use super::reachability::Remembered;
use crate::environment::time::Time;
use crate::sync::{Mutex, lock};
use lnet_wire::Nid;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The discovery state of one peer.
#[derive(Debug)]
pub(crate) struct DiscoveryState {
    /// Distinguishes it from those of all other peers of the node, removed ones too.
    id: u64,
    /// Copies of fields of `inner`, to be read without its lock.
    flags: AtomicU32,
    node_sequence: AtomicU32,
    /// Whether the last discovery failed.
    failed: AtomicBool,
    restarted: AtomicBool,
    inner: Mutex<Inner>,
    /// The stored reachability of the peer.
    pub(crate) reachability: Mutex<Remembered>,
}

/// The fields behind the lock.
#[derive(Debug, Default)]
pub(crate) struct Inner {
    pub(crate) progress: Progress,
    /// The NID by which the peer is found; once the peer is removed it may be that of another peer.
    pub(crate) primary: Option<Nid>,
    pub(crate) failure: Option<Failure>,
    /// When the discovery in progress ends at the latest; `None` if its first step is still to be taken.
    pub(crate) deadline: Option<Time>,
    /// Failed discoveries in a row for which requests waited.
    pub(crate) rounds: u32,
    pub(crate) differences: Vec<Difference>,
    /// NIDs that the peer claims and did not get.
    pub(crate) rejected_nids: Vec<Nid>,
    /// Whether it has brought a message with an origin that was refused.
    pub(crate) origin_refused: bool,
    /// How many interfaces the peer has beyond those that are kept.
    pub(crate) ignored_nids: u32,
    /// The number of parked requests, which discovery keeps.
    pub(crate) parked: usize,
    /// Whether it is in a queue.
    pub(crate) queued: bool,
    /// Whether it is in the urgent queue.
    pub(crate) urgent: bool,
    /// The NID of the last failed request.
    pub(crate) failing: Option<Nid>,
    /// Whether the peer has been removed: nothing may be parked any more.
    pub(crate) removed: bool,
}

impl DiscoveryState {
    pub(crate) fn new(id: u64, primary: Nid, state: PeerState) -> Self {
        let progress = Progress { flags: state, ..Progress::default() };
        Self {
            id,
            flags: AtomicU32::new(state.0),
            node_sequence: AtomicU32::new(0),
            failed: AtomicBool::new(false),
            restarted: AtomicBool::new(false),
            inner: Mutex::new(Inner { progress, primary: Some(primary), ..Inner::default() }),
            reachability: Mutex::default(),
        }
    }

    /// Distinguishes the state from those of all other peers of the node, removed ones too.
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

    /// Whether the peer has been started again and not been discovered since: read for every message.
    pub(crate) fn has_restarted(&self) -> bool {
        self.restarted.load(Ordering::Acquire)
    }

    /// Whether messages are sent to the peer without waiting for discovery: read for every message.
    pub(crate) fn is_up_to_date(&self, local: &LocalState) -> bool {
        is_up_to_date(self.flags(), self.node_sequence.load(Ordering::Acquire), local)
    }

    /// Whether it is known, and only its check as a gateway is under way (DI-30).
    pub(crate) fn is_only_checked(&self) -> bool {
        let flags = self.flags();
        flags.contains(PeerState::RTR_DISCOVERY.union(PeerState::DISCOVERED).union(PeerState::NIDS_UPTODATE))
            && !flags.contains(PeerState::MARK_DELETION)
    }

    /// Runs `change` under the lock. `change` must not make upcalls.
    pub(crate) fn with<R>(&self, change: impl FnOnce(&mut Inner) -> R) -> R {
        let inner = &mut *lock(&self.inner);
        let result = change(inner);
        self.node_sequence.store(inner.progress.node_sequence, Ordering::Release);
        self.failed.store(inner.failure.is_some(), Ordering::Release);
        self.restarted.store(inner.progress.restarted, Ordering::Release);
        self.flags.store(inner.progress.flags.0, Ordering::Release);
        result
    }
}
