//! The messages that one read has brought, and the answers to their first half.
//!
//! Answers wait for the end of the batch, and leave together (`conn::cork`). Where event handlers give them, and the peer has nothing
//! else to do, those to the first half leave when that has been handled: the peer works on them while this node works on the second.
//! The next read then brings half as much, so that both go on at the same time, and nothing is halved again.

use lnet_core::event::HandlerState;

/// Minimum number of messages in the first half: answers that leave by themselves take one more system call on either side.
const MIN_HALF: u64 = 4;

/// The messages that one read has brought, with what was in the buffer before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReadBatch {
    /// The number of heads that had arrived before ([`super::state::ReceiveSide::heads`]).
    heads: u64,
    /// The number of their bytes.
    bytes: usize,
    /// [`HandlerState::own_changes`] of the thread at that time.
    handlers: u64,
    /// Whether the first half has been handled.
    is_past_half: bool,
}

impl ReadBatch {
    pub(super) fn new(heads: u64, bytes: usize) -> Self {
        Self { heads, bytes, handlers: HandlerState::own_changes(), is_past_half: false }
    }

    /// Whether the message whose head was the last of `heads` came alone. Behind that head are `left` bytes; its payload has `length`.
    pub(super) const fn is_single(&self, heads: u64, left: usize, length: usize) -> bool {
        heads == self.heads + 1 && left <= length
    }

    /// Whether the thread has run event handlers since.
    pub(super) fn has_run_handlers(&self) -> bool {
        HandlerState::own_changes() != self.handlers
    }

    /// Returns how many messages are left, about, when those of `heads` have been handled, `left` bytes are left, and this is the first time
    /// that these are no more than half.
    pub(super) fn left_at_half(&mut self, heads: u64, left: usize) -> Option<u64> {
        let (handled, bytes) = (heads - self.heads, self.bytes.saturating_sub(left));
        if self.is_past_half || handled < MIN_HALF || left > bytes {
            return None;
        }
        self.is_past_half = true;
        // As long as those that have been handled, on average.
        (left > 0).then(|| (left as u64 * handled).div_ceil(bytes as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of messages that are left when so many of these have been handled and their half was not reached before.
    fn left_at_half(lengths: &[usize], handled: usize) -> Option<u64> {
        let (done, left) = lengths.split_at(handled);
        let left: usize = left.iter().sum();
        let mut batch = ReadBatch::new(100, done.iter().sum::<usize>() + left);
        batch.left_at_half(100 + handled as u64, left)
    }

    #[test]
    fn the_half_is_reached_with_enough_messages_and_half_of_the_bytes() {
        for (lengths, handled, left) in [
            (&[100; 8][..], 3, None),
            (&[100; 8], 4, Some(4)),
            (&[100; 8], 5, Some(3)),
            (&[100; 6], 3, None),
            (&[100; 5], 4, Some(1)),
            (&[100; 4], 4, None),
            (&[100; 64], 31, None),
            (&[100; 64], 32, Some(32)),
            // The first are short, the others long.
            (&[100, 100, 100, 100, 4000, 4000, 4000], 4, None),
            (&[100, 100, 100, 100, 4000, 4000, 4000], 6, Some(3)),
            (&[], 0, None),
        ] {
            assert_eq!(left_at_half(lengths, handled), left, "{lengths:?} {handled}");
        }
    }

    #[test]
    fn a_batch_has_one_half() {
        let mut batch = ReadBatch::new(0, 800);
        assert_eq!(batch.left_at_half(4, 400), Some(4));
        assert_eq!(batch.left_at_half(5, 300), None);
    }

    #[test]
    fn a_message_is_single_if_none_came_before_or_behind_it() {
        let batch = ReadBatch::new(7, 300);
        for (heads, left, length, is_single) in
            [(8, 0, 0, true), (8, 10, 10, true), (8, 10, 90, true), (8, 11, 10, false), (9, 0, 0, false)]
        {
            assert_eq!(batch.is_single(heads, left, length), is_single, "{heads} {left} {length}");
        }
    }
}
