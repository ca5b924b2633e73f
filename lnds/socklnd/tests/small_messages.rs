//! Small messages to a node of this implementation: they leave together, and return their credits when they leave.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::lnd::{Driver, Progress};
use lnet_core::{EventKind, MdMemory, MdOptions, MdSpec, NiTunables};
use lnet_wire::{Body, Header, Nid};
use socklnd::proto::frame::{Cookies, Head};
use socklnd::proto::{ConnectionType, Version};
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
fn a_message_for_one_of_several_events_leaves_soon_although_its_thread_does_not_come_back_for_the_others() {
    let (node, mut raw, peer) = node_and_reading_peer();
    assert_ne!(node.driver.progress(Duration::ZERO), Progress::NotOffered);
    let data_path = node.core.data_path();
    let queue = data_path.eq_alloc(64, None).unwrap();
    for number in 0..20 {
        for _ in 0..2 {
            let options = MdOptions(0);
            let spec = MdSpec {
                start: 0,
                length: 0,
                threshold: 1,
                max_size: 0,
                options,
                user_ptr: 0,
                eq: Some(queue),
            };
            let md = data_path.md_bind(spec, MdMemory::contiguous(0, 0), false).unwrap();
            data_path.md_unlink(md).unwrap();
        }
        assert!(data_path.eq_get(queue).unwrap().is_some());
        node.put(node.bind_bytes(pattern(8, number)), peer, false);
        let (_, cookies, payload) = raw.read_lnet();
        assert_eq!(number_of(&payload), number_of(pattern(8, number)));
        // Nothing is under way when the next one is sent.
        raw.send(Head::noop(Cookies { request: 0, ack: cookies.request }).bytes());
        node.expect(EventKind::Send);
    }
}

#[test]
fn delivery_acks_that_wait_for_messages_of_a_thread_leave_soon_although_it_sends_none() {
    const COUNT: u64 = 40;
    let (node, mut raw, peer) = node_and_reading_peer();
    (0..COUNT).for_each(|_| node.put(node.bind_bytes(pattern(8, 1)), peer, true));
    let mut acks = Vec::new();
    for number in 1..=COUNT {
        let (put, cookies, _) = raw.read_lnet();
        let Body::Put { ack: Some(handle), match_bits, .. } = put.body else { panic!("{put:?}") };
        let body = Body::Ack { handle, match_bits, accepted: 8 };
        let header = Header { body, ..put_header(peer, node.nid, 0, false) };
        let cookies = Cookies { request: message_id(7, number), ack: cookies.request };
        acks.extend(message(Version::V3, &header, cookies, &[]));
    }
    raw.send(&acks);
    let mut left = 2 * COUNT;
    while left > 0 {
        assert_ne!(node.driver.progress(Duration::ZERO), Progress::NotOffered);
        while node.event_within(Duration::ZERO).is_some() {
            left -= 1;
        }
    }
    let mut acknowledged = Vec::new();
    while acknowledged.len() < COUNT as usize {
        let Cookies { request, ack } = raw.read_noop();
        acknowledged.extend(if request == 0 { ack..=ack } else { request..=ack });
    }
    assert_eq!(acknowledged, (1..=COUNT).map(|number| message_id(7, number)).collect::<Vec<_>>());
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
