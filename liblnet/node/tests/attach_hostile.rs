//! Programs that break the rules of the attachment: it costs them the attachment at most, and other programs go on.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod raw_program;

use lnet_attach::client::{AttachedNode, ClientConfig};
use lnet_attach::hello::{Reader, ToNode, ToProgram, VERSION, send};
use lnet_attach::record::{ClaimedBits, Message, Operation, Piece};
use lnet_core::{Errno, MdHandle, MdMemory, MdOptions, MdSpec, MeHandle, Target};
use lnet_dlc::runtime_dir::RuntimeDir;
use lnet_node::{AttachConfig, AttachServer, DriverConfigs, Node, StartConfig};
use lnet_os::descriptor::connect_unix;
use lnet_os::shared_memory::SharedMemory;
use lnet_wire::{Nid, Pid};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use raw_program::{RawProgram, descriptor, entry, hello};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

const FOR_EVER: Duration = Duration::from_secs(30);
const PORTAL: u32 = 5;

/// A node that admits programs.
struct Rig {
    node: Arc<Node>,
    server: Option<AttachServer>,
    directory: tempfile::TempDir,
}

impl Rig {
    fn new(change: impl FnOnce(&mut AttachConfig)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let config = StartConfig {
            name: "n".parse().unwrap(),
            drivers: DriverConfigs::none(),
            ..StartConfig::default()
        };
        let node = Node::start(Pid::LUSTRE, config).unwrap();
        let mut attach = AttachConfig::new(RuntimeDir::at(directory.path()));
        change(&mut attach);
        let server = Some(AttachServer::start(attach, &node).unwrap());
        Self { node, server, directory }
    }

    fn connect(&self) -> UnixStream {
        let stream = connect_unix(&self.directory.path().join("n.attach")).unwrap();
        stream.set_read_timeout(Some(FOR_EVER)).unwrap();
        stream
    }

    fn attach(&self) -> Arc<AttachedNode> {
        let config = ClientConfig {
            pid: Pid::LUSTRE,
            program: "good".to_owned(),
            operations: 4096,
            reports: 4096,
            spin: Duration::ZERO,
        };
        AttachedNode::attach(self.connect(), &config).unwrap()
    }

    /// Fails if a program that keeps the rules is not served.
    fn check(&self) {
        let program = self.attach();
        let bytes = [7_u8; 64];
        let (start, options) = (bytes.as_ptr() as usize, MdOptions(0));
        let eq = program.eq_alloc(8, None).unwrap();
        let spec =
            MdSpec { start, length: 64, threshold: 1, max_size: 0, options, user_ptr: 0, eq: Some(eq) };
        let md = program.md_bind(spec, MdMemory::contiguous(start, 64), true).unwrap();
        program.put(None, md, false, to_self(), 0).unwrap();
        let (_, polled) = program.eq_poll(&[eq], Some(FOR_EVER)).unwrap().unwrap();
        assert!(polled.event.unlinked);
        program.shutdown();
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.server = None;
        self.node.shutdown();
    }
}

fn to_self() -> Target {
    Target { nid: Some(Nid::LOOPBACK), pid: Pid::LUSTRE, portal: PORTAL, match_bits: 1, offset: 0 }
}

#[test]
fn what_is_no_hello_is_refused_with_the_reason() {
    let rig = Rig::new(|_| ());
    for (message, why) in [
        (hello(VERSION + 1, 4096, 4096), "version"),
        (hello(VERSION, 4095, 4096), "rings of 4095 and 4096 words"),
        (hello(VERSION, 4096, u64::MAX), "rings of 4096 and"),
        (ToNode::Register { registration: 1 }, "it has not sent a hello"),
    ] {
        let stream = rig.connect();
        send(&stream, 0, &message, &[]).unwrap();
        match Reader::default().read(&stream).unwrap() {
            (_, ToProgram::Refused { why: text, .. }, _) => assert!(text.contains(why), "{text}"),
            (_, other, _) => panic!("{other:?}"),
        }
    }
    // Neither bytes that are no message, nor their lack.
    lnet_os::socket::send_all(rig.connect(), &[0xff; 100]).unwrap();
    let _unresponsive = rig.connect();
    rig.check();
}

