//! The memory of a load: every word of a message says whose it is and where it belongs.

use lnet_core::MdMemory;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a word.
pub const WORD: u32 = 8;

/// Some words that the node reads and writes by address, too.
pub struct Words(Box<[AtomicU64]>);

impl Words {
    pub fn new(bytes: u32) -> Self {
        Self((0..bytes / WORD).map(|_| AtomicU64::new(0)).collect())
    }

    pub fn address(&self) -> usize {
        self.0.as_ptr() as usize
    }

    pub fn len(&self) -> u32 {
        self.0.len() as u32 * WORD
    }

    /// Its first bytes as an MD has them.
    pub fn first(&self, bytes: u32) -> MdMemory {
        MdMemory::contiguous(self.address(), bytes)
    }

    /// Fills the first bytes with what belongs to `key`.
    pub fn fill(&self, key: u64, bytes: u32) {
        for (at, word) in self.0[..(bytes / WORD) as usize].iter().enumerate() {
            word.store(word_of(key, at as u64), Ordering::Relaxed);
        }
    }

    /// Makes sure that the first bytes are nobody's.
    pub fn wipe(&self, bytes: u32) {
        self.0[..(bytes / WORD) as usize].iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }

    /// Whether `bytes` bytes from `offset` on are those of `key` from `theirs` on.
    pub fn is_of(&self, offset: u32, key: u64, theirs: u32, bytes: u32) -> bool {
        let from = (offset / WORD) as usize;
        let Some(words) = self.0.get(from..from + (bytes / WORD) as usize) else { return false };
        let first = u64::from(theirs / WORD);
        let is_whole = [offset, theirs, bytes].iter().all(|it| it % WORD == 0);
        is_whole
            && words
                .iter()
                .enumerate()
                .all(|(at, word)| word.load(Ordering::Relaxed) == word_of(key, first + at as u64))
    }
}

/// Odd numbers, so that each key and each place has its own.
const fn word_of(key: u64, at: u64) -> u64 {
    (key + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ at.wrapping_mul(0xd6e8_feb8_6659_fd93)
}

#[test]
fn bytes_of_another_or_from_another_place_are_seen() {
    let words = Words::new(64);
    words.fill(7, 64);
    assert!(words.is_of(0, 7, 0, 64) && words.is_of(16, 7, 16, 48));
    assert!(!words.is_of(0, 8, 0, 64) && !words.is_of(16, 7, 0, 8) && !words.is_of(0, 7, 0, 72));
    words.0[7].store(0, Ordering::Relaxed);
    assert!(!words.is_of(0, 7, 0, 64) && words.is_of(0, 7, 0, 56));
}
