//! DISC-17: peers that do not respond; and nodes that come back.

use super::*;
use lnet_core::discovery::Step;
use lnet_core::topology::PeerState;
use lnet_core::{Errno, Setting};

/// DISC-17: fails if requests to a dead peer end with another error than that of the ping, or if the next one does not try again.
#[test]
fn requests_to_a_dead_peer_fail_with_the_error_of_the_ping_and_the_next_one_tries_again() {
    let mut world = chosen("T17");
    add(&mut world, 1);
    add(&mut world, 1);
    world.crash(B);
    let ops = [0; 3].map(|_| world.start_op(A, b(1), OpKind::PutWithAck).unwrap());
    world.run_in_order();
    for op in ops {
        assert_eq!(world.op(op).unwrap().sent, Some(Err(Errno::HostUnreachable)));
    }
    let standing = world.standing(A, b(1)).unwrap();
    assert!(standing.state.contains(PeerState::REDISCOVER), "{standing:?}");
    assert_eq!(standing.failure.unwrap().errno, Errno::HostUnreachable);
    world.start(B);
    assert!(talk(&mut world, A, b(1)));
    world.check_agreement(A, B);
    world.give_up_ops(seconds(1_000_000));
    finish(world);
}

/// DISC-17, DI-22: fails if the steps of a discovery, or the NIDs that are tried, have a time of their own each.
#[test]
fn whichever_step_of_a_discovery_is_not_answered_it_fails_when_the_time_for_all_steps_is_over() {
    let over_by = |world: &World| world.standing(A, b(1)).unwrap().failure.unwrap();
    // Number of messages that arrive before nothing gets through, whether the peer's other NIDs are known, and the step
    // that fails.
    for (arrive, several, step) in
        [(0, false, Step::Ping), (1, false, Step::Ping), (2, false, Step::Push), (0, true, Step::Ping)]
    {
        let mut world = chosen("T17, unresponsive");
        add(&mut world, 1);
        add(&mut world, 3);
        if several {
            world.with_core(A, |core| core.admin().add_peer(&[b(1), b(2), b(3)])).unwrap().unwrap();
        }
        let op = world.start_op(A, b(1), OpKind::PutWithAck).unwrap();
        for _ in 0..arrive {
            let next = world.ready()[0];
            world.deliver(next);
        }
        world.cut(A, B);
        world.cut(B, A);
        world.run_in_order();
        let began = world.op(op).unwrap().started;
        let left = world.op(op).unwrap().left.unwrap().since(began);
        // Messages to a peer that was heard use the known NIDs, until the operation's time is over.
        let (errno, most) = (Err(Errno::TimedOut), if arrive < 2 { 11 } else { 75 });
        assert_eq!(
            world.op(op).unwrap().sent.map(|sent| sent.is_err() || arrive >= 2),
            Some(true),
            "{arrive}"
        );
        if arrive < 2 {
            assert_eq!(world.op(op).unwrap().sent, Some(errno), "{arrive} {several}");
        }
        assert!(left <= Duration::from_secs(most), "{arrive} {several}: {left:?}");
        let failure = over_by(&world);
        assert_eq!(
            (failure.step, failure.errno, failure.limit),
            (step, Errno::TimedOut, Some(10)),
            "{arrive} {several}"
        );
        world.heal();
        assert!(talk(&mut world, A, b(1)));
        world.check_agreement(A, B);
        world.give_up_ops(seconds(1_000_000));
        finish(world);
    }
}

/// DI-22: fails if the setting has no effect.
#[test]
fn the_time_of_a_discovery_is_a_setting() {
    for limit in [1, 3, 30] {
        let mut world = chosen("discovery_timeout");
        add(&mut world, 1);
        add(&mut world, 1);
        world
            .with_core(A, |core| {
                core.admin().change_settings(|settings| settings.set(Setting::DiscoveryTimeout, limit))
            })
            .unwrap()
            .unwrap();
        world.cut(A, B);
        let began = world.now();
        world.discover(A, b(1), false);
        world.run_in_order();
        let standing = world.standing(A, b(1)).unwrap();
        assert_eq!(standing.failure.unwrap().limit, Some(limit as u32));
        let op = world.start_op(A, b(1), OpKind::PutWithAck).unwrap();
        world.run_in_order();
        let took = world.op(op).unwrap().left.unwrap().since(world.op(op).unwrap().started);
        assert!(took <= Duration::from_secs(limit as u64 + 1), "{limit}: {took:?} since {began:?}");
        world.give_up_ops(seconds(1_000_000));
        finish(world);
    }
}

