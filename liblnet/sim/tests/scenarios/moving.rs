//! DISC-13, DISC-14: NIDs that move from one node to another.

use super::*;
use lnet_core::topology::PeerState;

/// DISC-13, DISC-9: the response to a ping may come after the push that reports the NID as removed.
#[test]
fn a_peer_whose_primary_nid_is_removed_gets_the_next_as_primary() {
    in_all_orders(
        "T13",
        500,
        |world| {
            add(world, 2);
            add(world, 3);
            let met = talk(world, A, b(1));
            world.expect(met, || "they do not meet".to_owned());
            vec![
                Actor::anywhere().then(|world| world.remove_ni(B, b(1))),
                Actor::on(A).then(|world| world.discover(A, b(2), false)),
            ]
        },
        // The next request finds out about messages that were lost on the way to the removed interface.
        |world| settle(world, A, B, b(2), a(1)),
    );
}

/// DISC-13: the primary NID is locked.
#[test]
fn a_locked_primary_nid_stays_after_its_node_removed_it() {
    let mut world = chosen("T13, locked");
    add(&mut world, 1);
    add(&mut world, 2);
    assert!(talk(&mut world, A, b(1)));
    let state = world.standing(A, b(1)).unwrap().state;
    let locked = PeerState(state.0 | PeerState::LOCK_PRIMARY.0);
    world.with_core(A, |core| core.admin().set_peer_state(b(1), locked)).unwrap().unwrap();
    world.remove_ni(B, b(1));
    world.add_ni(B, b(3));
    world.run_in_order();
    assert_eq!(world.believed(A, b(2)), [b(1), b(2), b(3)]);
    finish(world);
}

/// Makes an actor by which a NID goes from B to C, and A, which has met both, notices.
fn goes_from_b_to_c(world: &mut World, nid: Nid) -> Actor {
    for _ in 0..3 {
        add(world, 2);
    }
    let met = talk(world, A, b(1)) && talk(world, A, c(1));
    world.expect(met, || "they do not meet".to_owned());
    Actor::anywhere().then(move |world| world.remove_ni(B, nid)).then(move |world| world.add_ni(C, nid))
}

/// DISC-14: a secondary NID moves.
#[test]
fn a_nid_that_moves_to_another_node_belongs_to_that_node_only() {
    in_all_orders(
        "T14",
        600,
        |world| {
            let moved = goes_from_b_to_c(world, b(2));
            vec![moved]
        },
        |world| {
            world.check_agreement(A, B);
            world.check_agreement(A, C);
        },
    );
}

/// DISC-9, DISC-14: a peer meets a node by a NID that the node has just got, and the node loses another one meanwhile.
#[test]
fn a_short_lived_nid_is_not_kept_by_peers() {
    in_all_orders(
        "a passing NID",
        1500,
        |world| {
            add(world, 1);
            add(world, 1);
            let met = talk(world, A, b(1));
            world.expect(met, || "they do not meet".to_owned());
            let change = Actor::anywhere()
                .then(|world| world.add_ni(B, b(2)))
                .then(|world| world.add_ni(B, b(3)))
                .then(|world| world.remove_ni(B, b(3)));
            vec![change, Actor::on(A).then(ask(A, b(2)))]
        },
        |world| {
            world.give_up_ops(seconds(1_000_000));
            // A push whose confirmation went to the removed NID is sent again before the next request.
            let reached = talk(world, B, a(1));
            world.expect(reached, || "B does not reach A".to_owned());
            world.check_agreement(A, B);
        },
    );
}

/// DISC-14: the primary NID moves, and requests are on their way to it.
#[test]
fn a_primary_nid_that_moves_to_another_node_belongs_to_it_and_the_other_nids_stay() {
    in_all_orders(
        "T14, primary",
        600,
        |world| {
            let moved = goes_from_b_to_c(world, b(1));
            vec![moved, Actor::on(A).then(ask(A, b(1)))]
        },
        |world| {
            settle(world, A, C, c(1), a(1));
            settle(world, A, B, b(2), a(1));
            settle(world, A, C, b(1), a(2));
        },
    );
}

/// Fails if messages for a peer that was started again go to the node that has one of its NIDs now. `kept`: the NID that
/// the peer keeps.
fn restarts_without_a_nid(name: &str, kept: u32, moved: u32) {
    in_all_orders(
        name,
        400,
        |world| {
            add(world, 1);
            add(world, 2);
            add(world, 1);
            let met = (0..4).all(|_| talk(world, A, b(kept)));
            world.expect(met, || "they do not meet".to_owned());
            let restart = Actor::anywhere()
                .then(|world| world.crash(B))
                .then(move |world| {
                    world.respecify(B, NodeSpec::new(&[b(kept)]));
                    world.add_ni(C, b(moved));
                    world.start(B);
                })
                .then(ask(A, b(kept)))
                .then(ask(A, b(kept)))
                .then(ask(A, b(kept)));
            vec![restart]
        },
        |world| {
            let mut lines = world.trace().into_iter().map(|line| line.to_string());
            let strayed = lines.find(|line| line.contains(" C   gets") && line.contains("PUT"));
            world.expect(strayed.is_none(), || format!("not for C: {strayed:?}"));
            world.give_up_ops(seconds(1_000_000));
            let reached = talk(world, A, b(kept)) && talk(world, A, b(kept));
            world.expect(reached, || "B is not reached".to_owned());
        },
    );
}

/// DISC-9, DISC-14. dyn-065: fails if the node that has the NID of a peer now gets messages for that peer.
#[test]
fn nothing_for_a_peer_that_restarted_goes_to_the_node_that_has_its_second_nid_now() {
    restarts_without_a_nid("restart without the second NID", 1, 2);
}

/// DISC-9, DISC-14. dyn-065: fails if the node that has the NID of a peer now gets messages for that peer.
#[test]
fn nothing_for_a_peer_that_restarted_goes_to_the_node_that_has_its_primary_nid_now() {
    restarts_without_a_nid("restart without the primary NID", 2, 1);
}

/// A restarted peer has lost the information that it had acknowledged, and its sequence numbers repeat.
#[test]
fn a_peer_that_restarted_is_told_again_what_it_had_acknowledged() {
    for nids in [&[b(1), b(2)][..], &[b(1)], &[b(2), b(1)]] {
        let mut world = chosen("told again");
        add(&mut world, 2);
        add(&mut world, 2);
        assert!(talk(&mut world, A, b(1)) && talk(&mut world, B, a(1)));
        world.crash(B);
        world.respecify(B, NodeSpec::new(nids));
        world.start(B);
        assert!(talk(&mut world, A, b(1)), "{nids:?}");
        world.check_agreement(A, B);
        world.give_up_ops(seconds(1_000_000));
        finish(world);
    }
}

/// Lets two nodes exchange requests until they agree: some of them may go to NIDs that are gone.
fn settle(world: &mut World, one: NodeId, other: NodeId, to_other: Nid, to_one: Nid) {
    world.give_up_ops(seconds(1_000_000));
    for _ in 0..6 {
        talk(world, one, to_other);
        talk(world, other, to_one);
        world.give_up_ops(seconds(1_000_000));
        world.run_in_order();
    }
    let reached = talk(world, one, to_other) && talk(world, other, to_one);
    world.expect(reached, || "they do not reach each other".to_owned());
    world.check_agreement(one, other);
}
