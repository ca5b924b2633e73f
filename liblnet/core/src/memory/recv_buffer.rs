//! Memory of the node for received data: an MD may own it, and its creator may read it.

use super::MdMemory;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// A buffer of bytes, which are 0 at first. Clones share the memory, which is freed with the last. A driver may write during a
/// read: read after the event that reports the data.
#[derive(Clone, Debug)]
pub struct RecvBuffer(Arc<Box<[AtomicU8]>>);

impl RecvBuffer {
    /// A buffer of `len` bytes.
    pub fn new(len: u32) -> Self {
        // The zeroed memory becomes the buffer in place: filling an `Arc<[_]>` byte by byte takes six times as long.
        Self(Arc::new(vec![0_u8; len as usize].into_iter().map(AtomicU8::new).collect()))
    }

    /// The memory for an MD, which should own a clone of this.
    pub fn memory(&self) -> MdMemory {
        MdMemory::contiguous(self.address(), self.len())
    }

    /// The address of the first byte.
    pub fn address(&self) -> usize {
        self.0.as_ptr() as usize
    }

    /// The number of bytes.
    pub fn len(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    /// Whether the buffer has no bytes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first `len` bytes, or fewer if the buffer is shorter.
    pub fn read(&self, len: u32) -> Vec<u8> {
        self.0.iter().take(len as usize).map(|byte| byte.load(Ordering::Relaxed)).collect()
    }
}
