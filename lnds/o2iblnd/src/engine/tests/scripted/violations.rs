//! What a peer may not do on a connection (wire-o2ib 4): the connection ends, and with it nothing else.

use super::peer_memory::PeerMemory;
use super::script::{ENGINE_STAMP, KERNEL_STAMP, PARAMS, Script};
use crate::conn::{Ended, ViolationOf};
use crate::engine::tests::rig::{Policy, nid_of};
use crate::proto::{
    Body, Completion, Descriptor, Fragment, Fragments, Message, MessageKind as Kind, ProtoError as E,
};
use lnet_core::{Cause, Errno, SendFailure};
use lnet_wire::byte_order::put_u32;
use lnet_wire::{Body as LnetBody, WireHandle};
use std::net::Ipv4Addr;

/// A connection with transfers of all kinds under way.
struct Busy {
    script: Script,
    /// Eight messages of the engine that have left: a PUT_REQ, a GET_REQ, and what one message takes.
    left: [u64; 8],
    /// Messages of the engine that wait for a credit.
    waiting: [u64; 4],
    put_cookie: u64,
    get_cookie: u64,
    memory: PeerMemory,
}

fn busy() -> Busy {
    let mut script = Script::connected();
    let memory = script.memory(vec![0; 10_000]);
    let large = [script.put(100_000), script.get(1, 50_000)];
    let [put_cookie, get_cookie] = script.hear().iter().map(|heard| heard.cookie()).collect::<Vec<_>>()[..]
    else {
        panic!("not two requests")
    };
    let left = std::array::from_fn(|i| if i < 2 { large[i] } else { script.put(10) });
    let waiting = [script.put(10), script.put(100_000), script.get(2, 10), script.get(3, 50_000)];
    script.say(Body::PutReq { header: script.put_header(30_000), cookie: 71 });
    script.rig.ends[0].policy = Policy::Defer;
    script.say_put(0, 100);
    script.say(Body::PutReq { header: script.put_header(30_000), cookie: 72 });
    let descriptor = memory.descriptor(&[(0, 5000)]);
    script.say(Body::GetReq { header: script.get_header(4, 5000), cookie: 73, descriptor });
    assert_eq!(script.hear().last().unwrap().kind(), Kind::PutAck);
    Busy { script, left, waiting, put_cookie, get_cookie, memory }
}

impl Busy {
    /// The peer sends these bytes, after which the connection ends for this reason.
    fn breaks(mut self, name: &str, bytes: &[u8], expected: ViolationOf) {
        let script = &mut self.script;
        script.say_bytes(&[], bytes);
        assert_eq!(script.rig.ends[0].lost, [Ended::Violation(expected)], "{name}");
        assert_eq!((script.closed, script.counters().violations), (1, 1), "{name}");

        let unsent = Err(SendFailure::unsent(Errno::Protocol, Cause::RemoteDropped));
        let [put, get, rest @ ..] = self.left.map(|id| script.result(id).unwrap());
        assert_eq!((put, get), (unsent, unsent), "{name}");
        assert_eq!(rest, [Ok(()); 6], "{name}");
        assert_eq!(self.waiting.map(|id| script.result(id).unwrap()), [unsent; 4], "{name}");

        // One PUT was to be written to memory of the core. What the core has not decided on is lost, but for what is here.
        let reset = Err(Errno::ConnectionReset);
        assert_eq!(std::mem::take(&mut script.rig.ends[0].arrived), [reset], "{name}");
        script.rig.decide_all(0);
        assert_eq!(std::mem::take(&mut script.rig.ends[0].arrived), [Ok(100), reset, reset], "{name}");
        script.rig.ends[0].policy = Policy::Deliver;
        works_again(self.script, name);
    }
}

/// Both sides can connect and send.
fn works_again(mut script: Script, name: &str) {
    script.hear();
    script.connect();
    script.say_put(0, 1000);
    assert_eq!(script.rig.ends[0].arrived, [Ok(1000)], "{name}");
    script.hang_up();
    let put = script.put(2000);
    script.accept();
    script.hear_one(Kind::Immediate);
    assert_eq!(script.result(put), Some(Ok(())), "{name}");
    script.end();
}

