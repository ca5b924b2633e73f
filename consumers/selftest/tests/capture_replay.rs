//! Replays captured sessions of kernel nodes to a test node of this library in place of one of them: the messages of the
//! others are sent
//! to it byte for byte, and its own are compared with those of the kernel node.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lnet as _;
#[path = "../../../tests/support/mod.rs"]
mod support;

use lnet::Adopted;
use lnet_api::clock::SystemClock;
use lnet_api::{ProcessId, Region};
use lnet_core::DiscoveryMode;
use lnet_node::StartConfig;
use lnet_selftest::framework::{NodeConfig, TestNode};
use lnet_selftest::rpc::{Bulk, Call, RpcOutcome};
use lnet_selftest::wire::*;
use lnet_wire::{Body, Nid};
use socklnd::SocklndConfig;
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use support::live_node::LiveNode;
use support::netns::namespace_or_skip;
use support::player::{Application, Player};
use support::script::{Line, address_of, script};

const CONSOLE: &str = "10.99.0.11@tcp";
const SERVER: &str = "10.99.0.12@tcp";

/// Whole sessions: one test each, of one kind.
///
/// Not k2158-c2-lst-read-1m-run.pcap: it has the first 300 bytes of each packet only, so most of the bulk data, and messages
/// behind it in the same packet, are not there to be played.
const SESSIONS: [&str; 7] = [
    "k2158-c-lst-read-4k.pcap",
    "k2158-c-lst-read-full-4k.pcap",
    "k2158-c-lst-write-1m.pcap",
    "k2158-c-lst-write-4k.pcap",
    "k2158-c-lst-write-full-4k.pcap",
    "k2158-d-lst-ping.pcap",
    "k2170-d-lst-ping.pcap",
];

/// Fails if a byte of a reply or of bulk data, or a counter, differs from the kernel's; bytes that depend on the time are
/// excepted.
#[test]
fn a_server_says_to_a_kernel_console_and_client_what_a_kernel_node_says() {
    play_all(SERVER);
}

#[test]
fn a_console_and_client_says_to_a_kernel_server_what_kernel_ones_say() {
    play_all(CONSOLE);
}

/// The node behind the C API, of which a process has one.
static NODE: Mutex<()> = Mutex::new(());

fn play_all(ours: &'static str) {
    let _exclusive = NODE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut failed = Vec::new();
    for file in SESSIONS {
        let Some(_namespace) = namespace_or_skip() else { return };
        println!("{file}, ours is {ours}");
        if thread::spawn(move || play(file, ours)).join().is_err() {
            failed.push(file);
        }
    }
    assert!(failed.is_empty(), "these went differently: {failed:#?}");
}

fn play(file: &str, ours: &str) {
    let nid: Nid = ours.parse().unwrap();
    let addresses: Vec<IpAddr> = vec![address_of(nid)];
    let script = script(file, &addresses);
    // The settings of the captured nodes.
    let socklnd = SocklndConfig {
        zc_min_payload: Some(16 << 10),
        min_bulk: 1 << 10,
        unresponsive_timeout: Duration::ZERO,
        ..SocklndConfig::default()
    };
    let mut config =
        StartConfig { drivers: lnet_node::DriverConfigs::default().with(socklnd), ..StartConfig::default() };
    config.settings.discovery = DiscoveryMode::Off;
    let player = Player::new(&script).without_repeated_pushes();
    let live = LiveNode::start(&[nid], config);
    let adopted = lnet::adopt(live.node()).unwrap();
    let lnet = lnet_api::Node::start().unwrap();
    let test_node = TestNode::start_on(lnet, Arc::new(SystemClock), &NodeConfig::default()).unwrap();
    let mut node = Selftest { live, test_node, calls: Vec::new(), adopted };
    player.play(&mut node);
    node.finish();
}

/// A node with LNet selftest on it. The other services of the node are outside of this test.
struct Selftest {
    live: LiveNode,
    test_node: TestNode,
    calls: Vec<(Request, Receiver<RpcOutcome>)>,
    adopted: Adopted,
}

impl Selftest {
    /// Checks that all RPCs of the node have succeeded.
    fn finish(self) {
        for (request, outcome) in self.calls {
            let reply = outcome.recv().unwrap().unwrap_or_else(|errno| panic!("{errno} of {request:?}"));
            assert_eq!(reply.reply.status(), Status::OK, "{request:?}");
        }
        let counters = self.test_node.status().counters;
        assert_eq!((counters.errors, counters.rpcs_dropped, counters.rpcs_expired), (0, 0, 0));
        drop(self.test_node);
        self.live.finish();
        drop(self.adopted);
    }
}

