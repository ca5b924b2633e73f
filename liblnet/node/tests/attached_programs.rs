//! What a node shows of the programs that are attached to it: of one that uses the library, and of one that reads and answers when the
//! test says so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod live;

use live::wait_until;
use lnet_attach::client::{AttachError, AttachedNode, ClientConfig};
use lnet_attach::hello::{self, Descriptors, Reader, ToNode, ToProgram, VERSION};
use lnet_attach::record::{
    Answer, ClaimedBits, Descriptor, MatchEntry, Message, Operation, Piece, ProgramMemory, Report,
};
use lnet_core::{
    EqHandle, Errno, EventKind, InsertPosition, MatchId, MdHandle, MdMemory, MdOptions, MdSpec, MeHandle,
    Target,
};
use lnet_dlc::request::{AttachedProgram, AttachedPrograms, PayloadWays, RingFill};
use lnet_dlc::runtime_dir::RuntimeDir;
use lnet_node::{AttachConfig, AttachServer, Node, StartConfig};
use lnet_os::shared_memory::SharedMemory;
use lnet_ring::{Consumer, Producer, Wake};
use lnet_wire::{Nid, Pid};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tempfile::TempDir;

/// The words of a ring, and its bytes.
const WORDS: usize = 4096;
const BYTES: u64 = WORDS as u64 * 8;
const PORTAL: u32 = 9;
const NAME: &str = "a_program";

/// A node on the loopback that admits programs.
struct Fixture {
    server: AttachServer,
    node: Arc<Node>,
    directory: TempDir,
}

fn start(change: impl FnOnce(&mut AttachConfig)) -> Fixture {
    let directory = tempfile::tempdir().unwrap();
    let node = Node::start(Pid::LUSTRE, StartConfig::from_lookup(|_| None).unwrap()).unwrap();
    let mut config = AttachConfig::new(RuntimeDir::at(directory.path()));
    change(&mut config);
    Fixture { server: AttachServer::start(config, &node).unwrap(), node, directory }
}

impl Fixture {
    fn connect(&self) -> UnixStream {
        let path = RuntimeDir::at(self.directory.path()).attach_socket(self.node.name());
        UnixStream::connect(path).unwrap()
    }

    fn attach(&self, stream: UnixStream) -> Result<Arc<AttachedNode>, AttachError> {
        let config = ClientConfig {
            pid: Pid(777),
            program: NAME.to_owned(),
            operations: WORDS,
            reports: 2 * WORDS,
            spin: Duration::ZERO,
        };
        AttachedNode::attach(stream, &config)
    }

    /// The only program that is attached.
    fn program(&self) -> AttachedProgram {
        let AttachedPrograms { programs, .. } = self.server.programs();
        let [program] = <[AttachedProgram; 1]>::try_from(programs).unwrap();
        program
    }

    fn end(self) {
        self.server.stop();
        assert_eq!(self.server.programs().programs, []);
        self.node.shutdown();
    }
}

const fn spec(options: MdOptions, start: usize, length: u32) -> MdSpec {
    MdSpec { start, length, threshold: -1, max_size: 0, options, user_ptr: 0, eq: None }
}

const ENTRY: MatchEntry = MatchEntry {
    from: MatchId::ANY,
    match_bits: 1,
    ignore_bits: 0,
    unlink: false,
    position: InsertPosition::After,
};

