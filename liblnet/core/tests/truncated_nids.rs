//! Messages from NIDs that remain of shortened IPv6 NIDs, as kernel nodes of 2.17 send them.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use lnet_core::lnd::RxAction;
use lnet_core::lnd::Upcalls;
use lnet_core::{Cause, Errno, MAX_HEALTH};
use lnet_wire::{Body, Header, Nid, PING_MATCH_BITS, Pid, RESERVED_PORTAL, WireHandle};
use log::{Level, LevelFilter};
use std::time::Duration;
use support::{FakeDriver, OnSend, Rig, nid, not_sent};
use test_support::log_recorder::{self, said};

const OWN: &str = "10.99.0.12@tcp";
const V4: &str = "10.99.0.11@tcp";

/// An IPv6 NID, and what remains of it. The lines of all tests are in one list, so that each test has other NIDs.
fn whole_and_rest(number: u8) -> (String, String) {
    (format!("fd99:{number:x}::11@tcp"), format!("253.153.0.{number}@tcp"))
}

fn rig(driver: FakeDriver) -> Rig {
    log_recorder::listen(LevelFilter::Info);
    Rig::builder(driver.recording()).nids([nid(OWN)]).with_discovery().build()
}

/// Lets time pass, with all that is due.
fn pass(rig: &Rig, seconds: u64) {
    for _ in 0..seconds {
        rig.clock.advance(Duration::from_secs(1));
        rig.core.monitor().run_discovery();
        rig.core.monitor().run();
    }
}

/// A ping arrives from this NID, and is received.
fn is_pinged(rig: &Rig, source: &str) {
    let reply = WireHandle { interface_cookie: 7, object_cookie: 7 };
    let (match_bits, portal) = (PING_MATCH_BITS, RESERVED_PORTAL);
    let header = Header {
        dest_nid: nid(OWN),
        src_nid: nid(source),
        dest_pid: Pid::LUSTRE,
        src_pid: Pid::LUSTRE,
        payload_length: 0,
        body: Body::Get { reply, match_bits, portal, offset: 0, sink_length: 3960 },
    };
    let RxAction::Deliver(message) = rig.arrives(&header) else { panic!("the ping was not accepted") };
    rig.core.data_path().received(message, Ok(()));
}

fn peers(rig: &Rig) -> Vec<Vec<Nid>> {
    rig.core.admin().peers().iter().map(|peer| peer.nids.clone()).collect()
}

/// The kinds of the messages that were sent to this NID.
fn sent_to(rig: &Rig, to: &str) -> Vec<String> {
    let headers = rig.driver.recorded();
    headers
        .iter()
        .filter(|header| header.dest_nid == nid(to))
        .map(|header| header.body.kind().to_string())
        .collect()
}

fn is_known(rig: &Rig, its: &str) -> bool {
    rig.core.peer_nis().iter().any(|peer_ni| peer_ni.nid() == nid(its))
}

#[test]
fn a_shortened_nid_is_answered_and_said_once_and_does_not_become_a_peer() {
    let answered_in_vain = FakeDriver::scripted(|message| match message.header().body {
        Body::Reply { .. } => OnSend::Fail(not_sent(Errno::ConnectionReset, Cause::RemoteError)),
        _ => OnSend::Complete,
    });
    for (number, driver, is_known_before) in [
        (1, FakeDriver::new(OnSend::Complete), false),
        (2, FakeDriver::new(OnSend::Complete), true),
        (3, answered_in_vain, true),
    ] {
        let (v6, rest) = whole_and_rest(number);
        let rig = rig(driver);
        if is_known_before {
            assert!(rig.is_pushed(1, &[nid(V4), nid(&v6)]));
        }
        for sequence in 1..=3 {
            is_pinged(&rig, &rest);
            assert!(rig.is_pushed_from(nid(&rest), sequence, &[nid(V4), nid(&v6)]));
            pass(&rig, 1);
        }
        pass(&rig, 200);
        assert_eq!(sent_to(&rig, &rest), ["REPLY"; 3]);
        let expected = if is_known_before { vec![vec![nid(V4), nid(&v6)]] } else { Vec::new() };
        assert_eq!(peers(&rig), expected);
        assert!(!is_known(&rig, &rest));
        for (its, is_of_node) in [(&*rest, false), (V4, true), (&*v6, true)] {
            assert_eq!(rig.core.data_path().is_of_node(nid(its)), is_of_node, "{its}");
        }
        let whole = if is_known_before { v6.clone() } else { format!("fd99:{number}:...") };
        assert_eq!(said(Level::Warn, &["peer", &rest, "no node has this NID", &whole]), 1);
        assert_eq!(said(Level::Warn, &["peer", &rest]), 1);
        assert_eq!(said(Level::Info, &[&rest]) + said(Level::Error, &[&rest]), 0);
        assert_eq!(rig.ni().health(), MAX_HEALTH);
        rig.core.admin().shutdown();
    }
}

