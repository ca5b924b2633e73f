//! The identity of a message that was sent, and its outcome.

use crate::Errno;

/// Identifies a message that was sent. No two messages of a pool are identified by the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageId {
    pub(super) index: usize,
    pub(super) number: u64,
}

/// Takes the outcomes of the messages of a [`SendPool`](super::SendPool).
pub trait SendEvents: Send + Sync + 'static {
    /// The data of one message, until its outcome.
    type Context: Send;

    /// Called once for each message that LNet has accepted, on LNet's threads. Must not block, nor call LNet.
    fn on_sent(&self, context: Self::Context, outcome: Result<(), NotSent<'_>>);
}

/// A message that was not sent.
#[derive(Clone, Copy, Debug)]
pub struct NotSent<'a> {
    /// The cause; [`Errno::Cancelled`]: the descriptor of the message was unlinked before.
    pub errno: Errno,
    /// The message.
    pub bytes: &'a [u8],
}
