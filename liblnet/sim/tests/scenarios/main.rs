//! The scenarios of discovery (core-behaviour 5.9), in all orders in which the racing messages may arrive.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod failures;
mod first_contact;
mod hostile;
mod modes;
mod moving;
mod operators;
mod races;
mod several_nids;
mod sizes;

use lnet_core::DiscoveryMode;
use lnet_core::Time;
use lnet_sim::explore::{Actor, Explored, Scenario, explore};
use lnet_sim::{NetworkConfig, NodeId, NodeSpec, OpId, OpKind, OpSpec, Order, World, WorldConfig, nid};
use lnet_wire::Nid;
use std::time::Duration;

const A: NodeId = NodeId(0);
const B: NodeId = NodeId(1);
const C: NodeId = NodeId(2);

/// Returns the `rail`th NID of a node, from 1: A has 10.0.1.x, B 10.0.2.x, and so on.
fn nid_of(node: NodeId, rail: u32) -> Nid {
    nid(0, (node.0 + 1) << 12 | rail)
}

fn a(rail: u32) -> Nid {
    nid_of(A, rail)
}

fn b(rail: u32) -> Nid {
    nid_of(B, rail)
}

fn c(rail: u32) -> Nid {
    nid_of(C, rail)
}

/// Makes the specification of the next node, A first, with `rails` NIDs.
fn spec(world: &World, rails: u32) -> NodeSpec {
    let next = NodeId(world.node_ids().count() as u32);
    let nids: Vec<Nid> = (1..=rails).map(|rail| nid_of(next, rail)).collect();
    NodeSpec::new(&nids)
}

fn add(world: &mut World, rails: u32) -> NodeId {
    let spec = spec(world, rails);
    world.add_node(spec)
}

fn add_with(world: &mut World, rails: u32, mode: DiscoveryMode) -> NodeId {
    let spec = spec(world, rails).with_discovery(mode);
    world.add_node(spec)
}

/// Makes an action by which `node` sends a request to the NID `to`.
fn ask(node: NodeId, to: Nid) -> impl Fn(&mut World) + Copy {
    move |world| {
        world.start_op(node, to, OpKind::PutWithAck);
    }
}

/// Sends a request, lets everything arrive, and returns whether there was a response.
fn talk(world: &mut World, node: NodeId, to: Nid) -> bool {
    let op = world.start_op(node, to, OpKind::PutWithAck);
    world.run_in_order();
    op.is_some_and(|op| succeeded(world, op))
}

fn succeeded(world: &World, op: OpId) -> bool {
    world.op(op).is_some_and(|op| op.succeeded())
}

fn all_succeeded(world: &mut World) {
    let failed = world.ops().iter().position(|op| !op.succeeded());
    world.expect(failed.is_none(), || format!("operation {failed:?} did not succeed"));
}

/// Runs a scenario in all orders, or in `most` of them and as many random ones.
fn in_all_orders(
    name: &str,
    most: usize,
    build: impl Fn(&mut World) -> Vec<Actor>,
    check: impl Fn(&mut World),
) -> Explored {
    let scenario = Scenario { name, config: WorldConfig::default(), build: &build, check: &check };
    match explore(&scenario, most) {
        Ok(explored) => {
            println!("{name}: {explored:?}");
            explored
        }
        Err(broken) => panic!("{broken}"),
    }
}

/// Makes a world in which the test chooses the order of arrival.
fn chosen(name: &str) -> World {
    let network = NetworkConfig { order: Order::Chosen, ..NetworkConfig::default() };
    World::new(name, WorldConfig { network, ..WorldConfig::default() })
}

fn finish(mut world: World) {
    world.run_in_order();
    world.check_quiet();
    if let Err(broken) = world.finish() {
        panic!("{broken}");
    }
}

fn seconds(seconds: u64) -> Time {
    Time(Duration::from_secs(seconds))
}
