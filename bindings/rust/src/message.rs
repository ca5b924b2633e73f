//! Parameters of operations: which messages may arrive, what they may do, and where a message goes.

use crate::{Buffer, Errno, Nid, ProcessId, sys};
use std::ffi::{c_int, c_uint};

/// The criteria for messages that may arrive.
#[derive(Clone, Copy, Debug)]
pub struct MatchEntry {
    pub(crate) portal: u32,
    pub(crate) sender: Option<ProcessId>,
    pub(crate) bits: u64,
    pub(crate) ignore: u64,
}

impl MatchEntry {
    /// Messages to this portal with these match bits, from anyone.
    pub const fn new(portal: u32, match_bits: u64) -> Self {
        Self { portal, sender: None, bits: match_bits, ignore: 0 }
    }

    /// Ignores the match bits that are set here.
    pub const fn ignore_bits(self, bits: u64) -> Self {
        Self { ignore: bits, ..self }
    }

    /// Only messages from this process, by the primary NID of its node ([`Node::primary_nid`](crate::Node::primary_nid)). A portal is either
    /// for entries with senders, or for entries without.
    pub const fn sender(self, process: ProcessId) -> Self {
        Self { sender: Some(process), ..self }
    }
}

/// Memory that messages of other nodes may use.
#[derive(Debug)]
pub struct MemoryDescriptor {
    pub(crate) buffer: Buffer,
    pub(crate) tag: u64,
    threshold: Option<u32>,
    max_size: Option<u32>,
    options: c_uint,
}

impl MemoryDescriptor {
    /// Lets messages put data into the buffer. One message, unless [`MemoryDescriptor::threshold`] says another number.
    pub const fn puts(buffer: Buffer) -> Self {
        Self::new(buffer, sys::LNET_MD_OP_PUT)
    }

    /// Lets messages fetch data from the buffer, as many as there are, each at the offset that it names.
    pub const fn gets(buffer: Buffer) -> Self {
        Self::new(buffer, sys::LNET_MD_OP_GET | sys::LNET_MD_MANAGE_REMOTE).threshold(None)
    }

    const fn new(buffer: Buffer, options: c_uint) -> Self {
        Self { buffer, tag: 0, threshold: Some(1), max_size: None, options }
    }

    /// The number of messages after which the descriptor is unlinked; `None`: no limit.
    pub const fn threshold(mut self, messages: Option<u32>) -> Self {
        self.threshold = messages;
        self
    }

    /// Lets each message say at which offset its data is, so that it may overwrite that of an earlier one. Otherwise the data of messages
    /// is stored one behind the other.
    pub const fn manage_remote(mut self) -> Self {
        self.options |= sys::LNET_MD_MANAGE_REMOTE;
        self
    }

    /// Truncates messages that are too long, which are dropped otherwise.
    pub const fn truncate(mut self) -> Self {
        self.options |= sys::LNET_MD_TRUNCATE;
        self
    }

    /// The length of the longest message; the descriptor is also unlinked when less space is left.
    pub const fn max_size(mut self, length: u32) -> Self {
        self.max_size = Some(length);
        self.options |= sys::LNET_MD_MAX_SIZE;
        self
    }

    /// A number that is in each event of the descriptor.
    pub const fn tag(mut self, tag: u64) -> Self {
        self.tag = tag;
        self
    }

    pub(crate) fn to_c(&self) -> Result<sys::lnet_md, Errno> {
        let threshold = match self.threshold {
            Some(messages) => c_int::try_from(messages).map_err(|_| Errno::Invalid)?,
            None => sys::LNET_MD_THRESH_INF,
        };
        let max_size = self.max_size.unwrap_or(0).try_into().map_err(|_| Errno::Invalid)?;
        Ok(sys::lnet_md { max_size, ..describe(&self.buffer, threshold, self.options)? })
    }
}

/// The destination of a PUT or GET, and what goes with it.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    pub(crate) to: ProcessId,
    pub(crate) portal: u32,
    pub(crate) bits: u64,
    pub(crate) offset: u32,
    pub(crate) hdr_data: u64,
    pub(crate) source: Option<Nid>,
    pub(crate) ack: bool,
    pub(crate) tag: u64,
}

impl Message {
    /// A message to this portal of a process, which must have a match entry for these match bits there.
    pub const fn to(process: ProcessId, portal: u32, match_bits: u64) -> Self {
        Self {
            to: process,
            portal,
            bits: match_bits,
            offset: 0,
            hdr_data: 0,
            source: None,
            ack: false,
            tag: 0,
        }
    }

    /// The offset in the target's memory, if that is left to the sender.
    pub const fn offset(self, offset: u32) -> Self {
        Self { offset, ..self }
    }

    /// 64 bits that are in the target's event, of a PUT.
    pub const fn hdr_data(self, hdr_data: u64) -> Self {
        Self { hdr_data, ..self }
    }

    /// Asks the target of a PUT for an acknowledgement, [`EventKind::Ack`](crate::EventKind::Ack).
    pub const fn ack(self) -> Self {
        Self { ack: true, ..self }
    }

    /// Sends from this interface; otherwise LNet selects one.
    pub const fn source(self, nid: Nid) -> Self {
        Self { source: Some(nid), ..self }
    }

    /// A number that is in each event of the message.
    pub const fn tag(self, tag: u64) -> Self {
        Self { tag, ..self }
    }
}

/// Describes a buffer to LNet. The caller keeps it.
pub(crate) fn describe(buffer: &Buffer, threshold: c_int, options: c_uint) -> Result<sys::lnet_md, Errno> {
    Ok(sys::lnet_md {
        start: buffer.address().cast(),
        length: buffer.len().try_into().map_err(|_| Errno::Invalid)?,
        threshold,
        max_size: 0,
        options,
        user_ptr: std::ptr::null_mut(),
        eq_handle: sys::lnet_handle_eq { cookie: sys::COOKIE_NONE },
        bulk_handle: sys::lnet_handle_md { cookie: sys::COOKIE_NONE },
    })
}
