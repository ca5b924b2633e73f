//! The elements of a cluster that a drill may lose: an interface, a node, a net, a switch.

use super::error::DrillError;
use super::nodes::DrillCluster;
use lnet_wire::{NetId, Nid};
use std::collections::BTreeSet;

/// A kind of elements, each of which is lost in turn: the values of `--lose-any`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LossKind {
    /// An interface of a node that is no router: each of the first simulated node of its class, as those of others are alike.
    Rail,
    /// A net: all interfaces on it.
    Net,
    /// A router.
    Router,
    /// A switch: all interfaces with its label.
    Switch,
    /// A node that is no router: the first simulated one of each class.
    Node,
}

impl LossKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Rail, Self::Net, Self::Router, Self::Switch, Self::Node];

    /// The word for the kind on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Rail => "rail",
            Self::Net => "net",
            Self::Router => "router",
            Self::Switch => "switch",
            Self::Node => "node",
        }
    }
}

impl std::str::FromStr for LossKind {
    type Err = DrillError;

    fn from_str(text: &str) -> Result<Self, DrillError> {
        Self::ALL.into_iter().find(|kind| kind.word() == text).ok_or_else(|| DrillError::Unparsable {
            given: text.to_owned(),
            expected: format!("one of {}", Self::ALL.map(Self::word).join(", ")),
        })
    }
}

/// An element that is lost.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LossTarget {
    /// The node with this index.
    Node(usize),
    /// The interfaces of a node with these NIDs: one interface may be on several nets.
    Interface(usize, Vec<Nid>),
    /// All interfaces on a net.
    Net(NetId),
    /// All interfaces with this label.
    Switch(String),
}

impl LossTarget {
    /// Finds the element that `NODE`, `NODE:IF`, `NODE:NID`, a NID, a net or `switch:LABEL` names.
    pub fn find(cluster: &DrillCluster, name: &str) -> Result<Self, DrillError> {
        if let Some(node) = cluster.nodes.iter().position(|node| node.name == name) {
            return Ok(Self::Node(node));
        }
        let is_label =
            |label: &str| !cluster.nids_of(|_, its| its.switch.as_deref() == Some(label)).is_empty();
        if let Some(label) = name.strip_prefix("switch:").filter(|label| is_label(label)) {
            return Ok(Self::Switch(label.to_owned()));
        }
        if let Ok(nid) = name.parse::<Nid>()
            && let Some(node) = cluster.nodes.iter().position(|node| node.spec.nids.contains(&nid))
        {
            return Ok(Self::Interface(node, vec![nid]));
        }
        if let Ok(net) = name.parse::<NetId>()
            && !cluster.nids_on(net).is_empty()
        {
            return Ok(Self::Net(net));
        }
        // The name of a node may contain colons, and so may a NID.
        for (at, _) in name.match_indices(':') {
            let (node, interface) = (&name[..at], &name[at + 1..]);
            let Some(index) = cluster.nodes.iter().position(|its| its.name == node) else { continue };
            let is_meant = |nid: Nid, its: Option<&str>| {
                its == Some(interface) || interface.parse::<Nid>().is_ok_and(|named| named == nid)
            };
            let nis = cluster.nodes[index].nis();
            let nids: Vec<Nid> =
                nis.filter(|(nid, its)| is_meant(*nid, its.name.as_deref())).map(|(nid, _)| nid).collect();
            if !nids.is_empty() {
                return Ok(Self::Interface(index, nids));
            }
            let known: Vec<String> = cluster.nodes[index]
                .nis()
                .map(|(nid, its)| its.name.clone().unwrap_or_else(|| nid.to_string()))
                .collect();
            let hint = format!("; the interfaces of {node} are {}", known.join(", "));
            return Err(DrillError::UnknownElement { name: name.to_owned(), hint });
        }
        if cluster.is_not_sampled(name) {
            return Err(DrillError::NotSampled { name: name.to_owned() });
        }
        let mut hint = String::new();
        if let Some(first) = cluster.nodes.first() {
            hint = format!("; the first of {} that are simulated is {}", cluster.nodes.len(), first.name);
        }
        Err(DrillError::UnknownElement { name: name.to_owned(), hint })
    }

    /// The elements of a kind, in the order of nodes.
    pub fn all(cluster: &DrillCluster, kind: LossKind) -> Result<Vec<Self>, DrillError> {
        let firsts = || {
            let mut seen = BTreeSet::new();
            let ends = cluster.ends();
            ends.filter(move |index| seen.insert(cluster.nodes[*index].class.clone())).collect::<Vec<_>>()
        };
        let (found, hint): (Vec<Self>, _) = match kind {
            LossKind::Rail => {
                let interfaces = |index: usize| {
                    let interfaces = cluster.nodes[index].nids_by_interface();
                    interfaces.into_iter().map(move |nids| Self::Interface(index, nids))
                };
                (firsts().into_iter().flat_map(interfaces).collect(), "")
            }
            LossKind::Node => (firsts().into_iter().map(Self::Node).collect(), ""),
            LossKind::Router => {
                let routers = cluster.nodes.iter().enumerate().filter(|(_, node)| node.is_router());
                (routers.map(|(index, _)| Self::Node(index)).collect(), ": none forwards")
            }
            LossKind::Net => {
                let nids = cluster.nodes.iter().flat_map(|node| &node.spec.nids);
                let nets: BTreeSet<NetId> = nids.map(|nid| nid.net()).collect();
                (nets.into_iter().map(Self::Net).collect(), "")
            }
            LossKind::Switch => {
                let interfaces = cluster.nodes.iter().flat_map(|node| &node.interfaces);
                let labels: BTreeSet<&String> = interfaces.filter_map(|its| its.switch.as_ref()).collect();
                let all = labels.into_iter().cloned().map(Self::Switch).collect();
                (all, ": name them under 'switches' in a topology file")
            }
        };
        match found.is_empty() {
            true => Err(DrillError::NoElement { kind: kind.word(), hint }),
            false => Ok(found),
        }
    }

    /// The name of the element, as [`LossTarget::find`] takes it.
    pub fn name(&self, cluster: &DrillCluster) -> String {
        let node = |index: &usize| cluster.nodes.get(*index);
        match self {
            Self::Node(index) => node(index).map(|node| node.name.clone()).unwrap_or_default(),
            Self::Interface(index, nids) => match (node(index), nids.as_slice()) {
                (Some(node), [nid]) => node.interface_name(*nid),
                (Some(node), [nid, ..]) => {
                    let its = node.nis().find(|(its, _)| its == nid).and_then(|(_, its)| its.name.clone());
                    format!("{}:{}", node.name, its.unwrap_or_else(|| nid.to_string()))
                }
                _ => String::new(),
            },
            Self::Net(net) => net.to_string(),
            Self::Switch(label) => format!("switch:{label}"),
        }
    }

    /// The NIDs of the interfaces that are lost.
    pub(super) fn nids(&self, cluster: &DrillCluster) -> Vec<Nid> {
        match self {
            Self::Node(index) => {
                cluster.nodes.get(*index).map(|node| node.spec.nids.clone()).unwrap_or_default()
            }
            Self::Interface(_, nids) => nids.clone(),
            Self::Net(net) => cluster.nids_on(*net),
            Self::Switch(label) => cluster.nids_of(|_, its| its.switch.as_deref() == Some(label)),
        }
    }

    /// The node that is lost as a whole.
    pub(super) const fn node(&self) -> Option<usize> {
        match self {
            Self::Node(index) => Some(*index),
            Self::Interface(..) | Self::Net(_) | Self::Switch(_) => None,
        }
    }
}
