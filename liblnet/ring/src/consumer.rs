//! The side that reads.

use super::{CONSUMER_SLEEPS, Corrupt, HEAD, MAX_BODY, Memory, PRODUCER_WAITS, TAIL, Wake, Words, words_of};
use crate::sync::atomic::Ordering;

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

impl<W: Words> Consumer<W> {
    /// The reading side of new memory.
    pub fn new(words: W) -> Result<Self, Corrupt> {
        Ok(Self { memory: Memory::new(words)?, head: 0, next: 0, released: 0 })
    }

    /// Copies the next record's body to `body`, in place of what that holds; returns the record's kind. `None`: nothing more was published.
    pub fn pop(&mut self, body: &mut Vec<u8>) -> Result<Option<u32>, Corrupt> {
        if self.next == self.head {
            self.look_at_head()?;
            if self.next == self.head {
                return Ok(None);
            }
        }
        let records = self.memory.records();
        let first = records.word(self.next).load(Ordering::Relaxed);
        // The two halves.
        let (kind, bytes) = ((first >> 32) as u32, first as u32);
        let (len, words) = (bytes as usize, self.head - self.next);
        if len > MAX_BODY || words_of(len) > words {
            return Err(Corrupt::Length { bytes, words });
        }
        body.clear();
        for number in self.next + 1..self.next + words_of(len) {
            body.extend_from_slice(&records.word(number).load(Ordering::Relaxed).to_ne_bytes());
        }
        body.truncate(len);
        self.next += words_of(len);
        Ok(Some(kind))
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

    /// Announces that this side goes to sleep. `true` if nothing was published: it may sleep until it is woken. [`Consumer::end_sleep`]
    /// follows in either case.
    pub fn begin_sleep(&mut self) -> Result<bool, Corrupt> {
        self.memory.announce_sleep(CONSUMER_SLEEPS);
        self.look_at_head()?;
        Ok(self.next == self.head)
    }

    /// Ends what [`Consumer::begin_sleep`] has begun.
    pub fn end_sleep(&self) {
        self.memory.end_sleep(CONSUMER_SLEEPS);
    }

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
