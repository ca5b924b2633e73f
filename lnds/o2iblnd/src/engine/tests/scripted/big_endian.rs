//! A peer on a big-endian machine: all its integers but those of LNet headers are the other way round (wire-o2ib 3).

use super::script::{Answer, PARAMS, Script};
use crate::conn::{Ended, ViolationOf};
use crate::engine::tests::messages::pattern;
use crate::proto::{Body, Completion, MessageKind as Kind, ProtoError, Version, set_checksum};
use lnet_core::Errno;

/// Each way of connecting.
fn connected(engine_asks: bool) -> Script {
    let mut script = Script::new();
    script.is_big_endian = true;
    if engine_asks {
        script.put(10);
        script.accept();
        script.hear_one(Kind::Immediate);
        script.say_with(1, &[], Body::Noop);
    } else {
        assert_eq!(script.ask(|_| ()), Answer::Accepted(Version::V2, PARAMS));
    }
    script
}

#[test]
fn transfers_of_every_kind_pass() {
    for engine_asks in [true, false] {
        let mut script = connected(engine_asks);
        let (source, sink) = (script.memory(pattern(50_000)), script.memory(vec![0; 50_000]));

        // To the engine, whose own cookies come back as they were.
        script.say_put(0, 1000);
        script.say(Body::PutReq { header: script.put_header(50_000), cookie: 0x0102_0304_0506_0708 });
        let ack = script.hear_one(Kind::PutAck);
        let Body::PutAck { src_cookie, .. } = ack.message().body else { panic!("{ack:?}") };
        assert_eq!(src_cookie, 0x0102_0304_0506_0708);
        let done = Completion { cookie: ack.cookie(), status: 50_000 };
        script.say_with(0, &[source.write(50_000, &ack.descriptor())], Body::PutDone(done));
        let get = script.get(1, 30_000);
        let request = script.hear_one(Kind::GetReq);
        let done = Completion { cookie: request.cookie(), status: 30_000 };
        // What a payload is depends on its length.
        let short = script.memory(pattern(30_000));
        script.say_with(1, &[short.write(30_000, &request.descriptor())], Body::GetDone(done));
        assert_eq!(script.rig.ends[0].arrived, [Ok(1000), Ok(50_000), Ok(30_000)]);

        // From the engine, to several fragments.
        let puts = [script.put(1000), script.put(50_000), script.put(50_000)];
        let cookies: Vec<_> = script
            .hear()
            .iter()
            .filter(|heard| heard.kind() == Kind::PutReq)
            .map(|heard| heard.cookie())
            .collect();
        let descriptor = sink.descriptor(&[(0, 1), (1, 20_001), (20_002, 0), (20_002, 29_998)]);
        script.say(Body::PutAck { src_cookie: cookies[0], dst_cookie: 0xff00, descriptor });
        assert_eq!(script.hear_one(Kind::PutDone).completion(), (Kind::PutDone, 0xff00, 50_000));
        assert!(sink.bytes() == pattern(50_000));
        script.say(Body::PutNak(Completion { cookie: cookies[1], status: -12 }));
        let descriptor = sink.descriptor(&[(1, 272)]);
        script.rig.ends[0].gives = 48;
        script.say(Body::GetReq { header: script.get_header(2, 272), cookie: 9, descriptor });
        assert_eq!(script.hear_one(Kind::GetDone).completion(), (Kind::GetDone, 9, 48));
        assert!(sink.bytes()[1..49] == pattern(48));

        assert_eq!([get, puts[0], puts[1]].map(|id| script.result(id)), [Some(Ok(())); 3]);
        assert_eq!(script.result(puts[2]).unwrap().unwrap_err().errno, Errno::NoMemory);
        assert_eq!(script.closed, 0);
        script.end();
    }
}

#[test]
fn the_rules_are_those_for_everyone() {
    let too_many = ViolationOf::TooManyCredits { held: 8, returned: 1, depth: 8 };
    let mut script = connected(false);
    script.say_with(1, &[], Body::Noop);
    assert_eq!(script.rig.ends[0].lost, [Ended::Violation(too_many)]);
    script.end();

    // A checksum that is right, but for its byte order.
    let mut script = connected(false);
    let mut bytes = script.encoded(&script.message(0, Body::Noop));
    set_checksum(&mut bytes);
    let sum = u32::from_le_bytes(bytes[12..16].try_into().unwrap());
    script.say_bytes(&[], &bytes);
    let mismatch = ProtoError::ChecksumMismatch { sent: sum.swap_bytes(), computed: sum };
    assert_eq!(script.rig.ends[0].lost, [Ended::Violation(mismatch.into())]);
    script.connect();
    bytes[12..16].reverse();
    script.say_bytes(&[], &bytes);
    assert_eq!((script.rig.ends[0].lost.len(), script.closed), (1, 1));

    // A message in the other order is as good, on the same connection.
    script.is_big_endian = false;
    script.say_put(0, 10);
    assert_eq!(script.rig.ends[0].arrived, [Ok(10)]);
    script.end();
}
