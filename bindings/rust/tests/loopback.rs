//! The crate with the node of this process, over its loopback.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

// The LNet of the workspace, whose functions the crate calls.
use lnet as _;

use liblnet::{
    Attached, Buffer, Errno, Event, EventKind, EventQueue, MatchEntry, MemoryDescriptor, Message, Node,
    ProcessId, poll_any,
};
use std::sync::mpsc::channel;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

/// A node with a queue, and a portal that no other test uses.
struct Rig {
    queue: EventQueue,
    node: Node,
    portal: u32,
}

impl Rig {
    fn new(portal: u32) -> Self {
        let node = Node::start().unwrap();
        Self { queue: EventQueue::new(&node, 16).unwrap(), node, portal }
    }

    fn attach(&self, bits: u64, descriptor: MemoryDescriptor) -> Attached {
        self.queue.attach(MatchEntry::new(self.portal, bits), descriptor).unwrap()
    }

    fn to(&self, bits: u64) -> Message {
        Message::to(myself(&self.node), self.portal, bits)
    }

    /// The last event with this tag; others are dropped.
    fn last(&self, tag: u64) -> Event {
        loop {
            let event = self.queue.poll(LONG).unwrap().expect("an event");
            if event.tag == tag && event.buffer.is_some() {
                return event;
            }
        }
    }
}

/// The loopback, which every node has.
fn myself(node: &Node) -> ProcessId {
    node.ids()[0]
}

#[test]
fn a_message_arrives_with_its_header_data_and_both_buffers_come_back() {
    let rig = Rig::new(20);
    let _attached = rig.attach(1, MemoryDescriptor::puts(Buffer::zeroed(8)).tag(1));
    rig.queue.put("hello".into(), rig.to(1).hdr_data(77).tag(2)).unwrap();
    let (mut received, mut sent) = (None, None);
    while received.is_none() || sent.is_none() {
        let event = rig.queue.wait().unwrap();
        assert_eq!(event.status, Ok(()));
        match event.tag {
            1 => received = Some(event),
            _ => sent = Some(event),
        }
    }
    let (received, sent) = (received.unwrap(), sent.unwrap());
    assert_eq!((received.kind, received.data(), received.hdr_data), (EventKind::Put, &b"hello"[..], 77));
    assert_eq!((received.length, received.requested), (5, 5));
    assert_eq!((sent.kind, &*sent.buffer.unwrap()), (EventKind::Send, &b"hello"[..]));
}

#[test]
fn data_is_fetched_from_the_offset_that_the_request_names() {
    let rig = Rig::new(21);
    let attached = rig.attach(1, MemoryDescriptor::gets("0123456789".into()).tag(1));
    for buffer in [Buffer::zeroed(3), Buffer::of_node(3).unwrap()] {
        rig.queue.get(buffer, rig.to(1).offset(4).tag(2)).unwrap();
        let event = rig.last(2);
        assert_eq!((event.status, &*event.buffer.unwrap()), (Ok(()), &b"456"[..]));
    }
    drop(attached);
    assert_eq!(&*rig.last(1).buffer.unwrap(), b"0123456789");
}

#[test]
fn messages_that_are_too_long_are_truncated_where_the_descriptor_says_so() {
    let rig = Rig::new(22);
    let _attached = rig.attach(1, MemoryDescriptor::puts(Buffer::zeroed(3)).truncate().tag(1));
    rig.queue.put("hello".into(), rig.to(1)).unwrap();
    let event = rig.last(1);
    assert_eq!((event.data(), event.length, event.requested), (&b"hel"[..], 3, 5));
}

#[test]
fn messages_lie_one_behind_the_other_until_less_than_the_longest_fits() {
    let rig = Rig::new(29);
    let memory = MemoryDescriptor::puts(Buffer::zeroed(10)).threshold(None).max_size(4).tag(1);
    let _attached = rig.attach(1, memory);
    for text in ["abcd", "ef", "gh"] {
        rig.queue.put(text.into(), rig.to(1)).unwrap();
    }
    let event = rig.last(1);
    assert_eq!((event.kind, event.offset, event.data()), (EventKind::Put, 6, &b"gh"[..]));
    assert_eq!(&*event.buffer.unwrap(), b"abcdefgh\0\0");
}

#[test]
fn a_descriptor_takes_as_many_messages_as_its_threshold_says() {
    let rig = Rig::new(30);
    let refused = MemoryDescriptor::puts(Buffer::zeroed(0)).threshold(Some(u32::MAX));
    assert_eq!(rig.queue.attach(MatchEntry::new(30, 1), refused).unwrap_err(), Errno::Invalid);
    let _attached =
        rig.attach(1, MemoryDescriptor::puts(Buffer::zeroed(4)).threshold(Some(2)).manage_remote());
    for (text, offset) in [("ab", 2), ("cd", 1)] {
        rig.queue.put(text.into(), rig.to(1).offset(offset).tag(2)).unwrap();
    }
    assert_eq!(&*rig.last(0).buffer.unwrap(), b"\0cdb");
}