#[test]
fn a_program_is_shown_with_its_objects_and_its_operations() {
    let fixture = start(|_| ());
    let node = fixture.attach(fixture.connect()).unwrap();
    let shown = fixture.program();
    assert_eq!((shown.name.as_str(), shown.process), (NAME, Some(std::process::id())));
    assert_eq!((shown.user, shown.pid), (Some(rustix::process::geteuid().as_raw()), 777));
    assert_eq!(shown.operations_ring, RingFill { in_use: 0, bytes: BYTES });
    assert_eq!(shown.reports_ring.bytes, 2 * BYTES);
    assert_eq!((shown.counts.operations, shown.registered_bytes), (0, 0));

    node.me_attach(PORTAL, ENTRY).unwrap();
    assert_eq!(node.me_unlink(MeHandle::from_cookie(99)), Err(Errno::NotFound));
    let shown = fixture.program();
    assert_eq!((shown.mes, shown.mds, shown.registered_bytes), (1, 0, 0));
    assert_eq!((shown.counts.operations, shown.counts.refused, shown.counts.reports), (2, 1, 2));

    let own = [7_u8; 100];
    let address = own.as_ptr() as usize;
    let md =
        node.md_bind(spec(MdOptions(0), address, 100), MdMemory::contiguous(address, 100), false).unwrap();
    let shown = fixture.program();
    assert_eq!((shown.mds, shown.payload), (1, PayloadWays { in_place: 0, copied: 1 }));
    assert!(shown.registered_bytes > 0, "the memory for copies is registered");
    node.md_unlink(md).unwrap();
    let now = fixture.program();
    assert_eq!((now.mds, now.payload, now.registered_bytes), (0, shown.payload, shown.registered_bytes));

    let bits = ClaimedBits { portal: PORTAL, match_bits: 1 << 52, ignore_bits: (1 << 52) - 1 };
    node.claim(bits).unwrap();
    assert_eq!(node.claim(bits), Err(Errno::AddressInUse));
    assert_eq!(fixture.program().claims, 1);
    node.release(bits).unwrap();
    assert_eq!((node.release(bits), fixture.program().claims), (Err(Errno::NotFound), 0));

    node.shutdown();
    wait_until("the program has left", || fixture.server.programs().programs.is_empty());
    fixture.end();
}

#[test]
fn attachments_that_are_refused_are_counted() {
    let fixture = start(|config| config.max_clients = 1);
    let hello = |version| ToNode::Hello {
        version,
        operations: WORDS as u64,
        reports: WORDS as u64,
        pid: Pid(777),
        program: NAME.to_owned(),
    };
    let answer = |stream: &UnixStream| Reader::default().read::<ToProgram>(stream).unwrap().1;
    let other_version = fixture.connect();
    hello::send(&other_version, 0, &hello(VERSION + 1), &[]).unwrap();
    assert!(matches!(answer(&other_version), ToProgram::Refused { .. }));
    assert_eq!(fixture.server.programs(), AttachedPrograms { programs: Vec::new(), refused: 1 });
    // The thread of the other one may not have ended yet.
    let mut refused = 1;
    let admitted = loop {
        let stream = fixture.connect();
        // A node that refuses at once may have closed the socket.
        _ = hello::send(&stream, 0, &hello(VERSION), &[]);
        match answer(&stream) {
            ToProgram::Welcome { .. } => break stream,
            ToProgram::Refused { .. } => refused += 1,
        }
    };
    assert!(matches!(answer(&fixture.connect()), ToProgram::Refused { .. }));
    let shown = fixture.server.programs();
    assert_eq!((shown.programs.len(), shown.refused), (1, refused + 1));
    // The node has closed the socket before the program says anything, and the program is told the reason all the same.
    let stream = fixture.connect();
    wait_until("it is refused", || fixture.server.programs().refused == refused + 2);
    let error = fixture.attach(stream).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "1 programs are attached, which is the limit");
    drop(admitted);
    fixture.end();
}

/// A program that does nothing by itself.
struct Puppet {
    stream: UnixStream,
    operations: Producer<SharedMemory>,
    /// The memory of the ring of operations once more.
    words: SharedMemory,
    reports: Consumer<SharedMemory>,
    wake_node: OwnedFd,
    body: Vec<u64>,
}

impl Puppet {
    fn new(fixture: &Fixture) -> Self {
        let stream = fixture.connect();
        let hello = ToNode::Hello {
            version: VERSION,
            operations: WORDS as u64,
            reports: WORDS as u64,
            pid: Pid(777),
            program: NAME.to_owned(),
        };
        hello::send(&stream, 0, &hello, &[]).unwrap();
        let (_, _, descriptors) = Reader::default().read::<ToProgram>(&stream).unwrap();
        let Descriptors { operations, reports, wake_node, .. } =
            Descriptors::from_message(descriptors).unwrap();
        let words = SharedMemory::map(operations.try_clone().unwrap()).unwrap();
        let operations = Producer::new(SharedMemory::map(operations).unwrap()).unwrap();
        let reports = Consumer::new(SharedMemory::map(reports).unwrap()).unwrap();
        Self { stream, operations, words, reports, wake_node, body: Vec::new() }
    }

