//! Writes a message into memory of the caller.

use super::body::Body;
use super::header::{
    AT_CKSUM, AT_COUNT, AT_FLAGS, AT_MAGIC, AT_REPSIZE, FIXED_LEN, MAGIC, MAX_BUFFERS, MAX_MESSAGE_LEN,
    Message, MessageFlags, TooLong, buffer_range, header_len, padded, total_len,
};
use lnet_wire::Errno;
use lnet_wire::byte_order::ByteOrder;
use thiserror::Error;

/// A message being written.
#[derive(Debug)]
pub struct MessageMut<'a> {
    order: ByteOrder,
    count: usize,
    /// Header and buffers.
    bytes: &'a mut [u8],
}

/// The reason why a message cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LayoutError {
    /// No buffers, or more than [`MAX_BUFFERS`].
    #[error("{0} buffers, not within 1 to {MAX_BUFFERS}")]
    BufferCount(usize),
    /// Buffer 0 is too short for a body.
    #[error("a body of {0} bytes")]
    BodyLength(u32),
    /// Longer than an LNet message.
    #[error("longer than {MAX_MESSAGE_LEN} bytes")]
    TooLong,
    /// The caller's memory is too short.
    #[error("{needed} bytes do not fit into {got}")]
    TooSmall {
        /// Bytes of the message.
        needed: usize,
        /// Bytes of the memory.
        got: usize,
    },
}

impl LayoutError {
    /// The error of C functions.
    pub const fn errno(self) -> Errno {
        match self {
            Self::BufferCount(_) | Self::BodyLength(_) => Errno::Invalid,
            Self::TooLong => Errno::MessageSize,
            Self::TooSmall { .. } => Errno::Overflow,
        }
    }
}

/// Bytes of a message with a body and buffers of these lengths behind it. `None` if there are too many, or if it would be too long for
/// LNet.
pub(crate) fn size_behind_body(lengths: impl Iterator<Item = usize>) -> Option<usize> {
    let (mut count, mut len) = (1, padded(Body::LEN));
    for length in lengths {
        (count, len) = (count + 1, len.saturating_add(padded(length.min(MAX_MESSAGE_LEN + 1))));
    }
    if count > MAX_BUFFERS {
        return None;
    }
    Some(header_len(count) + len).filter(|len| *len <= MAX_MESSAGE_LEN)
}

impl<'a> MessageMut<'a> {
    /// Writes the header of a message with buffers of these lengths, the body's first, to the beginning of `bytes`,
    /// in this machine's byte order. [`super::size_of_message`] tells the length.
    ///
    /// The buffers and all padding are zeroed: nothing that was in `bytes` before is sent to the peer.
    pub fn new(bytes: &'a mut [u8], lengths: &[u32]) -> Result<Self, LayoutError> {
        Self::new_in(ByteOrder::NATIVE, bytes, lengths)
    }

    /// Writes a message in a byte order of the caller's choice, for tests; otherwise like [`MessageMut::new`].
    pub fn new_in(order: ByteOrder, bytes: &'a mut [u8], lengths: &[u32]) -> Result<Self, LayoutError> {
        let count = lengths.len();
        let body = match lengths.first() {
            Some(body) if count <= MAX_BUFFERS => *body,
            _ => return Err(LayoutError::BufferCount(count)),
        };
        if (body as usize) < Body::V2_LEN {
            return Err(LayoutError::BodyLength(body));
        }
        let needed =
            total_len(count, lengths.iter().copied()).map_err(|TooLong { .. }| LayoutError::TooLong)?;
        let got = bytes.len();
        let bytes = bytes.get_mut(..needed).ok_or(LayoutError::TooSmall { needed, got })?;
        bytes.fill(0);
        order.put_u32(bytes, AT_COUNT, count as u32);
        order.put_u32(bytes, AT_MAGIC, MAGIC);
        for (index, length) in lengths.iter().enumerate() {
            order.put_u32(bytes, FIXED_LEN + 4 * index, *length);
        }
        Ok(Self { order, count, bytes })
    }

    /// Writes a message with this body and these buffers behind it to the beginning of `bytes`, in this machine's byte order. They are
    /// [`size_behind_body`] bytes.
    pub(crate) fn compose(
        bytes: &'a mut [u8],
        body: &Body,
        buffers: &[Vec<u8>],
    ) -> Result<Self, LayoutError> {
        let (order, count, got) = (ByteOrder::NATIVE, 1 + buffers.len(), bytes.len());
        if count > MAX_BUFFERS {
            return Err(LayoutError::BufferCount(count));
        }
        let too_small = |needed| LayoutError::TooSmall { needed, got };
        let mut at = header_len(count) + padded(Body::LEN);
        if got < at {
            return Err(too_small(at));
        }
        bytes.fill(0);
        order.put_u32(bytes, AT_COUNT, count as u32);
        order.put_u32(bytes, AT_MAGIC, MAGIC);
        order.put_u32(bytes, FIXED_LEN, Body::LEN as u32);
        if let Some(to) = bytes.get_mut(header_len(count)..).and_then(<[u8]>::first_chunk_mut) {
            body.encode_to(order, to);
        }
        for (index, buffer) in buffers.iter().enumerate() {
            let needed = at.saturating_add(padded(buffer.len()));
            let to = bytes.get_mut(at..needed).ok_or_else(|| too_small(needed))?;
            to[..buffer.len()].copy_from_slice(buffer);
            order.put_u32(bytes, FIXED_LEN + 4 * (index + 1), buffer.len() as u32);
            at = needed;
        }
        Ok(Self { order, count, bytes: &mut bytes[..at] })
    }

    /// The byte order of the header, which the contents of the buffers must have.
    pub const fn order(&self) -> ByteOrder {
        self.order
    }

    /// Buffer `index`, without padding; `None` if there is no such buffer.
    pub fn buffer_mut(&mut self, index: usize) -> Option<&mut [u8]> {
        self.bytes.get_mut(buffer_range(self.order, self.count, self.bytes, index)?)
    }

    /// Writes the body. If the buffer is shorter than 184 bytes, which is version 2, the job ID is left out.
    pub fn set_body(&mut self, body: &Body) {
        let encoded = body.encode_in(self.order);
        self.fill(0, &encoded);
    }

    /// Sets the length of the expected reply.
    pub fn set_repsize(&mut self, repsize: u32) {
        self.order.put_u32(self.bytes, AT_REPSIZE, repsize);
    }

    /// Sets the header's flags.
    pub fn set_flags(&mut self, flags: MessageFlags) {
        self.order.put_u32(self.bytes, AT_FLAGS, flags.0);
    }

    /// Sets the checksum of buffer 0, which only early replies have:
    /// [`seal_early_reply`](super::checksum::seal_early_reply).
    pub fn set_cksum(&mut self, cksum: u32) {
        self.order.put_u32(self.bytes, AT_CKSUM, cksum);
    }

    /// The message with its present contents.
    pub fn as_message(&self) -> Message<'_> {
        Message::from_parts(self.order, self.count, self.bytes)
    }

    /// Writes to the beginning of buffer `index`, as far as it fits.
    pub(super) fn fill(&mut self, index: usize, with: &[u8]) {
        if let Some(buffer) = self.buffer_mut(index) {
            let len = buffer.len().min(with.len());
            buffer[..len].copy_from_slice(&with[..len]);
        }
    }
}

#[cfg(test)]
#[path = "builder_tests.rs"]
mod tests;
