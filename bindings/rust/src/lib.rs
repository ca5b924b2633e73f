//! LNet, the network of the Lustre file system, in user space: safe Rust over the C API of `liblnet.so`.
//!
//! A program starts the [`Node`] of its process, makes an [`EventQueue`], and then receives messages into memory that it has attached at a
//! portal ([`EventQueue::attach`]), and sends ([`EventQueue::put`]) or fetches ([`EventQueue::get`]) data. Everything that happens to its
//! memory is told by an [`Event`]. A [`Buffer`] belongs to LNet from such a call on; the last event of its descriptor gives it back.
//!
//! ```no_run
//! use liblnet::{Buffer, EventQueue, MatchEntry, MemoryDescriptor, Message, Node, ProcessId};
//!
//! # fn main() -> Result<(), liblnet::Errno> {
//! let node = Node::start()?;
//! let events = EventQueue::new(&node, 16)?;
//!
//! // One message with the match bits 42 may arrive at portal 10.
//! let memory = MemoryDescriptor::puts(Buffer::zeroed(64));
//! let _attached = events.attach(MatchEntry::new(10, 42), memory)?;
//! let event = events.wait()?;
//! event.status?;
//! println!("{:?} from {:?}", event.data(), event.source);
//!
//! // Send a message, and wait for its acknowledgement.
//! let peer = ProcessId::lustre("10.0.0.1@tcp".parse()?);
//! events.put(Buffer::from("hello"), Message::to(peer, 10, 42).ack())?;
//! while events.wait().and_then(|event| event.status.map(|()| event))?.buffer.is_none() {}
//! # Ok(())
//! # }
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `node`, `address` | the node of this process; NIDs |
//! | `queue`, `event` | queues, operations, events |
//! | `message`, `buffer` | parameters of operations; memory |
//! | [`raw`], [`sys`] | the base for crates with descriptors of their own; the C functions |
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_macros))]

mod address;
mod buffer;
mod errno;
mod event;
mod live_mds;
mod message;
mod node;
mod queue;
pub mod raw;
pub mod sys;

pub use address::{Nid, ProcessId};
pub use buffer::Buffer;
pub use errno::Errno;
pub use event::{Event, EventKind};
pub use message::{MatchEntry, MemoryDescriptor, Message};
pub use node::{Distance, Node};
pub use queue::{Attached, EventQueue, poll_any};
