//! Delivery ACKs that are owed to a peer: each goes with the next message to it, or with other ACKs after a while.

use crate::first_ack::{FirstAck, Put};
use lnet_os::spinlock::Spinlock;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum number of pending ACKs: by default a peer sends as many messages without getting one.
const MAX_PENDING: usize = 8;
/// The same number if no response is expected with which they could be sent.
const MAX_UNANSWERED: usize = 4;

/// The message that a delivery ACK is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckFor {
    /// No message to its sender is expected.
    Unanswered,
    /// A message to its sender is expected: the response, or the next of the requests that it responds to.
    Answered,
    /// An ACK of LNet for a request of this node. The next request is expected, and no program waits for its delivery ACK.
    LnetAck,
}

/// The time for which pending ACKs wait for a message: each of the two has a list of peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// A program may wait for them.
    Short,
    /// With many peers the next message to each comes late.
    Long,
}

/// The delivery ACKs owed to one peer. See the module.
#[derive(Debug, Default)]
pub struct PendingAcks {
    /// The oldest ACK, which is not in the batch and not for an ACK of LNet, and whether the peer is on its scheduler's list of those whose ACKs wait for a short time.
    first: FirstAck,
    /// Number of ACKs in the batch, readable without the lock.
    count: AtomicUsize,
    kept: Spinlock<PendingBatch>,
}

#[derive(Debug, Default)]
struct PendingBatch {
    batch: Batch,
    /// Whether the peer is on its scheduler's list of peers whose ACKs wait for a long time.
    long: bool,
    /// Whether some of the ACKs are not for ACKs of LNet: a program may wait for them.
    awaited: bool,
    /// Whether some of the ACKs were there when the list of those that wait for a long time was last looked through.
    aged: bool,
    /// The node of the peer, once an ACK was added with it. Its count includes all of the batch, but not the first of all.
    node: Option<Arc<NodePending>>,
}

/// The number of ACKs owed to all peers of one node.
#[derive(Debug, Default)]
pub struct NodePending(AtomicUsize);

/// A batch of delivery ACKs, the oldest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    acks: [u64; MAX_PENDING],
    len: usize,
}

/// The action after an ACK was added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Added {
    /// The list that the peer is to be put on.
    pub list: Option<Wait>,
    /// ACKs that are to be sent now.
    pub full: Option<Batch>,
    /// Whether those are all for ACKs of LNet: no program waits for them.
    pub may_wait: bool,
}

impl Batch {
    /// The cookies, which the driver may sort or pack.
    pub fn acks(&mut self) -> &mut [u64] {
        self.acks.get_mut(..self.len).unwrap_or_default()
    }
}

impl PendingAcks {
    /// Adds an ACK. `node`: the peer's, if it is known, and the number of ACKs owed to that at which none waits for a long time: the
    /// node may lack the credits of the messages that they are for.
    pub fn add(&self, ack: u64, of: AckFor, node: Option<(&Arc<NodePending>, usize)>) -> Added {
        if of != AckFor::LnetAck && self.count.load(Ordering::Relaxed) == 0 {
            match self.first.put(ack) {
                Put::Refused => {}
                Put::Waits => return Added::default(),
                Put::ToBeListed => return Added { list: self.list_short(), ..Added::default() },
            }
        }
        let mut kept = self.kept.lock();
        if let Some((node, _)) = node {
            kept.set_node(node);
        }
        // It stays where it is if there is no room for both: it was the first only when it came.
        if kept.batch.len + 1 < MAX_PENDING {
            kept.push_first(self.first.take());
        }
        kept.awaited |= of != AckFor::LnetAck;
        let length = kept.push(ack);
        if length >= if of == AckFor::Unanswered { MAX_UNANSWERED } else { MAX_PENDING } {
            let may_wait = !kept.awaited;
            return Added { list: None, full: Some(self.take(&mut kept)), may_wait };
        }
        self.count.store(length, Ordering::Release);
        let may_wait = node.is_some_and(|(node, most)| node.0.load(Ordering::Relaxed) < most);
        let wait = if of == AckFor::LnetAck && may_wait { Wait::Long } else { Wait::Short };
        Added { list: self.list(&mut kept, wait), ..Added::default() }
    }

    /// Takes the oldest ACK, to go with a message.
    pub fn take_one(&self) -> Option<u64> {
        let first = self.first.take();
        if first.is_some() {
            return first;
        }
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut kept = self.kept.lock();
        let batch = &mut kept.batch;
        let first = (batch.len > 0).then_some(batch.acks[0])?;
        batch.acks.copy_within(1.., 0);
        batch.len -= 1;
        let length = batch.len;
        kept.aged &= length > 0;
        kept.uncount(1);
        self.count.store(length, Ordering::Release);
        Some(first)
    }

