//! Messages that arrive: any header, responses expected or not, and more than the node accepts.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use lnet_core::lnd::{RxAction, Upcalls, Violation};
use lnet_core::stats::MessageCounts;
use lnet_core::{CoreConfig, Errno, EventKind, MdOptions, NiTunables, SendFailure};
use lnet_wire::{Body, Header, Nid, PING_MATCH_BITS, RESERVED_PORTAL, WireHandle};
use std::time::Duration;
use support::{BITS, COOKIE, FakeDriver, OnSend, PORTAL, Rig, header_from, on_net, put_body, tcp};

const PUT: u32 = MdOptions::OP_PUT.0;
const GET: u32 = MdOptions::OP_GET.0;

const fn handle(object_cookie: u64) -> WireHandle {
    WireHandle { interface_cookie: COOKIE, object_cookie }
}

fn rig(credits: u32, peer_credits: u32) -> Rig {
    rig_with(|_| (), credits, peer_credits)
}

/// A driver that keeps the messages that it is to send.
fn driver() -> FakeDriver {
    FakeDriver::new(OnSend::Keep).forbidding_sends_after_shutdown()
}

fn rig_with(change: impl FnOnce(&mut CoreConfig), credits: u32, peer_credits: u32) -> Rig {
    Rig::builder(driver()).config(change).credits(credits, peer_credits).build()
}

/// The headers of the messages that the driver keeps, which then complete with `result`.
fn drive(rig: &Rig, result: Result<(), Errno>) -> Vec<Header> {
    let sent = rig.driver.ni(0).take_kept();
    let headers = sent.iter().map(|message| *message.header()).collect();
    sent.into_iter()
        .for_each(|message| rig.core.data_path().finalize(message, result.map_err(SendFailure::from)));
    headers
}

/// A header from `tcp(2)` to the node.
fn from_peer(body: Body, payload_length: u32) -> Header {
    header_from(tcp(2), body, payload_length)
}

/// dbg-025: fails if a dropped message is not counted.
#[test]
fn invalid_headers_are_rejected_or_dropped_and_change_no_state() {
    let rig = rig(8, 8);
    rig.core.admin().add_ni(on_net(1, 1), NiTunables::default(), &driver()).unwrap();
    rig.core.admin().add_ni(Nid::LOOPBACK, NiTunables::default(), &driver()).unwrap();
    rig.core.data_path().set_lazy_portal(PORTAL).unwrap();
    rig.attach(-1, PUT | GET | MdOptions::MANAGE_REMOTE.0);
    let put_at = |portal, offset| Body::Put { ack: None, match_bits: BITS, hdr_data: 0, portal, offset };
    let get = |portal, offset, sink_length| Body::Get {
        reply: handle(5),
        match_bits: BITS,
        portal,
        offset,
        sink_length,
    };
    let ack = Body::Ack { handle: handle(u64::MAX), match_bits: BITS, accepted: u32::MAX };
    let reply = |cookie| Body::Reply { handle: handle(cookie) };
    let to = |dest_nid| Header { dest_nid, ..from_peer(put_body(None), 1) };
    let refused = [
        (from_peer(ack, 1), Violation::UnexpectedPayload(1)),
        (from_peer(get(PORTAL, 0, 1), u32::MAX), Violation::UnexpectedPayload(u32::MAX)),
        (from_peer(put_body(None), (1 << 20) + 1), Violation::PayloadTooLong((1 << 20) + 1)),
        (from_peer(reply(1), u32::MAX), Violation::PayloadTooLong(u32::MAX)),
        (to(tcp(3)), Violation::ShouldHaveGoneDirect),
        (to(on_net(1, 1)), Violation::WrongInterface),
        (to(Nid::LOOPBACK), Violation::WrongInterface),
    ];
    for (header, violation) in refused {
        assert!(matches!(rig.arrives(&header), RxAction::Reject(why) if why == violation), "{header:?}");
    }
    let dropped = [
        to(on_net(7, 7)),
        Header { src_nid: Nid::LOOPBACK, ..from_peer(put_body(None), 1) },
        from_peer(put_at(64, 0), 1),
        from_peer(put_at(u32::MAX, 0), 1),
        from_peer(put_at(PORTAL, 9), 0),
        from_peer(put_at(PORTAL, u32::MAX), 1),
        from_peer(put_at(PORTAL, 8), 1),
        from_peer(get(PORTAL, 0, u32::MAX), 0),
        from_peer(get(PORTAL, u32::MAX, 0), 0),
        from_peer(get(PORTAL + 1, 0, 0), 0),
        from_peer(ack, 0),
        from_peer(reply(0), 8),
        from_peer(reply(1), 8),
        from_peer(reply(u64::MAX), 8),
    ];
    for header in dropped {
        assert!(matches!(rig.arrives(&header), RxAction::Discard), "{header:?}");
    }
    assert_eq!(rig.take_events(), []);
    assert_eq!(rig.ni().counters().read(lnet_core::stats::MessageOutcome::Dropped).messages(), 14);
    assert_eq!(
        rig.core.message_counts(),
        MessageCounts { msgs_alloc: 0, msgs_max: 1, errors: 7, ..MessageCounts::default() }
    );
}

