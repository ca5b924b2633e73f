//! Delivery ACKs between nodes of this implementation, byte by byte: who is one, how delivery ACKs travel, what is known again.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::topology::NiTunables;
use lnet_core::{Errno, EventKind, Settings};
use lnet_wire::Body;
use socklnd::proto::frame::{Cookies, Head, Incoming};
use socklnd::proto::{ConnectionType, Hello, Version, acceptor};
use socklnd::{SocklndConfig, implementation_id};
use std::net::Ipv4Addr;
use std::time::Duration;
use support::*;

const AGAIN: u64 = 1 << 63;

/// A node of this implementation with number 1, the address of a peer, its own, and the port.
fn node(change: impl Fn(&mut SocklndConfig)) -> (Node, Ipv4Addr, Ipv4Addr, u16) {
    let (low, high, port) = addresses();
    let mut config = same_implementation(config(port), 1);
    change(&mut config);
    (Node::start(tcp(high), config), low, high, port)
}

/// The name of message `sequence` on line `line`.
fn name(line: u64, sequence: u64) -> u64 {
    line << 40 | sequence
}

fn asks(request: u64) -> Cookies {
    Cookies { request, ack: 0 }
}

fn noop(request: u64, ack: u64) -> Cookies {
    Cookies { request, ack }
}

#[test]
fn a_hello_carries_the_implementation_id_in_every_version_with_a_field_for_it() {
    let (_node, low, high, port) = node(|_| {});
    for version in [Version::V2, Version::V3, Version::V4] {
        let said = Hello { version, ..hello(low, high, Some(ConnectionType::Control)) };
        let (_raw, answer) = Raw::send_hello(low, high, port, &said);
        assert_eq!(answer.dest_incarnation, implementation_id(1), "{version:?}");
    }
    let (caller, low, _, port) = node(|_| {});
    let listener = Listening::on(low, port);
    caller.put(caller.bind_bytes(pattern(8, 1)), tcp(low), false);
    assert_eq!(listener.accept_handshake().1.dest_incarnation, implementation_id(1));
}

#[test]
fn a_kernel_that_echoes_the_incarnation_is_not_taken_for_this_implementation() {
    let (node, low, high, port) = node(|_| {});
    node.offer(buffer(100));
    let reflection =
        Hello { dest_incarnation: implementation_id(1), ..hello(low, high, Some(ConnectionType::Control)) };
    let mut raw = Raw::send_hello(low, high, port, &reflection).0;
    // Asked for a delivery ACK it gives one at once, and without a way for delivery ACKs it asks for none.
    raw.put(&put_header(tcp(low), tcp(high), 100, true), asks(5), &[1; 100]);
    assert_eq!(raw.read_noop(), noop(0, 5));
    let (header, cookies, _) = raw.read_lnet();
    assert!(matches!(header.body, Body::Ack { .. }));
    assert_eq!(cookies, noop(0, 0));
}

#[test]
fn delivery_acks_ride_on_messages_in_the_other_direction() {
    let (node, low, high, port) = node(|_| {});
    node.offer(buffer(100));
    let mut raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    let mut last = 0;
    for sequence in 1..20 {
        let cookies = Cookies { request: name(7, sequence), ack: last };
        raw.put(&put_header(tcp(low), tcp(high), 100, true), cookies, &[1; 100]);
        let (header, cookies, _) = raw.read_lnet();
        assert!(matches!(header.body, Body::Ack { .. }));
        assert_eq!(cookies.ack, name(7, sequence));
        // Named in their order.
        assert!(sequence == 1 || cookies.request == last + 1);
        last = cookies.request;
    }
    assert_eq!(node.counters().ack_noops, 0);
    assert_eq!(node.counters().acks, 19);
}

#[test]
fn delivery_acks_without_a_message_leave_in_a_noop() {
    let (node, low, high, port) = node(|_| {});
    node.offer(buffer(100));
    let mut raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    for sequence in 1..4 {
        raw.put(&put_header(tcp(low), tcp(high), 100, false), asks(name(7, sequence)), &[1; 100]);
        assert_eq!(raw.read_noop(), noop(0, name(7, sequence)));
    }
    // For what nobody wants, too.
    let mut nowhere = put_header(tcp(low), tcp(high), 100, false);
    if let Body::Put { match_bits, .. } = &mut nowhere.body {
        *match_bits = 0;
    }
    raw.put(&nowhere, asks(name(7, 4)), &[1; 100]);
    assert_eq!(raw.read_noop(), noop(0, name(7, 4)));
    assert_eq!(node.counters().acks, 4);
}

