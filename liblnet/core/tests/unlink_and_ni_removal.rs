//! MDs that are unlinked, event queues that are freed and interfaces that are removed while messages are in flight.
//! `shutdown_and_unlink` has the whole table of states.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

mod support;

use lnet_core::credit::Credits;
use lnet_core::lnd::RxAction;
use lnet_core::stats::MessageCounts;
use lnet_core::{Errno, Event, EventKind, MdOptions, MdSpec, NiTunables};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use support::{FakeDriver, OnSend, PORTAL, Rig, header_from, on_net, put_body, tcp};

/// A driver that keeps the messages that it is to send.
fn driver() -> FakeDriver {
    FakeDriver::new(OnSend::Keep).forbidding_sends_after_shutdown()
}

fn rig(credits: u32, peer_credits: u32) -> Rig {
    Rig::builder(driver()).credits(credits, peer_credits).build()
}

#[test]
fn a_message_queued_for_a_credit_is_cancelled_when_its_md_is_unlinked() {
    for (credits, peer_credits) in [(8, 1), (1, 8)] {
        let rig = rig(credits, peer_credits);
        let md = rig.bind(-1);
        (0..3).for_each(|_| rig.put(md, tcp(2)));
        assert_eq!(rig.driver.ni(0).kept(), 1);
        rig.core.data_path().md_unlink(md).unwrap();
        assert_eq!(rig.core.data_path().eq_free(rig.eq), Err(Errno::Busy));
        assert_eq!(rig.take_events(), []);
        rig.driver.finish();
        let cancelled = Err(Errno::Cancelled);
        assert_eq!(
            rig.core.message_counts(),
            MessageCounts { msgs_alloc: 0, msgs_max: 3, errors: 2, ..MessageCounts::default() }
        );
        let want = [(Ok(()), false), (cancelled, false), (cancelled, true)];
        assert_eq!(rig.take_events(), want.map(|(status, last)| (EventKind::Send, status, last)));
        assert_eq!(rig.ni().credits(), Credits(credits as i32));
        let peer = rig.core.peer_nis().pop().unwrap();
        assert_eq!((peer.nid(), peer.credits()), (tcp(2), Credits(peer_credits as i32)));
        assert_eq!(rig.core.data_path().eq_free(rig.eq), Ok(()));
    }
}

#[test]
fn removing_an_interface_fails_its_sent_and_queued_messages_and_returns_all_credits() {
    for (credits, peer_credits) in [(8, 1), (1, 8), (2, 2), (1, 1)] {
        let rig = rig(credits, peer_credits);
        let md = rig.bind(6);
        for _ in 0..3 {
            rig.put(md, tcp(2));
            rig.put(md, tcp(3));
        }
        rig.core.admin().remove_ni(tcp(1)).unwrap();
        let events = rig.take_events();
        assert_eq!(events.len(), 6);
        assert!(
            events
                .iter()
                .all(|(kind, status, _)| (*kind, *status) == (EventKind::Send, Err(Errno::Shutdown)))
        );
        assert_eq!(events.iter().position(|(.., last)| *last), Some(5));
        assert_eq!(rig.ni().credits(), Credits(credits as i32));
        let peers = rig.core.peer_nis();
        assert!(peers.iter().all(|peer| peer.credits() == Credits(peer_credits as i32)));
    }
}

#[test]
fn a_put_deferred_while_its_interface_is_removed_is_dropped() {
    let rig = rig(8, 8);
    rig.core.data_path().set_lazy_portal(PORTAL).unwrap();
    rig.driver.arrives_at_shutdown(header_from(tcp(2), put_body(None), 8));
    rig.core.admin().remove_ni(tcp(1)).unwrap();
    assert!(matches!(rig.driver.resumed()[..], [RxAction::Discard]));
    rig.attach(1, MdOptions::OP_PUT.0);
    assert!(rig.driver.resumed().is_empty());
    assert_eq!(rig.take_events(), []);
}

