//! The paths to a peer NI that was ready, kept for the requests that follow.

use super::net_usage::NetUsage;
use super::peer_revision::PeerRevision;
use crate::credit::Credits;
use crate::sync::Spinlock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The paths of requests to a peer NI that was ready, as they are at a [revision](PeerRevision). They stay in memory until nets or peers are
/// replaced. `N` and `P` are the types of interfaces and peers.
#[derive(Debug)]
pub(crate) enum ReadyPaths<N, P> {
    /// The only one: that of the only interface on its net to the only NID of its peer.
    Only(Arc<N>),
    /// Those to a multi-rail peer, which are used in turn.
    InTurn(ReadyPeer<N, P>),
}

/// The peer of a peer NI, all of whose NIDs are on one net, and the interfaces of this node there.
#[derive(Debug)]
pub(crate) struct ReadyPeer<N, P> {
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
    kept: Spinlock<Option<KeptPaths<N, P>>>,
}

/// Paths with their revision; they were read after it.
#[derive(Debug)]
struct KeptPaths<N, P> {
    revision: u64,
    paths: ReadyPaths<N, P>,
}

impl<N, P> Default for Readiness<N, P> {
    fn default() -> Self {
        Self { at: AtomicU64::new(u64::MAX), kept: Spinlock::new(None) }
    }
}

impl<N, P> Readiness<N, P> {
    /// Whether the peer NI was ready at this revision.
    #[inline(always)]
    pub(super) fn was_at(&self, revision: u64) -> bool {
        self.at.load(Ordering::Relaxed) == revision
    }

    /// Records that the peer NI was ready at this revision, after which `paths` were read.
    #[cold]
    pub(super) fn note(&self, revision: u64, paths: ReadyPaths<N, P>, present: &PeerRevision) {
        let before = self.kept.lock().replace(KeptPaths { revision, paths });
        drop(before);
        // Whoever begins a revision forgets what is kept, before or after this.
        match present.is(revision) {
            true => self.at.store(revision, Ordering::Relaxed),
            false => self.forget(),
        }
    }

    /// Calls `look`, which is brief, with the paths, if they are those of this revision.
    #[inline(always)]
    pub(super) fn with_paths<R>(
        &self,
        revision: u64,
        look: impl FnOnce(&ReadyPaths<N, P>) -> Option<R>,
    ) -> Option<R> {
        let kept = self.kept.lock();
        look(&kept.as_ref().filter(|kept| kept.revision == revision)?.paths)
    }

    /// Lets go of the paths.
    pub(super) fn forget(&self) {
        // Whoever notes the same again finds out that it is not noted.
        self.at.store(u64::MAX, Ordering::Relaxed);
        let before = self.kept.lock().take();
        drop(before);
    }
}
