//! DISC-15, DISC-16: nodes with more NIDs than the buffer has space for.

use super::*;
use lnet_core::Setting;

/// DISC-15: fails if a push that is larger than the buffer causes no ping, or if the next push does not fit.
#[test]
fn a_push_larger_than_the_buffer_causes_a_ping_and_the_next_push_fits() {
    let mut world = chosen("T15");
    add(&mut world, 1);
    add(&mut world, 2);
    assert!(talk(&mut world, A, b(1)));
    for rail in 3..=20 {
        world.add_ni(B, b(rail));
    }
    world.run_in_order();
    world.check_agreement(A, B);
    let pings = world.counts().between(A, B).pings;
    assert!(pings >= 2, "{pings}");
    world.remove_ni(B, b(20));
    world.add_ni(B, b(21));
    world.run_in_order();
    world.check_agreement(A, B);
    assert_eq!(world.counts().between(A, B).pings, pings);
    finish(world);
}

/// DISC-16: fails if a ping reply that is larger than the buffer is not requested again with a larger one.
#[test]
fn a_ping_reply_larger_than_the_buffer_is_requested_again_with_a_larger_one() {
    for rails in [15, 16, 17, 40, 199, 1000] {
        let mut world = chosen("T16");
        add(&mut world, 1);
        add(&mut world, rails);
        assert!(talk(&mut world, A, b(rails)));
        world.check_agreement(A, B);
        let pings = world.counts().between(A, B).pings;
        assert_eq!(pings, if rails < 16 { 1 } else { 2 }, "{rails} NIDs");
        finish(world);
    }
}

/// DISC-16: fails if two nodes with many NIDs that discover each other at the same time do not end up with the same NIDs.
#[test]
fn two_nodes_with_many_nids_discover_each_other_at_once() {
    in_all_orders(
        "T16, both",
        200,
        |world| {
            add(world, 20);
            add(world, 30);
            vec![Actor::on(A).then(ask(A, b(1))), Actor::on(B).then(ask(B, a(1)))]
        },
        |world| {
            all_succeeded(world);
            world.check_agreement(A, B);
        },
    );
}

/// Returns the NIDs of B as A knows them.
fn known_of_b(world: &World) -> Vec<Nid> {
    world.core(A).unwrap().admin().peer(b(1)).map_or_else(Vec::new, |(peer, _)| peer.nids.clone())
}

/// Sets the number of NIDs of a peer that A keeps.
fn keep_at_most(world: &mut World, nids: i64) {
    world.with_core(A, |core| {
        core.admin().change_settings(|settings| settings.set(Setting::MaxInterfaces, nids)).unwrap()
    });
}

/// Fails if a node with more NIDs than the maximum is known by one alone, or by others than its first ones; or if it is
/// pinged again and again.
#[test]
fn of_a_node_with_more_nids_than_are_kept_the_first_are_known() {
    for (kept, nids) in [(4096, 1000), (200, 200), (200, 201), (200, 250), (16, 17), (16, 100)] {
        let mut world = chosen("more NIDs than are kept, in a reply");
        add(&mut world, 1);
        add(&mut world, nids);
        keep_at_most(&mut world, kept);
        assert!(talk(&mut world, A, b(1)));
        let first: Vec<Nid> = (1..=nids.min(kept as u32)).map(b).collect();
        assert_eq!(known_of_b(&world), first, "{nids} NIDs");
        let pings = world.counts().between(A, B).pings;
        assert!(pings <= 2, "{nids} NIDs: {pings} pings");
        finish(world);
    }
}

/// The same for a node that grows: its push is longer than the buffer.
#[test]
fn of_a_node_that_pushes_more_nids_than_are_kept_the_first_are_known() {
    let mut world = chosen("more NIDs than are kept, in a push");
    add(&mut world, 1);
    add(&mut world, 3);
    keep_at_most(&mut world, 200);
    assert!(talk(&mut world, A, b(1)));
    for rail in 4..=230 {
        world.add_ni(B, b(rail));
        if rail % 50 == 0 {
            world.run_in_order();
        }
    }
    world.run_in_order();
    assert_eq!(known_of_b(&world), (1..=200).map(b).collect::<Vec<_>>());
    let pings = world.counts().between(A, B).pings;
    world.remove_ni(B, b(7));
    world.run_in_order();
    assert_eq!(known_of_b(&world), (1..=201).filter(|rail| *rail != 7).map(b).collect::<Vec<_>>());
    assert_eq!(world.counts().between(A, B).pings, pings, "the push fits");
    finish(world);
}

/// Fails if a node that grows to a thousand NIDs is not known with all of them, or if its pushes do not fit in the end.
#[test]
fn a_node_that_grows_to_a_thousand_nids_is_known_with_all_of_them() {
    let mut world = chosen("a thousand NIDs, in pushes");
    add(&mut world, 1);
    add(&mut world, 3);
    assert!(talk(&mut world, A, b(1)));
    for rail in 4..=1000 {
        world.add_ni(B, b(rail));
        if rail % 100 == 0 {
            world.run_in_order();
        }
    }
    world.check_agreement(A, B);
    assert_eq!(known_of_b(&world).len(), 1000);
    let pings = world.counts().between(A, B).pings;
    world.remove_ni(B, b(7));
    world.run_in_order();
    world.check_agreement(A, B);
    assert_eq!(world.counts().between(A, B).pings, pings, "the push fits");
    assert!(talk(&mut world, A, b(1000)));
    finish(world);
}
