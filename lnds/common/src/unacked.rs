//! The messages of one connection that have asked for a delivery ACK and are not done with.
//!
//! A message is done with when its bytes are written *and* its delivery ACK has come; either may be first.

use crate::message_id::{ConnSeq, MessageId};
use lnet_core::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// A delivery ACK that nobody asked for: the peer breaks the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotOutstanding;

/// See the module.
#[derive(Debug)]
pub struct Unacked<M> {
    conn_seq: ConnSeq,
    /// The sequence of the first of `first_sent`.
    first: u64,
    /// Messages that got their names here, in the order of the wire.
    first_sent: VecDeque<Slot<M>>,
    /// Messages that were sent before by other connections. Few, and only after trouble.
    resent: Vec<(MessageId, Slot<M>)>,
    /// No delivery ACK will come any more.
    given_up: bool,
    /// The oldest message when it was last looked at, and since when it has been that.
    watched: Option<(MessageId, Time)>,
}

#[derive(Debug)]
enum Slot<M> {
    /// Not all of its bytes have been written, as far as the writer has told.
    Writing,
    /// The same, and the delivery ACK is here.
    Acknowledged,
    /// Written; the delivery ACK is missing.
    Written(M),
    /// Written, and given back because the delivery ACK was late. It may come.
    Abandoned,
    Done,
}

/// What becomes of a message when its last byte is written.
#[derive(Debug, PartialEq, Eq)]
pub enum Written<M> {
    /// It is done with.
    Done(M),
    /// The delivery ACK will never come.
    Lost(M),
    /// It is kept until its delivery ACK comes.
    Waits,
}

impl<M> Slot<M> {
    /// A delivery ACK has come. The message, if it is done with.
    fn acknowledge(&mut self) -> Result<Option<M>, NotOutstanding> {
        match std::mem::replace(self, Self::Done) {
            Self::Written(message) => Ok(Some(message)),
            Self::Writing => {
                *self = Self::Acknowledged;
                Ok(None)
            }
            Self::Abandoned => Ok(None),
            other => {
                *self = other;
                Err(NotOutstanding)
            }
        }
    }

    fn written(&mut self, message: M, given_up: bool) -> Written<M> {
        match self {
            Self::Writing if !given_up => {
                *self = Self::Written(message);
                Written::Waits
            }
            Self::Acknowledged => {
                *self = Self::Done;
                Written::Done(message)
            }
            _ => {
                *self = Self::Done;
                Written::Lost(message)
            }
        }
    }

    const fn is_outstanding(&self) -> bool {
        matches!(self, Self::Writing | Self::Written(_) | Self::Abandoned)
    }
}

impl<M> Unacked<M> {
    /// Of a connection with this sequence; no message yet.
    pub const fn new(conn_seq: ConnSeq) -> Self {
        Self {
            conn_seq,
            first: 1,
            first_sent: VecDeque::new(),
            resent: Vec::new(),
            given_up: false,
            watched: None,
        }
    }

    /// The name of a message that is the next to go onto the wire. `None`: names have run out.
    pub fn open(&mut self) -> Option<MessageId> {
        let cookie = MessageId::new(self.conn_seq, self.first + self.first_sent.len() as u64)?;
        self.first_sent.push_back(Slot::Writing);
        Some(cookie)
    }

    /// A message goes out that has its name from another connection, or from this one.
    pub fn open_resend(&mut self, first: MessageId) -> MessageId {
        let cookie = first.resent();
        self.resent.push((cookie, Slot::Writing));
        cookie
    }

    /// The message is written.
    pub fn written(&mut self, cookie: MessageId, message: M) -> Written<M> {
        let given_up = self.given_up;
        let Some(slot) = self.slot(cookie) else { return Written::Lost(message) };
        let result = slot.written(message, given_up);
        self.tidy(cookie);
        result
    }

    /// A delivery ACK has come. Gives back the message if it is done with.
    pub fn acknowledge(&mut self, cookie: MessageId) -> Result<Option<M>, NotOutstanding> {
        let late = if self.given_up { Ok(None) } else { Err(NotOutstanding) };
        let Some(slot) = self.slot(cookie) else { return late };
        let Ok(done) = slot.acknowledge() else { return late };
        self.tidy(cookie);
        Ok(done)
    }

