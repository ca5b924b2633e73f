//! Messages that a peer of this implementation sends again: delivered once, and resumed in the same memory.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::topology::NiTunables;
use lnet_core::{Errno, EventKind, Settings};
use lnet_wire::Body;
use socklnd::proto::frame::Cookies;
use socklnd::proto::{ConnectionType, Version};
use std::net::Ipv4Addr;
use std::time::Duration;
use support::*;

/// Makes a node that offers memory, after a peer of this implementation has sent `taken` messages with sequence 7 and has
/// left.
fn after_messages(taken: u64) -> (Node, Ipv4Addr, Ipv4Addr, u16, &'static [u8]) {
    let (node, low, high, port) = node_of_same_implementation(|_| {});
    let landed = buffer(100);
    node.offer(landed);
    let mut raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    for sequence in 1..=taken {
        raw.put(
            &put_header(tcp(low), tcp(high), 100, false),
            asks_for_ack(message_id(7, sequence)),
            &[1; 100],
        );
        node.expect(EventKind::Put);
    }
    drop(raw);
    wait_for("the end", || node.counters().closed_by_peer == 1);
    (node, low, high, port, landed)
}

/// Returns the next ACK of a resend. The ACK of a message that was delivered over an earlier connection may come over this
/// one first: it waits a moment for others to go with it.
fn read_resend_ack(raw: &mut Raw) -> Cookies {
    loop {
        let cookies = raw.read_noop();
        if cookies.ack & RESEND != 0 {
            return cookies;
        }
    }
}

#[test]
fn a_duplicate_is_acknowledged_and_not_delivered() {
    let (node, low, high, port, landed) = after_messages(3);
    let mut raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    let header = put_header(tcp(low), tcp(high), 100, false);
    for sequence in [3, 1, 2, 3] {
        raw.put(&header, asks_for_ack(RESEND | message_id(7, sequence)), &[9; 100]);
        assert_eq!(read_resend_ack(&mut raw), cookies_of(0, RESEND | message_id(7, sequence)));
    }
    node.no_event();
    assert!(*landed == [1; 100]);
    assert_eq!(node.counters().duplicates, 4);
    // A message that was not delivered arrives once.
    for delivered in [true, false] {
        raw.put(&header, asks_for_ack(RESEND | message_id(7, 4)), &[4; 100]);
        assert_eq!(read_resend_ack(&mut raw), cookies_of(0, RESEND | message_id(7, 4)));
        if delivered {
            node.expect(EventKind::Put);
        }
        node.no_event();
    }
    raw.put(&header, asks_for_ack(message_id(8, 1)), &[5; 100]);
    node.expect(EventKind::Put);
    assert!(*landed == [5; 100]);
}

#[test]
fn message_ids_of_different_nodes_do_not_collide() {
    let (node, low, high, port, _) = after_messages(3);
    let mut raw = Raw::open_as_same_implementation(low, high, port, 3, ConnectionType::Control);
    raw.put(&put_header(tcp(low), tcp(high), 100, false), asks_for_ack(RESEND | message_id(7, 3)), &[9; 100]);
    node.expect(EventKind::Put);
}

#[test]
fn a_partly_received_message_is_resumed_in_the_same_memory() {
    let (node, low, high, port) = node_of_same_implementation(|_| {});
    let landed = buffer(1000);
    node.offer(landed);
    let header = put_header(tcp(low), tcp(high), 1000, true);
    let mut raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    let bytes = message(Version::V3, &header, asks_for_ack(message_id(7, 1)), pattern(1000, 1));
    for (cut, cookie) in
        [(500, message_id(7, 1)), (700, RESEND | message_id(7, 1)), (96, RESEND | message_id(7, 1))]
    {
        let bytes = [&message(Version::V3, &header, asks_for_ack(cookie), &[])[..], &bytes[96..cut]].concat();
        raw.send(&bytes);
        drop(raw);
        raw = loop {
            let hello = hello_of_same_implementation(low, high, 2, ConnectionType::Control);
            let (raw, response) = Raw::send_hello(low, high, port, &hello);
            // Repeats until the end of the other connection has been noticed.
            if response.connection_type.is_some() {
                break raw;
            }
        };
    }
    node.no_event();
    raw.put(&header, asks_for_ack(RESEND | message_id(7, 1)), &bytes[96..]);
    assert_eq!(node.expect(EventKind::Put).status, Ok(()));
    assert!(*landed == bytes[96..]);
    assert_eq!(raw.read_lnet().1.ack, RESEND | message_id(7, 1));
    assert_eq!(node.counters().resumed, 3);
    node.no_event();
}

#[test]
fn a_partly_received_message_that_is_not_resent_fails() {
    let clock = manual_clock();
    let (node, low, high, port) = node_of_same_implementation_with_clock(clock.clone(), |_| {});
    node.offer(buffer(1000));
    let mut raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    let header = put_header(tcp(low), tcp(high), 1000, false);
    raw.send(&message(Version::V3, &header, asks_for_ack(message_id(7, 1)), &[1; 500]));
    wait_for("the head", || node.core.message_counts().msgs_alloc == 1);
    drop(raw);
    wait_for("the end of the connection", || node.counters().closed_by_peer == 1);
    node.no_event();
    let put = node.expect_as_time_passes(&clock, Duration::from_secs(1), EventKind::Put);
    assert_eq!(put.status, Err(Errno::Io));
}

