//! The bytes of the InfiniBand driver: messages, descriptors of memory, checksum, and the private data of the connection manager.
//!
//! All functions here work on bytes: no devices, no clock. Every decoder may get bytes from a hostile peer; it returns an error, never
//! panics, and no length that it reads is used before it is checked.
//!
//! Integers are in the order of their sender, which the magic shows (wire-o2ib 3); this node sends little-endian. Two things are the
//! same in both orders: the LNet header, always little-endian, and cookies, which their owner alone reads.

mod checksum;

pub use checksum::set_checksum;
