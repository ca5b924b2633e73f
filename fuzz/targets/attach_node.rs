//! A node with a hostile program: whatever operations the program asks for, and whatever it writes into the two rings, costs it the attachment
//! at most. The node has no message left when it has gone.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lnet_attach::hello::{Descriptors, Reader, ToNode, ToProgram, VERSION, send};
use lnet_attach::record::{Answer, Descriptor, MatchEntry, Message, Operation, Piece, ProgramMemory, Report};
use lnet_core::{Errno, InsertPosition, MatchId, MdHandle, MdOptions, MdSpec, MeHandle, Target};
use lnet_dlc::runtime_dir::RuntimeDir;
use lnet_node::{AttachConfig, AttachServer, DriverConfigs, Node, StartConfig};
use lnet_os::shared_memory::SharedMemory;
use lnet_ring::{Consumer, Producer};
use lnet_wire::{Nid, Pid};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::{env, process, thread};

/// The words of a ring.
const CAPACITY: u64 = 4096;
/// The number of looks at the node before a program that it does not answer goes on.
const MAX_LOOKS: u32 = 2000;
/// The bytes of memory that a program registers.
const REGISTERED: usize = 8192;

/// A node on the loopback that admits programs.
struct Host {
    node: Arc<Node>,
    server: AttachServer,
    socket: PathBuf,
}

impl Host {
    fn start() -> Self {
        let directory = env::temp_dir().join(format!("lnet-fuzz-{}", process::id()));
        fs::create_dir_all(&directory).expect("a directory for the socket");
        let name = "n".parse().expect("the name of a node");
        let config = StartConfig { name, drivers: DriverConfigs::none(), ..StartConfig::default() };
        let node = Node::start(Pid::LUSTRE, config).expect("a node");
        let config = AttachConfig::new(RuntimeDir::at(&directory));
        // Small limits are reached.
        let config = AttachConfig { max_objects: 64, max_requests: 8, max_unread: 64, ..config };
        let server = AttachServer::start(config, &node).expect("a server");
        Self { node, server, socket: directory.join("n.attach") }
    }

    fn has_program(&self) -> bool {
        self.server.has_programs()
    }

    /// Waits until the node has read all that a program has written, unless it does not.
    fn wait(&self) {
        for _ in 0..MAX_LOOKS {
            let shown = self.server.programs().programs;
            if shown.first().is_none_or(|program| program.operations_ring.in_use == 0) {
                break;
            }
            thread::yield_now();
        }
    }
}

/// The bytes of an input, from which everything is taken; zeros behind its end.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn number(&mut self) -> u64 {
        let bytes = [0; 8].map(|_: u8| self.byte());
        u64::from_le_bytes(bytes)
    }

    fn bytes(&mut self) -> &'a [u8] {
        let len = usize::from(self.byte()).min(self.0.len());
        let (first, rest) = self.0.split_at(len);
        self.0 = rest;
        first
    }

    fn below(&mut self, limit: u8) -> u32 {
        u32::from(self.byte() % limit)
    }
}

/// A program that is attached.
struct Program {
    stream: UnixStream,
    operations: Producer<SharedMemory>,
    reports: Consumer<SharedMemory>,
    /// The memory of both rings once more.
    memory: [SharedMemory; 2],
    wake_node: File,
    /// The handles and requests that the node has given it, the last first.
    mes: Vec<MeHandle>,
    mds: Vec<MdHandle>,
    fetches: Vec<u64>,
    acks: Vec<u64>,
    number: u64,
}

impl Program {
    fn attach(host: &Host) -> Option<Self> {
        let stream = UnixStream::connect(&host.socket).ok()?;
        let (version, pid, program) = (VERSION, Pid::LUSTRE, "fuzz".to_owned());
        let hello = ToNode::Hello { version, operations: CAPACITY, reports: CAPACITY, pid, program };
        send(&stream, 0, &hello, &[]).ok()?;
        let (_, welcome, descriptors) = Reader::default().read::<ToProgram>(&stream).ok()?;
        assert!(matches!(welcome, ToProgram::Welcome { .. }), "{welcome:?}");
        let Descriptors { operations, reports, wake_node, .. } = Descriptors::from_message(descriptors)?;
        let map = |file: &std::os::fd::OwnedFd| SharedMemory::map(file.try_clone().ok()?).ok();
        Some(Self {
            stream,
            operations: Producer::new(map(&operations)?).ok()?,
            reports: Consumer::new(map(&reports)?).ok()?,
            memory: [map(&operations)?, map(&reports)?],
            wake_node: File::from(wake_node),
            mes: Vec::new(),
            mds: Vec::new(),
            fetches: Vec::new(),
            acks: Vec::new(),
            number: 0,
        })
    }

    fn push(&mut self, kind: u32, body: &[u64]) {
        _ = self.operations.push_words(kind, body);
        _ = self.operations.publish();
        self.wake();
    }

    fn wake(&self) {
        // Never blocks: the counter is far from full.
        _ = (&self.wake_node).write(&1_u64.to_ne_bytes());
    }

    fn ask(&mut self, operation: &Operation) {
        self.number += 1;
        let mut body = Vec::new();
        let kind = operation.encode(self.number, &mut body);
        self.push(kind, &body);
    }

    /// Reads what the node tells, as far as the ring is still right.
    fn read(&mut self) {
        let mut body = Vec::new();
        while let Ok(Some(kind)) = self.reports.pop_words(&mut body) {
            match Report::decode(kind, &body) {
                Ok((_, Report::Done { result: Ok(Answer::Number(cookie)) })) => {
                    self.mes.insert(0, MeHandle::from_cookie(cookie));
                }
                Ok((_, Report::Made { md })) => self.mds.insert(0, md),
                Ok((_, Report::Fetch { request, .. })) => self.fetches.insert(0, request),
                Ok((_, Report::WantsHandling { request, .. })) => self.acks.insert(0, request),
                _ => {}
            }
        }
        _ = self.reports.release();
        self.wake();
    }