/// A NOOP with other bytes at some place.
fn edited(offset: usize, with: &[u8]) -> impl Fn(&Busy) -> Vec<u8> {
    let with = with.to_vec();
    edit(|_| Body::Noop, move |bytes| bytes[offset..offset + with.len()].copy_from_slice(&with))
}

/// A message with other bytes.
fn edit<'b>(body: impl Fn(&Busy) -> Body<'b>, edit: impl Fn(&mut Vec<u8>)) -> impl Fn(&Busy) -> Vec<u8> {
    move |busy| {
        let mut bytes = busy.script.encoded(&busy.script.message(0, body(busy)));
        edit(&mut bytes);
        bytes
    }
}

/// A NOOP with another header.
fn noop(change: impl Fn(&mut Message<'_>)) -> impl Fn(&Busy) -> Vec<u8> {
    move |busy| {
        let mut message = busy.script.message(0, Body::Noop);
        change(&mut message);
        busy.script.encoded(&message)
    }
}

fn message<'b>(body: impl Fn(&Busy) -> Body<'b>) -> impl Fn(&Busy) -> Vec<u8> {
    edit(body, |_| ())
}

/// A row of a table: the name, the bytes that the peer sends, and what is wrong with them.
fn row(name: &str, bytes: impl Fn(&Busy) -> Vec<u8>, violation: impl Into<ViolationOf>) {
    let busy = busy();
    let bytes = bytes(&busy);
    busy.breaks(name, &bytes, violation.into());
}

#[test]
fn bytes_that_are_no_message_end_the_connection() {
    let short = |len| move |busy: &Busy| message(|_| Body::Noop)(busy)[..len].to_vec();
    let immediate = |busy: &Busy| Body::Immediate { header: busy.script.put_header(3), payload: b"abc" };
    let get_req = |busy: &Busy| Body::GetReq {
        header: busy.script.get_header(5, 50),
        cookie: 74,
        descriptor: busy.memory.descriptor(&[(0, 50)]),
    };
    let put_ack = |busy: &Busy| Body::PutAck {
        src_cookie: busy.put_cookie,
        dst_cookie: 75,
        descriptor: busy.memory.descriptor(&[(0, 50)]),
    };
    let below = |kind, length, needed| E::BelowMinimum { kind, length, needed };
    row("nothing", short(0), E::TooShort { received: 0, needed: 6 });
    row("5 bytes", short(5), E::TooShort { received: 5, needed: 6 });
    row("47 bytes", short(47), E::TooShort { received: 47, needed: 48 });
    row("garbage", |_: &Busy| vec![0xff; 4096], E::BadMagic(u32::MAX));
    row("another magic", edited(0, &[0x92]), E::BadMagic(0x0be9_1b92));
    row("version 0x13", edited(4, &[0x13]), E::UnknownVersion(0x13));
    row("type 0xd8", edited(6, &[0xd8]), E::UnknownKind(0xd8));
    row("type 0", edited(6, &[0]), E::UnknownKind(0));
    row("a length beyond the bytes", edited(8, &[49]), E::LengthBeyondReceived { length: 49, received: 48 });
    row(
        "the largest length",
        edited(8, &[0xff; 4]),
        E::LengthBeyondReceived { length: u32::MAX, received: 48 },
    );
    row("a length of 47", edited(8, &[47]), below(Kind::Noop, 47, 48));
    row(
        "a wrong checksum",
        edit(|_| Body::Noop, |bytes| put_u32(bytes, 12, 1)),
        ViolationOf::Bytes(E::ChecksumMismatch { sent: 1, computed: 0x9478_f7ab }),
    );
    row("any source", edited(16, &[0xff; 8]), E::SourceNotConcrete(u64::MAX));
    row("any destination", edited(32, &[0xff; 8]), E::DestinationNotConcrete(u64::MAX));
    row(
        "a PUT_DONE without status",
        edit(|_| Body::PutDone(Completion { cookie: 1, status: 0 }), |bytes| bytes[8] = 59),
        below(Kind::PutDone, 59, 60),
    );
    row(
        "more payload than there is",
        edit(immediate, |bytes| put_u32(bytes, 76, 4)),
        E::PayloadBeyondMessage { announced: 4, present: 3 },
    );
    row(
        "the longest payload",
        edit(immediate, |bytes| put_u32(bytes, 76, u32::MAX)),
        E::PayloadBeyondMessage { announced: u32::MAX, present: 3 },
    );
    row(
        "an LNet message of an unknown type",
        edit(immediate, |bytes| bytes[72] = 4),
        E::Header(lnet_wire::HeaderError::UnknownType(4)),
    );
    row(
        "an LNet message for any NID",
        edit(immediate, |bytes| bytes[48..56].fill(0xff)),
        E::Header(lnet_wire::HeaderError::NidNotConcrete("destination")),
    );
    row("a GET_REQ without fragments", edit(get_req, |bytes| bytes[132] = 0), E::FragmentCount(0));
    row(
        "a GET_REQ with 258 fragments",
        edit(get_req, |bytes| bytes[132..134].copy_from_slice(&[2, 1])),
        E::FragmentCount(258),
    );
    row("a PUT_ACK without fragments", edit(put_ack, |bytes| bytes[68] = 0), E::FragmentCount(0));
    row(
        "a PUT_ACK with two fragments in place of one",
        edit(put_ack, |bytes| bytes[68] = 2),
        E::DescriptorBeyondMessage { count: 2, end: 96, length: 84 },
    );
}

