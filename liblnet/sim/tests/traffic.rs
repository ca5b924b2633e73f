//! The traffic of interfaces and its speed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lnet_core::Time;
use lnet_sim::{Delivery, NetworkConfig, NodeId, NodeSpec, OpKind, OpSpec, Traffic, World, WorldConfig, nid};
use std::num::NonZeroU64;
use std::time::Duration;

const CLIENT: NodeId = NodeId(0);
const SERVER: u32 = 2;
const LENGTH: u32 = 1000;

/// A client and a server with one interface each, which know each other.
fn pair(delivery: Delivery, rate: Option<u64>) -> World {
    let rate = rate.and_then(NonZeroU64::new);
    let network = NetworkConfig { delivery, rate, ..NetworkConfig::default() };
    let mut world = World::new("a pair", WorldConfig { network, ..WorldConfig::default() });
    for address in [1, SERVER] {
        world.add_node(NodeSpec { serves: LENGTH, ..NodeSpec::new(&[nid(0, address)]) });
    }
    world.start_op(CLIENT, nid(0, SERVER), OpKind::PutWithAck);
    world.run_until(Time(Duration::from_secs(1)));
    world.count_traffic();
    world.note_ended_ops();
    world
}

fn put(world: &mut World) {
    let spec = OpSpec { ask: OpKind::PutWithAck, bytes: LENGTH, ..OpSpec::default() };
    world.start_op_with(CLIENT, nid(0, SERVER), spec).unwrap();
}

#[test]
fn messages_and_payloads_are_counted_at_both_interfaces() {
    for delivery in [Delivery::Socket, Delivery::Kernel, Delivery::Acked] {
        let mut world = pair(delivery, None);
        assert_eq!(world.traffic().len(), 0, "{delivery:?}");
        put(&mut world);
        world.run_until(Time(Duration::from_secs(2)));
        let traffic = world.traffic();
        let bytes = u64::from(LENGTH);
        let client = Traffic { messages_sent: 1, bytes_sent: bytes, messages_received: 1, bytes_received: 0 };
        let server = Traffic { messages_sent: 1, bytes_sent: 0, messages_received: 1, bytes_received: bytes };
        assert_eq!(traffic.get(&nid(0, 1)), Some(&client), "{delivery:?}");
        assert_eq!(traffic.get(&nid(0, SERVER)), Some(&server), "{delivery:?}");
        world.finish().unwrap();
    }
}

#[test]
fn payloads_take_the_time_that_the_rate_of_an_interface_allows() {
    for delivery in [Delivery::Socket, Delivery::Kernel, Delivery::Acked] {
        // A payload takes 10 ms, first to send and then to receive, and the next follows on its heels.
        let mut world = pair(delivery, Some(100_000));
        let begun = world.now();
        (0..8).for_each(|_| put(&mut world));
        let mut ends = Vec::new();
        while ends.len() < 8 {
            world.run_until_op_ends(begun + Duration::from_secs(10));
            let ended = world.take_ended_ops();
            assert!(!ended.is_empty(), "{delivery:?}: {ends:?}");
            ends.extend(ended.iter().map(|(_, op)| op.end.unwrap().since(begun).as_millis()));
        }
        assert_eq!(ends, [10, 20, 30, 40, 50, 60, 70, 80], "{delivery:?}");
        world.finish().unwrap();
    }
}

#[test]
fn a_world_stops_where_an_operation_ends_and_otherwise_at_the_given_time() {
    let mut world = pair(Delivery::Acked, None);
    let then = world.now() + Duration::from_secs(1);
    put(&mut world);
    world.run_until_op_ends(then);
    let (id, op) = world.take_ended_ops().remove(0);
    assert!(world.now() < then && op.succeeded());
    assert_eq!(world.op(id).map(|op| op.end), Some(Some(world.now())));
    assert!(world.take_ended_ops().is_empty());
    world.run_until_op_ends(then);
    assert_eq!(world.now(), then);
    world.finish().unwrap();
}
