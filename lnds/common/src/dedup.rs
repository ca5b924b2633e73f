//! Detection of duplicates among the messages of a node of this implementation.
//!
//! The ID of a message is that of its first sending: the sequence of a connection, and the message's number in it. Of the
//! messages sent first on a connection the highest number that has arrived is remembered; resent ones are remembered one
//! by one.

use crate::message_id::{ConnSeq, MessageId};
use lnet_core::Time;
use std::collections::{HashMap, VecDeque};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Time after which an entry is forgotten. A message is sent again within seconds, or not at all.
const MEMORY: Duration = Duration::from_secs(300);
/// Maximum number of sequences of closed connections that are remembered.
const MAX_CLOSED: usize = 64;
/// Maximum number of IDs of resent messages that are remembered.
const MAX_RESENT: usize = 1024;

/// The messages of one node. `C` stands for a connection, `M` for a message that has arrived in part.
#[derive(Debug)]
pub struct DedupTable<C, M> {
    conns: HashMap<ConnSeq, SeqEntry<C>, foldhash::fast::RandomState>,
    message_ids: HashMap<NonZeroU64, ResentState<C, M>, foldhash::fast::RandomState>,
    /// The IDs of the resent messages that have arrived, the oldest first.
    taken: VecDeque<(NonZeroU64, Time)>,
    parked: usize,
}

#[derive(Debug)]
struct SeqEntry<C> {
    /// The number of the last message that has arrived.
    highest: Arc<AtomicU64>,
    state: SeqState<C>,
}

#[derive(Debug)]
enum SeqState<C> {
    Open(C),
    Closed(Time),
}

/// The state of a message that was resent.
#[derive(Debug)]
enum ResentState<C, M> {
    /// The message is arriving on this connection, for the second time at least.
    Arriving(C),
    /// The message had arrived in part when its connection ended; it is kept until this time.
    Parked(M, Time),
    Taken,
}

/// The action for a message that is sent again.
#[derive(Debug, PartialEq, Eq)]
pub enum Resend<C, M> {
    /// The message is not known: take it.
    New,
    /// The message has arrived before: drop it.
    Duplicate,
    /// The first part of the message has been received, and it has been matched: receive it from the start, into the same
    /// memory.
    Resume(M),
    /// The connection on which the message was sent before is still open on this node. Its sender has given that up: close
    /// it, then check again.
    CloseFirst(C),
}

impl<C, M> Default for DedupTable<C, M> {
    fn default() -> Self {
        Self { conns: HashMap::default(), message_ids: HashMap::default(), taken: VecDeque::new(), parked: 0 }
    }
}

impl<C: Clone, M> DedupTable<C, M> {
    /// Registers the sequence of a connection at its first message. Returns where to note the numbers of messages that
    /// arrive; `None` if another connection has that sequence.
    pub fn open(&mut self, conn_seq: ConnSeq, connection: C) -> Option<Arc<AtomicU64>> {
        if matches!(self.conns.get(&conn_seq), Some(SeqEntry { state: SeqState::Open(_), .. })) {
            return None;
        }
        let highest = Arc::new(AtomicU64::new(0));
        let state = SeqState::Open(connection);
        self.conns.insert(conn_seq, SeqEntry { highest: Arc::clone(&highest), state });
        Some(highest)
    }

    /// Closes a sequence: nothing more arrives with it, and messages that have arrived in part have been parked.
    pub fn close(&mut self, conn_seq: ConnSeq, now: Time) {
        if let Some(entry) = self.conns.get_mut(&conn_seq) {
            entry.state = SeqState::Closed(now);
        }
        let closed = self.conns.iter().filter_map(|(conn_seq, entry)| match entry.state {
            SeqState::Closed(at) => Some((at, *conn_seq)),
            SeqState::Open(_) => None,
        });
        let closed: Vec<_> = closed.collect();
        if closed.len() > MAX_CLOSED
            && let Some((_, oldest)) = closed.into_iter().min()
        {
            self.conns.remove(&oldest);
        }
    }

