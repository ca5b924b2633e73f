//! Which nodes reach which, computed on groups of nodes and nets, never on pairs of nodes.
//!
//! A node reaches the nets that it is on. It reaches another net by a route whose gateway has its NID on a net that the node is on, forwards, and is
//! on the net of the route or reaches it by a route of its own (core-behaviour RT-22). A response goes to the NID that the request came from:
//! the one on the net of the gateway.
//!
//! Cost: nets times routes of all groups to make, groups of a pair times routes to ask. A group is a class, or a part of one that a loss concerns.

mod groups;

pub use groups::{Gateway, Group, GroupRoute};

use crate::model::{Cluster, Element, NidIndex, NodeRef};
use groups::Groups;
use lnet_wire::NetId;
use std::collections::BTreeMap;

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
    /// For each net, the number of gateways between each group and the net; `None`: there is no path.
    hops: BTreeMap<NetId, Vec<Option<u32>>>,
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
        self.hops.get(&net)?.get(group).copied().flatten()
    }

    /// The routes of a group to a net that work.
    pub fn working_routes(&self, group: usize, net: NetId) -> impl Iterator<Item = &GroupRoute> {
        let hops = self.hops.get(&net);
        let routes = self.groups.all.get(group).map_or(&[][..], |group| &group.routes);
        routes.iter().filter(move |route| {
            route.net == net && hops.is_some_and(|hops| self.hops_by(group, route, hops).is_some())
        })
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
                if self.hops(to, route.gateway_net).is_some() {
                    return Passage::Answered;
                }
                passage = Passage::NoResponse;
            }
        }
        passage
    }

    /// The hops of all groups to a net: first those on it, then in each round those that reach it by a gateway of the rounds before.
    fn hops_to(&self, net: NetId) -> Vec<Option<u32>> {
        let on_net = |group: &Group| (!group.is_lost && group.nets.contains(&net)).then_some(0);
        let mut hops: Vec<Option<u32>> = self.groups.all.iter().map(on_net).collect();
        loop {
            let mut found = Vec::new();
            for (index, group) in self.groups.all.iter().enumerate() {
                if hops.get(index).is_none_or(Option::is_some) {
                    continue;
                }
                let routes = group.routes.iter().filter(|route| route.net == net);
                let best = routes.filter_map(|route| self.hops_by(index, route, &hops)).min();
                found.extend(best.map(|best| (index, best)));
            }
            if found.is_empty() {
                return hops;
            }
            for (index, best) in found {
                hops[index] = Some(best);
            }
        }
    }

    /// The hops to the net of a route by its gateway, if the route works.
    fn hops_by(&self, group: usize, route: &GroupRoute, hops: &[Option<u32>]) -> Option<u32> {
        let user = self.groups.all.get(group).filter(|user| !user.is_lost)?;
        if !user.nets.contains(&route.gateway_net) {
            return None;
        }
        match route.gateway {
            Gateway::Nobody => None,
            Gateway::Assumed => Some(1),
            Gateway::Group(index) => {
                let gateway =
                    self.groups.all.get(index).filter(|gateway| !gateway.is_lost && gateway.forwards)?;
                let behind = hops.get(index).copied().flatten()?;
                let works =
                    gateway.nets.contains(&route.gateway_net) && (behind == 0 || route.hops != Some(1));
                works.then_some(behind + 1)
            }
        }
    }
}
