//! Address families in a simulated network: which interfaces reach NIDs of the other family, and messages between families that no
//! real driver could send.

use crate::node::NodeSpec;
use crate::trace::NodeId;
use crate::world::World;
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

impl NodeSpec {
    /// Whether interfaces of the node with the NID `own` reach this NID of another node, whatever has come from there.
    pub fn reaches(&self, own: Nid, other: Nid) -> bool {
        let (own, other) = (AddressFamily::of(own), AddressFamily::of(other));
        own == other || own == Short && self.reaches_ipv6
    }
}

impl World {
    /// The NIDs of a node that another one reaches, whatever has come from there, in their order.
    pub fn nids_reached(&self, from: NodeId, to: NodeId) -> Vec<Nid> {
        let Some((from, to)) = self.spec(from).zip(self.spec(to)) else { return Vec::new() };
        let is_reached =
            |nid: &Nid| from.nids.iter().any(|own| own.net() == nid.net() && from.reaches(*own, *nid));
        to.nids.iter().copied().filter(is_reached).collect()
    }
}
