//! A program that sends without end to a peer that does not answer: the node carries out its requests as far as its share goes, and
//! other programs send as before.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod live;
mod raw_program;

use live::{TIMEOUT, Talker, free_port, nids, node_with, wait_until};
use lnet_attach::client::{AttachedNode, ClientConfig};
use lnet_attach::record::Operation;
use lnet_core::{DiscoveryMode, EqHandle, Errno, Event, EventKind, MdMemory, MdOptions, MdSpec, Target};
use lnet_dlc::request::AttachedProgram;
use lnet_dlc::runtime_dir::RuntimeDir;
use lnet_node::{AttachConfig, AttachServer, Node};
use lnet_os::descriptor::connect_unix;
use lnet_wire::{Nid, Pid};
use raw_program::{RawProgram, descriptor};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// The bound on the requests of a program.
const MAX_REQUESTS: u32 = 100;
/// The portal and the match bits of a [`Talker`].
const PORTAL: u32 = 9;
const BITS: u64 = 1;
const OWN: &str = "127.0.7.1";
const LIVING: &str = "127.0.7.2";
const UNRESPONSIVE: &str = "127.0.7.3";

/// A node that admits programs, a peer that takes PUTs, and one that accepts connections and answers nothing.
struct Rig {
    node: Arc<Node>,
    server: AttachServer,
    directory: TempDir,
    living: Talker,
    unresponsive: TcpListener,
}

impl Rig {
    fn new(mode: DiscoveryMode) -> Self {
        // Without discovery no request waits for a ping: they are messages at once, which wait for credits.
        Self::with(mode, &[("LNET_TRANSACTION_TIMEOUT", "4"), ("LNET_FIRST_PING", "0")])
    }

    fn with(mode: DiscoveryMode, variables: &[(&str, &str)]) -> Self {
        let port = free_port();
        let [node, living] =
            [OWN, LIVING].map(|address| node_with(port, &format!("tcp({address})"), mode, variables));
        let unresponsive = TcpListener::bind((UNRESPONSIVE, port)).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let config = AttachConfig::new(RuntimeDir::at(directory.path()));
        let server =
            AttachServer::start(AttachConfig { max_requests: MAX_REQUESTS, ..config }, &node).unwrap();
        Self { node, server, directory, living: Talker::new(living), unresponsive }
    }

    fn connect(&self) -> UnixStream {
        let path = RuntimeDir::at(self.directory.path()).attach_socket(self.node.name());
        connect_unix(&path).unwrap()
    }

    /// The program that attached first.
    fn first(&self) -> AttachedProgram {
        self.server.programs().programs.remove(0)
    }

    fn messages(&self) -> u64 {
        self.node.core().message_counts().msgs_alloc
    }

    fn end(self) {
        self.server.stop();
        [self.node, self.living.node].iter().for_each(|node| node.shutdown());
    }
}

fn to(address: &str) -> Target {
    let nid = nids(&[address]).first().copied();
    Target { nid, pid: Pid::LUSTRE, portal: PORTAL, match_bits: BITS, offset: 0 }
}

/// A program that keeps the rules.
struct Program {
    node: Arc<AttachedNode>,
    eq: EqHandle,
}

impl Program {
    fn attach(rig: &Rig) -> Self {
        let (operations, reports, spin) = (4096, 4096, Duration::ZERO);
        let config = ClientConfig { pid: Pid::LUSTRE, program: "good".to_owned(), operations, reports, spin };
        let node = AttachedNode::attach(rig.connect(), &config).unwrap();
        let eq = node.eq_alloc(64, None).unwrap();
        Self { node, eq }
    }

    fn begin_put(&self, target: Target) {
        let bytes: &'static [u8] = vec![7; 4096].leak();
        let (start, eq) = (bytes.as_ptr() as usize, Some(self.eq));
        let options = MdOptions(0);
        let spec = MdSpec { start, length: 4096, threshold: 2, max_size: 0, options, user_ptr: 0, eq };
        let md = self.node.md_bind(spec, MdMemory::contiguous(start, 4096), true).unwrap();
        self.node.put(None, md, true, target, 0).unwrap();
    }

    fn next(&self) -> Event {
        let (_, polled) = self.node.eq_poll(&[self.eq], Some(TIMEOUT)).unwrap().expect("an event in time");
        polled.event
    }

