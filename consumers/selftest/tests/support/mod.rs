//! A test node that is its own console: requests are sent over the loopback.
#![allow(dead_code, unreachable_pub)]

use lnet_api::Errno;
use lnet_api::clock::ManualClock;
use lnet_api::{Ack, Event, EventHandler, MatchCriteria, Md, MdSpec, Nid, Node, Pid, ProcessId, Region};
use lnet_selftest::framework::{NodeConfig, TestNode};
use lnet_selftest::rpc::{Bulk, Call, RpcOutcome};
use lnet_selftest::wire::*;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

static NODE: Mutex<()> = Mutex::new(());

/// A console that is in the same process as its only node.
pub struct Scene {
    pub node: TestNode,
    pub lnet: Arc<Node>,
    pub clock: Arc<ManualClock>,
    pub features: Features,
    _exclusive: MutexGuard<'static, ()>,
}

pub fn itself() -> ProcessId {
    ProcessId { nid: Nid::LOOPBACK, pid: Pid(LST_PID) }
}

pub fn session(stamp: i64) -> SessionId {
    SessionId::new("10.0.0.1@tcp".parse().unwrap(), stamp).unwrap()
}

pub fn make(session: Option<SessionId>, force: bool, name: &str) -> Request {
    Request::MakeSession(MakeSession { session, force, name: name.parse().unwrap() })
}

pub fn batch(id: u64, command: BatchCommand) -> Request {
    Request::Batch(BatchRequest { session: session(1), batch: BatchId(id), command })
}

pub const RUN: BatchCommand = BatchCommand::Run { timeout: 0 };
pub const STOP: BatchCommand = BatchCommand::Stop { force: false };
pub const ABORT: BatchCommand = BatchCommand::Stop { force: true };

pub const fn query(test: i32) -> BatchCommand {
    BatchCommand::Query { test }
}

pub fn brw(rw: Rw, check: Check, size: u32) -> TestParameters {
    TestParameters::Brw(BrwParameters::new(rw, check, size, 0).unwrap())
}

impl Scene {
    pub fn start() -> Self {
        Self::with(&NodeConfig::default())
    }

    pub fn with(config: &NodeConfig) -> Self {
        let exclusive = NODE.lock().unwrap_or_else(PoisonError::into_inner);
        let lnet = Node::start().unwrap();
        let clock = Arc::new(ManualClock::default());
        let node = TestNode::start_on(Arc::clone(&lnet), Arc::clone(&clock) as Arc<_>, config).unwrap();
        Self { node, lnet, clock, features: Features::KNOWN, _exclusive: exclusive }
    }

    /// A test node that is in session 1.
    pub fn in_session() -> Self {
        let scene = Self::start();
        assert_eq!(scene.ask(make(Some(session(1)), false, "sess")).status(), Status::OK);
        scene
    }

    /// Sends a request; the returned receiver gets its result later.
    pub fn send(&self, to: ProcessId, request: Request, bulk: Option<Bulk>) -> Receiver<RpcOutcome> {
        let (sender, receiver) = channel();
        let call = Call { to, request, features: self.features, bulk };
        self.node.engine().call(call, move |outcome| {
            let _ = sender.send(outcome);
        });
        receiver
    }

    pub fn try_ask(&self, request: Request, bulk: Option<Bulk>) -> RpcOutcome {
        self.send(itself(), request, bulk).recv().unwrap()
    }

    pub fn ask(&self, request: Request) -> Reply {
        self.try_ask(request, None).unwrap().reply
    }

    pub fn status(&self, request: Request) -> Status {
        self.ask(request).status()
    }

    pub fn add_server(&self, id: u64, parameters: TestParameters) -> Status {
        let test = AddTest {
            session: session(1),
            batch: BatchId(id),
            parameters,
            concurrency: Concurrency::new(1).unwrap(),
            stop_on_error: true,
            instance: Instance::Server { load: ServerLoad::new(1) },
        };
        self.status(Request::AddTest(test))
    }

