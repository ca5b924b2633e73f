//! Operations while rails die (core-behaviour 4), and the recovery of nodes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod closed_loop;
mod in_time;
#[path = "../support/logged.rs"]
mod logged;
mod new_interface;
mod paths;
mod rails;
mod reachability;
mod recovery;
mod requests;
mod responses;
mod retries;
mod values;

use lnet_core::{DiscoveryMode, Errno, NiTunables, Settings, Time};
use lnet_sim::{
    Delivery, Digest, NetworkConfig, NodeId, NodeSpec, Op, OpId, OpKind, OpSpec, Purpose, Rail, TraceEvent,
    World, WorldConfig, nid,
};
use lnet_wire::Nid;
use std::time::Duration;

const A: NodeId = NodeId(0);
const B: NodeId = NodeId(1);

/// Returns the NID of A on a rail, from 1.
fn a(rail: u32) -> Nid {
    nid(0, 1 << 8 | rail)
}

/// Returns the NID of B on a rail, from 1.
fn b(rail: u32) -> Nid {
    nid(0, 2 << 8 | rail)
}

fn rail(rail: u32) -> Rail {
    Rail(rail as u16)
}

/// The parameters of two nodes.
#[derive(Clone, Copy)]
struct Pair {
    rails_a: u32,
    rails_b: u32,
    settings: Settings,
    tunables: NiTunables,
    delivery: Delivery,
    latency: Duration,
}

impl Default for Pair {
    fn default() -> Self {
        Self {
            rails_a: 2,
            rails_b: 2,
            settings: Settings::default(),
            tunables: NiTunables::default(),
            delivery: Delivery::Acked,
            latency: Duration::from_micros(50),
        }
    }
}

impl Pair {
    /// Makes the two nodes, which know each other already.
    fn meet(self, name: &str) -> World {
        let network = NetworkConfig {
            delivery: self.delivery,
            latency: self.latency,
            jitter: Duration::ZERO,
            ..NetworkConfig::default()
        };
        let config = WorldConfig { network, trace: 100_000, check_every: 20, ..WorldConfig::default() };
        let mut world = World::new(name, config);
        for (rails, nid_of) in [(self.rails_a, a as fn(u32) -> Nid), (self.rails_b, b)] {
            let nids: Vec<Nid> = (1..=rails).map(nid_of).collect();
            (1..=rails).for_each(|number| world.attach(nid_of(number), rail(number)));
            world.add_node(NodeSpec {
                settings: self.settings,
                tunables: self.tunables,
                ..NodeSpec::new(&nids)
            });
        }
        for _ in 0..2 {
            world.start_op(A, b(1), OpKind::PutWithAck);
            world.start_op(B, a(1), OpKind::PutWithAck);
            pass(&mut world, 5.0);
        }
        assert!(world.ops().iter().all(Op::succeeded), "they do not meet: {:?}", world.finish());
        world.check_agreement(A, B);
        world
    }
}

fn two_rails(name: &str) -> World {
    Pair::default().meet(name)
}

fn pass(world: &mut World, seconds: f64) {
    let then = world.now() + Duration::from_secs_f64(seconds);
    world.run_until(then);
}

/// The kinds of operations between A and B, used in turn.
const ASKS: [OpKind; 3] = [OpKind::Put, OpKind::PutWithAck, OpKind::Get];

/// Starts operations of both nodes all the while. Returns them.
fn load(world: &mut World, seconds: f64) -> Vec<OpId> {
    let mut ops = Vec::new();
    let until = world.now() + Duration::from_secs_f64(seconds);
    while world.now() < until && world.is_sound() {
        for ask in ASKS {
            ops.extend(world.start_op(A, b(1), ask));
            ops.extend(world.start_op(B, a(1), ask));
        }
        pass(world, 0.02);
    }
    ops
}

/// Starts an operation from one NID of A to one NID of B, which uses no others.
fn ask_by(world: &mut World, own: Nid, its: Nid, ask: OpKind) -> OpId {
    world.start_op_with(A, its, OpSpec { ask, source: Some(own), ..OpSpec::default() }).unwrap()
}

fn op(world: &World, id: OpId) -> Op {
    world.op(id).unwrap()
}

fn took(world: &World, id: OpId) -> f64 {
    let op = op(world, id);
    op.end.unwrap_or_else(|| panic!("{op:?} does not end")).since(op.started).as_secs_f64()
}

/// Checks that all have succeeded; returns the longest duration, in seconds.
fn all_succeeded(world: &World, ops: &[OpId]) -> f64 {
    let failed: Vec<Op> = ops.iter().map(|id| op(world, *id)).filter(|op| !op.succeeded()).collect();
    assert!(failed.is_empty(), "{} of {} fail, first {:?}", failed.len(), ops.len(), failed[0]);
    ops.iter().map(|id| took(world, *id)).fold(0.0, f64::max)
}

/// Returns the messages that a node has sent for this purpose since then, with their times.
fn sent(world: &World, node: NodeId, purpose: Purpose, since: Time) -> Vec<(f64, Digest)> {
    let lines = world.trace().into_iter().filter(|line| line.node == node && line.at >= since);
    let sent = lines.filter_map(|line| match line.what {
        TraceEvent::Sent(digest) if digest.purpose == purpose => Some((line.at.0.as_secs_f64(), digest)),
        _ => None,
    });
    sent.collect()
}

fn peer_health(world: &World, node: NodeId, nid: Nid) -> u32 {
    let core = world.core(node).unwrap();
    core.peer_nis().iter().find(|peer_ni| peer_ni.nid() == nid).unwrap().health()
}

fn own_health(world: &World, node: NodeId, nid: Nid) -> u32 {
    world.core(node).unwrap().nets().ni(nid).unwrap().health()
}

fn finish(mut world: World) {
    if let Err(broken) = world.finish() {
        panic!("{broken}");
    }
}