    /// Takes all ACKs. The peer has been taken off the list of those that wait for a short time.
    pub fn take_all(&self) -> Batch {
        let mut kept = self.kept.lock();
        kept.push_first(self.first.unlist());
        self.take(&mut kept)
    }

    /// Takes all ACKs if some of them were there at the last call, too; `None` if there are only others, and then the peer stays on
    /// the list of those that wait for a long time.
    pub fn take_aged(&self) -> Option<Batch> {
        let mut kept = self.kept.lock();
        if kept.batch.len > 0 && !kept.aged {
            kept.aged = true;
            return None;
        }
        kept.long = false;
        kept.push_first(self.first.take());
        Some(self.take(&mut kept))
    }

    fn take(&self, kept: &mut PendingBatch) -> Batch {
        self.count.store(0, Ordering::Release);
        kept.aged = false;
        kept.awaited = false;
        kept.uncount(kept.batch.len);
        std::mem::take(&mut kept.batch)
    }

    /// Returns the list that the peer is to be put on so that its ACKs wait no longer than this; `None` if it is on one.
    fn list(&self, kept: &mut PendingBatch, wait: Wait) -> Option<Wait> {
        let is_listed = match wait {
            Wait::Short => self.first.list(),
            Wait::Long => self.first.is_listed() || std::mem::replace(&mut kept.long, true),
        };
        (!is_listed).then_some(wait)
    }

    /// Does the same for an ACK that waits for a short time.
    #[cold]
    fn list_short(&self) -> Option<Wait> {
        self.list(&mut self.kept.lock(), Wait::Short)
    }
}

