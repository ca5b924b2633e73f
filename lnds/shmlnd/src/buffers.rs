//! Memory of messages that have arrived: the buffers of those that have been delivered are kept for the next ones of the same peer.

use lnd_common::sync::lock;
use lnet_wire::MAX_PAYLOAD;
use lnet_wire::header::LONG_HEADER_LEN;
use std::sync::Mutex;

/// The spare buffers of a peer, at most, and their bytes: two of the longest messages.
const MAX_SPARE: usize = 16;
const MAX_SPARE_BYTES: usize = 2 * (LONG_HEADER_LEN + MAX_PAYLOAD as usize);
/// The bytes of a new buffer, enough for most messages without bulk data.
const NEW_BYTES: usize = 4096;

/// The spare buffers of a peer.
#[derive(Debug, Default)]
pub(crate) struct Buffers(Mutex<Spare>);

#[derive(Debug, Default)]
struct Spare {
    buffers: Vec<Vec<u8>>,
    bytes: usize,
    is_used: bool,
}

impl Buffers {
    /// An empty buffer: the last one that was given back, or a new one.
    pub(crate) fn take(&self) -> Vec<u8> {
        let spare = &mut *lock(&self.0);
        spare.is_used = true;
        match spare.buffers.pop() {
            Some(buffer) => {
                spare.bytes -= buffer.capacity();
                buffer
            }
            None => Vec::with_capacity(NEW_BYTES),
        }
    }

    /// Gives back a buffer, which is freed if there are enough.
    pub(crate) fn give_back(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        let spare = &mut *lock(&self.0);
        let bytes = spare.bytes + buffer.capacity();
        if buffer.capacity() > 0 && spare.buffers.len() < MAX_SPARE && bytes <= MAX_SPARE_BYTES {
            spare.bytes = bytes;
            spare.buffers.push(buffer);
        }
    }

    /// Frees the spare buffers, if none was taken since the last call.
    pub(crate) fn trim(&self) {
        let spare = &mut *lock(&self.0);
        if !std::mem::take(&mut spare.is_used) {
            *spare = Spare::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_that_was_given_back_is_the_next_one() {
        let buffers = Buffers::default();
        let mut buffer = buffers.take();
        buffer.resize(100_000, 1);
        let (address, capacity) = (buffer.as_ptr(), buffer.capacity());
        buffers.give_back(buffer);
        let again = buffers.take();
        assert_eq!((again.as_ptr(), again.capacity(), again.len()), (address, capacity, 0));
        assert_eq!(buffers.take().capacity(), NEW_BYTES);
    }

    #[test]
    fn a_limited_number_of_bytes_is_kept_and_nothing_without_messages() {
        let longest = LONG_HEADER_LEN + MAX_PAYLOAD as usize;
        for (capacity, kept) in [(0, 0), (100, MAX_SPARE), (longest / 4, 8), (longest, 2), (3 * longest, 0)] {
            let buffers = Buffers::default();
            (0..20).for_each(|_| buffers.give_back(Vec::with_capacity(capacity)));
            let count = || lock(&buffers.0).buffers.len();
            assert_eq!(count(), kept, "{capacity}");
            buffers.give_back(buffers.take());
            buffers.trim();
            assert!(count() >= kept, "{capacity}");
            buffers.trim();
            assert_eq!((count(), lock(&buffers.0).bytes), (0, 0), "{capacity}");
        }
    }
}