    /// Asks the node for something; `false` if there is no room. Wakes the node if it sleeps.
    fn try_ask(&mut self, number: u64, operation: &Operation) -> bool {
        let kind = operation.encode(number, &mut self.body);
        let pushed = self.operations.push_words(kind, &self.body).is_ok();
        if self.operations.publish() == Wake::Needed {
            self.wake_node();
        }
        pushed
    }

    fn ask(&mut self, number: u64, operation: &Operation) {
        assert!(self.try_ask(number, operation));
    }

    /// The next report.
    fn next(&mut self) -> (u64, Report) {
        loop {
            if let Some(kind) = self.reports.pop_words(&mut self.body).unwrap() {
                let report = Report::decode(kind, &self.body).unwrap();
                if self.reports.release() == Wake::Needed {
                    self.wake_node();
                }
                return report;
            }
            std::thread::yield_now();
        }
    }

    /// The result of the operation that was asked for last.
    fn result(&mut self, number: u64, operation: &Operation) -> Result<Answer, Errno> {
        self.ask(number, operation);
        loop {
            if let (its, Report::Done { result }) = self.next()
                && its == number
            {
                return result;
            }
        }
    }

    fn wake_node(&self) {
        rustix::io::write(&self.wake_node, &1_u64.to_ne_bytes()).unwrap();
    }
}

#[test]
fn reports_that_are_not_read_fill_the_ring_and_then_wait() {
    let fixture = start(|_| ());
    let mut puppet = Puppet::new(&fixture);
    let mut asked = 0;
    while fixture.program().counts.delayed_reports < 10 {
        asked += u64::from(puppet.try_ask(asked + 1, &Operation::DiscoveryStatus));
    }
    wait_until("all have been carried out", || fixture.program().counts.operations == asked);
    let shown = fixture.program();
    assert_eq!((shown.counts.reports, shown.operations_ring.in_use), (asked, 0));
    assert!((BYTES - 64..=BYTES).contains(&shown.reports_ring.in_use), "{:?}", shown.reports_ring);
    for number in 1..=asked {
        assert_eq!(puppet.next(), (number, Report::Done { result: Ok(Answer::Number(1)) }));
    }
    assert_eq!(fixture.program().reports_ring, RingFill { in_use: 0, bytes: BYTES });
    fixture.end();
}

#[test]
fn wake_ups_are_counted_in_both_directions() {
    let fixture = start(|_| ());
    let mut puppet = Puppet::new(&fixture);
    assert_eq!(puppet.reports.begin_sleep(), Ok(true));
    puppet.ask(1, &Operation::DiscoveryStatus);
    puppet.next();
    puppet.reports.end_sleep();
    assert_eq!(fixture.program().counts.program_wakeups, 1);
    // The layout of the ring has this word.
    wait_until("the node sleeps", || puppet.words[16].load(Ordering::SeqCst) == 1);
    let before = fixture.program().counts.node_wakeups;
    puppet.result(2, &Operation::DiscoveryStatus).unwrap();
    wait_until("the node has been woken", || fixture.program().counts.node_wakeups > before);
    assert_eq!(fixture.program().counts.program_wakeups, 1);
    fixture.end();
}

