//! Calls that end an operation early, in every state of the operation: its MD is unlinked, its interface is
//! removed (another one exists, or none), the node shuts down. `docs/shutdown-and-unlink.md` has the same table, with the
//! states within a driver, which are one here (`State::WithDriver`).
//!
//! In every case the operation ends once, the MD has one last event, and no message, credit or reference is left.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub)]

mod races;
mod states;
#[path = "../support/mod.rs"]
mod support;
mod table;
mod testbed;
