//! DISC-3 to DISC-5: operators and discovery change the same peer.

use super::*;
use lnet_core::Errno;
use lnet_core::discovery::Difference;

fn made(world: &mut World, node: NodeId, nid: Nid) {
    let made = world.with_core(node, |core| core.admin().make_peer(nid, true, false));
    world.expect(made == Some(Ok(())), || format!("{nid} is not made: {made:?}"));
}

/// DISC-3: fails if discovery changes the NIDs of a configured peer.
#[test]
fn a_configured_peer_keeps_its_nids_whatever_discovery_finds() {
    in_all_orders(
        "T3",
        1500,
        |world| {
            add(world, 1);
            add(world, 3);
            let operator = Actor::on(A).then(|world| made(world, A, b(1))).then(|world| {
                let added = world.with_core(A, |core| core.admin().add_peer_nid(b(1), b(2), true));
                world.expect(added == Some(Ok(())), || format!("the NID is not added: {added:?}"));
            });
            vec![operator, Actor::on(A).then(ask(A, b(1))), Actor::on(B).then(ask(B, a(1)))]
        },
        |world| {
            all_succeeded(world);
            let known = world.believed(A, b(2));
            world.expect(known == [b(1), b(2)], || format!("A takes {known:?} for one"));
            let peer = world.core(A).and_then(|core| core.admin().peer(b(1)));
            world.expect(peer.is_some_and(|(peer, _)| peer.is_configured()), || "not configured".to_owned());
        },
    );
}

/// DISC-4: fails if a peer cannot be deleted while it is discovered, or not created again.
#[test]
fn a_peer_can_be_deleted_while_it_is_discovered_and_made_again() {
    in_all_orders(
        "T4",
        1500,
        |world| {
            add(world, 2);
            add(world, 2);
            let delete = |world: &mut World| {
                let deleted = world.with_core(A, |core| core.admin().delete_peer(b(1), None, false));
                let known = [Some(Ok(())), Some(Err(Errno::NotFound))];
                world.expect(known.contains(&deleted), || format!("not deleted: {deleted:?}"));
            };
            let operator = Actor::on(A).then(delete).then(|world| made(world, A, b(1))).then(delete);
            vec![operator, Actor::on(A).then(ask(A, b(1)))]
        },
        |world| {
            all_succeeded(world);
            let again = talk(world, A, b(2)) && talk(world, B, a(1));
            world.expect(again, || "they do not meet again".to_owned());
            world.check_agreement(A, B);
        },
    );
}

/// DISC-4, on the discovered node, where an arriving message makes the peer.
#[test]
fn a_peer_can_be_deleted_while_it_pushes() {
    in_all_orders(
        "T4, passive",
        1500,
        |world| {
            add(world, 2);
            add(world, 2);
            let delete = |rail: u32| {
                move |world: &mut World| {
                    world.with_core(B, |core| core.admin().delete_peer(a(rail), None, false));
                }
            };
            vec![Actor::on(A).then(ask(A, b(1))), Actor::on(B).then(delete(1)).then(delete(2))]
        },
        |world| {
            all_succeeded(world);
            let again = talk(world, B, a(1)) && talk(world, A, b(1));
            world.expect(again, || "they do not meet again".to_owned());
            world.check_agreement(A, B);
        },
    );
}

/// OM-33: fails if a peer is lost, or duplicated, after the net of its primary NID has been left, while it is discovered
/// and used.
#[test]
fn a_peer_outlives_each_net_that_this_node_leaves_and_joins_again() {
    let (a1, b1) = (nid(1, 0x101), nid(1, 0x201));
    for left in [a(1), a1] {
        let stays = if left == a1 { b(1) } else { b1 };
        in_all_orders(
            "a net is left",
            400,
            |world| {
                world.add_node(NodeSpec::new(&[a(1), a1]));
                world.add_node(NodeSpec::new(&[b(1), b1]));
                let met = talk(world, A, b(1));
                world.expect(met, || "they do not meet".to_owned());
                let operator = Actor::anywhere().then(move |world| world.remove_ni(A, left));
                vec![
                    operator,
                    Actor::on(A).then(ask(A, b(1))).then(ask(A, b1)),
                    Actor::on(B).then(ask(B, a(1))),
                ]
            },
            |world| {
                world.give_up_ops(seconds(1_000_000));
                let reached = talk(world, A, b(1)) && talk(world, A, b1);
                world.expect(reached, || "B is not reached any more".to_owned());
                let peers = world.core(A).map(|core| core.admin().peers()).unwrap_or_default();
                world.expect(peers.len() == 1, || format!("A has {} peers", peers.len()));
                let path = world.core(A).and_then(|core| core.data_path().select_path(None, b(1)).ok());
                world.expect(path.is_some_and(|path| path.destination() == stays), || {
                    "another way".to_owned()
                });
                world.add_ni(A, left);
                let again = talk(world, A, b(1)) && talk(world, B, stays_of(left, a1)) && talk(world, A, b1);
                world.expect(again, || "they do not talk again".to_owned());
                world.check_agreement(A, B);
            },
        );
    }
}

