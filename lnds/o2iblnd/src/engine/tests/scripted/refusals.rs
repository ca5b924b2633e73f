//! Connections that the engine asks for, and how the peer answers (wire-o2ib 6.3 to 6.5).

use super::script::{ENGINE_STAMP, PARAMS, PEER, Script};
use crate::device::{Device, Setup};
use crate::engine::EngineTunables;
use crate::engine::tests::rig::{TIMEOUT, nid_of, tunables};
use crate::proto::{
    Body, CONN_MESSAGE_LEN, ConnParams, Message, MessageKind as Kind, Reject, RejectDetails, RejectReason,
    Version,
};
use lnet_core::{Cause, Delivery, Errno, SendFailure};
use lnet_wire::byte_order::put_u32;
use std::net::Ipv4Addr;
use std::time::Duration;

/// The incarnation in reject data.
const STAMP: u64 = 0x0006_60bf_58cd_c90f;

fn reject(version: u16, why: u8, depth: u16, fragments: u16) -> Vec<u8> {
    let params = ConnParams { queue_depth: depth, max_fragments: fragments, max_message_size: 4096 };
    let details = Some(RejectDetails { incarnation: STAMP, params });
    Reject { version, reason: RejectReason::from_number(why), details }.encode().to_vec()
}

/// What the engine asks for: version, destination stamp, depth, fragments.
fn asked(script: &Script) -> (Version, u64, u16, u16) {
    let message = Message::decode(&script.requests[0].1).unwrap();
    assert_eq!((message.src_stamp, message.dst_nid, message.credits), (ENGINE_STAMP, script.nid, 0));
    assert_eq!(script.requests[0].1.len(), CONN_MESSAGE_LEN);
    let Body::ConnReq(params) = message.body else { panic!("{message:?}") };
    assert_eq!(params.max_message_size, 4096);
    (message.version, message.dst_stamp, params.queue_depth, params.max_fragments)
}

const PLAIN: (Version, u64, u16, u16) = (Version::V2, 0, 8, 257);

/// A reaction of the engine: it asks again for this, or the message fails.
type Reaction = Result<(Version, u64, u16, u16), Errno>;

fn check_reaction(name: &str, reason: u16, data: &[u8], expected: Reaction) {
    let mut script = Script::new();
    let put = script.put(10);
    assert_eq!(asked(&script), PLAIN);
    script.refuse(reason, data);
    match expected {
        Ok(wanted) => {
            assert_eq!((script.requests.len(), asked(&script)), (1, wanted), "{name}");
            script.accept();
            script.hear_one(Kind::Immediate);
            assert_eq!(script.result(put), Some(Ok(())), "{name}");
        }
        Err(errno) => {
            let failure = script.result(put).unwrap().unwrap_err();
            assert_eq!((failure.errno, failure.delivery), (errno, Delivery::NotSent), "{name}");
            assert_eq!(script.rig.ends[0].refused.len(), 1, "{name}");
            // The next message begins from the beginning.
            let put = script.put(10);
            assert_eq!(asked(&script), PLAIN, "{name}");
            script.accept();
            assert_eq!(script.result(put), Some(Ok(())), "{name}");
        }
    }
    script.end();
}

