//! The nodes whose messages have come through gateways, with the messages that have arrived. The gateways share the capacity,
//! so that none of them can evict the nodes of another by naming many.

use super::seen::SeenNumbers;
use crate::environment::time::Time;
use crate::model::MessageOrigin;
use foldhash::HashMap;
use lnet_wire::Nid;
use std::num::NonZeroU64;

/// The number of nodes that are remembered.
const MAX_NODES: usize = 4096;

/// The gateway that first named a node, by its primary NID; `None` if the node named itself. All nodes of the latter kind
/// count as those of one gateway, because a hostile node can claim to be any number of nodes.
pub(crate) type BroughtBy = Option<Nid>;

/// The known nodes, at most [`MAX_NODES`].
#[derive(Debug, Default)]
pub(super) struct KnownNodes {
    nodes: HashMap<NonZeroU64, KnownNode>,
    /// The number of nodes that each gateway has named first; a gateway without any has no entry.
    brought: HashMap<BroughtBy, usize>,
}

#[derive(Debug)]
struct KnownNode {
    seen: SeenNumbers,
    by: BroughtBy,
    /// The time at which the node's last message arrived.
    last: Time,
}

impl KnownNode {
    /// Adds the number of a message; `brought` has the numbers of nodes that gateways have named.
    fn insert(&mut self, id: NonZeroU64, now: Time, brought: &HashMap<BroughtBy, usize>) {
        self.last = self.last.max(now);
        let by = self.by;
        self.seen.insert(id, now, || brought.len() * brought.get(&by).copied().unwrap_or(1));
    }
}

impl KnownNodes {
    /// Whether the message with this origin has arrived.
    pub(super) fn contains(&self, origin: MessageOrigin) -> bool {
        self.nodes.get(&origin.node).is_some_and(|known| known.seen.contains(origin.id))
    }

    /// Records that a message has arrived. A new node is always added: if the table is full, the gateway with the most nodes (of
    /// equals the one that names the new node) loses the node whose last message is the oldest.
    pub(super) fn insert(&mut self, origin: MessageOrigin, by: BroughtBy, now: Time) {
        if let Some(known) = self.nodes.get_mut(&origin.node) {
            return known.insert(origin.id, now, &self.brought);
        }
        if self.nodes.len() >= MAX_NODES {
            self.make_room(by);
        }
        *self.brought.entry(by).or_default() += 1;
        let mut known = KnownNode { seen: SeenNumbers::default(), by, last: now };
        known.insert(origin.id, now, &self.brought);
        self.nodes.insert(origin.node, known);
    }

    /// Removes messages, and nodes without messages, that are older than [`REMEMBERED`](super::seen::REMEMBERED).
    pub(super) fn expire(&mut self, now: Time) {
        let Self { nodes, brought } = self;
        nodes.retain(|_, known| {
            known.seen.expire(now);
            let stays = !known.seen.is_empty();
            if !stays {
                give_back(brought, known.by);
            }
            stays
        });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    fn make_room(&mut self, newcomer: BroughtBy) {
        let most = self.brought.iter().max_by_key(|(by, nodes)| (**nodes, **by == newcomer, **by));
        let Some(most) = most.map(|(by, _)| *by) else { return };
        let its = self.nodes.iter().filter(|(_, known)| known.by == most);
        if let Some(oldest) = its.min_by_key(|(node, known)| (known.last, **node)).map(|(node, _)| *node) {
            self.nodes.remove(&oldest);
            give_back(&mut self.brought, most);
        }
    }
}

fn give_back(brought: &mut HashMap<BroughtBy, usize>, by: BroughtBy) {
    if let Some(nodes) = brought.get_mut(&by) {
        *nodes -= 1;
        if *nodes == 0 {
            brought.remove(&by);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::time::Duration;

    fn at(seconds: u64) -> Time {
        Time(Duration::from_secs(seconds))
    }

    fn of_node(node: u64, id: u64) -> MessageOrigin {
        MessageOrigin { node: NonZeroU64::new(node).unwrap(), id: NonZeroU64::new(id).unwrap() }
    }

    fn gateway(number: u32) -> BroughtBy {
        Some(format!("10.0.0.{number}@tcp").parse().unwrap())
    }

    /// Fails if a gateway that names many nodes evicts those of one that names few, or if the table grows without a limit.
    #[test]
    fn gateways_share_the_places_and_who_names_most_loses_its_oldest() {
        for (flood, honest) in [(gateway(1), gateway(2)), (None, gateway(2)), (gateway(1), None)] {
            let mut known = KnownNodes::default();
            (1..=100).for_each(|node| known.insert(of_node(node, 1), honest, at(0)));
            (1000..11_000).for_each(|node| known.insert(of_node(node, 1), flood, at(node)));
            assert_eq!(known.nodes.len(), MAX_NODES);
            assert!((1..=100).all(|node| known.contains(of_node(node, 1))), "{flood:?}");
            assert!(known.contains(of_node(10_999, 1)) && !known.contains(of_node(1000, 1)));
            // Nodes of the other gateway find room up to half of the table.
            (101..=3000).for_each(|node| known.insert(of_node(node + 20_000, 1), honest, at(20_000)));
            assert_eq!((known.brought[&honest], known.brought[&flood]), (MAX_NODES / 2, MAX_NODES / 2));
        }
    }

    #[test]
    fn nodes_are_forgotten_with_their_last_message() {
        let mut known = KnownNodes::default();
        known.insert(of_node(1, 1), gateway(1), at(0));
        known.insert(of_node(2, 1), gateway(1), at(0));
        known.insert(of_node(2, 2), gateway(2), at(200));
        known.expire(at(300));
        assert!(!known.contains(of_node(1, 1)) && known.contains(of_node(2, 2)));
        assert_eq!(known.brought, HashMap::from_iter([(gateway(1), 1)]));
        known.expire(at(500));
        assert!(known.is_empty() && known.brought.is_empty());
    }
}
