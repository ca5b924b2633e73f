//! The unresponsive paths to a peer NI.

use crate::environment::time::Time;
use crate::sync::{Mutex, lock};
use lnet_wire::Nid;
use std::sync::atomic::{AtomicBool, Ordering};

/// The local NIDs from which a peer NI is unresponsive, and since when; read for every message while the node has any
/// unresponsive path.
#[derive(Debug, Default)]
pub(crate) struct UnresponsiveFrom {
    any: AtomicBool,
    nids: Mutex<Vec<(Nid, Time)>>,
}

impl UnresponsiveFrom {
    pub(crate) fn any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn has(&self, local: Nid) -> bool {
        self.any() && lock(&self.nids).iter().any(|(nid, _)| *nid == local)
    }

    pub(crate) fn all(&self) -> Vec<(Nid, Time)> {
        lock(&self.nids).clone()
    }

    /// Adds the path from `local`. Returns whether it was not there before.
    pub(crate) fn add(&self, local: Nid, since: Time) -> bool {
        let mut nids = lock(&self.nids);
        let new = nids.iter().all(|(nid, _)| *nid != local);
        if new {
            nids.push((local, since));
            self.any.store(true, Ordering::Relaxed);
        }
        new
    }

    /// Removes the path from `local`. Returns whether it was there.
    pub(crate) fn remove(&self, local: Nid) -> bool {
        let mut nids = lock(&self.nids);
        let before = nids.len();
        nids.retain(|(nid, _)| *nid != local);
        self.any.store(!nids.is_empty(), Ordering::Relaxed);
        nids.len() < before
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::time::Duration;

    fn nid(n: u8) -> Nid {
        format!("10.0.0.{n}@tcp").parse().unwrap()
    }

    fn at(millis: u64) -> Time {
        Time(Duration::from_millis(millis))
    }

    #[test]
    fn a_peer_ni_records_the_local_nis_it_did_not_answer_and_since_when() {
        let from = UnresponsiveFrom::default();
        assert!(!from.any() && !from.has(nid(1)));
        assert!(from.add(nid(1), at(5)) && !from.add(nid(1), at(6)) && from.add(nid(2), at(7)));
        assert!(from.has(nid(1)) && !from.has(nid(3)));
        assert_eq!(from.all(), [(nid(1), at(5)), (nid(2), at(7))]);
        assert!(from.remove(nid(1)) && !from.remove(nid(1)) && from.any());
        assert!(from.remove(nid(2)) && !from.any());
    }
}
