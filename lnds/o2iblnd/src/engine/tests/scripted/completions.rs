//! How transfers end: statuses, handles, and messages that are unusual and right.

use super::script::{ENGINE, KERNEL_STAMP, Script};
use crate::engine::tests::messages::pattern;
use crate::engine::tests::rig::Policy;
use crate::proto::{Body, Completion, MessageKind as Kind, set_checksum};
use lnet_core::{Cause, Delivery, Errno, SendFailure};
use lnet_wire::byte_order::put_u32;
use lnet_wire::{Body as LnetBody, WireHandle};

/// The memory that the engine has registered, but for bounce buffers.
fn registered(script: &Script) -> usize {
    script.rig.net.registered(ENGINE)
}

#[test]
fn a_put_nak_is_success_or_the_error_in_its_status() {
    let error = |errno| Err(SendFailure { errno, cause: Cause::RemoteDropped, delivery: Delivery::NotSent });
    for (status, expected) in [
        (0, Ok(())),
        (5, Ok(())),
        (i32::MAX, Ok(())),
        (-12, error(Errno::NoMemory)),
        (-61, error(Errno::NoData)),
        (-90, error(Errno::MessageSize)),
        (-100_000, error(Errno::Io)),
        (i32::MIN, error(Errno::Io)),
    ] {
        let mut script = Script::connected();
        let put = script.put(100_000);
        assert_eq!((script.result(put), registered(&script)), (None, 1));
        let cookie = script.hear_one(Kind::PutReq).cookie();
        script.say(Body::PutNak(Completion { cookie, status }));
        assert_eq!((script.result(put), registered(&script)), (Some(expected), 0), "{status}");
        assert_eq!(script.closed, 0, "{status}");
        script.end();
    }
}

#[test]
fn a_put_arrives_only_if_its_put_done_has_the_length_that_was_accepted() {
    for (status, expected) in [
        (30_000, Ok(30_000)),
        (29_999, Err(Errno::Io)),
        (30_001, Err(Errno::Io)),
        (0, Err(Errno::Io)),
        (i32::MAX, Err(Errno::Io)),
        (-5, Err(Errno::Io)),
        (-12, Err(Errno::NoMemory)),
        (-90, Err(Errno::MessageSize)),
        (i32::MIN, Err(Errno::Io)),
    ] {
        let mut script = Script::connected();
        let memory = script.memory(pattern(30_000));
        script.say(Body::PutReq { header: script.put_header(30_000), cookie: 7 });
        let ack = script.hear_one(Kind::PutAck);
        assert_eq!(registered(&script), 1);
        let write = memory.write(30_000, &ack.descriptor());
        script.say_with(0, &[write], Body::PutDone(Completion { cookie: ack.cookie(), status }));
        assert_eq!(script.rig.ends[0].arrived, [expected], "{status}");
        assert_eq!((registered(&script), script.closed), (0, 0), "{status}");
        script.end();
    }
}

#[test]
fn a_get_done_brings_the_data_or_nothing_or_the_error_in_its_status() {
    let error = |errno| Err(SendFailure { errno, cause: Cause::RemoteError, delivery: Delivery::Unknown });
    for (status, result, arrived) in [
        (30_000, Ok(()), Some(30_000)),
        (29_999, Ok(()), Some(29_999)),
        (1, Ok(()), Some(1)),
        (0, Ok(()), Some(0)),
        // The target has nothing for the GET.
        (-61, Ok(()), None),
        (-5, error(Errno::Io), None),
        (-90, error(Errno::MessageSize), None),
        (i32::MIN, error(Errno::Io), None),
        // More than there is room for.
        (30_001, error(Errno::Protocol), None),
        (i32::MAX, error(Errno::Protocol), None),
    ] {
        let mut script = Script::connected();
        let get = script.get(1, 30_000);
        let request = script.hear_one(Kind::GetReq);
        assert_eq!((script.result(get), registered(&script)), (None, 1));
        let len = arrived.unwrap_or(0);
        let memory = script.memory(pattern(len.max(1)));
        let writes = match len {
            0 => vec![],
            len => vec![memory.write(len, &request.descriptor())],
        };
        script.say_with(1, &writes, Body::GetDone(Completion { cookie: request.cookie(), status }));
        assert_eq!((script.result(get), registered(&script)), (Some(result), 0), "{status}");
        assert_eq!(script.rig.ends[0].arrived, Vec::from_iter(arrived.map(Ok)), "{status}");
        assert_eq!(script.closed, 0, "{status}");
        script.end();
    }
}