#[test]
fn each_refusal_has_its_reaction() {
    let refused = Err(Errno::ConnectionRefused);
    let again = Ok((Version::V2, STAMP, 8, 257));
    let big_endian = |mut data: Vec<u8>| {
        for (at, len) in [(0, 4), (4, 2), (8, 8), (16, 2), (18, 2), (20, 4)] {
            data[at..at + len].reverse();
        }
        data
    };
    let no_stamp = |mut data: Vec<u8>| {
        data[8..16].fill(0);
        data
    };
    for (name, reason, data, expected) in [
        ("race", 28, reject(0x12, 1, 8, 257), again),
        ("stale", 28, reject(0x12, 5, 8, 257), again),
        ("stale, big-endian", 28, big_endian(reject(0x12, 5, 8, 257)), again),
        ("stale, no stamp", 28, no_stamp(reject(0x12, 5, 8, 257)), Ok(PLAIN)),
        ("stale, version 0x11", 28, reject(0x11, 5, 8, 257), Ok((Version::V1, 0, 8, 257))),
        ("stale, version 0x13", 28, reject(0x13, 5, 8, 257), refused),
        ("incompatible version 0x12", 28, reject(0x12, 4, 8, 257), again),
        ("incompatible version 0x11", 28, reject(0x11, 4, 8, 257), Ok((Version::V1, 0, 8, 257))),
        ("fewer fragments", 28, reject(0x12, 6, 8, 256), Ok((Version::V2, STAMP, 8, 256))),
        ("one fragment", 28, reject(0x12, 6, 8, 1), Ok((Version::V2, STAMP, 8, 1))),
        ("as many fragments", 28, reject(0x12, 6, 8, 257), refused),
        ("more fragments", 28, reject(0x12, 6, 8, 300), refused),
        ("no fragments", 28, reject(0x12, 6, 8, 0), refused),
        ("fragments of version 0x11", 28, reject(0x11, 6, 8, 1), refused),
        ("smaller depth", 28, reject(0x12, 7, 4, 257), Ok((Version::V2, STAMP, 4, 257))),
        ("smaller depth, newer version", 28, reject(0x13, 7, 4, 257), Ok((Version::V2, STAMP, 4, 257))),
        ("the same depth", 28, reject(0x12, 7, 8, 257), refused),
        ("a larger depth", 28, reject(0x12, 7, 9, 257), refused),
        ("depth 0", 28, reject(0x12, 7, 0, 257), refused),
        ("no resources", 28, reject(0x12, 2, 8, 257), refused),
        ("fatal", 28, reject(0x12, 3, 8, 257), refused),
        ("fatal, nothing else", 28, reject(0x12, 3, 0, 0), refused),
        ("invalid service number", 28, reject(0x12, 8, 8, 257), refused),
        ("too early", 28, reject(0x12, 9, 8, 257), refused),
        ("reason 0", 28, reject(0x12, 0, 8, 257), refused),
        ("reason 255", 28, reject(0x12, 255, 8, 257), refused),
        ("garbage", 28, vec![0xff; 148], refused),
        ("zeros", 28, vec![0; 148], refused),
        ("nobody listens", 8, vec![], Err(Errno::HostUnreachable)),
        ("nobody listens, padded", 8, vec![0; 148], Err(Errno::HostUnreachable)),
        ("stale connection of the connection manager", 10, vec![], Ok(PLAIN)),
        ("another reason of the connection manager", 4, vec![0; 148], refused),
    ] {
        check_reaction(name, reason, &data, expected);
    }
}

#[test]
fn a_refusal_that_is_cut_off_counts_as_far_as_it_goes() {
    for len in 0..24 {
        let expected = if len < 8 { Err(Errno::ConnectionRefused) } else { Ok(PLAIN) };
        check_reaction(&format!("race, {len} bytes"), 28, &reject(0x12, 1, 8, 257)[..len], expected);
        let refused = Err(Errno::ConnectionRefused);
        check_reaction(&format!("depth, {len} bytes"), 28, &reject(0x12, 7, 4, 257)[..len], refused);
    }
}