#[test]
fn four_delivery_acks_leave_at_once() {
    let (node, low, high, port) = node(|_| {});
    node.offer(buffer(100));
    let mut raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    let header = put_header(tcp(low), tcp(high), 100, false);
    let four: Vec<u8> = (1..=400)
        .flat_map(|sequence| message(Version::V3, &header, asks(name(7, sequence)), &[1; 100]))
        .collect();
    raw.send(&four);
    let mut next = 1;
    let mut noops = 0;
    while next <= 400 {
        let cookies = raw.read_noop();
        let (from, to) =
            if cookies.request == 0 { (cookies.ack, cookies.ack) } else { (cookies.request, cookies.ack) };
        assert_eq!(from, name(7, next), "{cookies:x?}");
        assert!(to - from < 4);
        next += to - from + 1;
        noops += 1;
    }
    assert!(noops <= 250, "{noops}");
}

/// A node that has one message under way, and its peer's end of the connection.
fn under_way(change: impl Fn(&mut SocklndConfig)) -> (Node, Raw, u64) {
    let (node, low, high, port) = node(change);
    let mut raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    wait_for("the connection", || node.counters().accepted == 1);
    node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
    let request = raw.read_lnet().1.request;
    (node, raw, request)
}

#[test]
fn send_is_reported_with_the_delivery_ack() {
    let (node, mut raw, request) = under_way(|_| {});
    node.no_event();
    raw.send(Head::noop(noop(0, request)).bytes());
    assert_eq!(node.expect(EventKind::Send).status, Ok(()));
}

#[test]
fn without_a_delivery_ack_send_is_not_reported() {
    let (node, mut raw, _) = under_way(|config| config.sock_timeout = Duration::from_millis(300));
    assert_eq!(node.expect(EventKind::Send).status, Err(Errno::TimedOut));
    raw.read_to_end();
    let (node, raw, _) = under_way(|_| {});
    drop(raw);
    assert!(node.expect(EventKind::Send).status.is_err());
}

#[test]
fn a_delivery_ack_counts_although_the_connection_ends_behind_it() {
    let (node, mut raw, request) = under_way(|_| {});
    raw.send(Head::noop(noop(0, request)).bytes());
    drop(raw);
    assert_eq!(node.expect(EventKind::Send).status, Ok(()));
}

#[test]
fn delivery_acks_for_messages_of_closed_connections_are_accepted() {
    let (node, mut raw, request) = under_way(|_| {});
    let line = request & !((1 << 40) - 1);
    for stray in [line + (1 << 40) + 1, AGAIN | name(99, 1)] {
        raw.send(Head::noop(noop(0, stray)).bytes());
    }
    raw.send(Head::noop(noop(0, request)).bytes());
    assert_eq!(node.expect(EventKind::Send).status, Ok(()));
    // But nothing that was not sent on this one has a delivery ACK.
    raw.send(Head::noop(noop(0, request + 1)).bytes());
    raw.read_to_end();
    assert_eq!(node.counters().protocol_errors, 1);
}

/// A node that offers memory, and a peer of this implementation that has sent `taken` messages on line 7 and is gone.
fn after_a_line(taken: u64) -> (Node, Ipv4Addr, Ipv4Addr, u16, &'static [u8]) {
    let (node, low, high, port) = node(|_| {});
    let landed = buffer(100);
    node.offer(landed);
    let mut raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    for sequence in 1..=taken {
        raw.put(&put_header(tcp(low), tcp(high), 100, false), asks(name(7, sequence)), &[1; 100]);
        node.expect(EventKind::Put);
    }
    drop(raw);
    wait_for("the end", || node.counters().closed_by_peer == 1);
    (node, low, high, port, landed)
}

/// The next ACK of a resend. What was delivered over an earlier connection may be acknowledged over this one first: its ACK
/// waits a moment for others to go with it.
fn read_resend_ack(raw: &mut Raw) -> Cookies {
    loop {
        let cookies = raw.read_noop();
        if cookies.ack & AGAIN != 0 {
            return cookies;
        }
    }
}

#[test]
fn a_duplicate_is_acknowledged_and_not_delivered() {
    let (node, low, high, port, landed) = after_a_line(3);
    let mut raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    let header = put_header(tcp(low), tcp(high), 100, false);
    for sequence in [3, 1, 2, 3] {
        raw.put(&header, asks(AGAIN | name(7, sequence)), &[9; 100]);
        assert_eq!(read_resend_ack(&mut raw), noop(0, AGAIN | name(7, sequence)));
    }
    node.no_event();
    assert!(*landed == [1; 100]);
    assert_eq!(node.counters().duplicates, 4);
    // What was not delivered is, once.
    for delivered in [true, false] {
        raw.put(&header, asks(AGAIN | name(7, 4)), &[4; 100]);
        assert_eq!(read_resend_ack(&mut raw), noop(0, AGAIN | name(7, 4)));
        if delivered {
            node.expect(EventKind::Put);
        }
        node.no_event();
    }
    raw.put(&header, asks(name(8, 1)), &[5; 100]);
    node.expect(EventKind::Put);
    assert!(*landed == [5; 100]);
}

