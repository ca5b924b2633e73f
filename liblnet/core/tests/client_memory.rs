//! MDs with the memory of programs in other processes: the bytes for a REPLY are fetched when the GET has arrived.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use lnet_core::lnd::{RxAction, Upcalls};
use lnet_core::memory::{MemRange, RecvBuffer};
use lnet_core::stats::{MessageCounts, MessageOutcome};
use lnet_core::{
    Cause, Delivery, Errno, EventKind, MdMemory, MdOptions, OutgoingMessage, Pooled, SendFailure,
};
use lnet_wire::{Body, Pid, WireHandle};
use log::{Level, LevelFilter};
use std::sync::Arc;
use std::time::Duration;
use support::{
    Asked, BITS, FakeClient, FakeDriver, OnSend, PORTAL, Rig, header_from, put_body, reply_memory, tcp,
};
use test_support::log_recorder::{self, said};

const PUT_AND_GET: u32 = MdOptions::OP_PUT.0 | MdOptions::OP_GET.0 | MdOptions::MANAGE_REMOTE.0;
const ASKER: WireHandle = WireHandle { interface_cookie: 7, object_cookie: 7 };

/// A node whose driver keeps the messages that it is to send, and that answers each peer once at a time.
fn rig() -> Rig {
    let driver = FakeDriver::new(OnSend::Keep).forbidding_sends_after_shutdown();
    Rig::builder(driver).config(|config| config.max_pending_responses_per_peer = 1).build()
}

/// A GET of `len` bytes from `offset` on arrives from `tcp(2)`; returns whether the node has accepted it.
fn get_arrives(rig: &Rig, offset: u32, len: u32) -> bool {
    let body = Body::Get { reply: ASKER, match_bits: BITS, portal: PORTAL, offset, sink_length: len };
    let RxAction::Deliver(message) = rig.arrives(&header_from(tcp(2), body, 0)) else { return false };
    rig.core.data_path().received(message, Ok(()));
    true
}

/// A PUT of `len` bytes to the offset 0 arrives from `tcp(2)`; returns the memory that it fills.
fn put_arrives(rig: &Rig, len: u32) -> Vec<MemRange> {
    put_with_ack_arrives(rig, len, None)
}

/// The same for a PUT that wants this ACK.
fn put_with_ack_arrives(rig: &Rig, len: u32, ack: Option<WireHandle>) -> Vec<MemRange> {
    let RxAction::Deliver(message) = rig.arrives(&header_from(tcp(2), put_body(ack), len)) else { panic!() };
    let memory = message.payload().collect();
    assert!(message.memory_owner().is_some());
    rig.core.data_path().received(message, Ok(()));
    memory
}

/// The only fetch that `client` was asked for.
fn only_fetch(client: &FakeClient) -> Asked {
    let mut asked = client.asked();
    assert_eq!(asked.len(), 1);
    asked.remove(0)
}

fn ranges(memory: &MdMemory, offset: u32, len: u32) -> Vec<MemRange> {
    memory.slice(offset, len).collect()
}

/// Fails if the REPLY does not wait for the bytes, has others, or if they go before it has left or stay after it.
#[test]
fn a_get_is_answered_with_the_bytes_that_were_fetched() {
    for by_other_thread in [false, true] {
        let (rig, client, buffer) = (rig(), FakeClient::new(), RecvBuffer::new(6));
        rig.attach_client(&client, -1, PUT_AND_GET);
        assert!(get_arrives(&rig, 2, 5));
        assert_eq!((rig.driver.ni(0).kept(), rig.core.has_pending_responses()), (0, true));
        assert!(!get_arrives(&rig, 0, 1), "the response that is being fetched counts as pending");
        let Asked { offset, len, then } = only_fetch(&client);
        assert_eq!((offset, len), (2, 5));
        let fetched = reply_memory(&buffer);
        let kept = Arc::downgrade(&fetched.keeper);
        if by_other_thread {
            std::thread::spawn(move || then(Ok(fetched))).join().unwrap();
        } else {
            then(Ok(fetched));
        }
        assert_eq!(rig.take_events(), []);
        let reply = rig.driver.ni(0).take_kept().pop().unwrap();
        assert_eq!((reply.header().body, reply.payload_len()), (Body::Reply { handle: ASKER }, 5));
        assert_eq!(reply.payload().collect::<Vec<_>>(), ranges(&buffer.memory(), 0, 5));
        assert!(reply.memory_owner().is_none(), "the MD does not own the payload");
        assert!(kept.strong_count() > 0);
        rig.core.data_path().finalize(reply, Ok(()));
        assert_eq!(kept.strong_count(), 0);
        let event = rig.events.lock().unwrap().pop().unwrap();
        assert_eq!((event.kind, event.status, event.offset, event.mlength), (EventKind::Get, Ok(()), 2, 5));
        assert_eq!((rig.messages(), rig.core.has_pending_responses()), (0, false));
        assert!(get_arrives(&rig, 0, 1));
    }
}

