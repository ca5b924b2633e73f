//! The header of a message and the buffers behind it (`lustre_msg_v2`; PR-1, PR-2).
//!
//! | bytes | what |
//! |---|---|
//! | 0 | the number of buffers |
//! | 4 | security flavour, 0 for none |
//! | 8 | magic number, which shows the byte order of everything else |
//! | 12 | the length of the expected reply |
//! | 16 | checksum of buffer 0, in early replies |
//! | 20 | flags |
//! | 24 | zeros |
//! | 32 | the length of each buffer, four bytes each |
//!
//! Header and buffers each are padded to a multiple of eight bytes.

use super::body::Body;
use super::flags::flags;
use lnet_wire::byte_order::{ByteOrder, array};
use lnet_wire::{Errno, MAX_PAYLOAD};
use std::ops::Range;
use thiserror::Error;

/// The magic, in bytes 8 to 11.
pub const MAGIC: u32 = 0x0bd0_0bd3;
/// The most buffers of a message, the body included.
pub const MAX_BUFFERS: usize = 32;
/// The most bytes of a message: the longest LNet message.
pub const MAX_MESSAGE_LEN: usize = MAX_PAYLOAD as usize;
/// Bytes of a message with nothing but a body: pings and their replies, early replies. In the reply buffer of a
/// request with [`MessageFlags::AT_SUPPORT`] the reply is at this offset (PR-72).
pub const BODY_ONLY_LEN: usize = header_len(1) + padded(Body::LEN);

/// A message that was received, with a valid header.
///
/// Nothing is copied; the buffers are in the sender's byte order.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    order: ByteOrder,
    count: usize,
    /// Header and buffers.
    bytes: &'a [u8],
}

flags! {
    /// Flags of a message (`lm_flags`).
    pub struct MessageFlags(u32) {
        /// The sender's timeouts are adaptive: it supports early replies.
        AT_SUPPORT = 0x1;
        /// Compatibility with old checksums.
        LEGACY_CHECKSUM = 0x2;
    }
}

/// The reason why bytes are not a valid message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadMessage {
    /// Shorter than a header.
    #[error("{0} bytes, too few for a header")]
    TooShort(usize),
    /// A magic that is valid in neither byte order, in this machine's.
    #[error("bad magic {0:#010x}")]
    Magic(u32),
    /// Protected by a security flavour; none is supported (PR-4).
    #[error("security flavour {0:#x}")]
    Flavor(u32),
    /// No buffers, or more than [`MAX_BUFFERS`].
    #[error("{0} buffers, not within 1 to {MAX_BUFFERS}")]
    BufferCount(u32),
    /// This buffer would make the message longer than [`MAX_MESSAGE_LEN`].
    #[error("buffer {index} of {length} bytes makes it longer than LNet carries")]
    BufferLength {
        /// The index of the buffer.
        index: usize,
        /// The length in the header.
        length: u32,
    },
    /// Truncated.
    #[error("{needed} bytes, of which {got} are there")]
    Truncated {
        /// The length by the header, or the length of the header.
        needed: usize,
        /// The length of the bytes.
        got: usize,
    },
    /// The buffer is too short for a body of any version.
    #[error("a body of {0} bytes")]
    BodyLength(usize),
    /// The type is neither request nor reply nor error.
    #[error("message type {0}")]
    Kind(u32),
    /// A buffer that the message needs is missing, or too short.
    #[error("buffer {0} is not there, or too short")]
    Missing(usize),
    /// A name without a terminating NUL, or too long.
    #[error("buffer {0} is no name")]
    Name(usize),
}

impl BadMessage {
    /// The error of C functions.
    pub const fn errno(self) -> Errno {
        Errno::Protocol
    }
}

/// Bytes of a message with buffers of these lengths, its body the first. `None` if there are none or too many, or
/// if it would be too long for LNet.
pub fn size_of_message(lengths: &[u32]) -> Option<usize> {
    if !(1..=MAX_BUFFERS).contains(&lengths.len()) {
        return None;
    }
    total_len(lengths.len(), lengths.iter().copied()).ok()
}

