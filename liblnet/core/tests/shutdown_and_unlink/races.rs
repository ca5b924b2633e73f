//! Operations of other threads while the node shuts down.

use crate::states::End::{NiRemoved, Shutdown};
use crate::states::State::{AckInFlight, DeferredAtLazyPortal, QueuedForPeerCredit, ResendQueued};
use crate::support::{PORTAL, put_body, tcp};
use crate::testbed::{HERE, INITIATOR_HANDLE, PEER, Testbed, Watchdog, delay_all};
use lnet_core::fault::{DelayRule, Filter};
use lnet_core::{Errno, Event, EventKind, MdSpec};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;

/// A message whose send failed is put into the resend queue. If the node has shut down since the failure, nothing reads
/// that queue any more.
#[test]
fn a_send_that_fails_during_shutdown_ends_and_is_not_queued_for_resend() {
    let _watchdog = Watchdog::new("shutdown while a send fails");
    let testbed = Testbed::new(ResendQueued, Shutdown);
    let md = testbed.bind(-1);
    testbed.fail_next();
    let core = Arc::clone(&testbed.core);
    // The log line of the resend reads the clock, just before the message is queued.
    testbed.clock.at_read(6, move || thread::spawn(move || core.admin().shutdown()).join().unwrap());
    testbed.put(md, tcp(PEER));
    assert!(!testbed.clock.has_hook(), "the clock was not read");
    assert_eq!(testbed.take_events(), [(EventKind::Send, Err(Errno::Shutdown), false)]);
    testbed.expect_nothing_left(&[], "shutdown while a send fails");
}

/// Fails if the ACK is lost when a program shuts the node down in the handler of the PUT event.
#[test]
fn an_ack_counts_as_pending_from_before_the_put_event_until_it_is_sent() {
    let testbed = Testbed::new(AckInFlight, Shutdown);
    let was_pending = Arc::new(AtomicBool::new(false));
    let (core, tell) = (Arc::downgrade(&testbed.core), Arc::clone(&was_pending));
    let look = move |_: &Event| tell.store(core.upgrade().unwrap().has_pending_responses(), Ordering::SeqCst);
    testbed.attach_for(testbed.core.data_path().eq_alloc(0, Some(Box::new(look))).unwrap());
    assert!(!testbed.core.has_pending_responses());
    testbed.arrives(put_body(Some(INITIATOR_HANDLE)), 8);
    testbed.here().finish_arriving(Ok(()));
    assert!(was_pending.load(Ordering::SeqCst));
    assert!(testbed.core.has_pending_responses());
    testbed.finish_sends();
    assert!(!testbed.core.has_pending_responses());
    testbed.core.admin().shutdown();
}

/// The core defers a message that the driver hands in after the interfaces have been shut down.
#[test]
fn a_message_deferred_during_shutdown_is_dropped() {
    let _watchdog = Watchdog::new("shutdown while a message arrives");
    let testbed = Testbed::new(DeferredAtLazyPortal, Shutdown);
    testbed.core.data_path().set_lazy_portal(PORTAL).unwrap();
    // With a delay rule the core reads the clock, at which the test stops it. The rule itself matches nothing.
    testbed
        .core
        .admin()
        .add_delay_rule(DelayRule { filter: Filter::between(tcp(77), tcp(78)), ..delay_all() });
    let (asked, is_asked) = channel();
    let (go_on, may_go_on) = channel();
    let (waits, does_wait) = channel();
    let does_wait = Mutex::new(does_wait);
    // The event of the failed PUT comes after the interfaces' shutdown and before that of the portals.
    let handler = move |_: &Event| {
        go_on.send(()).unwrap();
        does_wait.lock().unwrap().recv().unwrap();
    };
    let eq = testbed.core.data_path().eq_alloc(0, Some(Box::new(handler))).unwrap();
    let (spec, memory) = testbed.spec(-1, 0);
    let md = testbed.core.data_path().md_bind(MdSpec { eq: Some(eq), ..spec }, memory, false).unwrap();
    testbed.fail_next();
    testbed.put(md, tcp(PEER));
    testbed.clock.at_read(1, move || {
        asked.send(()).unwrap();
        may_go_on.recv().unwrap();
    });
    thread::scope(|scope| {
        let testbed = &testbed;
        scope.spawn(move || {
            testbed.arrives(put_body(None), 8);
            assert_eq!(testbed.here().deferred(), 1);
            waits.send(()).unwrap();
        });
        is_asked.recv().unwrap();
        testbed.core.admin().shutdown();
    });
    testbed.expect_nothing_left(&[], "shutdown while a message arrives");
}

/// Tests PUTs, unlinks and the removal of an interface by several threads, and a shutdown while they run.
#[test]
fn every_accepted_operation_of_many_threads_ends_once_when_the_node_shuts_down_meanwhile() {
    for round in 0..20 {
        let _watchdog = Watchdog::new("many threads");
        let testbed = Testbed::new(QueuedForPeerCredit, NiRemoved);
        let accepted = AtomicUsize::new(0);
        let sent = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while sent.fetch_add(1, Ordering::SeqCst) < 400 {
                        let Ok(md) = testbed.try_bind(-1) else { continue };
                        accepted
                            .fetch_add(usize::from(testbed.try_put(md, tcp(PEER)).is_ok()), Ordering::SeqCst);
                        let _ = testbed.core.data_path().md_unlink(md);
                    }
                });
            }
            scope.spawn(|| {
                while sent.load(Ordering::SeqCst) < 400 {
                    testbed.finish_sends();
                    thread::yield_now();
                }
            });
            scope.spawn(|| {
                while sent.load(Ordering::SeqCst) < 100 + round * 5 {
                    thread::yield_now();
                }
                testbed.core.admin().remove_ni(tcp(HERE)).unwrap();
                while sent.load(Ordering::SeqCst) < 200 + round * 5 {
                    thread::yield_now();
                }
                testbed.core.admin().shutdown();
            });
        });
        let events = testbed.take_events();
        let sends = events.iter().filter(|(kind, ..)| *kind == EventKind::Send).count();
        assert_eq!(sends, accepted.into_inner());
        testbed.expect_nothing_left(&[], "many threads");
    }
}
