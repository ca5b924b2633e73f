//! Connections that the peer asks for, next to those that exist or that the engine asks for (wire-o2ib 6.2).

use super::script::{Answer, ENGINE, ENGINE_STAMP, KERNEL_STAMP, PARAMS, PEER, Script};
use crate::conn::Ended;
use crate::device::Event;
use crate::engine::tests::rig::{Policy, TIMEOUT, tunables};
use crate::proto::{
    Body, ConnParams, Message, MessageKind as Kind, Reject, RejectDetails, RejectReason, Version,
};
use lnet_core::{Delivery, Errno};
use std::net::Ipv4Addr;

/// An address below the engine's.
const LOWER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 4);

fn rejected(reason: RejectReason) -> Answer {
    let details = Some(RejectDetails { incarnation: ENGINE_STAMP, params: PARAMS });
    Answer::Rejected(Reject { version: 0x12, reason, details })
}

/// A change of a CONNREQ.
type Change = fn(&mut Message<'_>);

#[test]
fn requests_that_are_refused_change_nothing_for_the_connection_that_is_up() {
    let rows: [(Change, RejectReason); 5] = [
        (|m| m.dst_stamp = 1, RejectReason::Stale),
        (|m| m.body = Body::ConnReq(ConnParams { queue_depth: 16, ..PARAMS }), RejectReason::QueueTooDeep),
        (
            |m| m.body = Body::ConnReq(ConnParams { max_fragments: 300, ..PARAMS }),
            RejectReason::TooManyFragments,
        ),
        (|m| m.body = Body::ConnReq(ConnParams { max_message_size: 8192, ..PARAMS }), RejectReason::Fatal),
        (|m| m.body = Body::ConnAck(PARAMS), RejectReason::Fatal),
    ];
    for (row, (change, reason)) in rows.into_iter().enumerate() {
        let mut script = Script::connected();
        assert_eq!(script.ask(change), rejected(reason), "{row}");
        script.say_put(0, 10);
        let put = script.put(10);
        assert_eq!((script.result(put), script.closed), (Some(Ok(())), 0), "{row}");
        assert_eq!((script.counters().rejected, script.rig.ends[0].arrived.len()), (1, 1), "{row}");
        script.end();
    }
}

#[test]
fn bytes_that_are_no_request_get_a_refusal_without_names() {
    let script = Script::new();
    let plain = script.encoded(&Message { dst_stamp: 0, ..script.message(0, Body::ConnReq(PARAMS)) });
    script.end();
    let edited = |at: usize, byte: u8| {
        let mut bytes = plain.clone();
        bytes[at] = byte;
        bytes
    };
    for (name, bytes) in [
        ("nothing", vec![]),
        ("4 bytes", plain[..4].to_vec()),
        ("55 bytes", plain[..55].to_vec()),
        ("garbage", vec![0xff; 56]),
        ("another magic", edited(0, 0)),
        ("version 0x13", edited(4, 0x13)),
        ("an unknown type", edited(6, 0xd8)),
        ("a length of 57", edited(8, 57)),
        ("a length of 48", edited(8, 48)),
        ("a wrong checksum", edited(12, 77)),
        ("another interface", edited(32, 99)),
    ] {
        let mut script = Script::connected();
        script.request_bytes(&bytes);
        script.settle();
        let nothing = ConnParams { queue_depth: 0, max_fragments: 0, ..PARAMS };
        let details = Some(RejectDetails { incarnation: 0, params: nothing });
        let expected = Reject { version: 0x12, reason: RejectReason::Fatal, details };
        assert_eq!(script.answer(), Answer::Rejected(expected), "{name}");
        assert_eq!(script.closed, 0, "{name}");
        script.end();
    }
}

#[test]
fn a_peer_with_another_incarnation_or_version_loses_its_connections_and_is_let_in_afterwards() {
    for (stamp, version) in [(KERNEL_STAMP, Version::V2), (Script::new().stamp, Version::V1)] {
        let mut script = Script::connected();
        script.connect();
        let put = script.put(100_000);
        (script.stamp, script.version) = (stamp, version);
        script.hear();
        assert_eq!(script.ask(|_| ()), rejected(RejectReason::Stale));
        assert_eq!((script.closed, &script.rig.ends[0].lost[..]), (2, &[Ended::Restarted][..]));
        let failure = script.result(put).unwrap().unwrap_err();
        assert_eq!((failure.errno, failure.delivery), (Errno::ConnectionReset, Delivery::NotSent));
        script.connect();
        let put = script.put(10);
        script.say_put(1, 10);
        assert_eq!((script.result(put), script.rig.ends[0].arrived.len()), (Some(Ok(())), 1));
        script.end();
    }
}

#[test]
fn a_second_connection_of_the_same_incarnation_is_used_as_well() {
    let mut script = Script::connected();
    script.connect();
    (0..16).for_each(|_| _ = script.put(10));
    assert_eq!(script.hear_kinds().len(), 16);
    script.say_put(1, 10);
    script.hang_up();
    assert!(script.rig.ends[0].lost.is_empty());
    script.end();
}

#[test]
fn a_get_req_is_answered_on_its_own_connection() {
    let mut script = Script::connected();
    let first = script.conn.unwrap();
    script.connect();
    let second = script.conn.unwrap();
    script.rig.ends[0].policy = Policy::Defer;
    let memory = script.memory(vec![0; 5000]);
    for (number, conn) in [(1, first), (2, second), (3, first), (4, second)] {
        script.conn = Some(conn);
        let (header, descriptor) = (script.get_header(number, 5000), memory.descriptor(&[(0, 5000)]));
        script.say(Body::GetReq { header, cookie: number, descriptor });
    }
    script.rig.decide_all(0);
    script.settle();
    let mut answers: Vec<_> = script.hear().iter().map(|heard| (heard.completion().1, heard.conn)).collect();
    answers.sort_unstable();
    assert_eq!(answers, [(1, first), (2, second), (3, first), (4, second)]);
    script.end();
}

#[test]
fn the_lower_nid_lets_the_higher_in_and_sends_over_its_connection() {
    let race = Reject {
        version: 0x12,
        reason: RejectReason::Race,
        details: Some(RejectDetails { incarnation: 77, params: PARAMS }),
    };
    // The refusal comes before the peer's request, or after it.
    for refused_first in [true, false] {
        let mut script = Script::new();
        let put = script.put(10);
        if refused_first {
            script.refuse(28, &race.encode());
            // The peer has not been heard of: it is asked again.
            assert_eq!(script.requests.len(), 1);
        }
        script.connect();
        assert_eq!(script.result(put), Some(Ok(())));
        script.hear_one(Kind::Immediate);
        script.refuse(28, &race.encode());
        assert!(script.requests.is_empty());
        assert_eq!((script.rig.ends[0].connected, script.closed), (1, 0));
        script.end();
    }
}

#[test]
fn no_connection_is_asked_for_while_one_of_the_peer_comes_up() {
    let mut script = Script::new();
    let put = script.put(10);
    let conn = script.request(|_| ());
    let request = script.take_events();
    for event in request {
        script.hold(event);
    }
    // The engine has accepted, and does not know yet that the connection is up.
    let established = script.take_events();
    assert!(matches!(established[..], [Event::Established { .. }]));
    let race = Reject { version: 0x12, reason: RejectReason::Race, details: None };
    script.refuse(28, &race.encode());
    assert!(script.requests.is_empty());
    established.into_iter().for_each(|event| script.feed(event));
    assert_eq!((script.conn, script.result(put)), (Some(conn), Some(Ok(()))));
    script.end();
}

#[test]
fn the_higher_nid_refuses_twenty_requests_in_a_row_while_it_connects_itself() {
    let mut script = Script::with(LOWER, 8, tunables());
    for round in 0..2 {
        let put = script.put(10);
        for nth in 1..=20 {
            assert_eq!(script.ask(|_| ()), rejected(RejectReason::Race), "{nth}, round {round}");
        }
        assert_eq!(script.ask(|_| ()), Answer::Accepted(Version::V2, PARAMS));
        assert_eq!(script.result(put), Some(Ok(())));
        script.hear_one(Kind::Immediate);
        // What the engine asked for may still come up, and is used, too.
        script.accept();
        (0..14).for_each(|_| _ = script.put(10));
        assert_eq!((script.hear_kinds().len(), script.rig.ends[0].connected), (14, 2 + 2 * round));
        script.hang_up_all();
        assert_eq!(script.rig.ends[0].lost.len(), 1 + round as usize);
    }
    script.end();
}

#[test]
fn the_higher_nid_sends_over_the_connection_that_it_has_asked_for() {
    let mut script = Script::with(LOWER, 8, tunables());
    let put = script.put(10);
    assert_eq!(script.ask(|_| ()), rejected(RejectReason::Race));
    script.accept();
    assert_eq!((script.result(put), script.rig.ends[0].connected), (Some(Ok(())), 1));
    script.end();
}

#[test]
fn a_message_that_overtakes_the_establishment_is_received() {
    for established_follows in [true, false] {
        let mut script = Script::new();
        let conn = script.request(|_| ());
        script.take_events().into_iter().for_each(|event| script.hold(event));
        let established = script.take_events();
        script.settle();
        assert_eq!(script.conn, Some(conn));
        script.say_put(0, 1000);
        assert_eq!((&script.rig.ends[0].arrived[..], script.counters().accepted), (&[Ok(1000)][..], 1));
        if established_follows {
            established.into_iter().for_each(|event| script.feed(event));
        }
        let put = script.put(10);
        assert_eq!(script.hear_kinds(), [(Kind::Immediate, 1)]);
        assert_eq!((script.result(put), script.rig.ends[0].connected), (Some(Ok(())), 1));
        script.end();
    }
}

#[test]
fn a_connection_that_does_not_come_up_after_it_was_accepted_is_given_up() {
    // The peer refuses the acceptance, hangs up, or is never heard of again; a message of the engine waits, or none.
    for how in ["refuses", "hangs up", "vanishes"] {
        for waits in [true, false] {
            let mut script = Script::new();
            let conn = script.request(|_| ());
            script.take_events().into_iter().for_each(|event| script.hold(event));
            script.take_events();
            script.settle();
            let put = waits.then(|| script.put(10));
            assert_eq!(script.requests.len(), 0);
            match how {
                "refuses" => script.device.refuse(conn, 28, vec![0; 148]),
                "hangs up" => script.hang_up(),
                _ => script.rig.net.forget_conns(PEER),
            }
            script.settle();
            script.tick(TIMEOUT);
            assert_eq!(script.rig.net.conns(ENGINE), 0, "{how}");
            if let Some(put) = put {
                assert_eq!(script.result(put).unwrap().unwrap_err().delivery, Delivery::NotSent, "{how}");
            }
            script.conn = None;
            script.connect();
            script.say_put(0, 10);
            assert_eq!(script.rig.ends[0].arrived, [Ok(10)], "{how}");
            script.end();
        }
    }
}

#[test]
fn a_refusal_of_a_connection_that_is_up_ends_it() {
    let mut script = Script::connected();
    let put = script.put(100_000);
    script.hear();
    let conn = script.conn.take().unwrap();
    script.device.refuse(conn, 28, vec![0; 148]);
    script.settle();
    assert_eq!(script.result(put).unwrap().unwrap_err().errno, Errno::ConnectionReset);
    assert_eq!(script.rig.ends[0].lost, [Ended::ByPeer]);
    script.connect();
    script.end();
}
