//! Nodes on different nets, and their messages when the routers between them die.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod circles;
mod configurations;
mod cut_through;
mod kernel_routers;
#[path = "../support/logged.rs"]
mod logged;
mod many;
mod no_way;
mod orders;
mod routers;
mod shown;
mod stalls;

use lnet_core::{Settings, Time};
use lnet_sim::{Delivery, NetworkConfig, NodeId, NodeSpec, Op, OpId, OpKind, World, WorldConfig, nid};
use lnet_wire::{NetId, Nid};
use std::time::Duration;

const ROUTERS: [NodeId; 2] = [NodeId(0), NodeId(1)];
const CLIENT: NodeId = NodeId(2);
const SERVER: NodeId = NodeId(3);

const ASKS: [OpKind; 3] = [OpKind::Put, OpKind::PutWithAck, OpKind::Get];

/// Returns the NID of the client, which is on `tcp`; the server is on `tcp1`, and the routers on both.
fn client() -> Nid {
    nid(0, 1)
}

fn server() -> Nid {
    nid(1, 1)
}

fn router(net: u16, router: u32) -> Nid {
    nid(net, 100 + router)
}

fn net(number: u16) -> NetId {
    nid(number, 1).net()
}

fn network() -> NetworkConfig {
    NetworkConfig {
        delivery: Delivery::Acked,
        jitter: Duration::from_micros(300),
        ..NetworkConfig::default()
    }
}

/// Makes two nodes with routes over the first `routers` of the routers.
fn site(name: &str, routers: u32, network: NetworkConfig) -> World {
    let config = WorldConfig { network, trace: 10_000, check_every: 20, ..WorldConfig::default() };
    let mut world = World::new(name, config);
    for number in 0..2 {
        world.add_node(spec(&[router(0, number), router(1, number)]).router());
    }
    let gateways = |on: u16| -> Vec<Nid> { (0..routers).map(|number| router(on, number)).collect() };
    world.add_node(spec(&[client()]).with_routes(net(1), &gateways(0)));
    world.add_node(spec(&[server()]).with_routes(net(0), &gateways(1)));
    meet(&mut world);
    world
}

/// Makes a specification with frequent checks of gateways.
fn spec(nids: &[Nid]) -> NodeSpec {
    let settings = Settings { alive_router_check_interval: 5, ..Settings::default() };
    NodeSpec { settings, ..NodeSpec::new(nids) }
}

fn pass(world: &mut World, seconds: f64) {
    let then = world.now() + Duration::from_secs_f64(seconds);
    world.run_until(then);
}

/// Waits until the ends know that the routers forward.
fn meet(world: &mut World) {
    pass(world, 10.0);
}

/// Starts operations of both ends all the while. Returns them.
fn load(world: &mut World, seconds: f64) -> Vec<OpId> {
    let mut ops = Vec::new();
    let until = world.now() + Duration::from_secs_f64(seconds);
    while world.now() < until && world.is_sound() {
        for ask in ASKS {
            ops.extend(world.start_op(CLIENT, server(), ask));
            ops.extend(world.start_op(SERVER, client(), ask));
        }
        pass(world, 0.02);
    }
    ops
}

/// Checks that all have succeeded, and arrived once; returns the longest duration, in seconds.
fn all_succeeded(world: &mut World, ops: &[OpId]) -> f64 {
    if !world.is_sound() {
        world.finish().unwrap_or_else(|broken| panic!("{broken}"));
    }
    let all: Vec<Op> = ops.iter().map(|id| world.op(*id).unwrap()).collect();
    let failed: Vec<&Op> = all.iter().filter(|op| !op.succeeded()).collect();
    assert!(failed.is_empty(), "{} of {} fail, first {:?}", failed.len(), ops.len(), failed[0]);
    assert_eq!(world.served(), ops.len() as u64, "each arrives once");
    let took = |op: &Op| op.end.unwrap().since(op.started).as_secs_f64();
    all.iter().map(took).fold(0.0, f64::max)
}

fn finish(mut world: World) {
    world.finish().unwrap_or_else(|broken| panic!("{broken}"));
}
