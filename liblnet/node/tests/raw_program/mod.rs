//! A program that writes its rings itself, whatever the rules are. Each test file uses a part of this.
#![allow(dead_code, unreachable_pub)]

use lnet_attach::hello::{Descriptors, Reader, ToNode, ToProgram, VERSION, send};
use lnet_attach::record::{Descriptor, MatchEntry, Message, Operation, Piece, ProgramMemory, Report};

use lnet_core::{Errno, InsertPosition, MatchId, MdHandle, MdOptions, MdSpec};
use lnet_os::shared_memory::SharedMemory;
use lnet_ring::{Consumer, Producer, Wake};
use lnet_wire::Pid;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// The first message of a program.
pub fn hello(version: u32, operations: u64, reports: u64) -> ToNode {
    ToNode::Hello { version, operations, reports, pid: Pid::LUSTRE, program: "bad\n\u{1b}[2J".to_owned() }
}

/// A program that speaks the language of the attachment itself.
pub struct RawProgram {
    pub stream: UnixStream,
    pub operations: Producer<SharedMemory>,
    pub reports: Consumer<SharedMemory>,
    /// The memory of both rings.
    pub memory: [SharedMemory; 2],
    pub wake_node: OwnedFd,
    wake_program: OwnedFd,
    number: u64,
    /// The number of results that were read.
    pub results: u32,
    /// The MD that was made last.
    pub md: Option<MdHandle>,
}

impl RawProgram {
    /// Attaches by this connection to the socket of a node.
    pub fn attach(stream: UnixStream) -> Self {
        send(&stream, 0, &hello(VERSION, 4096, 4096), &[]).unwrap();
        let (_, answer, descriptors) = Reader::default().read(&stream).unwrap();
        assert!(matches!(answer, ToProgram::Welcome { .. }));
        let Descriptors { operations, reports, wake_node, wake_program, .. } =
            Descriptors::from_message(descriptors).unwrap();
        let map = |file: &OwnedFd| SharedMemory::map(file.try_clone().unwrap()).unwrap();
        Self {
            stream,
            operations: Producer::new(map(&operations)).unwrap(),
            reports: Consumer::new(map(&reports)).unwrap(),
            memory: [map(&operations), map(&reports)],
            wake_node,
            wake_program,
            number: 0,
            results: 0,
            md: None,
        }
    }

    pub fn wake(&self) {
        rustix::io::write(&self.wake_node, &1_u64.to_ne_bytes()).unwrap();
    }

    pub fn push(&mut self, kind: u32, body: &[u64]) {
        self.operations.push_words(kind, body).unwrap();
        if self.operations.publish() == Wake::Needed {
            self.wake();
        }
    }

    /// Writes an operation, if there is room, without waiting for its result. Returns whether there was.
    pub fn try_begin(&mut self, operation: &Operation) -> bool {
        let mut body = Vec::new();
        let kind = operation.encode(u64::MAX, &mut body);
        let has_room = self.operations.push_words(kind, &body).is_ok();
        if self.operations.publish() == Wake::Needed {
            self.wake();
        }
        has_room
    }

    /// Lets the node carry out an operation; returns its errno.
    pub fn call(&mut self, operation: &Operation) -> Result<(), Errno> {
        self.number += 1;
        let mut body = Vec::new();
        let kind = operation.encode(self.number, &mut body);
        self.push(kind, &body);
        self.result()
    }

    pub fn result(&mut self) -> Result<(), Errno> {
        let mut body = Vec::new();
        loop {
            if self.reports.begin_sleep().unwrap() {
                let mut fds = [PollFd::new(&self.wake_program, PollFlags::IN)];
                poll(&mut fds, None).unwrap();
                rustix::io::read(&self.wake_program, &mut [0; 8]).unwrap();
            }
            self.reports.end_sleep();
            while let Some(kind) = self.reports.pop_words(&mut body).unwrap() {
                let (number, report) = Report::decode(kind, &body).unwrap();
                self.results += u32::from(matches!(report, Report::Done { .. }));
                match report {
                    Report::Done { result } if number == self.number => {
                        // Otherwise the ring of reports is full some day.
                        if self.reports.release() == Wake::Needed {
                            self.wake();
                        }
                        return result.map(|_| ());
                    }
                    Report::Made { md } => self.md = Some(md),
                    _ => {}
                }
            }
        }
    }

    /// Waits until the node has ended the attachment.
    pub fn wait_for_end(&self) {
        let mut fds = [PollFd::new(&self.stream, PollFlags::RDHUP)];
        let timeout = Timespec { tv_sec: 30, tv_nsec: 0 };
        assert_eq!(poll(&mut fds, Some(&timeout)).unwrap(), 1, "the node goes on");
    }

    pub fn register(&mut self, registration: u32, files: &[&dyn AsFd]) -> Result<(), Errno> {
        self.number += 1;
        let files: Vec<_> = files.iter().map(|file| file.as_fd()).collect();
        send(&self.stream, self.number, &ToNode::Register { registration }, &files).unwrap();
        self.wake();
        self.result()
    }
}

pub fn entry() -> MatchEntry {
    MatchEntry {
        from: MatchId::ANY,
        match_bits: 1,
        ignore_bits: 0,
        unlink: false,
        position: InsertPosition::After,
    }
}

pub fn descriptor(options: MdOptions, pieces: Vec<Piece>) -> Descriptor {
    let spec = MdSpec { start: 0, length: 8, threshold: -1, max_size: 0, options, user_ptr: 0, eq: None };
    Descriptor { spec, memory: ProgramMemory::InPlace(pieces), unlink: false, near: None, has_handler: false }
}
