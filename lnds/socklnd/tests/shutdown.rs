//! Early end of an operation in every state that it may have within the driver: its MD is unlinked, its
//! interface is removed, or the node ends. The states outside are in the core's test of the same name.
//!
//! In each case the operation ends once, the MD has one last event, and nothing of any message remains.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::{Cause, Event, EventKind, InsertPosition, MatchId, MdHandle, MdMemory, MdOptions, MdSpec};
use socklnd::implementation_id;
use socklnd::proto::frame::Cookies;
use socklnd::proto::{ConnectionType, Hello};
use std::io::ErrorKind;
use std::net::Ipv4Addr;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use support::spy::Spy;
use support::*;

/// Number of messages that a peer gets at once; of the largest size they exceed the capacity of the sockets.
const MANY: usize = 8;
const LARGE: usize = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// A connect is under way; the peer has not sent its HELLO.
    WaitsForConnection,
    /// One message is partly written, some before it may be in the socket, the others are queued.
    HalfWritten,
    /// The peer, which is one of this implementation, has not acknowledged the message.
    Unacknowledged,
    HalfArrived,
    HalfArrivedFromKernel,
    /// The message had arrived in part when its connection ended, and may be sent again.
    Parked,
    /// The core has deferred the message; the payload is in memory of the driver.
    Deferred,
    /// The core has deferred the message, and there was no quota for its payload.
    DeferredInSocket,
    HalfDeferred,
    /// The state [`State::Parked`] for a message that the core has deferred.
    DeferredParked,
}

use State::*;

const STATES: [State; 10] = [
    WaitsForConnection,
    HalfWritten,
    Unacknowledged,
    HalfArrived,
    HalfArrivedFromKernel,
    Parked,
    Deferred,
    DeferredInSocket,
    HalfDeferred,
    DeferredParked,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The MD is unlinked; then the peer goes away.
    Unlinked,
    NiRemoved,
    /// `LNetNIFini`.
    Stopped,
}

use End::*;

/// A node, the connections of the test to it, and the operations under way.
struct Scene {
    node: Node,
    low: Ipv4Addr,
    high: Ipv4Addr,
    port: u16,
    listener: Option<Listening>,
    raws: Vec<Raw>,
    md: Option<MdHandle>,
    /// Number of operations under way on `md`.
    operations: usize,
}

#[test]
fn every_operation_completes_once_and_leaves_nothing_whatever_ends_it() {
    for state in STATES {
        for end in [Unlinked, NiRemoved, Stopped] {
            check(state, end);
        }
    }
}

fn check(state: State, end: End) {
    let case = format!("{state:?}, {end:?}");
    let _watchdog = Watchdog::new(&case);
    let mut scene = Scene::new();
    scene.enter(state);
    scene.node.no_event();
    let core = Arc::downgrade(&scene.node.core);
    let driver = Arc::downgrade(&scene.node.driver);
    match end {
        Unlinked => {
            if let Some(md) = scene.md {
                scene.node.core.data_path().md_unlink(md).unwrap();
            }
            // The peer dies.
            scene.raws.clear();
            scene.listener = None;
        }
        NiRemoved => scene.node.core.admin().remove_ni(scene.node.nid).unwrap(),
        Stopped => scene.node.stop(),
    }
    let Scene { node, operations, .. } = scene;
    for left in (0..operations).rev() {
        let event = node.event();
        assert!(event.status.is_err(), "{case}: {event:?}");
        assert_eq!(event.unlinked, end == Unlinked && left == 0, "{case}: {event:?}");
    }
    if end == Unlinked && matches!(state, Deferred | DeferredInSocket | HalfDeferred | DeferredParked) {
        // The messages wait for memory; no MD was unlinked. Their payload may have arrived, or come again.
        assert!(node.core.message_counts().msgs_alloc > 0, "{case}");
        node.core.data_path().clear_lazy_portal(PORTAL).unwrap();
    }
    if end != Stopped {
        wait_for(&case, || node.core.message_counts().msgs_alloc == 0);
    }
    for ni in node.core.nets().nis() {
        assert_eq!(ni.credits().0, ni.tunables().credits as i32, "{case}");
    }
    for peer_ni in node.core.peer_nis() {
        assert_eq!(peer_ni.credits().0, peer_ni.max_credits() as i32, "{case}");
        assert_eq!(peer_ni.queued_bytes(), 0, "{case}");
    }
    node.stop();
    assert_eq!(node.core.message_counts().msgs_alloc, 0, "{case}");
    node.no_event();
    drop(node);
    assert_eq!((core.strong_count(), driver.strong_count()), (0, 0), "{case}: something is left");
}

