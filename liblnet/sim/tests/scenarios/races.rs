//! DISC-9: newer pushes and replies that overtake older ones.

use super::*;

/// DISC-9: pushes that arrive in the wrong order.
#[test]
fn a_stale_push_does_not_restore_the_earlier_configuration() {
    in_all_orders(
        "T9",
        1500,
        |world| {
            add(world, 1);
            add(world, 1);
            let met = talk(world, A, b(1));
            world.expect(met, || "they do not meet".to_owned());
            let late = world.core(A).map_or(0, |core| core.admin().node_sequence());
            vec![
                Actor::anywhere()
                    .then(|world| world.add_ni(A, a(2)))
                    .then(|world| world.add_ni(A, a(3)))
                    .then(move |world| world.forge_push(a(1), b(1), late + 1, &[a(1), a(2)])),
            ]
        },
        |world| world.check_agreement(A, B),
    );
}

/// DISC-9: only the late push arrives.
#[test]
fn an_old_push_has_no_lasting_effect() {
    let mut world = chosen("T9, alone");
    add(&mut world, 2);
    add(&mut world, 2);
    assert!(talk(&mut world, A, b(1)));
    world.forge_push(a(1), b(1), 1, &[a(1)]);
    world.run_in_order();
    world.check_agreement(A, B);
    finish(world);
}

/// DISC-9, DISC-13: the late push comes from the NID by which the peer was known, and which the peer has lost.
#[test]
fn an_old_push_from_a_nid_that_is_gone_does_not_bring_it_back() {
    in_all_orders(
        "T9, from a NID that is gone",
        800,
        |world| {
            add(world, 1);
            add(world, 2);
            let met = talk(world, A, b(1));
            world.expect(met, || "they do not meet".to_owned());
            let now = world.core(B).map_or(0, |core| core.admin().node_sequence());
            vec![
                Actor::anywhere()
                    .then(move |world| world.forge_push(b(1), a(1), now, &[b(1), b(2)]))
                    .then(|world| world.remove_ni(B, b(1))),
            ]
        },
        |world| {
            let reached = talk(world, B, a(1));
            world.expect(reached, || "B does not reach A".to_owned());
            world.check_agreement(A, B);
        },
    );
}

/// DISC-9: the response to a ping is overtaken by a push, on another connection or from another interface.
#[test]
fn a_stale_ping_reply_does_not_override_a_later_push() {
    let explored = in_all_orders(
        "T9, reply",
        3000,
        |world| {
            add(world, 1);
            add(world, 1);
            let met = talk(world, A, b(1));
            world.expect(met, || "they do not meet".to_owned());
            world.double_connections(A, B);
            vec![
                Actor::anywhere().then(|world| world.add_ni(A, a(2))),
                Actor::on(B).then(|world| world.discover(B, a(1), false)),
            ]
        },
        |world| world.check_agreement(A, B),
    );
    assert!(explored.all);
}

/// Tests two nodes that change at the same time.
#[test]
fn two_nodes_that_change_at_once_both_learn_the_change() {
    in_all_orders(
        "both change",
        1500,
        |world| {
            add(world, 2);
            add(world, 2);
            let met = talk(world, A, b(1));
            world.expect(met, || "they do not meet".to_owned());
            vec![
                Actor::anywhere().then(|world| world.add_ni(A, a(3))).then(|world| world.add_ni(A, a(4))),
                Actor::anywhere().then(|world| world.add_ni(B, b(3))),
                Actor::on(B).then(ask(B, a(1))),
            ]
        },
        |world| {
            all_succeeded(world);
            world.check_agreement(A, B);
        },
    );
}

/// DISC-20: fails if interface changes under traffic are not pushed, or lose messages other than those to removed interfaces.
#[test]
fn interface_changes_under_traffic_are_pushed_and_lose_only_messages_to_removed_interfaces() {
    in_all_orders(
        "T20",
        800,
        |world| {
            add(world, 2);
            add(world, 2);
            let met = talk(world, A, b(1));
            world.expect(met, || "they do not meet".to_owned());
            let asks = |node, to| (0..2).fold(Actor::on(node), |actor, _| actor.then(ask(node, to)));
            vec![
                Actor::anywhere().then(|world| world.add_ni(B, b(3))).then(|world| world.add_ni(B, b(4))),
                asks(A, b(1)),
                asks(B, a(2)),
            ]
        },
        |world| {
            all_succeeded(world);
            world.check_agreement(A, B);
            let pushes = world.counts().between(B, A).pushes;
            world.expect(pushes <= 3, || format!("{pushes} pushes for two changes"));
        },
    );
}
