//! The recovery queues of local NIs and peer NIs, which are pinged until they have recovered.

use crate::memory::MdHandle;
use crate::sync::{Mutex, lock};
use lnet_wire::Nid;

/// The side of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NiKind {
    /// An interface of this node.
    Local,
    /// An interface of a peer.
    Peer,
}

/// The unhealthy interfaces, in the order in which they became so.
#[derive(Debug, Default)]
pub(super) struct RecoveryQueues {
    local: Mutex<Vec<QueuedNi>>,
    peer: Mutex<Vec<QueuedNi>>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct QueuedNi {
    pub(super) nid: Nid,
    /// The MD of the last ping, until it has ended.
    pub(super) ping: Option<MdHandle>,
    /// The number of times that the source of the pings of a local NI has been changed.
    pub(super) source: usize,
}

impl RecoveryQueues {
    pub(super) fn of(&self, kind: NiKind) -> &Mutex<Vec<QueuedNi>> {
        match kind {
            NiKind::Local => &self.local,
            NiKind::Peer => &self.peer,
        }
    }

    /// Adds an interface. Returns whether the entry is new.
    pub(super) fn add(&self, kind: NiKind, nid: Nid) -> bool {
        let mut queue = lock(self.of(kind));
        let new = queue.iter().all(|entry| entry.nid != nid);
        if new {
            queue.push(QueuedNi { nid, ping: None, source: 0 });
        }
        new
    }

    pub(super) fn remove(&self, kind: NiKind, nid: Nid) {
        lock(self.of(kind)).retain(|entry| entry.nid != nid);
    }

    pub(super) fn entries(&self, kind: NiKind) -> Vec<QueuedNi> {
        lock(self.of(kind)).clone()
    }

    pub(super) fn update(&self, kind: NiKind, updated: QueuedNi) {
        if let Some(entry) = lock(self.of(kind)).iter_mut().find(|entry| entry.nid == updated.nid) {
            *entry = updated;
        }
    }
}
