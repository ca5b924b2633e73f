//! The revision of what is known of peers, for requests that need not look at it again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number that changes with everything that decides whether a request to a peer waits for discovery, whether its NIDs are
/// interchangeable, and which routes may be used: the discovery state, the NIDs and the reports of any peer, the settings and the state of
/// this node that discovery depends on, its interfaces and its routes. All peers of a node share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct PeerRevision(Arc<AtomicU64>);

impl PeerRevision {
    /// The present revision. What is read after this call is at least as recent.
    #[inline(always)]
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Begins a new revision, after a change.
    pub(crate) fn note_change(&self) {
        self.0.fetch_add(1, Ordering::Release);
    }
}