#[test]
fn an_abandoned_queue_is_freed_with_its_last_md() {
    let rig = rig(8, 8);
    let md = rig.bind(1);
    rig.put(md, tcp(2));
    assert_eq!(rig.core.data_path().eq_release(rig.eq), Ok(()));
    assert_eq!(rig.core.data_path().eq_release(rig.eq), Err(Errno::NotFound));
    rig.driver.finish();
    assert_eq!(rig.take_events(), [(EventKind::Send, Ok(()), true)]);
    // Only the test itself still holds the handler's state.
    assert_eq!(Arc::strong_count(&rig.events), 1);
}

/// Fails if a send ends twice or a credit is lost while three threads send by one credit each way, a fourth completes the
/// messages, MDs are unlinked, and in the end the interface is removed.
#[test]
fn with_few_credits_and_many_threads_every_send_completes_once_and_all_credits_return() {
    for (credits, peer_credits) in [(1, 8), (8, 1), (1, 1), (3, 2)] {
        let rig = rig(credits, peer_credits);
        let senders_left = AtomicUsize::new(3);
        let (accepted, mds) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for sender in 0..3 {
                let (rig, senders_left) = (&rig, &senders_left);
                let (accepted, mds) = (&accepted, &mds);
                scope.spawn(move || {
                    for round in 0..300_u32 {
                        let md = rig.bind(if round % 3 == 0 { 2 } else { -1 });
                        mds.fetch_add(1, Ordering::Relaxed);
                        let peer = tcp(2 + (sender + round) % 2);
                        for _ in 0..4 {
                            let put = rig.try_put(md, peer);
                            accepted.fetch_add(usize::from(put.is_ok()), Ordering::Relaxed);
                        }
                        let _ = rig.core.data_path().md_unlink(md);
                    }
                    senders_left.fetch_sub(1, Ordering::SeqCst);
                });
            }
            scope.spawn(|| {
                while senders_left.load(Ordering::SeqCst) > 0 {
                    if rig.driver.finish() == 0 {
                        std::thread::yield_now();
                    }
                }
            });
        });
        rig.core.admin().remove_ni(tcp(1)).unwrap();
        let events = rig.take_events();
        let sends = events.iter().filter(|(kind, ..)| *kind == EventKind::Send).count();
        let last = events.iter().filter(|(.., unlinked)| *unlinked).count();
        assert_eq!((sends, last), (accepted.into_inner(), mds.into_inner()));
        assert_eq!(rig.core.message_counts().msgs_alloc, 0);
        assert_eq!(rig.ni().credits(), Credits(credits as i32));
        assert!(rig.core.peer_nis().iter().all(|peer| peer.credits() == Credits(peer_credits as i32)));
        assert_eq!(rig.core.data_path().eq_free(rig.eq), Ok(()));
    }
}

#[test]
fn configuration_changes_from_an_event_handler_return_busy_and_do_not_deadlock() {
    let rig = rig(8, 8);
    let (core, told) = (Arc::downgrade(&rig.core), Arc::new(Mutex::new(Vec::new())));
    let tell = Arc::clone(&told);
    let handler = move |_: &Event| {
        let core = core.upgrade().unwrap();
        let peer = tcp(2);
        let driver = driver();
        tell.lock().unwrap().extend([
            core.admin().make_peer(peer, true, false),
            core.admin().delete_peer(peer, None, false),
            core.admin().delete_rule(None),
            core.admin().change_router(|router| router),
            core.admin().change_settings(|_| Ok(())),
            core.admin().remove_ni(tcp(1)),
            core.admin().add_ni(on_net(1, 1), NiTunables::default(), &driver).map(drop).map_err(Errno::from),
        ]);
    };
    let eq = Some(rig.core.data_path().eq_alloc(0, Some(Box::new(handler))).unwrap());
    let (spec, contiguous) = rig.spec(1, 0);
    let md = rig.core.data_path().md_bind(MdSpec { eq, ..spec }, contiguous, true).unwrap();
    rig.put(md, tcp(2));
    // The event comes while the interface is removed, under the lock of the configuration.
    rig.core.admin().remove_ni(tcp(1)).unwrap();
    assert_eq!(*told.lock().unwrap(), [Err(Errno::Busy); 7]);
}
