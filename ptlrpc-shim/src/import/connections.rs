//! Servers by UUID: their NIDs, the LNet peer that these belong to, and one connection for each peer.

use crate::Errno;
use crate::lnet::{Distance, Nid, Node, ProcessId};
use lnet_api::sync::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

/// A peer that this node sends requests to. Not a network connection: those are LNet's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The peer, by its primary NID: requests are sent to it, and replies are matched by it (`c_peer`).
    pub peer: ProcessId,
    /// The local NI that was nearest when the UUID was looked up (`c_self`). For display: LNet selects the NI of each message.
    pub local_nid: Nid,
}

/// The connections of this process, and the NIDs of servers by UUID. Used from any thread.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    by_peer: Mutex<HashMap<ProcessId, Weak<Connection>>>,
    by_uuid: Mutex<HashMap<String, Vec<Nid>>>,
}

impl Connections {
    /// Adds NIDs of the server with this UUID. LNet gets all of its NIDs as one peer, the first as the primary NID (PR-43).
    pub(crate) fn add_uuid(&self, node: &Node, uuid: &str, nids: &[Nid]) -> Result<(), Errno> {
        let all = {
            let mut by_uuid = lock(&self.by_uuid);
            let all = by_uuid.entry(uuid.to_owned()).or_default();
            nids.iter().for_each(|nid| {
                if !all.contains(nid) {
                    all.push(*nid);
                }
            });
            all.clone()
        };
        if all.len() > 1 && !all.iter().any(|nid| nid.is_loopback()) {
            // LNet refuses NIDs that it knows already, or has discovered to be another peer's. Nothing is lost by that.
            if let Err(errno) = node.add_peer(&all) {
                log::debug!(
                    "server {uuid}: LNet refused its NIDs as one peer ({errno}); using what LNet knows"
                );
            }
        }
        Ok(())
    }

    /// Forgets a UUID.
    pub(crate) fn remove_uuid(&self, uuid: &str) -> Result<(), Errno> {
        lock(&self.by_uuid).remove(uuid).map(drop).ok_or(Errno::NotFound)
    }

    /// The peer of a UUID, by its primary NID, and the local NI nearest to it. Of the UUID's NIDs the nearest is looked up; this
    /// node itself is the loopback (PR-42). A UUID that was not added may be a NID.
    pub(crate) fn uuid_to_peer(&self, node: &Node, uuid: &str) -> Result<Connection, Errno> {
        let known = lock(&self.by_uuid).get(uuid).cloned();
        let nids = match known {
            Some(nids) => nids,
            None => vec![uuid.parse().map_err(|_| Errno::NotFound)?],
        };
        let (nid, distance) = nearest(&nids, |nid| node.distance(nid).ok()).ok_or(Errno::HostUnreachable)?;
        if distance.hops == 0 {
            return Ok(Connection { peer: ProcessId::lustre(Nid::LOOPBACK), local_nid: Nid::LOOPBACK });
        }
        Ok(Connection { peer: ProcessId::lustre(node.primary_nid(nid)), local_nid: distance.local_nid })
    }

    /// The connection to the peer of a UUID. All users of a peer share one (PR-44).
    pub(crate) fn get(&self, node: &Node, uuid: &str) -> Result<Arc<Connection>, Errno> {
        let found = self.uuid_to_peer(node, uuid)?;
        let mut by_peer = lock(&self.by_peer);
        by_peer.retain(|_, connection| connection.strong_count() > 0);
        if let Some(connection) = by_peer.get(&found.peer).and_then(Weak::upgrade) {
            return Ok(connection);
        }
        let connection = Arc::new(found);
        by_peer.insert(found.peer, Arc::downgrade(&connection));
        Ok(connection)
    }
}

/// The NID with the fewest hops. If several have the same number, the one with the lowest order; then the first.
fn nearest(nids: &[Nid], distance: impl Fn(Nid) -> Option<Distance>) -> Option<(Nid, Distance)> {
    nids.iter()
        .filter_map(|nid| Some((*nid, distance(*nid)?)))
        .min_by_key(|(_, distance)| (distance.hops, distance.order))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nid(text: &str) -> Nid {
        text.parse().unwrap()
    }

    /// PR-42: fails if another NID than the nearest is used, or of equals not the one of the lowest order.
    #[test]
    fn the_nearest_nid_is_taken_and_of_equals_the_one_of_the_lowest_order() {
        let distances = [
            ("10.0.0.1@tcp", Some((2, 5))),
            ("10.1.0.1@tcp1", Some((1, 9))),
            ("10.2.0.1@tcp2", Some((1, 3))),
            ("10.3.0.1@tcp3", Some((1, 3))),
            ("10.4.0.1@tcp4", None),
        ];
        let nids: Vec<Nid> = distances.iter().map(|(text, _)| nid(text)).collect();
        let of = |wanted: Nid| {
            let (_, distance) = distances.iter().find(|(text, _)| nid(text) == wanted)?;
            distance.map(|(hops, order)| Distance { hops, order, local_nid: Nid::LOOPBACK })
        };
        assert_eq!(nearest(&nids, of).unwrap().0, nid("10.2.0.1@tcp2"));
        assert_eq!(nearest(&nids[..1], of).unwrap().0, nids[0]);
        assert!(nearest(&nids[4..], of).is_none());
    }
}
