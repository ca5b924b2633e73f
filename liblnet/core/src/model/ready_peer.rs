//! The state that requests to a peer NI that was ready depend on, kept for those that follow.

use super::net_usage::NetUsage;
use super::peer_revision::PeerRevision;
use crate::credit::Credits;
use crate::sync::Spinlock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The peer of a peer NI, all of whose NIDs are on one net, and the interfaces of this node there, as they are at a [revision](PeerRevision).
/// They stay in memory until nets or peers are replaced. `N` and `P` are the types of interfaces and peers.
#[derive(Debug)]
pub(crate) struct ReadyPeer<N, P> {
    /// The revision; all else was read after it.
    pub(crate) revision: u64,
    /// The interfaces.
    pub(crate) nis: Vec<Arc<N>>,
    /// The state of the net that changes while messages flow.
    pub(crate) usage: Arc<NetUsage>,
    /// The most credits that any of the interfaces has when none is in use.
    pub(crate) most_credits: Credits,
    /// The peer.
    pub(crate) peer: Arc<P>,
}

/// Whether a peer NI is ready.
#[derive(Debug)]
pub(super) struct Readiness<N, P> {
    /// The latest revision at which the peer NI was ready; `u64::MAX` before any.
    at: AtomicU64,
    /// The interfaces and the peer at that revision, unless there is but one path.
    peer: Spinlock<Option<ReadyPeer<N, P>>>,
}

impl<N, P> Default for Readiness<N, P> {
    fn default() -> Self {
        Self { at: AtomicU64::new(u64::MAX), peer: Spinlock::new(None) }
    }
}

impl<N, P> Readiness<N, P> {
    /// Whether the peer NI was ready at this revision.
    #[inline(always)]
    pub(super) fn was_at(&self, revision: u64) -> bool {
        self.at.load(Ordering::Relaxed) == revision
    }

    /// Records that the peer NI, to which there is but one path, was ready at this revision.
    pub(super) fn note(&self, revision: u64) {
        self.at.store(revision, Ordering::Relaxed);
    }

    /// Records that the peer NI was ready at the revision of `peer`.
    #[cold]
    pub(super) fn note_peer(&self, peer: ReadyPeer<N, P>, present: &PeerRevision) {
        let revision = peer.revision;
        let before = self.peer.lock().replace(peer);
        drop(before);
        // Whoever begins a revision forgets what is kept, before or after this.
        match present.is(revision) {
            true => self.note(revision),
            false => self.forget(),
        }
    }

    /// Calls `look`, which is brief, with the interfaces and the peer, if they are those of this revision.
    #[inline(always)]
    pub(super) fn with_peer<R>(
        &self,
        revision: u64,
        look: impl FnOnce(&ReadyPeer<N, P>) -> Option<R>,
    ) -> Option<R> {
        let kept = self.peer.lock();
        look(kept.as_ref().filter(|peer| peer.revision == revision)?)
    }

    /// Lets go of the interfaces and the peer.
    pub(super) fn forget(&self) {
        // Whoever notes the same again finds out that it is not noted.
        self.at.store(u64::MAX, Ordering::Relaxed);
        let before = self.peer.lock().take();
        drop(before);
    }
}
