//! DISC-6 to DISC-8, DISC-18, DISC-19, DISC-21: nodes that do not discover, are of older versions, or change their mode.

use super::*;
use lnet_core::stats::MessageOutcome;
use lnet_core::topology::PeerNi;
use lnet_sim::Purpose;
use lnet_wire::ping_info::Features;
use std::sync::Arc;

/// DISC-6: fails if a node without discovery becomes a peer with several NIDs, or gets a push.
#[test]
fn a_node_without_discovery_is_a_peer_per_nid_and_gets_no_push() {
    in_all_orders(
        "T6",
        500,
        |world| {
            add(world, 2);
            add_with(world, 2, DiscoveryMode::Off);
            vec![Actor::on(A).then(ask(A, b(2))), Actor::on(A).then(ask(A, b(1)))]
        },
        |world| {
            all_succeeded(world);
            world.check_agreement(A, B);
            let counts = world.counts();
            world.expect(counts.of(Purpose::Push) == 0, || "a push".to_owned());
            let pings = counts.between(A, B).pings;
            world.expect(pings == 2, || format!("{pings} pings"));
        },
    );
}

/// DISC-6b: fails if a push to a node that has switched discovery off is not acknowledged, or changes anything.
#[test]
fn a_push_to_a_node_that_switched_discovery_off_is_acknowledged_and_changes_nothing() {
    let mut world = chosen("T6b");
    add(&mut world, 2);
    add(&mut world, 2);
    assert!(talk(&mut world, A, b(1)));
    world.set_discovery(B, DiscoveryMode::Off);
    world.break_between(B, A);
    world.add_ni(A, a(3));
    let push = world.ready().into_iter().find(|key| key.receiver() == B).unwrap();
    world.deliver(push);
    let ack = world.ready().into_iter().find(|key| key.receiver() == A).unwrap();
    world.deliver(ack);
    assert_eq!(
        world.standing(A, b(1)).unwrap().node_sequence,
        world.core(A).unwrap().admin().node_sequence()
    );
    assert_eq!(world.believed(B, a(1)), [a(1), a(2)]);
    finish(world);
}

/// DISC-7: fails if a node without discovery does not ping a peer once before its first use.
#[test]
fn a_node_without_discovery_pings_a_peer_once_before_its_first_use() {
    in_all_orders(
        "T7",
        500,
        |world| {
            add_with(world, 2, DiscoveryMode::Off);
            add(world, 2);
            vec![
                Actor::on(A).then(ask(A, b(1))).then(ask(A, b(1))),
                Actor::on(B).then(ask(B, a(1))).then(ask(B, a(1))),
            ]
        },
        |world| {
            all_succeeded(world);
            let counts = world.counts();
            world.expect(counts.of(Purpose::Push) == 0, || "a push".to_owned());
            for (from, to) in [(A, B), (B, A)] {
                // A message of A may leave by another of its NIDs, which is another peer to B.
                let pings = counts.between(from, to).pings;
                world.expect(pings == 1, || format!("{from} pings {pings} times"));
            }
            let multi_rail =
                world.core(B).is_some_and(|core| core.admin().peers().iter().any(|it| it.is_multi_rail()));
            world.expect(!multi_rail, || "B takes A for multi-rail".to_owned());
        },
    );
}

/// DISC-8: fails if switching discovery on sends anything before a peer is used.
#[test]
fn switching_discovery_on_sends_nothing_until_a_peer_is_used() {
    let mut world = chosen("T8");
    add_with(&mut world, 2, DiscoveryMode::Off);
    add(&mut world, 2);
    add(&mut world, 2);
    for to in [b(1), c(1)] {
        assert!(talk(&mut world, A, to));
    }
    let before = world.counts().messages();
    world.set_discovery(A, DiscoveryMode::On);
    world.run_in_order();
    assert_eq!(world.counts().messages(), before);
    assert!(talk(&mut world, A, b(1)));
    world.check_agreement(A, B);
    assert_eq!(world.believed(A, c(1)), [c(1)]);
    assert_eq!(world.counts().between(A, C).pings, 1);
    assert!(talk(&mut world, C, a(1)));
    world.check_agreement(A, C);
    finish(world);
}

/// DISC-8b: fails if switching discovery off is not pushed, or if the peers do not discover the node again.
#[test]
fn switching_discovery_off_is_pushed_and_the_peers_rediscover_the_node() {
    in_all_orders(
        "T8b",
        300,
        |world| {
            add(world, 2);
            add(world, 2);
            let met = talk(world, A, b(1));
            world.expect(met, || "they do not meet".to_owned());
            vec![
                Actor::on(A).then(|world| world.set_discovery(A, DiscoveryMode::Off)),
                Actor::on(B).then(ask(B, a(1))).then(ask(B, a(1))),
            ]
        },
        |world| {
            all_succeeded(world);
            let used = talk(world, B, a(1)) && talk(world, B, a(2));
            world.expect(used, || "A is not reached any more".to_owned());
            for rail in 1..=2 {
                let known = world.believed(B, a(rail));
                world.expect(known == [a(rail)], || format!("B takes {known:?} for one"));
            }
        },
    );
}

