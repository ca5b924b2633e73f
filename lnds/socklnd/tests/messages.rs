//! Messages of a scripted peer, well-formed and not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::{Errno, EventKind};
use lnet_wire::Body;
use socklnd::proto::frame::{Cookies, Head};
use socklnd::proto::{ConnectionType, Hello, Version, acceptor};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use support::*;

#[test]
fn many_messages_may_come_in_one_piece() {
    let (node, low, high, port) = node(|_| {});
    node.offer(buffer(3000));
    let mut raw = Raw::open(low, high, port, ConnectionType::Control);
    let mut all = Vec::new();
    for size in 0..500 {
        all.extend(Head::noop(NO_COOKIES).bytes());
        let header = put_header(tcp(low), tcp(high), size * 5, false);
        all.extend(message(Version::V3, &header, NO_COOKIES, pattern(size * 5, 1)));
    }
    raw.send(&all);
    for size in 0..500 {
        let put = node.expect(EventKind::Put);
        assert_eq!((put.mlength, put.status), (size * 5, Ok(())));
    }
}

#[test]
fn a_message_cut_off_by_the_end_of_its_connection_fails() {
    let (node, low, high, port) = node(|_| {});
    node.offer(buffer(5000));
    let mut raw = Raw::open(low, high, port, ConnectionType::BulkOut);
    let header = put_header(tcp(low), tcp(high), 5000, false);
    raw.send(&message(Version::V3, &header, NO_COOKIES, &[0; 4000]));
    drop(raw);
    assert_eq!(node.expect(EventKind::Put).status, Err(Errno::Io));
}

#[test]
fn breaking_the_protocol_ends_all_connections_of_that_peer_and_no_other() {
    let (node, low, high, port) = node(|_| {});
    let third = Ipv4Addr::from(u32::from(high) + 1);
    let mut other = Raw::open(third, high, port, ConnectionType::Control);
    node.offer(buffer(8));
    let good = put_header(tcp(low), tcp(high), 8, false);
    let mut unknown_kind = message(Version::V3, &good, NO_COOKIES, &[0; 8]);
    unknown_kind[0] = 0xc2;
    let mut unknown_type = message(Version::V3, &good, NO_COOKIES, &[0; 8]);
    unknown_type[24 + 24] = 9;
    let mut wrong_checksum = message(Version::V3, &good, NO_COOKIES, &[0; 8]);
    wrong_checksum[4] = 9;
    let too_long = put_header(tcp(low), tcp(high), (1 << 20) + 1, false);
    let for_another = put_header(tcp(low), tcp(low), 8, false);
    for (name, bytes) in [
        ("an unknown kind", unknown_kind),
        ("an unknown type", unknown_type),
        ("a wrong checksum", wrong_checksum),
        ("too much payload", message(Version::V3, &too_long, NO_COOKIES, &[])),
        ("for another node", message(Version::V3, &for_another, NO_COOKIES, &[0; 8])),
        ("a delivery ACK for nothing", Head::noop(Cookies { request: 0, ack: 9 }).bytes().to_vec()),
        ("a pair with the keep-alive", Head::noop(Cookies { request: 9, ack: 1 }).bytes().to_vec()),
        ("a range of everything", Head::noop(Cookies { request: 1, ack: u64::MAX }).bytes().to_vec()),
    ] {
        let before = node.counters().protocol_errors;
        let mut control = Raw::open(low, high, port, ConnectionType::Control);
        let mut bulk = Raw::open(low, high, port, ConnectionType::BulkOut);
        bulk.send(&bytes);
        assert_eq!(bulk.read_to_end(), [], "{name}");
        assert_eq!(control.read_to_end(), [], "{name}");
        assert_eq!(node.counters().protocol_errors, before + 1, "{name}");
    }
    while node.counters().protocol_errors < 8 {}
    other.put(&put_header(tcp(third), tcp(high), 8, true), NO_COOKIES, &[1; 8]);
    loop {
        let put = node.expect(EventKind::Put);
        if put.initiator.nid == Some(tcp(third)) {
            break;
        }
    }
    other.read_lnet();
}

