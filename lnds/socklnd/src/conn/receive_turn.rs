//! Choice of the thread that receives on a connection, without a lock that another thread would wait for.

use std::sync::atomic::{AtomicU8, Ordering};

/// Whether no thread receives, or one does, or one does and must check once more before it leaves.
#[derive(Debug, Default)]
pub(crate) struct ReceiveTurn(AtomicU8);

impl ReceiveTurn {
    const IDLE: u8 = 0;
    const BUSY: u8 = 1;
    const AGAIN: u8 = 2;

    /// Makes the calling thread the receiver, if there is none. Otherwise returns false, and the receiving thread checks once
    /// more.
    pub(crate) fn take(&self) -> bool {
        loop {
            let (from, to) = match self.0.load(Ordering::Acquire) {
                Self::IDLE => (Self::IDLE, Self::BUSY),
                Self::BUSY => (Self::BUSY, Self::AGAIN),
                _ => return false,
            };
            if self.0.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                return from == Self::IDLE;
            }
        }
    }

    /// Ends the turn; returns false if the thread has to check once more first.
    pub(crate) fn leave(&self) -> bool {
        if self.0.compare_exchange(Self::BUSY, Self::IDLE, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            return true;
        }
        self.0.store(Self::BUSY, Ordering::Release);
        false
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.0.load(Ordering::Acquire) == Self::IDLE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_receives_and_another_makes_it_look_again() {
        let turn = ReceiveTurn::default();
        assert!(turn.take());
        assert!(!turn.take());
        assert!(!turn.take());
        assert!(!turn.leave());
        assert!(!turn.is_idle());
        assert!(turn.leave());
        assert!(turn.is_idle());
        assert!(turn.take());
    }
}