#[test]
fn a_response_is_accepted_once_and_only_if_it_was_requested() {
    let rig = rig(8, 8);
    let md = rig.bind(-1);
    let ack = from_peer(Body::Ack { handle: handle(md.cookie()), match_bits: BITS, accepted: 8 }, 0);
    let reply = from_peer(Body::Reply { handle: handle(md.cookie()) }, 8);
    assert!(matches!(rig.arrives(&ack), RxAction::Discard));
    // The peer knows the handle from the PUT, but no request allows it to write there.
    rig.put_with_ack(md, tcp(2));
    assert!(matches!(rig.arrives(&reply), RxAction::Discard));
    let RxAction::Deliver(message) = rig.arrives(&ack) else { panic!() };
    rig.core.data_path().received(message, Ok(()));
    assert!(matches!(rig.arrives(&ack), RxAction::Discard));
    drive(&rig, Ok(()));
    assert_eq!(rig.take_events(), [(EventKind::Ack, Ok(()), false), (EventKind::Send, Ok(()), false)]);
    rig.get(md, tcp(2));
    let RxAction::Deliver(message) = rig.arrives(&reply) else { panic!() };
    rig.core.data_path().received(message, Err(Errno::Io));
    assert!(matches!(rig.arrives(&reply), RxAction::Discard));
    drive(&rig, Ok(()));
    assert_eq!(
        rig.take_events(),
        [(EventKind::Reply, Err(Errno::Io), false), (EventKind::Send, Ok(()), false)]
    );
}

#[test]
fn a_response_to_an_earlier_incarnation_is_dropped() {
    let rig = rig(8, 8);
    let md = rig.bind(-1);
    rig.get(md, tcp(2));
    let old = WireHandle { interface_cookie: COOKIE - 1, object_cookie: md.cookie() };
    assert!(matches!(rig.arrives(&from_peer(Body::Reply { handle: old }, 8)), RxAction::Discard));
}

/// snd-045: fails if a response is addressed to another NID than the source of its request.
#[test]
fn a_response_to_an_unknown_source_nid_is_sent_through_the_neighbour() {
    let rig = rig(8, 8);
    rig.core.admin().primary_nid(tcp(3));
    let known = rig.core.peer_nis().len();
    let reply = WireHandle { interface_cookie: 1, object_cookie: 2 };
    let ping = Body::Get { reply, match_bits: 1 << 63, portal: 0, offset: 0, sink_length: 272 };
    for (source, next_hop) in [(2, 2), (3, 3), (77, 2), (78, 2)] {
        let header = Header { src_nid: tcp(source), ..from_peer(ping, 0) };
        let RxAction::Deliver(request) = rig.arrives_from(tcp(2), &header) else { panic!() };
        rig.core.data_path().received(request, Ok(()));
        let response = rig.driver.ni(0).take_kept().pop().unwrap();
        assert_eq!((response.header().dest_nid, response.next_hop().nid), (tcp(source), tcp(next_hop)));
        rig.core.data_path().finalize(response, Ok(()));
    }
    // Only the neighbour was added as a peer.
    assert_eq!(rig.core.peer_nis().len(), known + 1);
}