#[test]
fn an_acceptance_that_is_not_valid_ends_the_connection() {
    let params = |queue_depth, max_fragments, max_message_size| {
        Body::ConnAck(ConnParams { queue_depth, max_fragments, max_message_size })
    };
    let other = nid_of(Ipv4Addr::new(10, 0, 0, 7));
    let mut script = Script::new();
    let mut acks: Vec<(&str, Vec<u8>)> = vec![];
    let mut ack = |name, change: &dyn Fn(&mut Message<'_>)| {
        let mut message = script.message(0, Body::ConnAck(PARAMS));
        change(&mut message);
        acks.push((name, script.encoded(&message)));
    };
    ack("version 0x11", &|m| m.version = Version::V1);
    ack("depth 9", &|m| m.body = params(9, 257, 4096));
    ack("depth 0", &|m| m.body = params(0, 257, 4096));
    ack("258 fragments", &|m| m.body = params(8, 258, 4096));
    ack("no fragments", &|m| m.body = params(8, 0, 4096));
    ack("4097 bytes", &|m| m.body = params(8, 257, 4097));
    ack("from another NID", &|m| m.src_nid = other);
    ack("for another NID", &|m| m.dst_nid = other);
    ack("for another incarnation", &|m| m.dst_stamp = 1);
    ack("for no incarnation", &|m| m.dst_stamp = 0);
    ack("a CONNREQ", &|m| m.body = Body::ConnReq(PARAMS));
    ack("a NOOP", &|m| m.body = Body::Noop);
    let edited = |at, with| {
        let mut bytes = script.encoded(&script.message(0, Body::ConnAck(PARAMS)));
        put_u32(&mut bytes, at, with);
        bytes
    };
    acks.extend([
        ("a length of 55", edited(8, 55)),
        ("a length beyond the data", edited(8, 197)),
        ("a wrong checksum", edited(12, 1)),
        ("nothing", vec![]),
        ("garbage", vec![0xff; 56]),
    ]);
    for (count, (name, bytes)) in acks.into_iter().enumerate() {
        let put = script.put(10);
        let (conn, _) = script.requests.pop_front().unwrap();
        script.accept_bytes(conn, &bytes);
        let failure = script.result(put).unwrap().unwrap_err();
        assert_eq!((failure.errno, failure.delivery), (Errno::Protocol, Delivery::NotSent), "{name}");
        assert_eq!((script.closed, script.counters().violations), (count + 1, count as u64 + 1), "{name}");
        assert_eq!(script.rig.ends[0].refused.len(), count + 1, "{name}");
        assert_eq!((script.hear().len(), script.requests.len()), (0, 0), "{name}");
    }
    let put = script.put(10);
    script.accept();
    assert_eq!(script.result(put), Some(Ok(())));
    script.end();
}

#[test]
fn an_acceptance_may_lower_the_limits() {
    for (queue_depth, max_fragments) in [(8, 257), (4, 1), (1, 100)] {
        let mut script = Script::new();
        script.put(10);
        let params = ConnParams { queue_depth, max_fragments, max_message_size: 4096 };
        script.accept_with(|m| m.body = Body::ConnAck(params));
        (0..9).for_each(|_| _ = script.put(10));
        assert_eq!(script.hear_kinds(), vec![(Kind::Immediate, 0); queue_depth.into()]);
        script.end();
    }
}

#[test]
fn a_version_that_a_refusal_asks_for_is_that_of_the_connection() {
    let mut script = Script::new();
    let put = script.put(10);
    script.refuse(28, &reject(0x11, 5, 8, 257));
    script.accept();
    assert_eq!((script.version, script.result(put)), (Version::V1, Some(Ok(()))));
    script.say_put(1, 10);
    script.put(100_000);
    let kinds: Vec<_> = script.hear().iter().map(|heard| (heard.kind(), heard.message().version)).collect();
    assert_eq!(kinds, [(Kind::Immediate, Version::V1), (Kind::PutReq, Version::V1)]);
    script.end();
}

#[test]
fn after_ten_reconnects_each_waits_for_the_next_full_second() {
    let mut script = Script::new();
    // The rig's clock begins with a full second.
    script.tick(Duration::from_millis(300));
    let put = script.put(10);
    for round in 0..11 {
        assert_eq!(script.requests.len(), 1, "{round}");
        script.refuse(28, &reject(0x12, 5, 8, 257));
    }
    for second in 0..3 {
        assert!(script.requests.is_empty(), "{second}");
        script.tick(Duration::from_millis(if second == 0 { 699 } else { 999 }));
        assert!(script.requests.is_empty(), "{second}");
        script.tick(Duration::from_millis(1));
        script.refuse(28, &reject(0x12, 5, 8, 257));
    }
    // More messages change nothing.
    let other = script.put(10);
    assert!(script.requests.is_empty());
    script.tick(Duration::from_secs(1));
    script.accept();
    assert_eq!((script.result(put), script.result(other)), (Some(Ok(())), Some(Ok(()))));
    // A connection that came up ends the row.
    script.hang_up();
    script.put(10);
    for round in 0..11 {
        assert_eq!(script.requests.len(), 1, "{round}");
        script.refuse(28, &reject(0x12, 5, 8, 257));
    }
    assert!(script.requests.is_empty());
    script.end();
}

