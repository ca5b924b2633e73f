//! The number of bytes of a connection that are to be sent.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The bytes that are to be sent. Two threads may change it at a time: the holder of the connection's send lock, and the writer, of which
/// there is one; so neither needs an atomic addition.
#[derive(Debug, Default)]
pub(super) struct Unsent {
    /// All bytes that were ever queued, less those that were withdrawn; changed by the holder of the lock.
    queued: AtomicUsize,
    /// All bytes that were ever sent; changed by the writer.
    sent: AtomicUsize,
}

impl Unsent {
    /// The present number. A thread that neither holds the lock nor writes may see it delayed.
    pub(super) fn bytes(&self) -> usize {
        let sent = self.sent.load(Ordering::Acquire);
        self.queued.load(Ordering::Relaxed).wrapping_sub(sent)
    }

    /// Adds bytes that are queued; returns the number with them. The caller holds the lock.
    pub(super) fn queue(&self, bytes: usize) -> usize {
        self.queued.store(self.queued.load(Ordering::Relaxed).wrapping_add(bytes), Ordering::Relaxed);
        self.bytes()
    }

    /// Takes off bytes that will not be sent. The caller holds the lock.
    pub(super) fn withdraw(&self, bytes: usize) {
        self.queued.store(self.queued.load(Ordering::Relaxed).wrapping_sub(bytes), Ordering::Relaxed);
    }

    /// Takes off bytes that were sent. The caller is the writer.
    pub(super) fn note_sent(&self, bytes: usize) {
        self.sent.store(self.sent.load(Ordering::Relaxed).wrapping_add(bytes), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsent_bytes_are_those_queued_and_neither_sent_nor_withdrawn() {
        let unsent = Unsent { queued: AtomicUsize::new(usize::MAX), sent: AtomicUsize::new(usize::MAX) };
        assert_eq!((unsent.bytes(), unsent.queue(100), unsent.queue(50)), (0, 100, 150));
        unsent.note_sent(70);
        unsent.withdraw(30);
        assert_eq!((unsent.bytes(), unsent.queue(1)), (50, 51));
        unsent.note_sent(51);
        assert_eq!(unsent.bytes(), 0);
    }
}
