//! Who is where: the NIDs of servers, the peer that they are, and one connection for each peer.

use crate::errno::Errno;
use crate::lnet::{Distance, Nid, Node, ProcessId};
use crate::sync::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

/// A peer that this node talks to. It is no connection of the network's: LNet has those.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The peer, by its primary NID: requests go to it, and answers are matched by it (`c_peer`).
    pub peer: ProcessId,
    /// The interface of this node that was nearest when they met. For people: LNet sends from whichever is best (`c_self`).
    pub own: Nid,
}

/// The connections of this process, and the NIDs of servers by their UUIDs. Any thread may ask.
#[derive(Debug, Default)]
pub struct Connections {
    by_peer: Mutex<HashMap<ProcessId, Weak<Connection>>>,
    by_uuid: Mutex<HashMap<String, Vec<Nid>>>,
}

impl Connections {
    /// A server of this UUID has these NIDs, beside those that are known. All of them are told to LNet as one peer, the first
    /// as the primary one (PR-43).
    pub fn add_uuid(&self, node: &Node, uuid: &str, nids: &[Nid]) -> Result<(), Errno> {
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
            // Told again, or with what LNet knows better, it says so: that is no harm.
            if let Err(errno) = node.add_peer(&all) {
                log::debug!("LNet does not take the NIDs of {uuid} as one peer: {errno}");
            }
        }
        Ok(())
    }

    /// Forgets a UUID.
    pub fn remove_uuid(&self, uuid: &str) -> Result<(), Errno> {
        lock(&self.by_uuid).remove(uuid).map(drop).ok_or(Errno::NOT_FOUND)
    }

    /// The peer that a UUID names, by its primary NID, and the interface of this node that is nearest to it; of the UUID's NIDs
    /// that which is nearest counts, and this node itself is the loopback (PR-42). A UUID that nobody has added may be a NID.
    pub fn uuid_to_peer(&self, node: &Node, uuid: &str) -> Result<Connection, Errno> {
        let known = lock(&self.by_uuid).get(uuid).cloned();
        let nids = match known {
            Some(nids) => nids,
            None => vec![uuid.parse().map_err(|_| Errno::NOT_FOUND)?],
        };
        let (nid, distance) = nearest(&nids, |nid| node.distance(nid).ok()).ok_or(Errno::HOST_UNREACHABLE)?;
        if distance.hops == 0 {
            return Ok(Connection { peer: ProcessId::lustre(Nid::LOOPBACK), own: Nid::LOOPBACK });
        }
        Ok(Connection { peer: ProcessId::lustre(node.primary_nid(nid)), own: distance.own })
    }

    /// The connection to the peer that a UUID names: one for all who name it (PR-44).
    pub fn get(&self, node: &Node, uuid: &str) -> Result<Arc<Connection>, Errno> {
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

/// Of these NIDs the one with the fewest hops; of equals that of the lowest order, then the first.
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

    /// PR-42.
    #[test]
    fn the_nearest_nid_is_taken_and_of_equals_that_of_the_lowest_order() {
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
            distance.map(|(hops, order)| Distance { hops, order, own: Nid::LOOPBACK })
        };
        assert_eq!(nearest(&nids, of).unwrap().0, nid("10.2.0.1@tcp2"));
        assert_eq!(nearest(&nids[..1], of).unwrap().0, nids[0]);
        assert!(nearest(&nids[4..], of).is_none());
    }
}