impl Application for Selftest {
    fn call(&mut self, from: Nid, to: Nid) {
        self.live.call(from, to);
    }

    fn connected(&mut self, our_end: IpAddr) {
        self.live.connected(our_end);
    }

    fn start(&mut self, line: &Line) {
        let Some(header) = line.header() else { return };
        let (Body::Put { portal, match_bits: bits, .. } | Body::Get { portal, match_bits: bits, .. }) =
            header.body
        else {
            return;
        };
        match portal {
            // Replies and bulk data of a server: it sends them by itself.
            PORTAL_REPLIES => {}
            PORTAL_FRAMEWORK | PORTAL_TESTS => {
                let service = Service::from_number(bits as u32).unwrap();
                let (request, features, reply_bits) = request(service, line.payload());
                self.test_node.engine().set_next_match_bits(reply_bits);
                let to = ProcessId { nid: header.dest_nid, pid: header.dest_pid };
                let (sender, receiver) = channel();
                let call = Call { to, request, features, bulk: bulk(&request) };
                self.test_node.engine().call(call, move |outcome| {
                    let _ = sender.send(outcome);
                });
                self.calls.push((request, receiver));
            }
            _ => self.live.start(line),
        }
    }

    fn discover(&mut self, peer: Nid) {
        self.live.discover(peer);
    }

    fn prepare(&mut self, _: &Line, _: Option<&[u8]>) {}

    fn received(&mut self, _: &Line) {}
}

/// Parses a request of a kernel node; returns the same request as our type, its features, and the match bits that the node
/// chose for
/// the reply.
fn request(service: Service, bytes: &[u8]) -> (Request, Features, u64) {
    let incoming = IncomingRequest::parse(service, bytes).unwrap();
    let request = match incoming.body {
        ReceivedBody::MakeSession(body) => Request::MakeSession(body),
        ReceivedBody::RemoveSession(session) => Request::RemoveSession(session.unwrap()),
        ReceivedBody::QueryStat(session) => Request::QueryStat(session.unwrap()),
        ReceivedBody::AddTest(test) => Request::AddTest(add_test(&test.unwrap(), bytes)),
        ReceivedBody::Brw(brw) => Request::Brw(brw.transfer.unwrap()),
        ReceivedBody::Ping(ping) => Request::Ping(ping),
        other => panic!("{other:?}"),
    };
    (request, incoming.features, incoming.reply_bits)
}

/// A server instance of a test, with the parameters of its clients, as servers do not read them.
fn add_test(test: &IncomingTest, bytes: &[u8]) -> AddTest {
    let IncomingInstance::Server { service, load } = test.instance else { panic!("no server") };
    let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let rw = if bytes[82] == 1 { Rw::Read } else { Rw::Write };
    let check = [Check::None, Check::Simple, Check::Full][usize::from(bytes[84].max(1)) - 1];
    let parameters = match service {
        Service::Ping => TestParameters::Ping,
        _ => TestParameters::Brw(BrwParameters::new(rw, check, u32_at(86), u32_at(90)).unwrap()),
    };
    AddTest {
        session: test.session,
        batch: test.batch,
        parameters,
        concurrency: Concurrency::new(u32_at(72)).unwrap(),
        stop_on_error: true,
        instance: Instance::Server { load },
    }
}

/// The memory that a client has for the bulk data of a request.
fn bulk(request: &Request) -> Option<Bulk> {
    let Request::Brw(brw) = request else { return None };
    let length = brw.length.bytes() as usize;
    Some(match brw.rw {
        Rw::Read => Bulk::Sink(Arc::new(Region::zeroed(length)), 0..length),
        Rw::Write => {
            let word = BRW_PATTERN.to_le_bytes();
            let mut data = if brw.check == Check::Full { word.repeat(length / 8) } else { vec![0; length] };
            for page in data.chunks_mut(PAGE as usize) {
                page[..8].copy_from_slice(&word);
                let last = page.len() - 8;
                page[last..].copy_from_slice(&word);
            }
            Bulk::Source(Arc::new(Region::copy_of(&data)), 0..length)
        }
    })
}