#[test]
fn a_peer_that_closes_one_connection_gets_all_closed_and_its_last_messages_are_received() {
    let (node, low, high, port) = node(|config| config.sock_timeout = Duration::from_secs(600));
    node.offer(buffer(8));
    let control = Raw::open(low, high, port, ConnectionType::Control);
    let mut bulk = Raw::open(low, high, port, ConnectionType::BulkOut);
    let header = put_header(tcp(low), tcp(high), 8, false);
    // Until this message arrives the node may not have registered the connection.
    bulk.put(&header, NO_COOKIES, &[1; 8]);
    assert_eq!(node.expect(EventKind::Put).mlength, 8);
    drop(control);
    assert_eq!(bulk.read_to_end(), []);
    bulk.put(&header, NO_COOKIES, &[1; 8]);
    assert_eq!(node.expect(EventKind::Put).mlength, 8);
    assert_eq!(node.counters().closed_by_peer, 1);
}

#[test]
fn version_1_messages_have_no_frame() {
    let (node, low, high, port) = node(|_| {});
    node.offer(buffer(100));
    let mut raw = Raw::connect(low.into(), 0, high.into(), port);
    raw.version = Version::V1;
    let hello = Hello { version: Version::V1, dest_nid: None, ..hello(low, high, Some(ConnectionType::Any)) };
    raw.send(&[acceptor::encode_request(tcp(high)), hello.encode().unwrap()].concat());
    assert_eq!(raw.read_hello().version, Version::V1);
    raw.put(&put_header(tcp(low), tcp(high), 100, true), NO_COOKIES, &[1; 100]);
    node.expect(EventKind::Put);
    assert!(matches!(raw.read_lnet().0.body, Body::Ack { accepted: 100, .. }));
}

#[test]
fn a_deferred_message_survives_the_end_of_its_connection() {
    let (node, low, high, port) = node(|_| {});
    node.core.data_path().set_lazy_portal(PORTAL).unwrap();
    let mut raw = Raw::open(low, high, port, ConnectionType::Control);
    let header = put_header(tcp(low), tcp(high), 5000, false);
    raw.put(&header, NO_COOKIES, &[1; 5000]);
    raw.stream.shutdown(std::net::Shutdown::Write).unwrap();
    // The payload had arrived before the end of the connection.
    node.offer(buffer(5000));
    assert_eq!(node.expect(EventKind::Put).mlength, 5000);
    assert_eq!(raw.read_to_end(), []);
}

#[test]
fn a_peer_with_a_deferred_message_may_close_and_connect_again() {
    let (node, low, high, port) = node(|_| {});
    node.core.data_path().set_lazy_portal(PORTAL).unwrap();
    for round in 1..=3 {
        let mut raw = Raw::open(low, high, port, ConnectionType::Control);
        raw.put(&put_header(tcp(low), tcp(high), 100, false), NO_COOKIES, &[1; 100]);
        drop(raw);
        wait_for("the end", || node.counters().closed_by_peer == round);
    }
    // The bytes that the peer sent before can still be received.
    for _ in 0..3 {
        node.offer(buffer(100));
        assert_eq!(node.expect(EventKind::Put).mlength, 100);
    }
}

/// A delivery ACK that a parsing thread holds back leaves with a message that another thread sends, while the first is in a
/// handler.
#[test]
fn a_handler_that_takes_long_keeps_no_other_thread_from_sending() {
    let _watchdog = Watchdog::new("a message sent while a handler runs");
    let (node, low, high, port) = node(|_| {});
    node.offer(buffer(8));
    let stuck = Arc::new(Mutex::new(()));
    let guard = stuck.lock().unwrap();
    node.block_on(Arc::clone(&stuck));
    let mut raw = Raw::open(low, high, port, ConnectionType::Control);
    raw.put(&put_header(tcp(low), tcp(high), 8, false), Cookies { request: 7, ack: 0 }, &[1; 8]);
    // The test, the node, and its handler hold references.
    wait_for("the handler", || Arc::strong_count(&stuck) == 3);
    thread::scope(|scope| {
        // The SEND event needs the handler, too.
        scope.spawn(|| node.put(node.bind_bytes(pattern(8, 2)), tcp(low), false));
        assert_eq!(raw.read_noop().ack, 7);
        assert_eq!(raw.read_lnet().2, pattern(8, 2));
        drop(guard);
    });
}
