//! Small messages to a node of this implementation: they leave together, and return their credits when they leave.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::NiTunables;
use lnet_core::lnd::{Driver, Progress};
use lnet_wire::Nid;
use socklnd::proto::ConnectionType;
use std::time::Duration;
use support::*;

/// A node, and a peer of this implementation that has connected to it, reads, and acknowledges nothing.
fn node_and_reading_peer() -> (Node, Raw, Nid) {
    let (node, low, high, port) = node_of_same_implementation(|_| {});
    let raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    wait_for("the connection", || node.counters().accepted == 1);
    (node, raw, tcp(low))
}

/// The number of a PUT, which is its payload.
fn number_of(payload: &[u8]) -> u8 {
    payload.first().copied().unwrap()
}

#[test]
fn a_message_that_is_postponed_leaves_soon_although_its_thread_does_not_wait() {
    let (node, mut raw, peer) = node_and_reading_peer();
    // As an application's thread that has found no event.
    assert_ne!(node.driver.progress(Duration::ZERO), Progress::NotOffered);
    for number in 0..20 {
        node.put(node.bind_bytes(pattern(8, number)), peer, false);
        let (_, _, payload) = raw.read_lnet();
        assert_eq!(number_of(&payload), number_of(pattern(8, number)));
    }
}

#[test]
fn postponed_messages_leave_in_order_when_their_thread_waits() {
    let (node, mut raw, peer) = node_and_reading_peer();
    assert_ne!(node.driver.progress(Duration::ZERO), Progress::NotOffered);
    for round in 0..10 {
        for number in 0..5 {
            node.put(node.bind_bytes(pattern(8, 5 * round + number)), peer, false);
        }
        assert_ne!(node.driver.progress(Duration::ZERO), Progress::NotOffered);
        for number in 0..5 {
            assert_eq!(number_of(&raw.read_lnet().2), number_of(pattern(8, 5 * round + number)));
        }
    }
}

#[test]
fn postponed_messages_leave_before_their_interface_ends() {
    let (node, mut raw, peer) = node_and_reading_peer();
    assert_ne!(node.driver.progress(Duration::ZERO), Progress::NotOffered);
    (0..5).for_each(|number| node.put(node.bind_bytes(pattern(8, number)), peer, false));
    node.stop();
    for number in 0..5 {
        assert_eq!(number_of(&raw.read_lnet().2), number_of(pattern(8, number)));
    }
}

/// Fails if no more messages leave together than there are credits.
#[test]
fn postponed_small_messages_do_not_wait_for_the_credits_of_each_other_and_large_ones_do() {
    for (len, wait) in [(8, false), (4096, false), (4097, true)] {
        let (node, mut raw, peer) = node_and_reading_peer();
        assert_ne!(node.driver.progress(Duration::ZERO), Progress::NotOffered);
        let peer_ni = || node.core.admin().peer(peer).unwrap().1[0].clone();
        let count = 2 * NiTunables::default().peer_credits as u8;
        (0..count).for_each(|number| node.put(node.bind_bytes(pattern(len, number)), peer, false));
        assert_eq!(peer_ni().min_credits().0 < 0, wait, "{len} B");
        // The first left at once; the last does not wait for the thread for long.
        let leave = if wait { count / 2 } else { count };
        for number in 0..leave {
            assert_eq!(number_of(&raw.read_lnet().2), number_of(pattern(len, number)), "{len} B");
        }
    }
}

#[test]
fn a_small_message_that_has_left_holds_no_credit_and_a_large_one_does_until_it_is_acknowledged() {
    for (len, keeps) in [(8, false), (4096, false), (4097, true)] {
        let (node, mut raw, peer) = node_and_reading_peer();
        node.put(node.bind_bytes(pattern(len, 1)), peer, false);
        raw.read_lnet();
        let peer_ni = || node.core.admin().peer(peer).unwrap().1[0].clone();
        let missing = || peer_ni().max_credits() as i32 - peer_ni().credits().0;
        assert_eq!(missing(), i32::from(keeps), "{len} B");
        node.no_event();
    }
}

#[test]
fn many_small_messages_without_delivery_acks_keep_their_credits() {
    let (node, mut raw, peer) = node_and_reading_peer();
    let put = || node.put(node.bind_bytes(pattern(8, 1)), peer, false);
    put();
    let peer_ni = || node.core.admin().peer(peer).unwrap().1[0].clone();
    // 64 have returned theirs.
    let leave = 64 + peer_ni().max_credits() as usize;
    (1..leave + 10).for_each(|_| put());
    (0..leave).for_each(|_| drop(raw.read_lnet()));
    assert_eq!(peer_ni().credits().0, -10);
}
