//! Locks, and the atomic types of code that loom checks.

pub(crate) use lnd_common::sync::lock;
#[cfg(loom)]
pub(crate) use loom::sync::atomic;
#[cfg(not(loom))]
pub(crate) use std::sync::atomic;
