//! Tests of messages whose memory and descriptors are kept for others, over the loopback.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "support/exclusive.rs"]
mod exclusive;
#[path = "support/md.rs"]
mod md;

use lnet as _;
use md::{attach_buffer, forward_events, local_process};
use ptlrpc::Errno;
use ptlrpc::clock::{Clock, ManualClock, Time};
use ptlrpc::lnet::{
    Destination, Event, Md, MessageId, Node, NotSent, ProcessId, Region, SendEvents, SendPool,
};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

/// The number of a message, and whether it was sent; its bytes if not.
type Outcome = (u32, Result<(), (Errno, Vec<u8>)>);

/// Forwards the outcomes.
struct Outcomes(Mutex<Sender<Outcome>>);

impl SendEvents for Outcomes {
    type Context = u32;

    fn on_sent(&self, number: u32, outcome: Result<(), NotSent<'_>>) {
        let outcome = outcome.map_err(|NotSent { errno, bytes }| (errno, bytes.to_vec()));
        let _ = self.0.lock().unwrap().send((number, outcome));
    }
}

struct Scene {
    pool: SendPool<Outcomes>,
    outcomes: Receiver<Outcome>,
    node: Arc<Node>,
}

impl Scene {
    fn new() -> Self {
        let node = Node::start().unwrap();
        let (sender, outcomes) = channel();
        Self { pool: SendPool::new(&node, Outcomes(Mutex::new(sender))), outcomes, node }
    }

    /// Memory that messages arrive in.
    fn attach(&self) -> Arrivals {
        let region = Arc::new(Region::zeroed(1 << 20));
        let (handler, events) = forward_events();
        let md = attach_buffer(&self.node, &region, 1 << 16, handler);
        Arrivals { node: Arc::clone(&self.node), md, region, events }
    }

    fn try_send(&self, number: u32, bytes: &[u8]) -> Result<MessageId, Errno> {
        self.try_send_to(local_process(), number, bytes)
    }

    fn try_send_to(&self, to: ProcessId, number: u32, bytes: &[u8]) -> Result<MessageId, Errno> {
        let to = Destination { from: None, to, portal: 7, match_bits: 5, offset: 0 };
        let mut buffer = self.pool.buffer(bytes.len(), None)?;
        buffer.bytes_mut().copy_from_slice(bytes);
        assert_eq!(buffer.bytes(), bytes);
        buffer.send(&to, number).map_err(|(_, errno, _)| errno)
    }

    fn send(&self, number: u32, bytes: &[u8]) -> MessageId {
        self.try_send(number, bytes).unwrap()
    }

    fn is_idle(&self) -> bool {
        self.pool.wait_until_idle(&ManualClock::default(), Time::START)
    }
}

struct Arrivals {
    node: Arc<Node>,
    md: Md,
    region: Arc<Region>,
    events: Receiver<Event>,
}

impl Arrivals {
    /// The bytes of the next message.
    fn next(&self) -> Vec<u8> {
        let event = self.events.recv().unwrap();
        let start = event.offset as usize;
        self.region.copy_while_written(start..start + event.mlength as usize)
    }
}

impl Drop for Arrivals {
    fn drop(&mut self) {
        self.node.unlink(self.md);
    }
}

#[test]
fn messages_one_after_the_other_arrive_with_their_bytes_whatever_their_lengths() {
    let _exclusive = exclusive::exclusive();
    let scene = Scene::new();
    let arrived = scene.attach();
    // More lengths than are kept, and longer ones; each twice.
    for number in 0..400 {
        let len = if number % 50 == 0 { 40_000 } else { 1 + number as usize / 2 };
        let bytes = vec![number as u8; len];
        scene.send(number, &bytes);
        assert_eq!(scene.outcomes.recv().unwrap(), (number, Ok(())));
        assert_eq!(arrived.next(), bytes);
    }
    assert!(scene.is_idle());
}

