//! Recovery pings, the state of peer NIs, and response timeouts.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

mod support;

use lnet_core::health::PeerNiState;
use lnet_core::lnd::Upcalls;
use lnet_core::select::Criterion;
use lnet_core::{MdOptions, Time};
use lnet_wire::Header;
use std::time::Duration;
use support::{FakeDriver, OnSend, Rig, header_from, put_body, target, tcp};

fn rig(on_send: OnSend) -> Rig {
    Rig::builder(FakeDriver::new(on_send)).with_discovery().build()
}

/// HE-52: fails if a ping counts as not answered although its response came before its send completed.
#[test]
fn a_recovery_ping_answered_before_its_send_completes_does_not_increase_the_backoff() {
    let Rig { core, driver, clock, .. } = &rig(OnSend::Reply);
    core.admin().set_ni_health(Some(tcp(1)), 100);
    let recovery = || core.nets().ni(tcp(1)).unwrap().recovery();
    for second in 1..=3 {
        clock.advance_to(Duration::from_secs(second));
        let next = core.monitor().run();
        let due = Some(Time(Duration::from_secs(second + 1)));
        assert_eq!((recovery().ping_count, recovery().next_ping), (0, due), "after ping {second}");
        assert!(next <= due, "{next:?}");
    }
    driver.set_on_send(OnSend::Complete);
    clock.advance_to(Duration::from_secs(4));
    core.monitor().run();
    assert_eq!((recovery().ping_count, recovery().next_ping), (1, Some(Time(Duration::from_secs(6)))));
}

/// dbg-030, dbg-120: fails if the state is derived from counters, which are 0 after a reset.
#[test]
fn resetting_statistics_keeps_the_state_of_a_peer_ni() {
    let Rig { core, driver, clock, .. } = &rig(OnSend::Complete);
    let its = tcp(9);
    let state = || {
        let (_, peer_nis) = core.admin().peer(its).unwrap();
        let before = PeerNiState::of(&peer_nis[0]);
        core.reset_counters();
        assert_eq!(PeerNiState::of(&peer_nis[0]), before);
        before
    };
    core.admin().make_peer(its, false, false).unwrap();
    assert_eq!(state(), PeerNiState::Created);
    let ask = || {
        core.admin().discover(its, false).unwrap();
        core.monitor().run_discovery();
    };
    ask();
    assert_eq!(state(), PeerNiState::Activating);
    driver.set_on_send(OnSend::Reply);
    clock.advance_to(Duration::from_secs(100));
    core.monitor().run_discovery();
    ask();
    assert_eq!(state(), PeerNiState::Connected);
    core.admin().set_peer_ni_health(Some(its), 500);
    assert_eq!(state(), PeerNiState::Failed);
    core.admin().set_peer_ni_health(Some(its), 1000);
    assert_eq!(state(), PeerNiState::Connected);
}

/// HE-41: fails if only sends that fail count against a peer.
#[test]
fn a_response_timeout_lowers_the_health_of_the_peer_ni_by_the_sensitivity() {
    let rig = Rig::new(FakeDriver::new(OnSend::Complete));
    let md = rig.bind(2);
    rig.put_with_ack(md, tcp(2));
    let health = || rig.core.admin().peer(tcp(2)).unwrap().1[0].health();
    rig.core.monitor().run();
    assert_eq!(health(), 1000);
    rig.clock.advance_to(Duration::from_secs(200));
    rig.core.monitor().run();
    assert_eq!(health(), 900);
}

/// Fails if the reason given against a dead path is one of its consequences, such as the credits that its messages hold.
#[test]
fn the_reason_against_a_dead_path_is_that_nothing_gets_through_over_it() {
    let rig = Rig::builder(FakeDriver::new(OnSend::Keep)).nids([tcp(1), tcp(2)]).build();
    let core = &rig.core;
    core.admin().make_peer(tcp(8), true, false).unwrap();
    core.admin().add_peer_nid(tcp(8), tcp(9), true).unwrap();
    rig.attach(-1, MdOptions::OP_PUT.0 | MdOptions::MANAGE_REMOTE.0);
    // Each pair of interfaces is one rail.
    for (at, from) in [(0, tcp(8)), (1, tcp(9))] {
        let header = Header { dest_nid: rig.nis[at].nid(), ..header_from(from, put_body(None), 8) };
        rig.driver.ni(at).arrives(&header);
        rig.driver.finish();
    }
    // The message holds a credit of both ends.
    core.data_path().put(Some(tcp(1)), rig.bind(1), false, target(tcp(8)), 0).unwrap();
    core.data_path().path_is_unresponsive(&rig.nis[0], tcp(8));
    // The other paths are no longer suspect, but nothing has arrived on those that cross the rails.
    for _ in 0..2 {
        rig.clock.advance(Duration::from_secs(10));
        core.monitor().run();
    }
    core.admin().set_ni_health(None, 1000);
    core.admin().set_peer_ni_health(None, 1000);
    let explained = core.data_path().explain(None, tcp(8)).unwrap();
    assert_eq!((explained.chosen.ni.nid(), explained.chosen.next_hop()), (tcp(2), tcp(9)));
    let local: Vec<_> = explained.local_nis.iter().map(|(nid, why)| (*nid, why.criterion)).collect();
    let remote: Vec<_> = explained.peer_nis.iter().map(|(nid, why)| (*nid, why.criterion)).collect();
    assert_eq!(local, [(tcp(1), Criterion::Unresponsive)]);
    assert_eq!(remote, [(tcp(8), Criterion::Unresponsive)]);
}

/// HE-40: fails if the response to a request counts as awaited while the request waits for the discovery of its peer.
#[test]
fn a_response_is_awaited_once_its_request_is_sent() {
    for discovers in [true, false] {
        let builder = Rig::builder(FakeDriver::new(OnSend::Keep));
        let rig = if discovers { builder.with_discovery() } else { builder }.build();
        let admin = rig.core.admin();
        admin.make_peer(tcp(9), true, false).unwrap();
        let awaited = || rig.core.admin().health_totals().responses_awaited;
        rig.put(rig.bind(-1), tcp(9));
        let before = awaited();
        rig.put_with_ack(rig.bind(-1), tcp(9));
        let parked = admin.discovery_of(tcp(9)).map_or(0, |discovery| discovery.parked);
        assert_eq!(parked, if discovers { 2 } else { 0 });
        assert_eq!(awaited() - before, u64::from(!discovers), "discovery {discovers}");
    }
}
