//! DISC-2, DISC-11, DISC-12: one node is discovered by several of its NIDs at once.

use super::*;
use std::cell::Cell;

fn one_sided(rails_a: u32, rails_b: u32, most: usize) {
    in_all_orders(
        "T2, T11",
        most,
        |world| {
            add(world, rails_a);
            add(world, rails_b);
            (1..=rails_b).map(|rail| Actor::on(A).then(ask(A, b(rail)))).collect()
        },
        |world| {
            all_succeeded(world);
            world.check_agreement(A, B);
            let peers = [A, B].map(|node| world.core(node).map_or(0, |core| core.admin().peers().len()));
            world.expect(peers == [1, 1], || format!("{peers:?} peers"));
            let cost = world.counts().between(A, B);
            world.expect(cost.pings <= rails_b && cost.pushes <= 2, || format!("A: {cost:?}"));
            let cost = world.counts().between(B, A);
            world.expect(cost.pings == 0 && cost.pushes <= 2, || format!("B: {cost:?}"));
        },
    );
}

/// DISC-2a, DISC-11: fails if a peer that is discovered by two NIDs at once stays two peers.
#[test]
fn a_peer_that_is_discovered_by_two_nids_at_once_becomes_one_peer() {
    one_sided(1, 2, 1500);
}

/// DISC-11: fails if a peer that is discovered by three NIDs at once stays several peers.
#[test]
fn a_peer_that_is_discovered_by_three_nids_at_once_becomes_one_peer() {
    one_sided(1, 3, 800);
}

/// DISC-2b: fails if the peers that pings from two NIDs have created are not merged by the push.
#[test]
fn peers_that_pings_from_two_nids_have_made_are_merged_by_the_push() {
    one_sided(2, 2, 1500);
    one_sided(3, 3, 500);
}

/// OM-25: programs match arriving messages by the primary NID that they got.
#[test]
fn the_primary_nid_returned_to_a_program_stays_whatever_the_order_of_discovery_results() {
    thread_local! {
        static TOLD: Cell<Option<Nid>> = const { Cell::new(None) };
    }
    let primary = |world: &mut World| world.with_core(A, |core| core.admin().primary_nid(b(2)));
    in_all_orders(
        "OM-25",
        1500,
        move |world| {
            add(world, 2);
            add(world, 2);
            vec![
                Actor::on(A).then(move |world| TOLD.set(primary(world))),
                Actor::on(A).then(ask(A, b(1))),
                Actor::on(B).then(ask(B, a(1))),
            ]
        },
        move |world| {
            all_succeeded(world);
            let now = primary(world);
            world.expect(now == TOLD.get(), || format!("told {:?}, and now {now:?}", TOLD.get()));
        },
    );
}

/// DISC-2b: pings from NIDs that are given.
#[test]
fn a_node_that_sends_from_each_nid_is_one_peer_after_its_push() {
    in_all_orders(
        "T2b",
        1000,
        |world| {
            add(world, 2);
            add(world, 2);
            let from = |rail| {
                move |world: &mut World| {
                    let spec = OpSpec { source: Some(a(rail)), ..OpSpec::default() };
                    world.start_op_with(A, b(rail), spec);
                }
            };
            vec![Actor::on(A).then(from(1)), Actor::on(A).then(from(2))]
        },
        |world| {
            all_succeeded(world);
            world.check_agreement(A, B);
        },
    );
}

/// DISC-2c: fails if a node of an older version becomes one peer with several NIDs.
#[test]
fn a_node_of_an_older_version_stays_a_peer_for_each_of_its_nids() {
    in_all_orders(
        "T2c",
        500,
        |world| {
            let spec = spec(world, 2).down_rev();
            world.add_node(spec);
            add(world, 2);
            let from = |rail| {
                move |world: &mut World| {
                    let spec = OpSpec { source: Some(a(rail)), ..OpSpec::default() };
                    world.start_op_with(A, b(1), spec);
                }
            };
            vec![
                Actor::on(A).then(from(1)).then(from(2)),
                Actor::on(B).then(ask(B, a(1))),
                Actor::on(B).then(ask(B, a(2))),
            ]
        },
        |world| {
            all_succeeded(world);
            for rail in 1..=2 {
                let known = world.believed(B, a(rail));
                world.expect(known == [a(rail)], || format!("B takes {known:?} for one"));
            }
            let pushes = world.counts().between(B, A).pushes;
            world.expect(pushes == 0, || format!("{pushes} pushes to a node that knows none"));
        },
    );
}

/// DISC-12: fails if one of two nodes that discover each other by several NIDs at once becomes several peers.
#[test]
fn two_nodes_that_discover_each_other_by_several_nids_at_once_are_one_peer_each() {
    in_all_orders(
        "T12",
        1500,
        |world| {
            add(world, 2);
            add(world, 2);
            vec![
                Actor::on(A).then(ask(A, b(1))),
                Actor::on(A).then(ask(A, b(2))),
                Actor::on(B).then(ask(B, a(1))),
                Actor::on(B).then(ask(B, a(2))),
            ]
        },
        |world| {
            all_succeeded(world);
            world.check_agreement(A, B);
            for (from, to) in [(A, B), (B, A)] {
                let cost = world.counts().between(from, to);
                world.expect(cost.pings <= 2 && cost.pushes <= 2, || format!("{from} {cost:?}"));
            }
        },
    );
}
