//! Rails of a world and what befalls them; and nodes that stand still.

use crate::faults::{FaultPoint, Rail};
use crate::network::Delivery;
use crate::trace::NodeId;
use crate::world::World;
use lnet_core::Time;
use lnet_wire::Nid;
use std::time::Duration;

/// Rails. No node is notified of what happens to a rail, except by [`World::set_link_state`].
impl World {
    /// Has interfaces with this NID hang on a rail; they hang on none before.
    pub fn hang_on(&mut self, nid: Nid, rail: Rail) {
        self.network.lock().faults.hang_on(nid, rail);
    }

    /// The rail that an interface hangs on.
    pub fn rail_of(&self, nid: Nid) -> Option<Rail> {
        self.network.lock().faults.rail_of(nid)
    }

    /// From now on nothing crosses the rail.
    pub fn kill_rail(&mut self, rail: Rail) {
        self.break_spot(FaultPoint::Rail(rail), || format!("rail {} dies", rail.0));
    }

    /// It carries everything again.
    pub fn heal_rail(&mut self, rail: Rail) {
        self.mend(&[FaultPoint::Rail(rail)], || format!("rail {} is well again", rail.0));
    }

    /// What crosses a rail takes so much longer.
    pub fn delay_rail(&mut self, rail: Rail, delay: Duration) {
        self.note(NodeId(0), || format!("rail {} takes {delay:?} more", rail.0));
        self.network.lock().faults.delay(rail, delay);
    }

    /// From now on nothing gets into the interface or out of it.
    pub fn kill_interface(&mut self, nid: Nid) {
        self.block_rx(nid);
        self.block_tx(nid);
    }

    /// Nothing gets into the interface.
    pub fn block_rx(&mut self, nid: Nid) {
        self.break_spot(FaultPoint::Into(nid), || format!("{nid} hears nothing"));
    }

    /// Nothing gets out of it.
    pub fn block_tx(&mut self, nid: Nid) {
        self.break_spot(FaultPoint::OutOf(nid), || format!("{nid} is not heard"));
    }

    /// Ends [`World::kill_interface`], [`World::block_rx`] and [`World::block_tx`].
    pub fn heal_interface(&mut self, nid: Nid) {
        self.mend(&[FaultPoint::Into(nid), FaultPoint::OutOf(nid)], || format!("{nid} is well again"));
    }

    /// Nothing gets from the one interface to the other; the other way it may.
    pub fn cut_pair(&mut self, from: Nid, to: Nid) {
        self.break_spot(FaultPoint::Pair(from, to), || format!("{from} does not reach {to}"));
    }

    /// It does again.
    pub fn heal_pair(&mut self, from: Nid, to: Nid) {
        self.mend(&[FaultPoint::Pair(from, to)], || format!("{from} reaches {to} again"));
    }

    /// Reports to a node that an interface is down or up again, as its machine would.
    pub fn set_link_state(&mut self, node: NodeId, nid: Nid, works: bool) {
        self.note(node, || format!("is told that {nid} {}", if works { "works" } else { "does not work" }));
        {
            let mut network = self.network.lock();
            let now = network.now();
            if works {
                network.faults.mend(FaultPoint::Missing(nid), now);
            } else {
                network.faults.break_spot(FaultPoint::Missing(nid));
            }
        }
        self.with_core(node, |core| core.set_ni_fatal(nid, (!works).then_some("the world says so")));
    }

    fn break_spot(&mut self, spot: FaultPoint, text: impl FnOnce() -> String) {
        self.note(NodeId(0), text);
        self.network.lock().faults.break_spot(spot);
    }

    fn mend(&mut self, spots: &[FaultPoint], text: impl FnOnce() -> String) {
        self.note(NodeId(0), text);
        let mut network = self.network.lock();
        let now = network.now();
        spots.iter().for_each(|spot| {
            network.faults.mend(*spot, now);
        });
        network.go_on();
    }
}

/// Nodes that stand still.
impl World {
    /// The node does nothing from now on, though its machine goes on: connections stay up, nothing is read.
    pub fn freeze(&mut self, node: NodeId) {
        if self.is_up(node) && !self.is_frozen(node) {
            self.note(node, || "stands still".to_owned());
            self.network.lock().freeze(node);
        }
    }

    /// It goes on.
    pub fn thaw(&mut self, node: NodeId) {
        if !self.is_frozen(node) {
            return;
        }
        self.note(node, || "goes on".to_owned());
        self.network.lock().thaw(node);
        if let Some(it) = self.nodes.get_mut(node.0 as usize) {
            it.wake = None;
        }
        self.settle(node);
    }

    /// Whether it stands still.
    pub fn is_frozen(&self, node: NodeId) -> bool {
        self.network.lock().faults.is_frozen(node)
    }
}

/// What there is of paths.
impl World {
    /// Since when messages could go both paths between two interfaces at any time; `None` if they cannot now, or one of the
    /// nodes is down, stands still, or knows its interface to be broken.
    pub fn healthy_since(&self, a: Nid, b: Nid) -> Option<Time> {
        let network = self.network.lock();
        let (a, b) = (network.end_of(a), network.end_of(b));
        if a.node.is_none() || b.node.is_none() { None } else { network.faults.healthy_since(a, b) }
    }

    /// Whether a node stood still at any time since then.
    pub(crate) fn stood_still_since(&self, node: NodeId, since: Time) -> bool {
        self.network.lock().faults.broken_since(FaultPoint::Frozen(node), since)
    }

    /// Whether a message that comes twice is known again.
    pub(crate) fn deduplicates(&self) -> bool {
        self.config.network.delivery == Delivery::Acked
    }
}