/// Fails if the bytes are freed, or others are sent, when a REPLY has to be sent again.
#[test]
fn a_reply_that_is_sent_again_has_the_same_bytes() {
    let (rig, client, buffer) = (rig(), FakeClient::new(), RecvBuffer::new(8));
    rig.core.admin().make_peer(tcp(2), true, false).unwrap();
    rig.attach_client(&client, -1, PUT_AND_GET);
    assert!(get_arrives(&rig, 0, 8));
    let (errno, cause, delivery) = (Errno::ConnectionReset, Cause::RemoteDropped, Delivery::Deduplicated);
    rig.driver.fail_next(SendFailure { errno, cause, delivery });
    let fetched = reply_memory(&buffer);
    let kept = Arc::downgrade(&fetched.keeper);
    (only_fetch(&client).then)(Ok(fetched));
    assert_eq!((rig.driver.ni(0).kept(), rig.messages()), (0, 1));
    for _ in 0..3 {
        rig.clock.advance(Duration::from_secs(1));
        rig.core.monitor().run();
    }
    let is_reply = |message: &Pooled<OutgoingMessage>| matches!(message.header().body, Body::Reply { .. });
    // Pings of the peer NI, whose path has failed, are sent too.
    let reply = rig.driver.ni(0).take_kept().into_iter().find(is_reply).unwrap();
    assert_eq!(reply.payload().collect::<Vec<_>>(), ranges(&buffer.memory(), 0, 8));
    assert!(kept.strong_count() > 0);
    rig.core.data_path().finalize(reply, Ok(()));
    assert_eq!(kept.strong_count(), 0);
    assert_eq!(rig.take_events(), [(EventKind::Get, Ok(()), false)]);
    assert!(client.asked().is_empty());
}

/// Fails if a GET whose bytes do not come has no event or a REPLY, or if its response stays pending.
#[test]
fn a_fetch_that_fails_ends_the_get_with_its_status_and_without_a_reply() {
    log_recorder::listen(LevelFilter::Info);
    type End = fn(Asked);
    let table: [(&str, End, Errno); 3] = [
        ("an error", |asked| (asked.then)(Err(Errno::Access)), Errno::Access),
        (
            "fewer bytes than are to be sent",
            |asked| (asked.then)(Ok(reply_memory(&RecvBuffer::new(7)))),
            Errno::Fault,
        ),
        ("no result", drop, Errno::Io),
    ];
    for (number, (case, end, errno)) in table.into_iter().enumerate() {
        let (rig, client) = (rig(), FakeClient::new());
        rig.attach_client(&client, 2, PUT_AND_GET);
        assert!(get_arrives(&rig, 0, 8));
        end(only_fetch(&client));
        assert_eq!(rig.take_events(), [(EventKind::Get, Err(errno), false)], "{case}");
        assert_eq!(rig.driver.ni(0).kept(), 0, "{case}");
        assert!(!rig.core.has_pending_responses(), "{case}");
        let counts = MessageCounts { msgs_max: 1, errors: 1, ..MessageCounts::default() };
        assert_eq!(rig.core.message_counts(), counts, "{case}");
        // The GET has been received; its REPLY was dropped.
        let dropped = rig.ni().counters().read(MessageOutcome::Dropped);
        assert_eq!((dropped.reply, dropped.messages()), (1, 1), "{case}");
        assert_eq!(rig.ni().counters().read(MessageOutcome::Received).get, 1, "{case}");
        let line = "of 8 bytes dropped (the program did not give the bytes of its memory)";
        assert_eq!(said(Level::Warn, &["GET", line]), number + 1, "{case}");
        assert!(get_arrives(&rig, 0, 8), "{case}: the peer's next request is taken");
    }
}

