//! Messages whose connections end at any byte, and that are sent again: each is delivered once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::{Delivery, EventKind};
use socklnd::SocklndConfig;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use support::cutter::Cutter;
use support::resend::{Failures, resending_node};
use support::*;

/// Two nodes that resend messages which come back; the first connects to the second through a cutter.
struct Cut {
    a: Node,
    b: Node,
    failures: Failures,
    cutter: Cutter,
    back: Cutter,
}

impl Cut {
    fn new() -> Self {
        let (low, high, port) = addresses();
        let other = free_port(low, high);
        let failures = Failures::default();
        let node = |ip, port, number| {
            let config = same_implementation(config(port), number);
            let config = SocklndConfig {
                min_reconnect: Duration::from_millis(5),
                max_reconnect: Duration::from_millis(20),
                ..config
            };
            resending_node(tcp(ip), config, &failures)
        };
        let a = node(low, port, 1);
        let b = node(high, other, 2);
        let cutter = Cutter::start((high, port), low, (high, other));
        let back = Cutter::start((low, other), high, (low, port));
        Self { a, b, failures, cutter, back }
    }

    /// Runs one PUT with ACK, cut after a number of bytes there (`forward`) or back, whichever node connected to the other.
    fn put(&self, landed: &'static [u8], size: usize, forward: Option<i64>, back: Option<i64>) {
        let sent = pattern(size, forward.or(back).unwrap_or(0) as u8);
        self.cutter.cut_after(forward, back);
        self.back.cut_after(back, forward);
        self.a.put(self.a.bind_bytes(sent), self.b.nid, true);
        let put = self.b.expect(EventKind::Put);
        assert_eq!((put.status, put.mlength as usize), (Ok(()), size), "{forward:?} {back:?}");
        assert!(landed[..size] == *sent, "{forward:?} {back:?}");
        let events = [self.a.event(), self.a.event()];
        for kind in [EventKind::Send, EventKind::Ack] {
            assert!(events.iter().any(|event| event.kind == kind && event.status.is_ok()), "{events:?}");
        }
        self.a.no_event();
        self.b.no_event();
    }
}

#[test]
fn a_put_that_is_cut_at_any_byte_is_delivered_once() {
    let cut = Cut::new();
    let landed = buffer(20);
    cut.b.offer(landed);
    cut.put(landed, 20, None, None);
    // The head, the payload, and a few bytes of the next message.
    for bytes in 0..=96 + 20 + 4 {
        cut.put(landed, 20, Some(bytes), None);
    }
    let known = cut
        .failures
        .lock()
        .unwrap()
        .iter()
        .filter(|failure| failure.delivery == Delivery::Deduplicated)
        .count();
    assert!(known > 0);
}

#[test]
fn a_put_whose_delivery_ack_or_ack_is_cut_at_any_byte_is_delivered_once() {
    let cut = Cut::new();
    let landed = buffer(20);
    cut.b.offer(landed);
    cut.put(landed, 20, None, None);
    for bytes in 0..=96 + 4 {
        cut.put(landed, 20, None, Some(bytes));
    }
    assert!(cut.b.counters().duplicates > 0);
}

#[test]
fn a_large_put_that_is_cut_many_times_is_matched_once_and_delivered_once() {
    const SIZE: usize = 300_000;
    let cut = Cut::new();
    let landed = buffer(SIZE);
    cut.b.offer(landed);
    cut.put(landed, SIZE, None, None);
    for bytes in (0..20).map(|n| n * 15_013) {
        cut.put(landed, SIZE, Some(bytes), None);
    }
    assert!(cut.b.counters().resumed > 0);
}

/// Small random numbers, the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Number of runs, each with other cuts: `AGAIN_SEEDS`.
fn seeds() -> u64 {
    std::env::var("AGAIN_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(3)
}

#[test]
fn each_of_many_messages_is_delivered_and_completed_once_whatever_is_cut() {
    const MESSAGES: usize = 1000;
    let sizes = [0_usize, 8, 100, 900, 2_000, 30_000, 200_000];
    for seed in 1..=seeds() {
        let cut = Cut::new();
        let landed = buffer(200_000);
        cut.b.offer(landed);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut random = Random(seed);
                while !done.load(Ordering::SeqCst) {
                    let bytes = Some(match random.below(3) {
                        0 => random.below(300),
                        1 => random.below(5_000),
                        _ => random.below(100_000),
                    } as i64);
                    let forward = random.below(2) == 0;
                    let (there, back) =
                        if forward { (bytes, None) } else { (None, bytes.map(|bytes| bytes / 50)) };
                    cut.cutter.cut_after(there, back);
                    while cut.cutter.is_armed() && !done.load(Ordering::SeqCst) {
                        std::thread::yield_now();
                    }
                }
                cut.cutter.cut_after(None, None);
            });
            let mut random = Random(seed + 100);
            let mds = sizes.map(|size| cut.a.bind_bytes(pattern(size, 1)));
            for number in 0..MESSAGES {
                let md = mds[random.below(mds.len() as u64) as usize];
                cut.a
                    .core
                    .data_path()
                    .put(None, md, number % 3 > 0, target(cut.b.nid), number as u64)
                    .unwrap();
            }
            let mut delivered = vec![0; MESSAGES];
            for _ in 0..MESSAGES {
                let put = cut.b.expect(EventKind::Put);
                assert_eq!(put.status, Ok(()));
                delivered[put.hdr_data as usize] += 1;
            }
            assert!(delivered.iter().all(|times| *times == 1), "{delivered:?}");
            let acks = (0..MESSAGES).filter(|number| number % 3 > 0).count();
            let mut ended = [0; 2];
            for _ in 0..MESSAGES + acks {
                let event = cut.a.event();
                assert_eq!(event.status, Ok(()), "{event:?}");
                ended[usize::from(event.kind == EventKind::Ack)] += 1;
            }
            assert_eq!(ended, [MESSAGES, acks]);
            done.store(true, Ordering::SeqCst);
        });
        cut.a.no_event();
        cut.b.no_event();
        let counters = cut.b.counters();
        eprintln!("seed {seed}: {} duplicates, {} adopted", counters.duplicates, counters.resumed);
        assert_eq!((counters.protocol_errors, cut.a.counters().protocol_errors), (0, 0));
    }
}
