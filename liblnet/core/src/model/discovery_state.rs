//! What is kept for the discovery of one peer, whatever NIDs it gains and loses.

use super::discovery_progress::{LocalState, Progress, is_up_to_date};
use super::discovery_result::{Difference, Failure};
use super::peer_state::PeerState;
use super::reachability::Remembered;
use crate::sync::{Mutex, lock};
use lnet_wire::Nid;
use std::sync::atomic::{AtomicU32, Ordering};

/// The discovery of one peer.
#[derive(Debug)]
pub(crate) struct DiscoveryState {
    /// Tells it from those of all other peers of the node, past ones too.
    id: u64,
    /// Copies of what is in `inner`, to be read without its lock.
    flags: AtomicU32,
    node_sequence: AtomicU32,
    inner: Mutex<Inner>,
    /// Whether the peer can be reached.
    pub(crate) reachability: Mutex<Remembered>,
}

/// What a [`DiscoveryState`] guards.
#[derive(Debug, Default)]
pub(crate) struct Inner {
    pub(crate) progress: Progress,
    /// The NID by which the peer is found; it is another's, or nobody's, once the peer is gone.
    pub(crate) primary: Option<Nid>,
    pub(crate) failure: Option<Failure>,
    /// Discoveries in a row that have failed while something waited for them.
    pub(crate) rounds: u32,
    pub(crate) differences: Vec<Difference>,
    /// NIDs that it says it has and did not get.
    pub(crate) rejected_nids: Vec<Nid>,
    /// How many requests wait until the peer is discovered; discovery keeps them.
    pub(crate) parked: usize,
    /// It is in the queue.
    pub(crate) queued: bool,
    /// In that for which something waits.
    pub(crate) urgent: bool,
    /// The NID that the last request went to which failed.
    pub(crate) failing: Option<Nid>,
    /// The peer is gone: nothing may be parked any more.
    pub(crate) removed: bool,
}

impl DiscoveryState {
    pub(crate) fn new(id: u64, primary: Nid, state: PeerState) -> Self {
        let progress = Progress { flags: state, ..Progress::default() };
        Self {
            id,
            flags: AtomicU32::new(state.0),
            node_sequence: AtomicU32::new(0),
            inner: Mutex::new(Inner { progress, primary: Some(primary), ..Inner::default() }),
            reachability: Mutex::default(),
        }
    }

    /// Tells it from those of all other peers of the node, past ones too.
    pub(crate) const fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn flags(&self) -> PeerState {
        PeerState(self.flags.load(Ordering::Acquire))
    }

    /// Whether messages go to the peer without waiting: read for every message.
    pub(crate) fn is_up_to_date(&self, local: &LocalState) -> bool {
        is_up_to_date(self.flags(), self.node_sequence.load(Ordering::Acquire), local)
    }

    /// Looks at and changes what is kept. `change` must not call out.
    pub(crate) fn with<R>(&self, change: impl FnOnce(&mut Inner) -> R) -> R {
        let inner = &mut *lock(&self.inner);
        let result = change(inner);
        self.node_sequence.store(inner.progress.node_sequence, Ordering::Release);
        self.flags.store(inner.progress.flags.0, Ordering::Release);
        result
    }
}
