//! Unresponsive paths: their state in the core, and messages that wait on them.

use super::*;

/// Makes nodes of two rails each that do not know each other yet.
fn undiscovered(name: &str, delivery: Delivery) -> World {
    let network = NetworkConfig { delivery, jitter: Duration::ZERO, ..NetworkConfig::default() };
    let config = WorldConfig { network, trace: 100_000, check_every: 20, ..WorldConfig::default() };
    let mut world = World::new(name, config);
    world.add_node(NodeSpec::new(&[a(1), a(2)]));
    world.add_node(NodeSpec::new(&[b(1), b(2)]));
    world
}

fn unresponsive(world: &World, node: NodeId, peer: Nid) -> Vec<(Nid, Nid, Time)> {
    let paths = world.core(node).unwrap().admin().unresponsive_paths(peer);
    paths.into_iter().map(|path| (path.local, path.peer, path.since)).collect()
}

/// The peer is not discovered yet, so it is not multi-rail; but a ping may leave by any interface.
#[test]
fn a_first_message_takes_another_path_if_the_first_one_loses_everything() {
    for delivery in [Delivery::Acked, Delivery::Kernel] {
        for dead in [a(1), a(2)] {
            let mut world = undiscovered("first contact", delivery);
            world.cut_pair(dead, b(1));
            world.cut_pair(b(1), dead);
            let id = world.start_op(A, b(1), OpKind::PutWithAck).unwrap();
            pass(&mut world, 60.0);
            all_succeeded(&world, &[id]);
            assert!(took(&world, id) < 2.0, "{delivery:?}, {dead}: {} s", took(&world, id));
            finish(world);
        }
    }
}

/// Without discovery only the first message shows a peer the interface of this node to which it sends its responses.
#[test]
fn a_message_is_not_kept_on_a_path_on_which_nothing_was_ever_received() {
    for dead in [a(1), a(2)] {
        let mut world = undiscovered("first contact without discovery", Delivery::Acked);
        for node in [A, B] {
            world.set_discovery(node, DiscoveryMode::Off);
        }
        world.cut_pair(dead, b(1));
        world.cut_pair(b(1), dead);
        let ids: Vec<OpId> = ASKS.iter().filter_map(|ask| world.start_op(A, b(1), *ask)).collect();
        pass(&mut world, 60.0);
        assert!(all_succeeded(&world, &ids) < 2.0);
        finish(world);
    }
}

#[test]
fn every_path_even_the_last_one_stays_unresponsive_until_something_is_received_on_it() {
    let mut world = two_rails("a total outage");
    assert_eq!(unresponsive(&world, A, b(1)), []);
    let cut = world.now();
    world.kill_rail(rail(1));
    world.kill_rail(rail(2));
    load(&mut world, 3.0);
    pass(&mut world, 10.0);
    let known = unresponsive(&world, A, b(2));
    let paths: Vec<(Nid, Nid)> = known.iter().map(|(local, peer, _)| (*local, *peer)).collect();
    for path in [(a(1), b(1)), (a(1), b(2)), (a(2), b(1)), (a(2), b(2))] {
        assert!(paths.contains(&path), "{path:?} in {paths:?}");
    }
    assert_eq!(known.len(), 4);
    assert!(known.iter().all(|(.., since)| *since > cut && *since < world.now()));
    world.heal();
    pass(&mut world, 10.0);
    assert_eq!(unresponsive(&world, A, b(1)), []);
    pass(&mut world, 100.0);
    finish(world);
}

#[test]
fn the_only_path_to_a_peer_becomes_unresponsive_and_recovers_with_a_response() {
    let mut world = Pair { rails_a: 1, rails_b: 1, ..Pair::default() }.meet("the only path");
    let cut = world.now();
    world.kill_rail(rail(1));
    let id = world.start_op(A, b(1), OpKind::PutWithAck).unwrap();
    pass(&mut world, 5.0);
    let known = unresponsive(&world, A, b(1));
    assert_eq!(known.len(), 1);
    assert!(known[0].2.since(cut) < Duration::from_secs(2), "{known:?}");
    world.heal();
    pass(&mut world, 3.0);
    assert_eq!(unresponsive(&world, A, b(1)), []);
    all_succeeded(&world, &[id]);
    finish(world);
}

/// No node can know that a rail died with nothing under way on it, before something is tried.
#[test]
fn messages_take_a_path_with_recent_responses_as_soon_as_another_one_is_unresponsive() {
    for delivery in [Delivery::Acked, Delivery::Kernel] {
        for works in [(a(1), b(1)), (a(2), b(1)), (a(1), b(2)), (a(2), b(2))] {
            let mut world = Pair { delivery, ..Pair::default() }.meet("one of four paths works");
            for (local, peer) in [(a(1), b(1)), (a(2), b(1)), (a(1), b(2)), (a(2), b(2))] {
                if (local, peer) != works {
                    world.cut_pair(local, peer);
                    world.cut_pair(peer, local);
                }
            }
            while unresponsive(&world, A, b(1)).is_empty() {
                world.start_op(A, b(1), OpKind::Put).unwrap();
                pass(&mut world, 1.0);
            }
            pass(&mut world, 0.1);
            let ids: Vec<OpId> = (0..6).filter_map(|_| world.start_op(A, b(1), OpKind::PutWithAck)).collect();
            pass(&mut world, 1.0);
            assert!(all_succeeded(&world, &ids) < 0.1, "{delivery:?}, {works:?}");
            world.heal();
            pass(&mut world, 60.0);
            finish(world);
        }
    }
}

/// A message that a kernel may have received is not sent again, and its connection continues to carry it when the cut is over.
#[test]
fn a_short_outage_fails_no_operation_between_nodes_without_duplicate_detection() {
    for seconds in [1.5, 3.0, 10.0] {
        let mut world = Pair { delivery: Delivery::Kernel, ..Pair::default() }.meet("a short cut");
        let mut ops = load(&mut world, 0.5);
        world.kill_rail(rail(2));
        let during = load(&mut world, seconds);
        world.heal();
        ops.extend(load(&mut world, 3.0));
        pass(&mut world, 60.0);
        all_succeeded(&world, &ops);
        all_succeeded(&world, &during);
        // An operation that begins when a path is known to be unresponsive takes another; the others over the rail are
        // found one by one.
        let late = during.iter().filter(|id| op(&world, **id).started > ops_begin(&world, &during) + KNOWN);
        let late: Vec<OpId> = late.copied().collect();
        assert!(!late.is_empty() || seconds < 2.0);
        assert!(all_succeeded(&world, &late) < 2.0, "after {seconds} s");
        finish(world);
    }
}

/// Time after which an unresponsive path is known as one.
const KNOWN: Duration = Duration::from_millis(1800);

fn ops_begin(world: &World, ops: &[OpId]) -> Time {
    op(world, ops[0]).started
}

/// HE-11: a NID that no node has is not pinged for ever because a message was once sent to it.
#[test]
fn paths_to_a_peer_that_never_answered_are_not_pinged() {
    let mut world = undiscovered("nobody is there", Delivery::Acked);
    for local in [a(1), a(2)] {
        world.cut_pair(local, b(1));
        world.cut_pair(b(1), local);
    }
    let id = world.start_op(A, b(1), OpKind::Put).unwrap();
    pass(&mut world, 60.0);
    assert!(!op(&world, id).succeeded());
    assert_ne!(unresponsive(&world, A, b(1)), []);
    let ended = world.now();
    pass(&mut world, 300.0);
    assert_eq!(sent(&world, A, Purpose::Ping, ended).len(), 0);
    finish(world);
}
