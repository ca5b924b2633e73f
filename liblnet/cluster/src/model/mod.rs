//! The cluster as a value.
//!
//! Nodes whose configuration is the same but for their addresses are one [`Class`]. Addresses are runs of consecutive ones, so a class
//! of 100 000 nodes takes no more memory than one of two.

mod addresses;
mod class;
mod element;
mod nids;

pub(crate) use addresses::is_long;
pub use addresses::{Addresses, Run};
pub use class::{Class, ClassNi, ClassPeer, ClassRoute, ClassRule, NodeFile};
pub use element::{Element, NodeRef};
pub use nids::{Duplicate, NidIndex, NidOwner};

use lnet_wire::NetId;
use std::collections::BTreeSet;

/// All nodes of a cluster.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    /// The classes of nodes, in the order in which they were read.
    pub classes: Vec<Class>,
    /// Pairs of classes that need not reach each other, as the topology file says. Either order counts.
    pub apart: Vec<(usize, usize)>,
}

impl Cluster {
    /// The number of nodes.
    pub fn node_count(&self) -> u64 {
        self.classes.iter().map(|class| class.count).sum()
    }

    /// All nets that some node is on, the loopback excluded.
    pub fn nets(&self) -> BTreeSet<NetId> {
        self.classes.iter().flat_map(|class| &class.nis).map(|ni| ni.net).collect()
    }

    /// All labels of switches.
    pub fn switches(&self) -> BTreeSet<&str> {
        let nis = self.classes.iter().flat_map(|class| &class.nis);
        nis.flat_map(|ni| &ni.switches).map(String::as_str).collect()
    }

    /// Whether the topology file says that two classes need not reach each other.
    pub fn may_be_apart(&self, one: usize, other: usize) -> bool {
        self.apart.iter().any(|pair| *pair == (one, other) || *pair == (other, one))
    }

    /// The name of a node: that of its file, or that of its class with its number from 0.
    pub fn node_name(&self, node: NodeRef) -> String {
        self.classes.get(node.class).map_or_else(String::new, |class| class.node_name(node.node))
    }
}
