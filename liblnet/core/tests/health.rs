//! Recovery pings, the state of peer NIs, and response timeouts.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

mod support;

use lnet_core::Time;
use lnet_core::health::PeerNiState;
use std::time::Duration;
use support::{FakeDriver, OnSend, Rig, tcp};

fn rig(on_send: OnSend) -> Rig {
    Rig::builder(FakeDriver::new(on_send)).with_discovery().build()
}

/// HE-52: fails if the ping is noted as not answered after its answer has come.
#[test]
fn a_recovery_ping_answered_before_its_send_completes_does_not_increase_the_backoff() {
    let Rig { core, driver, clock, .. } = &rig(OnSend::Reply);
    core.set_ni_health(Some(tcp(1)), 100);
    let recovery = || core.nets().ni(tcp(1)).unwrap().recovery();
    for second in 1..=3 {
        clock.set(Duration::from_secs(second));
        let next = core.run_monitor();
        let due = Some(Time(Duration::from_secs(second + 1)));
        assert_eq!((recovery().ping_count, recovery().next_ping), (0, due), "after ping {second}");
        assert!(next <= due, "{next:?}");
    }
    driver.set_on_send(OnSend::Complete);
    clock.set(Duration::from_secs(4));
    core.run_monitor();
    assert_eq!((recovery().ping_count, recovery().next_ping), (1, Some(Time(Duration::from_secs(6)))));
}

/// dbg-030, dbg-120: fails if the state is found from counters, which are 0 then.
#[test]
fn resetting_statistics_keeps_the_state_of_a_peer_ni() {
    let Rig { core, driver, clock, .. } = &rig(OnSend::Complete);
    let its = tcp(9);
    let state = || {
        let (_, peer_nis) = core.peer(its).unwrap();
        let before = PeerNiState::of(&peer_nis[0]);
        core.reset_counters();
        assert_eq!(PeerNiState::of(&peer_nis[0]), before);
        before
    };
    core.make_peer(its, false, false).unwrap();
    assert_eq!(state(), PeerNiState::Created);
    let ask = || {
        core.discover(its, false).unwrap();
        core.run_discovery();
    };
    ask();
    assert_eq!(state(), PeerNiState::Activating);
    driver.set_on_send(OnSend::Reply);
    clock.set(Duration::from_secs(100));
    core.run_discovery();
    ask();
    assert_eq!(state(), PeerNiState::Connected);
    core.set_peer_ni_health(Some(its), 500);
    assert_eq!(state(), PeerNiState::Failed);
    core.set_peer_ni_health(Some(its), 1000);
    assert_eq!(state(), PeerNiState::Connected);
}

/// HE-41: fails if only sends that fail count against a peer.
#[test]
fn a_response_timeout_lowers_the_health_of_the_peer_ni_by_the_sensitivity() {
    let rig = Rig::new(FakeDriver::new(OnSend::Complete));
    let md = rig.bind(2);
    rig.put_with_ack(md, tcp(2));
    let health = || rig.core.peer(tcp(2)).unwrap().1[0].health();
    rig.core.run_monitor();
    assert_eq!(health(), 1000);
    rig.clock.set(Duration::from_secs(200));
    rig.core.run_monitor();
    assert_eq!(health(), 900);
}
