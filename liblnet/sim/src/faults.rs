//! What is wrong with the network now, and with the nodes at its ends.

use crate::trace::NodeId;
use lnet_wire::ping_info::Features;
use std::collections::{BTreeMap, BTreeSet};

/// Whether messages get from one node to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Open,
    Blocked,
}

/// Sets that are mostly empty.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// From the first to the second nothing gets through.
    cut: BTreeSet<(NodeId, NodeId)>,
    silent: BTreeSet<NodeId>,
    hidden: BTreeMap<NodeId, Features>,
    doubled: BTreeSet<(NodeId, NodeId)>,
}

impl Faults {
    pub(crate) fn way(&self, from: NodeId, to: NodeId) -> Way {
        let blocked = !self.cut.is_empty() && self.cut.contains(&(from, to));
        if blocked { Way::Blocked } else { Way::Open }
    }

    /// From now on nothing gets from one node to the other.
    pub(crate) fn cut(&mut self, from: NodeId, to: NodeId) {
        self.cut.insert((from, to));
    }

    /// Ends every cut and doubling.
    pub(crate) fn heal(&mut self) {
        self.cut.clear();
        self.doubled.clear();
    }

    pub(crate) fn is_silent(&self, node: NodeId) -> bool {
        !self.silent.is_empty() && self.silent.contains(&node)
    }

    pub(crate) fn silence(&mut self, node: NodeId) {
        self.silent.insert(node);
    }

    pub(crate) fn unsilence(&mut self, node: NodeId) {
        self.silent.remove(&node);
    }

    /// What a node's answers to pings do not say.
    pub(crate) fn hidden_by(&self, node: NodeId) -> Features {
        self.hidden.get(&node).copied().unwrap_or_default()
    }

    pub(crate) fn hide(&mut self, node: NodeId, features: Features) {
        if features == Features::default() {
            self.hidden.remove(&node);
        } else {
            self.hidden.insert(node, features);
        }
    }

    /// Two connections instead of one from now on, in both directions.
    pub(crate) fn double(&mut self, a: NodeId, b: NodeId) {
        self.doubled.extend([(a, b), (b, a)]);
    }

    pub(crate) fn connections(&self, from: NodeId, to: NodeId) -> u8 {
        if !self.doubled.is_empty() && self.doubled.contains(&(from, to)) { 2 } else { 1 }
    }
}
