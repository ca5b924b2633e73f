//! Peers with too many requests, or with unsolicited messages. The limits are those of docs/security.md.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::MdOptions;
use lnet_wire::{Body, Header, WireHandle};
use socklnd::proto::ConnectionType;
use socklnd::proto::frame::{Cookies, Head};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use support::attack::*;
use support::*;

#[test]
fn a_hostile_peer_that_does_not_read_its_acks_is_disconnected() {
    let attack = Attack::start(|_| {});
    let mut raw = attack.open(0, ConnectionType::Control);
    let puts: Vec<u8> = (2..2000).flat_map(|cookie| attack.put(0, cookie, b"")).collect();
    // The peer sends as many as the sockets take, and a thousand more; each of them is an event, too.
    raw.stream.set_write_timeout(Some(TIMEOUT)).unwrap();
    wait_for("the end", || raw.stream.write_all(&puts).is_err());
    assert_eq!(attack.counters().timed_out, 1);
    while attack.node.event_within(Duration::from_millis(200)).is_some() {}
    attack.round_trip();
}

#[test]
fn a_flood_of_small_messages_does_not_starve_other_peers() {
    let noops = Head::noop(Cookies { request: 0, ack: 1 }).bytes().repeat(500);
    let attack = Attack::start(|_| {});
    let unmatched = |n| {
        let mut header = put_header(tcp(attack.address(n)), attack.node.nid, 100, false);
        if let Body::Put { match_bits, .. } = &mut header.body {
            *match_bits = !BITS;
        }
        message(socklnd::proto::Version::V3, &header, NO_COOKIES, &[1; 100]).repeat(100)
    };
    let unasked = |n| {
        let handle = WireHandle { interface_cookie: 1, object_cookie: 2 };
        let header = Header {
            body: Body::Ack { handle, match_bits: 3, accepted: 4 },
            ..put_header(tcp(attack.address(n)), attack.node.nid, 0, false)
        };
        message(socklnd::proto::Version::V3, &header, NO_COOKIES, &[]).repeat(200)
    };
    for (n, what, bytes) in [
        (0, "NOOPs", noops),
        (1, "PUTs that match nothing", unmatched(1)),
        (2, "ACKs nobody asked for", unasked(2)),
    ] {
        let mut raw = attack.open(n, ConnectionType::Control);
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let flood = scope.spawn(|| {
                let mut sent = 0_usize;
                while !over.load(Ordering::Relaxed) {
                    raw.stream.write_all(&bytes).unwrap();
                    sent += bytes.len();
                }
                sent
            });
            for _ in 0..50 {
                attack.round_trip();
            }
            over.store(true, Ordering::Relaxed);
            println!("{what}: {} bytes meanwhile", flood.join().unwrap());
        });
        drop(raw);
        wait_for("nothing to be left", || attack.node.core.message_counts().msgs_alloc == 0);
    }
    assert_eq!(attack.counters().protocol_errors, 0);
}

#[test]
fn an_unrequested_delivery_ack_ends_a_kernels_connections() {
    let attack = Attack::start(|_| {});
    let mut raw = attack.open(0, ConnectionType::Control);
    raw.send(Head::noop(Cookies { request: 0, ack: 77 }).bytes());
    assert_eq!(raw.read_to_end(), []);
    assert_eq!(attack.counters().protocol_errors, 1);
    attack.round_trip();
}

#[test]
fn replies_to_a_peer_that_does_not_read_are_limited() {
    const GETS: usize = 100_000;
    let attack = Attack::start(|_| {});
    attack.node.offer_with(
        lnet_core::MdMemory::contiguous(pattern(100_000, 5).as_ptr() as usize, 100_000),
        BITS + 1,
        MdOptions::TRUNCATE.0,
    );
    let mut raw = attack.open(0, ConnectionType::Control);
    let header = Header {
        body: Body::Get {
            reply: WireHandle { interface_cookie: 5, object_cookie: 6 },
            match_bits: BITS + 1,
            portal: support::PORTAL,
            offset: 0,
            sink_length: 100_000,
        },
        ..put_header(tcp(attack.address(0)), attack.node.nid, 0, false)
    };
    let gets = message(socklnd::proto::Version::V3, &header, NO_COOKIES, &[]).repeat(1000);
    for _ in 0..GETS / 1000 {
        raw.send(&gets);
    }
    attack.round_trip();
    let most = attack.node.core.message_counts().msgs_max;
    println!("{GETS} questions, {most} messages at most");
    // The count includes the waiting messages, and those that are just being handled.
    assert!(most <= 16_384 + 16, "{most} messages");
    raw.stream.shutdown(std::net::Shutdown::Both).unwrap();
    drop(raw);
    wait_for("the answers to be given up", || attack.node.core.message_counts().msgs_alloc == 0);
}
