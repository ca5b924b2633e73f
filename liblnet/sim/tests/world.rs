//! Guarantees of the simulator about order, faults and repetition.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use lnet_core::{DiscoveryMode, Settings, Time};
use lnet_sim::{
    Completion, NetworkConfig, NodeId, NodeSpec, OpKind, OpSpec, Purpose, World, WorldConfig, nid,
};
use std::time::Duration;

/// Makes a specification without discovery, and without response timeouts.
fn plain(address: u32) -> NodeSpec {
    let settings = Settings { response_tracking: 0, ..Settings::default() };
    let spec = NodeSpec::new(&[nid(0, address)]).with_discovery(DiscoveryMode::Off);
    NodeSpec { first_ping: false, settings, ..spec }
}

fn pair(network: NetworkConfig) -> (World, NodeId, NodeId) {
    let mut world = World::new("two nodes", WorldConfig { seed: 3, network, ..WorldConfig::default() });
    let a = world.add_node(plain(1));
    let b = world.add_node(plain(2));
    (world, a, b)
}

fn seconds(seconds: u64) -> Time {
    Time(Duration::from_secs(seconds))
}

#[test]
fn puts_and_gets_reach_the_other_node_and_end_once() {
    for completion in [Completion::AtOnce, Completion::Later] {
        let (mut world, a, b) = pair(NetworkConfig { completion, ..NetworkConfig::default() });
        let mut ops = Vec::new();
        for _ in 0..40 {
            for ask in [OpKind::Put, OpKind::PutWithAck, OpKind::Get] {
                ops.extend(world.start_op(a, nid(0, 2), ask));
                ops.extend(world.start_op(b, nid(0, 1), ask));
            }
        }
        world.run_until_quiet(10_000);
        world.check_quiet();
        world.finish().unwrap();
        assert_eq!((ops.len(), world.open_ops(), world.served()), (240, 0, 240));
        assert!(ops.iter().all(|op| world.op(*op).unwrap().succeeded()));
        assert_eq!(world.counts().of(Purpose::Ack), 80);
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let network = NetworkConfig { connections: 2, breaks_one_in: 20, ..NetworkConfig::default() };
        let mut world = World::new("again", WorldConfig { seed, network, ..WorldConfig::default() });
        let a = world.add_node(plain(1));
        world.add_node(plain(2));
        for _ in 0..100 {
            world.start_op(a, nid(0, 2), OpKind::PutWithAck);
        }
        world.run_until_quiet(10_000);
        world.expect(false, || "to see the trace".to_owned());
        world.finish().unwrap_err().trace
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

#[test]
fn messages_lost_in_an_outage_end_with_their_timeout() {
    let (mut world, a, b) = pair(NetworkConfig::default());
    world.cut(b, a);
    for ask in [OpKind::Put, OpKind::PutWithAck, OpKind::Get] {
        for _ in 0..10 {
            world.start_op(a, nid(0, 2), ask);
            world.start_op(b, nid(0, 1), ask);
        }
    }
    world.run_until_quiet(10_000);
    // A to B gets through; half of B's losses are reported to it.
    assert!(world.open_ops() > 20 && world.served() == 30, "{} {}", world.open_ops(), world.served());
    world.give_up_ops(seconds(1000));
    world.heal();
    world.run_until_quiet(10_000);
    world.check_quiet();
    world.finish().unwrap();
    assert_eq!(world.open_ops(), 0);
}

#[test]
fn a_crashed_node_ends_its_operations_and_restarts_as_a_new_incarnation() {
    let (mut world, a, b) = pair(NetworkConfig::default());
    for _ in 0..20 {
        world.start_op(a, nid(0, 2), OpKind::Get);
        world.start_op(b, nid(0, 1), OpKind::Get);
    }
    world.run_until(Time(Duration::from_micros(60)));
    world.crash(b);
    world.run_until_quiet(10_000);
    assert!(!world.is_up(b));
    assert!(world.start_op(b, nid(0, 1), OpKind::Put).is_none());
    let refused = world.start_op(a, nid(0, 2), OpKind::PutWithAck).unwrap();
    world.run_until_quiet(10_000);
    assert!(world.op(refused).unwrap().sent.unwrap().is_err());
    world.start(b);
    let op = world.start_op(a, nid(0, 2), OpKind::PutWithAck).unwrap();
    world.run_until_quiet(10_000);
    assert!(world.op(op).unwrap().succeeded());
    world.give_up_ops(seconds(1000));
    world.run_until_quiet(10_000);
    world.check_quiet();
    world.finish().unwrap();
    assert_eq!((world.open_ops(), world.incarnations(b)), (0, 2));
}

#[test]
fn interfaces_come_and_go_under_traffic() {
    let (mut world, a, b) = pair(NetworkConfig::default());
    for round in 0..10 {
        world.add_ni(b, nid(1, 2));
        world.add_ni(a, nid(1, 1));
        for _ in 0..20 {
            world.start_op(a, nid(1, 2), OpKind::Get);
            world.start_op(b, nid(0, 1), OpKind::PutWithAck);
            world.step();
        }
        world.remove_ni(
            if round % 2 == 0 { a } else { b },
            if round % 2 == 0 { nid(1, 1) } else { nid(1, 2) },
        );
        world.run_until_quiet(10_000);
        world.remove_ni(
            if round % 2 == 1 { a } else { b },
            if round % 2 == 1 { nid(1, 1) } else { nid(1, 2) },
        );
    }
    let now = world.now();
    world.give_up_ops(now);
    world.run_until_quiet(10_000);
    world.check_quiet();
    world.finish().unwrap();
    assert_eq!(world.open_ops(), 0);
}

#[test]
fn a_put_deferred_at_a_lazy_portal_blocks_its_connection_until_a_buffer_is_attached() {
    let (mut world, a, b) = pair(NetworkConfig::default());
    world.with_core(b, |core| core.data_path().set_lazy_portal(PORTAL_OF_NOBODY));
    world.start_op_with(
        a,
        nid(0, 2),
        OpSpec { ask: OpKind::Put, portal: PORTAL_OF_NOBODY, ..OpSpec::default() },
    );
    let behind = world.start_op(a, nid(0, 2), OpKind::PutWithAck).unwrap();
    world.run_until_quiet(1000);
    assert_eq!(world.waiting(), 1);
    assert_eq!(world.op(behind).unwrap().answered, None);
    world.with_core(b, |core| core.data_path().clear_lazy_portal(PORTAL_OF_NOBODY));
    world.run_until_quiet(1000);
    assert_eq!(world.waiting(), 0);
    assert!(world.op(behind).unwrap().succeeded());
    world.check_quiet();
    world.finish().unwrap();
}

const PORTAL_OF_NOBODY: u32 = 11;

/// A node that pings one of its interfaces and sends to itself by another is its own peer, so the peer stays visible when
/// it loses that interface.
#[test]
fn each_peer_ni_is_in_a_peer_after_a_node_that_has_sent_to_itself_loses_an_interface() {
    let mut world = World::new("a node and itself", WorldConfig::default());
    let a = world.add_node(NodeSpec::new(&[nid(0, 1), nid(0, 2)]));
    world.with_core(a, |core| core.admin().set_ni_health(Some(nid(0, 1)), 900));
    world.run_until(world.now() + Duration::from_secs(2));
    world.start_op(a, nid(0, 2), OpKind::Get);
    world.run_until(world.now() + Duration::from_secs(2));
    world.remove_ni(a, nid(0, 2));
    world.finish().unwrap();
}
