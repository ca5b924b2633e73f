//! Delivery ACKs, byte by byte: between nodes of this implementation, and with kernel nodes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::Clock;
use lnet_core::{Errno, EventKind};
use lnet_wire::Body;
use socklnd::implementation_id;
use socklnd::proto::frame::{Cookies, Head, Incoming};
use socklnd::proto::{ConnectionType, Hello, Version, acceptor};
use std::sync::Arc;
use std::time::Duration;
use support::*;

#[test]
fn a_hello_carries_the_implementation_id_in_every_version_with_a_field_for_it() {
    let (_node, low, high, port) = node_of_same_implementation(|_| {});
    for version in [Version::V2, Version::V3, Version::V4] {
        let said = Hello { version, ..hello(low, high, Some(ConnectionType::Control)) };
        let (_raw, response) = Raw::send_hello(low, high, port, &said);
        assert_eq!(response.dest_incarnation, implementation_id(1), "{version:?}");
    }
    let (caller, low, _, port) = node_of_same_implementation(|_| {});
    let listener = Listening::on(low, port);
    caller.put(caller.bind_bytes(pattern(8, 1)), tcp(low), false);
    assert_eq!(listener.accept_handshake().1.dest_incarnation, implementation_id(1));
}

#[test]
fn a_kernel_that_echoes_the_incarnation_is_not_taken_for_this_implementation() {
    let (node, low, high, port) = node_of_same_implementation(|_| {});
    node.offer(buffer(100));
    let reflection =
        Hello { dest_incarnation: implementation_id(1), ..hello(low, high, Some(ConnectionType::Control)) };
    let mut raw = Raw::send_hello(low, high, port, &reflection).0;
    // The node gives a requested delivery ACK at once, and without a connection for delivery ACKs it asks for none.
    raw.put(&put_header(tcp(low), tcp(high), 100, true), asks_for_ack(5), &[1; 100]);
    assert_eq!(raw.read_noop(), cookies_of(0, 5));
    let (header, cookies, _) = raw.read_lnet();
    assert!(matches!(header.body, Body::Ack { .. }));
    assert_eq!(cookies, cookies_of(0, 0));
}

#[test]
fn delivery_acks_ride_on_messages_in_the_other_direction() {
    let (node, low, high, port) = node_of_same_implementation(|_| {});
    node.offer(buffer(100));
    let mut raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    let mut last = 0;
    for sequence in 1..20 {
        let cookies = Cookies { request: message_id(7, sequence), ack: last };
        raw.put(&put_header(tcp(low), tcp(high), 100, true), cookies, &[1; 100]);
        let (header, cookies, _) = raw.read_lnet();
        assert!(matches!(header.body, Body::Ack { .. }));
        assert_eq!(cookies.ack, message_id(7, sequence));
        // The IDs are in order.
        assert!(sequence == 1 || cookies.request == last + 1);
        last = cookies.request;
    }
    assert_eq!(node.counters().ack_noops, 0);
    assert_eq!(node.counters().acks, 19);
}

#[test]
fn delivery_acks_without_a_message_leave_in_a_noop() {
    let (node, low, high, port) = node_of_same_implementation(|_| {});
    node.offer(buffer(100));
    let mut raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    for sequence in 1..4 {
        raw.put(
            &put_header(tcp(low), tcp(high), 100, false),
            asks_for_ack(message_id(7, sequence)),
            &[1; 100],
        );
        assert_eq!(raw.read_noop(), cookies_of(0, message_id(7, sequence)));
    }
    // The ACK is also sent for a message that nothing matches.
    let mut nowhere = put_header(tcp(low), tcp(high), 100, false);
    if let Body::Put { match_bits, .. } = &mut nowhere.body {
        *match_bits = 0;
    }
    raw.put(&nowhere, asks_for_ack(message_id(7, 4)), &[1; 100]);
    assert_eq!(raw.read_noop(), cookies_of(0, message_id(7, 4)));
    assert_eq!(node.counters().acks, 4);
}

#[test]
fn four_delivery_acks_leave_at_once() {
    let (node, low, high, port) = node_of_same_implementation(|_| {});
    node.offer(buffer(100));
    let mut raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    let header = put_header(tcp(low), tcp(high), 100, false);
    let four: Vec<u8> = (1..=400)
        .flat_map(|sequence| message(Version::V3, &header, asks_for_ack(message_id(7, sequence)), &[1; 100]))
        .collect();
    raw.send(&four);
    let mut next = 1;
    let mut noops = 0;
    while next <= 400 {
        let cookies = raw.read_noop();
        let (from, to) =
            if cookies.request == 0 { (cookies.ack, cookies.ack) } else { (cookies.request, cookies.ack) };
        assert_eq!(from, message_id(7, next), "{cookies:x?}");
        assert!(to - from < 4);
        next += to - from + 1;
        noops += 1;
    }
    assert!(noops <= 250, "{noops}");
}

