//! The messages that one read has brought.

/// The messages that one read has brought, with what was in the buffer before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReadBatch {
    /// [`super::state::ReceiveSide::heads`] when they had been read.
    heads: u64,
}

impl ReadBatch {
    pub(super) const fn new(heads: u64) -> Self {
        Self { heads }
    }

    /// Whether the message whose head was the last of `heads` came alone. Behind that head are `left` bytes; its payload has `length`.
    pub(super) const fn is_single(&self, heads: u64, left: usize, length: usize) -> bool {
        heads == self.heads + 1 && left <= length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_single_if_none_came_before_or_behind_it() {
        let batch = ReadBatch::new(7);
        for (heads, left, length, is_single) in
            [(8, 0, 0, true), (8, 10, 10, true), (8, 10, 90, true), (8, 11, 10, false), (9, 0, 0, false)]
        {
            assert_eq!(batch.is_single(heads, left, length), is_single, "{heads} {left} {length}");
        }
    }
}
