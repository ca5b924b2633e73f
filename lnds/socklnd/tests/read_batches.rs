//! Messages of a node of this implementation that one read brings: when their answers leave, and what they acknowledge is reported.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::lnd::{Driver, Progress};
use lnet_core::{Event, EventKind};
use socklnd::proto::frame::Cookies;
use socklnd::proto::{ConnectionType, Version};
use std::net::{IpAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use support::*;

/// The number of PUTs that arrive together.
const BATCH: u64 = 8;
const ROUNDS: u64 = 50;

/// A node whose event handler looks, when it handles the last PUT of a batch, how many bytes the peer could read then.
struct Looking {
    node: Node,
    raw: Raw,
    readable: Receiver<u64>,
    sent: u64,
}

impl Looking {
    fn start() -> Self {
        let (mut node, low, high, port) = node_of_same_implementation(|_| {});
        let raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
        wait_for("the connection", || node.counters().accepted == 1);
        let (say, readable) = channel();
        let peer: TcpStream = raw.stream.try_clone().unwrap();
        let handled = AtomicU64::new(0);
        let handler = move |event: &Event| {
            let is_put = event.kind == EventKind::Put;
            if is_put && (handled.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(BATCH) {
                say.send(rustix::io::ioctl_fionread(&peer).unwrap()).unwrap();
            }
        };
        node.eq = node.core.data_path().eq_alloc(0, Some(Box::new(handler))).unwrap();
        node.offer(buffer(100));
        Self { node, raw, readable, sent: 0 }
    }

    /// Sends a batch of PUTs that want an ACK, with these delivery ACKs. Returns what could be read when the last was handled, and the
    /// message IDs of the ACKs.
    fn round(&mut self, acks: [u64; BATCH as usize]) -> (u64, [u64; BATCH as usize]) {
        let header = put_header(tcp_of(&self.raw), self.node.nid, 8, true);
        let mut batch = Vec::new();
        for ack in acks {
            self.sent += 1;
            let cookies = Cookies { request: message_id(7, self.sent), ack };
            batch.extend(message(Version::V3, &header, cookies, &[1; 8]));
        }
        self.raw.send(&batch);
        let readable = self.readable.recv_timeout(TIMEOUT).unwrap();
        (readable, acks.map(|_| self.raw.read_lnet().1.request))
    }
}

fn tcp_of(raw: &Raw) -> lnet_wire::Nid {
    let IpAddr::V4(ip) = raw.stream.local_addr().unwrap().ip() else { panic!("an IPv6 address") };
    tcp(ip)
}

#[test]
fn the_answers_to_half_of_a_batch_leave_early_for_a_peer_that_has_answered_all() {
    let mut looking = Looking::start();
    let mut acks = [0; BATCH as usize];
    for _ in 0..ROUNDS {
        let readable;
        (readable, acks) = looking.round(acks);
        assert!(readable > 0);
    }
}

/// On a busy machine a batch may take so long that its answers leave for that.
#[test]
fn the_answers_to_a_batch_leave_together_for_a_peer_that_has_something_to_answer() {
    let mut looking = Looking::start();
    let peer = tcp_of(&looking.raw);
    for number in 0..BATCH {
        looking.node.put(looking.node.bind_bytes(pattern(8, number as u8)), peer, false);
        looking.raw.read_lnet();
    }
    let mut acks = [0; BATCH as usize];
    wait_for("a batch whose answers leave together", || {
        let readable;
        (readable, acks) = looking.round(acks);
        readable == 0
    });
}

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