    /// Checks a message that is resent on `connection`. Unless it is a duplicate, or a connection is to be closed first,
    /// it counts as arriving from now on.
    pub fn resent(&mut self, id: MessageId, connection: C) -> Resend<C, M> {
        match self.conns.get(&id.conn_seq()) {
            Some(SeqEntry { state: SeqState::Open(first), .. }) => return Resend::CloseFirst(first.clone()),
            Some(entry) if id.sequence() <= entry.highest.load(Ordering::Acquire) => {
                return Resend::Duplicate;
            }
            _ => {}
        }
        let message_id = id.first();
        match self.message_ids.get(&message_id) {
            Some(ResentState::Taken) => return Resend::Duplicate,
            Some(ResentState::Arriving(before)) => return Resend::CloseFirst(before.clone()),
            Some(ResentState::Parked(..)) | None => {}
        }
        match self.message_ids.insert(message_id, ResentState::Arriving(connection)) {
            Some(ResentState::Parked(message, _)) => {
                self.parked -= 1;
                Resend::Resume(message)
            }
            _ => Resend::New,
        }
    }

    /// Notes that a resent message has arrived.
    pub fn take(&mut self, message_id: NonZeroU64, now: Time) {
        self.message_ids.insert(message_id, ResentState::Taken);
        self.taken.push_back((message_id, now));
        if self.taken.len() > MAX_RESENT
            && let Some((oldest, _)) = self.taken.pop_front()
        {
            self.message_ids.remove(&oldest);
        }
    }

    /// Forgets a resent message that has not arrived.
    pub fn forget(&mut self, message_id: NonZeroU64) {
        if matches!(self.message_ids.get(&message_id), Some(ResentState::Arriving(_))) {
            self.message_ids.remove(&message_id);
        }
    }

    /// Keeps a message that has arrived in part, for the first time or again. Returns it if it has been received otherwise. The
    /// caller limits the number of kept messages by [`DedupTable::unpark`].
    pub fn park(&mut self, message_id: NonZeroU64, message: M, until: Time) -> Result<(), M> {
        if matches!(self.message_ids.get(&message_id), Some(ResentState::Parked(..) | ResentState::Taken)) {
            self.forget(message_id);
            return Err(message);
        }
        self.parked += 1;
        self.message_ids.insert(message_id, ResentState::Parked(message, until));
        Ok(())
    }

    /// Takes a parked message out; nothing of it is kept.
    pub fn unpark(&mut self, message_id: NonZeroU64) -> Option<M> {
        match self.message_ids.remove(&message_id)? {
            ResentState::Parked(message, _) => {
                self.parked -= 1;
                Some(message)
            }
            other => {
                self.message_ids.insert(message_id, other);
                None
            }
        }
    }

    /// Takes out the parked messages that will not come again, or for which `is_over` holds.
    pub fn expire(&mut self, now: Time, is_over: impl Fn(&M) -> bool) -> Vec<M> {
        let old = |at: Time| now.since(at) >= MEMORY;
        self.conns.retain(|_, entry| !matches!(entry.state, SeqState::Closed(at) if old(at)));
        while let Some((message_id, _)) = self.taken.front().copied().filter(|(_, at)| old(*at)) {
            self.taken.pop_front();
            self.message_ids.remove(&message_id);
        }
        if self.parked == 0 {
            return Vec::new();
        }
        let over = self.message_ids.extract_if(|_, outcome| match outcome {
            ResentState::Parked(message, until) => *until <= now || is_over(message),
            _ => false,
        });
        let over: Vec<M> = over
            .filter_map(|(_, outcome)| match outcome {
                ResentState::Parked(message, _) => Some(message),
                _ => None,
            })
            .collect();
        self.parked -= over.len();
        over
    }

    /// Whether there are parked messages.
    pub const fn has_parked(&self) -> bool {
        self.parked > 0
    }

