//! Failure of a rail under load, in each way in which rails die; and of all rails.

use super::*;

/// A fault: its name, and the functions that cause and end it.
type Fault = (&'static str, fn(&mut World), fn(&mut World));

const FAULTS: [Fault; 7] = [
    ("a rail", |world| world.kill_rail(rail(2)), |world| world.heal_rail(rail(2))),
    ("an interface of A", |world| world.kill_interface(a(2)), |world| world.heal_interface(a(2))),
    ("an interface of B", |world| world.kill_interface(b(1)), |world| world.heal_interface(b(1))),
    ("what A hears", |world| world.block_rx(a(1)), |world| world.heal_interface(a(1))),
    ("what A says", |world| world.block_tx(a(2)), |world| world.heal_interface(a(2))),
    ("a pair, one way", |world| world.cut_pair(a(1), b(1)), |world| world.heal_pair(a(1), b(1))),
    (
        "an interface, and its node is told",
        |world| {
            world.kill_interface(a(1));
            world.set_link_state(A, a(1), false);
        },
        |world| {
            world.heal_interface(a(1));
            world.set_link_state(A, a(1), true);
        },
    ),
];

/// snd-050: fails if a message whose path has died is not sent again to another NID of the peer.
#[test]
fn a_rail_failure_under_load_fails_no_operation_and_delays_none_for_long() {
    for (name, kill, heal) in FAULTS {
        let mut world = two_rails(name);
        let mut ops = load(&mut world, 0.5);
        kill(&mut world);
        ops.extend(load(&mut world, 5.0));
        heal(&mut world);
        ops.extend(load(&mut world, 5.0));
        pass(&mut world, 60.0);
        let longest = all_succeeded(&world, &ops);
        println!("{name}: {} operations, the longest took {longest:.3} s", ops.len());
        // The kernel's stalls are 20 to 35 s.
        assert!(longest < 5.0, "{name}: {longest} s");
        finish(world);
    }
}

#[test]
fn a_recovered_rail_is_used_again_within_ten_seconds() {
    for (name, kill, heal) in FAULTS {
        let mut world = two_rails(name);
        kill(&mut world);
        load(&mut world, 10.0);
        heal(&mut world);
        let healed = world.now();
        load(&mut world, 10.0);
        let used = |own: Nid, its: Nid| {
            let puts = sent(&world, A, Purpose::Put, healed);
            puts.iter().any(|(_, put)| (put.header.src_nid, put.header.dest_nid) == (own, its))
        };
        for (own, its) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
            // Equal pairs take turns; each of them need not have had one.
            let any = used(a(own), b(its)) || used(a(own), b(3 - its)) && used(a(3 - own), b(its));
            assert!(any, "{name}: {own} and {its}");
        }
        finish(world);
    }
}

/// snd-085: fails if messages that wait for credits of a failing interface go on waiting, or fail with it.
#[test]
fn messages_queued_at_an_interface_that_fails_are_sent_through_another() {
    let tunables = NiTunables { credits: 8, peer_credits: 1, ..NiTunables::default() };
    let mut world = Pair { tunables, ..Pair::default() }.meet("messages wait for an interface that fails");
    world.freeze(B);
    let ops: Vec<OpId> = (0..40).filter_map(|_| world.start_op(A, b(1), OpKind::PutWithAck)).collect();
    pass(&mut world, 0.1);
    world.kill_interface(a(1));
    world.set_link_state(A, a(1), false);
    world.thaw(B);
    pass(&mut world, 1.0);
    let longest = all_succeeded(&world, &ops);
    assert!(longest < 0.5, "{longest} s");
    finish(world);
}

/// Issue 6, point 4: all rails dead.
#[test]
fn with_all_rails_down_every_operation_fails_within_its_timeout() {
    for transaction_timeout in [10, 50] {
        let settings = Settings { transaction_timeout, ..Settings::default() };
        let mut world = Pair { settings, ..Pair::default() }.meet("all rails die");
        world.kill_rail(rail(1));
        world.kill_rail(rail(2));
        let ops = load(&mut world, 2.0);
        pass(&mut world, 200.0);
        for id in &ops {
            assert!(op(&world, *id).outcome().is_err(), "{:?}", op(&world, *id));
            let took = took(&world, *id);
            assert!(took <= f64::from(transaction_timeout) * 1.5 + 1.0, "{took} s");
        }
        world.heal();
        pass(&mut world, 10.0);
        let ops = load(&mut world, 1.0);
        pass(&mut world, 10.0);
        all_succeeded(&world, &ops);
        finish(world);
    }
}

#[test]
fn a_peer_stopped_for_a_few_seconds_fails_no_operation() {
    let mut world = two_rails("a peer stands still");
    let mut ops = load(&mut world, 0.1);
    world.freeze(B);
    ops.extend(load(&mut world, 5.0));
    world.thaw(B);
    ops.extend(load(&mut world, 0.1));
    pass(&mut world, 60.0);
    all_succeeded(&world, &ops);
    finish(world);
}

#[test]
fn connections_that_are_reset_under_load_fail_no_operation() {
    let mut world = two_rails("connections are reset");
    let mut ops = Vec::new();
    for _ in 0..20 {
        ops.extend(load(&mut world, 0.1));
        world.break_between(A, B);
    }
    pass(&mut world, 60.0);
    let longest = all_succeeded(&world, &ops);
    assert!(longest < 2.0, "{longest} s");
    finish(world);
}

#[test]
fn a_peer_that_returns_is_reached_within_seconds() {
    let mut world = two_rails("a peer is started anew");
    load(&mut world, 0.1);
    world.crash(B);
    load(&mut world, 3.0);
    world.start(B);
    let started = world.now();
    let mut ops = Vec::new();
    while !ops.iter().any(|id| op(&world, *id).succeeded()) {
        ops.extend(world.start_op(A, b(1), OpKind::PutWithAck));
        pass(&mut world, 0.05);
        assert!(world.now().since(started) < Duration::from_secs(5), "it is not reached");
    }
    finish(world);
}

/// The one NID has no substitute, but a connection has.
#[test]
fn operations_to_a_peer_with_one_nid_survive_a_reset_and_do_not_lower_its_health() {
    let mut world = Pair { rails_a: 1, rails_b: 1, ..Pair::default() }.meet("a peer of one NID");
    let ops = load(&mut world, 0.1);
    let last: Vec<OpId> = ASKS.iter().filter_map(|ask| world.start_op(A, b(1), *ask)).collect();
    world.break_between(A, B);
    pass(&mut world, 10.0);
    all_succeeded(&world, &ops);
    all_succeeded(&world, &last);
    assert_eq!((peer_health(&world, A, b(1)), own_health(&world, A, a(1))), (1000, 1000));
    finish(world);
}
