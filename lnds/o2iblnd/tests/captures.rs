//! Every message of the captured traffic of kernel nodes is decoded, and encoding it again gives the same bytes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_wire::{NetId, NetType, Nid};
use o2iblnd::proto::{
    Body, CONN_MESSAGE_LEN, Completion, ConnParams, Descriptor, Fragment, Fragments, MESSAGE_SIZE, Message,
    MessageKind, ProtoError, REJECT_LEN, REJECTED_BY_CONSUMER, Reject, RejectDetails, RejectReason,
    set_checksum,
};
use std::net::Ipv4Addr;
use support::pcap;
use support::roce::{Content, Sent, sent};

/// The captures, with the counts of what they hold: CONNREQ, CONNACK, reject data; NOOP, IMMEDIATE; PUT_REQ, PUT_NAK, PUT_ACK, PUT_DONE;
/// GET_REQ, GET_DONE; what is refused. The captures' own decoder has the same, but in `host-variants`: it checks less, so that it also
/// counts some of what is refused, and it does not know the big-endian request.
#[rustfmt::skip]
const CAPTURES: [(&str, [usize; 12]); 11] = [
    ("discover",       [1, 1, 0,    0, 6,     0, 0, 0, 0,    0, 0,    0]),
    ("host-variants",  [28, 24, 14, 4, 43,    2, 1, 1, 1,    4, 5,    10]),
    ("idle-keepalive", [1, 1, 0,    4, 4,     0, 0, 0, 0,    0, 0,    0]),
    ("lst-1k-write",   [1, 1, 0,    0, 24,    0, 0, 0, 0,    0, 0,    0]),
    ("lst-4k-read",    [1, 1, 0,    0, 18,    3, 0, 3, 3,    0, 0,    0]),
    ("lst-4k-write",   [1, 1, 0,    0, 18,    0, 0, 0, 0,    3, 3,    0]),
    ("peer-restart",   [2, 2, 0,    0, 6,     0, 0, 0, 0,    0, 0,    0]),
    ("ping",           [1, 1, 0,    0, 2,     0, 0, 0, 0,    0, 0,    0]),
    ("x-cksum",        [1, 1, 0,    0, 1,     0, 0, 0, 0,    0, 0,    1]),
    ("x-no-listener",  [1, 0, 0,    0, 0,     0, 0, 0, 0,    0, 0,    0]),
    ("x-wrong-net",    [1, 0, 1,    0, 0,     0, 0, 0, 0,    0, 0,    0]),
];

/// What is refused: the capture, the packet, and the error. In `host-variants` that is what the kernel node refuses, too (wire-o2ib 4,
/// 6.2); requests without private data or with 4 bytes are padded with zeros. In `x-cksum` it is a wrong checksum of a kernel node.
const REFUSED: [(&str, usize, ProtoError); 11] = [
    ("host-variants", 147, ProtoError::UnknownVersion(0x13)),
    ("host-variants", 153, ProtoError::BadMagic(0x4572_6963)),
    ("host-variants", 155, ProtoError::BadMagic(0x1234_5678)),
    ("host-variants", 157, ProtoError::ChecksumMismatch { sent: 77, computed: 0xd446_1793 }),
    ("host-variants", 159, ProtoError::BelowMinimum { kind: MessageKind::ConnReq, length: 48, needed: 56 }),
    ("host-variants", 161, ProtoError::LengthBeyondReceived { length: 57, received: 56 }),
    ("host-variants", 163, ProtoError::BadMagic(0)),
    ("host-variants", 165, ProtoError::UnknownVersion(0)),
    ("host-variants", 202, ProtoError::UnknownKind(0xd8)),
    ("host-variants", 216, ProtoError::LengthBeyondReceived { length: 160, received: 120 }),
    ("x-cksum", 6, ProtoError::ChecksumMismatch { sent: 0xa4ea_6921, computed: 0xb861_0141 }),
];

/// The one message that is not little-endian: a CONNREQ.
const BIG_ENDIAN: (&str, usize) = ("host-variants", 167);
/// A CONNREQ to a NID that is not the receiver's.
const WRONG_NID: (&str, usize) = ("host-variants", 149);

const PARAMS: ConnParams = ConnParams { queue_depth: 8, max_fragments: 257, max_message_size: 4096 };

fn sent_in(capture: &str) -> Vec<Sent> {
    sent(&format!("o2ib/k2158-o2ib-{capture}.pcap"))
}

/// The bytes that are to be a message, on a connection or to make one.
fn message_bytes(sent: &Sent) -> Option<&[u8]> {
    match &sent.content {
        Content::Message(bytes) | Content::Request(bytes) | Content::Acceptance(bytes) => Some(bytes),
        Content::Reject(..) | Content::OtherManagement(_) => None,
    }
}