impl Scene {
    fn new() -> Self {
        let (low, high, port) = addresses();
        let node = Node::start(tcp(high), same_implementation(config(port), 1));
        Self { node, low, high, port, listener: None, raws: Vec::new(), md: None, operations: 0 }
    }

    fn alive(&self, count: u64) {
        wait_for("messages", || self.node.core.message_counts().msgs_alloc == count);
    }

    fn enter(&mut self, state: State) {
        match state {
            WaitsForConnection => {
                self.listener = Some(Listening::on(self.low, self.port));
                self.puts(1, 8);
                let called = self.listener.as_ref().unwrap().accept_handshake().0;
                self.raws.push(called);
            }
            HalfWritten => {
                let listener = Listening::on(self.low, self.port);
                self.puts(MANY, LARGE);
                for _ in 0..3 {
                    let raw = accept_same_implementation(&listener, self.low);
                    self.raws.push(raw);
                }
                self.listener = Some(listener);
                wait_for("something written", || self.raws.iter().any(has_bytes));
                self.alive(MANY as u64);
            }
            Unacknowledged => {
                let listener = Listening::on(self.low, self.port);
                self.puts(1, 8);
                let mut raw = accept_same_implementation(&listener, self.low);
                let (_, cookies, _) = raw.read_lnet();
                assert_ne!(cookies.request, 0);
                self.raws.push(raw);
                self.listener = Some(listener);
            }
            HalfArrived | HalfArrivedFromKernel | Parked => {
                self.md = Some(offer(&self.node, buffer(LARGE)));
                self.operations = 1;
                self.half(state != HalfArrivedFromKernel);
                if state == Parked {
                    self.park();
                }
            }
            Deferred => {
                self.node.core.data_path().set_lazy_portal(PORTAL).unwrap();
                let mut raw = self.open_same_implementation();
                self.send_put(&mut raw, 1, LARGE, LARGE);
                // The delivery ACK shows that the message has arrived.
                assert_eq!(raw.read_noop().ack, name(1));
                self.raws.push(raw);
            }
            DeferredInSocket => {
                self.node.core.data_path().set_lazy_portal(PORTAL).unwrap();
                let mut raw = self.open_same_implementation();
                self.send_put(&mut raw, 1, LARGE, LARGE);
                self.send_put(&mut raw, 2, LARGE, 1000);
                self.alive(2);
                self.raws.push(raw);
            }
            HalfDeferred | DeferredParked => {
                self.node.core.data_path().set_lazy_portal(PORTAL).unwrap();
                self.half(true);
                if state == DeferredParked {
                    self.park();
                }
            }
        }
    }

    /// Sends PUTs that will not arrive.
    fn puts(&mut self, count: usize, length: usize) {
        let md = self.node.bind_bytes(pattern(length, 1));
        for _ in 0..count {
            self.node.put(md, tcp(self.low), false);
        }
        self.md = Some(md);
        self.operations = count;
    }

    fn open_same_implementation(&self) -> Raw {
        Raw::open_as_same_implementation(self.low, self.high, self.port, 2, ConnectionType::Control)
    }

    fn send_put(&self, raw: &mut Raw, sequence: u64, length: usize, said: usize) {
        let header = put_header(tcp(self.low), tcp(self.high), length, false);
        raw.put(&header, Cookies { request: name(sequence), ack: 0 }, &vec![7; said]);
    }

    /// Sends half of a message.
    fn half(&mut self, ours: bool) {
        let mut raw = if ours {
            self.open_same_implementation()
        } else {
            Raw::open(self.low, self.high, self.port, ConnectionType::Control)
        };
        let header = put_header(tcp(self.low), tcp(self.high), LARGE, false);
        let request = if ours { name(1) } else { 0 };
        raw.put(&header, Cookies { request, ack: 0 }, &vec![7; LARGE / 2]);
        self.alive(1);
        self.raws.push(raw);
    }

    /// Ends the connection of half a message.
    fn park(&mut self) {
        self.raws.clear();
        wait_for("the end of the connection", || self.node.counters().closed_by_peer == 1);
        self.alive(1);
    }
}

