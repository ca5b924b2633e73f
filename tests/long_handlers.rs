//! Event handlers that wait for the events of their own messages, and that take long: nothing else waits for them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use lnet_core::{
    EqHandle, Event, EventKind, InsertPosition, MatchId, MdHandle, MdMemory, MdOptions, MdSpec, Target,
};
use lnet_node::{DriverConfigs, Node, StartConfig};
use lnet_wire::{Nid, Pid};
use o2iblnd::O2iblndConfig;
use o2iblnd::device::model::ModelNet;
use std::collections::HashMap;
use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

/// The portal of the handlers under test, and the portal for the messages that these send.
const ASKED: u32 = 7;
const SINK: u32 = 8;
const LARGEST: usize = 1 << 20;
/// The timeout of every wait: far beyond the time of a step, and below the nodes' timeouts, so that only a hang reaches it.
const FOR_EVER: Duration = Duration::from_secs(60);
/// Seconds: nothing is resent, ended or reset within a test.
const NEVER: &str = "600";

static NEXT_NET: AtomicU32 = AtomicU32::new(1);

/// Nodes on loopback addresses, of which the first is under test.
struct Rig {
    nodes: Vec<Arc<Node>>,
    memory: Arc<Vec<u8>>,
}

impl Rig {
    fn start(nodes: u32, kind: Kind) -> Self {
        let port = TcpListener::bind(("0.0.0.0", 0)).unwrap().local_addr().unwrap().port().to_string();
        let net = NEXT_NET.fetch_add(1, Ordering::Relaxed);
        let devices = ModelNet::default();
        let start = |n: u32| {
            let address = format!("{}(127.0.{}.{n})", kind.net, 80 + net);
            let mut variables = HashMap::from([
                ("LNET_NETWORKS", address.as_str()),
                ("LNET_ACCEPT", "all"),
                ("LNET_ACCEPT_PORT", port.as_str()),
                ("LNET_TRANSACTION_TIMEOUT", NEVER),
                ("SOCKLND_SOCK_TIMEOUT", NEVER),
            ]);
            variables.extend(kind.settings.iter().copied());
            let config = StartConfig::from_lookup(|name| variables.get(name).map(|it| (*it).to_owned()));
            let mut config = config.unwrap();
            if kind.net == "o2ib" {
                let driver = O2iblndConfig { devices: Arc::new(devices.clone()), ..O2iblndConfig::default() };
                config.drivers = DriverConfigs::none().with(driver);
            }
            Node::start(Pid::LUSTRE, config).unwrap()
        };
        let rig = Self { nodes: (1..=nodes).map(start).collect(), memory: Arc::new(vec![7; LARGEST]) };
        for node in &rig.nodes {
            let eq = node.core().data_path().eq_alloc(0, Some(Box::new(|_| ()))).unwrap();
            rig.offer(node, SINK, eq);
        }
        rig
    }

    /// Takes PUTs, and reports them to `eq`.
    fn offer(&self, node: &Node, portal: u32, eq: EqHandle) {
        let me = node
            .core()
            .data_path()
            .me_attach(portal, MatchId::ANY, 1, 0, false, InsertPosition::After)
            .unwrap();
        let options = MdOptions(MdOptions::OP_PUT.0 | MdOptions::MANAGE_REMOTE.0 | MdOptions::TRUNCATE.0);
        let (spec, memory) = self.spec(LARGEST, options, -1, eq);
        node.core().data_path().md_attach(me, spec, memory, false, &mut |_| ()).unwrap();
    }

    fn spec(&self, length: usize, options: MdOptions, threshold: i32, eq: EqHandle) -> (MdSpec, MdMemory) {
        let (start, length) = (self.memory.as_ptr() as usize, length as u32);
        let spec = MdSpec { start, length, threshold, max_size: 0, options, user_ptr: 0, eq: Some(eq) };
        (spec, MdMemory::contiguous(start, length))
    }

    fn nid(&self, node: usize) -> Nid {
        self.nodes[node].core().ni_by_index(1).unwrap().nid
    }

    /// Returns a sender on `node`, which handlers may use, too.
    fn sender(&self, node: usize) -> PutSender {
        let (heard, ends) = channel();
        let heard = Mutex::new(heard);
        let tell = move |event: &Event| heard.lock().unwrap().send(*event).unwrap();
        let node = Arc::clone(&self.nodes[node]);
        let eq = node.core().data_path().eq_alloc(0, Some(Box::new(tell))).unwrap();
        PutSender { node, eq, ends: Mutex::new(ends), memory: Arc::clone(&self.memory) }
    }

