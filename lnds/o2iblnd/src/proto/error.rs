//! The reasons why bytes are no message, and why a message cannot be encoded.

use super::{MAGIC, MAX_FRAGMENTS, MessageKind};
use lnet_wire::{HeaderError, Nid};
use thiserror::Error;

/// The reason why bytes that a peer sent cannot be decoded. On a connection each closes it; in a connection request each means a reject
/// (wire-o2ib 4, 6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ProtoError {
    /// The bytes end before the end of what each message, or reject data, begins with.
    #[error("{received} bytes were received, fewer than {needed}")]
    TooShort {
        /// Number of bytes received.
        received: usize,
        /// Number of bytes that must be there.
        needed: usize,
    },
    /// The magic is another one, in either order.
    #[error("the magic is {0:#010x}, not {MAGIC:#010x}")]
    BadMagic(u32),
    /// The version is unknown.
    #[error("the version is {0:#x}, neither 0x11 nor 0x12")]
    UnknownVersion(u16),
    /// The length field is larger than the number of bytes received.
    #[error("the length field says {length} bytes, more than the {received} received")]
    LengthBeyondReceived {
        /// The length field, in bytes.
        length: u32,
        /// Number of bytes received.
        received: usize,
    },
    /// The message has a checksum, which is not that of its bytes.
    #[error("the checksum is {sent:#010x}, and that of the bytes is {computed:#010x}")]
    ChecksumMismatch {
        /// The checksum in the message.
        sent: u32,
        /// The checksum of the bytes received.
        computed: u32,
    },
    /// The source NID is the wildcard, or on a net of an impossible type.
    #[error("the source NID {0:#018x} does not name one interface")]
    SourceNotConcrete(u64),
    /// The destination NID is the wildcard, or on a net of an impossible type.
    #[error("the destination NID {0:#018x} does not name one interface")]
    DestinationNotConcrete(u64),
    /// The type is unknown.
    #[error("the message type {0:#04x} is unknown")]
    UnknownKind(u8),
    /// The length field is smaller than messages of the type are.
    #[error("the length field of {kind} says {length} bytes, fewer than {needed}")]
    BelowMinimum {
        /// The type of the message.
        kind: MessageKind,
        /// The length field, in bytes.
        length: usize,
        /// Minimum length in bytes.
        needed: usize,
    },
    /// The descriptor has no fragments or too many.
    #[error("the descriptor has {0} fragments, not 1 to {MAX_FRAGMENTS}")]
    FragmentCount(u32),
    /// The message ends before the last fragment of its descriptor.
    #[error(
        "the {count} fragments of the descriptor end at byte {end}, behind the message of {length} bytes"
    )]
    DescriptorBeyondMessage {
        /// Number of fragments.
        count: u32,
        /// Number of bytes up to the end of the last one.
        end: usize,
        /// Length of the message in bytes.
        length: usize,
    },
    /// The LNet header in the message is invalid.
    #[error("the LNet header is invalid: {0}")]
    Header(#[from] HeaderError),
    /// The LNet header of an IMMEDIATE announces more payload than the message has.
    #[error("the LNet header announces {announced} bytes of payload, and the message has {present}")]
    PayloadBeyondMessage {
        /// The payload length in the LNet header, in bytes.
        announced: u32,
        /// Number of bytes behind the LNet header.
        present: usize,
    },
}

/// The reason why a message cannot be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// A NID has a sixteen-byte address, for which messages have no space.
    #[error("the NID {0} does not fit in a message")]
    LongNid(Nid),
    /// The message is longer than the buffer, or than the receive buffers of the peer.
    #[error("the message has {length} bytes, more than the {space} of its buffer")]
    TooLong {
        /// Length of the message in bytes.
        length: usize,
        /// Number of bytes that it may have.
        space: usize,
    },
    /// The payload of an IMMEDIATE does not have the length in its LNet header.
    #[error("the payload has {present} bytes, and the LNet header announces {announced}")]
    PayloadLength {
        /// The payload length in the LNet header, in bytes.
        announced: u32,
        /// Length of the payload in bytes.
        present: usize,
    },
}
