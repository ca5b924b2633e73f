//! Bytes that a connection has read from its socket beyond the current message.
//!
//! A connection at rest keeps no more than those bytes. While a thread receives, they are in a buffer of that thread, which
//! is large enough for many small messages.

use std::cell::Cell;

/// The size of a thread's buffer: more than the messages of up to 4 KiB that arrive together most often. Larger ones gain nothing.
const BUFFER_SIZE: usize = 64 << 10;

thread_local! {
    static BUFFER: Cell<Option<Box<[u8]>>> = const { Cell::new(None) };
}

/// Capacity that a connection at rest keeps for unread bytes: more than a head.
const KEPT_SIZE: usize = 256;

/// Bytes that have been received and not yet parsed.
#[derive(Debug, Default)]
pub(crate) struct ReadAhead {
    /// The thread's buffer while it receives.
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// Unread bytes between turns.
    kept: Vec<u8>,
}

impl ReadAhead {
    /// Starts a turn of the calling thread: until [`ReadAhead::end_turn`] there is space. A thread that replaces another
    /// continues with the buffer of that one.
    #[inline]
    pub(crate) fn begin_turn(&mut self) {
        if !self.buffer.is_empty() {
            return;
        }
        self.buffer =
            BUFFER.try_with(Cell::take).ok().flatten().unwrap_or_else(|| vec![0; BUFFER_SIZE].into());
        if self.kept.is_empty() {
            return;
        }
        if let Some(to) = self.buffer.get_mut(..self.kept.len()) {
            to.copy_from_slice(&self.kept);
            (self.start, self.end) = (0, self.kept.len());
        }
        self.kept.clear();
    }

    /// Ends the turn: the thread takes its buffer back.
    #[inline]
    pub(crate) fn end_turn(&mut self) {
        let left = self.buffer.get(self.start..self.end).unwrap_or_default();
        if left.len() <= KEPT_SIZE && self.kept.capacity() > KEPT_SIZE {
            self.kept.shrink_to(KEPT_SIZE);
        }
        if !left.is_empty() {
            self.kept.extend_from_slice(left);
        }
        (self.start, self.end) = (0, 0);
        let buffer = std::mem::take(&mut self.buffer);
        // A handler of the program's exit receives when the variables of its thread are gone.
        _ = BUFFER.try_with(|kept| kept.set(Some(buffer)));
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        match self.kept.as_slice() {
            [] => self.buffer.get(self.start..self.end).unwrap_or_default(),
            kept => kept,
        }
    }

    #[inline]
    pub(crate) fn consume(&mut self, n: usize) {
        self.start = (self.start + n).min(self.end);
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// The space to read into, up to `limit` unread bytes; [`ReadAhead::filled`] must follow.
    #[inline]
    pub(crate) fn space(&mut self, limit: usize) -> &mut [u8] {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let limit = limit.clamp(self.end, self.buffer.len());
        self.buffer.get_mut(self.end..limit).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn filled(&mut self, n: usize) {
        self.end = (self.end + n).min(self.buffer.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_ahead_moves_to_the_front_before_more_is_read() {
        let mut buffer = ReadAhead::default();
        buffer.begin_turn();
        buffer.space(8).copy_from_slice(b"abcdefgh");
        buffer.filled(8);
        buffer.consume(5);
        assert_eq!(buffer.bytes(), b"fgh");
        assert_eq!(buffer.space(8).len(), 5);
        assert_eq!(buffer.space(2).len(), 0);
        assert_eq!(buffer.bytes(), b"fgh");
        buffer.filled(1);
        buffer.consume(9);
        assert_eq!(buffer.bytes(), b"");
        assert_eq!(buffer.space(usize::MAX).len(), BUFFER_SIZE);
    }

    #[test]
    fn a_connection_keeps_what_is_left_from_one_turn_to_the_next_and_no_more() {
        let mut buffer = ReadAhead::default();
        for (received, consumed, left) in [("abc", 1, "bc"), ("defg", 2, "defg"), ("", 4, ""), ("h", 0, "h")]
        {
            buffer.begin_turn();
            buffer.space(usize::MAX)[..received.len()].copy_from_slice(received.as_bytes());
            buffer.filled(received.len());
            buffer.consume(consumed);
            buffer.end_turn();
            assert_eq!((buffer.bytes(), buffer.kept.capacity() <= KEPT_SIZE), (left.as_bytes(), true));
        }
    }

    #[test]
    fn a_thread_that_takes_the_place_of_another_finds_what_that_has_read() {
        let mut buffer = ReadAhead::default();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                buffer.begin_turn();
                buffer.space(3).copy_from_slice(b"abc");
                buffer.filled(3);
                buffer.consume(1);
            });
        });
        buffer.begin_turn();
        assert_eq!(buffer.bytes(), b"bc");
        buffer.end_turn();
        assert_eq!(buffer.bytes(), b"bc");
    }

    #[test]
    fn a_thread_may_receive_on_a_connection_while_it_receives_on_another() {
        let (mut outer, mut inner) = (ReadAhead::default(), ReadAhead::default());
        outer.begin_turn();
        outer.space(1)[0] = 1;
        outer.filled(1);
        inner.begin_turn();
        inner.space(1)[0] = 2;
        inner.filled(1);
        inner.end_turn();
        outer.end_turn();
        assert_eq!((outer.bytes(), inner.bytes()), (&[1][..], &[2][..]));
    }
}
