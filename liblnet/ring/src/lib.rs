//! A ring of records in memory that two processes share: one writes ([`Producer`]), the other reads ([`Consumer`]). [`Fill`] tells how full it is.
//!
//! # Layout
//!
//! The memory is a list of 64-bit words in the byte order of the machine:
//!
//! | word | written by | content |
//! | --- | --- | --- |
//! | 0 | producer | `head`: the number of words that have been published since the beginning |
//! | 8 | consumer | `tail`: the number of words that have been read |
//! | 16 | both | 1 while the consumer sleeps, or is about to; 2 if its second thread does |
//! | 24 | both | 1 while the producer waits for room |
//! | 32 and on | producer | the records; the number of these words is a power of two |
//!
//! Word `n` of the stream of records is at `32 + n % capacity`. A record is a word with its kind in the high half and the length of its
//! body in bytes in the low half, and the body, filled up with zeros to whole words. The four words at the beginning are in cache lines of
//! their own.
//!
//! # Memory order
//!
//! All accesses are atomic, so that two processes that access a word at the same time do nothing undefined, whatever the other one is.
//! The words of records are accessed `Relaxed`; what orders them is:
//!
//! - The producer stores `head` with `Release` after the words that it covers, the consumer loads it with `Acquire` before it loads
//!   them: it sees the records whole.
//! - The consumer stores `tail` with `Release` after it has loaded the words that it covers, the producer loads it with `Acquire` before it
//!   writes to their places: no record is overwritten that has not been read.
//! - A consumer that wants to sleep puts 1 in word 16, and then loads `head` once more; a producer stores `head`, and then loads
//!   word 16. Between the two on each side stands a `SeqCst` fence. In the single order of the fences one comes first; the side with
//!   the later one sees what the other has stored. So either the consumer sees the record and stays awake, or the producer sees that it
//!   sleeps and wakes it. The same holds for word 24 with `tail` in place of `head`, and the sides exchanged.
//! - Who sees the 1 takes it by a `swap`: of several publications one wakes. The 1 is also stored by a `swap`, so that the two are ordered
//!   by what they read. What holds for 1 holds for 2.
//!
//! - A producer that closes the ring takes the tail by a `swap`, and a consumer that may be told so ([`Consumer::commit`]) moves the tail
//!   by a compare-and-exchange: in the single order of the changes of that word a commit is before the close, and both sides count it, or
//!   after it, and neither does.
//!
//! `loom` tries every interleaving of these (`ring_loom`).
//!
//! # A hostile other side
//!
//! Each side keeps its own position in its own memory, and takes the other's only as a claim: a `head` or `tail` that is impossible, or a
//! record that is longer than what was published, is [`Corrupt`]. A word is loaded once; what is checked is the copy.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_macros))]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod consumer;
mod fill;
mod producer;
mod sync;

pub use consumer::Consumer;
pub use fill::Fill;
pub use producer::{Producer, PushError};

use crate::sync::atomic::{AtomicU64, Ordering, fence};
use std::ops::Deref;

/// The tail of a ring that the producer has closed. No consumer gets there.
const CLOSED: u64 = u64::MAX;
/// The words before the records.
const PREFIX: usize = 32;
const HEAD: usize = 0;
const TAIL: usize = 8;
const CONSUMER_SLEEPS: usize = 16;
const PRODUCER_WAITS: usize = 24;
/// What the words of sleepers hold.
const AWAKE: u64 = 0;
const FIRST_SLEEPS: u64 = 1;
const SECOND_SLEEPS: u64 = 2;
/// The longest body in bytes.
pub const MAX_BODY: usize = 16 << 10;
/// The fewest words for records.
pub const MIN_CAPACITY: usize = if cfg!(all(loom, test)) { 2 } else { 4096 };
/// The most words for records.
pub const MAX_CAPACITY: usize = 1 << 24;

/// The memory of a ring, shared by the two sides. All words are 0 before the first side begins.
pub trait Words: Deref<Target = [AtomicU64]> {}

impl<W: Deref<Target = [AtomicU64]>> Words for W {}

/// The number of words of a ring with room for `capacity` words of records. `None` if that is not a power of two between 2^12 and 2^24:
/// 32 KiB to 128 MiB.
pub fn size_in_words(capacity: usize) -> Option<usize> {
    let is_allowed = capacity.is_power_of_two() && (MIN_CAPACITY..=MAX_CAPACITY).contains(&capacity);
    is_allowed.then_some(PREFIX + capacity)
}