/// Makes a node with one message under way. Returns it with its peer's end of the connection, and the cookie.
fn with_message_in_flight() -> (Node, Raw, u64) {
    with_message_in_flight_and_clock(running_clock())
}

fn with_message_in_flight_and_clock(clock: Arc<dyn Clock>) -> (Node, Raw, u64) {
    let (node, low, high, port) = node_of_same_implementation_with_clock(clock, |_| {});
    let mut raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    wait_for("the connection", || node.counters().accepted == 1);
    node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
    let request = raw.read_lnet().1.request;
    (node, raw, request)
}

#[test]
fn send_is_reported_with_the_delivery_ack() {
    let (node, mut raw, request) = with_message_in_flight();
    node.no_event();
    raw.send(Head::noop(cookies_of(0, request)).bytes());
    assert_eq!(node.expect(EventKind::Send).status, Ok(()));
}

#[test]
fn without_a_delivery_ack_send_is_not_reported() {
    let clock = manual_clock();
    let (node, mut raw, _) = with_message_in_flight_and_clock(clock.clone());
    node.no_event();
    let send = node.expect_as_time_passes(&clock, Duration::from_secs(1), EventKind::Send);
    assert_eq!(send.status, Err(Errno::TimedOut));
    raw.read_to_end();
    let (node, raw, _) = with_message_in_flight();
    drop(raw);
    assert!(node.expect(EventKind::Send).status.is_err());
}

#[test]
fn a_delivery_ack_counts_although_the_connection_ends_behind_it() {
    let (node, mut raw, request) = with_message_in_flight();
    raw.send(Head::noop(cookies_of(0, request)).bytes());
    drop(raw);
    assert_eq!(node.expect(EventKind::Send).status, Ok(()));
}

#[test]
fn delivery_acks_for_messages_of_closed_connections_are_accepted() {
    let (node, mut raw, request) = with_message_in_flight();
    let line = request & !((1 << 40) - 1);
    for stray in [line + (1 << 40) + 1, RESEND | message_id(99, 1)] {
        raw.send(Head::noop(cookies_of(0, stray)).bytes());
    }
    raw.send(Head::noop(cookies_of(0, request)).bytes());
    assert_eq!(node.expect(EventKind::Send).status, Ok(()));
    // But a delivery ACK for a message that was not sent on this connection is an error.
    raw.send(Head::noop(cookies_of(0, request + 1)).bytes());
    raw.read_to_end();
    assert_eq!(node.counters().protocol_errors, 1);
}

#[test]
fn a_peer_of_this_implementation_may_speak_version_2_with_checksums() {
    let (node, low, high, port) = node_of_same_implementation(|config| config.enable_csum = true);
    node.offer(buffer(100));
    let hello =
        Hello { version: Version::V2, ..hello_of_same_implementation(low, high, 2, ConnectionType::Any) };
    let mut raw = Raw::connect(low.into(), 0, high.into(), port);
    raw.version = Version::V2;
    raw.send(&[acceptor::encode_request(tcp(high)), hello.encode().unwrap()].concat());
    raw.read_hello();
    raw.put(&put_header(tcp(low), tcp(high), 100, true), asks_for_ack(message_id(7, 1)), &[1; 100]);
    let (ack, _) = raw.read_message();
    let Incoming::Message { cookies, checksum, header, .. } = ack else { panic!("{ack:?}") };
    assert_eq!(cookies.ack, message_id(7, 1));
    let mut head = Head::message(Version::V2, &header, cookies).unwrap();
    let mut sum = socklnd::proto::checksum::Checksum::new();
    sum.update(head.bytes());
    assert_eq!(checksum, sum.value());
    head.set_checksum(checksum);
}

#[test]
fn a_peer_that_does_not_read_the_acks_it_asked_for_is_disconnected() {
    let (node, low, high, port) = node_of_same_implementation(|_| {});
    let mut raw = Raw::open(low, high, port, ConnectionType::Control);
    let header = put_header(tcp(low), tcp(high), 0, false);
    let many: Vec<u8> = (0..1000).flat_map(|_| message(Version::V3, &header, asks_for_ack(5), &[])).collect();
    raw.stream.set_write_timeout(Some(TIMEOUT)).unwrap();
    let mut rounds = 0;
    while std::io::Write::write_all(&mut raw.stream, &many).is_ok() {
        rounds += 1;
        assert!(rounds < 1000, "the delivery ACKs are kept");
    }
    wait_for("the end", || node.counters().ack_noops > 0);
}

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
    // The ACK is also sent for a message that nothing matches.
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
    let send = || node.put(node.bind_bytes(pattern(20_000, 1)), tcp(low), false);
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
