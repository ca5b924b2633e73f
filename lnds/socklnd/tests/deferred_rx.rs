//! Messages that wait for a buffer, and the messages behind them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::{EventKind, MdMemory};
use lnet_wire::{Body, Header};
use socklnd::proto::frame::Cookies;
use socklnd::proto::{ConnectionType, Version};
use std::net::Ipv4Addr;
use support::*;

const AGAIN: u64 = 1 << 63;

/// Makes a node of this implementation whose portal is lazy. Returns it with the address of a peer, its own, and the port.
fn lazy_node() -> (Node, Ipv4Addr, Ipv4Addr, u16) {
    let (low, high, port) = addresses();
    let node = Node::start(tcp(high), same_implementation(config(port), 1));
    node.core.data_path().set_lazy_portal(PORTAL).unwrap();
    (node, low, high, port)
}

fn put_with_bits(low: Ipv4Addr, high: Ipv4Addr, len: usize, bits: u64) -> Header {
    let mut header = put_header(tcp(low), tcp(high), len, false);
    if let Body::Put { match_bits, .. } = &mut header.body {
        *match_bits = bits;
    }
    header
}

fn offer(node: &Node, memory: &'static [u8], bits: u64) {
    node.offer_with(MdMemory::contiguous(memory.as_ptr() as usize, memory.len() as u32), bits, 0);
}

fn asks(request: u64) -> Cookies {
    Cookies { request, ack: 0 }
}

#[test]
fn messages_behind_a_deferred_one_are_received() {
    let (node, low, high, port) = lazy_node();
    let (first, second) = (buffer(5000), buffer(300));
    let mut raw = Raw::open(low, high, port, ConnectionType::Control);
    offer(&node, second, 2);
    raw.put(&put_with_bits(low, high, 5000, 1), asks(5), pattern(5000, 1));
    // The node has the message, whatever the core decides.
    assert_eq!(raw.read_noop(), Cookies { request: 0, ack: 5 });
    raw.put(&put_with_bits(low, high, 0, 1), NO_COOKIES, &[]);
    raw.put(&put_with_bits(low, high, 300, 2), NO_COOKIES, pattern(300, 2));
    assert_eq!(node.expect(EventKind::Put).mlength, 300);
    assert!(second == pattern(300, 2));
    node.no_event();
    offer(&node, first, 1);
    for length in [5000, 0] {
        assert_eq!(node.expect(EventKind::Put).mlength, length);
    }
    assert!(first == pattern(5000, 1));
}

#[test]
fn deferred_messages_survive_the_end_of_their_connection() {
    let (node, low, high, port) = lazy_node();
    let mut raw = Raw::open(low, high, port, ConnectionType::Control);
    raw.put(&put_with_bits(low, high, 5000, 1), NO_COOKIES, pattern(5000, 1));
    drop(raw);
    wait_for("the end", || node.counters().closed_by_peer == 1);
    let landed = buffer(5000);
    offer(&node, landed, 1);
    assert_eq!(node.expect(EventKind::Put).status, Ok(()));
    assert!(landed == pattern(5000, 1));
}

#[test]
fn beyond_the_quota_a_deferred_message_blocks_its_connection() {
    const SIZE: usize = 900_000;
    let (node, low, high, port) = lazy_node();
    let mut raw = Raw::open(low, high, port, ConnectionType::BulkOut);
    let landed = buffer(SIZE);
    let (header, small) = (put_with_bits(low, high, SIZE, 1), put_with_bits(low, high, 300, 2));
    let last = buffer(300);
    offer(&node, last, 2);
    let writer = std::thread::spawn(move || {
        for seed in 1..=4 {
            raw.put(&header, NO_COOKIES, pattern(SIZE, seed));
        }
        raw.put(&small, NO_COOKIES, pattern(300, 9));
        raw
    });
    node.no_event();
    offer(&node, landed, 1);
    for _ in 0..4 {
        assert_eq!(node.expect(EventKind::Put).mlength as usize, SIZE);
    }
    assert_eq!(node.expect(EventKind::Put).mlength, 300);
    assert!(last == pattern(300, 9));
    drop(writer.join().unwrap());
}

#[test]
fn a_partly_received_deferred_message_is_resumed_without_asking_the_core_again() {
    let (node, low, high, port) = lazy_node();
    let header = put_with_bits(low, high, 1000, 1);
    let mut raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    let whole = message(Version::V3, &header, asks(7 << 40 | 1), pattern(1000, 1));
    raw.send(&whole[..600]);
    drop(raw);
    wait_for("the end", || node.counters().closed_by_peer == 1);
    let landed = buffer(1000);
    offer(&node, landed, 1);
    node.no_event();
    let mut raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    raw.put(&header, asks(AGAIN | 7 << 40 | 1), pattern(1000, 1));
    assert_eq!(node.expect(EventKind::Put).status, Ok(()));
    assert!(landed == pattern(1000, 1));
    assert_eq!(raw.read_noop().ack, AGAIN | 7 << 40 | 1);
    assert_eq!(node.counters().resumed, 1);
    node.no_event();
}

#[test]
fn a_node_ends_with_deferred_messages() {
    let (node, low, high, port) = lazy_node();
    let mut raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    let header = put_with_bits(low, high, 1000, 1);
    raw.put(&header, asks(7 << 40 | 1), pattern(1000, 1));
    assert_eq!(raw.read_noop().ack, 7 << 40 | 1);
    raw.send(&message(Version::V3, &header, asks(7 << 40 | 2), pattern(500, 1)));
    node.core.admin().remove_ni(node.nid).unwrap();
    offer(&node, buffer(1000), 1);
    node.no_event();
}

