//! Health values: the interfaces that are blamed for a failure, and the amount (core-behaviour 4.1, 4.2).

use super::*;
use lnet_core::Cause;

/// HE-1, HE-10: a peer that closes its connections is blamed, if it has another NID.
#[test]
fn a_failure_lowers_the_health_of_its_interface_unless_there_is_no_other() {
    // (rails of A, of B, sensitivity, the health that B's interface keeps)
    let table = [(2, 2, 100, 900), (2, 2, 30, 970), (2, 2, 1000, 0), (1, 2, 100, 900), (2, 1, 100, 1000)];
    for (rails_a, rails_b, sensitivity, left) in table {
        let settings = Settings { health_sensitivity: sensitivity, ..Settings::default() };
        let mut world = Pair { rails_a, rails_b, settings, ..Pair::default() }.meet("blame");
        let id = ask_by(&mut world, a(1), b(1), OpKind::Put);
        world.break_between(A, B);
        pass(&mut world, 0.000_001);
        assert_eq!(peer_health(&world, A, b(1)), left, "{rails_a} {rails_b} {sensitivity}");
        assert_eq!(own_health(&world, A, a(1)), 1000);
        pass(&mut world, 60.0);
        assert_eq!(peer_health(&world, A, b(1)), 1000, "{rails_a} {rails_b} {sensitivity}");
        assert!(op(&world, id).ended);
        finish(world);
    }
}

/// 4.2: no node knows which end it is.
#[test]
fn a_network_timeout_lowers_the_health_of_both_ends_and_is_counted_at_both() {
    let mut world = two_rails("unresponsive");
    let lowest = {
        world.kill_rail(rail(1));
        world.kill_interface(b(2));
        let id = ask_by(&mut world, a(2), b(2), OpKind::Put);
        let mut lowest = (1000, 1000);
        for _ in 0..400 {
            pass(&mut world, 0.05);
            lowest.0 = lowest.0.min(own_health(&world, A, a(2)));
            lowest.1 = lowest.1.min(peer_health(&world, A, b(2)));
        }
        assert!(!op(&world, id).succeeded());
        lowest
    };
    assert!(lowest.0 < 1000 && lowest.1 < 1000, "{lowest:?}");
    let core = world.core(A).unwrap();
    let failures = core.admin().health_totals().failures;
    let timeouts: u64 = [Cause::NetworkTimeout, Cause::LocalTimeout, Cause::RemoteTimeout]
        .iter()
        .map(|cause| failures.of(*cause))
        .sum();
    assert!(timeouts > 0, "{failures:?}");
    finish(world);
}

/// HE-5, HE-56: the loss of three failures takes three successful exchanges.
#[test]
fn an_interface_with_health_700_recovers_after_three_pings_and_is_pinged_no_more() {
    let mut world = two_rails("700");
    let since = world.now();
    world.with_core(A, |core| core.admin().set_peer_ni_health(Some(b(2)), 700));
    assert_eq!(peer_health(&world, A, b(2)), 700);
    pass(&mut world, 1.5);
    assert!(peer_health(&world, A, b(2)) < 1000);
    pass(&mut world, 30.0);
    assert_eq!(peer_health(&world, A, b(2)), 1000);
    let pings = sent(&world, A, Purpose::Ping, since);
    let to = pings.iter().filter(|(_, ping)| ping.header.dest_nid == b(2)).count();
    assert_eq!((to, pings.len()), (3, 3));
    pass(&mut world, 2000.0);
    assert_eq!(sent(&world, A, Purpose::Ping, since).len(), 3);
    finish(world);
}

/// HE-54: the node pings itself.
#[test]
fn a_local_interface_recovers_by_pings_to_itself() {
    let mut world = two_rails("own 700");
    let since = world.now();
    world.with_core(A, |core| core.admin().set_ni_health(Some(a(2)), 700));
    pass(&mut world, 30.0);
    assert_eq!(own_health(&world, A, a(2)), 1000);
    let pings = sent(&world, A, Purpose::Ping, since);
    let own = |ping: &Digest| (ping.header.src_nid, ping.header.dest_nid) == (a(2), a(2));
    assert!(!pings.is_empty() && pings.len() <= 3 && pings.iter().all(|(_, ping)| own(ping)), "{pings:?}");
    finish(world);
}

/// PS-20: an unhealthy interface is used less.
#[test]
fn the_healthier_interface_is_chosen() {
    let mut world = two_rails("choice");
    let since = world.now();
    world.with_core(A, |core| core.admin().set_peer_ni_health(Some(b(2)), 0));
    for _ in 0..8 {
        world.start_op(A, b(1), OpKind::Put);
    }
    pass(&mut world, 0.5);
    let puts = sent(&world, A, Purpose::Put, since);
    assert!(puts.len() == 8 && puts.iter().all(|(_, put)| put.header.dest_nid == b(1)), "{puts:?}");
    finish(world);
}

/// Fails if pings of an interface to itself, or messages that are only written to a socket, raise the health of an
/// interface whose rail is dead; or if one path that is dead for good keeps an interface that works from full health.
#[test]
fn an_interface_on_a_dead_rail_stays_degraded_until_something_arrives_on_it() {
    use lnet_core::health::NiState;
    for delivery in [Delivery::Acked, Delivery::Kernel] {
        let mut world = Pair { delivery, ..Pair::default() }.meet("a dead rail");
        let state = |world: &World, nid: Nid| NiState::of(world.core(A).unwrap().nets().ni(nid).unwrap());
        world.kill_rail(rail(2));
        load(&mut world, 3.0);
        for second in 0..60 {
            pass(&mut world, 1.0);
            assert_eq!(state(&world, a(2)), NiState::Degraded, "{delivery:?}, {second}");
        }
        assert_eq!(state(&world, a(1)), NiState::Active, "{delivery:?}");
        world.heal_rail(rail(2));
        pass(&mut world, 60.0);
        assert_eq!(state(&world, a(2)), NiState::Active, "{delivery:?}");
        // B loses an interface: A's are not blamed for that.
        world.kill_interface(b(2));
        load(&mut world, 3.0);
        pass(&mut world, 60.0);
        assert_eq!([1, 2].map(|rail| own_health(&world, A, a(rail))), [1000, 1000], "{delivery:?}");
        finish(world);
    }
}

/// dyn-050: fails if a peer is not told that an interface has no health, or not that it works again; or if the interface does
/// not recover because nothing comes to it.
#[test]
fn a_peer_knows_which_interface_has_no_health_until_it_works_again() {
    let mut world = two_rails("no health");
    let known_down = |world: &World| {
        let peer_nis = world.core(A).unwrap().peer_nis();
        peer_nis.iter().filter(|its| its.is_reported_down()).map(|its| its.nid()).collect::<Vec<_>>()
    };
    world.with_core(B, |core| core.admin().set_ni_health(Some(b(2)), 0));
    pass(&mut world, 5.0);
    assert_eq!(known_down(&world), [b(2)]);
    pass(&mut world, 20.0);
    assert_eq!(known_down(&world), []);
    pass(&mut world, 2000.0);
    assert_eq!(own_health(&world, B, b(2)), 1000);
    finish(world);
}
