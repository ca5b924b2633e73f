//! Tests of messages: worked examples, and what is refused.

#![allow(clippy::unwrap_used, clippy::panic)]
use super::super::set_checksum;
use super::super::test_messages::{
    O2IB, ONE, PARAMS, STAMP_ONE, STAMP_TWO, TWO, connreq, encoded, hex, message, one_fragment, ping, put,
    swapped,
};
use super::*;
use lnet_wire::HeaderError;

#[test]
fn messages_have_the_bytes_of_the_worked_examples() {
    let nids = "0b00630a00000500 307acc52bf600600  0c00630a00000500 e647eb52bf600600";
    let head =
        |kind_credits: &str, length: &str| format!("911be90b 1200 {kind_credits} {length} 00000000 {nids}");
    let table = [
        (
            connreq(),
            "911be90b 1200 c0 00 38000000 00000000 0b00630a00000500 307acc52bf600600
             0c00630a00000500 0000000000000000 0800 0101 00100000"
                .to_owned(),
        ),
        (
            Message {
                src_nid: TWO,
                src_stamp: STAMP_TWO,
                dst_nid: ONE,
                dst_stamp: STAMP_ONE,
                ..message(0, Body::ConnAck(PARAMS))
            },
            "911be90b 1200 c1 00 38000000 00000000 0c00630a00000500 e647eb52bf600600
             0b00630a00000500 307acc52bf600600 0800 0101 00100000"
                .to_owned(),
        ),
        (message(1, Body::Noop), head("d0 01", "30000000")),
        (
            message(0, Body::Immediate { header: ping(3216), payload: &[] }),
            head("d1 00", "78000000")
                + "0c00630a00000500 0b00630a00000500 39300000 39300000 02000000 00000000
                   3270fe685bebe918 0d00000000000000 0000000000000080 00000000 00000000 900c0000 00000000",
        ),
        (
            message(1, Body::PutReq { header: put(4096), cookie: 4 }),
            head("d2 01", "80000000")
                + "0b00630a00000500 0c00630a00000500 39300000 39300000 01000000 00100000
                   ffffffffffffffff ffffffffffffffff 070000000000a1f4 0000000000000000 34000000 00000000
                   0400000000000000",
        ),
        (
            message(
                0,
                Body::PutAck {
                    src_cookie: 4,
                    dst_cookie: 15,
                    descriptor: one_fragment(0x0008_136b, 4096, 0xffff_8880_0a54_9000),
                },
            ),
            head("d4 00", "54000000")
                + "0400000000000000 0f00000000000000 6b130800 01000000 00100000 0090540a8088ffff",
        ),
        (
            message(0, Body::PutDone(Completion { cookie: 15, status: 4096 })),
            head("d5 00", "3c000000") + "0f00000000000000 00100000",
        ),
        (
            message(
                0,
                Body::GetReq {
                    header: ping(4096),
                    cookie: 4,
                    descriptor: one_fragment(0x0006_0910, 4096, 0xffff_8880_0a1f_6000),
                },
            ),
            head("d6 00", "94000000")
                + "0c00630a00000500 0b00630a00000500 39300000 39300000 02000000 00000000
                   3270fe685bebe918 0d00000000000000 0000000000000080 00000000 00000000 00100000 00000000
                   0400000000000000 10090600 01000000 00100000 00601f0a8088ffff",
        ),
        (
            message(0, Body::GetDone(Completion { cookie: 4, status: 4096 })),
            head("d7 00", "3c000000") + "0400000000000000 00100000",
        ),
        (
            message(0, Body::PutNak(Completion { cookie: 4, status: -61 })),
            head("d3 00", "3c000000") + "0400000000000000 c3ffffff",
        ),
    ];
    for (message, text) in table {
        let kind = message.body.kind();
        assert_eq!(encoded(&message), hex(&text), "{kind}");
        assert_eq!(Message::decode(&hex(&text)).as_ref(), Ok(&message), "{kind}");
        assert_eq!(Message::decode(&swapped(&hex(&text))).as_ref(), Ok(&message), "{kind}");
    }
}

#[test]
fn bytes_behind_the_message_do_not_count() {
    let messages = [connreq(), message(0, Body::Immediate { header: put(3), payload: b"abc" })];
    for message in messages {
        let padded = [encoded(&message), vec![0; 100]].concat();
        assert_eq!(Message::decode(&padded).as_ref(), Ok(&message));
        // The length may also cover more than the type needs.
        let mut longer = padded;
        put_u32(&mut longer, 8, 150);
        assert_eq!(Message::decode(&longer).as_ref(), Ok(&message));
    }
}

