//! Delivery ACKs, and what comes of it when they, or bytes, do not come; against a peer that says what the test wants.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::{Errno, EventKind};
use lnet_wire::Body;
use socklnd::proto::frame::{Cookies, Head};
use socklnd::proto::{ConnectionType, Version};
use std::time::Duration;
use support::*;

#[test]
fn delivery_acks_return_on_the_bulk_connection_that_asked() {
    let (node, low, high, port) = node(|_| {});
    node.offer(buffer(2000));
    let _control = Raw::open(low, high, port, ConnectionType::Control);
    let mut bulk = Raw::open(low, high, port, ConnectionType::BulkOut);
    let header = put_header(tcp(low), tcp(high), 2000, false);
    for cookie in [2, 3, u64::MAX] {
        bulk.put(&header, Cookies { request: cookie, ack: 0 }, &[7; 2000]);
        assert_eq!(bulk.read_noop(), Cookies { request: 0, ack: cookie });
    }
    // Also for what nobody wants.
    let mut nowhere = header;
    if let Body::Put { match_bits, .. } = &mut nowhere.body {
        *match_bits = 0;
    }
    bulk.put(&nowhere, Cookies { request: 4, ack: 0 }, &[7; 2000]);
    assert_eq!(bulk.read_noop(), Cookies { request: 0, ack: 4 });
}

#[test]
fn a_message_that_asks_for_a_delivery_ack_completes_with_it() {
    let (node, low, _, port) = node(|config| config.zc_min_payload = Some(1000));
    let listener = Listening::on(low, port);
    let send = || node.put(node.bind_bytes(pattern(2000, 1)), tcp(low), false);
    send();
    let (mut control, _) = listener.accept(low);
    assert_eq!(control.read_lnet().1, NO_COOKIES);
    node.expect(EventKind::Send);
    let (mut bulk_in, _) = listener.accept(low);
    let (mut bulk_out, _) = listener.accept(low);
    wait_for("the set", || node.counters().connected == 3);
    (0..6).for_each(|_| send());
    let first = bulk_out.read_lnet().1.request;
    assert!(first > 1);
    for cookie in first + 1..first + 6 {
        assert_eq!(bulk_out.read_lnet().1, Cookies { request: cookie, ack: 0 });
    }
    node.no_event();
    for (noop, ends) in [((0, first + 2), 1), ((first + 3, first + 1), 2), ((first + 4, first + 5), 2)] {
        bulk_in.send(Head::noop(Cookies { request: noop.0, ack: noop.1 }).bytes());
        for _ in 0..ends {
            assert_eq!(node.expect(EventKind::Send).status, Ok(()));
        }
        node.no_event();
    }
    // The last is lost with the connections.
    drop(bulk_in);
    assert!(node.expect(EventKind::Send).status.is_err());
}

#[test]
fn a_delivery_ack_that_never_arrives_ends_the_connections() {
    let (node, low, _, port) = node(|config| {
        config.zc_min_payload = Some(1000);
        config.sock_timeout = Duration::from_millis(300);
    });
    let listener = Listening::on(low, port);
    node.put(node.bind_bytes(pattern(10, 1)), tcp(low), false);
    let (mut all, _): (Vec<_>, Vec<_>) = (0..3).map(|_| listener.accept(low)).unzip();
    node.expect(EventKind::Send);
    wait_for("the set", || node.counters().connected == 3);
    node.put(node.bind_bytes(pattern(2000, 1)), tcp(low), false);
    assert_eq!(node.expect(EventKind::Send).status, Err(Errno::TimedOut));
    for raw in &mut all {
        raw.read_to_end();
    }
}

#[test]
fn keepalives_are_sent_on_an_idle_bulk_connection() {
    let (_node, low, high, port) = node(|config| config.keepalive = Duration::from_millis(100));
    let _control = Raw::open(low, high, port, ConnectionType::Control);
    let mut bulk = Raw::open(low, high, port, ConnectionType::BulkOut);
    for _ in 0..3 {
        assert_eq!(bulk.read_noop(), Cookies { request: 0, ack: 1 });
    }
    // Ours are not answered.
    bulk.send(Head::noop(Cookies { request: 0, ack: 1 }).bytes());
    assert_eq!(bulk.read_noop(), Cookies { request: 0, ack: 1 });
}

#[test]
fn a_message_that_stops_half_way_times_out() {
    let (node, low, high, port) = node(|config| config.sock_timeout = Duration::from_millis(300));
    node.offer(buffer(5000));
    let mut control = Raw::open(low, high, port, ConnectionType::Control);
    let mut bulk = Raw::open(low, high, port, ConnectionType::BulkOut);
    let header = put_header(tcp(low), tcp(high), 5000, false);
    bulk.send(&message(Version::V3, &header, NO_COOKIES, &[0; 4000]));
    assert_eq!(node.expect(EventKind::Put).status, Err(Errno::Io));
    assert_eq!(bulk.read_to_end(), []);
    assert_eq!(control.read_to_end(), []);
    assert_eq!(node.counters().timed_out, 1);
}

#[test]
fn a_peer_that_does_not_read_times_out() {
    let (node, low, high, port) = node(|config| config.sock_timeout = Duration::from_millis(500));
    let _control = Raw::open(low, high, port, ConnectionType::Control);
    // The answer is said before the connection is used.
    wait_for("the connection", || node.counters().accepted == 1);
    for _ in 0..20 {
        node.put(node.bind_bytes(pattern(1 << 20, 1)), tcp(low), false);
    }
    let failed = (0..20).filter(|_| node.expect(EventKind::Send).status.is_err()).count();
    assert!(failed > 0);
}
