//! Messages arrive whole and in order, however the stream that brings them is cut into pieces.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::{EventKind, MdMemory, MdOptions};
use lnet_wire::Body;
use proptest::prelude::*;
use socklnd::SocklndConfig;
use socklnd::proto::frame::Head;
use socklnd::proto::{ConnectionType, Version};
use std::sync::Mutex;
use support::*;

/// The distance in bytes between the offsets of two messages.
const STRIDE: usize = 20_000;
const MAX_MESSAGES: usize = 40;
/// Space at the end of the memory for the first bytes of a message whose rest is dropped.
const SHORT: usize = 100;
const MEMORY: usize = MAX_MESSAGES * STRIDE + SHORT;
/// Maximum length of a message: longer than a stride, so that the next message overwrites the rest.
const MAX_LENGTH: usize = 40_000;

/// Generates payload lengths: mostly of messages of which many fit the read-ahead buffer, some about its size, some longer
/// than the MD.
fn length() -> impl Strategy<Value = usize> {
    prop_oneof![6 => 0..300_usize, 2 => 3_000..6_000_usize, 1 => 11_900..12_400_usize, 1 => 16_200..16_500_usize,
        1 => 19_990..=MAX_LENGTH]
}

/// Generates sizes in bytes of the pieces that a stream is cut into.
fn piece() -> impl Strategy<Value = usize> {
    prop_oneof![2 => 1..200_usize, 2 => 4_000..20_000_usize, 1 => Just(usize::MAX)]
}

#[test]
fn messages_arrive_whole_and_in_order_however_their_stream_is_cut() {
    // All payloads are received directly into their memory; all are copied there; and both.
    for rx_copy_below in [0, usize::MAX, SocklndConfig::default().rx_copy_below] {
        check(rx_copy_below);
    }
}

fn check(rx_copy_below: usize) {
    let memory = buffer(MEMORY);
    let (node, low, high, port) = node(|config| config.rx_copy_below = rx_copy_below);
    let md = MdMemory::contiguous(memory.as_ptr() as usize, memory.len() as u32);
    node.offer_with(md, BITS, MdOptions::TRUNCATE.0);
    let raw = Mutex::new(Raw::open(low, high, port, ConnectionType::BulkOut));
    let config = ProptestConfig { cases: 30, failure_persistence: None, ..ProptestConfig::default() };
    let messages = prop::collection::vec((length(), prop::bool::weighted(0.2)), 1..MAX_MESSAGES);
    let offset_of = |at: usize, cut: bool| if cut { MEMORY - SHORT } else { at * STRIDE };
    proptest!(config, |(messages in messages, pieces in prop::collection::vec(piece(), 1..20))| {
        let mut stream = Vec::new();
        for (at, (length, cut)) in messages.iter().enumerate() {
            if at % 3 == 0 {
                stream.extend(Head::noop(NO_COOKIES).bytes());
            }
            let mut header = put_header(tcp(low), tcp(high), *length, false);
            if let Body::Put { offset, .. } = &mut header.body {
                *offset = offset_of(at, *cut) as u32;
            }
            stream.extend(message(Version::V3, &header, NO_COOKIES, pattern(*length, at as u8)));
        }
        let mut rest = &stream[..];
        let mut sizes = pieces.iter().cycle();
        while !rest.is_empty() {
            let (now, later) = rest.split_at((*sizes.next().unwrap()).min(rest.len()));
            raw.lock().unwrap().send(now);
            rest = later;
        }
        for (at, (length, cut)) in messages.iter().enumerate() {
            let put = node.expect(EventKind::Put);
            let received = (*length).min(MEMORY - offset_of(at, *cut));
            prop_assert_eq!((put.rlength, put.mlength), (*length as u32, received as u32));
            prop_assert_eq!(put.status, Ok(()));
        }
        for (at, (length, cut)) in messages.iter().enumerate() {
            let kept = if *cut { 0 } else { (*length).min(STRIDE) };
            prop_assert_eq!(&memory[at * STRIDE..][..kept], &pattern(*length, at as u8)[..kept], "message {}", at);
        }
    });
}