/// The connection breaks at any moment of a discovery: the loss is noticed, and the next try succeeds.
#[test]
fn a_discovery_whose_connection_breaks_ends_and_the_next_one_succeeds() {
    in_all_orders(
        "a break",
        800,
        |world| {
            add(world, 1);
            add(world, 2);
            vec![
                Actor::on(A).then(ask(A, b(1))),
                Actor::on(B).then(ask(B, a(1))),
                Actor::anywhere().then(|world| world.break_between(A, B)),
            ]
        },
        |world| {
            world.give_up_ops(seconds(1_000_000));
            let reached = talk(world, A, b(1)) && talk(world, B, a(1));
            world.expect(reached, || "they do not reach each other".to_owned());
            world.check_agreement(A, B);
        },
    );
}

/// A node that restarts numbers its configurations from the beginning.
#[test]
fn a_node_that_crashes_at_any_step_and_restarts_is_discovered_with_its_new_nids() {
    in_all_orders(
        "a restart",
        800,
        |world| {
            add(world, 1);
            add(world, 3);
            let met = talk(world, A, b(1));
            world.expect(met, || "they do not meet".to_owned());
            let restart = Actor::anywhere().then(|world| world.crash(B)).then(|world| {
                world.respecify(B, NodeSpec::new(&[b(1), b(4)]));
                world.start(B);
            });
            vec![
                Actor::anywhere().then(|world| world.add_ni(A, a(2))),
                restart.then(ask(B, a(1))),
                Actor::on(A).then(ask(A, b(1))),
            ]
        },
        |world| {
            world.give_up_ops(seconds(1_000_000));
            for _ in 0..4 {
                talk(world, B, a(1));
                talk(world, A, b(1));
                world.give_up_ops(seconds(1_000_000));
                world.run_in_order();
            }
            let reached = talk(world, A, b(1)) && talk(world, B, a(1));
            world.expect(reached, || "they do not reach each other".to_owned());
            world.check_agreement(A, B);
        },
    );
}

/// Three NIDs, and three tries: the next discovery must not begin again with the first of them.
#[test]
fn a_peer_that_kept_only_its_last_nid_is_discovered_after_all_nids_failed_once() {
    let mut world = chosen("the last of three NIDs");
    add(&mut world, 1);
    add(&mut world, 3);
    assert!(talk(&mut world, A, b(1)));
    world.crash(B);
    // B must get a push about the change, and is down.
    world.add_ni(A, a(2));
    world.run_in_order();
    world.respecify(B, NodeSpec::new(&[b(3)]));
    world.start(B);
    assert!(talk(&mut world, A, b(3)));
    assert!(talk(&mut world, B, a(1)));
    world.check_agreement(A, B);
    world.give_up_ops(seconds(1_000_000));
    finish(world);
}

/// B pushes from a NID by which it is not known; the ping to that NID is lost, and A takes the confirmed push for known.
#[test]
fn a_peer_restarted_with_another_nid_is_pinged_at_the_old_one_if_the_ping_to_the_new_one_was_lost() {
    let (other_a, other_b) = (nid(1, 0x101), nid(1, 0x201));
    let mut world = chosen("a lost question");
    world.add_node(NodeSpec::new(&[a(1), other_a]));
    world.add_node(NodeSpec::new(&[b(1), b(2)]));
    // The configuration is changed so that B's sequence is lower in its next incarnation.
    world.add_ni(B, b(3));
    world.remove_ni(B, b(3));
    assert!(talk(&mut world, A, b(1)));
    world.crash(B);
    world.respecify(B, NodeSpec::new(&[other_b, b(1)]));
    world.start(B);
    world.cut(A, B);
    world.discover(A, other_b, false);
    world.heal();
    assert!(talk(&mut world, B, other_a));
    assert_eq!(
        world.standing(B, other_a).unwrap().node_sequence,
        world.core(B).unwrap().admin().node_sequence()
    );
    assert!(talk(&mut world, A, b(1)) && talk(&mut world, B, a(1)));
    world.check_agreement(A, B);
    world.give_up_ops(seconds(1_000_000));
    finish(world);
}