    /// Sends a PUT that is acknowledged.
    fn put(&self, target: Target) {
        self.begin_put(target);
        for _ in 0..2 {
            let event = self.next();
            assert_eq!(event.status, Ok(()), "{event:?}");
        }
    }
}

/// Fails if the messages of a program have no bound, if it gets more than its share, or if others wait for it. With discovery its requests
/// wait for that, without it they wait for credits.
#[test]
fn a_program_that_sends_without_end_has_a_limited_number_of_messages_and_others_send() {
    for mode in [DiscoveryMode::Off, DiscoveryMode::On] {
        let rig = Rig::new(mode);
        let mut hostile = RawProgram::attach(rig.connect());
        hostile.call(&Operation::MdBind { md: descriptor(MdOptions(0), Vec::new()) }).unwrap();
        let md = hostile.md.unwrap();
        let put = Operation::Put { from: None, md, ack: false, target: to(UNRESPONSIVE), hdr_data: 0 };
        let before = rig.first().counts.operations;
        let mut begun = 0;
        wait_until("the node reads no further", || {
            while hostile.try_begin(&put) {
                begun += 1;
            }
            let shown = rig.first();
            let is_full = shown.operations_ring.bytes - shown.operations_ring.in_use < 256;
            is_full
                && begun > 10 * MAX_REQUESTS
                && shown.counts.operations >= before + u64::from(MAX_REQUESTS)
        });
        assert!(rig.messages() < u64::from(MAX_REQUESTS) + 20, "{} of {mode:?}", rig.messages());

        let good = Program::attach(&rig);
        (0..20).for_each(|_| good.put(to(LIVING)));
        (0..20).for_each(|_| _ = rig.living.arrival());
        // To the same peer: the requests of both fail in the end, and the next ones of the hostile program begin.
        good.begin_put(to(UNRESPONSIVE));
        let event = good.next();
        assert_eq!((event.kind, event.status.is_err()), (EventKind::Send, true), "{event:?}");
        wait_until("further requests begin", || {
            rig.first().counts.operations > before + u64::from(MAX_REQUESTS)
        });
        assert!(rig.messages() < u64::from(MAX_REQUESTS) + 20, "{} of {mode:?}", rig.messages());

        drop(hostile);
        wait_until("the hostile program has gone", || rig.server.programs().programs.len() == 1);
        wait_until("its messages have gone", || rig.messages() < 10);
        good.node.shutdown();
        drop(rig.unresponsive.accept());
        rig.end();
    }
}

/// Fails if a program cannot do anything else, or cannot even unlink the MD, while its requests wait.
#[test]
fn a_program_whose_requests_wait_can_do_all_else() {
    let rig = Rig::new(DiscoveryMode::Off);
    let mut program = RawProgram::attach(rig.connect());
    let bind = Operation::MdBind { md: descriptor(MdOptions(0), Vec::new()) };
    program.call(&bind).unwrap();
    let md = program.md.unwrap();
    let put = Operation::Put { from: None, md, ack: false, target: to(UNRESPONSIVE), hdr_data: 0 };
    (0..MAX_REQUESTS + 5).for_each(|_| assert!(program.try_begin(&put)));
    let before = rig.first().counts.operations;
    program.call(&bind).unwrap();
    program.call(&Operation::Distance { nid: Nid::LOOPBACK }).unwrap();
    assert!(rig.first().counts.operations <= before + u64::from(MAX_REQUESTS) + 2);
    program.call(&Operation::MdUnlink { md }).unwrap();
    assert_eq!(program.call(&Operation::MdUnlink { md }), Err(Errno::NotFound));
    rig.end();
}

/// Fails if an operation that waits for a peer keeps the others of the program waiting.
#[test]
fn a_program_that_waits_for_a_primary_nid_can_do_all_else() {
    let rig = Rig::with(DiscoveryMode::On, &[("LNET_LOCK_PRIM_NID", "0")]);
    let mut program = RawProgram::attach(rig.connect());
    for _ in 0..3 {
        assert!(program.try_begin(&Operation::PrimaryNid { nid: to(UNRESPONSIVE).nid.unwrap() }));
    }
    // The peer is not discovered before its time is over.
    program.call(&Operation::DiscoveryStatus).unwrap();
    assert_eq!(rig.first().counts.operations, 4);
    assert_eq!(program.results, 1);
    drop(program);
    wait_until("the program has gone", || rig.server.programs().programs.is_empty());
    rig.end();
}