#[test]
fn a_message_waits_for_reconnects_only_until_its_deadline() {
    let mut script = Script::new();
    let put = script.put(10);
    (0..11).for_each(|_| script.refuse(28, &reject(0x12, 5, 8, 257)));
    for _ in 1..TIMEOUT.as_secs() {
        script.tick(Duration::from_secs(1));
        script.refuse(28, &reject(0x12, 5, 8, 257));
    }
    assert_eq!(script.result(put), None);
    script.tick(Duration::from_secs(1));
    let expected =
        SendFailure { errno: Errno::TimedOut, cause: Cause::LocalTimeout, delivery: Delivery::NotSent };
    assert_eq!(script.result(put), Some(Err(expected)));
    assert!(script.requests.is_empty());
    script.end();
}

#[test]
fn a_peer_that_accepts_and_hangs_up_at_once_is_asked_as_often_as_one_that_refuses() {
    let mut script = Script::new();
    let put = script.put(10);
    for round in 0..11 {
        assert_eq!(script.requests.len(), 1, "{round}");
        let (conn, _) = script.requests.pop_front().unwrap();
        let ack = script.encoded(&script.message(0, Body::ConnAck(PARAMS)));
        script.device.accept(conn, Setup::new(8, 257), &ack).unwrap();
        script.conn = Some(conn);
        script.hang_up();
    }
    assert!(script.requests.is_empty());
    script.tick(Duration::from_secs(1));
    script.accept();
    assert_eq!(script.result(put), Some(Ok(())));
    script.end();
}

#[test]
fn an_acceptance_that_comes_too_late_does_not_leave_the_peer_with_a_connection() {
    let mut script = Script::new();
    let put = script.put(10);
    let (conn, _) = script.requests.pop_front().unwrap();
    let ack = script.encoded(&script.message(0, Body::ConnAck(PARAMS)));
    script.device.accept(conn, Setup::new(8, 257), &ack).unwrap();
    // The time is up before the engine hears of it.
    script.tick(TIMEOUT);
    assert_eq!(script.result(put).unwrap().unwrap_err().errno, Errno::TimedOut);
    assert_eq!((script.closed, script.rig.net.conns(PEER)), (1, 0));
    script.end();
}

#[test]
fn the_request_after_an_end_does_not_name_the_incarnation_that_was() {
    let mut script = Script::new();
    script.put(10);
    script.refuse(28, &reject(0x12, 5, 8, 257));
    assert_eq!(asked(&script).1, STAMP);
    script.accept();
    script.hang_up();
    script.put(10);
    assert_eq!(asked(&script), PLAIN);
    script.accept();
    script.end();
}

#[test]
fn several_connections_are_asked_for_at_once_and_messages_take_turns() {
    let mut script = Script::with(PEER, 8, EngineTunables { conns_per_peer: 4, ..tunables() });
    let puts: Vec<_> = (0..3).map(|_| script.put(10)).collect();
    assert_eq!(script.requests.len(), 4);
    script.accept();
    let first = script.conn;
    assert!(puts.iter().all(|put| script.result(*put) == Some(Ok(()))));
    assert_eq!(script.hear_kinds().len(), 3);
    // One is refused for good: three are enough.
    script.accept();
    script.refuse(28, &reject(0x12, 3, 8, 257));
    script.accept();
    assert_ne!(script.conn, first);
    (0..15).for_each(|_| _ = script.put(10));
    assert_eq!((script.hear_kinds().len(), script.requests.len()), (15, 0));
    assert_eq!(script.credits_of_engine(), [0, 3, 3]);
    script.end();
}
