//! A number that several threads change (motr-net 8.1). The operations of C are inline functions.

use std::sync::atomic::{AtomicI64, Ordering::SeqCst};

/// An atomic number, `struct m0_atomic64`.
#[repr(C)]
#[derive(Debug, Default)]
pub struct m0_atomic64 {
    /// The number, a `volatile long` in C.
    pub a_value: AtomicI64,
}

impl m0_atomic64 {
    /// The current value.
    pub fn get(&self) -> i64 {
        self.a_value.load(SeqCst)
    }

    /// Sets the value.
    pub fn set(&self, value: i64) {
        self.a_value.store(value, SeqCst);
    }

    /// Adds `number`, and returns the sum.
    pub fn add_return(&self, number: i64) -> i64 {
        self.a_value.fetch_add(number, SeqCst).wrapping_add(number)
    }
}
