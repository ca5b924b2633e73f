//! The console's state against nodes in memory (lnet-selftest 12).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, unreachable_pub, missing_docs)]

// Defines the functions of LNet that selftest calls.
use lnet as _;

mod batches;
mod console_rig;
mod groups;
mod joins;
mod sessions;
mod support;
