//! The parts of a cluster that can be lost.

use lnet_wire::NetId;

/// One node: its class, and its index among the nodes of the class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeRef {
    /// The index of the class.
    pub class: usize,
    /// The index of the node in the class.
    pub node: u64,
}

/// A part of a cluster that can be lost.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// An interface of a node: all its NIs with this name, or with this index if it has no name.
    Interface {
        /// The node.
        node: NodeRef,
        /// The indices of the NIs in [`super::Class::nis`].
        nis: Vec<usize>,
    },
    /// A node, which may be a router.
    Node(NodeRef),
    /// A net, with all interfaces on it.
    Net(NetId),
    /// A switch, with all interfaces that have its label.
    Switch(String),
}
