//! Peers whose NID is the rest of a shortened IPv6 NID (`model/truncated_nid.rs`): said once, answered, and removed when idle.

use super::Topology;
use crate::environment::Environment;
use crate::environment::time::Time;
use crate::model::truncated_nid::{Whole, truncated, whole_of_reserved};
use crate::sync::{Mutex, lock};
use lnet_log::LogClass;
use lnet_wire::Nid;
use std::collections::BTreeMap;
use std::time::Duration;

/// The number of shortened NIDs of peers that are kept in mind. Any node can invent more.
const MAX_TRUNCATED_NIDS: usize = 256;

/// The interval of the search for idle ones.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// The shortened NIDs from which messages came, each with what it was.
#[derive(Debug, Default)]
pub(crate) struct TruncatedNids(Mutex<BTreeMap<Nid, Whole>>);

impl TruncatedNids {
    fn whole(&self, nid: Nid) -> Option<Whole> {
        lock(&self.0).get(&nid).copied()
    }

    /// Adds the NID if there is room, for which those go that no peer has any more (`is_peer`); returns whether it is new.
    fn add(&self, nid: Nid, whole: Whole, is_peer: impl Fn(Nid) -> bool) -> bool {
        let mut known = lock(&self.0);
        if !known.contains_key(&nid) && known.len() >= MAX_TRUNCATED_NIDS {
            known.retain(|nid, _| is_peer(*nid));
            if known.len() >= MAX_TRUNCATED_NIDS {
                return false;
            }
        }
        known.insert(nid, whole).is_none()
    }

    fn remove(&self, nid: Nid) {
        lock(&self.0).remove(&nid);
    }

    fn any(&self) -> bool {
        !lock(&self.0).is_empty()
    }

    fn all(&self) -> Vec<Nid> {
        lock(&self.0).keys().copied().collect()
    }
}

impl Topology {
    /// The whole NID that a new source NID was shortened from; `None` if it was not.
    pub(crate) fn whole_of_new(&self, source: Nid) -> Option<Whole> {
        self.truncated_nids.whole(source).or_else(|| whole_of_reserved(source, || self.peers.long_nids()))
    }

    /// Whether the NID is known to be what remains of a shortened one.
    pub(crate) fn is_truncated_nid(&self, nid: Nid) -> bool {
        self.truncated_nids.whole(nid).is_some()
    }

    /// Records that a peer's NID is the rest of `whole`, and says so once. Beyond [`MAX_TRUNCATED_NIDS`] it stays a peer like any other,
    /// which is removed like any other.
    pub(crate) fn note_truncated(&self, env: &Environment, nid: Nid, whole: Whole) {
        let Some(peer_ni) = self.peer_ni(nid) else { return };
        let is_new = self.truncated_nids.add(nid, whole, |nid| self.peer_ni(nid).is_some());
        if self.is_truncated_nid(nid) {
            peer_ni.set_truncated(true);
        }
        if is_new {
            let line = format_args!(
                "peer {nid}: no node has this NID; it is the beginning of {whole}, whose node sent from it to an IPv4 NID; \
                 its requests are answered, and it is not kept as a peer"
            );
            env.log(LogClass::PeerNidTruncated, nid, line);
        }
    }

    /// Records the NIDs that a node has told. Peers that were seen only by what remains of one of them are not other nodes; a NID among
    /// them that was taken for a rest is none.
    pub(crate) fn note_told(&self, env: &Environment, told: &[Nid]) {
        for nid in told {
            if self.is_truncated_nid(*nid) {
                self.truncated_nids.remove(*nid);
                if let Some(peer_ni) = self.peer_ni(*nid) {
                    peer_ni.set_truncated(false);
                }
            }
            let rest = truncated(*nid).filter(|rest| self.peers.is_only_seen(*rest));
            if let Some(rest) = rest.filter(|rest| whole_of_reserved(*rest, || vec![*nid]).is_some()) {
                self.note_truncated(env, rest, Whole::Nid(*nid));
            }
        }
    }

    /// Whether messages have come from any shortened NID.
    pub(crate) fn has_truncated_nids(&self) -> bool {
        self.truncated_nids.any()
    }

    /// Removes peers with shortened NIDs that are idle; returns the time of the next call, if any is left.
    pub(crate) fn poll_truncated(&self, now: Time) -> Option<Time> {
        let left = self.truncated_nids.all().into_iter().filter(|nid| self.peers.keeps_unless_idle(*nid));
        (left.count() > 0).then(|| now + SWEEP_INTERVAL)
    }
}
