//! Address families in a simulated network: which interfaces reach NIDs of the other family, and messages between families that no
//! real driver could send.

use crate::trace::NodeId;
use lnet_core::AddressFamily::{self, Long, Short};
use lnet_wire::Nid;
use std::collections::BTreeSet;

/// The families of a network's interfaces, and what was sent between them.
#[derive(Debug, Default)]
pub(crate) struct Families {
    /// The nodes whose interfaces with IPv4 NIDs reach IPv6 NIDs.
    reaching: BTreeSet<NodeId>,
    /// The pairs of an IPv6 NID and an IPv4 NID from which a message was sent to it.
    crossed: BTreeSet<(Nid, Nid)>,
    /// The first message that no real driver could send.
    wrong: Option<String>,
}

impl Families {
    /// Sets whether the node's interfaces with IPv4 NIDs reach IPv6 NIDs.
    pub(crate) fn set_reaching(&mut self, node: NodeId, reaches: bool) {
        if reaches {
            self.reaching.insert(node);
        } else {
            self.reaching.remove(&node);
        }
    }

    /// Notes a message from an interface of a node to a NID. From IPv4 to IPv6 the interface needs an IPv6 address; the other way a
    /// message from that NID must have come before, as an IPv6 NID does not fit in the protocol of a first contact with IPv4.
    pub(crate) fn note(&mut self, node: NodeId, from: Nid, to: Nid) {
        let is_possible = match (AddressFamily::of(from), AddressFamily::of(to)) {
            (Short, Short) | (Long, Long) => true,
            (Short, Long) => {
                self.crossed.insert((to, from));
                self.reaching.contains(&node)
            }
            (Long, Short) => self.crossed.contains(&(from, to)),
        };
        if !is_possible && self.wrong.is_none() {
            self.wrong = Some(format!("{node} sends from {from} to {to}, between which there is no path"));
        }
    }

    /// Takes the first message that no real driver could send.
    pub(crate) fn take_wrong(&mut self) -> Option<String> {
        self.wrong.take()
    }
}