/// Sends half of a PUT by an interface, which is then removed; the node has another one.
fn half_by_an_interface_that_is_removed() -> (Node, &'static [u8], Ipv4Addr, Ipv4Addr, u16) {
    let (node, low, high, port) = node_of_same_implementation(|_| {});
    let retries = |settings: &mut Settings| {
        settings.retry_count = 2;
        Ok(())
    };
    node.core.admin().change_settings(retries).unwrap();
    let other = Ipv4Addr::from(u32::from(high) + 1);
    node.core.admin().add_ni(tcp(other), NiTunables::default(), &*node.driver).unwrap();
    let landed = buffer(1000);
    node.offer(landed);
    let mut raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    let header = put_header(tcp(low), tcp(high), 1000, true);
    raw.send(&message(Version::V3, &header, asks_for_ack(message_id(7, 1)), &[1; 500]));
    wait_for("the head", || node.core.message_counts().msgs_alloc == 1);
    node.core.admin().remove_ni(node.nid).unwrap();
    node.no_event();
    (node, landed, low, other, port)
}

#[test]
fn a_partly_received_message_is_resumed_on_another_ni_when_its_own_is_removed() {
    let (node, landed, low, other, port) = half_by_an_interface_that_is_removed();
    let mut raw = Raw::open_as_same_implementation(low, other, port, 2, ConnectionType::Control);
    let header = put_header(tcp(low), tcp(other), 1000, true);
    raw.put(&header, asks_for_ack(RESEND | message_id(7, 1)), &[2; 1000]);
    assert_eq!(node.expect(EventKind::Put).status, Ok(()));
    assert!(*landed == [2; 1000]);
    let (ack, ..) = raw.read_lnet();
    assert!(matches!(ack.body, Body::Ack { .. }), "{ack:?}");
    node.no_event();
}

#[test]
fn partly_received_messages_end_with_the_last_ni() {
    let (node, _, _, other, _) = half_by_an_interface_that_is_removed();
    node.core.admin().remove_ni(tcp(other)).unwrap();
    assert_eq!(node.expect(EventKind::Put).status, Err(Errno::Io));
    assert_eq!(node.core.message_counts().msgs_alloc, 0);
}

#[test]
fn a_node_ends_without_waiting_for_partly_received_messages() {
    let (node, low, high, port) = node_of_same_implementation(|_| {});
    node.offer(buffer(1000));
    let mut raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    let header = put_header(tcp(low), tcp(high), 1000, false);
    raw.send(&message(Version::V3, &header, asks_for_ack(message_id(7, 1)), &[1; 500]));
    drop(raw);
    wait_for("the end", || node.counters().closed_by_peer == 1);
    node.core.admin().remove_ni(node.nid).unwrap();
    assert_eq!(node.expect(EventKind::Put).status, Err(Errno::Io));
}

#[test]
fn a_connection_that_its_sender_abandoned_is_closed_before_its_messages_are_resumed() {
    let (node, low, high, port) = node_of_same_implementation(|_| {});
    let landed = buffer(1000);
    node.offer(landed);
    let header = put_header(tcp(low), tcp(high), 1000, false);
    let mut old = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    old.send(&message(Version::V3, &header, asks_for_ack(message_id(7, 1)), &[1; 500]));
    // The peer opens another bulk connection for the next message; the end of the old one has not been detected.
    let mut new = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::BulkOut);
    new.put(&header, asks_for_ack(RESEND | message_id(7, 1)), &[2; 1000]);
    assert_eq!(node.expect(EventKind::Put).status, Ok(()));
    assert!(*landed == [2; 1000]);
    assert_eq!(new.read_noop(), cookies_of(0, RESEND | message_id(7, 1)));
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
        ("another line", vec![message_id(7, 1), message_id(8, 2)]),
        ("the same number", vec![message_id(7, 1), message_id(7, 1)]),
        ("an earlier one", vec![message_id(7, 2), message_id(7, 1)]),
        ("its own line again", vec![message_id(7, 1), RESEND | message_id(7, 2)]),
    ] {
        let (node, low, high, port) = node_of_same_implementation(|_| {});
        node.offer(buffer(100));
        let mut raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
        for cookie in names {
            raw.put(&header(low, high), asks_for_ack(cookie), &[1; 100]);
        }
        raw.read_to_end();
        assert_eq!(node.counters().protocol_errors, 1, "{what}");
    }
}

#[test]
fn two_connections_with_one_sequence_are_a_protocol_violation() {
    let (node, low, high, port) = node_of_same_implementation(|_| {});
    node.offer(buffer(100));
    let header = put_header(tcp(low), tcp(high), 100, false);
    let mut one = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    one.put(&header, asks_for_ack(message_id(7, 1)), &[1; 100]);
    node.expect(EventKind::Put);
    let mut other = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::BulkOut);
    other.put(&header, asks_for_ack(message_id(7, 2)), &[1; 100]);
    other.read_to_end();
    assert_eq!(node.counters().protocol_errors, 1);
}
