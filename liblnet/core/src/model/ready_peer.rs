//! What requests to a peer NI that was ready depend on, kept for those that follow.

use super::net::Nets;
use super::peer::Peer;
use arc_swap::ArcSwapOption;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The nets of this node, and the peer of a peer NI, as they are at a [revision](super::PeerRevision). They stay in memory until the next
/// revision.
#[derive(Debug)]
pub(crate) struct ReadyPeer {
    revision: u64,
    pub(crate) nets: Arc<Nets>,
    pub(crate) peer: Arc<Peer>,
}

impl ReadyPeer {
    /// The nets and the peer, which were read after the revision was.
    pub(crate) fn new(revision: u64, nets: Arc<Nets>, peer: Arc<Peer>) -> Self {
        Self { revision, nets, peer }
    }
}

/// Whether a peer NI is ready.
#[derive(Debug)]
pub(super) struct Readiness {
    /// The latest revision at which the peer NI was ready; `u64::MAX` before any.
    at: AtomicU64,
    /// The nets and the peer at that revision, unless there is but one path.
    peer: ArcSwapOption<ReadyPeer>,
}

impl Default for Readiness {
    fn default() -> Self {
        Self { at: AtomicU64::new(u64::MAX), peer: ArcSwapOption::empty() }
    }
}

impl Readiness {
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
    pub(super) fn note_peer(&self, peer: ReadyPeer) {
        let (revision, present) = (peer.revision, peer.peer.discovery.revision.clone());
        self.peer.store(Some(Arc::new(peer)));
        // Whoever begins a revision forgets what is kept, before or after this.
        match present.is(revision) {
            true => self.note(revision),
            false => self.forget(),
        }
    }

    /// Calls `look` with the nets and the peer, if they are those of this revision.
    #[inline(always)]
    pub(super) fn with_peer<R>(
        &self,
        revision: u64,
        look: impl FnOnce(&ReadyPeer) -> Option<R>,
    ) -> Option<R> {
        let kept = self.peer.load();
        look(kept.as_deref().filter(|peer| peer.revision == revision)?)
    }

    /// Lets go of the nets and the peer.
    pub(super) fn forget(&self) {
        self.peer.store(None);
    }
}
