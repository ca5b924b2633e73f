//! Groups of nodes that are alike: classes, and the parts of classes that a loss concerns.

use super::Families;
use crate::model::{Class, ClassNi, Cluster, Element, NidIndex, NodeRef, is_long};
use lnet_wire::{NetId, Nid};
use std::collections::{BTreeMap, BTreeSet};

/// The most patterns of switches of one class that are told apart; a class with more is taken for one whose switches repeat earlier.
const MAX_PATTERNS: u64 = 1 << 12;

/// The NIDs of one family on a net: an interface sends to NIDs of its own family only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NetFamily {
    /// The net.
    pub net: NetId,
    /// Whether the addresses have sixteen bytes; `false` for all where families do not count.
    pub is_ipv6: bool,
}

impl NetFamily {
    /// The net and the family of a NID.
    fn of(nid: Nid, families: Families) -> Self {
        Self { net: nid.net(), is_ipv6: families == Families::Apart && is_long(nid.address()) }
    }

    /// Those of an interface: both where its addresses are not known.
    fn of_ni(ni: &ClassNi, families: Families) -> impl Iterator<Item = Self> {
        let (net, known) = (ni.net, ni.addresses.is_known());
        let has = match families {
            Families::Joined => [true, false],
            Families::Apart => [ni.addresses.has_ipv4() || !known, ni.addresses.has_ipv6() || !known],
        };
        let all = [false, true].into_iter().zip(has).filter(|(_, has)| *has);
        all.map(move |(is_ipv6, _)| Self { net, is_ipv6 })
    }
}

/// Nodes of one class that have lost the same.
#[derive(Clone, Debug)]
pub struct Group {
    /// The class.
    pub class: usize,
    /// The number of nodes.
    pub count: u64,
    /// Whether the nodes themselves are lost.
    pub is_lost: bool,
    /// The nets on which the nodes have an interface left.
    pub nets: BTreeSet<NetId>,
    /// The same with the families of their addresses.
    pub families: BTreeSet<NetFamily>,
    /// The routes of the nodes.
    pub routes: Vec<GroupRoute>,
    /// Whether the nodes forward messages.
    pub forwards: bool,
}

/// A route of a group, by one gateway.
#[derive(Clone, Copy, Debug)]
pub struct GroupRoute {
    /// The index of the route in [`crate::model::Class::routes`].
    pub index: usize,
    /// The net that the route leads to.
    pub net: NetId,
    /// The net of the gateway's NID.
    pub gateway_net: NetId,
    /// The same with the family of the gateway's NID.
    pub gateway_family: NetFamily,
    /// The gateway.
    pub gateway: Gateway,
    /// The node that is the gateway, if it is known.
    pub node: Option<NodeRef>,
    /// The hops that the file says.
    pub hops: Option<u32>,
}

/// The gateway of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gateway {
    /// The group that the gateway is in.
    Group(usize),
    /// A node whose address is not known, and which forwards; it is taken for a working gateway.
    Assumed,
    /// No node has the NID, or none that forwards can have it.
    Nobody,
}

/// All groups, and how the nodes of each class are distributed to them.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    pub(super) all: Vec<Group>,
    splits: Vec<Split>,
    families: Families,
}

/// The groups of the nodes of one class.
#[derive(Clone, Debug)]
enum Split {
    /// All nodes are in one group.
    Whole(usize),
    /// One node is in a group of its own; `rest`: the others, if there are any.
    One { node: u64, it: usize, rest: Option<usize> },
    /// Node `i` is in the group at `i` modulo their number.
    Pattern(Vec<usize>),
}

impl Split {
    fn of_node(&self, node: u64) -> Option<usize> {
        match self {
            Self::Whole(group) => Some(*group),
            Self::One { node: single, it, rest } => {
                if node == *single {
                    Some(*it)
                } else {
                    *rest
                }
            }
            Self::Pattern(groups) => {
                let count = u64::try_from(groups.len()).ok().filter(|count| *count > 0)?;
                groups.get(usize::try_from(node % count).ok()?).copied()
            }
        }
    }
}

