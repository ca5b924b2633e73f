//! Messages of the tests' core, with their memory.

use crate::message::{Arriving, Outgoing};
use lnet_core::memory::{MdMemory, MemRange, MemSlice, MemoryOwner};
use lnet_wire::{Body, Header, Nid, Pid};
use std::any::Any;
use std::sync::{Arc, Weak};

/// The byte at a place of each payload of a length.
fn byte(len: usize, at: usize) -> u8 {
    ((at * 7 + len + at / 250) % 251) as u8
}

/// The payload of this length.
pub(crate) fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| byte(len, at)).collect()
}

/// What is between the pieces of memory, and what stays there.
const GAP: [u8; 3] = [0xee; 3];

/// Memory of an MD of the tests' core, which lasts as long as something uses it.
#[derive(Clone, Debug)]
pub(crate) struct Memory(Arc<Md>);

#[derive(Debug)]
struct Md {
    number: Option<u64>,
    pieces: MdMemory,
    bytes: Box<[u8]>,
}

impl Memory {
    /// Memory with these bytes in one piece, of no MD.
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self::scattered(&bytes, 1, None)
    }

    /// Memory with these bytes in several pieces, of the MD with this number.
    pub(crate) fn scattered(bytes: &[u8], pieces: usize, number: Option<u64>) -> Self {
        let ends: Vec<_> = (0..=pieces).map(|piece| piece * bytes.len() / pieces).collect();
        let parts = || ends.windows(2).map(|ends| &bytes[ends[0]..ends[1]]);
        let storage: Box<[u8]> = parts().flat_map(|part| [part, &GAP].concat()).collect();
        let mut address = storage.as_ptr() as usize;
        let ranges: Vec<_> = parts()
            .map(|part| {
                let range = MemRange { address, len: part.len() };
                address += part.len() + GAP.len();
                range
            })
            .collect();
        let pieces = MdMemory::scattered(&ranges).unwrap();
        Self(Arc::new(Md { number, pieces, bytes: storage }))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.pieces.len() as usize
    }

    fn slice(&self, len: usize) -> MemSlice<'_> {
        self.0.pieces.slice(0, len as u32)
    }

    /// The bytes as the device has written them. What is around the pieces is as it was.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let Md { pieces, bytes, .. } = &*self.0;
        let (start, bytes) = (bytes.as_ptr() as usize, std::hint::black_box(&bytes[..]));
        let mut all = vec![];
        for MemRange { address, len } in pieces.slice(0, pieces.len()) {
            let (piece, behind) = bytes[address - start..].split_at(len);
            all.extend_from_slice(piece);
            assert!(behind.starts_with(&GAP), "bytes behind a piece of {len} were written");
        }
        all
    }

    fn owner(&self) -> Option<MemoryOwner> {
        let weak: Weak<Md> = Arc::downgrade(&self.0);
        let life: Weak<dyn Any + Send + Sync> = weak;
        self.0.number.map(|id| MemoryOwner { id, life })
    }
}

/// A message of the tests' core.
#[derive(Debug)]
pub(crate) struct TestMessage {
    pub(crate) id: u64,
    header: Header,
    memory: Memory,
}

impl TestMessage {
    /// A message with this memory: the payload, or of a GET what the REPLY is for.
    pub(crate) fn new(id: u64, from: Nid, to: Nid, body: Body, memory: Memory) -> Self {
        let is_get = matches!(body, Body::Get { .. });
        let header = Header {
            dest_nid: to,
            src_nid: from,
            dest_pid: Pid::LUSTRE,
            src_pid: Pid::LUSTRE,
            payload_length: if is_get { 0 } else { memory.len() as u32 },
            body,
        };
        Self { id, header, memory }
    }
}

impl Outgoing for TestMessage {
    fn header(&self) -> &Header {
        &self.header
    }

    fn next_hop(&self) -> Nid {
        self.header.dest_nid
    }

    fn payload(&self) -> MemSlice<'_> {
        self.memory.slice(self.header.payload_length as usize)
    }

    fn copied(&self) -> Box<[u8]> {
        self.memory.bytes()[..self.header.payload_length as usize].into()
    }

    fn reply_memory(&self) -> MemSlice<'_> {
        match self.header.body {
            Body::Get { sink_length, .. } => self.memory.slice(sink_length as usize),
            _ => MemSlice::EMPTY,
        }
    }

    fn owner(&self) -> Option<MemoryOwner> {
        self.memory.owner()
    }
}

/// A message that arrives at the tests' core, which takes as much of it as there is memory.
#[derive(Debug)]
pub(crate) struct TestArrival {
    pub(crate) header: Header,
    memory: Memory,
}

impl TestArrival {
    pub(crate) const fn new(header: Header, memory: Memory) -> Self {
        Self { header, memory }
    }

    /// The payload.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.memory.bytes();
        bytes.truncate(self.payload_len());
        bytes
    }

    /// Whether the payload is what its sender had, as far as it is wanted, and nothing else of the memory was written.
    pub(crate) fn is_intact(&self) -> bool {
        let sent = pattern(self.header.payload_length as usize);
        let (payload, rest) = (self.payload_len(), self.memory.bytes());
        let (payload, rest) = rest.split_at(payload);
        *payload == sent[..payload.len()] && rest.iter().all(|byte| *byte == 0)
    }
}

impl Arriving for TestArrival {
    fn payload_len(&self) -> usize {
        self.memory.len().min(self.header.payload_length as usize)
    }

    fn payload(&self) -> MemSlice<'_> {
        self.memory.slice(self.payload_len())
    }

    fn fill(&self, bytes: &[u8]) {
        let len = bytes.len().min(self.payload_len()) as u32;
        let from = MdMemory::contiguous(bytes.as_ptr() as usize, len);
        lolnd::copy::copy(from.slice(0, len), self.payload());
    }

    fn owner(&self) -> Option<MemoryOwner> {
        self.memory.owner()
    }
}