impl<'a> Message<'a> {
    /// Reads the header of the message at the beginning of `bytes`, and ignores bytes after the message.
    ///
    /// All lengths are checked; the contents of the buffers and the body are not.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, BadMessage> {
        if bytes.len() < FIXED_LEN {
            return Err(BadMessage::TooShort(bytes.len()));
        }
        let order = ByteOrder::detect(array(bytes, AT_MAGIC), MAGIC)
            .ok_or_else(|| BadMessage::Magic(ByteOrder::NATIVE.u32(bytes, AT_MAGIC)))?;
        let flavor = order.u32(bytes, AT_FLAVOR);
        if flavor != 0 {
            return Err(BadMessage::Flavor(flavor));
        }
        let claimed = order.u32(bytes, AT_COUNT);
        let count = usize::try_from(claimed)
            .ok()
            .filter(|count| (1..=MAX_BUFFERS).contains(count))
            .ok_or(BadMessage::BufferCount(claimed))?;
        let got = bytes.len();
        if got < header_len(count) {
            return Err(BadMessage::Truncated { needed: header_len(count), got });
        }
        let needed = total_len(count, lengths(order, count, bytes))
            .map_err(|TooLong { index, length }| BadMessage::BufferLength { index, length })?;
        let bytes = bytes.get(..needed).ok_or(BadMessage::Truncated { needed, got })?;
        Ok(Self { order, count, bytes })
    }

    /// The byte order of the sender, for header and buffers.
    pub const fn order(&self) -> ByteOrder {
        self.order
    }

    /// The number of buffers: 1 to 32.
    pub const fn buffer_count(&self) -> usize {
        self.count
    }

    /// Buffer `index`, without padding; `None` if there is no such buffer.
    pub fn buffer(&self, index: usize) -> Option<&'a [u8]> {
        self.bytes.get(buffer_range(self.order, self.count, self.bytes, index)?)
    }

    /// Reads buffer 0, which is always the body (PR-3).
    #[inline(always)]
    pub fn body(&self) -> Result<Body, BadMessage> {
        Body::decode(self.buffer(0).unwrap_or_default(), self.order)
    }

    /// The header's flags.
    pub fn flags(&self) -> MessageFlags {
        MessageFlags(self.order.u32(self.bytes, AT_FLAGS))
    }

    /// The length of the expected reply.
    pub fn repsize(&self) -> u32 {
        self.order.u32(self.bytes, AT_REPSIZE)
    }

    /// The checksum of buffer 0; 0 except in early replies.
    pub fn cksum(&self) -> u32 {
        self.order.u32(self.bytes, AT_CKSUM)
    }

    /// The whole message: header and buffers with their padding.
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// A message whose header is known to be valid, as [`Message::parse`] would return it.
    pub(super) const fn from_parts(order: ByteOrder, count: usize, bytes: &'a [u8]) -> Self {
        Self { order, count, bytes }
    }

    /// A message in `bytes`, which [`Message::parse`] has accepted before with this byte order and this number of buffers.
    pub(crate) const fn parsed_before(order: ByteOrder, count: usize, bytes: &'a [u8]) -> Self {
        Self::from_parts(order, count, bytes)
    }
}

/// Bytes before the lengths.
pub(super) const FIXED_LEN: usize = 32;
pub(super) const AT_COUNT: usize = 0;
const AT_FLAVOR: usize = 4;
pub(super) const AT_MAGIC: usize = 8;
pub(super) const AT_REPSIZE: usize = 12;
pub(super) const AT_CKSUM: usize = 16;
pub(super) const AT_FLAGS: usize = 20;

/// A buffer that would make the message longer than [`MAX_MESSAGE_LEN`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLong {
    pub(super) index: usize,
    pub(super) length: u32,
}

/// Bytes of a message with `count` buffers, at most [`MAX_BUFFERS`], of these lengths.
pub(super) fn total_len(count: usize, lengths: impl Iterator<Item = u32>) -> Result<usize, TooLong> {
    let mut total = header_len(count);
    for (index, length) in lengths.enumerate() {
        match usize::try_from(length) {
            Ok(bytes) if bytes <= MAX_MESSAGE_LEN - total => total += padded(bytes),
            _ => return Err(TooLong { index, length }),
        }
    }
    Ok(total)
}

/// The place of buffer `index` in a message with a valid header.
pub(super) fn buffer_range(
    order: ByteOrder,
    count: usize,
    message: &[u8],
    index: usize,
) -> Option<Range<usize>> {
    let mut at = header_len(count);
    for (this, length) in lengths(order, count, message).enumerate() {
        if this == index {
            return Some(at..at + length as usize);
        }
        at += padded(length as usize);
    }
    None
}

/// Bytes before buffer 0, padding included.
pub(super) const fn header_len(count: usize) -> usize {
    padded(FIXED_LEN + 4 * count)
}

/// The length with padding to a multiple of eight bytes.
pub(super) const fn padded(len: usize) -> usize {
    (len + 7) & !7
}

#[inline]
fn lengths(order: ByteOrder, count: usize, message: &[u8]) -> impl Iterator<Item = u32> {
    (0..count).map(move |index| order.u32(message, FIXED_LEN + 4 * index))
}

#[cfg(test)]
#[path = "header_tests.rs"]
mod tests;