#[test]
fn message_ids_of_different_nodes_do_not_collide() {
    let (node, low, high, port, _) = after_a_line(3);
    let mut raw = Raw::open_as_same_implementation(low, high, port, 3, ConnectionType::Control);
    raw.put(&put_header(tcp(low), tcp(high), 100, false), asks(AGAIN | name(7, 3)), &[9; 100]);
    node.expect(EventKind::Put);
}

#[test]
fn a_partly_received_message_is_resumed_in_the_same_memory() {
    let (node, low, high, port) = node(|_| {});
    let landed = buffer(1000);
    node.offer(landed);
    let header = put_header(tcp(low), tcp(high), 1000, true);
    let mut raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    let bytes = message(Version::V3, &header, asks(name(7, 1)), pattern(1000, 1));
    for (cut, cookie) in [(500, name(7, 1)), (700, AGAIN | name(7, 1)), (96, AGAIN | name(7, 1))] {
        let bytes = [&message(Version::V3, &header, asks(cookie), &[])[..], &bytes[96..cut]].concat();
        raw.send(&bytes);
        drop(raw);
        raw = loop {
            let hello = hello_of_same_implementation(low, high, 2, ConnectionType::Control);
            let (raw, answer) = Raw::send_hello(low, high, port, &hello);
            // Until the end of the other has been noticed.
            if answer.connection_type.is_some() {
                break raw;
            }
        };
    }
    node.no_event();
    raw.put(&header, asks(AGAIN | name(7, 1)), &bytes[96..]);
    assert_eq!(node.expect(EventKind::Put).status, Ok(()));
    assert!(*landed == bytes[96..]);
    assert_eq!(raw.read_lnet().1.ack, AGAIN | name(7, 1));
    assert_eq!(node.counters().resumed, 3);
    node.no_event();
}

#[test]
fn a_partly_received_message_that_is_not_resent_fails() {
    let (node, low, high, port) = node(|config| config.sock_timeout = Duration::from_millis(300));
    node.offer(buffer(1000));
    let mut raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    let header = put_header(tcp(low), tcp(high), 1000, false);
    raw.send(&message(Version::V3, &header, asks(name(7, 1)), &[1; 500]));
    wait_for("the head", || node.counters().accepted == 1);
    drop(raw);
    assert_eq!(node.expect(EventKind::Put).status, Err(Errno::Io));
}

/// Half of a PUT arrives by an interface, which is then removed; the node has another one.
fn half_by_an_interface_that_is_removed() -> (Node, &'static [u8], Ipv4Addr, Ipv4Addr, u16) {
    let (node, low, high, port) = node(|_| {});
    let retries = |settings: &mut Settings| {
        settings.retry_count = 2;
        Ok(())
    };
    node.core.change_settings(retries).unwrap();
    let other = Ipv4Addr::from(u32::from(high) + 1);
    node.core.add_ni(tcp(other), NiTunables::default(), &*node.driver).unwrap();
    let landed = buffer(1000);
    node.offer(landed);
    let mut raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    let header = put_header(tcp(low), tcp(high), 1000, true);
    raw.send(&message(Version::V3, &header, asks(name(7, 1)), &[1; 500]));
    wait_for("the head", || node.core.message_counts().msgs_alloc == 1);
    node.core.remove_ni(node.nid).unwrap();
    node.no_event();
    (node, landed, low, other, port)
}

#[test]
fn a_partly_received_message_is_resumed_on_another_ni_when_its_own_is_removed() {
    let (node, landed, low, other, port) = half_by_an_interface_that_is_removed();
    let mut raw = Raw::open_as_same_implementation(low, other, port, 2, ConnectionType::Control);
    let header = put_header(tcp(low), tcp(other), 1000, true);
    raw.put(&header, asks(AGAIN | name(7, 1)), &[2; 1000]);
    assert_eq!(node.expect(EventKind::Put).status, Ok(()));
    assert!(*landed == [2; 1000]);
    let (ack, ..) = raw.read_lnet();
    assert!(matches!(ack.body, Body::Ack { .. }), "{ack:?}");
    node.no_event();
}

#[test]
fn partly_received_messages_end_with_the_last_ni() {
    let (node, _, _, other, _) = half_by_an_interface_that_is_removed();
    node.core.remove_ni(tcp(other)).unwrap();
    assert_eq!(node.expect(EventKind::Put).status, Err(Errno::Io));
    assert_eq!(node.core.message_counts().msgs_alloc, 0);
}

