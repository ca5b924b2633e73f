//! The atomic types, which loom replaces in this crate's own tests. Crates that use this one share the memory of a ring with another
//! process, and have the standard types there.

#[cfg(all(loom, test))]
pub(crate) use loom::sync::atomic;
#[cfg(not(all(loom, test)))]
pub(crate) use std::sync::atomic;
