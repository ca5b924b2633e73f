//! Messages for tests, and the means to write and read their bytes.

#![allow(clippy::unwrap_used)]
use super::{Body, ConnParams, Descriptor, Fragment, Fragments, MESSAGE_SIZE, Message, Version};
use lnet_wire::{Body as LnetBody, Header, NetId, NetType, Nid, Pid, WireHandle};

pub(super) const O2IB: NetId = NetId::new(NetType::O2IB, 0);
pub(super) const ONE: Nid = Nid::new(O2IB, 0x0a63_000b);
pub(super) const TWO: Nid = Nid::new(O2IB, 0x0a63_000c);
pub(super) const STAMP_ONE: u64 = 0x0006_60bf_52cc_7a30;
pub(super) const STAMP_TWO: u64 = 0x0006_60bf_52eb_47e6;
pub(super) const PARAMS: ConnParams =
    ConnParams { queue_depth: 8, max_fragments: 257, max_message_size: 4096 };

/// A message from the first node to the second.
pub(super) fn message(credits: u8, body: Body<'_>) -> Message<'_> {
    Message {
        version: Version::V2,
        credits,
        src_nid: ONE,
        src_stamp: STAMP_ONE,
        dst_nid: TWO,
        dst_stamp: STAMP_TWO,
        body,
    }
}

pub(super) fn connreq() -> Message<'static> {
    Message { dst_stamp: 0, ..message(0, Body::ConnReq(PARAMS)) }
}

pub(super) fn lnet_header(dest_nid: Nid, src_nid: Nid, payload_length: u32, body: LnetBody) -> Header {
    Header { dest_nid, src_nid, dest_pid: Pid::LUSTRE, src_pid: Pid::LUSTRE, payload_length, body }
}

pub(super) fn put(payload_length: u32) -> Header {
    let (match_bits, hdr_data) = (0xf4a1_0000_0000_0007, 0);
    lnet_header(
        ONE,
        TWO,
        payload_length,
        LnetBody::Put { ack: None, match_bits, hdr_data, portal: 52, offset: 0 },
    )
}

pub(super) fn ping(sink_length: u32) -> Header {
    let reply = WireHandle { interface_cookie: 0x18e9_eb5b_68fe_7032, object_cookie: 13 };
    let match_bits = lnet_wire::PING_MATCH_BITS;
    lnet_header(TWO, ONE, 0, LnetBody::Get { reply, match_bits, portal: 0, offset: 0, sink_length })
}

pub(super) fn one_fragment(rkey: u32, bytes: u32, address: u64) -> Descriptor {
    Descriptor { rkey, fragments: Fragments::one(Fragment { bytes, address }) }
}

pub(super) fn encoded(message: &Message<'_>) -> Vec<u8> {
    let mut buffer = [0xee; MESSAGE_SIZE];
    let length = message.encode(&mut buffer).unwrap();
    assert!(buffer[length..].iter().all(|byte| *byte == 0xee));
    buffer[..length].to_vec()
}

pub(super) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text.chars().filter(char::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(&String::from_iter(pair), 16).unwrap()).collect()
}

/// A little-endian message as a big-endian sender would have written it.
pub(crate) fn swapped(message: &[u8]) -> Vec<u8> {
    let mut fields = vec![(0, 4), (4, 2), (8, 4), (12, 4), (16, 8), (24, 8), (32, 8), (40, 8)];
    let descriptor = match message[6] {
        0xc0 | 0xc1 => {
            fields.extend([(48, 2), (50, 2), (52, 4)]);
            None
        }
        0xd3 | 0xd5 | 0xd7 => {
            fields.push((56, 4));
            None
        }
        0xd4 => Some(64),
        0xd6 => Some(128),
        _ => None,
    };
    if let Some(at) = descriptor {
        fields.extend([(at, 4), (at + 4, 4)]);
        fields.extend(
            (at + 8..(message.len().saturating_sub(11))).step_by(12).flat_map(|at| [(at, 4), (at + 4, 8)]),
        );
    }
    let mut bytes = message.to_vec();
    fields.into_iter().for_each(|(at, size)| bytes[at..at + size].reverse());
    bytes
}