#[test]
fn a_buffer_has_the_bytes_of_its_vector() {
    let mut bytes = Vec::with_capacity(64);
    bytes.extend_from_slice(b"abc");
    let address = bytes.as_ptr();
    let mut buffer = Buffer::from(bytes);
    assert_eq!((&*buffer, buffer.as_ptr()), (&b"abc"[..], address));
    buffer[0] = b'x';
    assert_eq!(&*buffer, b"xbc");
    assert!(Buffer::zeroed(0).is_empty() && Buffer::from("").is_empty());
}

#[test]
fn an_acknowledgement_comes_if_it_is_asked_for() {
    let rig = Rig::new(23);
    let _attached = rig.attach(1, MemoryDescriptor::puts(Buffer::zeroed(8)).threshold(None));
    rig.queue.put("hello".into(), rig.to(1).ack().tag(2)).unwrap();
    let mut kinds = Vec::new();
    while kinds.len() < 2 {
        let event = rig.queue.wait().unwrap();
        if event.tag == 2 {
            kinds.push(event.kind);
        }
    }
    assert!(kinds.contains(&EventKind::Ack) && kinds.contains(&EventKind::Send), "{kinds:?}");
}

#[test]
fn a_refused_message_has_no_event() {
    let rig = Rig::new(24);
    let nowhere = Message::to(myself(&rig.node), 64, 1);
    assert_eq!(rig.queue.put("hello".into(), nowhere).unwrap_err(), Errno::Invalid);
    assert_eq!(rig.queue.get(Buffer::zeroed(1), nowhere).unwrap_err(), Errno::Invalid);
    let refused = rig.queue.attach(MatchEntry::new(64, 1), MemoryDescriptor::puts(Buffer::zeroed(1)));
    assert_eq!(refused.unwrap_err(), Errno::Invalid);
    assert!(rig.queue.poll(Duration::ZERO).unwrap().is_none());
}

#[test]
fn handlers_get_the_events_of_their_queue() {
    let rig = Rig::new(25);
    let (sender, receiver) = channel();
    let queue = EventQueue::with_handler(&rig.node, move |event| sender.send(event).unwrap()).unwrap();
    let _attached = queue.attach(MatchEntry::new(25, 1), MemoryDescriptor::puts(Buffer::zeroed(8))).unwrap();
    rig.queue.put("hello".into(), rig.to(1)).unwrap();
    assert_eq!(receiver.recv_timeout(LONG).unwrap().data(), b"hello");
}

#[test]
fn the_first_queue_with_an_event_comes_first() {
    let (first, second) = (Rig::new(26), Rig::new(26));
    let _attached = [
        first.attach(1, MemoryDescriptor::puts(Buffer::zeroed(0)).threshold(None)),
        second.attach(2, MemoryDescriptor::puts(Buffer::zeroed(0)).threshold(None)),
    ];
    let sender = Rig::new(26);
    for bits in [2, 2, 1] {
        sender.queue.put(Buffer::zeroed(0), sender.to(bits)).unwrap();
        // Over the loopback the event of the target comes before.
        sender.last(0);
    }
    let queues = [&first.queue, &second.queue];
    let order: Vec<usize> = (0..3).map(|_| poll_any(&queues, LONG).unwrap().unwrap().0).collect();
    assert_eq!(order, [0, 1, 1]);
    assert!(poll_any(&queues, Duration::ZERO).unwrap().is_none());
}

#[test]
fn a_full_queue_loses_and_counts_events_but_no_buffer() {
    let node = Node::start().unwrap();
    let small = EventQueue::new(&node, 1).unwrap();
    let attached = small
        .attach(MatchEntry::new(27, 1), MemoryDescriptor::puts(Buffer::zeroed(8)).threshold(None))
        .unwrap();
    let sender = Rig::new(27);
    for _ in 0..3 {
        sender.queue.put("x".into(), sender.to(1)).unwrap();
        sender.last(0);
    }
    drop(attached);
    assert_eq!(small.lost(), 2);
    assert!(small.wait().unwrap().buffer.is_none());
    let last = small.wait().unwrap();
    assert_eq!(
        (last.kind, last.buffer.map(|buffer| buffer[..4].to_vec())),
        (EventKind::Unlink, Some(b"xxx\0".to_vec()))
    );
}

#[test]
fn a_dropped_queue_takes_its_memory_with_it() {
    let rig = Rig::new(28);
    let queue = EventQueue::new(&rig.node, 4).unwrap();
    let attached = queue.attach(MatchEntry::new(28, 1), MemoryDescriptor::puts(Buffer::zeroed(8))).unwrap();
    drop(queue);
    // Its descriptor is gone already.
    drop(attached);
    rig.queue.put("hello".into(), rig.to(1)).unwrap();
    assert_eq!(rig.last(0).kind, EventKind::Send);
}

#[test]
fn nids_are_read_and_written_as_text() {
    for (text, number) in
        [("10.0.0.1@tcp", Some(0x0002_0000_0a00_0001)), ("1.2.3.4@zz", None), ("nonsense@x", None)]
    {
        let nid: Result<liblnet::Nid, Errno> = text.parse();
        assert_eq!(nid.map(liblnet::Nid::to_u64).ok(), number, "{text}");
        assert!(nid.is_err() || nid.unwrap().to_string() == text, "{text}");
    }
    let node = Node::start().unwrap();
    assert_eq!(myself(&node).nid.to_string(), "0@lo");
    assert_eq!(node.distance(myself(&node).nid).unwrap().hops, 0);
}
