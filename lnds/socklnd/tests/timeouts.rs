//! What a peer does not do in time, by a clock that the test advances.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::{Errno, EventKind};
use socklnd::proto::frame::{Cookies, Head};
use socklnd::proto::{ConnectionType, Version};
use std::time::Duration;
use support::*;

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