#[test]
fn a_shortened_nid_of_a_private_address_is_recognised_before_its_node_is_known() {
    let (v6, rest) = whole_and_rest(4);
    let rig = rig(FakeDriver::new(OnSend::Complete));
    is_pinged(&rig, &rest);
    assert_eq!(peers(&rig), Vec::<Vec<Nid>>::new());
    pass(&rig, 5);
    assert!(!is_known(&rig, &rest));
    assert_eq!(said(Level::Warn, &["peer", &rest, "no node has this NID", "fd99:4:..."]), 1);
    assert!(rig.is_pushed(1, &[nid(V4), nid(&v6)]));
    is_pinged(&rig, &rest);
    pass(&rig, 5);
    assert_eq!(peers(&rig), [vec![nid(V4), nid(&v6)]]);
    assert_eq!(said(Level::Warn, &["peer", &rest]), 1);
}

#[test]
fn a_reserved_address_that_no_known_nid_begins_with_is_a_peer_until_one_is_known() {
    const REST: &str = "240.1.0.2@tcp";
    const WHOLE: &str = "f001:2::11@tcp";
    let rig = rig(FakeDriver::new(OnSend::Complete));
    is_pinged(&rig, REST);
    pass(&rig, 5);
    assert_eq!(peers(&rig), [vec![nid(REST)]]);
    assert!(rig.is_pushed(1, &[nid(V4), nid(WHOLE)]));
    pass(&rig, 5);
    assert_eq!(peers(&rig), [vec![nid(V4), nid(WHOLE)]]);
    assert_eq!(said(Level::Warn, &["peer", REST, "no node has this NID", WHOLE]), 1);
}

#[test]
fn a_node_with_an_address_that_begins_an_ipv6_address_of_another_is_a_peer_like_any_other() {
    const REAL: &str = "32.1.13.184@tcp";
    const V6: &str = "2001:db8::11@tcp";
    let rig = rig(FakeDriver::new(OnSend::Complete));
    assert!(rig.is_pushed(1, &[nid(V4), nid(V6)]));
    is_pinged(&rig, REAL);
    pass(&rig, 5);
    assert_eq!(peers(&rig), [vec![nid(V4), nid(V6)], vec![nid(REAL)]]);
    // The node of the IPv6 NID shortens it, too: until the other node says who it is, nothing tells them apart.
    assert!(rig.is_pushed_from(nid(REAL), 1, &[nid(V4), nid(V6)]));
    pass(&rig, 5);
    assert_eq!(peers(&rig), [vec![nid(V4), nid(V6)]]);
    assert!(rig.is_pushed(1, &[nid(REAL), nid("10.99.7.7@tcp")]));
    pass(&rig, 5);
    assert_eq!(peers(&rig), [vec![nid(V4), nid(V6)], vec![nid(REAL), nid("10.99.7.7@tcp")]]);
    assert!(sent_to(&rig, REAL).contains(&"REPLY".to_owned()));
}

/// Fails if shortened NIDs that are no peers any more leave no room for others.
#[test]
fn a_shortened_nid_is_removed_when_idle_however_many_there_were_before() {
    const MANY: u32 = 300;
    let rig = rig(FakeDriver::new(OnSend::Complete));
    for number in 0..MANY {
        let rest = format!("253.200.{}.{}@tcp", number >> 8, number & 0xff);
        is_pinged(&rig, &rest);
        pass(&rig, 5);
        assert!(!is_known(&rig, &rest), "{rest}");
        assert_eq!(said(Level::Warn, &["peer", &rest, "no node has this NID"]), 1, "{rest}");
    }
    assert_eq!(peers(&rig), Vec::<Vec<Nid>>::new());
}
