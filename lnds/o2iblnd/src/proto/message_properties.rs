//! Properties of messages: all that can be sent reads back, and no bytes do harm.

#![allow(clippy::unwrap_used)]
use super::checksum::checksum;
use super::test_messages::{encoded, hex, lnet_header, swapped};
use super::{
    Body, Completion, ConnParams, Descriptor, Fragment, Fragments, MAX_FRAGMENTS, Message, MessageKind,
    Version, set_checksum,
};
use lnet_wire::byte_order::{ByteOrder, put_u32};
use lnet_wire::{Body as LnetBody, Header, NetId, NetType, Nid, WireHandle};
use proptest::prelude::*;

prop_compose! {
    /// A NID that has an eight-byte form.
    fn any_nid()(kind in 0_u16..255, number: u16, address: u32) -> Nid {
        Nid::new(NetId::new(NetType(kind), number), address)
    }
}

prop_compose! {
    fn any_header(payload_length: u32)(
        dest_nid in any_nid(), src_nid in any_nid(), kind in 0..4, numbers: (u32, u32, u64, u32),
        interface_cookie in 0..u64::MAX, object_cookie: u64,
    ) -> Header {
        let (portal, offset, match_bits, length) = numbers;
        let handle = WireHandle { interface_cookie, object_cookie };
        let body = match kind {
            0 => LnetBody::Ack { handle, match_bits, accepted: length },
            1 => LnetBody::Put { ack: Some(handle), match_bits, hdr_data: object_cookie, portal, offset },
            2 => LnetBody::Get { reply: handle, match_bits, portal, offset, sink_length: length },
            _ => LnetBody::Reply { handle },
        };
        lnet_header(dest_nid, src_nid, payload_length, body)
    }
}

fn any_descriptor() -> impl Strategy<Value = Descriptor> {
    let fragment = (any::<u32>(), any::<u64>()).prop_map(|(bytes, address)| Fragment { bytes, address });
    let fragments = prop_oneof![
        prop::collection::vec(fragment.clone(), 1),
        prop::collection::vec(fragment, 2..=MAX_FRAGMENTS)
    ];
    (any::<u32>(), fragments)
        .prop_map(|(rkey, fragments)| Descriptor { rkey, fragments: Fragments::new(&fragments).unwrap() })
}

/// A body of any type, whose payload is `payload`.
fn any_body(payload: &'static [u8]) -> impl Strategy<Value = Body<'static>> {
    let params = (any::<u16>(), any::<u16>(), any::<u32>()).prop_map(
        |(queue_depth, max_fragments, max_message_size)| ConnParams {
            queue_depth,
            max_fragments,
            max_message_size,
        },
    );
    let completion = (any::<u64>(), any::<i32>()).prop_map(|(cookie, status)| Completion { cookie, status });
    let header = || any_header(payload.len() as u32);
    prop_oneof![
        params.clone().prop_map(Body::ConnReq),
        params.prop_map(Body::ConnAck),
        Just(Body::Noop),
        header().prop_map(move |header| Body::Immediate { header, payload }),
        (header(), any::<u64>()).prop_map(|(header, cookie)| Body::PutReq { header, cookie }),
        completion.clone().prop_map(Body::PutNak),
        (any::<u64>(), any::<u64>(), any_descriptor()).prop_map(|(src_cookie, dst_cookie, descriptor)| {
            Body::PutAck { src_cookie, dst_cookie, descriptor }
        }),
        completion.clone().prop_map(Body::PutDone),
        (header(), any::<u64>(), any_descriptor()).prop_map(|(header, cookie, descriptor)| Body::GetReq {
            header,
            cookie,
            descriptor
        }),
        completion.prop_map(Body::GetDone),
    ]
}

prop_compose! {
    fn any_message()(
        is_v1: bool, credits: u8, nids in (any_nid(), any_nid()), stamps: (u64, u64),
        body in prop_oneof![any_body(&[]), any_body(b"abc"), any_body(&[5; 3976])],
    ) -> Message<'static> {
        let version = if is_v1 { Version::V1 } else { Version::V2 };
        let ((src_nid, dst_nid), (src_stamp, dst_stamp)) = (nids, stamps);
        Message { version, credits, src_nid, src_stamp, dst_nid, dst_stamp, body }
    }
}

proptest! {
    #[test]
    fn a_message_reads_back_in_either_order(message in any_message(), has_checksum: bool, padding in 0_usize..20) {
        let mut bytes = encoded(&message);
        prop_assert_eq!(bytes.len(), message.encoded_len());
        let mut big = swapped(&bytes);
        if has_checksum {
            set_checksum(&mut bytes);
            let sum = checksum(&big);
            ByteOrder::Big.put_u32(&mut big, 12, sum);
        }
        for mut bytes in [bytes, big] {
            bytes.resize(bytes.len() + padding, 0xee);
            prop_assert_eq!(Message::decode(&bytes), Ok(message.clone()));
        }
    }

    /// Whatever can be decoded lies within the bytes that the length field counts, and means the same when encoded again.
    #[test]
    fn no_bytes_panic_and_nothing_behind_the_message_is_read(
        is_big: bool, version in prop::sample::select(vec![0x11, 0x12, 0x12, 0x12, 0x13]),
        kind in prop::sample::select(MessageKind::ALL.to_vec()), length in 40_usize..400, count in 0_u8..20,
        rest in prop::collection::vec(any::<u8>(), 20..400), is_plausible in prop::bool::weighted(0.9),
    ) {
        let _ = Message::decode(&rest);
        let mut bytes = [&hex("911be90b 0000 0000 00000000 00000000"), &rest[..]].concat();
        (bytes[4], bytes[6]) = (version, kind.number());
        put_u32(&mut bytes, 8, length as u32);
        if is_plausible && bytes.len() >= 148 {
            // NIDs on o2ib, a message type and a payload length of LNet, a number of fragments.
            [22, 38, 54, 62].into_iter().for_each(|at| (bytes[at], bytes[at + 1]) = (5, 0));
            put_u32(&mut bytes, 72, (rest[0] % 5).into());
            put_u32(&mut bytes, 76, rest[1].into());
            put_u32(&mut bytes, if kind == MessageKind::PutAck { 68 } else { 132 }, count.into());
        }
        let bytes = if is_big && bytes.len() >= 148 { swapped(&bytes) } else { bytes };
        if let Ok(message) = Message::decode(&bytes) {
            prop_assert!(message.encoded_len() <= length && length <= bytes.len());
            prop_assert_eq!(Message::decode(&bytes[..length]), Ok(message.clone()));
            let again = encoded(&message);
            prop_assert_eq!(Message::decode(&again), Ok(message));
        }
    }
}
