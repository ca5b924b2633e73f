#![allow(clippy::unwrap_used)]
use super::*;
use proptest::prelude::*;

/// The fields one after the other, padding among them: bytes of each.
const WIDTHS: [usize; 27] =
    [8, 4, 4, 4, 4, 8, 2, 2, 4, 8, 8, 4, 4, 4, 4, 4, 4, 8, 8, 8, 8, 8, 8, 8, 8, 8, 32];

fn sample() -> Body {
    Body {
        handle: ExportCookie(0x0102_0304_0506_0708),
        kind: MessageKind::Reply,
        version: Version(0x0003_0003),
        opcode: Opcode(0x1112_1314),
        status: -107,
        last_xid: Xid(0x2122_2324_2526_2728),
        tag: 0x3132,
        last_committed: 0x4142_4344_4546_4748,
        transno: 0x5152_5354_5556_5758,
        flags: BodyFlags(0x6162_6364),
        op_flags: ConnectOps(0x7172_7374),
        conn_cnt: 0x8182_8384,
        timeout: 0x9192_9394,
        service_time: 0xa1a2_a3a4,
        limit: 0xb1b2_b3b4,
        slv: 0xc1c2_c3c4_c5c6_c7c8,
        pre_versions: [1, 2, 3, 0xd1d2_d3d4_d5d6_d7d8],
        mbits: 0xe1e2_e3e4_e5e6_e7e8,
        job_id: *b"a job with a name of just 32 B..",
    }
}

#[test]
fn every_field_has_the_offset_of_the_table() {
    let big = sample().encode_in(ByteOrder::Big);
    for (offset, want) in [
        (0, &[1, 2, 3, 4, 5, 6, 7, 8][..]),
        (8, &[0, 0, 0x12, 0x69]),
        (12, &[0, 3, 0, 3]),
        (16, &[0x11, 0x12, 0x13, 0x14]),
        (20, &[0xff, 0xff, 0xff, 0x95]),
        (24, &[0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28]),
        (32, &[0x31, 0x32]),
        (34, &[0; 6]),
        (40, &[0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48]),
        (48, &[0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58]),
        (56, &[0x61, 0x62, 0x63, 0x64]),
        (60, &[0x71, 0x72, 0x73, 0x74]),
        (64, &[0x81, 0x82, 0x83, 0x84]),
        (68, &[0x91, 0x92, 0x93, 0x94]),
        (72, &[0xa1, 0xa2, 0xa3, 0xa4]),
        (76, &[0xb1, 0xb2, 0xb3, 0xb4]),
        (80, &[0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8]),
        (88, &[0, 0, 0, 0, 0, 0, 0, 1]),
        (96, &[0, 0, 0, 0, 0, 0, 0, 2]),
        (104, &[0, 0, 0, 0, 0, 0, 0, 3]),
        (112, &[0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8]),
        (120, &[0xe1, 0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8]),
        (128, &[0; 24]),
        (152, b"a job with a name of just 32 B.."),
    ] {
        assert_eq!(&big[offset..offset + want.len()], want, "at {offset}");
    }
    assert_eq!(Body::decode(&big, ByteOrder::Big), Ok(sample()));
}

#[test]
fn a_body_of_version_2_has_no_job_id() {
    let bytes = sample().encode();
    for (len, want) in [
        (0, Err(BadMessage::BodyLength(0))),
        (151, Err(BadMessage::BodyLength(151))),
        (152, Ok(Body { job_id: [0; 32], ..sample() })),
        (183, Ok(Body { job_id: [0; 32], ..sample() })),
        (184, Ok(sample())),
    ] {
        assert_eq!(Body::decode(&bytes[..len], ByteOrder::NATIVE), want, "{len} bytes");
    }
    let longer = [&bytes[..], &[0xee; 40]].concat();
    assert_eq!(Body::decode(&longer, ByteOrder::NATIVE), Ok(sample()));
}

#[test]
fn a_message_is_a_request_a_reply_or_an_error() {
    for (number, want) in [
        (4710, None),
        (4711, Some(MessageKind::Request)),
        (4712, Some(MessageKind::Error)),
        (4713, Some(MessageKind::Reply)),
        (4714, None),
        (u32::MAX, None),
    ] {
        let mut bytes = sample().encode();
        ByteOrder::NATIVE.put_u32(&mut bytes, 8, number);
        let got = Body::decode(&bytes, ByteOrder::NATIVE).map(|body| body.kind);
        assert_eq!(got, want.ok_or(BadMessage::Kind(number)), "{number}");
    }
}

#[test]
fn a_reply_repeats_version_and_opcode_of_the_request() {
    let request = Body { conn_cnt: 3, mbits: 7, ..Body::request(Service::OST, Opcode::OST_READ) };
    let want = Body { kind: MessageKind::Reply, ..Body::request(Service::OST, Opcode::OST_READ) };
    assert_eq!(Body::reply_to(&request), want);
}

proptest! {
    #[test]
    fn a_body_is_encoded_and_decoded_in_either_byte_order(mut bytes in prop::collection::vec(any::<u8>(), 184), kind in 4711_u32..4714) {
        ByteOrder::Big.put_u32(&mut bytes, 8, kind);
        let body = Body::decode(&bytes, ByteOrder::Big).unwrap();
        let (little, big) = (body.encode_in(ByteOrder::Little), body.encode_in(ByteOrder::Big));
        prop_assert_eq!(Body::decode(&little, ByteOrder::Little), Ok(body));
        prop_assert_eq!(Body::decode(&big, ByteOrder::Big), Ok(body));

        // The bytes of each field are reversed, except those of the text.
        let (mut swapped, mut at) = (little, 0);
        for width in WIDTHS {
            if width < 32 {
                swapped[at..at + width].reverse();
            }
            at += width;
        }
        prop_assert_eq!(at, Body::LEN);
        prop_assert_eq!(swapped, big);
    }
}
