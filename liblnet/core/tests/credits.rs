//! Credits and the messages that wait for them, with a driver that never completes messages to some NIDs.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

mod support;

use lnet_core::credit::{Credits, RECLAIM_AFTER};
use lnet_core::lnd::Upcalls;
use lnet_core::stats::MessageCounts;
use lnet_core::topology::PeerNi;
use lnet_core::{CoreConfig, Errno, EventKind, MdHandle, MdMemory, MdOptions, MdSpec, Ni, Time};
use lnet_wire::Nid;
use std::sync::Arc;
use std::time::Duration;
use support::{FakeDriver, FakeNi, ManualClock, OnSend, nid};

/// A node on `10.0.0.1@tcp`, whose driver keeps messages to slow NIDs and sends all others at once.
struct Rig {
    node: support::Rig,
    core: Arc<lnet_core::Core>,
    ni: Arc<Ni>,
    fake_ni: Arc<FakeNi>,
    clock: ManualClock,
}

fn rig(change: impl FnOnce(&mut CoreConfig), (credits, peer_credits): (u32, u32), slow: &[&str]) -> Rig {
    let slow: std::collections::HashSet<Nid> = slow.iter().map(|text| nid(text)).collect();
    let driver = FakeDriver::scripted(move |message| match slow.contains(&message.next_hop().nid) {
        true => OnSend::Keep,
        false => OnSend::Complete,
    });
    let own = [nid("10.0.0.1@tcp")];
    let builder = support::Rig::builder(driver).config(change).nids(own);
    let node = builder.credits(credits, peer_credits).build();
    let (core, ni) = (Arc::clone(&node.core), Arc::clone(node.ni()));
    let (fake_ni, clock) = (node.driver.ni(0), node.clock.clone());
    Rig { node, core, ni, fake_ni, clock }
}

const fn as_it_is(_: &mut CoreConfig) {}

impl Rig {
    /// Binds an MD whose memory is not accessible: the driver never reads it.
    fn bind(&self, length: u32) -> MdHandle {
        let (options, eq) = (MdOptions(0), Some(self.node.eq));
        let spec = MdSpec { start: 0, length, threshold: -1, max_size: 0, options, user_ptr: 0, eq };
        self.core.data_path().md_bind(spec, MdMemory::contiguous(0, length), false).unwrap()
    }

    fn put(&self, md: MdHandle, to: &str) {
        self.node.put(md, nid(to));
    }

    fn peer_ni(&self, text: &str) -> Arc<PeerNi> {
        self.core.peer_nis().into_iter().find(|peer_ni| peer_ni.nid() == nid(text)).unwrap()
    }

    /// Completes the message that the driver has kept for longest.
    fn finish_one(&self) -> bool {
        self.fake_ni.finish_one()
    }

    /// The number of SEND events since the last call for messages to each of `peers`.
    fn ended(&self, peers: &[&str]) -> Vec<usize> {
        let mut ended = vec![0; peers.len()];
        for event in std::mem::take(&mut *self.node.events.lock().unwrap()) {
            assert_eq!(event.status, Ok(()));
            let to = event.target.nid;
            let at = peers.iter().position(|peer| to == Some(nid(peer))).unwrap();
            ended[at] += 1;
        }
        ended
    }

    fn kept_for(&self) -> Vec<Nid> {
        self.fake_ni.map_kept(|message| message.next_hop().nid)
    }
}

/// snd-035: fails if a peer NI with many queued bytes gets further messages before the others have as many, with the setting
/// on. With it off only messages count, as in the kernel.
#[test]
fn queued_bytes_are_compared_before_credits_only_if_configured() {
    let (first, second) = ("10.0.0.8@tcp", "10.0.0.9@tcp");
    let table =
        [(false, [first, second, first, second, first]), (true, [first, second, second, second, second])];
    for (compare_queued_bytes, expected) in table {
        let compare = |config: &mut CoreConfig| config.settings.compare_queued_bytes = compare_queued_bytes;
        let rig = rig(compare, (256, 8), &[first, second]);
        rig.core.admin().make_peer(nid(first), true, false).unwrap();
        rig.core.admin().add_peer_nid(nid(first), nid(second), true).unwrap();
        rig.put(rig.bind(1 << 16), first);
        let small = rig.bind(8);
        (1..expected.len()).for_each(|_| rig.put(small, first));
        assert_eq!(rig.kept_for(), expected.map(nid), "{compare_queued_bytes}");
        // The explanation names the NID that the next message takes.
        let shown = rig.core.data_path().explain(None, nid(first)).unwrap().chosen.destination();
        assert_eq!(shown, rig.core.data_path().select_path(None, nid(first)).unwrap().destination());
        assert_eq!(shown, nid(second), "{compare_queued_bytes}");
    }
}

