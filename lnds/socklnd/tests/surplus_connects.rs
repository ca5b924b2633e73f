//! Connects of a peer for connections that it has already: rejected, and the existing ones are probed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use socklnd::proto::ConnectionType;
use socklnd::proto::frame::Cookies;
use support::*;

#[test]
fn a_peer_that_asks_for_a_connection_it_has_is_probed() {
    let (_node, low, high, port) = node(|_| {});
    let mut control = Raw::open(low, high, port, ConnectionType::Control);
    let (_again, response) = Raw::hello(low, high, port, ConnectionType::Control);
    assert_eq!(response.connection_type, None);
    assert_eq!(control.read_noop(), Cookies { request: 0, ack: 1 });
}

#[test]
fn surplus_bulk_connections_are_refused_without_a_probe() {
    use ConnectionType::{BulkIn, BulkOut, Control};
    let (node, low, high, port) = node(|_| {});
    let mut set = [Control, BulkIn, BulkOut].map(|kind| Raw::open(low, high, port, kind));
    for kind in [BulkIn, BulkOut, BulkIn] {
        let (mut surplus, response) = Raw::hello(low, high, port, kind);
        assert_eq!(response.connection_type, None);
        assert_eq!(surplus.read_to_end(), []);
    }
    // Any frame sent because of that would come before this message.
    let memory = node.bind_bytes(pattern(8, 1));
    node.put(memory, tcp(low), false);
    assert_eq!(set[0].read_lnet().0.payload_length, 8);
    let mut bulk = [0; 1];
    for raw in &mut set[1..] {
        raw.stream.set_nonblocking(true).unwrap();
        assert!(raw.stream.peek(&mut bulk).is_err(), "nothing was sent there");
    }
}
