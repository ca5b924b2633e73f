//! One message on its way out or in.

use crate::memory::MemSlice;
use lnet_wire::{Header, ProcessId};

/// A message that a driver sends, or whose payload it reads. Made by the core, handed back to the core.
#[derive(Debug)]
pub struct Message {
    header: Header,
    next_hop: ProcessId,
}

impl Message {
    /// The header, complete, as it goes on the wire (or came off it).
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The node to hand it to: its destination, or a router on the way there.
    pub const fn next_hop(&self) -> ProcessId {
        self.next_hop
    }

    /// Bytes of [`Message::payload`]: on the way out what follows the header; on the way in what is wanted
    /// of it, which may be less than the header announces.
    pub fn payload_len(&self) -> usize {
        self.payload().remaining()
    }

    /// The memory to send from or to read into.
    pub fn payload(&self) -> MemSlice<'_> {
        MemSlice::EMPTY
    }
}
