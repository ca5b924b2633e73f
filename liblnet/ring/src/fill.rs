//! How full a ring is, for those who have neither of its sides.

use super::{Corrupt, HEAD, Memory, TAIL, Words};
use crate::sync::atomic::Ordering;

/// A look at a ring. Any thread, at any time.
#[derive(Debug)]
pub struct Fill<W> {
    memory: Memory<W>,
}

impl<W: Words> Fill<W> {
    /// A look at this memory of a ring.
    pub fn new(words: W) -> Result<Self, Corrupt> {
        Ok(Self { memory: Memory::new(words)? })
    }

    /// The bytes with records that were published and not released, as the two sides say: at most [`Fill::capacity`], whatever they
    /// write.
    pub fn in_use(&self) -> u64 {
        // The tail first: the head has never been behind it.
        let tail = self.memory.load_acquire(TAIL);
        let head = self.memory.words[HEAD].load(Ordering::Relaxed);
        head.wrapping_sub(tail).min(self.memory.capacity) * 8
    }

    /// The bytes for records.
    pub const fn capacity(&self) -> u64 {
        self.memory.capacity * 8
    }
}
