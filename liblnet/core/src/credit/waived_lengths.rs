//! Messages to a peer NI that need no credits for now.

use std::sync::atomic::{AtomicU32, Ordering};

/// The lengths of the messages to a peer NI that need no credits: see [`crate::CreditWaiver`].
#[derive(Debug, Default)]
pub(crate) struct WaivedLengths {
    /// Payloads of fewer bytes; 0 if all messages need credits.
    below: AtomicU32,
}

impl WaivedLengths {
    /// Whether messages with `length` bytes of payload need no credits.
    #[inline]
    pub(crate) fn include(&self, length: u32) -> bool {
        length < self.below.load(Ordering::Relaxed)
    }

    /// Lets messages whose payload has fewer than `below` bytes need no credits, and no others.
    pub(crate) fn set(&self, below: u32) {
        self.below.store(below, Ordering::Relaxed);
    }
}
