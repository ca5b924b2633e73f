//! The LNet node as a state machine: portals, descriptors, events, topology, credits, path selection.
//!
//! No sockets, no threads, no clock: a driver ([`lnd`]) brings messages and takes them away, the caller
//! brings everything else. No lock is held while a driver or an event handler runs.
#![forbid(unsafe_code)]

pub mod errno;
pub mod lnd;
pub mod memory;
pub mod message;
pub mod topology;

pub use errno::Errno;
pub use message::Message;
