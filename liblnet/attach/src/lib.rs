//! What a program and the process with its node say to each other through shared memory.
//!
//! - [`lnet_ring`] carries records from one process to another, without locks and, while both are busy, without system calls.
//! - [`record`] has what the records say.
//! - `client` is a node of another process, as a program uses it.
//! - [`hello`] has what goes over the Unix socket, where a program begins.
//!
//! The node's side trusts nothing that it reads: whatever the other process writes, at any time, costs that process its attachment at
//! most.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_macros))]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod client;
pub mod hello;
pub mod record;