    /// Whether all names of this connection from `from` to `to` are of messages that wait for their delivery ACKs.
    pub fn awaits_all(&self, from: MessageId, to: MessageId) -> bool {
        if from.is_resend()
            || to.is_resend()
            || from.conn_seq() != self.conn_seq
            || to.conn_seq() != self.conn_seq
        {
            return false;
        }
        let Some(skip) = from.sequence().checked_sub(self.first) else { return false };
        let count = to.sequence().saturating_sub(from.sequence()).saturating_add(1);
        let outstanding = self.first_sent.iter().skip(skip as usize).take_while(|slot| slot.is_outstanding());
        outstanding.take(usize::try_from(count).unwrap_or(usize::MAX)).count() as u64 == count
    }

    /// Whether a message with this name waits for its delivery ACK.
    pub fn contains(&mut self, cookie: MessageId) -> bool {
        self.slot(cookie).is_some()
    }

    /// How long the oldest written message has been seen to wait for its delivery ACK, as far as this was asked before.
    pub fn oldest_waits(&mut self, now: Time) -> Option<Duration> {
        let is_over = |slot: &Slot<M>| matches!(slot, Slot::Abandoned | Slot::Done);
        let of_named = match self.first_sent.iter().enumerate().find(|(_, slot)| !is_over(slot)) {
            Some((at, Slot::Written(_))) => MessageId::new(self.conn_seq, self.first + at as u64),
            _ => None,
        };
        let of_again = || self.resent.iter().find(|(_, slot)| matches!(slot, Slot::Written(_)));
        let oldest = of_named.or_else(|| of_again().map(|(cookie, _)| *cookie));
        match (self.watched, oldest) {
            (_, None) => self.watched = None,
            (Some((watched, _)), Some(oldest)) if watched == oldest => {}
            (_, Some(oldest)) => self.watched = Some((oldest, now)),
        }
        self.watched.map(|(_, since)| now.since(since))
    }

    /// A message that has its name from here does not go out after all.
    pub fn withdraw(&mut self, cookie: MessageId) {
        if let Some(slot) = self.slot(cookie) {
            *slot = Slot::Done;
            self.tidy(cookie);
        }
    }

    /// The written messages.
    pub fn all_written(&mut self) -> impl Iterator<Item = &mut M> {
        let resent = self.resent.iter_mut().map(|(_, slot)| slot);
        self.first_sent.iter_mut().chain(resent).filter_map(|slot| match slot {
            Slot::Written(message) => Some(message),
            _ => None,
        })
    }

    /// Takes the written messages, which are late. Their delivery ACKs may come still.
    pub fn abandon(&mut self) -> Vec<M> {
        let resent = self.resent.iter_mut().map(|(_, slot)| slot);
        let written =
            self.first_sent.iter_mut().chain(resent).filter(|slot| matches!(slot, Slot::Written(_)));
        let taken = written.filter_map(|slot| match std::mem::replace(slot, Slot::Abandoned) {
            Slot::Written(message) => Some(message),
            _ => None,
        });
        taken.collect()
    }

    /// Takes the written messages: their delivery ACKs will never come, nor those of the messages being written.
    pub fn give_up(&mut self) -> Vec<M> {
        self.given_up = true;
        let resent = self.resent.iter_mut().map(|(_, slot)| slot);
        let taken = self.first_sent.iter_mut().chain(resent).filter_map(|slot| match slot {
            Slot::Written(_) => match std::mem::replace(slot, Slot::Done) {
                Slot::Written(message) => Some(message),
                _ => None,
            },
            _ => None,
        });
        let taken = taken.collect();
        self.resent.retain(|(_, slot)| !matches!(slot, Slot::Done));
        taken
    }

    /// Whether nobody waits for a delivery ACK.
    pub fn is_empty(&self) -> bool {
        let all = self.first_sent.iter().chain(self.resent.iter().map(|(_, slot)| slot));
        all.into_iter().all(|slot| matches!(slot, Slot::Abandoned | Slot::Done))
    }

    fn slot(&mut self, cookie: MessageId) -> Option<&mut Slot<M>> {
        if cookie.is_resend() {
            return self.resent.iter_mut().find(|(known, _)| *known == cookie).map(|(_, slot)| slot);
        }
        if cookie.conn_seq() != self.conn_seq {
            return None;
        }
        let at = cookie.sequence().checked_sub(self.first)?;
        self.first_sent.get_mut(usize::try_from(at).ok()?)
    }

