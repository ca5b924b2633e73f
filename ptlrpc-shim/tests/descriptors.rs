//! What the layer over the C API promises of descriptors, over the loopback.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "support/alone.rs"]
mod alone;
#[path = "support/faults.rs"]
mod faults;

use faults::Delaying;
use lnet as _;
use ptlrpc::lnet::{
    Ack, Event, EventHandler, EventKind, MatchCriteria, Md, MdSpec, Nid, Node, ProcessId, Region, RegionSlice,
};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

struct Heard(Mutex<Sender<Event>>);

impl EventHandler for Heard {
    fn on_event(&self, event: &Event) {
        self.0.lock().unwrap().send(*event).unwrap();
    }
}

fn heard() -> (Arc<dyn EventHandler>, Receiver<Event>) {
    let (sender, receiver) = channel();
    (Arc::new(Heard(Mutex::new(sender))), receiver)
}

fn me() -> ProcessId {
    ProcessId::lustre(Nid::LOOPBACK)
}

fn open(node: &Node, region: &Arc<Region>, max_size: u32, sink: Arc<dyn EventHandler>) -> Md {
    let spec = MdSpec {
        threshold: None,
        puts: true,
        max_size: Some(max_size),
        ..MdSpec::active(Arc::clone(region), 1)
    };
    node.attach(7, MatchCriteria { from: None, bits: 0, ignore: u64::MAX }, spec, sink).unwrap()
}

#[test]
fn a_put_arrives_and_memory_is_ones_own_again_after_the_last_event() {
    let _alone = alone::alone();
    let node = Node::start().unwrap();
    let mut room = Arc::new(Region::zeroed(16));
    let (sink, arrived) = heard();
    open(&node, &room, 8, sink);
    let (sink, sent) = heard();
    let words = Arc::new(Region::copy_of(b"eight by"));
    for _ in 0..2 {
        let md = node.bind(&MdSpec::active(Arc::clone(&words), 1), Arc::clone(&sink)).unwrap();
        node.put(None, md, Ack::No, me(), 7, 5, 0, 9).unwrap();
        let event = sent.recv().unwrap();
        assert_eq!((event.kind, event.status, event.unlinked), (EventKind::Send, Ok(()), true));
    }
    let first = arrived.recv().unwrap();
    assert_eq!((first.kind, first.match_bits, first.mlength, first.hdr_data), (EventKind::Put, 5, 8, 9));
    assert_eq!((first.initiator, first.offset, first.unlinked), (Some(me()), 0, false));
    // SAFETY: the message has arrived, and each has its own bytes.
    assert_eq!(&*unsafe { RegionSlice::new(Arc::clone(&room), 0..8) }, b"eight by");
    let second = arrived.recv().unwrap();
    assert_eq!((second.offset, second.unlinked), (8, true));
    while Arc::get_mut(&mut room).is_none() {
        std::thread::yield_now();
    }
}

#[test]
fn unlinking_gives_one_last_event_and_ending_waits_for_it() {
    let _alone = alone::alone();
    let node = Node::start().unwrap();
    let room = Arc::new(Region::zeroed(16));
    let (sink, arrived) = heard();
    let md = open(&node, &room, 8, sink);
    node.unlink(md);
    node.unlink(md);
    drop(node);
    let event = arrived.recv().unwrap();
    assert_eq!((event.kind, event.unlinked), (EventKind::Unlink, true));
    assert!(arrived.recv().is_err(), "the sink is gone with the descriptor");
}

/// ptlrpc 10, test 16.
#[test]
fn what_is_under_way_to_a_descriptor_that_is_unlinked_does_not_touch_its_memory() {
    let _alone = alone::alone();
    let node = Node::start().unwrap();
    let mut room = Arc::new(Region::zeroed(16));
    let (sink, arrived) = heard();
    let target = open(&node, &room, 8, sink);
    let (sink, sent) = heard();
    let md = node.bind(&MdSpec::active(Arc::new(Region::copy_of(b"eight by")), 1), sink).unwrap();
    let late = Delaying::by_seconds(1, 7);
    node.put(None, md, Ack::No, me(), 7, 5, 0, 9).unwrap();
    assert!(sent.try_recv().is_err(), "it is under way");
    node.unlink(target);
    let event = arrived.try_recv().unwrap();
    assert_eq!((event.kind, event.unlinked), (EventKind::Unlink, true));
    // Now it gets there.
    assert_eq!(sent.recv().map(|event| (event.kind, event.unlinked)), Ok((EventKind::Send, true)));
    drop((late, node));
    assert!(arrived.recv().is_err(), "that was the last event");
    assert_eq!(Arc::get_mut(&mut room).unwrap().bytes_mut(), [0; 16]);
}

#[test]
fn who_takes_part_asks_about_nids() {
    let _alone = alone::alone();
    let node = Node::start().unwrap();
    assert_eq!(node.local_nids()[0], Nid::LOOPBACK);
    assert_eq!(node.distance(Nid::LOOPBACK).unwrap().hops, 0);
    assert!(
        node.attach(
            64,
            MatchCriteria { from: None, bits: 0, ignore: 0 },
            MdSpec::active(Arc::new(Region::zeroed(1)), 1),
            heard().0
        )
        .is_err()
    );
}
