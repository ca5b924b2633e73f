//! Peers that send or read too slowly: each is disconnected in its time, and others go on.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::EventKind;
use socklnd::proto::{ConnectionType, acceptor};
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};
use support::attack::*;
use support::*;

#[test]
fn a_hello_that_arrives_too_slowly_is_dropped() {
    let attack = Attack::start(|config| config.accept_timeout = Duration::from_millis(300));
    let opening = [
        acceptor::encode_request(attack.node.nid),
        hello(attack.address(0), attack.me, Some(ConnectionType::Control)).encode().unwrap(),
    ]
    .concat();
    // A byte each time that the node has something else to do: far less than one in its time for each piece.
    let mut raw = attack.call(0);
    let mut rest = opening.iter();
    wait_for("the end", || {
        attack.round_trip();
        std::thread::sleep(Duration::from_millis(100));
        rest.next().is_none_or(|byte| raw.stream.write_all(&[*byte]).is_err())
            || attack.counters().handshakes_timed_out > 0
    });
    assert_eq!(attack.counters().handshakes_timed_out, 1);
}

#[test]
fn a_message_sent_byte_by_byte_does_not_hold_its_memory_for_ever() {
    let attack = Attack::start(|config| config.sock_timeout = Duration::from_millis(400));
    for begun in [10, 96 + 10] {
        let mut raw = attack.open(begun, ConnectionType::Control);
        let put = attack.put(begun, 0, &[7; 4000]);
        raw.send(&put[..begun as usize]);
        let began = Instant::now();
        let mut rest = put[begun as usize..].iter();
        // Each byte is well within the time between two.
        wait_for("the end", || {
            std::thread::sleep(Duration::from_millis(40));
            let byte = rest.next().expect("the end before the last byte");
            raw.stream.write_all(&[*byte]).is_err()
        });
        println!("{begun} bytes at once, then bytes: closed after {:?}", began.elapsed());
        if begun > 96 {
            let event = attack.node.expect(EventKind::Put);
            assert!(event.status.is_err(), "{event:?}");
        }
        attack.round_trip();
    }
    assert_eq!(attack.counters().timed_out, 2);
}

/// Waits until the other side has closed, reading nothing that would make room.
fn wait_for_end(stream: &TcpStream, what: &str) {
    wait_for(what, || stream.take_error().unwrap().is_some() || !is_connected(stream));
}

fn is_connected(stream: &TcpStream) -> bool {
    stream.peer_addr().is_ok()
}

#[test]
fn a_peer_that_does_not_read_is_given_up_in_time() {
    let attack = Attack::start(|config| config.sock_timeout = Duration::from_millis(500));
    let raw = attack.open(0, ConnectionType::Control);
    let md = attack.node.bind_bytes(pattern(1 << 20, 3));
    for _ in 0..16 {
        attack.node.put(md, tcp(attack.address(0)), false);
    }
    attack.round_trip_beside_sends();
    wait_for_end(&raw.stream, "the end");
}

impl Attack {
    /// What was sent to the attacker ends in error; the honest one notices nothing.
    fn round_trip_beside_sends(&self) {
        let mut failed = 0;
        let md = self.honest.bind_bytes(pattern(64, 1));
        self.honest.put(md, self.node.nid, true);
        let mut arrived = false;
        while failed < 1 || !arrived {
            let event = self.node.event();
            match event.kind {
                EventKind::Put => arrived = true,
                _ => failed += usize::from(event.status.is_err()),
            }
        }
    }
}