    /// Whether the table has no entry that matters.
    pub fn is_empty(&self) -> bool {
        self.conns.is_empty() && self.message_ids.is_empty()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    type Table = DedupTable<u32, &'static str>;

    fn conn_seq(n: u64) -> ConnSeq {
        ConnSeq::nth(n)
    }

    fn resent(n: u64, sequence: u64) -> MessageId {
        MessageId::new(conn_seq(n), sequence).unwrap().resent()
    }

    /// Makes a node with sequence 1 open as connection 1, on which 5 messages have arrived.
    fn five_taken() -> (Table, Time) {
        let mut table = Table::default();
        table.open(conn_seq(1), 1).unwrap().store(5, Ordering::Release);
        (table, Time(Duration::from_secs(1000)))
    }

    #[test]
    fn a_message_of_a_known_sequence_is_a_duplicate_when_it_is_resent() {
        let (mut table, now) = five_taken();
        assert_eq!(table.resent(resent(1, 5), 2), Resend::CloseFirst(1));
        table.close(conn_seq(1), now);
        assert_eq!(table.resent(resent(1, 5), 2), Resend::Duplicate);
        assert_eq!(table.resent(resent(1, 1), 2), Resend::Duplicate);
        assert_eq!(table.resent(resent(1, 6), 2), Resend::New);
        assert_eq!(table.resent(resent(7, 1), 2), Resend::New);
    }

    #[test]
    fn a_message_resent_twice_is_a_duplicate_by_its_id() {
        let (mut table, now) = five_taken();
        table.close(conn_seq(1), now);
        let id = resent(1, 6);
        assert_eq!(table.resent(id, 2), Resend::New);
        // The sender also gives up the second connection while the message is arriving on it.
        assert_eq!(table.resent(id, 3), Resend::CloseFirst(2));
        table.forget(id.first());
        assert_eq!(table.resent(id, 3), Resend::New);
        table.take(id.first(), now);
        assert_eq!(table.resent(id, 4), Resend::Duplicate);
        table.forget(id.first());
        assert_eq!(table.resent(id, 4), Resend::Duplicate);
    }

    #[test]
    fn a_partly_received_message_is_resumed_once() {
        let (mut table, now) = five_taken();
        let id = resent(1, 6);
        table.park(id.first(), "half", now + MEMORY).unwrap();
        table.close(conn_seq(1), now);
        assert_eq!(table.resent(id, 2), Resend::Resume("half"));
        assert_eq!(table.resent(id, 3), Resend::CloseFirst(2));
        table.park(id.first(), "half", now + MEMORY).unwrap();
        assert_eq!(table.resent(id, 3), Resend::Resume("half"));
        table.take(id.first(), now);
        assert_eq!(table.park(id.first(), "late", now), Err("late"));
        assert_eq!(table.resent(id, 4), Resend::Duplicate);
    }

    #[test]
    fn a_parked_message_that_is_not_resent_in_time_is_given_up() {
        let (mut table, now) = five_taken();
        let later = now + Duration::from_secs(30);
        table.park(resent(1, 6).first(), "six", later).unwrap();
        table.park(resent(1, 7).first(), "seven", later + MEMORY).unwrap();
        assert_eq!(table.expire(now, |_| false), [""; 0]);
        assert_eq!(table.expire(later, |_| false), ["six"]);
        assert_eq!(table.expire(later, |message| *message == "seven"), ["seven"]);
        assert_eq!((table.parked, table.message_ids.len()), (0, 0));
    }

    #[test]
    fn a_sequence_belongs_to_one_connection_at_a_time() {
        let (mut table, now) = five_taken();
        assert!(table.open(conn_seq(1), 2).is_none());
        table.close(conn_seq(1), now);
        // Sequences are reused in the end.
        assert_eq!(table.open(conn_seq(1), 2).unwrap().load(Ordering::Acquire), 0);
    }

    #[test]
    fn entries_expire_and_their_number_is_limited() {
        let mut table = Table::default();
        let now = Time(Duration::from_secs(1000));
        for n in 0..1000 {
            table.open(conn_seq(n), 1).unwrap();
            table.close(conn_seq(n), now + Duration::from_millis(n));
            table.take(resent(n, 1).first(), now);
        }
        for n in 1..5000 {
            table.take(resent(5000, n).first(), now);
        }
        assert_eq!(
            (table.conns.len(), table.message_ids.len(), table.taken.len()),
            (MAX_CLOSED, MAX_RESENT, MAX_RESENT)
        );
        assert!(table.conns.contains_key(&conn_seq(999)) && !table.conns.contains_key(&conn_seq(0)));
        for n in 1..=10 {
            table.park(resent(1, n).first(), "", now).unwrap();
        }
        assert_eq!(table.unpark(resent(1, 3).first()), Some(""));
        assert_eq!(
            (table.unpark(resent(1, 3).first()), table.unpark(resent(5000, 4999).first())),
            (None, None)
        );
        assert_eq!(table.expire(now + 2 * MEMORY, |_| false).len(), 9);
        assert!(table.is_empty());
    }

    /// An event of one of a few messages, or of the connection that it is on.
    #[derive(Clone, Copy, Debug)]
    enum RxStep {
        /// The sender sends the message again, by a new connection.
        Send(u64),
        /// The message arrives in full.
        Arrive(u64),
        /// The connection of the message ends while it is on its way; the flag says whether it has been matched.
        Break(u64, bool),
    }

    fn step() -> impl Strategy<Value = RxStep> {
        prop_oneof![
            3 => (1_u64..6).prop_map(RxStep::Send),
            2 => (1_u64..6).prop_map(RxStep::Arrive),
            2 => (1_u64..6, any::<bool>()).prop_map(|(n, matched)| RxStep::Break(n, matched)),
        ]
    }

    proptest! {
        /// Whatever breaks: no message arrives twice, none is matched again once it has been matched, and one that
        /// has not arrived is taken when it comes.
        #[test]
        fn each_message_is_taken_at_most_once(first in 0_u64..6, steps in prop::collection::vec(step(), 0..60)) {
            let now = Time(Duration::from_secs(1000));
            let mut table: DedupTable<u32, u64> = DedupTable::default();
            table.open(conn_seq(1), 0).unwrap().store(first, Ordering::Release);
            table.close(conn_seq(1), now);
            let mut taken: BTreeSet<u64> = (1..=first).collect();
            let mut matched = BTreeSet::new();
            let mut under_way: BTreeMap<u64, u32> = BTreeMap::new();
            let mut connections = 0;
            for step in steps {
                match step {
                    RxStep::Send(n) => {
                        connections += 1;
                        let want = match (taken.contains(&n), under_way.get(&n), matched.contains(&n)) {
                            (true, _, _) => Resend::Duplicate,
                            (_, Some(connection), _) => Resend::CloseFirst(*connection),
                            (_, None, true) => Resend::Resume(n),
                            (_, None, false) => Resend::New,
                        };
                        if matches!(want, Resend::New | Resend::Resume(_)) {
                            under_way.insert(n, connections);
                        }
                        prop_assert_eq!(table.resent(resent(1, n), connections), want);
                    }
                    RxStep::Arrive(n) if under_way.remove(&n).is_some() => {
                        prop_assert!(taken.insert(n));
                        table.take(resent(1, n).first(), now);
                    }
                    RxStep::Break(n, is_matched) if under_way.remove(&n).is_some() => {
                        if is_matched || matched.contains(&n) {
                            matched.insert(n);
                            prop_assert_eq!(table.park(resent(1, n).first(), n, now + MEMORY), Ok(()));
                        } else {
                            table.forget(resent(1, n).first());
                        }
                    }
                    RxStep::Arrive(_) | RxStep::Break(..) => {}
                }
            }
        }
    }
}