/// wire-o2ib 8.3.
#[test]
fn a_put_req_that_brings_nothing_is_answered_by_a_put_nak() {
    let longest = 1 << 20;
    for (len, pieces, policy, status, arrived) in [
        (30_000, 1, Policy::Discard, 0, None),
        (0, 1, Policy::Deliver, 0, Some(Ok(0))),
        // Longer than the engine's buffers, and in pieces.
        (longest + 1, 2, Policy::Deliver, -90, Some(Err(Errno::MessageSize))),
    ] {
        let mut script = Script::connected();
        (script.rig.ends[0].policy, script.rig.ends[0].pieces) = (policy, pieces);
        script.say(Body::PutReq { header: script.put_header(len), cookie: 7 });
        let nak = script.hear_one(Kind::PutNak);
        assert_eq!((nak.completion(), nak.message().credits), ((Kind::PutNak, 7, status), 1), "{len}");
        assert_eq!(script.rig.ends[0].arrived, Vec::from_iter(arrived), "{len}");
        script.end();
    }
}

#[test]
fn a_get_that_nothing_matches_ends_with_no_data() {
    let mut script = Script::connected();
    script.rig.ends[0].policy = Policy::Discard;
    let memory = script.memory(vec![0xcc; 80]);
    let (header, descriptor) = (script.get_header(1, 80), memory.descriptor(&[(0, 80)]));
    script.say(Body::GetReq { header, cookie: 7, descriptor });
    assert_eq!(script.hear_one(Kind::GetDone).completion(), (Kind::GetDone, 7, -61));
    assert!(memory.bytes().iter().all(|byte| *byte == 0xcc));
    script.end();
}

#[test]
fn each_get_req_ends_once_though_two_have_the_same_handle() {
    let (deliver, discard) = (Policy::Deliver, Policy::Discard);
    // What is decided on the two; the end of the second; whether a REPLY is left over, which leaves by itself.
    for (decisions, status, leftover) in [
        ([deliver, deliver], 5000, true),
        ([deliver, discard], 5000, false),
        ([discard, deliver], -61, true),
        ([discard, discard], -61, false),
    ] {
        let mut script = Script::connected();
        script.rig.ends[0].policy = Policy::Defer;
        let memory = script.memory(vec![0; 5000]);
        for cookie in [7, 8] {
            let (header, descriptor) = (script.get_header(1, 5000), memory.descriptor(&[(0, 5000)]));
            script.say(Body::GetReq { header, cookie, descriptor });
        }
        // The first has been given up by the peer.
        assert_eq!(script.hear_one(Kind::GetDone).completion(), (Kind::GetDone, 7, -61));
        let now = script.rig.now;
        for ((rx, header), policy) in
            std::mem::take(&mut script.rig.ends[0].waiting).into_iter().zip(decisions)
        {
            script.rig.ends[0].decide(rx, header, policy, now);
            script.settle();
        }
        let mut heard = script.hear();
        assert_eq!(heard.remove(0).completion(), (Kind::GetDone, 8, status), "{decisions:?}");
        assert_eq!(
            heard.iter().map(|heard| heard.kind()).collect::<Vec<_>>(),
            vec![Kind::PutReq; leftover.into()]
        );
        script.end();
    }
}

