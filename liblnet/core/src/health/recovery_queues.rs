//! The unhealthy interfaces of a node and of its peers, which are pinged until they have recovered.

use crate::memory::MdHandle;
use crate::sync::{Mutex, lock};
use lnet_wire::Nid;

/// Whose interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NiKind {
    /// This node's.
    Local,
    /// Peers'.
    Peer,
}

/// The unhealthy interfaces, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct RecoveryQueues {
    local: Mutex<Vec<Entry>>,
    peer: Mutex<Vec<Entry>>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) nid: Nid,
    /// The last ping, as long as it is not known to have ended.
    pub(super) ping: Option<MdHandle>,
    /// Of an interface of this node's: how often another one was to ping it than before.
    pub(super) source: usize,
}

impl RecoveryQueues {
    pub(super) fn of(&self, kind: NiKind) -> &Mutex<Vec<Entry>> {
        match kind {
            NiKind::Local => &self.local,
            NiKind::Peer => &self.peer,
        }
    }

    /// Whether it is new.
    pub(super) fn add(&self, kind: NiKind, nid: Nid) -> bool {
        let mut queue = lock(self.of(kind));
        let new = queue.iter().all(|entry| entry.nid != nid);
        if new {
            queue.push(Entry { nid, ping: None, source: 0 });
        }
        new
    }

    pub(super) fn remove(&self, kind: NiKind, nid: Nid) {
        lock(self.of(kind)).retain(|entry| entry.nid != nid);
    }

    pub(super) fn entries(&self, kind: NiKind) -> Vec<Entry> {
        lock(self.of(kind)).clone()
    }

    pub(super) fn update(&self, kind: NiKind, updated: Entry) {
        if let Some(entry) = lock(self.of(kind)).iter_mut().find(|entry| entry.nid == updated.nid) {
            *entry = updated;
        }
    }
}