/// Messages to a slow peer wait for that peer's credits and hold none of the interface's (3.2: peer first).
#[test]
fn a_stalled_peer_holds_only_its_credits_and_delays_no_other_peer() {
    let (slow, quick) = ("10.0.0.2@tcp", "10.0.0.3@tcp");
    let rig = rig(as_it_is, (16, 4), &[slow]);
    let md = rig.bind(8);
    (0..300).for_each(|_| rig.put(md, slow));
    assert_eq!(rig.peer_ni(slow).credits(), Credits(4 - 300));
    assert_eq!(rig.ni.credits(), Credits(16 - 4));
    for sent in 1..=300 {
        rig.put(md, quick);
        assert_eq!(rig.ended(&[slow, quick]), [0, 1], "message {sent}");
    }
    assert_eq!(rig.peer_ni(quick).min_credits(), Credits(3));
    assert_eq!((rig.ni.credits(), rig.ni.min_credits()), (Credits(12), Credits(11)));
    // No message to the slow peer was lost meanwhile.
    while rig.finish_one() {}
    assert_eq!(rig.ended(&[slow, quick]), [300, 0]);
    assert_eq!((rig.peer_ni(slow).credits(), rig.ni.credits()), (Credits(4), Credits(16)));
}

/// While slow peers hold all but one of an interface's credits others are not delayed. When they hold all, other messages wait
/// in the interface's queue, first come first served (CR-10), until a slow peer returns a credit.
#[test]
fn slow_peers_delay_others_only_if_they_hold_all_credits_of_an_interface() {
    let slow = ["10.0.0.2@tcp", "10.0.0.3@tcp", "10.0.0.4@tcp", "10.0.0.5@tcp"];
    let quick = "10.0.0.9@tcp";
    let rig = rig(as_it_is, (16, 4), &slow);
    let md = rig.bind(8);
    for peer in &slow[..3] {
        (0..10).for_each(|_| rig.put(md, peer));
    }
    (0..10).for_each(|_| rig.put(md, quick));
    assert_eq!(rig.ended(&[quick]), [10]);
    (0..10).for_each(|_| rig.put(md, slow[3]));
    assert_eq!(rig.ni.credits(), Credits(0));
    // Of ten more messages, four have a credit of their peer and wait for one of the interface's; six wait behind them.
    (0..10).for_each(|_| rig.put(md, quick));
    assert_eq!(rig.ended(&[quick]), [0]);
    assert_eq!((rig.ni.credits(), rig.peer_ni(quick).credits()), (Credits(-4), Credits(4 - 10)));
    // One credit returns: the four messages use it one after the other, then the next in the queue, which is
    // the slow peer's next message.
    assert!(rig.finish_one());
    assert_eq!(rig.ended(&[slow[0], quick]), [1, 4]);
    assert_eq!(rig.kept_for().last(), Some(&nid(slow[0])));
    // All messages end, in any order.
    while rig.finish_one() {}
    assert_eq!(rig.ended(&[slow[0], slow[1], slow[2], slow[3], quick]), [9, 10, 10, 10, 6]);
    assert_eq!(rig.ni.credits(), Credits(16));
}

/// However many peers accept nothing, their messages hold an interface's credits only briefly, then others' are sent at once.
/// The driver has no more messages to a stalled peer than that has credits.
#[test]
fn any_number_of_stalled_peers_delays_other_peers_only_briefly() {
    const QUICK: &str = "10.9.0.1@tcp";
    for count in [30, 34, 100, 1000] {
        let slow: Vec<String> = (0..count).map(|n| format!("10.1.{}.{}@tcp", n / 250, n % 250)).collect();
        let slow: Vec<&str> = slow.iter().map(String::as_str).collect();
        let rig = rig(as_it_is, (256, 8), &slow);
        let md = rig.bind(8);
        for peer in &slow {
            (0..10).for_each(|_| rig.put(md, peer));
        }
        rig.put(md, QUICK);
        let mut waited = 0;
        rig.core.monitor().run();
        while rig.ended(&[QUICK]) == [0] {
            waited += 1;
            assert!(waited <= 2, "{count} peers");
            rig.clock.advance(RECLAIM_AFTER);
            rig.core.monitor().run();
        }
        assert_eq!(waited > 0, count > 32, "{count} peers");
        // From here on credits are available.
        for sent in 1..=300 {
            rig.put(md, QUICK);
            assert_eq!(rig.ended(&[QUICK]), [1], "{count} peers, message {sent}");
        }
        assert_eq!(rig.kept_for().len(), count * 8, "{count} peers");
        assert_eq!(rig.ni.credits(), Credits(256 - count as i32 * 8), "{count} peers");
        while rig.finish_one() {}
        assert_eq!(rig.ended(&slow), vec![10; count], "{count} peers");
        assert_eq!(rig.ni.credits(), Credits(256));
        assert!(slow.iter().all(|peer| rig.peer_ni(peer).credits() == Credits(8)));
    }
}