/// Returns the NID of A that is not removed.
fn stays_of(left: Nid, other: Nid) -> Nid {
    if left == other { a(1) } else { other }
}

/// DISC-5: fails if a configured peer that reports other NIDs is changed, or if the differences are not recorded.
#[test]
fn a_configured_peer_that_reports_other_nids_stays_unchanged_and_the_differences_are_recorded() {
    let mut world = chosen("T5");
    add(&mut world, 1);
    add(&mut world, 2);
    world.with_core(A, |core| core.admin().make_peer(b(1), false, false)).unwrap().unwrap();
    for _ in 0..3 {
        assert!(talk(&mut world, A, b(1)));
    }
    assert_eq!(world.believed(A, b(1)), [b(1)]);
    let standing = world.standing(A, b(1)).unwrap();
    assert!(standing.up_to_date, "{standing:?}");
    assert!(standing.differences.contains(&Difference::Extra(b(2))), "{standing:?}");
    assert!(standing.differences.contains(&Difference::MultiRail(true)), "{standing:?}");
    assert_eq!(world.counts().between(A, B).pings, 1);
    finish(world);
}

/// dyn-060, 5.7: fails if verification changes a peer, or does not report the differences.
#[test]
fn verify_mode_changes_nothing_and_reports_the_differences() {
    let mut world = chosen("verification");
    add_with(&mut world, 2, DiscoveryMode::Verify);
    add(&mut world, 2);
    made(&mut world, A, b(1));
    assert!(talk(&mut world, A, b(1)));
    assert_eq!(world.believed(A, b(1)), [b(1)]);
    let standing = world.standing(A, b(1)).unwrap();
    // A message of B may have come from that NID, which makes it a separate peer.
    let [Difference::Extra(other) | Difference::Claimed(other)] = standing.differences[..] else {
        panic!("{standing:?}")
    };
    assert_eq!(other, b(2));
    finish(world);
}

/// A push was under way for so long that its receiver had heard of the next change, and had to forget the peer, when
/// the push arrived.
#[test]
fn a_stale_push_of_a_deleted_peer_is_not_applied() {
    let mut world = chosen("a late push");
    add(&mut world, 1);
    add(&mut world, 1);
    assert!(talk(&mut world, A, b(1)));
    world.add_ni(B, b(2));
    world.run_in_order();
    let late = world.core(B).unwrap().admin().node_sequence();
    world.remove_ni(B, b(2));
    world.run_in_order();
    assert_eq!(world.believed(A, b(1)), [b(1)]);
    world.with_core(A, |core| core.admin().delete_peer(b(1), None, false)).unwrap().unwrap();
    world.forge_push(b(1), a(1), late, &[b(1), b(2)]);
    world.run_in_order();
    assert!(talk(&mut world, A, b(1)) && talk(&mut world, B, a(1)));
    world.check_agreement(A, B);
    finish(world);
}

/// The ping happens only for a while, and not at a node that has forgotten no peer.
#[test]
fn a_first_push_causes_a_ping_only_after_a_peer_was_deleted() {
    for (deleted, pings) in [(false, 0), (true, 1)] {
        let mut world = chosen("a first push");
        add(&mut world, 1);
        add(&mut world, 1);
        add(&mut world, 1);
        assert!(talk(&mut world, A, c(1)));
        if deleted {
            world.with_core(A, |core| core.admin().delete_peer(c(1), None, false)).unwrap().unwrap();
        }
        assert!(talk(&mut world, B, a(1)));
        assert_eq!(world.counts().between(A, B).pings, pings);
        world.check_agreement(A, B);
        finish(world);
    }
}

/// An operator had given the NID to another peer, which is deleted, or forgotten with the net that it is on.
#[test]
fn a_peer_gets_a_refused_nid_when_the_configured_peer_that_had_it_is_deleted() {
    let (net_a, net_b) = (nid(1, 0x101), nid(1, 0x201));
    type Forget = fn(&mut World);
    let paths: [(&str, Forget); 2] = [
        ("it is deleted", |world| {
            world.with_core(A, |core| core.admin().delete_peer(nid(1, 0x201), None, false)).unwrap().unwrap();
        }),
        ("the net goes", |world| world.remove_ni(A, nid(1, 0x101))),
    ];
    for (name, forget) in paths {
        let mut world = chosen(name);
        world.add_node(NodeSpec::new(&[a(1), net_a]));
        world.add_node(NodeSpec::new(&[b(1), net_b]));
        made(&mut world, A, net_b);
        world.discover(A, b(1), false);
        world.run_in_order();
        assert_eq!(world.believed(A, b(1)), [b(1)], "{name}");
        forget(&mut world);
        world.run_in_order();
        assert_eq!(world.believed(A, b(1)), [b(1), net_b], "{name}");
        assert!(talk(&mut world, A, b(1)) && talk(&mut world, B, a(1)));
        world.check_agreement(A, B);
        finish(world);
    }
}
