//! Tests of one process share its node and its portals, and so come one after the other.
#![allow(dead_code, unreachable_pub)]

use std::sync::{Mutex, MutexGuard, PoisonError};

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// No other test has this while this is there.
pub type Alone = MutexGuard<'static, ()>;

/// Waits for the test before.
pub fn alone() -> Alone {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}
