//! Recovery of unhealthy interfaces: they are tried again and again, at growing intervals (core-behaviour 4.6).

use super::*;
use lnet_core::Cause;
use lnet_core::fault::{DropRule, Filter, Odds};
use lnet_core::health::{NiKind, Recovery};
use std::num::NonZeroU32;

/// Returns the seconds between pings to this NID.
fn pauses(world: &World, to: Nid, since: Time) -> Vec<u64> {
    let pings = sent(world, A, Purpose::Ping, since);
    let times: Vec<f64> =
        pings.iter().filter(|(_, ping)| ping.header.dest_nid == to).map(|(at, _)| *at).collect();
    let before = std::iter::once(since.0.as_secs_f64()).chain(times.iter().copied());
    times.iter().zip(before).map(|(at, before)| (at - before).round() as u64).collect()
}

/// HE-52: the operator marks the interface as unhealthy, and nothing responds; every other interface is healthy.
#[test]
fn recovery_pings_without_replies_back_off() {
    let mut world = Pair { rails_a: 1, rails_b: 1, ..Pair::default() }.meet("back-off");
    world.crash(B);
    let since = world.now();
    world.with_core(A, |core| core.admin().set_peer_ni_health(Some(b(1)), 500));
    pass(&mut world, 4000.0);
    assert_eq!(pauses(&world, b(1), since)[..12], [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]);
    assert_eq!(world.core(A).unwrap().admin().recovery_queue(NiKind::Peer), [b(1)]);
    world.start(B);
    pass(&mut world, 1000.0);
    assert_eq!(peer_health(&world, A, b(1)), 1000);
    assert_eq!(world.core(A).unwrap().admin().recovery_queue(NiKind::Peer), []);
    let pings = sent(&world, A, Purpose::Ping, since).len();
    pass(&mut world, 5000.0);
    assert_eq!(sent(&world, A, Purpose::Ping, since).len(), pings, "it is well");
    finish(world);
}

/// HE-11: the interface ages out.
#[test]
fn recovery_pings_stop_when_nothing_was_received_for_the_recovery_limit() {
    let settings = Settings { recovery_limit: 60, ..Settings::default() };
    let mut world = Pair { rails_a: 1, rails_b: 1, settings, ..Pair::default() }.meet("it ages out");
    world.crash(B);
    let since = world.now();
    world.with_core(A, |core| core.admin().set_peer_ni_health(Some(b(1)), 500));
    pass(&mut world, 3000.0);
    assert_eq!(pauses(&world, b(1), since), [1, 2, 4, 8, 16]);
    assert_eq!(world.core(A).unwrap().admin().recovery_queue(NiKind::Peer), []);
    // As in the kernel's tools: the number of pings, and that no more will follow.
    let recovery = recovery_of(&world, b(1));
    assert_eq!((recovery.ping_count, recovery.next_ping), (5, None));
    // The next message from the peer NI restores its health.
    world.start(B);
    let id = world.start_op(B, a(1), OpKind::PutWithAck).unwrap();
    pass(&mut world, 30.0);
    assert!(op(&world, id).succeeded());
    assert_eq!((recovery_of(&world, b(1)), peer_health(&world, A, b(1))), (Recovery::default(), 1000));
    finish(world);
}

fn recovery_of(world: &World, its: Nid) -> Recovery {
    let (_, peer_nis) = world.core(A).unwrap().admin().peer(its).unwrap();
    peer_nis.iter().find(|peer_ni| peer_ni.nid() == its).unwrap().recovery()
}

/// HE-53, HE-54: fails if the interface does not ping itself first, as in the kernel, or if no other interface of the node
/// pings it where that path is closed.
#[test]
fn an_interface_that_cannot_ping_itself_recovers_by_a_ping_from_another() {
    let failing = |from, to| {
        DropRule::failing(Filter::between(from, to), Odds::OneIn(NonZeroU32::MIN), Cause::RemoteDropped)
    };
    // (interfaces of A, pairs that are closed, whether it recovers)
    let table = [
        (2, vec![], true),
        (2, vec![(a(1), a(1))], true),
        (3, vec![(a(1), a(1)), (a(2), a(1))], true),
        (2, vec![(a(1), a(1)), (a(2), a(1))], false),
        (1, vec![(a(1), a(1))], false),
    ];
    for (rails_a, closed, gets_well) in table {
        let mut world = Pair { rails_a, ..Pair::default() }.meet("an interface heals");
        for (from, to) in &closed {
            world.with_core(A, |core| core.admin().add_drop_rule(failing(*from, *to)));
        }
        let since = world.now();
        world.with_core(A, |core| core.admin().set_ni_health(Some(a(1)), 500));
        pass(&mut world, 40.0);
        assert_eq!(own_health(&world, A, a(1)) == 1000, gets_well, "{rails_a} {closed:?}");
        let pings = sent(&world, A, Purpose::Ping, since);
        let first = pings.iter().find(|(_, ping)| ping.header.dest_nid == a(1));
        assert!(closed.contains(&(a(1), a(1))) || first.is_some_and(|(_, ping)| ping.header.src_nid == a(1)));
        world.with_core(A, |core| core.admin().delete_drop_rules(None, None));
        pass(&mut world, 1000.0);
        assert_eq!(own_health(&world, A, a(1)), 1000, "{rails_a} {closed:?}");
        finish(world);
    }
}

/// HE-52: any message shows that the peer NI is alive.
#[test]
fn any_message_from_an_unhealthy_peer_ni_resets_its_recovery_backoff() {
    let mut world = two_rails("heard of");
    world.kill_interface(b(2));
    let since = world.now();
    world.with_core(A, |core| core.admin().set_peer_ni_health(Some(b(2)), 0));
    pass(&mut world, 60.0);
    world.heal_interface(b(2));
    let spec = OpSpec { source: Some(b(2)), ..OpSpec::default() };
    let id = world.start_op_with(B, a(1), spec).unwrap();
    pass(&mut world, 12.0);
    assert!(op(&world, id).succeeded());
    assert!(peer_health(&world, A, b(2)) > 500, "{}", peer_health(&world, A, b(2)));
    assert!(pauses(&world, b(2), since).len() > 5);
    finish(world);
}

/// Every value is as before the outage, however long it was, and whatever was in flight.
#[test]
fn after_an_outage_health_and_paths_are_as_before() {
    for seconds in [1.0, 30.0, 600.0] {
        let mut world = two_rails("an outage");
        world.kill_rail(rail(1));
        load(&mut world, 1.0);
        world.kill_rail(rail(2));
        load(&mut world, 1.0);
        pass(&mut world, seconds);
        world.heal();
        pass(&mut world, 1200.0);
        let ops = load(&mut world, 1.0);
        pass(&mut world, 60.0);
        all_succeeded(&world, &ops);
        for node in [A, B] {
            let core = world.core(node).unwrap();
            assert_eq!(core.message_counts().msgs_alloc, 0);
            assert!(
                core.peer_nis().iter().all(|its| its.health() == 1000 && its.unresponsive_from().is_empty())
            );
            assert!(core.nets().nis().all(|ni| ni.health() == 1000));
            assert!(
                [NiKind::Local, NiKind::Peer]
                    .iter()
                    .all(|side| core.admin().recovery_queue(*side).is_empty())
            );
        }
        assert_eq!(world.open_ops(), 0);
        finish(world);
    }
}
