//! Messages whose connections end at any byte, and that are sent again: each is delivered once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::{EventKind, Reached};
use socklnd::SocklndConfig;
use std::net::TcpListener;
use std::time::Duration;
use support::cutter::Cutter;
use support::resend::{Failures, Resending};
use support::*;

/// Two nodes that send again what comes back; the first calls the second through a cutter.
struct Cut {
    a: Node,
    b: Node,
    failures: Failures,
    cutter: Cutter,
    _back: Cutter,
}

impl Cut {
    fn new() -> Self {
        let (low, high, port) = addresses();
        let other = TcpListener::bind((high, 0)).unwrap().local_addr().unwrap().port();
        let failures = Failures::default();
        let node = |ip, port, number| {
            let config = ours(config(port), number);
            let config = SocklndConfig {
                min_reconnect: Duration::from_millis(5),
                max_reconnect: Duration::from_millis(20),
                ..config
            };
            Node::start_through(tcp(ip), config, |driver| Resending::over(driver, &failures))
        };
        let a = node(low, port, 1);
        let b = node(high, other, 2);
        let cutter = Cutter::start((high, port), low, (high, other));
        let back = Cutter::start((low, other), high, (low, port));
        Self { a, b, failures, cutter, _back: back }
    }

    /// One PUT with ACK, cut after so many bytes there or back.
    fn put(&self, landed: &'static [u8], size: usize, forward: Option<i64>, back: Option<i64>) {
        let sent = pattern(size, forward.or(back).unwrap_or(0) as u8);
        self.cutter.cut_after(forward, back);
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
    let landed = room(20);
    cut.b.offer(landed);
    cut.put(landed, 20, None, None);
    // The head, the payload, and a bit of what follows.
    for bytes in 0..=96 + 20 + 4 {
        cut.put(landed, 20, Some(bytes), None);
    }
    let known =
        cut.failures.lock().unwrap().iter().filter(|failure| failure.reached == Reached::KnownAgain).count();
    assert!(known > 0);
}

#[test]
fn a_put_whose_receipt_or_ack_is_cut_at_any_byte_is_delivered_once() {
    let cut = Cut::new();
    let landed = room(20);
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
    let landed = room(SIZE);
    cut.b.offer(landed);
    cut.put(landed, SIZE, None, None);
    for bytes in (0..20).map(|n| n * 15_013) {
        cut.put(landed, SIZE, Some(bytes), None);
    }
    assert!(cut.b.counters().adopted > 0);
}
