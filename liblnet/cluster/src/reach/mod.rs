//! Which nodes reach which, computed on groups of nodes and nets, never on pairs of nodes.
//!
//! A node reaches the nets that it is on. It reaches another net by a route whose gateway has its NID on a net that the node is on, forwards, and is
//! on the net of the route or reaches it by a route of its own over another net (core-behaviour RT-12, RT-22). A response goes to the NID that the request came from, the
//! one on the net of the gateway: by the gateway that the request came by, if the node has any route by it, else by the node's own routes
//! (core-behaviour 2.6).
//!
//! Cost: nets times routes of all groups to make, groups of a pair times routes to ask. A group is a class, or a part of one that a loss concerns.

mod groups;

pub use groups::{Gateway, Group, GroupRoute};

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

/// The reachability of a cluster, or of one that has lost something.
#[derive(Clone, Debug)]
pub struct Reach {
    groups: Groups,
    /// For each net, the hops of each group.
    hops: BTreeMap<NetId, Vec<GroupHops>>,
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
        let groups = Groups::of(cluster, nids, lost);
        let mut reach = Self { groups, hops: BTreeMap::new() };
        for net in cluster.nets() {
            let hops = reach.hops_to(net);
            reach.hops.insert(net, hops);
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

    /// The number of gateways between a group and a net, 0 on the net; `None` without a path.
    pub fn hops(&self, group: usize, net: NetId) -> Option<u32> {
        let hops = self.hops.get(&net)?.get(group)?;
        let by_route = || hops.by_route.iter().copied().flatten().min();
        if hops.is_on_net { Some(0) } else { by_route() }
    }

    /// The same for a message that has come by `came_by`: a gateway does not forward it onto that net again (core-behaviour RT-12).
    pub fn hops_onward(&self, group: usize, net: NetId, came_by: NetId) -> Option<u32> {
        self.onward(self.hops.get(&net)?, group, came_by)
    }

    fn onward(&self, hops: &[GroupHops], group: usize, came_by: NetId) -> Option<u32> {
        let (hops, it) = (hops.get(group)?, self.groups.all.get(group)?);
        if hops.is_on_net {
            return Some(0);
        }
        let routes = it.routes.iter().zip(&hops.by_route).filter(|(route, _)| route.gateway_net != came_by);
        routes.filter_map(|(_, hops)| *hops).min()
    }

    /// The routes of a group to a net that work.
    pub fn working_routes(&self, group: usize, net: NetId) -> impl Iterator<Item = &GroupRoute> {
        let hops =
            self.hops.get(&net).and_then(|hops| hops.get(group)).map_or(&[][..], |hops| &hops.by_route);
        let routes = self.groups.all.get(group).map_or(&[][..], |group| &group.routes);
        routes.iter().zip(hops).filter(|(_, hops)| hops.is_some()).map(|(route, _)| route)
    }

    /// The end of a request from a node of one group to another node, of the same group or of another one.
    pub fn passage(&self, from: usize, to: usize) -> Passage {
        let all = &self.groups.all;
        let (Some(source), Some(target)) = (all.get(from), all.get(to)) else { return Passage::NoPath };
        if source.is_lost || target.is_lost {
            return Passage::NoPath;
        }
        if target.nets.iter().any(|net| source.nets.contains(net)) {
            return Passage::Answered;
        }
        let mut passage = Passage::NoPath;
        for net in &target.nets {
            for route in self.working_routes(from, *net) {
                if self.has_response(route, to) {
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

    /// Whether the response to a request by this route, which works, has a path to the net of its gateway.
    fn has_response(&self, route: &GroupRoute, to: usize) -> bool {
        let own_routes = self.hops(to, route.gateway_net).is_some();
        let (Gateway::Group(group), Some(node)) = (route.gateway, route.node) else { return own_routes };
        let mut last = BTreeSet::new();
        self.last_gateways((group, node), route, &mut last, &mut Vec::new());
        let Some(target) = self.groups.all.get(to) else { return false };
        // A node refuses a route whose gateway is not on a net of its own.
        let is_gateway = |node| {
            let is_by = |its: &&GroupRoute| its.node == Some(node) && target.nets.contains(&its.gateway_net);
            target.routes.iter().any(|its| is_by(&its))
        };
        last.into_iter().any(|(group, node)| match is_gateway(node) {
            true => self.hops_onward(group, route.gateway_net, route.net).is_some(),
            false => own_routes,
        })
    }

    /// Collects the gateways by which messages by a route arrive on its net: its gateway, or those at the end of the gateway's routes.
    fn last_gateways(
        &self,
        (group, node): (usize, NodeRef),
        route: &GroupRoute,
        last: &mut BTreeSet<(usize, NodeRef)>,
        seen: &mut Vec<(usize, NetId)>,
    ) {
        if self.hops(group, route.net) == Some(0) {
            last.insert((group, node));
        } else if !seen.contains(&(group, route.gateway_net)) {
            seen.push((group, route.gateway_net));
            let onward = self.working_routes(group, route.net);
            for next in onward.filter(|next| next.gateway_net != route.gateway_net) {
                if let (Gateway::Group(group), Some(node)) = (next.gateway, next.node) {
                    self.last_gateways((group, node), next, last, seen);
                }
            }
        }
    }

    /// The hops of all groups to a net: first those on it, then in each round those by gateways that were found to reach it before.
    fn hops_to(&self, net: NetId) -> Vec<GroupHops> {
        let of_group = |group: &Group| GroupHops {
            is_on_net: !group.is_lost && group.nets.contains(&net),
            by_route: vec![None; group.routes.len()],
        };
        let mut hops: Vec<GroupHops> = self.groups.all.iter().map(of_group).collect();
        loop {
            let mut found = Vec::new();
            for (index, group) in self.groups.all.iter().enumerate() {
                for (at, route) in group.routes.iter().enumerate().filter(|(_, route)| route.net == net) {
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
        if user.is_lost || !user.nets.contains(&route.gateway_net) {
            return None;
        }
        match route.gateway {
            Gateway::Nobody => None,
            Gateway::Assumed => Some(1),
            Gateway::Group(index) => {
                let gateway =
                    self.groups.all.get(index).filter(|gateway| !gateway.is_lost && gateway.forwards)?;
                let behind = self.onward(hops, index, route.gateway_net)?;
                let works =
                    gateway.nets.contains(&route.gateway_net) && (behind == 0 || route.hops != Some(1));
                works.then_some(behind + 1)
            }
        }
    }
}
