//! Memory that the peer describes in pieces, and what is written to it (wire-o2ib 8.3 to 8.5).

use super::peer_memory::PeerMemory;
use super::script::{KERNEL_STAMP, PARAMS, Script};
use crate::engine::tests::messages::pattern;
use crate::proto::{Body, Completion, ConnParams, MessageKind as Kind};
use lnet_core::Errno;

/// Parts of the peer's memory: offset and length.
type Parts = Vec<(usize, usize)>;

/// The bytes of the peer's memory to which nothing was written.
const UNTOUCHED: u8 = 0xcc;

/// The peer's memory when this payload has been written to these parts of it.
fn filled(memory: &PeerMemory, parts: &Parts, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![UNTOUCHED; memory.bytes().len()];
    let places = parts.iter().flat_map(|(at, len)| *at..at + len);
    places.zip(payload).for_each(|(at, byte)| bytes[at] = *byte);
    bytes
}

fn total(parts: &Parts) -> usize {
    parts.iter().map(|(_, len)| len).sum()
}

/// As many parts as there may be, of odd lengths at odd places, which go down; every fifth is empty if they are to have holes.
fn odd_parts(len: usize, holes: bool) -> Parts {
    let count = 257 - usize::from(holes) * 52;
    let mut parts: Parts = vec![];
    let (mut left, mut at) = (len, 200_001);
    for part in 0..count {
        let length = if part + 1 == count { left } else { (2 * (part * 37 % 190) + 1).min(left / 2) };
        left -= length;
        at -= length + 3;
        parts.push((at, length));
        if holes && part % 4 == 0 {
            parts.push((at, 0));
        }
    }
    parts
}

#[test]
fn a_payload_goes_to_every_byte_that_a_put_ack_names_and_to_no_other() {
    let tables: [(&str, Parts); 8] = [
        ("one fragment", vec![(1, 50_000)]),
        ("two fragments that follow each other", vec![(7, 1), (8, 49_999)]),
        ("257 fragments", odd_parts(50_000, false)),
        ("257 fragments, some without bytes", odd_parts(50_000, true)),
        ("less than was offered", odd_parts(20_001, false)),
        ("empty fragments around the only one", vec![(9, 0), (11, 1234), (5, 0)]),
        ("one byte", vec![(4099, 1)]),
        ("nothing", vec![(0, 0), (77, 0)]),
    ];
    for (name, parts) in tables {
        for pieces in [1, 2, 3, 100, 514, 515, 50_000] {
            let mut script = Script::connected();
            let memory = script.memory(vec![UNTOUCHED; 200_001]);
            let put = script.put_from(50_000, pieces);
            let src_cookie = script.hear_one(Kind::PutReq).cookie();
            script.say(Body::PutAck { src_cookie, dst_cookie: 7, descriptor: memory.descriptor(&parts) });
            let expected = filled(&memory, &parts, &pattern(50_000));
            assert!(memory.bytes() == expected, "{name} from {pieces} pieces");
            let done = script.hear_one(Kind::PutDone).completion();
            assert_eq!(done, (Kind::PutDone, 7, total(&parts) as i32), "{name} from {pieces} pieces");
            assert_eq!(script.result(put), Some(Ok(())), "{name} from {pieces} pieces");
            script.end();
        }
    }
}

#[test]
fn the_data_of_a_get_go_to_every_byte_of_the_sink_that_they_reach() {
    let tables: [(&str, Parts, usize); 9] = [
        // wire-o2ib 8.4: what a kernel node does not write.
        ("one fragment, short data", vec![(1, 272)], 48),
        ("three fragments, short data", vec![(3, 17), (101, 13), (201, 242)], 48),
        ("data that end with a fragment", vec![(3, 17), (101, 13), (201, 242)], 30),
        ("data that are cut", vec![(1, 20)], 20),
        ("257 fragments", odd_parts(50_000, false), 50_000),
        ("257 fragments, some without bytes", odd_parts(50_000, true), 50_000),
        ("257 fragments, short data", odd_parts(50_000, true), 12_345),
        ("one byte of data", odd_parts(50_000, false), 1),
        ("no data", odd_parts(50_000, false), 0),
    ];
    for (name, parts, len) in tables {
        for pieces in [1, 2, 3, 100, 515] {
            let mut script = Script::connected();
            let memory = script.memory(vec![UNTOUCHED; 200_001]);
            (script.rig.ends[0].gives, script.rig.ends[0].pieces) = (len, pieces);
            let header = script.get_header(1, total(&parts));
            script.say(Body::GetReq { header, cookie: 7, descriptor: memory.descriptor(&parts) });
            let expected = filled(&memory, &parts, &pattern(len));
            assert!(memory.bytes() == expected, "{name} from {pieces} pieces");
            let done = script.hear_one(Kind::GetDone).completion();
            assert_eq!(done, (Kind::GetDone, 7, len as i32), "{name} from {pieces} pieces");
            script.end();
        }
    }
}

