//! The same clusters in the simulator: a request to each NID of each other node.

use crate::naive::Node;
use lnet_core::topology::Route;
use lnet_core::{DiscoveryMode, Settings};
use lnet_sim::{NodeId, NodeSpec, OpKind, World, WorldConfig};
use lnet_wire::Nid;
use std::time::Duration;

/// The most steps of a world until all operations have ended.
const MAX_STEPS: usize = 2_000_000;

/// For each pair of nodes that are no routers, and each NID of the second one: whether a GET is answered. A router refuses what arrives on
/// one of its interfaces for another one. With every third seed no node discovers.
pub(crate) fn all_pairs(seed: u64, nodes: &[Node]) -> Vec<(&Node, &Node, Nid, bool)> {
    let config = WorldConfig { seed, trace: 0, check_every: 0, ..WorldConfig::default() };
    let mut world = World::new("brute force", config);
    let settings = Settings { alive_router_check_interval: 5, ..Settings::default() };
    let discovery = if seed.is_multiple_of(3) { DiscoveryMode::Off } else { DiscoveryMode::On };
    let ids: Vec<NodeId> =
        nodes.iter().map(|node| world.add_node(spec(node, settings).with_discovery(discovery))).collect();
    // The gateways are asked whether they forward, before they are used.
    let after = world.now() + Duration::from_secs(30);
    world.run_until_within(after, MAX_STEPS);
    let mut started = Vec::new();
    let is_end = |node: &Node| node.name.starts_with('n');
    for (from, id) in nodes.iter().zip(&ids).filter(|(from, _)| is_end(from)) {
        for to in nodes.iter().filter(|to| to.name != from.name && is_end(to)) {
            for nid in &to.nids {
                started.push((from, to, *nid, world.start_op(*id, *nid, OpKind::Get)));
            }
        }
    }
    let after = world.now() + Duration::from_secs(200);
    world.run_until_within(after, MAX_STEPS);
    world.finish().unwrap_or_else(|violation| panic!("seed {seed}: {violation}"));
    let answered = |op| world.op(op).and_then(|op| op.answered) == Some(Ok(()));
    started.into_iter().map(|(from, to, nid, op)| (from, to, nid, op.is_some_and(answered))).collect()
}

fn spec(node: &Node, settings: Settings) -> NodeSpec {
    let route = |route: &crate::naive::Route| Route {
        net: route.net,
        gateway: route.gateway,
        hops: route.hops,
        priority: 0,
        health_sensitivity: 1,
    };
    let spec = NodeSpec { settings, ..NodeSpec::new(&node.nids) };
    let spec = if node.forwards { spec.router() } else { spec };
    NodeSpec { routes: node.routes.iter().map(route).collect(), ..spec }
}