#[test]
fn more_programs_than_the_limit_are_refused() {
    let rig = Rig::new(|config| config.max_clients = 2);
    let (_one, _other) = (RawProgram::attach(rig.connect()), RawProgram::attach(rig.connect()));
    let stream = rig.connect();
    match Reader::default().read(&stream).unwrap() {
        (_, ToProgram::Refused { why, .. }, _) => assert!(why.contains("2 programs are attached"), "{why}"),
        (_, other, _) => panic!("{other:?}"),
    }
}

#[test]
fn a_program_can_use_neither_handles_nor_memory_of_another() {
    let rig = Rig::new(|_| ());
    let (mut good, mut bad) = (RawProgram::attach(rig.connect()), RawProgram::attach(rig.connect()));
    let memory = SharedMemory::create(c"test", 4096).unwrap();
    good.register(1, &[&memory.file()]).unwrap();
    good.call(&Operation::MeAttach { portal: PORTAL, entry: entry() }).unwrap();
    let piece = Piece { registration: 1, offset: 0, len: 8 };
    good.call(&Operation::MdBind { md: descriptor(MdOptions(0), vec![piece]) }).unwrap();
    // The node's own portal.
    let own = Operation::MeAttach { portal: 0, entry: entry() };
    assert_eq!(bad.call(&own), Err(Errno::NotPermitted));
    assert_eq!(bad.call(&Operation::Lazy { portal: 0, is_lazy: true }), Err(Errno::NotPermitted));
    // A claim of the other program.
    let bits = ClaimedBits { portal: PORTAL, match_bits: 7, ignore_bits: 0 };
    good.call(&Operation::Claim { bits }).unwrap();
    assert_eq!(bad.call(&Operation::Release { bits }), Err(Errno::NotFound));
    assert_eq!(bad.call(&Operation::Claim { bits }), Err(Errno::AddressInUse));
    // The registration is the other program's.
    assert_eq!(bad.call(&Operation::MdBind { md: descriptor(MdOptions(0), vec![piece]) }), Err(Errno::Fault));
    // Cookies are small patterns of bits: all near those of objects that exist.
    let guesses = (0..4_u64).flat_map(|kind| (0..1 << 12).map(move |slot| slot << 8 | kind));
    for cookie in guesses.step_by(97).chain([0, u64::MAX]) {
        let (me, md) = (MeHandle::from_cookie(cookie), MdHandle::from_cookie(cookie));
        for operation in [
            Operation::MeUnlink { me },
            Operation::MeUnlinkUnused { me },
            Operation::MdUnlink { md },
            Operation::MdAttach { me, md: descriptor(MdOptions::OP_PUT, Vec::new()) },
            Operation::MeInsert { beside: me, entry: entry() },
            Operation::Get { from: None, md, target: to_self() },
        ] {
            assert_eq!(bad.call(&operation), Err(Errno::NotFound), "{operation:?}");
        }
    }
    // Beyond its own memory is nothing.
    bad.register(1, &[&memory.file()]).unwrap();
    for (offset, len) in [(4096, 1), (4090, 7), (u64::MAX, 1), (0, u32::MAX)] {
        let piece = Piece { registration: 1, offset, len };
        assert_eq!(
            bad.call(&Operation::MdBind { md: descriptor(MdOptions(0), vec![piece]) }),
            Err(Errno::Fault)
        );
    }
    rig.check();
}

#[test]
fn registrations_are_checked_and_limited() {
    let rig = Rig::new(|config| config.max_registered = 10_000);
    let mut bad = RawProgram::attach(rig.connect());
    let (small, large) =
        (SharedMemory::create(c"s", 6000).unwrap(), SharedMemory::create(c"l", 9000).unwrap());
    let file = tempfile::tempfile().unwrap();
    for (files, expected) in [
        (&[][..], Err(Errno::Invalid)),
        (&[&small.file() as &dyn AsFd, &small.file()], Err(Errno::Invalid)),
        (&[&file], Err(Errno::Invalid)),
        (&[&large.file()], Ok(())),
        // Its number is in use.
        (&[&small.file()], Err(Errno::Exists)),
    ] {
        assert_eq!(bad.register(1, files), expected);
    }
    assert_eq!(bad.register(2, &[&small.file()]), Err(Errno::NoMemory));
    bad.call(&Operation::Deregister { registration: 1 }).unwrap();
    assert_eq!(bad.register(2, &[&small.file()]), Ok(()));
}

