//! Rails of a world and their faults, and frozen nodes.

use crate::faults::{FaultPoint, Rail};
use crate::network::Delivery;
use crate::trace::NodeId;
use crate::world::World;
use lnet_core::FatalReporter;
use lnet_core::Time;
use lnet_wire::Nid;
use std::time::Duration;

/// Rails. No node is notified of a rail's faults, except by [`World::set_link_state`].
impl World {
    /// Attaches interfaces with this NID to a rail; they are attached to none before.
    pub fn attach(&mut self, nid: Nid, rail: Rail) {
        self.network.lock().faults.attach(nid, rail);
    }

    /// The rail that an interface is attached to.
    pub fn rail_of(&self, nid: Nid) -> Option<Rail> {
        self.network.lock().faults.rail_of(nid)
    }

    /// Kills the rail: nothing crosses it.
    pub fn kill_rail(&mut self, rail: Rail) {
        self.break_spot(FaultPoint::Rail(rail), || format!("rail {} dies", rail.0));
    }

    /// Heals the rail: everything crosses it again.
    pub fn heal_rail(&mut self, rail: Rail) {
        self.mend(&[FaultPoint::Rail(rail)], || format!("rail {} is well again", rail.0));
    }

    /// Adds a delay to messages that cross a rail.
    pub fn delay_rail(&mut self, rail: Rail, delay: Duration) {
        self.note(NodeId(0), || format!("rail {} takes {delay:?} more", rail.0));
        self.network.lock().faults.delay(rail, delay);
    }

    /// Kills an interface: nothing gets into it or out of it.
    pub fn kill_interface(&mut self, nid: Nid) {
        self.block_rx(nid);
        self.block_tx(nid);
    }

    /// Blocks reception: nothing gets into the interface.
    pub fn block_rx(&mut self, nid: Nid) {
        self.break_spot(FaultPoint::Into(nid), || format!("{nid} hears nothing"));
    }

    /// Blocks sending: nothing gets out of the interface.
    pub fn block_tx(&mut self, nid: Nid) {
        self.break_spot(FaultPoint::OutOf(nid), || format!("{nid} is not heard"));
    }

    /// Ends [`World::kill_interface`], [`World::block_rx`] and [`World::block_tx`].
    pub fn heal_interface(&mut self, nid: Nid) {
        self.mend(&[FaultPoint::Into(nid), FaultPoint::OutOf(nid)], || format!("{nid} is well again"));
    }

    /// Cuts a pair in one direction: nothing gets from the one interface to the other.
    pub fn cut_pair(&mut self, from: Nid, to: Nid) {
        self.break_spot(FaultPoint::Pair(from, to), || format!("{from} does not reach {to}"));
    }

    /// Heals a pair in that direction.
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
        self.with_core(node, |core| {
            core.admin().set_ni_fatal(nid, FatalReporter::Host, (!works).then_some("the world says so"))
        });
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

/// Frozen nodes.
impl World {
    /// Freezes a node: it does nothing, though its machine runs on: connections stay up, nothing is read.
    pub fn freeze(&mut self, node: NodeId) {
        if self.is_up(node) && !self.is_frozen(node) {
            self.note(node, || "stands still".to_owned());
            self.network.lock().freeze(node);
        }
    }

    /// Ends the freeze of a node.
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

    /// Whether the node is frozen.
    pub fn is_frozen(&self, node: NodeId) -> bool {
        self.network.lock().faults.is_frozen(node)
    }
}

/// State of paths.
impl World {
    /// Returns the time since which messages could pass in both directions between two interfaces; `None` if they cannot now,
    /// or if one of the nodes is down, frozen, or knows that its interface is broken.
    pub fn healthy_since(&self, a: Nid, b: Nid) -> Option<Time> {
        let network = self.network.lock();
        let (a, b) = (network.end_of(a), network.end_of(b));
        if a.node.is_none() || b.node.is_none() { None } else { network.faults.healthy_since(a, b) }
    }

    /// Whether a node was frozen at any time since then.
    pub(crate) fn stood_still_since(&self, node: NodeId, since: Time) -> bool {
        self.network.lock().faults.broken_since(FaultPoint::Frozen(node), since)
    }

    /// Whether nodes recognise duplicates.
    pub(crate) fn deduplicates(&self) -> bool {
        self.config.network.delivery == Delivery::Acked
    }
}
