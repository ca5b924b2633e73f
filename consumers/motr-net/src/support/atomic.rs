//! A number that several threads change (motr-net 8.1). C has its operations as inline functions.

use std::sync::atomic::{AtomicI64, Ordering::SeqCst};

/// A number.
#[repr(C)]
#[derive(Debug, Default)]
pub struct m0_atomic64 {
    /// The number, a `volatile long` in C.
    pub a_value: AtomicI64,
}

impl m0_atomic64 {
    /// The number.
    pub fn get(&self) -> i64 {
        self.a_value.load(SeqCst)
    }

    /// Makes it another one.
    pub fn set(&self, value: i64) {
        self.a_value.store(value, SeqCst);
    }

    /// Adds, and gives the sum.
    pub fn add_return(&self, number: i64) -> i64 {
        self.a_value.fetch_add(number, SeqCst).wrapping_add(number)
    }
}