/// Calls `check` with the capture, the packet, the bytes and the message, for everything that is not refused.
fn for_every_message(mut check: impl FnMut(&str, &Sent, &[u8], Message<'_>)) {
    for (capture, _) in CAPTURES {
        for sent in sent_in(capture) {
            let bytes = message_bytes(&sent).unwrap_or_default();
            if let Ok(message) = Message::decode(bytes) {
                check(capture, &sent, bytes, message);
            }
        }
    }
}

/// The bytes of the packet with this number.
fn packet_bytes(capture: &str, packet: usize) -> Vec<u8> {
    let sent = sent_in(capture).into_iter().find(|sent| sent.packet == packet).unwrap();
    message_bytes(&sent).unwrap().to_vec()
}

fn encoded(message: &Message<'_>) -> Vec<u8> {
    let mut buffer = [0; MESSAGE_SIZE];
    let length = message.encode(&mut buffer).unwrap();
    buffer[..length].to_vec()
}

#[test]
fn the_counts_of_every_capture_are_those_of_the_captures_own_decoder() {
    for (capture, expected) in CAPTURES {
        let mut counts = [0; 12];
        for sent in sent_in(capture) {
            let column = match &sent.content {
                Content::Reject(_, data) if Reject::decode(data).is_ok() => 2,
                Content::Reject(..) | Content::OtherManagement(_) => continue,
                _ => match Message::decode(message_bytes(&sent).unwrap()) {
                    Ok(message) => {
                        let number = message.body.kind().number();
                        usize::from(if number < 0xd0 { number - 0xc0 } else { number - 0xd0 + 3 })
                    }
                    Err(_) => 11,
                },
            };
            counts[column] += 1;
        }
        assert_eq!(counts, expected, "{capture}");
    }
}

#[test]
fn no_capture_is_left_out() {
    let mut files: Vec<String> = std::fs::read_dir(pcap::capture_path("o2ib"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".pcap"))
        .collect();
    files.sort();
    assert_eq!(files, CAPTURES.map(|(capture, _)| format!("k2158-o2ib-{capture}.pcap")));
}

#[test]
fn only_invalid_messages_are_refused() {
    let mut found = Vec::new();
    for (capture, _) in CAPTURES {
        for sent in sent_in(capture) {
            let error = message_bytes(&sent).and_then(|bytes| Message::decode(bytes).err());
            found.extend(error.map(|error| (capture, sent.packet, error)));
        }
    }
    assert_eq!(found, REFUSED);
}

#[test]
fn every_message_has_the_same_bytes_when_it_is_encoded_again() {
    let mut seen = 0;
    for_every_message(|capture, sent, bytes, message| {
        seen += 1;
        let mut again = encoded(&message);
        if (capture, sent.packet) == BIG_ENDIAN {
            let fields =
                [(0, 4), (4, 2), (8, 4), (16, 8), (24, 8), (32, 8), (40, 8), (48, 2), (50, 2), (52, 4)];
            fields.into_iter().for_each(|(at, size)| again[at..at + size].reverse());
        } else if bytes[12..16] != [0; 4] {
            set_checksum(&mut again);
        }
        let (whole, padding) = bytes.split_at(again.len());
        assert_eq!(whole, again, "{capture}, packet {}", sent.packet);
        let is_padded = matches!(sent.content, Content::Acceptance(_));
        assert!(padding.iter().all(|byte| *byte == 0) && padding.is_empty() != is_padded);
    });
    let all: usize = CAPTURES.iter().flat_map(|(_, counts)| counts).sum();
    let rejects: usize = CAPTURES.iter().map(|(_, counts)| counts[2]).sum();
    assert_eq!(seen, all - rejects - REFUSED.len());
}

/// The messages are put together right, and belong to the direction in which they were found.
#[test]
fn the_nids_in_every_message_are_the_addresses_of_its_packets() {
    for_every_message(|capture, sent, _, message| {
        let number = if capture == "x-wrong-net" { 7 } else { 0 };
        let nid = |address: Ipv4Addr| {
            Nid::new(NetId::new(NetType::O2IB, number), u32::from_be_bytes(address.octets()))
        };
        assert_eq!(message.src_nid, nid(sent.from), "{capture}, packet {}", sent.packet);
        let is_right = message.dst_nid == nid(sent.to);
        assert_eq!(is_right, (capture, sent.packet) != WRONG_NID, "{capture}, packet {}", sent.packet);
    });
}

#[test]
fn the_private_data_have_the_lengths_of_the_connection_manager() {
    for (capture, _) in CAPTURES {
        for sent in sent_in(capture) {
            let (length, expected) = match &sent.content {
                Content::Request(data) => (data.len(), CONN_MESSAGE_LEN),
                Content::Acceptance(data) => (data.len(), 196),
                Content::Reject(_, data) => (data.len(), 148),
                Content::Message(_) | Content::OtherManagement(_) => continue,
            };
            assert_eq!(length, expected, "{capture}, packet {}", sent.packet);
        }
    }
}

/// The table of wire-o2ib 6.2.
#[test]
fn rejects_have_the_reasons_of_the_table() {
    use RejectReason::{Fatal, QueueTooDeep, Stale, TooManyFragments};
    let expected = [
        ("host-variants", 95, QueueTooDeep, true),
        ("host-variants", 106, TooManyFragments, true),
        ("host-variants", 126, Fatal, true),
        ("host-variants", 137, Stale, true),
        ("host-variants", 148, Fatal, false),
        ("host-variants", 150, Fatal, false),
        ("host-variants", 152, Fatal, true),
        ("host-variants", 154, Fatal, false),
        ("host-variants", 156, Fatal, false),
        ("host-variants", 158, Fatal, false),
        ("host-variants", 160, Fatal, false),
        ("host-variants", 162, Fatal, false),
        ("host-variants", 164, Fatal, false),
        ("host-variants", 166, Fatal, false),
        ("x-wrong-net", 2, Fatal, false),
    ];
    let mut found = Vec::new();
    for (capture, _) in CAPTURES {
        for sent in sent_in(capture) {
            let Content::Reject(number, data) = &sent.content else { continue };
            if capture == "x-no-listener" {
                assert_eq!((*number, Reject::decode(data)), (8, Err(ProtoError::BadMagic(0))));
                continue;
            }
            assert_eq!(*number, REJECTED_BY_CONSUMER);
            let reject = Reject::decode(data).unwrap();
            assert_eq!(reject.encode(), data[..REJECT_LEN]);
            assert!(data[REJECT_LEN..].iter().all(|byte| *byte == 0));
            let nothing = ConnParams { queue_depth: 0, max_fragments: 0, ..PARAMS };
            let is_known = match reject.details.unwrap() {
                RejectDetails { incarnation: 0, params } if params == nothing => false,
                RejectDetails { incarnation: 0x0006_60bf_88e1_0f40, params: PARAMS } => true,
                other => panic!("{other:?}"),
            };
            found.push((capture, sent.packet, reject.reason, is_known));
        }
    }
    assert_eq!(found, expected);
}

/// The examples of wire-o2ib 3 that are messages of an established connection.
#[test]
fn the_worked_examples_are_the_messages_of_the_captures() {
    let one_fragment =
        |rkey, address| Descriptor { rkey, fragments: Fragments::one(Fragment { bytes: 4096, address }) };
    let done = Completion { cookie: 15, status: 4096 };
    let put_ack = Body::PutAck {
        src_cookie: 4,
        dst_cookie: 15,
        descriptor: one_fragment(0x0008_136b, 0xffff_8880_0a54_9000),
    };
    for (capture, packet, credits, body) in [
        ("lst-4k-read", 24, 0, put_ack),
        ("lst-4k-read", 30, 0, Body::PutDone(done)),
        ("lst-4k-write", 28, 0, Body::GetDone(Completion { cookie: 4, ..done })),
        ("idle-keepalive", 8, 1, Body::Noop),
    ] {
        let bytes = packet_bytes(capture, packet);
        let message = Message::decode(&bytes).unwrap();
        assert_eq!((message.credits, message.body), (credits, body), "{capture}, packet {packet}");
    }

    let put_req = packet_bytes("lst-4k-read", 22);
    let put_req = Message::decode(&put_req).unwrap();
    assert!(matches!(put_req.body, Body::PutReq { header, cookie: 4 } if header.payload_length == 4096));
    assert_eq!(put_req.credits, 1);
    let get_req = packet_bytes("lst-4k-write", 22);
    let Body::GetReq { cookie: 4, descriptor, .. } = Message::decode(&get_req).unwrap().body else {
        panic!("another message")
    };
    assert_eq!(descriptor, one_fragment(0x0006_0910, 0xffff_8880_0a1f_6000));
}

/// A kernel node computes the checksum of an IMMEDIATE as if its payload were zeros (wire-o2ib 5).
#[test]
fn the_right_checksum_is_accepted_where_that_of_the_kernel_is_wrong() {
    let mut reply = packet_bytes("x-cksum", 6);
    let mut without_payload = reply.clone();
    without_payload[120..].fill(0);
    set_checksum(&mut without_payload);
    assert_eq!(without_payload[12..16], reply[12..16]);
    set_checksum(&mut reply);
    assert_eq!(reply[12..16], 0xb861_0141_u32.to_le_bytes());
    assert!(Message::decode(&reply).is_ok());
}
