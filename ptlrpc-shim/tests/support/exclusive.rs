//! Mutual exclusion of the tests of one process: they share its node and its portals, so they run one after the other.
#![allow(dead_code, unreachable_pub)]

use std::sync::{Mutex, MutexGuard, PoisonError};

static NODE: Mutex<()> = Mutex::new(());

/// The guard that a test holds for as long as it uses the node.
pub type Exclusive = MutexGuard<'static, ()>;

/// Waits until no other test runs.
pub fn exclusive() -> Exclusive {
    NODE.lock().unwrap_or_else(PoisonError::into_inner)
}
