//! Which nodes reach which, computed on groups of nodes and nets, never on pairs of nodes.
//!
//! A node reaches the nets that it is on. It reaches another net by a route whose gateway has its NID on a net that the node is on, forwards, and is
//! on the net of the route or reaches it by a route of its own over another net (core-behaviour RT-12, RT-22). A response goes to the NID that the request came from, the
//! one on the net of the gateway: by the gateway that the request came by, if the node has any route by it, else by the node's own routes
//! (core-behaviour 2.6).
//!
//! An interface sends to NIDs of its own address family. The core also sends from IPv4 NIDs to IPv6 NIDs where the interface has an IPv6 address, which
//! no file says; that is not counted on.
//!
//! Cost: nets times routes of all groups to make, groups of a pair times routes to ask. A group is a class, or a part of one that a loss concerns.

mod groups;

pub use groups::{Gateway, Group, GroupRoute, NetFamily};

use crate::model::{Cluster, Element, NidIndex, NodeRef};
use groups::Groups;
use lnet_wire::NetId;
use std::collections::{BTreeMap, BTreeSet};

/// The end of a request from one node to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// The request arrives, and so does the response.
    Answered,
    /// The request arrives, and the other node has no path for the response.
    NoResponse,
    /// The request has no path.
    NoPath,
}

/// Whether the families of NIDs count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Families {
    /// NIDs of one family are not reached from the other one.
    Apart,
    /// All NIDs of a net reach each other.
    Joined,
}

/// The reachability of a cluster, or of one that has lost something.
#[derive(Clone, Debug)]
pub struct Reach {
    groups: Groups,
    /// For each net, and each family on it, the hops of each group.
    hops: BTreeMap<NetFamily, Vec<GroupHops>>,
}

/// The numbers of gateways between a group and a net.
#[derive(Clone, Debug, Default)]
struct GroupHops {
    /// Whether the group is on the net.
    is_on_net: bool,
    /// The hops by each route of the group; `None` for those to other nets, and for those that do not work.
    by_route: Vec<Option<u32>>,
}

impl Reach {
    /// The reachability of a cluster without `lost`.
    pub fn of(cluster: &Cluster, nids: &NidIndex, lost: Option<&Element>) -> Self {
        Self::with_families(cluster, nids, lost, Families::Apart)
    }

    /// The same, with families that count or do not.
    pub fn with_families(
        cluster: &Cluster,
        nids: &NidIndex,
        lost: Option<&Element>,
        families: Families,
    ) -> Self {
        let groups = Groups::of(cluster, nids, lost, families);
        let all: BTreeSet<NetFamily> =
            groups.all.iter().flat_map(|group| group.families.iter().copied()).collect();
        let mut reach = Self { groups, hops: BTreeMap::new() };
        for to in all {
            let hops = reach.hops_to(to);
            reach.hops.insert(to, hops);
        }
        reach
    }

    /// The groups: classes in their order, with further groups for parts of classes.
    pub fn groups(&self) -> &[Group] {
        &self.groups.all
    }

    /// The group of a node.
    pub fn group_of(&self, node: NodeRef) -> Option<usize> {
        self.groups.of_node(node)
    }

    /// The number of gateways between a group and NIDs of a net, 0 on the net; `None` without a path.
    fn hops(&self, group: usize, to: NetFamily) -> Option<u32> {
        let hops = self.hops.get(&to)?.get(group)?;
        let by_route = || hops.by_route.iter().copied().flatten().min();
        if hops.is_on_net { Some(0) } else { by_route() }
    }

    /// The number of gateways between a group and a net for a message that has come by `came_by`: a gateway does not forward it onto that net
    /// again (core-behaviour RT-12).
    pub fn hops_onward(&self, group: usize, net: NetId, came_by: NetId) -> Option<u32> {
        let families = self.families_of(net);
        families.filter_map(|to| self.onward(self.hops.get(&to)?, group, came_by)).min()
    }

    fn onward(&self, hops: &[GroupHops], group: usize, came_by: NetId) -> Option<u32> {
        let (hops, it) = (hops.get(group)?, self.groups.all.get(group)?);
        if hops.is_on_net {
            return Some(0);
        }
        let routes = it.routes.iter().zip(&hops.by_route).filter(|(route, _)| route.gateway_net != came_by);
        routes.filter_map(|(_, hops)| *hops).min()
    }

