//! Peers that send or read too slowly: each is disconnected in its time, and others are not affected.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::EventKind;
use socklnd::proto::{ConnectionType, acceptor};
use std::net::TcpStream;
use std::time::Duration;
use support::attack::*;
use support::*;

#[test]
fn a_hello_that_arrives_too_slowly_is_dropped() {
    const ACCEPT_TIMEOUT: Duration = Duration::from_secs(5);
    let clock = manual_clock();
    let attack = Attack::start_with_clock(clock.clone(), |config| config.accept_timeout = ACCEPT_TIMEOUT);
    let mut raw = attack.call(0);
    raw.send(&acceptor::encode_request(attack.node.nid)[..1]);
    // Connections are accepted in their order: the first one has been, and its time runs.
    drop(attack.open(1, ConnectionType::Control));
    clock.advance(ACCEPT_TIMEOUT / 2);
    raw.send(&acceptor::encode_request(attack.node.nid)[1..2]);
    attack.round_trip();
    assert_eq!(attack.counters().handshakes_timed_out, 0);
    // The second byte has not extended the time limit.
    clock.advance(ACCEPT_TIMEOUT / 2);
    wait_for("the end of the handshake", || attack.counters().handshakes_timed_out == 1);
    assert_eq!(raw.read_to_end(), []);
    attack.round_trip();
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
    let clock = manual_clock();
    let attack = Attack::start_with_clock(clock.clone(), |_| {});
    let raw = attack.open(0, ConnectionType::Control);
    let md = attack.node.bind_bytes(pattern(1 << 20, 3));
    for _ in 0..16 {
        attack.node.put(md, tcp(attack.address(0)), false);
    }
    advance_until(&clock, Duration::from_secs(1), "the time-out", || attack.counters().timed_out > 0);
    attack.round_trip_beside_sends();
    wait_for_end(&raw.stream, "the end");
}

impl Attack {
    /// Waits until a message to the attacker has failed, while a round trip with the honest node succeeds.
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
