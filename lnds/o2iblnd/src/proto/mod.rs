//! The bytes of the InfiniBand driver: messages, descriptors of memory, the checksum, the private data of the connection manager.
//!
//! All functions here work on bytes: no devices, no clock. Every decoder may get bytes from a hostile peer; it returns an error, never
//! panics, and uses no length before it has checked it.
//!
//! Integers are in the order of their sender, which the magic shows (wire-o2ib 3); this node sends little-endian. Two things are the
//! same in either order: the LNet header, which is always little-endian, and cookies, which go back unchanged to the node that made
//! them.

mod byte_order;
mod checksum;
mod conn_params;
mod descriptor;
mod error;
mod kind;
mod message;
#[cfg(test)]
mod message_properties;
mod reject;
#[cfg(test)]
pub(crate) mod test_messages;

pub use checksum::set_checksum;
pub use conn_params::ConnParams;
pub use descriptor::{Descriptor, Fragment, Fragments};
pub use error::{EncodeError, ProtoError};
pub use kind::{MessageKind, Version};
pub use message::{Body, Completion, Message};
pub use reject::{Reject, RejectDetails, RejectReason};

/// The first four bytes of a message and of reject data, in the sender's order (wire-o2ib 3, 6.3).
pub const MAGIC: u32 = 0x0be9_1b91;
/// Maximum length of a message in bytes, which is the size of every receive buffer (wire-o2ib 9).
pub const MESSAGE_SIZE: usize = 4096;
/// Length in bytes of what every message begins with (wire-o2ib 3).
pub const MESSAGE_HEADER_LEN: usize = 48;
/// Length in bytes of all that precedes the payload of an IMMEDIATE (wire-o2ib 3).
pub const PAYLOAD_OFFSET: usize = 120;
/// Maximum payload of an IMMEDIATE in bytes; a larger one goes by RDMA (wire-o2ib 7).
pub const MAX_IMMEDIATE_PAYLOAD: usize = MESSAGE_SIZE - PAYLOAD_OFFSET;
/// Length in bytes of a CONNREQ or CONNACK, which is all that the private data of a connection request has space for (wire-o2ib 2).
pub const CONN_MESSAGE_LEN: usize = 56;
/// Length in bytes of reject data (wire-o2ib 6.3).
pub const REJECT_LEN: usize = 24;
/// Maximum number of fragments in a descriptor (wire-o2ib 4).
pub const MAX_FRAGMENTS: usize = 257;
/// The service number, which is the port of the RDMA connection manager (wire-o2ib 2).
pub const SERVICE: u16 = 987;
/// The reason for which the connection manager reports a reject that carries reject data: defined by the consumer (wire-o2ib 6.2).
pub const REJECTED_BY_CONSUMER: u16 = 28;
/// The connection manager's reason for "the other side has a connection of these numbers, which it takes for this one".
pub const REJECTED_STALE_CONNECTION: u16 = 10;
/// The connection manager's reason for "nobody listens".
pub const REJECTED_INVALID_SERVICE: u16 = 8;
