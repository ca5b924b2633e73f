//! A target of a server.

use crate::message::{ConnectData, Name};
use crate::service::engines::difficult_reply::DifficultReplies;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A target: the object of a server that clients connect to.
pub struct Target {
    name: Name,
    data: ConnectData,
    last_committed: AtomicU64,
    difficult_replies: Arc<DifficultReplies>,
}

impl Target {
    pub(super) fn new(name: Name, data: ConnectData) -> Self {
        Self { name, data, last_committed: AtomicU64::new(0), difficult_replies: Arc::default() }
    }

    /// The target's name.
    pub const fn name(&self) -> &Name {
        &self.name
    }

    /// The connect data that the target supports.
    pub(super) const fn data(&self) -> &ConnectData {
        &self.data
    }

    /// Marks all transactions up to this one as committed: replies report it from now on, and their difficult replies end.
    pub fn commit(&self, transno: u64) {
        self.last_committed.fetch_max(transno, Ordering::AcqRel);
        self.difficult_replies.on_committed(transno);
    }

    /// The highest committed transaction.
    pub fn last_committed(&self) -> u64 {
        self.last_committed.load(Ordering::Acquire)
    }

    pub(crate) const fn difficult_replies(&self) -> &Arc<DifficultReplies> {
        &self.difficult_replies
    }
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Target({})", self.name)
    }
}
