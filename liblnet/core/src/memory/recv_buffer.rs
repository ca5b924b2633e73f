//! Memory of the node's own for what others send: an MD may own it, and whoever made it may read it.

use super::MdMemory;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// So many bytes, 0 at first. A clone is the same memory, which goes with the last. A driver may write while it is
/// read: who reads does so when an event has said that all is there.
#[derive(Clone, Debug)]
pub struct RecvBuffer(Arc<[AtomicU8]>);

impl RecvBuffer {
    /// `len` bytes.
    pub fn new(len: u32) -> Self {
        Self((0..len).map(|_| AtomicU8::new(0)).collect())
    }

    /// The memory as an MD describes it. The MD is to own a clone of this.
    pub fn memory(&self) -> MdMemory {
        MdMemory::contiguous(self.address(), self.len())
    }

    /// The address of the first byte.
    pub fn address(&self) -> usize {
        self.0.as_ptr() as usize
    }

    /// How many bytes it has.
    pub fn len(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is in its first `len` bytes, as far as it has them.
    pub fn read(&self, len: u32) -> Vec<u8> {
        self.0.iter().take(len as usize).map(|byte| byte.load(Ordering::Relaxed)).collect()
    }
}