#[test]
fn messages_of_another_connection_end_the_connection() {
    let other = nid_of(Ipv4Addr::new(10, 0, 0, 7));
    row("another source", noop(|m| m.src_nid = other), ViolationOf::Stale);
    row("another destination", noop(|m| m.dst_nid = other), ViolationOf::Stale);
    row(
        "source and destination swapped",
        noop(|m| std::mem::swap(&mut m.src_nid, &mut m.dst_nid)),
        ViolationOf::Stale,
    );
    row("another source stamp", noop(|m| m.src_stamp = KERNEL_STAMP), ViolationOf::Stale);
    row("no source stamp", noop(|m| m.src_stamp = 0), ViolationOf::Stale);
    row("another destination stamp", noop(|m| m.dst_stamp = ENGINE_STAMP + 1), ViolationOf::Stale);
    row("no destination stamp", noop(|m| m.dst_stamp = 0), ViolationOf::Stale);
    row("another version", noop(|m| m.version = crate::proto::Version::V1), ViolationOf::Stale);
    row("a CONNREQ", message(|_| Body::ConnReq(PARAMS)), ViolationOf::Unexpected(Kind::ConnReq));
    row("a CONNACK", message(|_| Body::ConnAck(PARAMS)), ViolationOf::Unexpected(Kind::ConnAck));
}

#[test]
fn completions_of_transfers_that_do_not_exist_end_the_connection() {
    let unknown = ViolationOf::UnknownCookie;
    let done = |cookie| Completion { cookie, status: 10 };
    let ack = |busy: &Busy, src_cookie, descriptor: Descriptor| {
        let _ = busy;
        Body::PutAck { src_cookie, dst_cookie: 75, descriptor }
    };
    let fifty = |busy: &Busy| busy.memory.descriptor(&[(0, 50)]);
    row("PUT_ACK, no cookie", message(|b| ack(b, 0, fifty(b))), unknown(Kind::PutAck));
    row("PUT_ACK, any cookie", message(|b| ack(b, 0xabcd_0000_0001, fifty(b))), unknown(Kind::PutAck));
    row("PUT_ACK for a GET", message(|b| ack(b, b.get_cookie, fifty(b))), unknown(Kind::PutAck));
    row("PUT_NAK, any cookie", message(|_| Body::PutNak(done(99))), unknown(Kind::PutNak));
    row("PUT_NAK for a GET", message(|b| Body::PutNak(done(b.get_cookie))), unknown(Kind::PutNak));
    row("PUT_DONE, any cookie", message(|_| Body::PutDone(done(99))), unknown(Kind::PutDone));
    row("PUT_DONE for the peer's own cookie", message(|_| Body::PutDone(done(71))), unknown(Kind::PutDone));
    row(
        "PUT_DONE for a PUT of the engine",
        message(|b| Body::PutDone(done(b.put_cookie))),
        unknown(Kind::PutDone),
    );
    row("GET_DONE, any cookie", message(|_| Body::GetDone(done(99))), unknown(Kind::GetDone));
    row("GET_DONE for a PUT", message(|b| Body::GetDone(done(b.put_cookie))), unknown(Kind::GetDone));
    row("GET_DONE for a GET of the peer", message(|_| Body::GetDone(done(73))), unknown(Kind::GetDone));
}