impl PendingBatch {
    /// Adds an ACK; returns the number of all.
    fn push(&mut self, ack: u64) -> usize {
        let batch = &mut self.batch;
        if let Some(slot) = batch.acks.get_mut(batch.len) {
            *slot = ack;
            batch.len += 1;
            if let Some(node) = &self.node {
                node.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.batch.len
    }

    /// Adds the ACK that is older than those in the batch, if there is one.
    fn push_first(&mut self, first: Option<u64>) {
        let Some(first) = first else { return };
        self.awaited = true;
        let length = self.push(first);
        self.batch.acks.get_mut(..length).unwrap_or_default().rotate_right(1);
    }

    fn set_node(&mut self, node: &Arc<NodePending>) {
        if !self.node.as_ref().is_some_and(|known| Arc::ptr_eq(known, node)) {
            self.uncount(self.batch.len);
            node.0.fetch_add(self.batch.len, Ordering::Relaxed);
            self.node = Some(Arc::clone(node));
        }
    }

    fn uncount(&self, acks: usize) {
        if let Some(node) = &self.node {
            node.0.fetch_sub(acks, Ordering::Relaxed);
        }
    }
}

impl Drop for PendingBatch {
    fn drop(&mut self) {
        self.uncount(self.batch.len);
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
        use AckFor::{Answered, Unanswered};
        let pending_acks = PendingAcks::default();
        assert_eq!(pending_acks.take_one(), None);
        assert_eq!(
            pending_acks.add(5, Answered, None),
            Added { list: Some(Wait::Short), ..Added::default() }
        );
        assert_eq!(pending_acks.add(6, Unanswered, None), Added::default());
        assert_eq!(pending_acks.take_one(), Some(5));
        assert_eq!(pending_acks.add(7, Answered, None), Added::default());
        assert_eq!(all(pending_acks.take_all()), [6, 7]);
        assert_eq!(pending_acks.take_one(), None);
        assert_eq!(all(pending_acks.take_all()), [0_u64; 0]);
        assert_eq!(pending_acks.add(8, Answered, None).list, Some(Wait::Short));
    }

    #[test]
    fn the_fourth_pending_ack_fills_a_batch_or_the_eighth_if_a_message_is_expected() {
        use AckFor::{Answered, LnetAck, Unanswered};
        let pending_acks = PendingAcks::default();
        let add = |acks: std::ops::RangeInclusive<u64>, of| {
            acks.map(|ack| pending_acks.add(ack, of, None).full.map(all)).collect::<Vec<_>>()
        };
        assert_eq!(add(1..=4, Unanswered), [None, None, None, Some(vec![1, 2, 3, 4])]);
        for of in [Answered, LnetAck] {
            assert_eq!(add(1..=7, of), [const { None }; 7]);
            assert_eq!(add(8..=8, of), [Some((1..=8).collect())]);
        }
        assert_eq!(add(1..=5, Answered), [const { None }; 5]);
        assert_eq!(add(6..=6, Unanswered), [Some((1..=6).collect())]);
        assert_eq!(pending_acks.take_one(), None);
    }

    #[test]
    fn a_full_batch_may_wait_if_all_of_it_is_for_acks_of_lnet() {
        use AckFor::{Answered, LnetAck, Unanswered};
        let pending_acks = PendingAcks::default();
        for (others, may_wait) in [
            (&[][..], true),
            (&[Unanswered], false),
            (&[], true),
            (&[Answered, Answered], false),
            (&[LnetAck, Answered], false),
            (&[], true),
        ] {
            let all = others.iter().copied().chain(std::iter::repeat(LnetAck));
            let full =
                (2..).zip(all).map(|(ack, of)| pending_acks.add(ack, of, None)).find(|it| it.full.is_some());
            assert_eq!(full.map(|full| full.may_wait), Some(may_wait), "{others:?}");
        }
    }

    #[test]
    fn few_acks_for_acks_of_lnet_wait_for_a_long_time() {
        use AckFor::{Answered, LnetAck, Unanswered};
        const MAX_OWED: usize = 3;
        for (added, expected) in [
            (
                &[LnetAck, LnetAck, LnetAck, LnetAck][..],
                &[Some(Wait::Long), None, Some(Wait::Short), None][..],
            ),
            (&[LnetAck, Answered, LnetAck], &[Some(Wait::Long), Some(Wait::Short), None]),
            (&[Unanswered, LnetAck], &[Some(Wait::Short), None]),
        ] {
            let (pending_acks, node) = (PendingAcks::default(), Arc::default());
            let add = |(ack, of): (u64, &AckFor)| pending_acks.add(ack, *of, Some((&node, MAX_OWED))).list;
            let lists: Vec<_> = (2..).zip(added).map(add).collect();
            assert_eq!(lists, expected, "{added:?}");
        }
        let pending_acks = PendingAcks::default();
        assert_eq!(pending_acks.add(2, LnetAck, None).list, Some(Wait::Short), "the node is not known");
    }

    #[test]
    fn the_acks_to_all_peers_of_a_node_count_together_until_they_have_left() {
        let [node, other] = [(); 2].map(|()| Arc::<NodePending>::default());
        let peers = [(); 4].map(|()| PendingAcks::default());
        let add = |peer: &PendingAcks, node| peer.add(9, AckFor::LnetAck, Some((node, 4)));
        assert_eq!(
            peers.each_ref().map(|peer| add(peer, &node).list),
            [Some(Wait::Long), Some(Wait::Long), Some(Wait::Long), Some(Wait::Short)]
        );
        let [first, second, third, fourth] = peers;
        first.take_one();
        second.take_all();
        assert_eq!(node.0.load(Ordering::Relaxed), 2);
        drop(third);
        // The node has ended, and another begun.
        add(&fourth, &other);
        assert_eq!([&node, &other].map(|it| it.0.load(Ordering::Relaxed)), [0, 2]);
        (0..6).for_each(|_| _ = add(&fourth, &other));
        assert_eq!(other.0.load(Ordering::Relaxed), 0, "a full batch");
    }

    #[test]
    fn acks_that_wait_for_a_long_time_leave_when_they_are_found_a_second_time() {
        let pending_acks = PendingAcks::default();
        let node = Arc::default();
        let add = |ack| pending_acks.add(ack, AckFor::LnetAck, Some((&node, 4))).list;
        assert_eq!(add(5), Some(Wait::Long));
        assert_eq!(pending_acks.take_aged(), None);
        assert_eq!(add(6), None);
        assert_eq!(pending_acks.take_aged().map(all), Some(vec![5, 6]));

        // A message has taken the one that was found the first time.
        assert_eq!(add(7), Some(Wait::Long));
        assert_eq!(pending_acks.take_aged(), None);
        assert_eq!(pending_acks.take_one(), Some(7));
        assert_eq!(add(8), None);
        assert_eq!(pending_acks.take_aged(), None);
        assert_eq!(pending_acks.take_one(), Some(8));
        assert_eq!(pending_acks.take_aged().map(all), Some(vec![]), "off the list");
        assert_eq!(add(9), Some(Wait::Long));
    }

    #[test]
    fn an_ack_that_became_the_first_when_others_had_come_waits_for_room() {
        let pending_acks = PendingAcks::default();
        let add = |ack| pending_acks.add(ack, AckFor::LnetAck, None).full.map(all);
        (1..=7).for_each(|ack| assert_eq!(add(ack), None));
        assert_eq!(pending_acks.first.put(9), Put::Waits);
        assert_eq!(add(8), Some((1..=8).collect()));
        assert_eq!((pending_acks.take_one(), pending_acks.take_one()), (Some(9), None));
    }
}
