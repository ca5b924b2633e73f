//! Delivery ACKs that are owed to a peer: each goes with the next message to it, or with other ACKs after a while.

use crate::sync::lock;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum number of pending ACKs: by default a peer sends as many messages without getting one.
const MAX_PENDING: usize = 8;
/// The same number if no response is expected with which they could be sent.
const MAX_UNANSWERED: usize = 4;

/// The delivery ACKs owed to one peer. See the module.
#[derive(Debug, Default)]
pub struct PendingAcks {
    /// Number of pending ACKs, readable without the lock.
    count: AtomicUsize,
    kept: Mutex<PendingBatch>,
}

#[derive(Debug, Default)]
struct PendingBatch {
    batch: Batch,
    /// Whether the peer is on its scheduler's list of peers with pending ACKs.
    listed: bool,
}

/// A batch of delivery ACKs, the oldest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    acks: [u64; MAX_PENDING],
    len: usize,
}

/// The action after an ACK was added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Added {
    /// Whether the peer is to be put on the list.
    pub list: bool,
    /// ACKs that are to be sent now.
    pub full: Option<Batch>,
}

impl Batch {
    /// The cookies, which the driver may sort or pack.
    pub fn acks(&mut self) -> &mut [u64] {
        self.acks.get_mut(..self.len).unwrap_or_default()
    }
}

impl PendingAcks {
    /// Adds an ACK; `answered` says whether a response may be expected.
    pub fn add(&self, ack: u64, answered: bool) -> Added {
        let mut kept = lock(&self.kept);
        let batch = &mut kept.batch;
        if let Some(slot) = batch.acks.get_mut(batch.len) {
            *slot = ack;
            batch.len += 1;
        }
        if batch.len >= if answered { MAX_PENDING } else { MAX_UNANSWERED } {
            return Added { list: false, full: Some(self.take(&mut kept)) };
        }
        self.count.store(batch.len, Ordering::Release);
        Added { list: !std::mem::replace(&mut kept.listed, true), full: None }
    }

    /// Takes the oldest ACK, to go with a message.
    pub fn take_one(&self) -> Option<u64> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut kept = lock(&self.kept);
        let batch = &mut kept.batch;
        let first = (batch.len > 0).then_some(batch.acks[0])?;
        batch.acks.copy_within(1.., 0);
        batch.len -= 1;
        self.count.store(batch.len, Ordering::Release);
        Some(first)
    }

    /// Takes all ACKs. The peer has been taken off the list.
    pub fn take_all(&self) -> Batch {
        let mut kept = lock(&self.kept);
        kept.listed = false;
        self.take(&mut kept)
    }

    fn take(&self, kept: &mut PendingBatch) -> Batch {
        self.count.store(0, Ordering::Release);
        std::mem::take(&mut kept.batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(mut batch: Batch) -> Vec<u64> {
        batch.acks().to_vec()
    }

    #[test]
    fn pending_acks_leave_one_by_one_the_oldest_first_or_all_at_once() {
        let pending_acks = PendingAcks::default();
        assert_eq!(pending_acks.take_one(), None);
        assert_eq!(pending_acks.add(5, true), Added { list: true, full: None });
        assert_eq!(pending_acks.add(6, false), Added { list: false, full: None });
        assert_eq!(pending_acks.take_one(), Some(5));
        assert_eq!(pending_acks.add(7, true), Added::default());
        assert_eq!(all(pending_acks.take_all()), [6, 7]);
        assert_eq!(pending_acks.take_one(), None);
        assert_eq!(all(pending_acks.take_all()), [0_u64; 0]);
        assert!(pending_acks.add(8, true).list);
    }

    #[test]
    fn the_fourth_pending_ack_fills_a_batch_or_the_eighth_if_an_answer_is_expected() {
        let pending_acks = PendingAcks::default();
        let add = |acks: std::ops::RangeInclusive<u64>, answered| {
            acks.map(|ack| pending_acks.add(ack, answered).full.map(all)).collect::<Vec<_>>()
        };
        assert_eq!(add(1..=4, false), [None, None, None, Some(vec![1, 2, 3, 4])]);
        assert_eq!(add(1..=7, true), [const { None }; 7]);
        assert_eq!(add(8..=8, true), [Some((1..=8).collect())]);
        assert_eq!(add(1..=5, true), [const { None }; 5]);
        assert_eq!(add(6..=6, false), [Some((1..=6).collect())]);
        assert_eq!(pending_acks.take_one(), None);
    }
}