#[test]
fn memory_in_place_is_sent_without_being_fetched() {
    let (rig, client) = (rig(), FakeClient::in_place());
    rig.attach_client(&client, 1, PUT_AND_GET);
    assert!(get_arrives(&rig, 1, 4));
    assert!(client.asked().is_empty());
    let reply = rig.driver.ni(0).take_kept().pop().unwrap();
    assert_eq!(reply.payload().collect::<Vec<_>>(), ranges(&rig.spec(1, 0).1, 1, 4));
    assert!(reply.memory_owner().is_some_and(|owner| owner.is_alive()));
    rig.core.data_path().finalize(reply, Ok(()));
    assert_eq!(rig.take_events(), [(EventKind::Get, Ok(()), true)]);
}

#[test]
fn a_put_fills_the_memory_of_the_md_and_nothing_is_fetched() {
    for client in [FakeClient::new(), FakeClient::in_place()] {
        let rig = rig();
        rig.attach_client(&client, -1, PUT_AND_GET);
        assert_eq!(put_arrives(&rig, 8), ranges(&rig.spec(1, 0).1, 0, 8));
        assert_eq!(rig.take_events(), [(EventKind::Put, Ok(()), false)]);
        assert!(client.asked().is_empty());
    }
}

/// Fails if the ACK leaves before the handler has run, or keeps the peer from further requests meanwhile.
#[test]
fn the_ack_of_a_put_leaves_when_the_program_has_handled_its_event() {
    let (rig, client) = (rig(), FakeClient::acknowledging());
    rig.attach_client(&client, -1, PUT_AND_GET);
    for _ in 0..2 {
        put_with_ack_arrives(&rig, 8, Some(ASKER));
    }
    assert_eq!(rig.take_events(), [(EventKind::Put, Ok(()), false); 2]);
    assert_eq!((rig.driver.ni(0).kept(), rig.core.has_pending_responses()), (0, false));
    let mut acks = client.acks();
    assert_eq!(acks.len(), 2);
    drop(acks.pop());
    let ack = rig.driver.ni(0).take_kept().pop().unwrap();
    let expected = Body::Ack { handle: ASKER, match_bits: BITS, accepted: 8 };
    assert_eq!((ack.header().body, rig.core.has_pending_responses()), (expected, true));
    rig.core.data_path().finalize(ack, Ok(()));
    put_arrives(&rig, 8);
    assert!(client.acks().is_empty(), "a PUT that wants no ACK waits for nothing");
    drop(acks);
    rig.driver.finish();
    assert_eq!((rig.messages(), rig.core.has_pending_responses()), (0, false));
}

/// Fails if an ACK that waits keeps the node from ending, or leaves after the end.
#[test]
fn acks_that_wait_for_a_program_end_with_the_node() {
    for is_dropped in [false, true] {
        let (rig, client) = (rig(), FakeClient::acknowledging());
        rig.attach_client(&client, -1, PUT_AND_GET);
        put_with_ack_arrives(&rig, 8, Some(ASKER));
        let acks = client.acks();
        rig.core.admin().shutdown();
        assert_eq!((rig.driver.ni(0).kept(), rig.messages()), (0, 0));
        let rig = Some(rig).filter(|_| !is_dropped);
        drop(acks);
        drop(rig);
    }
}

#[test]
fn a_put_that_waits_at_a_lazy_portal_gets_memory_that_is_attached_for_a_client() {
    let rig = rig();
    rig.core.data_path().set_lazy_portal(PORTAL).unwrap();
    assert!(matches!(rig.arrives(&header_from(tcp(2), put_body(None), 8)), RxAction::Defer));
    rig.attach_client(&FakeClient::new(), 1, PUT_AND_GET);
    let Some(RxAction::Deliver(message)) = rig.driver.resumed().pop() else { panic!() };
    assert_eq!(message.payload().collect::<Vec<_>>(), ranges(&rig.spec(1, 0).1, 0, 8));
    rig.core.data_path().received(message, Ok(()));
    assert_eq!(rig.take_events(), [(EventKind::Put, Ok(()), true)]);
}

