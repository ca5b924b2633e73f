//! DISC-15, DISC-16: nodes with more NIDs than there was room for.

use super::*;

/// DISC-15.
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

/// DISC-16.
#[test]
fn a_ping_reply_larger_than_the_buffer_is_requested_again_with_a_larger_one() {
    for rails in [15, 16, 17, 40, 199] {
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

/// DISC-16, both sides.
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
