//! LNet between nodes of one host: rings in shared memory.
//!
//! - `host` has who can reach whom: nets, addresses, names.
//! - `hello`, `assembly` are the bytes that two nodes exchange, with no I/O.
//! - `pipes` are the two directions of a connection, with memory for messages that arrive (`buffers`); `engine` is an interface with its
//!   peers and connections.
//! - `ni` is an interface as its threads ([`lnd_common::engine_ni`]) and the core use it, `deferred` a message that waits for a buffer.
//! - `driver` is the driver as the core sees it.
//!
//! A message is copied into a ring by its sender, out of it by its receiver, and from there to the memory that it is for: only messages that
//! have arrived as a whole are told to the core. So both ends know at the end of a connection, and of each other's process, which messages have
//! arrived: those whose records the receiver has committed ([`lnet_ring::Consumer::commit`]). All others are sent again on another path.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_macros))]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod assembly;
mod buffers;
mod config;
mod deferred;
mod driver;
mod engine;
mod hello;
mod host;
mod ni;
mod pipes;

pub use config::ShmlndConfig;
