//! The bytes of the TCP driver: connection request, HELLO, message framing, checksum.
//!
//! All functions here work on bytes: no sockets, no clock. Every decoder may get bytes from a
//! hostile peer; it returns an error, never panics, and no length that it reads causes an allocation.

pub mod acceptor;
pub mod checksum;
pub mod frame;
pub mod hello;

pub use hello::{ConnectionType, Hello, Version};
