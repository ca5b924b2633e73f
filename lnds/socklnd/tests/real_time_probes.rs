//! Probes of connections that may be lost. The kernel's TCP responds to them or does not, so time is real.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::EventKind;
use socket2::{SockFilter, SockRef};
use socklnd::DeliveryAcks;
use socklnd::proto::ConnectionType;
use socklnd::proto::frame::{Cookies, FRAME_LEN, Head};
use std::time::Duration;
use support::*;

/// `BPF_RET | BPF_K`: cuts a packet to a number of bytes; 0 drops it.
const RETURN: u16 = 6;

#[test]
fn a_surplus_connect_replaces_an_unresponsive_connection_before_its_timeout() {
    let (node, low, high, port) = node(|config| config.sock_timeout = Duration::from_secs(600));
    let lost = Raw::open(low, high, port, ConnectionType::Control);
    // From now on the system drops packets for this socket, as a machine between the two might.
    SockRef::from(&lost.stream).attach_filter(&[SockFilter::new(RETURN, 0, 0, 0)]).unwrap();
    wait_for("a call to be accepted", || {
        std::thread::sleep(Duration::from_millis(10));
        Raw::hello(low, high, port, ConnectionType::Control).1.connection_type.is_some()
    });
    assert_eq!((node.counters().timed_out, node.counters().unresponsive), (1, 0));
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

#[test]
fn surplus_connects_do_not_end_a_connection_that_responds() {
    let (node, low, high, port) = node(|_| {});
    node.offer(buffer(8));
    let mut control = Raw::open(low, high, port, ConnectionType::Control);
    // Nothing is read until the end: the system responds.
    wait_for("three probes", || {
        std::thread::sleep(Duration::from_millis(10));
        assert_eq!(Raw::hello(low, high, port, ConnectionType::Control).1.connection_type, None);
        control.stream.peek(&mut [0; 3 * FRAME_LEN]).unwrap() == 3 * FRAME_LEN
    });
    control.put(&put_header(tcp(low), tcp(high), 8, false), NO_COOKIES, &[1; 8]);
    assert_eq!(node.expect(EventKind::Put).mlength, 8);
}