/// A node ends an interface whose connection has been closed before, while a handler still runs for a message of it:
/// no upcall may follow the end of the NI.
#[test]
fn the_end_of_an_ni_waits_for_threads_in_closed_connections() {
    let _watchdog = Watchdog::new("a handler on a closed connection");
    let (low, high, port) = addresses();
    let spy = Arc::new(Spy::default());
    let node = spy.node(tcp(high), same_implementation(config(port), 1));
    let (entered, handler_entered) = channel();
    let (let_go, is_let_go) = channel::<()>();
    let (entered, is_let_go) = (Mutex::new(entered), Mutex::new(is_let_go));
    let handler = move |event: &Event| {
        if event.kind == EventKind::Put {
            entered.lock().unwrap().send(()).unwrap();
            let _ = is_let_go.lock().unwrap().recv();
        }
    };
    let eq = node.core.data_path().eq_alloc(0, Some(Box::new(handler))).unwrap();
    offer_with_queue(&node, buffer(8), eq);
    let mut raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    let header = put_header(tcp(low), tcp(high), 8, false);
    raw.put(&header, Cookies { request: name(1), ack: 0 }, &[7; 8]);
    handler_entered.recv().unwrap();
    let ni = spy.ni.lock().unwrap().clone().unwrap();
    ni.abort_tx(Some(tcp(low)), Cause::LocalAborted);
    thread::scope(|scope| {
        let (returned, has_returned) = channel();
        let node = &node;
        scope.spawn(move || {
            node.core.admin().remove_ni(node.nid).unwrap();
            returned.send(()).unwrap();
        });
        // Without the wait the upcall would come now.
        let early = has_returned.recv_timeout(Duration::from_millis(300));
        let_go.send(()).unwrap();
        assert_eq!(early, Err(RecvTimeoutError::Timeout));
        has_returned.recv().unwrap();
    });
    assert_eq!(node.core.message_counts().msgs_alloc, 0);
}

#[test]
fn pending_delivery_acks_are_sent_before_the_end() {
    let ends: [fn(&Node); 2] = [|node| node.core.admin().remove_ni(node.nid).unwrap(), Node::stop];
    for end in ends {
        let _watchdog = Watchdog::new("pending delivery ACKs");
        let (low, high, port) = addresses();
        let node = Node::start(tcp(high), same_implementation(config(port), 1));
        node.offer(buffer(8));
        let mut raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
        let header = put_header(tcp(low), tcp(high), 8, false);
        for sequence in 1..=3 {
            raw.put(&header, Cookies { request: name(sequence), ack: 0 }, &[7; 8]);
        }
        for _ in 1..=3 {
            node.expect(EventKind::Put);
        }
        end(&node);
        let mut given = Vec::new();
        while given.last() != Some(&name(3)) {
            let Cookies { request, ack } = raw.read_noop();
            given.extend(if request == 0 { ack..=ack } else { request..=ack });
        }
        assert_eq!(given, [name(1), name(2), name(3)]);
        assert_eq!(raw.read_to_end(), []);
    }
}

/// Returns the ID of a message that the peer has sent.
const fn name(sequence: u64) -> u64 {
    7 << 40 | sequence
}

fn offer(node: &Node, memory: &'static [u8]) -> MdHandle {
    offer_with_queue(node, memory, node.eq)
}

fn offer_with_queue(node: &Node, memory: &'static [u8], eq: lnet_core::EqHandle) -> MdHandle {
    let me =
        node.core.data_path().me_attach(PORTAL, MatchId::ANY, BITS, 0, false, InsertPosition::After).unwrap();
    let (start, length) = (memory.as_ptr() as usize, memory.len() as u32);
    let options = MdOptions(MdOptions::OP_PUT.0 | MdOptions::MANAGE_REMOTE.0);
    let spec = MdSpec { start, length, threshold: -1, max_size: 0, options, user_ptr: 0, eq: Some(eq) };
    let mut md = None;
    let memory = MdMemory::contiguous(start, length);
    node.core.data_path().md_attach(me, spec, memory, false, &mut |handle| md = Some(handle)).unwrap();
    md.unwrap()
}

/// Accepts the next connection, as a node of this implementation.
fn accept_same_implementation(listener: &Listening, me: Ipv4Addr) -> Raw {
    let (mut raw, asked) = listener.accept_handshake();
    let response = Hello {
        version: asked.version,
        src_nid: tcp(me),
        dest_nid: Some(asked.src_nid),
        connection_type: asked.connection_type.map(ConnectionType::mirror),
        dest_incarnation: implementation_id(2),
        ..hello(me, me, None)
    };
    raw.version = asked.version;
    raw.send(&response.encode().unwrap());
    raw
}

fn has_bytes(raw: &Raw) -> bool {
    raw.stream.set_nonblocking(true).unwrap();
    let peeked = raw.stream.peek(&mut [0]);
    raw.stream.set_nonblocking(false).unwrap();
    match peeked {
        Ok(got) => got > 0,
        Err(error) if error.kind() == ErrorKind::WouldBlock => false,
        Err(error) => panic!("{error}"),
    }
}