#[test]
fn a_peer_of_one_fragment_gets_every_payload_in_one_write() {
    for pieces in [1, 2, 3, 10, 1000] {
        let mut script = Script::new();
        script.ask(|m| m.body = Body::ConnReq(ConnParams { max_fragments: 1, ..PARAMS }));
        let memory = script.memory(vec![UNTOUCHED; 50_000]);
        let put = script.put_from(50_000, pieces);
        let src_cookie = script.hear_one(Kind::PutReq).cookie();
        script.say(Body::PutAck { src_cookie, dst_cookie: 7, descriptor: memory.descriptor(&[(0, 50_000)]) });
        assert_eq!(script.hear_one(Kind::PutDone).completion(), (Kind::PutDone, 7, 50_000));
        assert_eq!((script.result(put), script.counters().writes), (Some(Ok(())), 1));
        assert!(memory.bytes() == pattern(50_000), "from {pieces} pieces");

        script.rig.ends[0].pieces = pieces;
        let (header, descriptor) = (script.get_header(1, 20_000), memory.descriptor(&[(0, 20_000)]));
        script.say(Body::GetReq { header, cookie: 8, descriptor });
        assert_eq!(script.hear_one(Kind::GetDone).completion(), (Kind::GetDone, 8, 20_000));
        assert_eq!(script.counters().writes, 2);
        assert!(memory.bytes()[..20_000] == pattern(20_000), "from {pieces} pieces");
        script.end();
    }
}

/// wire-o2ib 8.5: no data, and a completion with EMSGSIZE.
#[test]
fn a_peer_that_names_more_fragments_than_were_agreed_gets_an_error_for_the_transfer_only() {
    let mut script = Script::new();
    script.ask(|m| m.body = Body::ConnReq(ConnParams { max_fragments: 2, ..PARAMS }));
    let memory = script.memory(vec![UNTOUCHED; 50_000]);
    let three = memory.descriptor(&[(0, 10), (20, 10), (40, 10_000)]);
    let [put, other] = [script.put(50_000), script.put(50_000)];
    let cookies: Vec<_> = script.hear().iter().map(|heard| heard.cookie()).collect();
    script.say(Body::PutAck { src_cookie: cookies[0], dst_cookie: 7, descriptor: three.clone() });
    assert_eq!(script.hear_one(Kind::PutDone).completion(), (Kind::PutDone, 7, -90));
    assert_eq!(script.result(put).unwrap().unwrap_err().errno, Errno::MessageSize);
    let header = script.get_header(1, 10_020);
    script.say(Body::GetReq { header, cookie: 8, descriptor: three });
    assert_eq!(script.hear_one(Kind::GetDone).completion(), (Kind::GetDone, 8, -90));
    assert!(memory.bytes().iter().all(|byte| *byte == UNTOUCHED));

    let descriptor = memory.descriptor(&[(0, 50_000)]);
    script.say(Body::PutAck { src_cookie: cookies[1], dst_cookie: 9, descriptor });
    assert_eq!(script.hear_one(Kind::PutDone).completion(), (Kind::PutDone, 9, 50_000));
    assert_eq!((script.result(other), script.closed), (Some(Ok(())), 0));
    script.end();
}

#[test]
fn a_sink_that_is_shorter_than_the_data_gets_none() {
    let mut script = Script::connected();
    let memory = script.memory(vec![UNTOUCHED; 1000]);
    let (header, descriptor) = (script.get_header(1, 1000), memory.descriptor(&[(0, 500), (500, 499)]));
    script.say(Body::GetReq { header, cookie: 7, descriptor });
    assert_eq!(script.hear_one(Kind::GetDone).completion(), (Kind::GetDone, 7, -90));
    assert!(memory.bytes().iter().all(|byte| *byte == UNTOUCHED));
    script.end();
}

#[test]
fn the_engine_describes_its_memory_in_one_fragment_and_takes_what_is_written() {
    for (takes, pieces) in [(30_000, 1), (30_000, 7), (1000, 1), (1, 1), (8192, 3)] {
        let mut script = Script::connected();
        (script.rig.ends[0].takes, script.rig.ends[0].pieces) = (takes, pieces);
        let memory = script.memory(pattern(30_000));
        script.say(Body::PutReq { header: script.put_header(30_000), cookie: 7 });
        let ack = script.hear_one(Kind::PutAck);
        let descriptor = ack.descriptor();
        assert_eq!((descriptor.fragments.len(), descriptor.total_bytes()), (1, takes as u64));
        let done = Completion { cookie: ack.cookie(), status: takes as i32 };
        script.say_with(0, &[memory.write(takes, &descriptor)], Body::PutDone(done));
        assert_eq!(script.rig.ends[0].arrived, [Ok(takes)]);
        script.end();
    }
}

#[test]
fn a_get_is_a_get_req_only_for_peers_that_write_every_byte() {
    for (stamp, kind) in [(KERNEL_STAMP, Kind::Immediate), (Script::new().stamp, Kind::GetReq)] {
        let mut script = Script::new();
        script.stamp = stamp;
        script.connect();
        script.get(1, 50_000);
        script.hear_one(kind);
        script.end();
    }
}