#[test]
fn a_message_in_progress_keeps_its_memory_and_an_abort_ends_no_other_message() {
    let _exclusive = exclusive::exclusive();
    let scene = Scene::new();
    scene.node.set_lazy(7, true).unwrap();
    // They wait in the portal.
    let ids: Vec<_> = (1..=3).map(|number| scene.send(number, &[number as u8; 5])).collect();
    assert!(scene.outcomes.try_recv().is_err());
    assert!(!scene.is_idle());
    let arrived = scene.attach();
    for number in 1..=3 {
        assert_eq!(arrived.next(), [number; 5]);
        assert_eq!(scene.outcomes.recv().unwrap().0, u32::from(number));
    }
    // The descriptors of these messages are used by others now.
    scene.send(4, &[4; 5]);
    ids.iter().for_each(|id| scene.pool.abort(*id));
    scene.send(5, &[5; 5]);
    for number in 4..=5 {
        assert_eq!(scene.outcomes.recv().unwrap(), (u32::from(number), Ok(())));
        assert_eq!(arrived.next(), [number; 5]);
    }
    scene.node.set_lazy(7, false).unwrap();
}

#[test]
fn an_aborted_message_has_one_outcome_and_its_descriptor_is_not_used_again() {
    let _exclusive = exclusive::exclusive();
    let scene = Scene::new();
    scene.node.set_lazy(7, true).unwrap();
    let id = scene.send(1, b"waits");
    scene.pool.abort(id);
    scene.pool.abort(id);
    // The message is in the portal until that is cleared.
    scene.node.set_lazy(7, false).unwrap();
    assert_eq!(scene.outcomes.recv().unwrap().0, 1);
    let arrived = scene.attach();
    scene.pool.abort(id);
    scene.send(2, b"other");
    assert_eq!(scene.outcomes.recv().unwrap(), (2, Ok(())));
    assert_eq!(arrived.next(), b"other");
    assert!(scene.outcomes.try_recv().is_err());
}

#[test]
fn a_message_that_is_not_sent_is_returned_and_its_descriptor_is_used_again() {
    let _exclusive = exclusive::exclusive();
    let scene = Scene::new();
    let arrived = scene.attach();
    let nowhere = ProcessId::lustre("10.9.9.9@tcp".parse().unwrap());
    for number in [1, 3] {
        scene.try_send_to(nowhere, number, b"first").unwrap();
        let not_sent = Err((Errno::HostUnreachable, b"first".to_vec()));
        assert_eq!(scene.outcomes.recv().unwrap(), (number, not_sent));
        scene.send(number + 1, b"other");
        assert_eq!(scene.outcomes.recv().unwrap(), (number + 1, Ok(())));
        assert_eq!(arrived.next(), b"other");
    }
    assert!(scene.is_idle());
}

#[test]
fn messages_of_a_closed_pool_go_on_and_no_others_begin() {
    let _exclusive = exclusive::exclusive();
    let scene = Scene::new();
    scene.node.set_lazy(7, true).unwrap();
    scene.send(1, b"waits");
    scene.send(2, b"waits");
    scene.pool.close();
    assert_eq!(scene.try_send(3, b"waits"), Err(Errno::Shutdown));
    assert_eq!(scene.pool.in_progress(), 2);
    let arrived = scene.attach();
    for number in 1..=2 {
        assert_eq!(arrived.next(), b"waits");
        assert_eq!(scene.outcomes.recv().unwrap(), (number, Ok(())));
    }
    let clock = ManualClock::default();
    assert!(scene.pool.wait_until_idle(&clock, clock.now() + std::time::Duration::from_secs(9)));
    scene.node.set_lazy(7, false).unwrap();
}

#[test]
fn an_abort_of_all_ends_messages_in_progress_and_the_pool_goes_on() {
    let _exclusive = exclusive::exclusive();
    let scene = Scene::new();
    scene.node.set_lazy(7, true).unwrap();
    scene.send(1, b"waits");
    scene.pool.abort_all();
    scene.node.set_lazy(7, false).unwrap();
    assert_eq!(scene.outcomes.recv().unwrap().0, 1);
    let arrived = scene.attach();
    scene.send(2, b"other");
    assert_eq!((arrived.next(), scene.outcomes.recv().unwrap().0), (b"other".to_vec(), 2));
}

#[test]
fn a_buffer_that_is_not_sent_has_no_outcome() {
    let _exclusive = exclusive::exclusive();
    let scene = Scene::new();
    drop(scene.pool.buffer(5, None).unwrap());
    assert!(scene.is_idle());
    assert!(scene.outcomes.try_recv().is_err());
}