#[test]
fn requests_against_the_rules_of_their_type_end_the_connection() {
    let handle = WireHandle { interface_cookie: 1, object_cookie: 77 };
    let put_ack = |b: &Busy, fragments: &[Fragment]| {
        let descriptor = Descriptor { rkey: 1, fragments: Fragments::new(fragments).unwrap() };
        Body::PutAck { src_cookie: b.put_cookie, dst_cookie: 75, descriptor }
    };
    let one = |bytes| Fragment { bytes, address: 0 };
    let sink_length = |named| ViolationOf::SinkLength { named, len: 100_000 };
    let get_req = |b: &Busy, body| Body::GetReq {
        header: b.script.header(0, body),
        cookie: 74,
        descriptor: b.memory.descriptor(&[(0, 50)]),
    };
    let ack = LnetBody::Ack { handle, match_bits: 0, accepted: 0 };
    let put_req = |b: &Busy, body| Body::PutReq { header: b.script.header(0, body), cookie: 74 };
    let credits =
        |credits: u8| move |busy: &Busy| busy.script.encoded(&busy.script.message(credits, Body::Noop));
    let too_many = |returned| ViolationOf::TooManyCredits { held: 0, returned, depth: 8 };
    row(
        "PUT_ACK with a byte too many",
        message(|b| put_ack(b, &[one(100_000), one(1)])),
        sink_length(100_001),
    );
    row(
        "PUT_ACK for all memory that there may be",
        message(|b| put_ack(b, &[one(u32::MAX); 257])),
        sink_length(257 * u64::from(u32::MAX)),
    );
    row(
        "PUT_REQ with a GET",
        message(|b| put_req(b, b.script.get_header(5, 50).body)),
        ViolationOf::Unexpected(Kind::PutReq),
    );
    row("PUT_REQ with an ACK", message(|b| put_req(b, ack)), ViolationOf::Unexpected(Kind::PutReq));
    row(
        "GET_REQ with a PUT",
        message(|b| get_req(b, b.script.put_header(0).body)),
        ViolationOf::Unexpected(Kind::GetReq),
    );
    row(
        "GET_REQ with a REPLY",
        message(|b| get_req(b, LnetBody::Reply { handle })),
        ViolationOf::Unexpected(Kind::GetReq),
    );
    row("GET_REQ with an ACK", message(|b| get_req(b, ack)), ViolationOf::Unexpected(Kind::GetReq));
    row("9 credits for 8 messages", credits(9), too_many(9));
    row("all credits that there may be", credits(255), too_many(255));
}

#[test]
fn what_is_behind_a_broken_rule_is_not_looked_at() {
    let mut script = Script::connected();
    let put = |script: &Script, len| {
        let payload = crate::engine::tests::messages::pattern(len);
        script.encoded(
            &script.message(0, Body::Immediate { header: script.put_header(len), payload: &payload }),
        )
    };
    let unknown = script.encoded(&script.message(0, Body::PutDone(Completion { cookie: 9, status: 0 })));
    for bytes in [put(&script, 10), unknown, put(&script, 20)] {
        script.post(&[], &bytes);
    }
    script.settle();
    assert_eq!((&script.rig.ends[0].arrived[..], script.counters().violations), (&[Ok(10)][..], 1));
    script.rig.ends[0].arrived.clear();
    works_again(script, "");
}