#[test]
fn memory_that_the_node_uses_in_place_is_told_from_copies() {
    let fixture = start(|_| ());
    let mut puppet = Puppet::new(&fixture);
    let memory = SharedMemory::create(c"test", 8192).unwrap();
    let registration = ToNode::Register { registration: 7 };
    hello::send(&puppet.stream, 1, &registration, &[memory.file()]).unwrap();
    puppet.wake_node();
    assert_eq!(puppet.next(), (1, Report::Done { result: Ok(Answer::Nothing) }));
    // The registration is an operation.
    let shown = fixture.program();
    assert_eq!((shown.registered_bytes, shown.counts.operations), (8192, 1));
    let piece = Piece { registration: 7, offset: 0, len: 64 };
    let mut mds = Vec::new();
    for (number, memory) in
        [(2, ProgramMemory::InPlace(vec![piece])), (3, ProgramMemory::Copied(vec![piece]))]
    {
        let md = Descriptor {
            spec: spec(MdOptions(0), 0, 64),
            memory,
            unlink: false,
            near: None,
            has_handler: false,
        };
        puppet.ask(number, &Operation::MdBind { md });
        let (_, Report::Made { md }) = puppet.next() else { panic!() };
        mds.push(md);
        assert_eq!(puppet.next(), (number, Report::Done { result: Ok(Answer::Nothing) }));
    }
    puppet.result(4, &Operation::Deregister { registration: 7 }).unwrap();
    let shown = fixture.program();
    assert_eq!((shown.payload, shown.mds), (PayloadWays { in_place: 1, copied: 1 }, 2));
    assert_eq!(shown.registered_bytes, 8192, "MDs keep the memory");
    for (number, md) in [(5, mds[0]), (6, mds[1])] {
        assert_eq!(fixture.program().registered_bytes, 8192);
        puppet.result(number, &Operation::MdUnlink { md }).unwrap();
    }
    assert_eq!(fixture.program().registered_bytes, 0);
    fixture.end();
}

#[test]
fn gets_that_wait_for_data_of_the_program_are_shown() {
    let fixture = start(|_| ());
    let mut puppet = Puppet::new(&fixture);
    let attach = Operation::MeAttach { portal: PORTAL, entry: ENTRY };
    let Ok(Answer::Number(me)) = puppet.result(1, &attach) else { panic!() };
    let md = Descriptor {
        spec: spec(MdOptions::OP_GET, 0, 64),
        memory: ProgramMemory::OnDemand(64),
        unlink: false,
        near: None,
        has_handler: false,
    };
    puppet.result(2, &Operation::MdAttach { me: MeHandle::from_cookie(me), md }).unwrap();

    let memory: &'static [u8] = vec![0; 64].leak();
    let start = memory.as_ptr() as usize;
    let data_path = fixture.node.core().data_path();
    let sink =
        data_path.md_bind(spec(MdOptions(0), start, 64), MdMemory::contiguous(start, 64), false).unwrap();
    let target = Target { nid: Some(Nid::LOOPBACK), pid: Pid(777), portal: PORTAL, match_bits: 1, offset: 0 };
    data_path.get(None, sink, target).unwrap();
    let request = loop {
        if let (_, Report::Fetch { request, .. }) = puppet.next() {
            break request;
        }
    };
    assert_eq!(fixture.program().waiting_gets, 1);
    puppet.result(3, &Operation::Fetched { request, data: Err(Errno::Io) }).unwrap();
    assert_eq!(fixture.program().waiting_gets, 0);
    assert_eq!(fixture.program().payload, PayloadWays { in_place: 0, copied: 1 });
    assert_eq!(puppet.result(4, &Operation::MdUnlink { md: MdHandle::from_cookie(0) }), Err(Errno::NotFound));
    assert_eq!(fixture.program().counts.refused, 1);
    fixture.end();
}

/// An MD of the node itself with 64 bytes, and its queue.
fn bind_on_node(node: &Node) -> (MdHandle, EqHandle) {
    let memory: &'static [u8] = vec![5; 64].leak();
    let start = memory.as_ptr() as usize;
    let data_path = node.core().data_path();
    let eq = data_path.eq_alloc(16, None).unwrap();
    let spec = MdSpec { eq: Some(eq), ..spec(MdOptions(0), start, 64) };
    (data_path.md_bind(spec, MdMemory::contiguous(start, 64), false).unwrap(), eq)
}

/// The kinds of the events that a queue of the node has, without waiting.
fn kinds(node: &Node, eq: EqHandle) -> Vec<EventKind> {
    std::iter::from_fn(|| node.core().data_path().eq_get(eq).unwrap())
        .map(|polled| polled.event.kind)
        .collect()
}

/// Each PUT goes to the offset that it names.
const TAKES_PUTS: MdOptions = MdOptions(MdOptions::OP_PUT.0 | MdOptions::MANAGE_REMOTE.0);

