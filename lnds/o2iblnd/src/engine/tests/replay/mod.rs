//! Captured traffic of kernel nodes (`tests/data/captures/o2ib`), one side of which is played by the engine.
//!
//! The other side's messages are those of the capture, byte for byte, but for cookies, keys and addresses that the engine has made. The
//! tests' core does what the kernel's did: it sends the same LNet messages, and decides when the kernel answered. What the engine then
//! sends is compared with what the kernel sent:
//!
//! - private data of the connection manager: all bytes, but for the checksum;
//! - messages: the same order, types and lengths, and all fields but the checksum, the engine's own cookies, keys and addresses, and the
//!   credits;
//! - credits: as many as the kernel returned; one more in a GET_DONE, a PUT_NAK and the ACK of LNet, which the kernel sends before it
//!   counts the buffer of the message that they answer (wire-o2ib 9). Both are within the rules: the peer of the tests counts.
//!
//! A GET to a kernel node leaves as IMMEDIATE where the kernel sends GET_REQ (wire-o2ib 8.4). The data then come as a PUT_REQ, as from a
//! kernel node, in place of the capture's GET_DONE. Where the incarnation of the other side is replaced by one of this library, the
//! engine sends GET_REQ like the kernel.

mod player;

use crate::proto::{Body, Descriptor, Fragment, Fragments, Message};
use lnet_wire::{NetId, NetType, Nid};
use player::Replay;
use std::net::Ipv4Addr;
use support::roce::{Content, Sent};

#[path = "../../../../tests/support/mod.rs"]
mod support;

const ONE: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 11);
const TWO: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 12);

/// The incarnation of the other side: that of the capture, or one of this library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stamps {
    Kernel,
    Library,
}

fn nid(address: Ipv4Addr, net: u16) -> Nid {
    Nid::new(NetId::new(NetType::O2IB, net), address.into())
}

/// The incarnation of the sender of a message, on a connection or to make one.
fn stamp_of(content: &Content) -> Option<u64> {
    match content {
        Content::Message(bytes) | Content::Request(bytes) | Content::Acceptance(bytes) => {
            Message::decode(&without_checksum(bytes)).ok().map(|message| message.src_stamp)
        }
        Content::Reject(..) | Content::OtherManagement(_) => None,
    }
}

fn first_stamp<'a>(mut all: impl Iterator<Item = &'a Sent>, from: Ipv4Addr) -> Option<u64> {
    all.find_map(|sent| stamp_of(&sent.content).filter(|_| sent.from == from))
}

fn without_checksum(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[12..16].fill(0);
    bytes
}

/// A message without what its sender may choose.
fn normal(message: Message<'_>) -> Message<'_> {
    let nameless = |descriptor: Descriptor| {
        let fragments: Vec<_> =
            descriptor.fragments.iter().map(|its| Fragment { address: 0, ..*its }).collect();
        Descriptor { rkey: 0, fragments: Fragments::new(&fragments).unwrap() }
    };
    let body = match message.body {
        Body::PutReq { header, .. } => Body::PutReq { header, cookie: 0 },
        Body::GetReq { header, descriptor, .. } => {
            Body::GetReq { header, cookie: 0, descriptor: nameless(descriptor) }
        }
        Body::PutAck { src_cookie, descriptor, .. } => {
            Body::PutAck { src_cookie, dst_cookie: 0, descriptor: nameless(descriptor) }
        }
        other => other,
    };
    Message { credits: 0, body, ..message }
}

/// The capture, the side of the engine, and the messages that it sends.
const REPLAYS: [(&str, Ipv4Addr, Stamps, usize); 22] = [
    ("ping", ONE, Stamps::Kernel, 1),
    ("ping", TWO, Stamps::Kernel, 1),
    ("discover", ONE, Stamps::Kernel, 3),
    ("discover", TWO, Stamps::Kernel, 3),
    ("lst-1k-write", ONE, Stamps::Kernel, 12),
    ("lst-1k-write", TWO, Stamps::Kernel, 12),
    ("lst-4k-read", ONE, Stamps::Kernel, 12),
    ("lst-4k-read", TWO, Stamps::Kernel, 15),
    ("lst-4k-write", ONE, Stamps::Kernel, 12),
    ("lst-4k-write", TWO, Stamps::Kernel, 12),
    ("lst-4k-write", ONE, Stamps::Library, 12),
    ("lst-4k-write", TWO, Stamps::Library, 12),
    ("idle-keepalive", ONE, Stamps::Kernel, 4),
    ("idle-keepalive", TWO, Stamps::Kernel, 4),
    ("peer-restart", ONE, Stamps::Kernel, 3),
    ("peer-restart", TWO, Stamps::Kernel, 3),
    ("x-cksum", ONE, Stamps::Kernel, 1),
    ("x-cksum", TWO, Stamps::Kernel, 1),
    ("x-wrong-net", ONE, Stamps::Kernel, 0),
    ("x-wrong-net", TWO, Stamps::Kernel, 0),
    ("x-no-listener", ONE, Stamps::Kernel, 0),
    ("host-variants", ONE, Stamps::Kernel, 26),
];

#[test]
fn the_engine_sends_what_the_kernel_sent() {
    for (capture, own, stamps, messages) in REPLAYS {
        assert_eq!(Replay::new(capture, own, stamps).run(), messages, "{capture}, as {own}, {stamps:?}");
    }
}

#[test]
fn no_capture_is_left_out() {
    for entry in std::fs::read_dir(support::pcap::capture_path("o2ib")).unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        let is_replayed = REPLAYS.iter().any(|(capture, ..)| file == format!("k2158-o2ib-{capture}.pcap"));
        assert_eq!(is_replayed, file.ends_with(".pcap"), "{file}");
    }
}
