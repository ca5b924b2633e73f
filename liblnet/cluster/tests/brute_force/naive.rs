//! The naive model: every node by itself, every path searched.

use lnet_cluster::reach::Passage;
use lnet_wire::{NetId, Nid};
use std::fmt;

/// A node.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) nids: Vec<Nid>,
    /// The NIDs of interfaces that are lost. Peers know that they are the node's.
    pub(crate) lost: Vec<Nid>,
    pub(crate) routes: Vec<Route>,
    pub(crate) forwards: bool,
}

/// A route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    pub(crate) net: NetId,
    pub(crate) gateway: Nid,
    pub(crate) hops: Option<u32>,
}

/// One line, for messages of tests.
impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nids: Vec<String> = self.nids.iter().map(Nid::to_string).collect();
        write!(f, "{}{} [{}]", self.name, if self.forwards { ", router" } else { "" }, nids.join(" "))?;
        for Route { net, gateway, hops } in &self.routes {
            write!(f, " {net} by {gateway} {hops:?}")?;
        }
        Ok(())
    }
}

impl Node {
    pub(crate) fn is_on(&self, net: NetId) -> bool {
        self.nids.iter().any(|nid| nid.net() == net)
    }

    fn has_had(&self, nid: Nid) -> bool {
        self.nids.contains(&nid) || self.lost.contains(&nid)
    }

    /// Whether the node has a NID of the net and the family of another one.
    pub(crate) fn is_beside(&self, other: Nid) -> bool {
        self.nids.iter().any(|nid| nid.net() == other.net() && is_ipv4(*nid) == is_ipv4(other))
    }
}

fn is_ipv4(nid: Nid) -> bool {
    nid.address().ip().is_ipv4()
}

fn owner(nodes: &[Node], nid: Nid) -> Option<&Node> {
    nodes.iter().find(|node| node.nids.contains(&nid))
}

/// The gateway of a route, if the node can send to it, and it forwards.
fn gateway<'a>(nodes: &'a [Node], from: &Node, route: &Route) -> Option<&'a Node> {
    let gateway = owner(nodes, route.gateway).filter(|gateway| gateway.forwards)?;
    let is_usable = from.is_beside(route.gateway) && (route.hops != Some(1) || gateway.is_on(route.net));
    is_usable.then_some(gateway)
}

/// The ends of all paths of a message from a node to NIDs of the net and the family of one: the node that sends it on the net; `None` for a path
/// that does not lead there. A gateway does not send a message onto the net that it came by.
fn ends<'a>(
    nodes: &'a [Node],
    from: &'a Node,
    (to, came_by): (Nid, Option<NetId>),
    seen: &mut Vec<(&'a str, Option<NetId>)>,
) -> Vec<Option<&'a Node>> {
    if from.is_on(to.net()) {
        return vec![from.is_beside(to).then_some(from)];
    }
    let is_onward = |route: &&Route| route.net == to.net() && came_by != Some(route.gateway.net());
    let routes: Vec<_> = from.routes.iter().filter(is_onward).collect();
    let state = (from.name.as_str(), came_by);
    if seen.contains(&state) || routes.is_empty() {
        return vec![None];
    }
    seen.push(state);
    let all = routes.into_iter().flat_map(|route| match gateway(nodes, from, route) {
        Some(gateway) => ends(nodes, gateway, (to, Some(route.gateway.net())), seen),
        None => vec![None],
    });
    let all = all.collect();
    seen.pop();
    all
}

/// The gateways by which a node responds to the requests that came by them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ResponsesBy {
    /// Those of its routes, as in the kernel and in the model.
    OwnGateways,
    /// All, as in this library.
    AnyGateway,
}

/// The ends of a request to a NID of a node, and of its response, for every choice of routes.
fn requests(nodes: &[Node], from: &Node, to: &Node, nid: Nid, by: ResponsesBy) -> Vec<Passage> {
    let net = nid.net();
    if from.is_on(net) {
        return vec![if from.is_beside(nid) { Passage::Answered } else { Passage::NoPath }];
    }
    let mut all = Vec::new();
    for route in from.routes.iter().filter(|route| route.net == net) {
        let Some(first) = gateway(nodes, from, route) else {
            all.push(Passage::NoPath);
            continue;
        };
        for last in ends(nodes, first, (nid, Some(route.gateway.net())), &mut vec![(&from.name, None)]) {
            let Some(last) = last else {
                all.push(Passage::NoPath);
                continue;
            };
            // The response goes to the NID that the request came from, which is of the family of the gateway.
            let is_known = by == ResponsesBy::AnyGateway
                || to.routes.iter().any(|route| last.has_had(route.gateway) && to.is_beside(route.gateway));
            let (responder, came_by) = if is_known { (last, Some(net)) } else { (to, None) };
            let responses = ends(nodes, responder, (route.gateway, came_by), &mut Vec::new());
            all.extend(responses.iter().map(|end| match end {
                Some(_) => Passage::Answered,
                None => Passage::NoResponse,
            }));
        }
    }
    all
}

/// The best end of a request, or the worst one.
fn request(nodes: &[Node], from: &Node, to: &Node, nid: Nid, worst: bool, by: ResponsesBy) -> Passage {
    let all = requests(nodes, from, to, nid, by).into_iter();
    let rank = |passage: &Passage| *passage as usize;
    if worst { all.max_by_key(rank) } else { all.min_by_key(rank) }.unwrap_or(Passage::NoPath)
}

/// The best end of a request to any NID of a node.
pub(crate) fn passage(nodes: &[Node], from: &Node, to: &Node) -> Passage {
    let ends = to.nids.iter().map(|nid| request(nodes, from, to, *nid, false, ResponsesBy::OwnGateways));
    ends.min_by_key(|passage| *passage as usize).filter(|_| !from.nids.is_empty()).unwrap_or(Passage::NoPath)
}

/// Whether a request to a node is answered by some choice of routes and of its NIDs, as the kernel or as this library responds.
pub(crate) fn may_be_answered(nodes: &[Node], from: &Node, to: &Node) -> bool {
    let is_answered = |nid, by| request(nodes, from, to, nid, false, by) == Passage::Answered;
    BOTH.into_iter().any(|by| to.nids.iter().any(|nid| is_answered(*nid, by)))
}

/// Whether a request to a NID of a node is answered by every choice of routes and of the node's other NIDs, as the kernel and as this library
/// respond. The first request goes to the NID itself, so there must be a route to that; NIDs of a family that the node has not on their net are
/// no choice.
pub(crate) fn must_be_answered(nodes: &[Node], from: &Node, to: &Node, nid: Nid) -> bool {
    let has_route = |net| !from.is_on(net) && from.routes.iter().any(|route| route.net == net);
    let is_choice = |nid: &Nid| from.is_beside(*nid) || has_route(nid.net());
    let choices = || to.nids.iter().copied().filter(is_choice);
    let is_answered = |nid, by| request(nodes, from, to, nid, true, by) == Passage::Answered;
    is_choice(&nid) && BOTH.into_iter().all(|by| choices().all(|nid| is_answered(nid, by)))
}

const BOTH: [ResponsesBy; 2] = [ResponsesBy::OwnGateways, ResponsesBy::AnyGateway];