const TO_PROGRAM: Target =
    Target { nid: Some(Nid::LOOPBACK), pid: Pid(777), portal: PORTAL, match_bits: 1, offset: 0 };

/// Fails if the sender of a PUT can send the next one into the memory that a handler still looks at.
#[test]
fn the_ack_of_a_put_leaves_when_the_handler_has_run_or_the_program_is_gone() {
    let fixture = start(|_| ());
    let mut puppet = Puppet::new(&fixture);
    let memory = SharedMemory::create(c"test", 4096).unwrap();
    hello::send(&puppet.stream, 1, &ToNode::Register { registration: 7 }, &[memory.file()]).unwrap();
    puppet.wake_node();
    puppet.next();
    let attach = Operation::MeAttach { portal: PORTAL, entry: ENTRY };
    let Ok(Answer::Number(me)) = puppet.result(2, &attach) else { panic!() };
    let pieces = vec![Piece { registration: 7, offset: 0, len: 64 }];
    let md = Descriptor {
        spec: spec(TAKES_PUTS, 0, 64),
        memory: ProgramMemory::InPlace(pieces),
        unlink: false,
        near: None,
        has_handler: true,
    };
    puppet.result(3, &Operation::MdAttach { me: MeHandle::from_cookie(me), md }).unwrap();
    let (source, eq) = bind_on_node(&fixture.node);
    for is_handled in [true, false] {
        fixture.node.core().data_path().put(None, source, true, TO_PROGRAM, 0).unwrap();
        assert_eq!(kinds(&fixture.node, eq), [EventKind::Send]);
        assert!(matches!(puppet.next(), (0, Report::Happened { event }) if event.kind == EventKind::Put));
        let (0, Report::WantsHandling { request, .. }) = puppet.next() else { panic!() };
        assert_eq!(fixture.program().waiting_acks, 1);
        if is_handled {
            puppet.result(4, &Operation::Handled { request }).unwrap();
            assert_eq!(kinds(&fixture.node, eq), [EventKind::Ack]);
            assert_eq!(puppet.result(5, &Operation::Handled { request }), Err(Errno::NotFound));
        }
    }
    drop(puppet);
    wait_until("the program is gone", || fixture.server.programs().programs.is_empty());
    assert_eq!(kinds(&fixture.node, eq), [EventKind::Ack]);
    fixture.end();
}

/// Fails if the library says that an event is handled before its handler has returned.
#[test]
fn a_handler_of_the_library_keeps_the_ack_until_it_returns() {
    let fixture = start(|_| ());
    let node = fixture.attach(fixture.connect()).unwrap();
    let (begun, is_begun) = std::sync::mpsc::channel();
    let (end, may_end) = std::sync::mpsc::channel();
    let waits = std::sync::Mutex::new((begun, may_end));
    let handler = move |event: &lnet_core::Event| {
        if event.kind == EventKind::Put {
            let (begun, may_end) = &*waits.lock().unwrap();
            begun.send(()).unwrap();
            may_end.recv().unwrap();
        }
    };
    let sink: &'static [u8] = vec![0; 64].leak();
    let eq = Some(node.eq_alloc(0, Some(Box::new(handler))).unwrap());
    let start = sink.as_ptr() as usize;
    let me = node.me_attach(PORTAL, ENTRY).unwrap();
    let spec = MdSpec { eq, ..spec(TAKES_PUTS, start, 64) };
    let mut md = None;
    node.md_attach(me, spec, MdMemory::contiguous(start, 64), false, &mut |made| md = Some(made)).unwrap();
    let (source, node_eq) = bind_on_node(&fixture.node);
    for _ in 0..3 {
        fixture.node.core().data_path().put(None, source, true, TO_PROGRAM, 0).unwrap();
        is_begun.recv().unwrap();
        assert_eq!(kinds(&fixture.node, node_eq), [EventKind::Send]);
        end.send(()).unwrap();
        wait_until("the ACK has come", || kinds(&fixture.node, node_eq) == [EventKind::Ack]);
    }
    node.shutdown();
    fixture.end();
}
