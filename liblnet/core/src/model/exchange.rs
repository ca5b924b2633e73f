//! The progress of the message exchange with a peer NI: nothing sent, sent, answered.

use std::sync::atomic::{AtomicU8, Ordering};

/// The progress of the message exchange with a peer NI since it was added. It only advances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Exchange {
    /// Nothing has been sent to the peer NI.
    None,
    /// A message was sent to the peer NI, and nothing has arrived from it.
    Sent,
    /// A message has arrived from the peer NI.
    Responded,
}

/// An [`Exchange`] that every message to and from the peer NI reads, and few change.
#[derive(Debug, Default)]
pub(crate) struct ExchangeCell(AtomicU8);

impl ExchangeCell {
    pub(crate) fn get(&self) -> Exchange {
        match self.0.load(Ordering::Relaxed) {
            0 => Exchange::None,
            1 => Exchange::Sent,
            _ => Exchange::Responded,
        }
    }

    /// Advances to `to`; does nothing if the exchange is there already or further.
    pub(crate) fn advance(&self, to: Exchange) {
        if self.get() < to {
            self.0.fetch_max(to as u8, Ordering::Relaxed);
        }
    }
}
