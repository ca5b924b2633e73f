//! Messages of a node of this implementation that one read brings: when what they acknowledge is reported.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::EventKind;
use lnet_core::lnd::{Driver, Progress};
use socklnd::proto::frame::Cookies;
use socklnd::proto::{ConnectionType, Version};
use std::time::Duration;
use support::*;

const ROUNDS: u64 = 50;

#[test]
fn messages_that_a_batch_acknowledges_are_reported_before_the_messages_that_acknowledge_them() {
    let (node, low, high, port) = node_of_same_implementation(|_| {});
    let mut raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    wait_for("the connection", || node.counters().accepted == 1);
    node.offer(buffer(100));
    let header = put_header(tcp(low), tcp(high), 8, false);
    for _ in 0..ROUNDS {
        let mut batch = Vec::new();
        // A thread that polls would postpone them, and another write them.
        let put = || node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
        std::thread::scope(|scope| scope.spawn(|| (0..2).for_each(|_| put())).join().unwrap());
        for _ in 0..2 {
            // They ask for no delivery ACK: another thread might be writing that when the next two are sent.
            let cookies = Cookies { request: 0, ack: raw.read_lnet().1.request };
            batch.extend(message(Version::V3, &header, cookies, &[1; 8]));
        }
        raw.send(&batch);
        let mut kinds = Vec::new();
        while kinds.len() < 4 {
            assert_ne!(node.driver.progress(Duration::ZERO), Progress::NotOffered);
            kinds.extend(node.event_within(Duration::ZERO).map(|event| event.kind));
        }
        assert_eq!(kinds, [EventKind::Send, EventKind::Put, EventKind::Send, EventKind::Put]);
    }
}
