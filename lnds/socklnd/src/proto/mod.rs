//! The bytes of the TCP driver: connection request, HELLO, message framing, checksum.
//!
//! Everything here is a function of bytes: no sockets, no clock. Every decoder may be fed bytes from a
//! hostile peer; it returns an error, it never panics, and no length that it reads makes anyone allocate.

pub mod acceptor;
pub mod checksum;
pub mod frame;
pub mod hello;

pub use hello::{ConnectionType, Hello, Version};