#[test]
fn every_prefix_of_a_message_is_refused() {
    let messages = [
        connreq(),
        message(0, Body::Immediate { header: put(3), payload: b"abc" }),
        message(0, Body::GetReq { header: ping(7), cookie: 1, descriptor: one_fragment(1, 7, 8) }),
    ];
    for message in messages {
        let bytes = encoded(&message);
        let length = bytes.len() as u32;
        for received in 0..bytes.len() {
            let expected = match received {
                0..6 => ProtoError::TooShort { received, needed: 6 },
                6..48 => ProtoError::TooShort { received, needed: 48 },
                _ => ProtoError::LengthBeyondReceived { length, received },
            };
            assert_eq!(Message::decode(&bytes[..received]), Err(expected));
        }
    }
}

/// Wire-o2ib 4, and the requests of wire-o2ib 6.2 that a kernel node cannot parse.
#[test]
fn invalid_messages_are_refused() {
    use ProtoError as E;
    let edit = |message: &Message<'_>, offset: usize, with: &[u8]| {
        let mut bytes = encoded(message);
        bytes[offset..offset + with.len()].copy_from_slice(with);
        bytes
    };
    let connreq = connreq();
    let noop = message(0, Body::Noop);
    let put_req = message(0, Body::PutReq { header: put(4096), cookie: 4 });
    let immediate = message(0, Body::Immediate { header: put(3), payload: b"abc" });
    let get_req = message(0, Body::GetReq { header: ping(7), cookie: 1, descriptor: one_fragment(1, 7, 8) });
    let put_ack =
        message(0, Body::PutAck { src_cookie: 1, dst_cookie: 2, descriptor: one_fragment(1, 7, 8) });
    let below = |kind, length, needed| E::BelowMinimum { kind, length, needed };
    for (name, bytes, want) in [
        ("no private data", Vec::new(), E::TooShort { received: 0, needed: 6 }),
        ("4 bytes of private data", encoded(&connreq)[..4].to_vec(), E::TooShort { received: 4, needed: 6 }),
        ("no private data, padded", vec![0; 56], E::BadMagic(0)),
        ("the unified magic", edit(&connreq, 0, &0x4572_6963_u32.to_le_bytes()), E::BadMagic(0x4572_6963)),
        ("version 0x13", edit(&connreq, 4, &[0x13]), E::UnknownVersion(0x13)),
        ("version 0x10", edit(&noop, 4, &[0x10]), E::UnknownVersion(0x10)),
        ("a length of 48", edit(&connreq, 8, &[48]), below(MessageKind::ConnReq, 48, 56)),
        ("a length of 57", edit(&connreq, 8, &[57]), E::LengthBeyondReceived { length: 57, received: 56 }),
        ("a length of 0", edit(&noop, 8, &[0]), below(MessageKind::Noop, 0, 48)),
        ("a length of 47", edit(&noop, 8, &[47]), below(MessageKind::Noop, 47, 48)),
        (
            "the longest length",
            edit(&noop, 8, &[0xff; 4]),
            E::LengthBeyondReceived { length: u32::MAX, received: 48 },
        ),
        (
            "a wrong checksum",
            edit(&connreq, 12, &[1]),
            E::ChecksumMismatch { sent: 1, computed: checksum(&encoded(&connreq)) },
        ),
        ("any source", edit(&connreq, 16, &[0xff; 8]), E::SourceNotConcrete(u64::MAX)),
        ("any destination", edit(&connreq, 32, &[0xff; 8]), E::DestinationNotConcrete(u64::MAX)),
        ("type 0xd8", edit(&noop, 6, &[0xd8]), E::UnknownKind(0xd8)),
        ("type 0xcf", edit(&noop, 6, &[0xcf]), E::UnknownKind(0xcf)),
        ("a PUT_REQ without a cookie", edit(&put_req, 8, &[127]), below(MessageKind::PutReq, 127, 128)),
        (
            "an IMMEDIATE without a header",
            edit(&immediate, 8, &[119]),
            below(MessageKind::Immediate, 119, 120),
        ),
        (
            "a payload that is too short",
            edit(&immediate, 8, &[122]),
            E::PayloadBeyondMessage { announced: 3, present: 2 },
        ),
        (
            "the longest payload",
            edit(&immediate, 48 + 28, &[0xff; 4]),
            E::PayloadBeyondMessage { announced: u32::MAX, present: 3 },
        ),
        ("an unknown LNet type", edit(&put_req, 48 + 24, &[4]), E::Header(HeaderError::UnknownType(4))),
        (
            "an LNet message for any NID",
            edit(&get_req, 48, &[0xff; 8]),
            E::Header(HeaderError::NidNotConcrete("destination")),
        ),
        ("no fragments", edit(&get_req, 132, &[0]), E::FragmentCount(0)),
        ("258 fragments", edit(&put_ack, 68, &[2, 1]), E::FragmentCount(258)),
        (
            "2 fragments in place of 1",
            edit(&get_req, 132, &[2]),
            E::DescriptorBeyondMessage { count: 2, end: 160, length: 148 },
        ),
        (
            "257 fragments in place of 1",
            edit(&put_ack, 68, &[1, 1]),
            E::DescriptorBeyondMessage { count: 257, end: 3156, length: 84 },
        ),
    ] {
        assert_eq!(Message::decode(&bytes), Err(want), "{name}");
    }
}

