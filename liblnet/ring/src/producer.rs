//! The side that writes.

use super::{
    CLOSED, CONSUMER_SLEEPS, Corrupt, FIRST_SLEEPS, HEAD, MAX_BODY, Memory, PRODUCER_WAITS, TAIL, Wake,
    Words, first_word, words_of,
};
use crate::sync::atomic::{AtomicU64, Ordering};

/// The bytes of a word.
const WORD: usize = size_of::<u64>();

/// The writing side of a ring. One thread at a time.
#[derive(Debug)]
pub struct Producer<W> {
    memory: Memory<W>,
    /// The end of what was pushed.
    next: u64,
    /// The end of what was published.
    published: u64,
    /// The tail as far as it is known.
    tail: u64,
}

/// The reason why a record was not pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PushError {
    /// There is no room until the consumer has read something.
    #[error("the ring is full")]
    Full,
    /// The body is longer than any may be, or than the ring.
    #[error("a record of {0} bytes is too long for the ring")]
    TooLong(usize),
    /// The consumer has broken the rules.
    #[error(transparent)]
    Corrupt(#[from] Corrupt),
}

impl<W: Words> Producer<W> {
    /// The writing side of new memory.
    pub fn new(words: W) -> Result<Self, Corrupt> {
        Ok(Self { memory: Memory::new(words)?, next: 0, published: 0, tail: 0 })
    }

    /// Writes a record, which the consumer sees after the next [`Producer::publish`].
    pub fn push(&mut self, kind: u32, body: &[u8]) -> Result<(), PushError> {
        let (whole, rest) = body.as_chunks::<WORD>();
        let mut last = [0; WORD];
        last[..rest.len()].copy_from_slice(rest);
        let last = (!rest.is_empty()).then_some(u64::from_ne_bytes(last));
        let [begin, end] = self.begin_record(body.len())?;
        // The room for a record is never empty.
        let [first, begin @ ..] = begin else { return Err(PushError::Full) };
        first.store(first_word(kind, body.len()), Ordering::Relaxed);
        let (before, behind) = whole.split_at(begin.len().min(whole.len()));
        for (places, words) in [(begin, before), (end, behind)] {
            for (place, word) in places.iter().zip(words) {
                place.store(u64::from_ne_bytes(*word), Ordering::Relaxed);
            }
        }
        if let (Some(last), Some(place)) = (last, end.last().or_else(|| begin.last())) {
            place.store(last, Ordering::Relaxed);
        }
        Ok(())
    }

    /// The same with a body of words.
    pub fn push_words(&mut self, kind: u32, body: &[u64]) -> Result<(), PushError> {
        let first = first_word(kind, size_of_val(body));
        let [begin, end] = self.begin_record(size_of_val(body))?;
        let record = [&first].into_iter().chain(body);
        begin.iter().chain(end).zip(record).for_each(|(place, word)| place.store(*word, Ordering::Relaxed));
        Ok(())
    }

    /// Does the same with a body whose number of words is known when this is compiled, if the record is in one piece of the memory and has
    /// room as far as that is known: nearly every record is so. Returns whether; if not, nothing was done, and [`Producer::push_words`] finds
    /// out what there is.
    #[inline(always)]
    pub fn push_array<const N: usize>(&mut self, kind: u32, body: [u64; N]) -> bool {
        let needed = words_of(size_of_val(&body));
        let begin = self.memory.place_of(self.next);
        if self.room() >= needed
            && let Some([place, places @ ..]) = self.memory.words.get(begin..begin + 1 + N)
            && let Some(places) = places.first_chunk::<N>()
        {
            place.store(first_word(kind, size_of_val(&body)), Ordering::Relaxed);
            // Without a loop: the number is known.
            std::array::from_fn::<(), N, _>(|at| places[at].store(body[at], Ordering::Relaxed));
            self.next += needed;
            return true;
        }
        false
    }

    /// Takes the room for a record with a body of `len` bytes; returns the places of its words, the first one included.
    #[inline]
    fn begin_record(&mut self, len: usize) -> Result<[&[AtomicU64]; 2], PushError> {
        let needed = words_of(len);
        if len > MAX_BODY || needed > self.memory.capacity {
            return Err(PushError::TooLong(len));
        }
        if self.room() < needed {
            self.look_at_tail()?;
            if self.room() < needed {
                return Err(PushError::Full);
            }
        }
        let begin = self.next;
        self.next += needed;
        Ok(self.memory.records(begin, self.next))
    }

    /// Shows the consumer all records that were pushed.
    #[inline(always)]
    pub fn publish(&mut self) -> Wake {
        if self.published == self.next {
            return Wake::NotNeeded;
        }
        self.published = self.next;
        self.memory.store_release(HEAD, self.next);
        self.memory.wake(CONSUMER_SLEEPS)
    }

    /// Announces that this side waits for room for a body of `len` bytes. `true` if there is none: it may sleep until it is woken. What
    /// was pushed has been published before. [`Producer::end_wait`] follows in either case.
    pub fn begin_wait(&mut self, len: usize) -> Result<bool, Corrupt> {
        self.memory.announce_sleep(PRODUCER_WAITS, FIRST_SLEEPS);
        self.look_at_tail()?;
        Ok(self.room() < words_of(len))
    }

    /// The end of what was pushed, in words since the beginning.
    pub const fn pushed(&self) -> u64 {
        self.next
    }

    /// The end of what the consumer says that it has read, in words since the beginning.
    pub fn read_by_consumer(&mut self) -> Result<u64, Corrupt> {
        self.look_at_tail()?;
        Ok(self.tail)
    }

    /// Announces that this side waits until the consumer reads on. `true` if it has not, since this side has last looked: it may sleep until
    /// it is woken. [`Producer::end_wait`] follows in either case.
    pub fn begin_wait_for_reading(&mut self) -> Result<bool, Corrupt> {
        let known = self.tail;
        self.memory.announce_sleep(PRODUCER_WAITS, FIRST_SLEEPS);
        self.look_at_tail()?;
        Ok(self.tail == known)
    }

    /// Closes the ring for a consumer that reads by [`super::Consumer::commit`]. Returns the end of what that has read: it counts nothing
    /// more as read.
    pub fn close(mut self) -> Result<u64, Corrupt> {
        let claimed = self.memory.swap(TAIL, CLOSED);
        self.check_tail(claimed)?;
        Ok(self.tail)
    }

    /// Ends what [`Producer::begin_wait`] has begun.
    pub fn end_wait(&self) {
        self.memory.end_sleep(PRODUCER_WAITS);
    }

    const fn room(&self) -> u64 {
        self.memory.capacity - (self.next - self.tail)
    }

    fn look_at_tail(&mut self) -> Result<(), Corrupt> {
        self.check_tail(self.memory.load_acquire(TAIL))
    }

    const fn check_tail(&mut self, claimed: u64) -> Result<(), Corrupt> {
        if claimed < self.tail || claimed > self.published {
            return Err(Corrupt::Position { claimed, own: self.published, capacity: self.memory.capacity });
        }
        self.tail = claimed;
        Ok(())
    }
}