    /// Forgets what is done with.
    fn tidy(&mut self, changed: MessageId) {
        if changed.is_resend() {
            self.resent.retain(|(_, slot)| !matches!(slot, Slot::Done));
        }
        while matches!(self.first_sent.front(), Some(Slot::Done)) {
            self.first_sent.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn conn_seq() -> ConnSeq {
        ConnSeq::nth(6)
    }

    fn message_id(sequence: u64) -> MessageId {
        MessageId::new(conn_seq(), sequence).unwrap()
    }

    fn written(n: u64) -> Unacked<u64> {
        let mut unacked = Unacked::new(conn_seq());
        for sequence in 1..=n {
            assert_eq!(unacked.open(), Some(message_id(sequence)));
            assert_eq!(unacked.written(message_id(sequence), sequence), Written::Waits);
        }
        unacked
    }

    #[test]
    fn a_written_message_waits_for_its_delivery_ack() {
        let mut unacked = written(3);
        assert_eq!(unacked.acknowledge(message_id(2)), Ok(Some(2)));
        assert_eq!(unacked.acknowledge(message_id(2)), Err(NotOutstanding));
        assert_eq!(unacked.acknowledge(message_id(4)), Err(NotOutstanding));
        assert_eq!(unacked.acknowledge(MessageId::new(ConnSeq::nth(7), 1).unwrap()), Err(NotOutstanding));
        assert_eq!(unacked.acknowledge(message_id(1).resent()), Err(NotOutstanding));
        assert_eq!(unacked.acknowledge(message_id(1)), Ok(Some(1)));
        assert_eq!(unacked.acknowledge(message_id(1)), Err(NotOutstanding));
        assert_eq!(unacked.acknowledge(message_id(3)), Ok(Some(3)));
        assert!(unacked.is_empty());
        assert_eq!(unacked.open(), Some(message_id(4)));
    }

    #[test]
    fn a_delivery_ack_may_arrive_before_the_write_returns() {
        let mut unacked = Unacked::new(conn_seq());
        let cookie = unacked.open().unwrap();
        assert_eq!(unacked.acknowledge(cookie), Ok(None));
        assert_eq!(unacked.acknowledge(cookie), Err(NotOutstanding));
        assert_eq!(unacked.written(cookie, "message"), Written::Done("message"));
        assert!(unacked.is_empty());
    }

    #[test]
    fn a_resent_message_keeps_its_id() {
        let mut unacked = written(1);
        let elsewhere = MessageId::new(ConnSeq::nth(1), 99).unwrap();
        let cookie = unacked.open_resend(elsewhere);
        assert_eq!(cookie, elsewhere.resent());
        assert!(unacked.contains(cookie) && !unacked.contains(elsewhere));
        assert_eq!(unacked.written(cookie, 9), Written::Waits);
        assert_eq!(unacked.acknowledge(elsewhere), Err(NotOutstanding));
        assert_eq!(unacked.acknowledge(cookie), Ok(Some(9)));
        assert_eq!(unacked.acknowledge(cookie), Err(NotOutstanding));
        assert!(unacked.resent.is_empty());
    }

    #[test]
    fn messages_that_will_not_be_acknowledged_are_given_back_once() {
        let mut unacked = written(2);
        let (writing, acknowledged) = (unacked.open().unwrap(), unacked.open().unwrap());
        let resent = unacked.open_resend(MessageId::new(ConnSeq::nth(1), 1).unwrap());
        assert_eq!(unacked.written(resent, 5), Written::Waits);
        assert_eq!(unacked.acknowledge(acknowledged), Ok(None));
        assert_eq!(unacked.give_up(), [1, 2, 5]);
        assert_eq!(unacked.give_up(), []);
        assert_eq!(unacked.written(writing, 3), Written::Lost(3));
        assert_eq!(unacked.written(acknowledged, 4), Written::Done(4));
        // A delivery ACK that was under way is no mistake of the peer's.
        assert_eq!(unacked.acknowledge(message_id(1)), Ok(None));
    }

    #[test]
    fn a_range_of_acks_must_be_outstanding_in_full() {
        let mut unacked = written(6);
        assert_eq!(unacked.acknowledge(message_id(2)), Ok(Some(2)));
        for (from, to, want) in [
            (3, 6, true),
            (1, 1, true),
            (6, 6, true),
            (1, 2, false),
            (2, 3, false),
            (3, 7, false),
            (6, (1 << 40) - 1, false),
            (7, 7, false),
        ] {
            assert_eq!(unacked.awaits_all(message_id(from), message_id(to)), want, "{from} {to}");
        }
        assert_eq!(unacked.acknowledge(message_id(1)), Ok(Some(1)));
        assert!(!unacked.awaits_all(message_id(1), message_id(6)));
        assert!(unacked.awaits_all(message_id(3), message_id(6)));
        assert!(!unacked.awaits_all(message_id(3).resent(), message_id(6)));
        assert!(!unacked.awaits_all(message_id(3), MessageId::new(ConnSeq::nth(7), 6).unwrap()));
    }

    #[test]
    fn the_oldest_unacknowledged_message_is_timed() {
        let start = Time(Duration::from_secs(1000));
        let at = |seconds| start + Duration::from_secs(seconds);
        let waits = |unacked: &mut Unacked<u64>, seconds| {
            unacked.oldest_waits(at(seconds)).map(|waits| waits.as_secs())
        };
        let mut unacked = written(2);
        assert_eq!(waits(&mut unacked, 10), Some(0));
        assert_eq!(waits(&mut unacked, 15), Some(5));
        let _ = unacked.acknowledge(message_id(2));
        assert_eq!(waits(&mut unacked, 16), Some(6));
        let resent = unacked.open_resend(MessageId::new(ConnSeq::nth(1), 1).unwrap());
        let _ = unacked.written(resent, 9);
        let _ = unacked.acknowledge(message_id(1));
        assert_eq!(waits(&mut unacked, 17), Some(0));
        assert_eq!(waits(&mut unacked, 18), Some(1));
        let _ = unacked.acknowledge(resent);
        assert_eq!(waits(&mut unacked, 19), None);
        let _ = unacked.open();
        assert_eq!(waits(&mut unacked, 20), None);
    }

    #[derive(Clone, Debug)]
    enum RxStep {
        Open,
        Resend(u64),
        Written(usize),
        Acknowledge(usize),
        GiveUp,
    }

    fn step() -> impl Strategy<Value = RxStep> {
        prop_oneof![
            4 => Just(RxStep::Open),
            1 => (1_u64..5).prop_map(RxStep::Resend),
            5 => (0_usize..20).prop_map(RxStep::Written),
            5 => (0_usize..20).prop_map(RxStep::Acknowledge),
            1 => Just(RxStep::GiveUp),
        ]
    }

    proptest! {
        /// The model: for each name, whether it is written and whether its delivery ACK is here; it ends when both are.
        #[test]
        fn each_unacknowledged_message_is_given_back_exactly_once(steps in prop::collection::vec(step(), 0..60)) {
            let mut unacked = Unacked::new(conn_seq());
            let mut model: BTreeMap<MessageId, (bool, bool)> = BTreeMap::new();
            let mut message_ids = Vec::new();
            let mut given_up = false;
            for step in steps {
                match step {
                    RxStep::Open => {
                        let cookie = unacked.open().unwrap();
                        message_ids.push(cookie);
                        model.insert(cookie, (false, false));
                    }
                    RxStep::Resend(sequence) => {
                        let first = MessageId::new(ConnSeq::nth(1), sequence).unwrap();
                        if let std::collections::btree_map::Entry::Vacant(vacant) = model.entry(first.resent()) {
                            message_ids.push(unacked.open_resend(first));
                            vacant.insert((false, false));
                        }
                    }
                    RxStep::Written(at) => {
                        let Some(cookie) = message_ids.get(at).copied() else { continue };
                        let Some((written, acknowledged)) = model.get_mut(&cookie) else { continue };
                        if std::mem::replace(written, true) {
                            continue;
                        }
                        let want = match (*acknowledged, given_up) {
                            (true, _) => Written::Done(cookie),
                            (false, true) => Written::Lost(cookie),
                            (false, false) => Written::Waits,
                        };
                        if want != Written::Waits {
                            model.remove(&cookie);
                        }
                        prop_assert_eq!(unacked.written(cookie, cookie), want);
                    }
                    RxStep::Acknowledge(at) => {
                        let Some(cookie) = message_ids.get(at).copied() else { continue };
                        let nothing = if given_up { Ok(None) } else { Err(NotOutstanding) };
                        let want = match model.get_mut(&cookie) {
                            Some((true, false)) => {
                                model.remove(&cookie);
                                Ok(Some(cookie))
                            }
                            Some((false, acknowledged @ false)) => {
                                *acknowledged = true;
                                Ok(None)
                            }
                            _ => nothing,
                        };
                        prop_assert_eq!(unacked.acknowledge(cookie), want);
                    }
                    RxStep::GiveUp => {
                        given_up = true;
                        let mut want: Vec<MessageId> =
                            model.iter().filter(|(_, (written, _))| *written).map(|(cookie, _)| *cookie).collect();
                        model.retain(|_, (written, _)| !*written);
                        let mut got = unacked.give_up();
                        got.sort();
                        want.sort();
                        prop_assert_eq!(got, want);
                    }
                }
            }
        }
    }
}
