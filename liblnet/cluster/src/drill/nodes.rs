//! The nodes of a drill.

use lnet_core::policy::Rule;
use lnet_sim::NodeSpec;
use lnet_wire::{NetId, Nid};
use std::collections::BTreeSet;

/// The nodes that a drill simulates, and how many nodes they stand for.
#[derive(Clone, Debug, Default)]
pub struct DrillCluster {
    /// The nodes, class by class.
    pub nodes: Vec<DrillNode>,
    /// The classes, in the order of their first nodes.
    pub samples: Vec<Sample>,
    /// Pairs of classes without operations between them, in either order.
    pub apart: Vec<(String, String)>,
    /// Parts of the cluster that are not simulated, one sentence each.
    pub left_out: Vec<String>,
    /// Names of nodes and switches of the cluster that are not simulated, as [`LossTarget::find`](super::LossTarget::find) takes them; without
    /// nodes called `CLASS[NUMBER]`, which follow from the samples.
    pub not_sampled: BTreeSet<String>,
}

/// The number of nodes of a class, and of those that are simulated.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Sample {
    /// The name of the class.
    pub class: String,
    /// The number of nodes that are simulated.
    pub simulated: u64,
    /// The number of nodes of the class.
    pub nodes: u64,
}

/// A node of a drill.
#[derive(Clone, Debug)]
pub struct DrillNode {
    /// The name of the node, unique in the cluster.
    pub name: String,
    /// The name of its class.
    pub class: String,
    /// The configuration as the simulator takes it. A router is a node that forwards.
    pub spec: NodeSpec,
    /// The interfaces, in the order of the NIDs of `spec`.
    pub interfaces: Vec<DrillInterface>,
    /// The configured peers.
    pub peers: Vec<DrillPeer>,
    /// The selection rules, in their order.
    pub rules: Vec<Rule>,
}

/// An interface of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrillInterface {
    /// The name of the interface, such as `eth0`; `None` if the configuration has none.
    pub name: Option<String>,
    /// The label of the switch that the interface is attached to, if it has one.
    pub switch: Option<String>,
}

/// A configured peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrillPeer {
    /// The primary NID.
    pub primary: Nid,
    /// The other NIDs.
    pub nids: Vec<Nid>,
    /// Whether the peer is multi-rail.
    pub multi_rail: bool,
}

impl DrillNode {
    /// Makes a node of a specification, with interfaces that have no names.
    pub fn new(name: &str, class: &str, spec: NodeSpec) -> Self {
        let interfaces = vec![DrillInterface::default(); spec.nids.len()];
        Self {
            name: name.to_owned(),
            class: class.to_owned(),
            spec,
            interfaces,
            peers: Vec::new(),
            rules: Vec::new(),
        }
    }

    /// Whether the node forwards messages. Routers neither begin operations nor are they targets of any.
    pub const fn is_router(&self) -> bool {
        self.spec.forwards.is_some()
    }

    /// The NIDs with their interfaces.
    pub fn nis(&self) -> impl Iterator<Item = (Nid, &DrillInterface)> {
        self.spec.nids.iter().copied().zip(&self.interfaces)
    }

    /// The NIDs of each interface: those with the same name of an interface are lost together.
    pub(super) fn nids_by_interface(&self) -> Vec<Vec<Nid>> {
        let mut all: Vec<(Option<&str>, Vec<Nid>)> = Vec::new();
        for (nid, interface) in self.nis() {
            let name = interface.name.as_deref();
            match all.iter_mut().find(|(its, _)| its.is_some() && *its == name) {
                Some((_, nids)) => nids.push(nid),
                None => all.push((name, vec![nid])),
            }
        }
        all.into_iter().map(|(_, nids)| nids).collect()
    }

    /// The name of the interface with this NID: `NODE:IF`, or `NODE:NID` if it has no name.
    pub fn interface_name(&self, nid: Nid) -> String {
        let name = self.nis().find(|(its, _)| *its == nid).and_then(|(_, interface)| interface.name.as_ref());
        match name {
            Some(name) if self.is_only_one_called(name) => format!("{}:{name}", self.name),
            _ => format!("{}:{nid}", self.name),
        }
    }

    /// Whether one NID alone belongs to an interface of this name: an interface may be on several nets.
    fn is_only_one_called(&self, name: &str) -> bool {
        self.interfaces.iter().filter(|interface| interface.name.as_deref() == Some(name)).count() == 1
    }
}

impl DrillCluster {
    /// Makes a cluster of these nodes alone: the sample is everything.
    pub fn of_all(nodes: Vec<DrillNode>) -> Self {
        let mut samples: Vec<Sample> = Vec::new();
        for node in &nodes {
            match samples.iter_mut().find(|sample| sample.class == node.class) {
                Some(sample) => {
                    sample.simulated += 1;
                    sample.nodes += 1;
                }
                None => samples.push(Sample { class: node.class.clone(), simulated: 1, nodes: 1 }),
            }
        }
        Self { nodes, samples, ..Self::default() }
    }

    /// The indices of the nodes that are no routers.
    pub(super) fn ends(&self) -> impl Iterator<Item = usize> {
        self.nodes.iter().enumerate().filter(|(_, node)| !node.is_router()).map(|(index, _)| index)
    }

    /// Whether two nodes need not reach each other.
    pub(super) fn may_be_apart(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.nodes[a].class, &self.nodes[b].class);
        self.apart.iter().any(|(one, other)| (one, other) == (a, b) || (one, other) == (b, a))
    }

    /// Whether the cluster has a node, an interface of a node or a switch with this name that is not simulated.
    pub(super) fn is_not_sampled(&self, name: &str) -> bool {
        let is_of = |sample: &Sample, name: &str| {
            let number =
                name.strip_prefix(&sample.class).and_then(|rest| rest.strip_prefix('[')?.strip_suffix(']'));
            let number = number.and_then(|number| number.parse::<u64>().ok());
            number.is_some_and(|number| (sample.simulated..sample.nodes).contains(&number))
        };
        let is_known = |name: &str| {
            self.not_sampled.contains(name) || self.samples.iter().any(|sample| is_of(sample, name))
        };
        is_known(name) || name.match_indices(':').any(|(at, _)| is_known(&name[..at]))
    }

    /// All NIDs on a net.
    pub(super) fn nids_on(&self, net: NetId) -> Vec<Nid> {
        self.nids_of(|nid, _| nid.net() == net)
    }

    /// All NIDs of interfaces for which `wanted` returns true.
    pub(super) fn nids_of(&self, wanted: impl Fn(Nid, &DrillInterface) -> bool) -> Vec<Nid> {
        let all = self.nodes.iter().flat_map(DrillNode::nis);
        all.filter(|(nid, interface)| wanted(*nid, interface)).map(|(nid, _)| nid).collect()
    }
}