/// DISC-8b, bck-*: an operator's configuration stays.
#[test]
fn a_configured_peer_stays_when_it_stops_discovering() {
    let mut world = chosen("T8b, configured");
    add(&mut world, 2);
    add(&mut world, 2);
    world.with_core(B, |core| core.admin().make_peer(a(1), true, false)).unwrap().unwrap();
    world.with_core(B, |core| core.admin().add_peer_nid(a(1), a(2), true)).unwrap().unwrap();
    assert!(talk(&mut world, B, a(1)));
    world.set_discovery(A, DiscoveryMode::Off);
    world.run_in_order();
    assert!(talk(&mut world, B, a(1)));
    assert_eq!(world.believed(B, a(2)), [a(1), a(2)]);
    assert!(world.core(B).unwrap().admin().peer(a(1)).unwrap().0.is_configured());
    finish(world);
}

/// DISC-18: fails if a node of an older version is pinged more than once, or used from different NIDs.
#[test]
fn a_node_of_an_older_version_is_pinged_once_and_always_used_from_the_same_nid() {
    in_all_orders(
        "T18",
        300,
        |world| {
            add(world, 3);
            let spec = spec(world, 2).down_rev();
            world.add_node(spec);
            vec![(0..4).fold(Actor::on(A), |actor, _| actor.then(ask(A, b(2))))]
        },
        |world| {
            all_succeeded(world);
            let cost = world.counts().between(A, B);
            world.expect((cost.pings, cost.pushes) == (1, 0), || format!("{cost:?}"));
            // The ping may have come from another NID.
            let asked = |peer_ni: &Arc<PeerNi>| peer_ni.counters().read(MessageOutcome::Received).put > 0;
            let sources =
                world.core(B).map_or(0, |core| core.peer_nis().iter().filter(|it| asked(it)).count());
            world.expect(sources == 1, || format!("B was used from {sources} NIDs"));
        },
    );
}

/// DISC-18: fails if a node with invalid ping replies is not pinged three times, or not used by its NID then.
#[test]
fn a_node_with_invalid_ping_replies_is_pinged_three_times_and_then_used_by_its_nid() {
    let mut world = chosen("T18, no status");
    add(&mut world, 2);
    let spec = spec(&world, 2).down_rev();
    world.add_node(NodeSpec { hides: spec.hides | Features::NI_STATUS, ..spec });
    assert!(talk(&mut world, A, b(1)));
    assert!(talk(&mut world, A, b(1)));
    assert_eq!(world.counts().between(A, B).pings, 3);
    assert_eq!(world.counts().of(Purpose::Push), 0);
    finish(world);
}

/// DISC-19: fails if a node that is restarted with an older version is not recognised at the next ping.
#[test]
fn a_node_restarted_with_an_older_version_is_recognised_at_the_next_ping() {
    let mut world = chosen("T19");
    add(&mut world, 2);
    add(&mut world, 2);
    assert!(talk(&mut world, A, b(1)));
    world.crash(B);
    let older = NodeSpec::new(&[b(1), b(2)]).down_rev();
    world.respecify(B, older);
    world.start(B);
    world.discover(A, b(1), true);
    world.run_in_order();
    assert!(talk(&mut world, A, b(1)));
    assert!(talk(&mut world, A, b(2)));
    assert!(!world.core(A).unwrap().admin().peer(b(1)).unwrap().0.is_multi_rail());
    let known = [world.believed(A, b(1)), world.believed(A, b(2))];
    assert_eq!(known, [vec![b(1)], vec![b(2)]]);
    assert!(talk(&mut world, B, a(1)));
    finish(world);
}

/// bck-025, DISC-21: fails if a node that is multi-rail and one from before Multi-Rail do not reach each other,
/// whoever begins. Without routers.
#[test]
fn nodes_of_any_version_and_mode_reach_each_other_and_rails_are_joined_only_where_both_discover() {
    let kinds = |spec: NodeSpec| {
        [
            spec.clone(),
            spec.clone().with_discovery(DiscoveryMode::Verify),
            spec.clone().with_discovery(DiscoveryMode::Off),
            spec.down_rev(),
        ]
    };
    for first in 0..4 {
        for second in 0..4 {
            in_all_orders(
                &format!("T21, {first} and {second}"),
                60,
                |world| {
                    let spec_a = kinds(spec(world, 2))[first].clone();
                    world.add_node(spec_a);
                    let spec_b = kinds(spec(world, 2))[second].clone();
                    world.add_node(spec_b);
                    vec![Actor::on(A).then(ask(A, b(1))), Actor::on(B).then(ask(B, a(1)))]
                },
                |world| {
                    all_succeeded(world);
                    world.check_agreement(A, B);
                },
            );
        }
    }
}