#[test]
fn a_checksum_is_verified_in_either_order_and_covers_no_more_than_the_message() {
    let message = message(3, Body::Immediate { header: put(3), payload: b"abc" });
    let mut bytes = encoded(&message);
    set_checksum(&mut bytes);
    let padded = [&bytes[..], &[9; 5]].concat();
    assert_eq!(Message::decode(&padded).as_ref(), Ok(&message));
    // That of big-endian bytes is another one.
    let mut big = swapped(&encoded(&message));
    let sum = checksum(&big);
    ByteOrder::Big.put_u32(&mut big, 12, sum);
    assert_eq!(Message::decode(&big).as_ref(), Ok(&message));
    big[122] ^= 1;
    assert!(matches!(Message::decode(&big), Err(ProtoError::ChecksumMismatch { sent, .. }) if sent == sum));
}

#[test]
fn cookies_of_a_big_endian_peer_go_back_as_they_came() {
    let body = Body::PutReq { header: put(4096), cookie: 0 };
    let mut bytes = swapped(&encoded(&message(0, body)));
    bytes[120..128].copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8]);
    let Body::PutReq { cookie, .. } = Message::decode(&bytes).unwrap().body else { panic!("another type") };
    let nak = encoded(&message(0, Body::PutNak(Completion { cookie, status: 0 })));
    assert_eq!(nak[48..56], [1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn a_message_is_encoded_only_if_it_fits() {
    let payload = [7; MESSAGE_SIZE];
    let immediate = |announced, payload| message(0, Body::Immediate { header: put(announced), payload });
    let largest = immediate(3976, &payload[..3976]);
    let mut buffer = [0; MESSAGE_SIZE + 8];
    assert_eq!(largest.encode(&mut buffer), Ok(MESSAGE_SIZE));
    let too_long = |length, space| Err(EncodeError::TooLong { length, space });
    assert_eq!(immediate(3977, &payload[..3977]).encode(&mut buffer), too_long(4097, 4096));
    assert_eq!(largest.encode(&mut buffer[..4095]), too_long(4096, 4095));
    assert_eq!(message(0, Body::Noop).encode(&mut []), too_long(48, 0));
    for (announced, present) in [(3, 2), (2, 3), (u32::MAX, 0)] {
        let wrong = immediate(announced, &payload[..present]).encode(&mut buffer);
        assert_eq!(wrong, Err(EncodeError::PayloadLength { announced, present }));
    }
    assert!(matches!(
        immediate(u32::MAX, &[]).encode_before_payload(&mut buffer),
        Err(EncodeError::TooLong { .. })
    ));
}

#[test]
fn a_payload_may_be_put_behind_the_rest_of_its_message() {
    let whole = message(1, Body::Immediate { header: put(3), payload: b"abc" });
    let head = message(1, Body::Immediate { header: put(3), payload: &[] });
    let mut buffer = [0; MESSAGE_SIZE];
    assert_eq!(head.encode_before_payload(&mut buffer), Ok(120));
    assert_eq!(head.encoded_len(), 123);
    buffer[120..123].copy_from_slice(b"abc");
    assert_eq!(buffer[..123], encoded(&whole));
}

#[test]
fn a_long_nid_fits_in_no_message() {
    let long = Nid::new_long(O2IB, [1; 16]);
    let mut buffer = [0; MESSAGE_SIZE];
    let header = ping(7);
    let in_header = |header| message(0, Body::PutReq { header, cookie: 0 });
    for wrong in [
        Message { src_nid: long, ..message(0, Body::Noop) },
        Message { dst_nid: long, ..message(0, Body::Noop) },
        in_header(Header { src_nid: long, ..header }),
        in_header(Header { dest_nid: long, ..header }),
    ] {
        assert_eq!(wrong.encode(&mut buffer), Err(EncodeError::LongNid(long)));
    }
}
