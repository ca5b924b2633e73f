//! A peer that asks for connections that it has, or that does not answer on them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::EventKind;
use socket2::{SockFilter, SockRef};
use socklnd::DeliveryAcks;
use socklnd::proto::ConnectionType;
use socklnd::proto::frame::{Cookies, FRAME_LEN, Head};
use std::time::Duration;
use support::*;

/// `BPF_RET | BPF_K`: what comes is cut to so many bytes; 0 drops it.
const RETURN: u16 = 6;

#[test]
fn a_connect_that_hangs_does_not_refuse_the_peers_connect_for_ever() {
    let (node, low, high, port) = node(|_| {});
    let listener = Listening::on(low, port);
    node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
    // The node, which has the higher NID, is now in the middle of calling, and stays there.
    let (mut theirs, _) = listener.accept_handshake();
    let mut refused = 0;
    let mut raw = loop {
        let (raw, answer) = Raw::hello(low, high, port, ConnectionType::Control);
        if answer.connection_type.is_some() {
            break raw;
        }
        refused += 1;
        std::thread::sleep(Duration::from_millis(10));
    };
    assert!(refused > 0);
    assert_eq!(theirs.read_to_end(), []);
    assert_eq!(raw.read_lnet().0.payload_length, 8);
    assert_eq!(node.expect(EventKind::Send).status, Ok(()));
}

#[test]
fn a_peer_that_asks_for_a_connection_it_has_is_probed() {
    let (_node, low, high, port) = node(|_| {});
    let mut control = Raw::open(low, high, port, ConnectionType::Control);
    let (_again, answer) = Raw::hello(low, high, port, ConnectionType::Control);
    assert_eq!(answer.connection_type, None);
    assert_eq!(control.read_noop(), Cookies { request: 0, ack: 1 });
}

#[test]
fn surplus_bulk_connections_are_refused_without_a_probe() {
    use ConnectionType::{BulkIn, BulkOut, Control};
    let (node, low, high, port) = node(|_| {});
    let mut set = [Control, BulkIn, BulkOut].map(|kind| Raw::open(low, high, port, kind));
    for kind in [BulkIn, BulkOut, BulkIn] {
        let (mut surplus, answer) = Raw::hello(low, high, port, kind);
        assert_eq!(answer.connection_type, None);
        assert_eq!(surplus.read_to_end(), []);
    }
    // What would have been sent for that is before this.
    let memory = node.bind_bytes(pattern(8, 1));
    node.put(memory, tcp(low), false);
    assert_eq!(set[0].read_lnet().0.payload_length, 8);
    let mut bulk = [0; 1];
    for raw in &mut set[1..] {
        raw.stream.set_nonblocking(true).unwrap();
        assert!(raw.stream.peek(&mut bulk).is_err(), "nothing was sent there");
    }
}

#[test]
fn a_surplus_connect_replaces_an_unresponsive_connection_before_its_timeout() {
    let (node, low, high, port) = node(|config| config.sock_timeout = Duration::from_secs(600));
    let lost = Raw::open(low, high, port, ConnectionType::Control);
    // From now on the system drops what comes for it, as a machine between the two might.
    SockRef::from(&lost.stream).attach_filter(&[SockFilter::new(RETURN, 0, 0, 0)]).unwrap();
    wait_for("a call to be accepted", || {
        std::thread::sleep(Duration::from_millis(10));
        Raw::hello(low, high, port, ConnectionType::Control).1.connection_type.is_some()
    });
    assert_eq!((node.counters().timed_out, node.counters().unresponsive), (1, 0));
}

#[test]
fn surplus_connects_do_not_end_a_connection_that_responds() {
    let (node, low, high, port) = node(|_| {});
    node.offer(buffer(8));
    let mut control = Raw::open(low, high, port, ConnectionType::Control);
    // Nothing is read until the end: it is the system that answers.
    wait_for("three probes", || {
        std::thread::sleep(Duration::from_millis(10));
        assert_eq!(Raw::hello(low, high, port, ConnectionType::Control).1.connection_type, None);
        control.stream.peek(&mut [0; 3 * FRAME_LEN]).unwrap() == 3 * FRAME_LEN
    });
    control.put(&put_header(tcp(low), tcp(high), 8, false), NO_COOKIES, &[1; 8]);
    assert_eq!(node.expect(EventKind::Put).mlength, 8);
}

#[test]
fn a_peer_that_owes_delivery_acks_is_probed_before_the_timeout() {
    let (node, low, _, port) = node(|config| {
        config.delivery_acks = DeliveryAcks::All;
        config.zc_min_payload = Some(0);
    });
    let listener = Listening::on(low, port);
    node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
    let mut all: Vec<_> = (0..3).map(|_| listener.accept(low).0).collect();
    all[0].read_lnet();
    wait_for("the set", || node.counters().connected == 3);
    node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
    let (_, cookies, _) = all[0].read_lnet();
    assert!(cookies.request > 1);
    assert_eq!(all[0].read_noop(), Cookies { request: 0, ack: 1 });
    assert_eq!(all[0].read_noop(), Cookies { request: 0, ack: 1 });
    all[0].send(Head::noop(Cookies { request: 0, ack: cookies.request }).bytes());
    for _ in 0..2 {
        assert_eq!(node.expect(EventKind::Send).status, Ok(()));
    }
    assert_eq!(node.counters().timed_out, 0);
}