    /// The families that there are on a net.
    fn families_of(&self, net: NetId) -> impl Iterator<Item = NetFamily> + '_ {
        self.hops.keys().copied().filter(move |to| to.net == net)
    }

    /// The routes of a group to a net that work, for NIDs of some family.
    pub fn working_routes(&self, group: usize, net: NetId) -> impl Iterator<Item = &GroupRoute> {
        let all = self.groups.all.get(group).map_or(&[][..], |group| &group.routes);
        let works = move |at: usize| self.families_of(net).any(|to| self.works(group, at, to));
        all.iter().enumerate().filter(move |(at, _)| works(*at)).map(|(_, route)| route)
    }

    /// The same for NIDs of one family.
    fn working_routes_to(&self, group: usize, to: NetFamily) -> impl Iterator<Item = &GroupRoute> {
        let all = self.groups.all.get(group).map_or(&[][..], |group| &group.routes);
        all.iter().enumerate().filter(move |(at, _)| self.works(group, *at, to)).map(|(_, route)| route)
    }

    /// Whether the route of a group at this index leads to NIDs of a net.
    fn works(&self, group: usize, at: usize, to: NetFamily) -> bool {
        let hops = self.hops.get(&to).and_then(|hops| hops.get(group));
        hops.and_then(|hops| hops.by_route.get(at)).is_some_and(Option::is_some)
    }

    /// The end of a request from a node of one group to another node, of the same group or of another one.
    pub fn passage(&self, from: usize, to: usize) -> Passage {
        let all = &self.groups.all;
        let (Some(source), Some(target)) = (all.get(from), all.get(to)) else { return Passage::NoPath };
        if source.is_lost || target.is_lost {
            return Passage::NoPath;
        }
        if target.families.iter().any(|its| source.families.contains(its)) {
            return Passage::Answered;
        }
        let mut passage = Passage::NoPath;
        for its in &target.families {
            for route in self.working_routes_to(from, *its) {
                if self.has_response(route, *its, to) {
                    return Passage::Answered;
                }
                passage = Passage::NoResponse;
            }
        }
        passage
    }

    /// Whether nodes of two groups reach each other: requests of either are answered.
    pub fn is_mutual(&self, one: usize, other: usize) -> bool {
        self.passage(one, other) == Passage::Answered && self.passage(other, one) == Passage::Answered
    }

    /// Whether the response to a request to these NIDs by this route, which works, has a path to the NID that the request came from: that is on
    /// the net of the gateway, and of its family.
    fn has_response(&self, route: &GroupRoute, nids: NetFamily, to: usize) -> bool {
        let own_routes = self.hops(to, route.gateway_family).is_some();
        let (Gateway::Group(group), Some(node)) = (route.gateway, route.node) else { return own_routes };
        let mut last = BTreeSet::new();
        self.last_gateways((group, node), (route, nids), &mut last, &mut Vec::new());
        let Some(target) = self.groups.all.get(to) else { return false };
        // A node refuses a route whose gateway is not on a net of its own.
        let is_gateway = |node| {
            let is_by =
                |its: &&GroupRoute| its.node == Some(node) && target.families.contains(&its.gateway_family);
            target.routes.iter().any(|its| is_by(&its))
        };
        last.into_iter().any(|(group, node)| match is_gateway(node) {
            true => {
                let hops = self.hops.get(&route.gateway_family);
                hops.and_then(|hops| self.onward(hops, group, route.net)).is_some()
            }
            false => own_routes,
        })
    }

    /// Collects the gateways by which messages by a route arrive at NIDs on its net: its gateway, or those at the end of the gateway's routes.
    fn last_gateways(
        &self,
        (group, node): (usize, NodeRef),
        (route, nids): (&GroupRoute, NetFamily),
        last: &mut BTreeSet<(usize, NodeRef)>,
        seen: &mut Vec<(usize, NetId)>,
    ) {
        if self.hops(group, nids) == Some(0) {
            last.insert((group, node));
        } else if !seen.contains(&(group, route.gateway_net)) {
            seen.push((group, route.gateway_net));
            let onward = self.working_routes_to(group, nids);
            for next in onward.filter(|next| next.gateway_net != route.gateway_net) {
                if let (Gateway::Group(group), Some(node)) = (next.gateway, next.node) {
                    self.last_gateways((group, node), (next, nids), last, seen);
                }
            }
        }
    }

    /// The hops of all groups to NIDs of a net: first those on it, then in each round those by gateways that were found to reach it before.
    fn hops_to(&self, to: NetFamily) -> Vec<GroupHops> {
        let of_group = |group: &Group| GroupHops {
            is_on_net: !group.is_lost && group.families.contains(&to),
            by_route: vec![None; group.routes.len()],
        };
        let mut hops: Vec<GroupHops> = self.groups.all.iter().map(of_group).collect();
        loop {
            let mut found = Vec::new();
            for (index, group) in self.groups.all.iter().enumerate() {
                // A node on the net with another family refuses the route.
                let refuses = group.nets.contains(&to.net) && !group.families.contains(&to);
                let is_meant = |route: &GroupRoute| route.net == to.net && !refuses;
                for (at, route) in group.routes.iter().enumerate().filter(|(_, route)| is_meant(route)) {
                    if hops[index].by_route[at].is_none() {
                        found.extend(self.hops_by(group, route, &hops).map(|hops| (index, at, hops)));
                    }
                }
            }
            if found.is_empty() {
                return hops;
            }
            for (index, at, by_route) in found {
                hops[index].by_route[at] = Some(by_route);
            }
        }
    }

    /// The hops to the net of a route of a group by its gateway, if the route works.
    fn hops_by(&self, user: &Group, route: &GroupRoute, hops: &[GroupHops]) -> Option<u32> {
        if user.is_lost || !user.families.contains(&route.gateway_family) {
            return None;
        }
        match route.gateway {
            Gateway::Nobody => None,
            Gateway::Assumed => Some(1),
            Gateway::Group(index) => {
                let gateway =
                    self.groups.all.get(index).filter(|gateway| !gateway.is_lost && gateway.forwards)?;
                let behind = self.onward(hops, index, route.gateway_net)?;
                let works = gateway.families.contains(&route.gateway_family)
                    && (behind == 0 || route.hops != Some(1));
                works.then_some(behind + 1)
            }
        }
    }
}
