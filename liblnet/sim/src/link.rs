//! Names for interfaces and for the connections between them.

use crate::trace::NodeId;

/// An interface of a node; one that is removed and added again gets another ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct InterfaceId {
    pub(crate) node: NodeId,
    pub(crate) index: u32,
}

/// One direction of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkKey {
    pub(crate) from: InterfaceId,
    pub(crate) to: InterfaceId,
    pub(crate) lane: u8,
}

impl LinkKey {
    /// The node at which the messages arrive.
    pub const fn receiver(&self) -> NodeId {
        self.to.node
    }

    /// The node that sends the messages.
    pub const fn sender(&self) -> NodeId {
        self.from.node
    }

    /// The other direction of the same connection.
    pub(crate) const fn back(self) -> Self {
        Self { from: self.to, to: self.from, lane: self.lane }
    }

    /// The common name of both directions.
    pub(crate) fn connection(self) -> Self {
        if self.from < self.to { self } else { self.back() }
    }
}
