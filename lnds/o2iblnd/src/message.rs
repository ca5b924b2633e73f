//! The messages of the core as the connections use them, so that tests can have others.

use lnet_core::memory::{MemRange, MemSlice, MemoryOwner};
use lnet_core::{ArrivingMessage, OutgoingMessage, Pooled};
use lnet_wire::{Header, Nid};
use lolnd::copy;

/// A message that this node sends.
pub(crate) trait Outgoing {
    /// The LNet header.
    fn header(&self) -> &Header;
    /// The peer NI that it goes to.
    fn next_hop(&self) -> Nid;
    /// The memory of the payload.
    fn payload(&self) -> MemSlice<'_>;
    /// A copy of the payload.
    fn copied(&self) -> Box<[u8]>;
    /// The memory that the REPLY to a GET is for.
    fn reply_memory(&self) -> MemSlice<'_>;
    /// The MD of the memory.
    fn owner(&self) -> Option<MemoryOwner>;
}

/// A message that arrives, whose payload is to be put in its memory.
pub(crate) trait Arriving {
    /// The bytes to be delivered.
    fn payload_len(&self) -> usize;
    /// The memory of the payload.
    fn payload(&self) -> MemSlice<'_>;
    /// Copies `bytes` to the memory; what is beyond its end is discarded.
    fn fill(&self, bytes: &[u8]);
    /// The MD of the memory.
    fn owner(&self) -> Option<MemoryOwner>;
}

impl Outgoing for Pooled<OutgoingMessage> {
    fn header(&self) -> &Header {
        OutgoingMessage::header(self)
    }

    fn next_hop(&self) -> Nid {
        OutgoingMessage::next_hop(self).nid
    }

    fn payload(&self) -> MemSlice<'_> {
        OutgoingMessage::payload(self)
    }

    fn copied(&self) -> Box<[u8]> {
        copy::payload_of(self)
    }

    fn reply_memory(&self) -> MemSlice<'_> {
        OutgoingMessage::reply_memory(self)
    }

    fn owner(&self) -> Option<MemoryOwner> {
        self.memory_owner()
    }
}

impl Arriving for ArrivingMessage {
    fn payload_len(&self) -> usize {
        Self::payload_len(self)
    }

    fn payload(&self) -> MemSlice<'_> {
        Self::payload(self)
    }

    fn fill(&self, bytes: &[u8]) {
        copy::fill_payload_of(self, bytes);
    }

    fn owner(&self) -> Option<MemoryOwner> {
        self.memory_owner()
    }
}

/// The only range of memory that is in one piece.
pub(crate) fn one_piece(mut memory: MemSlice<'_>) -> Option<MemRange> {
    let first = memory.next()?;
    memory.next().is_none().then_some(first)
}