/// Whether the other side has to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Wake {
    /// It sleeps, and waits to be woken.
    Needed,
    /// Its second thread sleeps, and waits to be woken: [`Consumer::begin_sleep_of_second`].
    NeededBySecond,
    /// It is awake, or somebody else wakes it.
    NotNeeded,
}

/// The other side has broken the rules of the ring; nothing of it is used any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Corrupt {
    /// A position that the other side cannot have.
    #[error("the position {claimed} in a ring of {capacity} words is impossible at {own}")]
    Position {
        /// What the other side claims.
        claimed: u64,
        /// This side's position.
        own: u64,
        /// The words for records.
        capacity: u64,
    },
    /// A record that is longer than what was published, or than any may be.
    #[error("a record of {bytes} bytes is too long ({words} words were published)")]
    Length {
        /// The length that the record has for itself.
        bytes: u32,
        /// The words that were published and not read.
        words: u64,
    },
    /// The memory is not that of a ring.
    #[error("a ring cannot have {0} words")]
    Size(usize),
}

/// The producer has closed the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the other side has closed the ring")]
pub struct Closed;

/// The part of a side that both have: the memory, and where things are.
#[derive(Debug)]
struct Memory<W> {
    words: W,
    capacity: u64,
}

impl<W: Words> Memory<W> {
    fn new(words: W) -> Result<Self, Corrupt> {
        let size = words.len();
        match size.checked_sub(PREFIX).map(size_in_words) {
            Some(Some(whole)) if whole == size => Ok(Self { words, capacity: (size - PREFIX) as u64 }),
            _ => Err(Corrupt::Size(size)),
        }
    }

    /// The word of the stream of records with this number.
    fn record(&self, number: u64) -> &AtomicU64 {
        &self.words[self.place_of(number)]
    }

    /// The words of the stream of records from one number up to another, which is no further than the capacity: what is before the end of
    /// the memory, and what goes on at its beginning.
    fn records(&self, from: u64, to: u64) -> [&[AtomicU64]; 2] {
        let all = &self.words[PREFIX..];
        let (begin, len) = (self.place_of(from) - PREFIX, (to - from) as usize);
        match begin + len {
            end if end <= all.len() => [&all[begin..end], &[]],
            end => [&all[begin..], &all[..end - all.len()]],
        }
    }

    /// The place in the memory of the word with this number.
    const fn place_of(&self, number: u64) -> usize {
        // Below the capacity, which fits.
        PREFIX + (number & (self.capacity - 1)) as usize
    }

    fn load_acquire(&self, word: usize) -> u64 {
        self.words[word].load(Ordering::Acquire)
    }

    fn store_release(&self, word: usize, value: u64) {
        self.words[word].store(value, Ordering::Release);
    }

    fn swap(&self, word: usize, value: u64) -> u64 {
        self.words[word].swap(value, Ordering::AcqRel)
    }

    /// Stores a value where there is this one; otherwise returns what there is.
    fn exchange(&self, word: usize, from: u64, to: u64) -> Result<u64, u64> {
        self.words[word].compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire)
    }

    /// Announces that the calling side is going to sleep; what it waits for is to be looked at once more afterwards.
    fn announce_sleep(&self, word: usize, sleeper: u64) {
        self.words[word].swap(sleeper, Ordering::AcqRel);
        fence(Ordering::SeqCst);
    }

    /// Takes the announcement back.
    fn end_sleep(&self, word: usize) {
        self.words[word].store(AWAKE, Ordering::Relaxed);
    }

    /// Whether the other side sleeps, after the store of what it may wait for. Who gets another answer than [`Wake::NotNeeded`] wakes it.
    fn wake(&self, word: usize) -> Wake {
        fence(Ordering::SeqCst);
        if self.words[word].load(Ordering::Relaxed) == AWAKE {
            return Wake::NotNeeded;
        }
        match self.words[word].swap(AWAKE, Ordering::AcqRel) {
            FIRST_SLEEPS => Wake::Needed,
            SECOND_SLEEPS => Wake::NeededBySecond,
            _ => Wake::NotNeeded,
        }
    }
}

/// The first word of a record with a body of `len` bytes, at most [`MAX_BODY`].
const fn first_word(kind: u32, len: usize) -> u64 {
    (kind as u64) << 32 | len as u64
}

/// The words of a record with a body of this length in bytes, its first one included.
const fn words_of(bytes: usize) -> u64 {
    1 + bytes.div_ceil(8) as u64
}

#[cfg(all(test, loom))]
mod ring_loom;
#[cfg(all(test, not(loom)))]
mod tests;
