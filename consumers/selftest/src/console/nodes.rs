//! The nodes that a session knows.

use super::call::{NodeInfo, NodeState, SessionNumber};
use lnet_wire::ProcessId;
use std::collections::HashMap;
use std::time::Duration;

/// All nodes that are in a group.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    records: HashMap<ProcessId, Node>,
    next: u64,
}

/// The console's record of a node.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) state: NodeState,
    /// The seconds without a message after which the node's session ends.
    pub(super) timeout: u32,
    /// Time of the node's last reply.
    pub(super) heard: Option<Duration>,
    /// The pinger waits for a response of it.
    pub(super) is_pinged: bool,
    order: u64,
}

impl Nodes {
    /// Adds a node unless it is known.
    pub(super) fn add(&mut self, id: ProcessId) {
        let next = &mut self.next;
        self.records.entry(id).or_insert_with(|| {
            *next += 1;
            Node { state: NodeState::Unknown, timeout: 0, heard: None, is_pinged: false, order: *next }
        });
    }

    pub(super) fn remove(&mut self, id: ProcessId) {
        self.records.remove(&id);
    }

    pub(super) fn get_mut(&mut self, id: ProcessId) -> Option<&mut Node> {
        self.records.get_mut(&id)
    }

    pub(super) fn contains(&self, id: ProcessId) -> bool {
        self.records.contains_key(&id)
    }

    /// The state of a node; [`NodeState::Unknown`] if there is no record of it.
    pub(super) fn state(&self, id: ProcessId) -> NodeState {
        self.records.get(&id).map_or(NodeState::Unknown, |node| node.state)
    }

    pub(super) fn is_active(&self, id: ProcessId) -> bool {
        self.state(id) == NodeState::Active
    }

    pub(super) fn infos(&self, ids: &[ProcessId]) -> Vec<NodeInfo> {
        ids.iter().map(|&id| NodeInfo { id, state: self.state(id) }).collect()
    }

    /// The nodes, in the order in which they were added.
    pub(super) fn ids(&self) -> Vec<ProcessId> {
        let mut ids: Vec<_> = self.records.iter().map(|(id, node)| (node.order, *id)).collect();
        ids.sort_unstable_by_key(|(order, _)| *order);
        ids.into_iter().map(|(_, id)| id).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// Records a reply of a node, of any kind, which tells the node's session (lnet-selftest 12.2).
    pub(super) fn heard(&mut self, now: Duration, id: ProcessId, session: SessionNumber, own: SessionNumber) {
        if let Some(node) = self.get_mut(id) {
            node.heard = Some(now);
            node.state = match session {
                SessionNumber { nid: None, .. } => NodeState::Unknown,
                session if session == own => NodeState::Active,
                _ => NodeState::Busy,
            };
        }
    }

    /// Records that an RPC sent at `since` was given up: the node is down, unless it has replied later.
    pub(super) fn did_not_respond(&mut self, id: ProcessId, since: Duration) {
        if let Some(node) = self.get_mut(id)
            && node.heard.is_none_or(|heard| heard < since)
        {
            node.state = NodeState::Down;
        }
    }

    /// The nodes that a ping is due for: they have been without a message for half of their session timeout
    /// (lnet-selftest 12.5).
    pub(super) fn due_for_ping(&self, now: Duration) -> Vec<ProcessId> {
        let is_due = |node: &Node| {
            let half = Duration::from_secs(node.timeout.into()) / 2;
            let unheard = now.saturating_sub(node.heard.unwrap_or_default());
            node.state == NodeState::Active && !node.is_pinged && node.timeout != 0 && unheard >= half
        };
        let mut due = self.ids();
        due.retain(|id| self.records.get(id).is_some_and(is_due));
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_reply_says_whether_the_node_has_the_session() {
        let id: ProcessId = "12345-10.0.0.1@tcp".parse().unwrap();
        let nid = Some(id.nid);
        let own = SessionNumber { nid, stamp: 7 };
        let mut nodes = Nodes::default();
        nodes.add(id);
        assert_eq!(nodes.state(id), NodeState::Unknown);
        let table = [
            (own, NodeState::Active),
            (SessionNumber { nid, stamp: 8 }, NodeState::Busy),
            (SessionNumber { nid: Some("10.0.0.2@tcp".parse().unwrap()), stamp: 7 }, NodeState::Busy),
            (SessionNumber::NONE, NodeState::Unknown),
            (own, NodeState::Active),
        ];
        for (session, state) in table {
            nodes.heard(SECOND, id, session, own);
            assert_eq!(nodes.state(id), state, "{session:?}");
        }
    }

    #[test]
    fn only_a_node_that_has_not_answered_since_is_down() {
        let id: ProcessId = "12345-10.0.0.1@tcp".parse().unwrap();
        let own = SessionNumber { nid: Some(id.nid), stamp: 7 };
        let mut nodes = Nodes::default();
        nodes.add(id);
        nodes.heard(5 * SECOND, id, own, own);
        nodes.did_not_respond(id, 4 * SECOND);
        assert!(nodes.is_active(id));
        nodes.did_not_respond(id, 6 * SECOND);
        assert_eq!(nodes.state(id), NodeState::Down);
    }

    #[test]
    fn a_ping_is_due_at_half_of_the_nodes_own_timeout_unless_one_is_under_way() {
        let id: ProcessId = "12345-10.0.0.1@tcp".parse().unwrap();
        let own = SessionNumber { nid: Some(id.nid), stamp: 7 };
        let mut nodes = Nodes::default();
        nodes.add(id);
        nodes.heard(10 * SECOND, id, own, own);
        nodes.get_mut(id).unwrap().timeout = 100;
        assert!(nodes.due_for_ping(59 * SECOND).is_empty());
        assert_eq!(nodes.due_for_ping(60 * SECOND), [id]);
        nodes.get_mut(id).unwrap().is_pinged = true;
        assert!(nodes.due_for_ping(60 * SECOND).is_empty());
        // A node whose sessions never end needs none.
        let node = nodes.get_mut(id).unwrap();
        (node.is_pinged, node.timeout) = (false, 0);
        assert!(nodes.due_for_ping(600 * SECOND).is_empty());
    }
}