    /// PUTs `length` bytes from one node to the portal of another, and waits for nothing.
    fn put(&self, from: usize, to: usize, length: usize) {
        let sender = self.sender(from);
        sender.begin(self.nid(to), ASKED, length, false);
        // The queue is freed with the node.
        std::mem::forget(sender);
    }

    fn end(self) {
        self.nodes.iter().for_each(|node| node.shutdown());
    }
}

struct PutSender {
    node: Arc<Node>,
    eq: EqHandle,
    ends: Mutex<Receiver<Event>>,
    memory: Arc<Vec<u8>>,
}

impl PutSender {
    fn begin(&self, to: Nid, portal: u32, length: usize, ack: bool) -> MdHandle {
        let (start, options) = (self.memory.as_ptr() as usize, MdOptions(0));
        let (threshold, eq) = (1 + i32::from(ack), Some(self.eq));
        let spec = MdSpec { start, length: length as u32, threshold, max_size: 0, options, user_ptr: 0, eq };
        let core = self.node.core();
        let md = core.data_path().md_bind(spec, MdMemory::contiguous(start, length as u32), true).unwrap();
        let target = Target { nid: Some(to), pid: Pid::LUSTRE, portal, match_bits: 1, offset: 0 };
        core.data_path().put(None, md, ack, target, 0).unwrap();
        md
    }

    /// PUTs to a sink, and waits for all events of that.
    fn put_and_wait(&self, to: Nid, length: usize, ack: bool) {
        self.begin(to, SINK, length, ack);
        loop {
            let event = self.ends.lock().unwrap().recv_timeout(FOR_EVER).expect("the end of a PUT");
            assert_eq!(event.status, Ok(()));
            if event.unlinked {
                return;
            }
        }
    }
}

fn channel_of<T>() -> (Mutex<Sender<T>>, Receiver<T>) {
    let (sender, receiver) = channel();
    (Mutex::new(sender), receiver)
}

/// A kind of nodes: the driver, and variables.
#[derive(Clone, Copy)]
struct Kind {
    net: &'static str,
    settings: &'static [(&'static str, &'static str)],
}

const TCP: Kind = Kind { net: "tcp", settings: &[] };
/// On a model of devices.
const O2IB: Kind = Kind { net: "o2ib", settings: &[] };
/// As kernel nodes are, without delivery ACKs for small messages.
const KERNEL: Kind = Kind { net: "tcp", settings: &[("SOCKLND_DELIVERY_ACK", "large")] };
const DRIVERS: [Kind; 2] = [TCP, O2IB];
const KINDS: [Kind; 3] = [TCP, KERNEL, O2IB];

/// Fails if messages sent by a handler stay with the thread that the handler occupies, or the responses to them do.
#[test]
fn a_handler_waits_for_the_events_of_what_it_has_sent() {
    for kind in KINDS {
        let rig = Rig::start(2, kind);
        let (sender, peer) = (rig.sender(0), rig.nid(1));
        let (done, is_done) = channel_of();
        let handler = move |event: &Event| {
            assert_eq!(event.kind, EventKind::Put);
            for (length, ack) in [(1, false), (1, true), (LARGEST, false), (LARGEST, true), (1, true)] {
                sender.put_and_wait(peer, length, ack);
            }
            done.lock().unwrap().send(event.mlength).unwrap();
        };
        let eq = rig.nodes[0].core().data_path().eq_alloc(0, Some(Box::new(handler))).unwrap();
        rig.offer(&rig.nodes[0], ASKED, eq);
        for length in [1, 4096, LARGEST] {
            rig.put(1, 0, length);
            assert_eq!(is_done.recv_timeout(FOR_EVER).expect("the end of a handler"), length as u32);
        }
        rig.end();
    }
}

/// The same for the event of the handler's own PUT.
#[test]
fn the_handler_of_a_send_event_waits_for_another_put() {
    for kind in KINDS {
        let rig = Rig::start(2, kind);
        let (sender, peer) = (rig.sender(0), rig.nid(1));
        let (done, is_done) = channel_of();
        let handler = move |event: &Event| {
            sender.put_and_wait(peer, 100, true);
            done.lock().unwrap().send(event.kind).unwrap();
        };
        let core = rig.nodes[0].core();
        let eq = core.data_path().eq_alloc(0, Some(Box::new(handler))).unwrap();
        for length in [1, LARGEST] {
            let (spec, memory) = rig.spec(length, MdOptions(0), 1, eq);
            let md = core.data_path().md_bind(spec, memory, true).unwrap();
            let target = Target { nid: Some(peer), pid: Pid::LUSTRE, portal: SINK, match_bits: 1, offset: 0 };
            core.data_path().put(None, md, false, target, 0).unwrap();
            assert_eq!(is_done.recv_timeout(FOR_EVER).expect("the end of a handler"), EventKind::Send);
        }
        rig.end();
    }
}