    pub fn client(
        id: u64,
        parameters: TestParameters,
        concurrency: u32,
        times: i32,
        nodes: &[ProcessId],
    ) -> (AddTest, Destinations) {
        let nodes: Vec<(Nid, Pid)> = nodes.iter().map(|it| (it.nid, it.pid)).collect();
        let list = Destinations::new(&nodes).unwrap();
        let test = AddTest {
            session: session(1),
            batch: BatchId(id),
            parameters,
            concurrency: Concurrency::new(concurrency).unwrap(),
            stop_on_error: true,
            instance: Instance::Client { times: Loop::new(times).unwrap(), destinations: list.count() },
        };
        (test, list)
    }

    pub fn add_client(&self, test: AddTest, list: &Destinations) -> Status {
        let region = Arc::new(Region::copy_of(&list.bytes(self.features)));
        let bulk = Bulk::Source(Arc::clone(&region), 0..region.len());
        self.try_ask(Request::AddTest(test), Some(bulk)).unwrap().reply.status()
    }

    pub fn active(&self, id: u64, test: i32) -> u32 {
        match self.ask(batch(id, query(test))) {
            Reply::Batch(reply) if reply.status.is_ok() => reply.active,
            other => panic!("{other:?}"),
        }
    }

    /// Asks until nothing of a batch runs.
    pub fn wait_until_idle(&self, id: u64) {
        while self.active(id, 0) > 0 {
            std::thread::yield_now();
        }
    }

    pub fn stats(&self) -> Stats {
        match self.ask(Request::QueryStat(session(1))) {
            Reply::QueryStat(reply) if reply.status.is_ok() => reply.stats,
            other => panic!("{other:?}"),
        }
    }

    pub fn let_pass(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    /// Sends any bytes to a service. Returns the wait for the reply to these match bits.
    pub fn send_raw(&self, service: Service, bytes: &[u8], reply_bits: u64) -> Waiting {
        let waiting = Waiting::attach(&self.lnet, reply_bits, true, MESSAGE_LEN);
        let spec = MdSpec::active(Arc::new(Region::copy_of(bytes)), 1);
        let md = self.lnet.bind(spec, events().0).unwrap();
        let (portal, bits) = (service.portal(), service.match_bits());
        self.lnet.put(None, md, Ack::No, itself(), portal, bits, 0, 0).unwrap();
        waiting
    }
}

struct Forward(Mutex<Sender<Event>>);

impl EventHandler for Forward {
    fn on_event(&self, event: &Event) {
        let _ = self.0.lock().unwrap().send(*event);
    }
}

pub fn events() -> (Arc<dyn EventHandler>, Receiver<Event>) {
    let (sender, receiver) = channel();
    (Arc::new(Forward(Mutex::new(sender))), receiver)
}

/// Memory at the portal of replies.
pub struct Waiting {
    lnet: Arc<Node>,
    md: Md,
    region: Arc<Region>,
    events: Receiver<Event>,
}

impl Waiting {
    pub fn attach(lnet: &Arc<Node>, bits: u64, puts: bool, length: usize) -> Self {
        let region = Arc::new(Region::zeroed(length));
        let (handler, events) = events();
        let spec = MdSpec { puts, gets: !puts, ..MdSpec::active(Arc::clone(&region), 1) };
        let criteria = MatchCriteria { from: None, bits, ignore: 0 };
        let md = lnet.attach(PORTAL_REPLIES, criteria, spec, handler).unwrap();
        Self { lnet: Arc::clone(lnet), md, region, events }
    }

    pub fn event(&self) -> Event {
        self.events.recv().unwrap()
    }

    pub fn is_quiet(&self) -> bool {
        self.events.try_recv().is_err()
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.event().status.unwrap();
        self.region.copy_while_written(0..self.region.len())
    }

    pub fn reply(&self, service: Service) -> IncomingReply {
        IncomingReply::parse(service, &self.bytes()).unwrap()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.lnet.unlink(self.md);
    }
}

pub const TIMED_OUT: RpcOutcome = Err(Errno::TimedOut);