/// wire-o2ib 8.4: from a kernel node large data come as a message of their own.
#[test]
fn a_reply_may_come_as_a_put_req_or_an_immediate() {
    for len in [0, 48, 3976, 3977, 50_000] {
        let mut script = Script::new();
        script.stamp = KERNEL_STAMP;
        script.connect();
        let get = script.get(1, 50_000);
        let request = script.hear_one(Kind::Immediate);
        assert_eq!(script.result(get), Some(Ok(())));
        let Body::Immediate { header, .. } = request.message().body else { panic!("{request:?}") };
        let LnetBody::Get { reply: handle, .. } = header.body else { panic!("{header:?}") };
        let header = script.header(len, LnetBody::Reply { handle });
        let memory = script.memory(pattern(len.max(1)));
        if len <= 3976 {
            script.say_with(1, &[], Body::Immediate { header, payload: &pattern(len) });
        } else {
            script.say_with(1, &[], Body::PutReq { header, cookie: 7 });
            let ack = script.hear_one(Kind::PutAck);
            let done = Completion { cookie: ack.cookie(), status: len as i32 };
            script.say_with(0, &[memory.write(len, &ack.descriptor())], Body::PutDone(done));
        }
        assert_eq!(script.rig.ends[0].arrived, [Ok(len)]);
        script.end();
    }
}

#[test]
fn a_reply_to_nothing_is_discarded() {
    let mut script = Script::connected();
    let handle = WireHandle { interface_cookie: 5, object_cookie: 5 };
    let header = script.header(10, LnetBody::Reply { handle });
    script.say_with(0, &[], Body::Immediate { header, payload: &pattern(10) });
    let header = script.header(5000, LnetBody::Reply { handle });
    script.say(Body::PutReq { header, cookie: 7 });
    assert_eq!(script.hear_one(Kind::PutNak).completion(), (Kind::PutNak, 7, 0));
    assert!(script.rig.ends[0].arrived.is_empty());
    script.end();
}

#[test]
fn bytes_behind_a_message_and_right_checksums_do_no_harm() {
    let mut script = Script::connected();
    let (header, payload) = (script.put_header(3), pattern(3));
    let plain = script.encoded(&script.message(0, Body::Immediate { header, payload: &payload }));
    let with_more = [&plain[..], &[0xee; 100]].concat();
    let mut longer = with_more.clone();
    put_u32(&mut longer, 8, 140);
    let mut with_sum = plain.clone();
    set_checksum(&mut with_sum);
    for bytes in [plain, with_more, longer, with_sum] {
        script.say_bytes(&[], &bytes);
        assert_eq!(std::mem::take(&mut script.rig.ends[0].arrived), [Ok(3)]);
    }
    script.end();
}

#[test]
fn transfers_end_in_any_order() {
    let mut script = Script::connected();
    let puts: Vec<_> = (0..4).map(|i| script.put(10_000 + i)).collect();
    let gets: Vec<_> = (0..4).map(|i| script.get(i, 20_000 + i as usize)).collect();
    let (put_reqs, get_reqs) = {
        let mut heard = script.hear();
        let get_reqs = heard.split_off(4);
        (heard, get_reqs)
    };
    let (source, sink) = (script.memory(pattern(20_002)), script.memory(vec![0; 10_004]));
    for i in [2, 0, 3, 1] {
        let request = &get_reqs[i];
        let (writes, status) = match i {
            2 => (vec![source.write(20_002, &request.descriptor())], 20_002),
            _ => (vec![], -61),
        };
        script.say_with(0, &writes, Body::GetDone(Completion { cookie: request.cookie(), status }));
        let src_cookie = put_reqs[i].cookie();
        let descriptor = sink.descriptor(&[(0, 10_000 + i)]);
        script.say(Body::PutAck { src_cookie, dst_cookie: 70 + i as u64, descriptor });
        assert_eq!(
            script.hear_one(Kind::PutDone).completion(),
            (Kind::PutDone, 70 + i as u64, 10_000 + i as i32)
        );
        assert!(sink.bytes()[..10_000 + i] == pattern(10_000 + i));
        assert_eq!((script.result(puts[i]), script.result(gets[i])), (Some(Ok(())), Some(Ok(()))));
    }
    assert_eq!(script.rig.ends[0].arrived, [Ok(20_002)]);
    script.end();
}