#[test]
fn a_node_ends_without_waiting_for_partly_received_messages() {
    let (node, low, high, port) = node(|_| {});
    node.offer(buffer(1000));
    let mut raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    let header = put_header(tcp(low), tcp(high), 1000, false);
    raw.send(&message(Version::V3, &header, asks(name(7, 1)), &[1; 500]));
    drop(raw);
    wait_for("the end", || node.counters().closed_by_peer == 1);
    node.core.remove_ni(node.nid).unwrap();
    assert_eq!(node.expect(EventKind::Put).status, Err(Errno::Io));
}

#[test]
fn a_connection_that_its_sender_abandoned_is_closed_before_its_messages_are_resumed() {
    let (node, low, high, port) = node(|_| {});
    let landed = buffer(1000);
    node.offer(landed);
    let header = put_header(tcp(low), tcp(high), 1000, false);
    let mut old = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    old.send(&message(Version::V3, &header, asks(name(7, 1)), &[1; 500]));
    // The peer has a bulk connection of its own for the next; the old one has not been seen to end.
    let mut new = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::BulkOut);
    new.put(&header, asks(AGAIN | name(7, 1)), &[2; 1000]);
    assert_eq!(node.expect(EventKind::Put).status, Ok(()));
    assert!(*landed == [2; 1000]);
    assert_eq!(new.read_noop(), noop(0, AGAIN | name(7, 1)));
    old.read_to_end();
    node.no_event();
    assert_eq!(node.counters().closed_by_peer, 0);
}

#[test]
fn invalid_message_ids_end_the_connection() {
    let header = |low, high| put_header(tcp(low), tcp(high), 100, false);
    for (what, names) in [
        ("no line", vec![5]),
        ("no number", vec![7 << 40]),
        ("another line", vec![name(7, 1), name(8, 2)]),
        ("the same number", vec![name(7, 1), name(7, 1)]),
        ("an earlier one", vec![name(7, 2), name(7, 1)]),
        ("its own line again", vec![name(7, 1), AGAIN | name(7, 2)]),
    ] {
        let (node, low, high, port) = node(|_| {});
        node.offer(buffer(100));
        let mut raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
        for cookie in names {
            raw.put(&header(low, high), asks(cookie), &[1; 100]);
        }
        raw.read_to_end();
        assert_eq!(node.counters().protocol_errors, 1, "{what}");
    }
}

#[test]
fn two_connections_with_one_sequence_are_a_protocol_violation() {
    let (node, low, high, port) = node(|_| {});
    node.offer(buffer(100));
    let header = put_header(tcp(low), tcp(high), 100, false);
    let mut one = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    one.put(&header, asks(name(7, 1)), &[1; 100]);
    node.expect(EventKind::Put);
    let mut other = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::BulkOut);
    other.put(&header, asks(name(7, 2)), &[1; 100]);
    other.read_to_end();
    assert_eq!(node.counters().protocol_errors, 1);
}

#[test]
fn a_peer_of_this_implementation_may_speak_version_2_with_checksums() {
    let (node, low, high, port) = node(|config| config.enable_csum = true);
    node.offer(buffer(100));
    let hello =
        Hello { version: Version::V2, ..hello_of_same_implementation(low, high, 2, ConnectionType::Any) };
    let mut raw = Raw::connect(low.into(), 0, high.into(), port);
    raw.version = Version::V2;
    raw.send(&[acceptor::encode_request(tcp(high)), hello.encode().unwrap()].concat());
    raw.read_hello();
    raw.put(&put_header(tcp(low), tcp(high), 100, true), asks(name(7, 1)), &[1; 100]);
    let (ack, _) = raw.read_message();
    let Incoming::Message { cookies, checksum, header, .. } = ack else { panic!("{ack:?}") };
    assert_eq!(cookies.ack, name(7, 1));
    let mut head = Head::message(Version::V2, &header, cookies).unwrap();
    let mut sum = socklnd::proto::checksum::Checksum::new();
    sum.update(head.bytes());
    assert_eq!(checksum, sum.value());
    head.set_checksum(checksum);
}

#[test]
fn a_peer_that_does_not_read_the_acks_it_asked_for_is_disconnected() {
    let (node, low, high, port) = node(|_| {});
    let mut raw = Raw::open(low, high, port, ConnectionType::Control);
    let header = put_header(tcp(low), tcp(high), 0, false);
    let many: Vec<u8> = (0..1000).flat_map(|_| message(Version::V3, &header, asks(5), &[])).collect();
    raw.stream.set_write_timeout(Some(TIMEOUT)).unwrap();
    let mut rounds = 0;
    while std::io::Write::write_all(&mut raw.stream, &many).is_ok() {
        rounds += 1;
        assert!(rounds < 1000, "the delivery ACKs are kept");
    }
    wait_for("the end", || node.counters().ack_noops > 0);
}
