//! What requests to a peer NI that was ready depend on, kept for those that follow.

use super::net::{Net, Nets};
use super::peer::{Peer, PeerNet};
use crate::sync::{RwLock, write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The nets of this node, and the peer of a peer NI, as they are at a [revision](super::PeerRevision). They stay in memory until the next
/// revision.
#[derive(Debug)]
pub(crate) struct ReadyPeer {
    revision: u64,
    nets: Arc<Nets>,
    /// The position of the only net that the peer is on.
    position: usize,
    peer: Arc<Peer>,
}

impl ReadyPeer {
    /// The nets and the peer, which were read after the revision was; `None` unless the peer is on one net alone, and this node is on it.
    pub(crate) fn new(revision: u64, nets: Arc<Nets>, peer: Arc<Peer>) -> Option<Self> {
        let [only] = &peer.nets[..] else { return None };
        let position = nets.position(only.id)?;
        Some(Self { revision, nets, position, peer })
    }

    /// The peer, and the net that it is on, of this node and of the peer.
    #[inline(always)]
    pub(crate) fn on_net(&self) -> Option<(&Peer, &Net, &PeerNet)> {
        Some((&self.peer, self.nets.at(self.position)?, self.peer.nets.first()?))
    }
}

/// Whether a peer NI is ready.
#[derive(Debug)]
pub(super) struct Readiness {
    /// The latest revision at which the peer NI was ready; `u64::MAX` before any.
    at: AtomicU64,
    /// The nets and the peer at that revision, unless there is but one path.
    peer: RwLock<Option<ReadyPeer>>,
}

impl Default for Readiness {
    fn default() -> Self {
        Self { at: AtomicU64::new(u64::MAX), peer: RwLock::new(None) }
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
        let before = write(&self.peer).replace(peer);
        drop(before);
        // Whoever begins a revision forgets what is kept, before or after this.
        match present.is(revision) {
            true => self.note(revision),
            false => self.forget(),
        }
    }

    /// Calls `look` with the nets and the peer, if they are those of this revision. While another thread is changing them, they are not.
    #[inline(always)]
    pub(super) fn with_peer<R>(
        &self,
        revision: u64,
        look: impl FnOnce(&ReadyPeer) -> Option<R>,
    ) -> Option<R> {
        let kept = self.peer.try_read().ok()?;
        look(kept.as_ref().filter(|peer| peer.revision == revision)?)
    }

    /// Lets go of the nets and the peer.
    pub(super) fn forget(&self) {
        let before = write(&self.peer).take();
        drop(before);
    }
}