#[test]
fn a_put_of_a_client_sends_the_memory_of_its_md() {
    let (rig, client) = (rig(), FakeClient::new());
    let (spec, memory) = rig.spec(1, 0);
    let md = rig.core.data_path().md_bind_for(spec, memory.clone(), true, client.clone()).unwrap();
    rig.put(md, tcp(2));
    assert_eq!(rig.core.data_path().unsent_requests(), 1, "it is a program's, not the node's");
    let put = rig.driver.ni(0).take_kept().pop().unwrap();
    assert_eq!(put.payload().collect::<Vec<_>>(), ranges(&memory, 0, 8));
    assert!(put.memory_owner().is_some() && client.asked().is_empty());
    rig.core.data_path().finalize(put, Ok(()));
    assert_eq!(rig.take_events(), [(EventKind::Send, Ok(()), true)]);
    assert_eq!(Arc::strong_count(&client), 1);
}

#[test]
fn the_memory_of_a_client_is_kept_until_its_md_has_ended() {
    let (rig, client) = (rig(), FakeClient::new());
    let md = rig.attach_client(&client, -1, PUT_AND_GET);
    assert!(get_arrives(&rig, 0, 8));
    rig.core.data_path().md_unlink(md).unwrap();
    assert!(Arc::strong_count(&client) > 1, "a GET is in progress");
    client.answer();
    rig.driver.finish();
    assert_eq!(rig.take_events(), [(EventKind::Get, Ok(()), true)]);
    assert_eq!(Arc::strong_count(&client), 1);

    let idle = rig.attach_client(&client, -1, PUT_AND_GET);
    assert_eq!(Arc::strong_count(&client), 2);
    rig.core.data_path().md_unlink(idle).unwrap();
    assert_eq!(Arc::strong_count(&client), 1);
}

/// Fails if the bytes that come after the end of the node end an operation twice, or reach it at all.
#[test]
fn bytes_that_come_after_the_end_of_the_node_are_dropped() {
    for is_dropped in [false, true] {
        let (rig, client, buffer) = (rig(), FakeClient::new(), RecvBuffer::new(8));
        rig.attach_client(&client, -1, PUT_AND_GET);
        assert!(get_arrives(&rig, 0, 8));
        let Asked { then, .. } = only_fetch(&client);
        rig.core.admin().shutdown();
        assert_eq!(rig.take_events(), [(EventKind::Get, Err(Errno::Shutdown), false)]);
        assert_eq!((rig.messages(), rig.core.has_pending_responses()), (0, false));
        assert_eq!(Arc::strong_count(&client), 1);
        let events = Arc::clone(&rig.events);
        let rig = Some(rig).filter(|_| !is_dropped);
        let fetched = reply_memory(&buffer);
        let kept = Arc::downgrade(&fetched.keeper);
        then(Ok(fetched));
        assert_eq!(kept.strong_count(), 0);
        assert!(events.lock().unwrap().is_empty());
        drop(rig);
    }
}

/// Fails if the end of a node without a shutdown, or of the fetch after it, panics.
#[test]
fn a_fetch_may_outlive_a_node_that_was_never_shut_down() {
    let (rig, client) = (rig(), FakeClient::new());
    rig.attach_client(&client, -1, PUT_AND_GET);
    assert!(get_arrives(&rig, 0, 8));
    let core = Arc::downgrade(&rig.core);
    drop(rig);
    assert_eq!(core.strong_count(), 0);
    assert_eq!(client.answer(), 1);
}

/// Fails if a peer is told another PID than that of the node: it would connect to that for its response, and find the node's.
#[test]
fn messages_of_a_program_to_other_nodes_come_from_the_pid_of_the_node() {
    let (rig, client) = (rig(), FakeClient::in_place());
    rig.attach_client(&client, -1, PUT_AND_GET);
    assert!(get_arrives(&rig, 0, 1));
    let path = rig.core.data_path();
    let (spec, memory) = rig.spec(-1, 0);
    let md = path.md_bind_for(spec, memory, false, client).unwrap();
    rig.put_with_ack(md, tcp(2));
    let sources = rig.driver.ni(0).map_kept(|message| message.header().src_pid);
    assert_eq!(sources, [Pid::LUSTRE; 2]);
    assert_eq!(rig.core.pid(), Pid::LUSTRE);
}
