//! The side that reads.

use super::{
    CONSUMER_SLEEPS, Closed, Corrupt, FIRST_SLEEPS, HEAD, MAX_BODY, Memory, PRODUCER_WAITS, SECOND_SLEEPS,
    TAIL, Wake, Words, first_word, words_of,
};
use crate::sync::atomic::{AtomicU64, Ordering};

/// The reading side of a ring. One thread at a time.
#[derive(Debug)]
pub struct Consumer<W> {
    memory: Memory<W>,
    /// The head as far as it is known.
    head: u64,
    /// The end of what was read.
    next: u64,
    /// The end of what the producer may overwrite.
    released: u64,
}

/// A record whose body is still in the ring.
struct Record<'a> {
    kind: u32,
    /// The length of the body in bytes.
    len: usize,
    /// The words of the body.
    words: [&'a [AtomicU64]; 2],
}

impl<W: Words> Consumer<W> {
    /// The reading side of new memory.
    pub fn new(words: W) -> Result<Self, Corrupt> {
        Ok(Self { memory: Memory::new(words)?, head: 0, next: 0, released: 0 })
    }

    /// Copies the next record's body to `body`, in place of what that holds; returns the record's kind. `None`: nothing more was published.
    pub fn pop(&mut self, body: &mut Vec<u8>) -> Result<Option<u32>, Corrupt> {
        body.clear();
        self.pop_more(body)
    }

    /// Does what [`Consumer::pop`] does, and adds the body to what `body` holds.
    pub fn pop_more(&mut self, body: &mut Vec<u8>) -> Result<Option<u32>, Corrupt> {
        let Some(Record { kind, len, words }) = self.next_record()? else { return Ok(None) };
        let before = body.len();
        body.resize(before + words.iter().map(|words| size_of_val(*words)).sum::<usize>(), 0);
        let mut room = body[before..].as_chunks_mut().0;
        for words in words {
            let (places, rest) = room.split_at_mut(words.len());
            for (place, word) in places.iter_mut().zip(words) {
                *place = word.load(Ordering::Relaxed).to_ne_bytes();
            }
            room = rest;
        }
        body.truncate(before + len);
        Ok(Some(kind))
    }

    /// The same with a body of words.
    pub fn pop_words(&mut self, body: &mut Vec<u64>) -> Result<Option<u32>, Corrupt> {
        body.clear();
        let Some(Record { kind, words, .. }) = self.next_record()? else { return Ok(None) };
        body.extend(words.into_iter().flatten().map(|word| word.load(Ordering::Relaxed)));
        Ok(Some(kind))
    }

    /// Takes the next record if [`Consumer::has_record`] has seen it, and it has this kind and a body of `N` words in one piece of the memory:
    /// nearly every record is in one piece. Gives the words in order; each is loaded when it is taken, once. `None`: nothing was done, and
    /// [`Consumer::pop_words`] finds out what there is.
    #[inline(always)]
    pub fn pop_array<const N: usize>(&mut self, kind: u32) -> Option<impl Iterator<Item = u64>> {
        let (begin, len) = (self.memory.place_of(self.next), N * size_of::<u64>());
        let [first, words @ ..] = self.memory.words.get(begin..begin + 1 + N)? else { return None };
        let words = words.first_chunk::<N>()?;
        let is_it =
            self.head - self.next >= words_of(len) && first.load(Ordering::Relaxed) == first_word(kind, len);
        if !is_it {
            return None;
        }
        self.next += words_of(len);
        Some(words.iter().map(|word| word.load(Ordering::Relaxed)))
    }

    /// Whether there is a record that was published, and has not been taken.
    #[inline(always)]
    pub fn has_record(&mut self) -> Result<bool, Corrupt> {
        if self.next == self.head {
            self.look_at_head()?;
        }
        Ok(self.next != self.head)
    }

    fn next_record(&mut self) -> Result<Option<Record<'_>>, Corrupt> {
        if !self.has_record()? {
            return Ok(None);
        }
        let first = self.memory.record(self.next).load(Ordering::Relaxed);
        // The two halves.
        let (kind, bytes) = ((first >> 32) as u32, first as u32);
        let (len, words) = (bytes as usize, self.head - self.next);
        if len > MAX_BODY || words_of(len) > words {
            return Err(Corrupt::Length { bytes, words });
        }
        let begin = self.next + 1;
        self.next += words_of(len);
        Ok(Some(Record { kind, len, words: self.memory.records(begin, self.next) }))
    }

    /// Lets the producer overwrite what was read.
    pub fn release(&mut self) -> Wake {
        if self.released == self.next {
            return Wake::NotNeeded;
        }
        self.released = self.next;
        self.memory.store_release(TAIL, self.next);
        self.memory.wake(PRODUCER_WAITS)
    }

    /// Lets the producer overwrite what was read, as [`Consumer::release`] does, unless the producer has closed the ring: then it counts what
    /// was read since the last call as not read, and the caller is to do the same.
    pub fn commit(&mut self) -> Result<Wake, Closed> {
        if self.released == self.next {
            return Ok(Wake::NotNeeded);
        }
        self.memory.exchange(TAIL, self.released, self.next).map_err(|_| Closed)?;
        self.released = self.next;
        Ok(self.memory.wake(PRODUCER_WAITS))
    }

    /// Announces that this side goes to sleep. `true` if nothing was published: it may sleep until it is woken. [`Consumer::end_sleep`]
    /// follows in either case.
    pub fn begin_sleep(&mut self) -> Result<bool, Corrupt> {
        self.begin_sleep_as(FIRST_SLEEPS)
    }

    /// The same for a second thread of this side, which is woken in another way: the producer is told [`Wake::NeededBySecond`].
    pub fn begin_sleep_of_second(&mut self) -> Result<bool, Corrupt> {
        self.begin_sleep_as(SECOND_SLEEPS)
    }

    fn begin_sleep_as(&mut self, sleeper: u64) -> Result<bool, Corrupt> {
        self.memory.announce_sleep(CONSUMER_SLEEPS, sleeper);
        self.look_at_head()?;
        Ok(self.next == self.head)
    }

    /// Ends what [`Consumer::begin_sleep`] has begun.
    pub fn end_sleep(&self) {
        self.memory.end_sleep(CONSUMER_SLEEPS);
    }

    #[inline]
    fn look_at_head(&mut self) -> Result<(), Corrupt> {
        let claimed = self.memory.load_acquire(HEAD);
        let most = self.released + self.memory.capacity;
        if claimed < self.head || claimed > most {
            return Err(Corrupt::Position { claimed, own: self.next, capacity: self.memory.capacity });
        }
        self.head = claimed;
        Ok(())
    }
}
