//! How far the exchange of messages with a peer NI has got.

use std::sync::atomic::{AtomicU8, Ordering};

/// How far the exchange of messages with a peer NI has got since it was added. It never goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Exchange {
    /// Nothing was sent to it.
    None,
    /// Something was sent to it, and nothing has arrived from it.
    Sent,
    /// Something has arrived from it.
    Answered,
}

/// An [`Exchange`] that every message to and from the peer NI reads, and few change.
#[derive(Debug, Default)]
pub(crate) struct ExchangeCell(AtomicU8);

impl ExchangeCell {
    pub(crate) fn get(&self) -> Exchange {
        match self.0.load(Ordering::Relaxed) {
            0 => Exchange::None,
            1 => Exchange::Sent,
            _ => Exchange::Answered,
        }
    }

    /// Advances to `to`, unless it is further.
    pub(crate) fn advance(&self, to: Exchange) {
        if self.get() < to {
            self.0.fetch_max(to as u8, Ordering::Relaxed);
        }
    }
}