#[test]
fn a_peer_that_does_not_take_its_responses_gets_no_more_and_other_peers_do() {
    let rig = rig_with(|config| config.max_pending_responses_per_peer = 3, 8, 1);
    rig.attach(-1, PUT | GET | MdOptions::MANAGE_REMOTE.0);
    let get = Body::Get { reply: handle(5), match_bits: BITS, portal: PORTAL, offset: 0, sink_length: 8 };
    let is_taken = |from: u32, body, length| {
        let header = Header { src_nid: tcp(from), ..from_peer(body, length) };
        match rig.arrives(&header) {
            RxAction::Deliver(message) => {
                rig.core.data_path().received(message, Ok(()));
                true
            }
            _ => false,
        }
    };
    // One response is sent, two wait.
    assert_eq!([0; 5].map(|_| is_taken(2, get, 0)), [true, true, true, false, false]);
    // A message that asks for no response is accepted.
    assert!(!is_taken(2, put_body(Some(handle(5))), 8) && is_taken(2, put_body(None), 8));
    assert!(is_taken(3, get, 0));
    assert_eq!(drive(&rig, Ok(())).len(), 2);
    assert_eq!([0; 3].map(|_| is_taken(2, get, 0)), [true, false, false]);
    while !drive(&rig, Ok(())).is_empty() {}
    assert_eq!(rig.core.message_counts().msgs_alloc, 0);
    assert!(is_taken(2, get, 0));
}

/// Memory is bounded however many peers do not accept their responses; a peer with few pending ones still gets its own.
#[test]
fn peers_that_do_not_take_their_responses_exhaust_the_quota_and_other_peers_are_answered() {
    const MAX_PENDING: u32 = 1600;
    let rig = rig_with(|config| config.max_pending_responses = MAX_PENDING, 8, 1);
    rig.attach(-1, PUT | GET | MdOptions::MANAGE_REMOTE.0);
    let get = Body::Get { reply: handle(5), match_bits: BITS, portal: PORTAL, offset: 0, sink_length: 8 };
    let is_taken = |from: u32| {
        let header = Header { src_nid: tcp(from), ..from_peer(get, 0) };
        match rig.arrives(&header) {
            RxAction::Deliver(message) => {
                rig.core.data_path().received(message, Ok(()));
                true
            }
            _ => false,
        }
    };
    let taken = (0..20_000).filter(|n| is_taken(10 + n % 40)).count() as u32;
    assert!((MAX_PENDING..2 * MAX_PENDING).contains(&taken), "{taken}");
    // The share that every peer gets.
    assert_eq!((0..100).filter(|_| is_taken(2)).count(), 16);
    assert_eq!(rig.core.message_counts().msgs_alloc, u64::from(taken) + 16);
    while !drive(&rig, Ok(())).is_empty() {}
    assert_eq!(rig.core.message_counts().msgs_alloc, 0);
    assert_eq!((0..100).filter(|_| is_taken(2)).count(), 100);
    while !drive(&rig, Ok(())).is_empty() {}
}

