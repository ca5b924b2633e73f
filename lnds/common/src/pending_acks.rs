//! Delivery ACKs that a peer is owed: each goes with the next message to it, or with others of its kind after a while.

use crate::sync::lock;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// More are not kept waiting: a peer sends so many messages without any, by default.
const MAX_PENDING: usize = 8;
/// The same where no response is to be expected that would take them along.
const MAX_UNANSWERED: usize = 4;

/// See the module.
#[derive(Debug, Default)]
pub struct PendingAcks {
    /// How many, for those who only want to know whether there are any.
    count: AtomicUsize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    batch: Batch,
    /// The peer is on its scheduler's list.
    listed: bool,
}

/// Some delivery ACKs, the oldest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    acks: [u64; MAX_PENDING],
    len: usize,
}

/// What follows from one more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Added {
    /// The peer is to be put on the list.
    pub list: bool,
    /// These are to be sent now.
    pub full: Option<Batch>,
}

impl Batch {
    /// The cookies, to be sorted or packed as the driver likes.
    pub fn acks(&mut self) -> &mut [u64] {
        self.acks.get_mut(..self.len).unwrap_or_default()
    }
}

impl PendingAcks {
    /// One more; whether a response may be expected.
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

    /// The oldest, to go with a message.
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

    /// All. The peer has been taken off the list.
    pub fn take_all(&self) -> Batch {
        let mut kept = lock(&self.kept);
        kept.listed = false;
        self.take(&mut kept)
    }

    fn take(&self, kept: &mut Kept) -> Batch {
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
