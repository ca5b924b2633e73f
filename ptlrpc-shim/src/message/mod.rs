//! The messages of PtlRPC, the RPC layer of the Lustre file system: reading and writing them.
//!
//! Pure: no I/O, no clock, no allocation. Messages are read in place ([`Message`]), and written in place ([`MessageMut`]). No bytes
//! from the network make a reader panic: it returns an error. Received messages may be in either byte order; messages that
//! are sent are in this machine's.
#![forbid(unsafe_code)]

pub mod body;
pub mod builder;
pub mod checksum;
pub mod connect;
pub mod connect_data;
mod flags;
pub mod header;
pub mod opcode;
pub mod portal;
pub mod version;
pub mod xid;

pub use body::{Body, BodyFlags, ConnectOps, ExportCookie, MessageKind};
pub use builder::{LayoutError, MessageMut};
pub use connect::{ConnectReply, ConnectRequest, Name, NameError};
pub(crate) use connect_data::DEFAULT_SLOTS;
pub use connect_data::{ConnectData, ConnectFlags};
pub use header::{BODY_ONLY_LEN, BadMessage, Message, MessageFlags, size_of_message};
pub use lnet_wire::byte_order::ByteOrder;
pub use opcode::Opcode;
pub use portal::{Portal, Portals};
pub use version::{Service, Version};
pub use xid::{BulkBits, Xid, XidSource};