    fn me(&self, input: &mut Input<'_>) -> MeHandle {
        let at = usize::from(input.byte());
        self.mes.get(at).copied().unwrap_or_else(|| MeHandle::from_cookie(at as u64))
    }

    fn md(&self, input: &mut Input<'_>) -> MdHandle {
        let at = usize::from(input.byte());
        self.mds.get(at).copied().unwrap_or_else(|| MdHandle::from_cookie(at as u64))
    }

    /// An operation that a program may ask for, with what it has.
    fn operation(&self, input: &mut Input<'_>) -> Operation {
        match input.below(13) {
            0 => Operation::MeAttach { portal: input.below(4), entry: entry(input) },
            1 => Operation::MeInsert { beside: self.me(input), entry: entry(input) },
            2 => Operation::MeUnlink { me: self.me(input) },
            3 | 4 => Operation::MdAttach { me: self.me(input), md: descriptor(input) },
            5 => Operation::MdBind { md: descriptor(input) },
            6 => Operation::MdUnlink { md: self.md(input) },
            7 | 8 => {
                let (md, ack, target) = (self.md(input), input.below(2) == 0, target(input));
                Operation::Put { from: None, md, ack, target, hdr_data: 7 }
            }
            9 => Operation::Get { from: None, md: self.md(input), target: target(input) },
            10 => {
                let at = usize::from(input.byte());
                let request = self.fetches.get(at).copied().unwrap_or(at as u64);
                let data = if input.below(4) == 0 { Err(Errno::Io) } else { Ok(vec![piece(input)]) };
                Operation::Fetched { request, data }
            }
            11 => {
                let at = usize::from(input.byte());
                Operation::Handled { request: self.acks.get(at).copied().unwrap_or(at as u64) }
            }
            _ => Operation::Lazy { portal: input.below(4), is_lazy: input.below(2) == 0 },
        }
    }

    /// Does the next thing of an input.
    fn step(&mut self, host: &Host, input: &mut Input<'_>) {
        match input.below(8) {
            0..4 => {
                let operation = self.operation(input);
                self.ask(&operation);
            }
            4 => {
                // Small words get further than any.
                let (kind, last) = (input.below(25), input.number());
                let body: Vec<u64> = input.bytes().iter().map(|byte| u64::from(*byte)).chain([last]).collect();
                self.push(kind, &body);
            }
            5 => {
                let words: &[AtomicU64] = &self.memory[input.below(2) as usize];
                let at = usize::from(input.byte()) | usize::from(input.byte()) << 8;
                words[at % words.len()].store(input.number(), Ordering::Relaxed);
                self.wake();
            }
            6 => {
                let Ok(memory) = SharedMemory::create(c"fuzz", REGISTERED) else { return };
                let registration = input.below(3);
                _ = send(&self.stream, 1, &ToNode::Register { registration }, &[memory.file()]);
                self.wake();
            }
            _ => {
                host.wait();
                self.read();
            }
        }
    }
}

fn entry(input: &mut Input<'_>) -> MatchEntry {
    let position = if input.below(2) == 0 { InsertPosition::After } else { InsertPosition::Before };
    let (match_bits, unlink) = (u64::from(input.below(4)), input.below(2) == 0);
    MatchEntry { from: MatchId::ANY, match_bits, ignore_bits: u64::from(input.below(4)), unlink, position }
}

fn piece(input: &mut Input<'_>) -> Piece {
    let (registration, offset) = (input.below(3), u64::from(input.byte()) * 64);
    Piece { registration, offset, len: u32::from(input.byte()) * 64 }
}

fn descriptor(input: &mut Input<'_>) -> Descriptor {
    let pieces: Vec<Piece> = (0..input.below(3)).map(|_| piece(input)).collect();
    let len = pieces.iter().map(|piece| piece.len).sum();
    let memory = match input.below(3) {
        0 => ProgramMemory::InPlace(pieces),
        1 => ProgramMemory::Copied(pieces),
        _ => ProgramMemory::OnDemand(len),
    };
    let options = MdOptions(u32::from(input.byte()));
    let threshold = i32::from(input.byte().cast_signed());
    let max_size = i32::from(input.byte());
    let spec = MdSpec { start: 0, length: len, threshold, max_size, options, user_ptr: 0, eq: None };
    Descriptor { spec, memory, unlink: input.below(2) == 0, near: None, has_handler: input.below(2) == 0 }
}

fn target(input: &mut Input<'_>) -> Target {
    let (portal, match_bits) = (input.below(4), u64::from(input.below(4)));
    let offset = u32::from(input.byte()) * 64;
    Target { nid: Some(Nid::LOOPBACK), pid: Pid::LUSTRE, portal, match_bits, offset }
}

fuzz_target!(|bytes: &[u8]| {
    static HOST: OnceLock<Host> = OnceLock::new();
    let host = HOST.get_or_init(Host::start);
    let Some(mut program) = Program::attach(host) else { return };
    let mut input = Input(bytes);
    while !input.0.is_empty() {
        program.step(host, &mut input);
    }
    host.wait();
    drop(program);
    while host.has_program() {
        thread::yield_now();
    }
    let messages = host.node.core().message_counts().msgs_alloc;
    assert_eq!(messages, 0, "messages of a program that has gone");
});