/// Fails if a program takes the mappings or descriptors of the node by many small pieces, or by MDs that keep what it has given back.
#[test]
fn a_program_has_a_limited_number_of_pieces_registered_and_those_that_mds_keep_count() {
    let rig = Rig::new(|config| config.max_registrations = 3);
    let mut bad = RawProgram::attach(rig.connect());
    let memory = SharedMemory::create(c"small", 8).unwrap();
    for registration in 0..3 {
        bad.register(registration, &[&memory.file()]).unwrap();
        let piece = Piece { registration, offset: 0, len: 8 };
        bad.call(&Operation::MdBind { md: descriptor(MdOptions(0), vec![piece]) }).unwrap();
        bad.call(&Operation::Deregister { registration }).unwrap();
    }
    assert_eq!(bad.register(3, &[&memory.file()]), Err(Errno::NoMemory));
    bad.call(&Operation::MdUnlink { md: bad.md.unwrap() }).unwrap();
    assert_eq!(bad.register(3, &[&memory.file()]), Ok(()));
}

#[test]
fn a_program_has_no_more_objects_than_the_limit() {
    let rig = Rig::new(|config| config.max_objects = 3);
    let mut bad = RawProgram::attach(rig.connect());
    let attach = Operation::MeAttach { portal: PORTAL, entry: entry() };
    (0..3).for_each(|_| bad.call(&attach).unwrap());
    assert_eq!(bad.call(&attach), Err(Errno::NoMemory));
    assert_eq!(
        bad.call(&Operation::MdBind { md: descriptor(MdOptions(0), Vec::new()) }),
        Err(Errno::NoMemory)
    );
}

/// Fails if a program that does not read what it is told lets the node grow, or stops it.
#[test]
fn a_program_that_does_not_read_its_reports_loses_its_attachment() {
    let rig = Rig::new(|config| config.max_unread = 100);
    let mut bad = RawProgram::attach(rig.connect());
    let mut body = Vec::new();
    let kind = Operation::DiscoveryStatus.encode(1, &mut body);
    // Each has a report.
    for _ in 0..100_000 {
        if bad.operations.push_words(kind, &body).is_err() {
            break;
        }
        _ = bad.operations.publish();
        bad.wake();
    }
    let mut tries = 0;
    while bad.operations.begin_wait(body.len()).is_ok() && tries < 200 {
        bad.operations.end_wait();
        while bad.operations.push_words(kind, &body).is_ok() {}
        _ = bad.operations.publish();
        if rustix::io::write(&bad.wake_node, &1_u64.to_ne_bytes()).is_err() {
            break;
        }
        tries += 1;
        std::thread::yield_now();
    }
    bad.wait_for_end();
    rig.check();
}

#[test]
fn whatever_is_in_the_rings_ends_one_attachment_at_most() {
    let rig = Rig::new(|_| ());
    let word = || prop_oneof![0..200_u64, any::<u64>()];
    let kinds = || prop_oneof![0..25_u32, any::<u32>()];
    let records = prop::collection::vec((kinds(), prop::collection::vec(word(), 0..40)), 0..20);
    let words = prop::collection::vec((0..4128_usize, word()), 0..20);
    let mut runner = TestRunner::new(Config { cases: 200, failure_persistence: None, ..Config::default() });
    runner
        .run(&(records, words, any::<bool>()), |(records, words, in_reports)| {
            let mut bad = RawProgram::attach(rig.connect());
            for (kind, body) in &records {
                bad.push(*kind, body);
            }
            let memory = &bad.memory[usize::from(in_reports)];
            for (at, word) in &words {
                memory[*at % memory.len()].store(*word, Ordering::Relaxed);
            }
            bad.wake();
            Ok(())
        })
        .unwrap();
    rig.check();
}