impl Groups {
    pub(super) fn of(cluster: &Cluster, nids: &NidIndex, lost: Option<&Element>, families: Families) -> Self {
        let mut groups = Self { all: Vec::new(), splits: Vec::new(), families };
        for (index, class) in cluster.classes.iter().enumerate() {
            let split = groups.split(index, class, lost);
            groups.splits.push(split);
        }
        for index in 0..groups.all.len() {
            let class = cluster.classes.get(groups.all[index].class);
            let routes = class.map_or(&[][..], |class| &class.routes).iter().enumerate();
            let routes = routes.map(|(index, route)| {
                let node = nids.owner(route.gateway).map(|owner| owner.node);
                let gateway = match node.and_then(|node| groups.of_node(node)) {
                    Some(group) => Gateway::Group(group),
                    None if nids.is_nobodys(route.gateway) || node.is_some() => Gateway::Nobody,
                    None if !cluster.classes.iter().any(|class| class.may_be_gateway(route)) => {
                        Gateway::Nobody
                    }
                    None => Gateway::Assumed,
                };
                let (gateway_net, hops) = (route.gateway.net(), route.hops);
                let gateway_family = NetFamily::of(route.gateway, families);
                GroupRoute { index, net: route.net, gateway_net, gateway_family, gateway, node, hops }
            });
            groups.all[index].routes = routes.collect();
        }
        groups
    }

    pub(super) fn of_node(&self, node: NodeRef) -> Option<usize> {
        self.splits.get(node.class)?.of_node(node.node)
    }

    /// Makes the groups of one class.
    fn split(&mut self, index: usize, class: &Class, lost: Option<&Element>) -> Split {
        match lost {
            Some(Element::Node(NodeRef { class: of, node })) if *of == index => {
                self.one(index, class, *node, None)
            }
            Some(Element::Interface { node, nis }) if node.class == index => {
                self.one(index, class, node.node, Some(nis))
            }
            Some(Element::Switch(label)) => self.pattern(index, class, label),
            Some(Element::Net(net)) => {
                Split::Whole(self.add(index, class, class.count, |ni| class.nis[ni].net != *net))
            }
            _ => Split::Whole(self.add(index, class, class.count, |_| true)),
        }
    }

    /// Adds a group whose nodes have those interfaces for which `is_left` holds.
    fn add(&mut self, index: usize, class: &Class, count: u64, is_left: impl Fn(usize) -> bool) -> usize {
        let left = class.nis.iter().enumerate().filter(|(ni, _)| is_left(*ni)).map(|(_, ni)| ni);
        let families = left.flat_map(|ni| NetFamily::of_ni(ni, self.families));
        let families: BTreeSet<NetFamily> = families.collect();
        let nets = families.iter().map(|its| its.net).collect();
        let (is_lost, routes, forwards) = (false, Vec::new(), class.is_router);
        self.all.push(Group { class: index, count, is_lost, nets, families, routes, forwards });
        self.all.len() - 1
    }

    /// Makes a group of one node, which is lost itself or has lost interfaces, and one of the others.
    fn one(&mut self, index: usize, class: &Class, node: u64, lost: Option<&Vec<usize>>) -> Split {
        let others = class.count.saturating_sub(1);
        let rest = (others > 0).then(|| self.add(index, class, others, |_| true));
        let it = self.add(index, class, 1, |ni| lost.is_some_and(|lost| !lost.contains(&ni)));
        self.all[it].is_lost = lost.is_none();
        Split::One { node, it, rest }
    }

    /// Makes a group for each set of interfaces that nodes lose with a switch.
    fn pattern(&mut self, index: usize, class: &Class, label: &str) -> Split {
        let lengths = class.nis.iter().filter_map(|ni| u64::try_from(ni.switches.len()).ok());
        let period = lengths.filter(|length| *length > 0).fold(1, least_common_multiple).min(MAX_PATTERNS);
        let mut groups: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
        let mut pattern = Vec::new();
        for residue in 0..period.min(class.count) {
            let is_lost = |ni: &usize| class.nis[*ni].switch_of(residue) == Some(label);
            let lost: Vec<usize> = (0..class.nis.len()).filter(is_lost).collect();
            let nodes = class.count / period + u64::from(residue < class.count % period);
            let group = match groups.get(&lost) {
                Some(group) => {
                    self.all[*group].count += nodes;
                    *group
                }
                None => {
                    let group = self.add(index, class, nodes, |ni| !lost.contains(&ni));
                    groups.insert(lost, group);
                    group
                }
            };
            pattern.push(group);
        }
        Split::Pattern(pattern)
    }
}

fn least_common_multiple(one: u64, other: u64) -> u64 {
    let (mut a, mut b) = (one, other);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    (one / a).saturating_mul(other)
}