/// Fails if the peers of a node wait for a handler that another peer keeps busy; also when an application's thread runs that.
#[test]
fn a_handler_that_takes_long_delays_no_other_peer() {
    for (kind, application_polls) in DRIVERS.into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
        let rig = Rig::start(4, kind);
        let (from_slow, slow) = (channel_of(), rig.nid(1));
        let (others, served) = channel_of();
        let (entered, is_entered) = from_slow;
        let served = Mutex::new(served);
        let handler = move |event: &Event| {
            if event.initiator.nid == Some(slow) {
                entered.lock().unwrap().send(()).unwrap();
                for _ in 0..2 {
                    served.lock().unwrap().recv_timeout(FOR_EVER).expect("a PUT of another peer");
                }
                entered.lock().unwrap().send(()).unwrap();
            } else {
                others.lock().unwrap().send(()).unwrap();
            }
        };
        let core = rig.nodes[0].core();
        let eq = core.data_path().eq_alloc(0, Some(Box::new(handler))).unwrap();
        // There is an MD for each, as the events of one come one after another.
        (0..3).for_each(|_| {
            let me =
                core.data_path().me_attach(ASKED, MatchId::ANY, 1, 0, true, InsertPosition::After).unwrap();
            let (spec, memory) =
                rig.spec(LARGEST, MdOptions(MdOptions::OP_PUT.0 | MdOptions::TRUNCATE.0), 1, eq);
            core.data_path().md_attach(me, spec, memory, true, &mut |_| ()).unwrap();
        });
        let ring = core.data_path().eq_alloc(8, None).unwrap();
        std::thread::scope(|scope| {
            let node = &rig.nodes[0];
            let poller =
                application_polls.then(|| scope.spawn(move || node.eq_poll(&[ring], Some(FOR_EVER))));
            rig.put(1, 0, 64);
            is_entered.recv_timeout(FOR_EVER).expect("the handler");
            rig.put(2, 0, 64);
            rig.put(3, 0, LARGEST);
            is_entered.recv_timeout(FOR_EVER).expect("the end of the handler");
            core.data_path().eq_free(ring).unwrap();
            poller.map(|poller| poller.join().unwrap().unwrap_err());
        });
        rig.end();
    }
}

/// Fails if only one thread can be kept.
#[test]
fn the_handlers_of_many_peers_take_long_at_the_same_time() {
    const PEERS: usize = 6;
    for kind in DRIVERS {
        let rig = Rig::start(1 + PEERS as u32, kind);
        let barrier = Arc::new(Barrier::new(PEERS + 1));
        let core = rig.nodes[0].core();
        let all_here = Arc::clone(&barrier);
        let handler = move |_: &Event| {
            all_here.wait();
        };
        let eq = core.data_path().eq_alloc(0, Some(Box::new(handler))).unwrap();
        for _ in 0..PEERS {
            let me =
                core.data_path().me_attach(ASKED, MatchId::ANY, 1, 0, true, InsertPosition::After).unwrap();
            let (spec, memory) = rig.spec(8, MdOptions::OP_PUT, 1, eq);
            core.data_path().md_attach(me, spec, memory, true, &mut |_| ()).unwrap();
        }
        (1..=PEERS).for_each(|peer| rig.put(peer, 0, 8));
        let (done, is_done) = channel();
        std::thread::spawn(move || {
            barrier.wait();
            done.send(()).unwrap();
        });
        is_done.recv_timeout(FOR_EVER).expect("all handlers at the same time");
        rig.end();
    }
}

/// Fails if the end of a node waits for the handler that ends it; also when an application's thread runs that.
#[test]
fn a_handler_ends_its_own_node() {
    for (kind, application_polls) in DRIVERS.into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
        let rig = Rig::start(2, kind);
        let (done, is_done) = channel_of();
        let node = Arc::downgrade(&rig.nodes[0]);
        let handler = move |_: &Event| {
            if let Some(node) = node.upgrade() {
                node.shutdown();
            }
            _ = done.lock().unwrap().send(());
        };
        let core = rig.nodes[0].core();
        let eq = core.data_path().eq_alloc(0, Some(Box::new(handler))).unwrap();
        rig.offer(&rig.nodes[0], ASKED, eq);
        let ring = core.data_path().eq_alloc(8, None).unwrap();
        std::thread::scope(|scope| {
            let node = &rig.nodes[0];
            let poller =
                application_polls.then(|| scope.spawn(move || node.eq_poll(&[ring], Some(FOR_EVER))));
            rig.put(1, 0, 64);
            is_done.recv_timeout(FOR_EVER).expect("the end of the node");
            poller.map(|poller| poller.join().unwrap().unwrap_err());
        });
        rig.end();
    }
}