#[test]
fn unknown_peers_create_a_limited_number_of_peers_and_unused_ones_are_evicted() {
    let rig = rig_with(|config| config.max_peers = 10, 8, 8);
    rig.core.admin().make_peer(tcp(2), true, false).unwrap();
    rig.core.admin().add_peer_nid(tcp(2), tcp(3), true).unwrap();
    let md = rig.bind(-1);
    // A message to this peer is in flight.
    rig.put(md, tcp(5));
    let stranger = |n| {
        let before = rig.core.peer_nis().len();
        let header = Header { src_nid: tcp(n), ..from_peer(put_body(None), 1) };
        assert!(matches!(rig.arrives(&header), RxAction::Discard));
        rig.core.peer_nis().len() as isize - before as isize
    };
    let kept = || [2, 3, 5].map(|n| rig.core.peer_nis().iter().any(|peer_ni| peer_ni.nid() == tcp(n)));
    assert_eq!([100, 101, 102, 103, 104, 105, 106].map(stranger), [1; 7]);
    // Unused peers are evicted to make room. When the limit is reached again, the search is not repeated at once.
    assert_eq!([107, 108, 109, 110, 111, 112, 113, 114].map(stranger), [-6, 1, 1, 1, 1, 1, 1, 0]);
    assert_eq!(kept(), [true; 3]);
    // A message from a known NID adds no peer.
    assert_eq!(stranger(111), 0);
    rig.clock.advance_to(Duration::from_secs(2));
    assert_eq!([114, 115].map(stranger), [-6, 1]);
    assert_eq!(kept(), [true; 3]);
    // The peers of the operator and of the program are not limited.
    for n in 200..220 {
        rig.core.admin().make_peer(tcp(n), true, false).unwrap();
    }
    assert_eq!(rig.core.peer_nis().len(), 25);
    rig.clock.advance_to(Duration::from_secs(4));
    assert_eq!(stranger(300), -2);
}

#[test]
fn only_pushes_are_deferred_at_the_reserved_portal() {
    let rig = rig(8, 8);
    let put = |match_bits| {
        let body = Body::Put { ack: None, match_bits, hdr_data: 0, portal: RESERVED_PORTAL, offset: 0 };
        rig.arrives(&from_peer(body, 8))
    };
    assert!(matches!(put(PING_MATCH_BITS ^ 1), RxAction::Discard));
    // Messages for which the portal has room are accepted, the others wait.
    let verdicts: Vec<RxAction> = (0..10).map(|_| put(PING_MATCH_BITS)).collect();
    assert!(matches!(verdicts.first(), Some(RxAction::Deliver(_))));
    assert!(matches!(verdicts.last(), Some(RxAction::Defer)));
}

#[test]
fn a_put_with_an_incomplete_payload_fails_and_is_not_acknowledged() {
    let rig = rig(8, 8);
    rig.attach(2, PUT);
    for result in [Err(Errno::Io), Ok(())] {
        let RxAction::Deliver(message) = rig.arrives(&from_peer(put_body(Some(handle(5))), 4)) else {
            panic!()
        };
        rig.core.data_path().received(message, result);
    }
    assert_eq!(rig.take_events(), [(EventKind::Put, Err(Errno::Io), false), (EventKind::Put, Ok(()), true)]);
    let sent = drive(&rig, Ok(()));
    let ack = Body::Ack { handle: handle(5), match_bits: BITS, accepted: 4 };
    assert_eq!(sent.iter().map(|header| header.body).collect::<Vec<_>>(), [ack]);
    assert_eq!((sent[0].dest_nid, sent[0].src_nid), (tcp(2), tcp(1)));
}

#[test]
fn a_get_event_comes_when_its_reply_was_sent_or_failed() {
    for result in [Ok(()), Err(Errno::ConnectionRefused)] {
        let rig = rig(8, 8);
        rig.attach(1, GET | MdOptions::TRUNCATE.0);
        let body = Body::Get {
            reply: handle(5),
            match_bits: BITS,
            portal: PORTAL,
            offset: 0,
            sink_length: u32::MAX,
        };
        let RxAction::Deliver(message) = rig.arrives(&from_peer(body, 0)) else { panic!() };
        assert_eq!(message.payload_len(), 0);
        rig.core.data_path().received(message, Ok(()));
        assert_eq!(rig.take_events(), []);
        let sent = drive(&rig, result);
        assert_eq!(sent[0].payload_length, 8);
        assert_eq!(rig.take_events(), [(EventKind::Get, result, true)]);
        // A GET and its REPLY are one message.
        let errors = u64::from(result.is_err());
        assert_eq!(
            rig.core.message_counts(),
            MessageCounts { msgs_alloc: 0, msgs_max: 1, errors, ..MessageCounts::default() }
        );
    }
}