/// Sends 600 bytes of a PUT of 1000 to a portal without a buffer, and ends the connection.
fn breaks_off(node: &Node, mut raw: Raw, whole: &[u8]) {
    let before = node.counters().closed_by_peer;
    raw.send(&whole[..600]);
    drop(raw);
    wait_for("the end", || node.counters().closed_by_peer > before);
}

/// Fails if a peer that sends the beginnings of messages fills the memory of a node whose portal has no buffer.
#[test]
fn deferred_messages_that_break_off_leave_nothing_behind() {
    let (node, low, high, port) = lazy_node();
    let header = put_with_bits(low, high, 1000, 1);
    let whole = message(Version::V3, &header, NO_COOKIES, pattern(1000, 1));
    for _ in 0..20 {
        breaks_off(&node, Raw::open(low, high, port, ConnectionType::Control), &whole);
    }
    wait_for("the messages to be dropped", || {
        node.core.monitor().run();
        node.core.message_counts().msgs_alloc == 0
    });
    let landed = buffer(1000);
    offer(&node, landed, 1);
    node.no_event();
    let mut raw = Raw::open(low, high, port, ConnectionType::Control);
    raw.put(&header, NO_COOKIES, pattern(1000, 1));
    assert_eq!(node.expect(EventKind::Put).status, Ok(()));
}

/// Fails if a deferred message that has arrived in part is kept for longer than its sender may send it again.
#[test]
fn deferred_messages_in_part_are_given_up_after_their_time() {
    let (low, high, port) = addresses();
    let clock = manual_clock();
    let config = same_implementation(config(port), 1);
    let node = Node::start_with_clock(tcp(high), config, clock.clone());
    node.core.data_path().set_lazy_portal(PORTAL).unwrap();
    let header = put_with_bits(low, high, 1000, 1);
    let whole = message(Version::V3, &header, asks(7 << 40 | 1), pattern(1000, 1));
    let raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    breaks_off(&node, raw, &whole);
    wait_for("the message to be kept", || node.core.message_counts().partial == 1);
    advance_until(&clock, std::time::Duration::from_secs(1), "its end", || {
        node.core.monitor().run();
        node.core.message_counts().msgs_alloc == 0
    });
    let counts = node.core.message_counts();
    assert_eq!((counts.partial, counts.partial_dropped), (0, 1));
}

/// Fails if a peer can withhold memory that is offered from others by sending parts of messages, without a limit; or if
/// the latest parts, which may come again, are dropped first.
#[test]
fn of_one_peer_a_limited_number_of_messages_in_part_is_kept() {
    const MAX_KEPT: usize = 32;
    let (low, high, port) = addresses();
    let node = Node::start(tcp(high), same_implementation(config(port), 1));
    offer(&node, buffer(1000), 1);
    let header = put_with_bits(low, high, 1000, 1);
    let id = |number: u64| (7 + number) << 40 | 1;
    let open = || Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    for number in 0..MAX_KEPT as u64 + 8 {
        let whole = message(Version::V3, &header, asks(id(number)), pattern(1000, 1));
        breaks_off(&node, open(), &whole);
    }
    for _ in 0..8 {
        assert_eq!(node.expect(EventKind::Put).status, Err(lnet_core::Errno::Io));
    }
    node.no_event();
    let kept = || {
        let counts = node.core.message_counts();
        (counts.partial, counts.partial_dropped)
    };
    assert_eq!(kept(), (MAX_KEPT as u64, 8));
    // A message that is kept is resumed, another one is new.
    for (number, resumed) in [(MAX_KEPT as u64 + 7, 1), (0, 1)] {
        open().put(&header, asks(AGAIN | id(number)), pattern(1000, 1));
        assert_eq!(node.expect(EventKind::Put).status, Ok(()));
        assert_eq!(node.counters().resumed, resumed);
    }
    assert_eq!(kept(), (MAX_KEPT as u64 - 1, 8));
}

/// Fails if a peer that reconnects gets its share of the memory for deferred payloads once more.
#[test]
fn the_quota_of_a_peer_outlives_its_connections() {
    const SIZE: usize = 900_000;
    let (node, low, high, port) = lazy_node();
    let header = put_with_bits(low, high, SIZE, 1);
    for connection in 1..=2 {
        let mut raw = Raw::open(low, high, port, ConnectionType::BulkOut);
        raw.put(&header, asks(5), pattern(SIZE, 1));
        assert_eq!(raw.read_noop().ack, 5);
        drop(raw);
        wait_for("the end", || node.counters().closed_by_peer == connection);
    }
    let mut raw = Raw::open(low, high, port, ConnectionType::BulkOut);
    let writer = std::thread::spawn(move || {
        raw.put(&header, asks(6), pattern(SIZE, 1));
        raw
    });
    // The third message is not read before there is a buffer.
    wait_for("the third message", || node.core.message_counts().msgs_alloc == 3);
    let landed = buffer(SIZE);
    assert!(node.counters().acks <= 2);
    offer(&node, landed, 1);
    for _ in 0..3 {
        assert_eq!(node.expect(EventKind::Put).mlength as usize, SIZE);
    }
    assert_eq!(writer.join().unwrap().read_noop().ack, 6);
}