/// dbg-045: fails if a message that waits or is in flight is not counted, or still counted after it has ended.
#[test]
fn queued_and_sent_messages_are_counted_until_they_complete() {
    let peers = ["10.0.0.2@tcp", "10.0.0.3@tcp"];
    let rig = rig(as_it_is, (4, 2), &peers);
    let md = rig.bind(8);
    for peer in peers {
        (0..5).for_each(|_| rig.put(md, peer));
    }
    assert_eq!(
        rig.core.message_counts(),
        MessageCounts { msgs_alloc: 10, msgs_max: 10, errors: 0, ..MessageCounts::default() }
    );
    (0..4).for_each(|_| assert!(rig.finish_one()));
    assert_eq!(
        rig.core.message_counts(),
        MessageCounts { msgs_alloc: 6, msgs_max: 10, errors: 0, ..MessageCounts::default() }
    );
    // No path leads to this NID.
    rig.put(md, "10.0.0.2@tcp7");
    assert_eq!(
        rig.core.message_counts(),
        MessageCounts { msgs_alloc: 6, msgs_max: 10, errors: 1, ..MessageCounts::default() }
    );
    rig.core.reset_counters();
    assert_eq!(
        rig.core.message_counts(),
        MessageCounts { msgs_alloc: 6, msgs_max: 6, errors: 0, ..MessageCounts::default() }
    );
    while rig.finish_one() {}
    assert_eq!(
        rig.core.message_counts(),
        MessageCounts { msgs_alloc: 0, msgs_max: 6, errors: 0, ..MessageCounts::default() }
    );
}

/// CR-10: fails if a message that waits returns a credit that it does not hold, or waits beyond its deadline.
#[test]
fn a_message_that_waits_for_a_peer_credit_ends_at_its_deadline_and_returns_no_credit() {
    const PEER: &str = "10.0.0.2@tcp";
    let rig = rig(as_it_is, (8, 1), &[PEER]);
    let credits = || (rig.peer_ni(PEER).credits(), rig.ni.credits());
    let md = rig.bind(8);
    rig.put(md, PEER);
    rig.clock.advance_to(Duration::from_secs(7));
    rig.put(md, PEER);
    rig.clock.advance_to(Duration::from_secs(10));
    let mut now = Time::default();
    while rig.core.message_counts().msgs_alloc == 2 {
        let next = rig.core.monitor().run().unwrap();
        assert!(next > now, "{next:?} after {now:?}");
        now = next;
        rig.clock.advance_to(now);
        rig.core.monitor().run();
    }
    assert_eq!(now, Time(Duration::from_secs(57)));
    assert_eq!(rig.node.take_events(), [(EventKind::Send, Err(Errno::TimedOut), false)]);
    // The first message, which the driver has, holds one credit of each kind.
    assert_eq!(credits(), (Credits(0), Credits(7)));
    assert!(rig.finish_one());
    assert_eq!(credits(), (Credits(1), Credits(8)));
}

/// Fails if a driver that is stuck with a message cannot give its credits to those behind it.
#[test]
fn credits_that_a_driver_takes_from_a_message_go_to_the_next_one_and_are_returned_once() {
    const PEER: &str = "10.0.0.2@tcp";
    for (credits, peer_credits) in [(8, 1), (1, 8), (1, 1)] {
        let rig = rig(as_it_is, (credits, peer_credits), &[PEER]);
        let md = rig.bind(8);
        (0..2).for_each(|_| rig.put(md, PEER));
        let mut stuck = rig.fake_ni.take_kept().pop().unwrap();
        rig.core.data_path().release_credits(stuck.take_credits().unwrap());
        assert_eq!(rig.kept_for(), [nid(PEER)]);
        assert!(stuck.take_credits().is_none());
        rig.core.data_path().finalize(stuck, Ok(()));
        let has = (Credits(peer_credits as i32 - 1), Credits(credits as i32 - 1));
        assert_eq!((rig.peer_ni(PEER).credits(), rig.ni.credits()), has);
        assert!(rig.finish_one());
        assert_eq!(rig.ended(&[PEER]), [2]);
        let all = (Credits(peer_credits as i32), Credits(credits as i32));
        assert_eq!((rig.peer_ni(PEER).credits(), rig.ni.credits()), all);
    }
}
