//! Time-outs of peers, by a clock that the test advances.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::{Errno, EventKind};
use socklnd::proto::frame::{Cookies, Head};
use socklnd::proto::{ConnectionType, Version};
use std::time::Duration;
use support::*;

const SOCK_TIMEOUT: Duration = Duration::from_secs(50);
/// Step of the clock, shorter than any time-out.
const STEP: Duration = Duration::from_secs(5);

#[test]
fn a_delivery_ack_that_never_arrives_ends_the_connections() {
    let clock = manual_clock();
    let (node, low, _, port) = node_with_clock(clock.clone(), |config| {
        config.zc_min_payload = Some(1000);
        config.sock_timeout = SOCK_TIMEOUT;
    });
    let listener = Listening::on(low, port);
    node.put(node.bind_bytes(pattern(10, 1)), tcp(low), false);
    let (mut all, _): (Vec<_>, Vec<_>) = (0..3).map(|_| listener.accept(low)).unzip();
    node.expect(EventKind::Send);
    wait_for("the set", || node.counters().connected == 3);
    node.put(node.bind_bytes(pattern(20_000, 1)), tcp(low), false);
    assert_ne!(all[2].read_lnet().1.request, 0);
    node.no_event();
    let send = node.expect_as_time_passes(&clock, STEP, EventKind::Send);
    assert_eq!(send.status, Err(Errno::TimedOut));
    for raw in &mut all {
        raw.read_to_end();
    }
}

#[test]
fn keepalives_are_sent_on_an_idle_bulk_connection() {
    const KEEPALIVE: Duration = Duration::from_secs(30);
    let clock = manual_clock();
    let (_node, low, high, port) = node_with_clock(clock.clone(), |config| config.keepalive = KEEPALIVE);
    let _control = Raw::open(low, high, port, ConnectionType::Control);
    let mut bulk = Raw::open(low, high, port, ConnectionType::BulkOut);
    let has_bytes = |raw: &Raw| {
        raw.stream.set_nonblocking(true).unwrap();
        let peeked = raw.stream.peek(&mut [0]).is_ok();
        raw.stream.set_nonblocking(false).unwrap();
        peeked
    };
    // Nothing is sent while the clock stands still.
    assert!(!has_bytes(&bulk));
    for round in 0..4 {
        advance_until(&clock, KEEPALIVE, "a keep-alive", || has_bytes(&bulk));
        assert_eq!(bulk.read_noop(), Cookies { request: 0, ack: 1 });
        if round == 2 {
            // A keep-alive of the peer gets no response.
            bulk.send(Head::noop(Cookies { request: 0, ack: 1 }).bytes());
        }
    }
}

#[test]
fn a_message_that_stops_half_way_times_out() {
    let clock = manual_clock();
    let (node, low, high, port) = node_with_clock(clock.clone(), |config| {
        config.sock_timeout = SOCK_TIMEOUT;
        // Whether one is due before the time-out depends on how far the clock gets between two scans.
        config.keepalive = Duration::ZERO;
    });
    node.offer(buffer(5000));
    let mut control = Raw::open(low, high, port, ConnectionType::Control);
    let mut bulk = Raw::open(low, high, port, ConnectionType::BulkOut);
    let header = put_header(tcp(low), tcp(high), 5000, false);
    bulk.send(&message(Version::V3, &header, NO_COOKIES, &[0; 4000]));
    wait_for("the head", || node.core.message_counts().msgs_alloc == 1);
    node.no_event();
    let put = node.expect_as_time_passes(&clock, STEP, EventKind::Put);
    assert_eq!(put.status, Err(Errno::Io));
    assert_eq!(bulk.read_to_end(), []);
    assert_eq!(control.read_to_end(), []);
    assert_eq!(node.counters().timed_out, 1);
}

#[test]
fn a_peer_that_does_not_read_times_out() {
    let clock = manual_clock();
    let (node, low, high, port) = node_with_clock(clock.clone(), |config| config.sock_timeout = SOCK_TIMEOUT);
    let _control = Raw::open(low, high, port, ConnectionType::Control);
    // The node sends its response before it uses the connection.
    wait_for("the connection", || node.counters().accepted == 1);
    for _ in 0..20 {
        node.put(node.bind_bytes(pattern(1 << 20, 1)), tcp(low), false);
    }
    advance_until(&clock, STEP, "the time-out", || node.counters().timed_out > 0);
    // Messages that had not been sent wait for a connect, which has its timeout, too.
    let status = |_| node.expect_as_time_passes(&clock, STEP, EventKind::Send).status;
    assert!((0..20).map(status).filter(Result::is_err).count() > 0);
}
