//! Tests of descriptors in the layer over the C API, over the loopback.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "support/exclusive.rs"]
mod exclusive;
#[path = "support/md.rs"]
mod md;

use lnet as _;
use md::{attach_buffer, forward_events, local_process};
use ptlrpc::lnet::{Ack, EventKind, MatchCriteria, MdSpec, Nid, Node, Region, RegionSlice};
use std::sync::Arc;

#[test]
fn a_put_arrives_and_memory_is_released_after_the_last_event() {
    let _exclusive = exclusive::exclusive();
    let node = Node::start().unwrap();
    let mut buffer = Arc::new(Region::zeroed(16));
    let (handler, arrived) = forward_events();
    attach_buffer(&node, &buffer, 8, handler);
    let (handler, sent) = forward_events();
    let data = Arc::new(Region::copy_of(b"eight by"));
    for _ in 0..2 {
        let md = node.bind(MdSpec::active(Arc::clone(&data), 1), Arc::clone(&handler)).unwrap();
        node.put(None, md, Ack::No, local_process(), 7, 5, 0, 9).unwrap();
        let event = sent.recv().unwrap();
        assert_eq!((event.kind, event.status, event.unlinked), (EventKind::Send, Ok(()), true));
    }
    let first = arrived.recv().unwrap();
    assert_eq!((first.kind, first.match_bits, first.mlength, first.hdr_data), (EventKind::Put, 5, 8, 9));
    assert_eq!((first.initiator(), first.offset, first.unlinked), (Some(local_process()), 0, false));
    // SAFETY: the message has arrived, and each has its own bytes.
    assert_eq!(&*unsafe { RegionSlice::new(Arc::clone(&buffer), 0..8) }, b"eight by");
    let second = arrived.recv().unwrap();
    assert_eq!((second.offset, second.unlinked), (8, true));
    while Arc::get_mut(&mut buffer).is_none() {
        std::thread::yield_now();
    }
}

#[test]
fn unlinking_leads_to_one_last_event_which_the_end_of_the_node_waits_for() {
    let _exclusive = exclusive::exclusive();
    let node = Node::start().unwrap();
    let buffer = Arc::new(Region::zeroed(16));
    let (handler, arrived) = forward_events();
    let md = attach_buffer(&node, &buffer, 8, handler);
    node.unlink(md);
    node.unlink(md);
    drop(node);
    let event = arrived.recv().unwrap();
    assert_eq!((event.kind, event.unlinked), (EventKind::Unlink, true));
    assert!(arrived.recv().is_err(), "the handler is dropped with the descriptor");
}

#[test]
fn a_node_knows_its_nids() {
    let _exclusive = exclusive::exclusive();
    let node = Node::start().unwrap();
    assert_eq!(node.local_nids()[0], Nid::LOOPBACK);
    assert_eq!(node.distance(Nid::LOOPBACK).unwrap().hops, 0);
    assert!(
        node.attach(
            64,
            MatchCriteria { from: None, bits: 0, ignore: 0 },
            MdSpec::active(Arc::new(Region::zeroed(1)), 1),
            forward_events().0
        )
        .is_err()
    );
}
