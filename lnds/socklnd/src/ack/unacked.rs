//! The messages of one connection that have asked for a delivery ACK and are not done with.
//!
//! A message is done with when its bytes are written *and* its delivery ACK has come; either may be first.

use super::message_id::{ConnSeq, MessageId};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A delivery ACK that nobody asked for: the peer breaks the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotOutstanding;

/// See the module.
#[derive(Debug)]
pub(crate) struct Unacked<M> {
    line: ConnSeq,
    /// The sequence of the first of `named`.
    first: u64,
    /// Messages that got their names here, in the order of the wire.
    named: VecDeque<Slot<M>>,
    /// Messages that were sent before by other connections. Few, and only after trouble.
    again: Vec<(MessageId, Slot<M>)>,
    /// No delivery ACK will come any more.
    given_up: bool,
    /// The oldest message when it was last looked at, and since when it has been that.
    watched: Option<(MessageId, Instant)>,
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
pub(crate) enum Written<M> {
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
    pub(crate) const fn new(line: ConnSeq) -> Self {
        Self { line, first: 1, named: VecDeque::new(), again: Vec::new(), given_up: false, watched: None }
    }

    /// The name of a message that is the next to go onto the wire. `None`: names have run out.
    pub(crate) fn open(&mut self) -> Option<MessageId> {
        let cookie = MessageId::new(self.line, self.first + self.named.len() as u64)?;
        self.named.push_back(Slot::Writing);
        Some(cookie)
    }

    /// A message goes out that has its name from another connection, or from this one.
    pub(crate) fn open_again(&mut self, first: MessageId) -> MessageId {
        let cookie = first.again();
        self.again.push((cookie, Slot::Writing));
        cookie
    }

    /// The message is written.
    pub(crate) fn written(&mut self, cookie: MessageId, message: M) -> Written<M> {
        let given_up = self.given_up;
        let Some(slot) = self.slot(cookie) else { return Written::Lost(message) };
        let result = slot.written(message, given_up);
        self.tidy(cookie);
        result
    }

    /// A delivery ACK has come. Gives back the message if it is done with.
    pub(crate) fn acknowledge(&mut self, cookie: MessageId) -> Result<Option<M>, NotOutstanding> {
        let late = if self.given_up { Ok(None) } else { Err(NotOutstanding) };
        let Some(slot) = self.slot(cookie) else { return late };
        let Ok(done) = slot.acknowledge() else { return late };
        self.tidy(cookie);
        Ok(done)
    }

    /// Whether all names of this connection from `from` to `to` are of messages that wait for their delivery ACKs.
    pub(crate) fn awaits_all(&self, from: MessageId, to: MessageId) -> bool {
        if from.is_again() || to.is_again() || from.line() != self.line || to.line() != self.line {
            return false;
        }
        let Some(skip) = from.sequence().checked_sub(self.first) else { return false };
        let count = to.sequence().saturating_sub(from.sequence()).saturating_add(1);
        let outstanding = self.named.iter().skip(skip as usize).take_while(|slot| slot.is_outstanding());
        outstanding.take(usize::try_from(count).unwrap_or(usize::MAX)).count() as u64 == count
    }

    /// Whether a message with this name waits for its delivery ACK.
    pub(crate) fn knows(&mut self, cookie: MessageId) -> bool {
        self.slot(cookie).is_some()
    }

    /// How long the oldest written message has been seen to wait for its delivery ACK, as far as this was asked before.
    pub(crate) fn oldest_waits(&mut self, now: Instant) -> Option<Duration> {
        let is_over = |slot: &Slot<M>| matches!(slot, Slot::Abandoned | Slot::Done);
        let of_named = match self.named.iter().enumerate().find(|(_, slot)| !is_over(slot)) {
            Some((at, Slot::Written(_))) => MessageId::new(self.line, self.first + at as u64),
            _ => None,
        };
        let of_again = || self.again.iter().find(|(_, slot)| matches!(slot, Slot::Written(_)));
        let oldest = of_named.or_else(|| of_again().map(|(cookie, _)| *cookie));
        match (self.watched, oldest) {
            (_, None) => self.watched = None,
            (Some((watched, _)), Some(oldest)) if watched == oldest => {}
            (_, Some(oldest)) => self.watched = Some((oldest, now)),
        }
        self.watched.map(|(_, since)| now.saturating_duration_since(since))
    }

    /// A message that has its name from here does not go out after all.
    pub(crate) fn withdraw(&mut self, cookie: MessageId) {
        if let Some(slot) = self.slot(cookie) {
            *slot = Slot::Done;
            self.tidy(cookie);
        }
    }

    /// The written messages.
    pub(crate) fn all_written(&mut self) -> impl Iterator<Item = &mut M> {
        let again = self.again.iter_mut().map(|(_, slot)| slot);
        self.named.iter_mut().chain(again).filter_map(|slot| match slot {
            Slot::Written(message) => Some(message),
            _ => None,
        })
    }

    /// Takes the written messages, which are late. Their delivery ACKs may come still.
    pub(crate) fn abandon(&mut self) -> Vec<M> {
        let again = self.again.iter_mut().map(|(_, slot)| slot);
        let written = self.named.iter_mut().chain(again).filter(|slot| matches!(slot, Slot::Written(_)));
        let taken = written.filter_map(|slot| match std::mem::replace(slot, Slot::Abandoned) {
            Slot::Written(message) => Some(message),
            _ => None,
        });
        taken.collect()
    }

    /// Takes the written messages: their delivery ACKs will never come, nor those of the messages being written.
    pub(crate) fn give_up(&mut self) -> Vec<M> {
        self.given_up = true;
        let again = self.again.iter_mut().map(|(_, slot)| slot);
        let taken = self.named.iter_mut().chain(again).filter_map(|slot| match slot {
            Slot::Written(_) => match std::mem::replace(slot, Slot::Done) {
                Slot::Written(message) => Some(message),
                _ => None,
            },
            _ => None,
        });
        let taken = taken.collect();
        self.again.retain(|(_, slot)| !matches!(slot, Slot::Done));
        taken
    }

    /// Whether nobody waits for a delivery ACK.
    pub(crate) fn is_empty(&self) -> bool {
        let all = self.named.iter().chain(self.again.iter().map(|(_, slot)| slot));
        all.into_iter().all(|slot| matches!(slot, Slot::Abandoned | Slot::Done))
    }

    fn slot(&mut self, cookie: MessageId) -> Option<&mut Slot<M>> {
        if cookie.is_again() {
            return self.again.iter_mut().find(|(known, _)| *known == cookie).map(|(_, slot)| slot);
        }
        if cookie.line() != self.line {
            return None;
        }
        let at = cookie.sequence().checked_sub(self.first)?;
        self.named.get_mut(usize::try_from(at).ok()?)
    }

    /// Forgets what is done with.
    fn tidy(&mut self, changed: MessageId) {
        if changed.is_again() {
            self.again.retain(|(_, slot)| !matches!(slot, Slot::Done));
        }
        while matches!(self.named.front(), Some(Slot::Done)) {
            self.named.pop_front();
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

    fn line() -> ConnSeq {
        ConnSeq::nth(6)
    }

    fn name(sequence: u64) -> MessageId {
        MessageId::new(line(), sequence).unwrap()
    }

    fn written(n: u64) -> Unacked<u64> {
        let mut book = Unacked::new(line());
        for sequence in 1..=n {
            assert_eq!(book.open(), Some(name(sequence)));
            assert_eq!(book.written(name(sequence), sequence), Written::Waits);
        }
        book
    }

    #[test]
    fn a_message_waits_for_its_receipt() {
        let mut book = written(3);
        assert_eq!(book.acknowledge(name(2)), Ok(Some(2)));
        assert_eq!(book.acknowledge(name(2)), Err(NotOutstanding));
        assert_eq!(book.acknowledge(name(4)), Err(NotOutstanding));
        assert_eq!(book.acknowledge(MessageId::new(ConnSeq::nth(7), 1).unwrap()), Err(NotOutstanding));
        assert_eq!(book.acknowledge(name(1).again()), Err(NotOutstanding));
        assert_eq!(book.acknowledge(name(1)), Ok(Some(1)));
        assert_eq!(book.acknowledge(name(1)), Err(NotOutstanding));
        assert_eq!(book.acknowledge(name(3)), Ok(Some(3)));
        assert!(book.is_empty());
        assert_eq!(book.open(), Some(name(4)));
    }

    #[test]
    fn a_receipt_may_be_faster_than_the_writer() {
        let mut book = Unacked::new(line());
        let cookie = book.open().unwrap();
        assert_eq!(book.acknowledge(cookie), Ok(None));
        assert_eq!(book.acknowledge(cookie), Err(NotOutstanding));
        assert_eq!(book.written(cookie, "message"), Written::Done("message"));
        assert!(book.is_empty());
    }

    #[test]
    fn a_message_sent_again_keeps_its_name() {
        let mut book = written(1);
        let elsewhere = MessageId::new(ConnSeq::nth(1), 99).unwrap();
        let cookie = book.open_again(elsewhere);
        assert_eq!(cookie, elsewhere.again());
        assert!(book.knows(cookie) && !book.knows(elsewhere));
        assert_eq!(book.written(cookie, 9), Written::Waits);
        assert_eq!(book.acknowledge(elsewhere), Err(NotOutstanding));
        assert_eq!(book.acknowledge(cookie), Ok(Some(9)));
        assert_eq!(book.acknowledge(cookie), Err(NotOutstanding));
        assert!(book.again.is_empty());
    }

    #[test]
    fn messages_whose_receipts_will_never_come_are_given_back_once() {
        let mut book = written(2);
        let (writing, acknowledged) = (book.open().unwrap(), book.open().unwrap());
        let again = book.open_again(MessageId::new(ConnSeq::nth(1), 1).unwrap());
        assert_eq!(book.written(again, 5), Written::Waits);
        assert_eq!(book.acknowledge(acknowledged), Ok(None));
        assert_eq!(book.give_up(), [1, 2, 5]);
        assert_eq!(book.give_up(), []);
        assert_eq!(book.written(writing, 3), Written::Lost(3));
        assert_eq!(book.written(acknowledged, 4), Written::Done(4));
        // A delivery ACK that was under way is no mistake of the peer's.
        assert_eq!(book.acknowledge(name(1)), Ok(None));
    }

    #[test]
    fn ranges_must_be_waited_for_in_full() {
        let mut book = written(6);
        assert_eq!(book.acknowledge(name(2)), Ok(Some(2)));
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
            assert_eq!(book.awaits_all(name(from), name(to)), want, "{from} {to}");
        }
        assert_eq!(book.acknowledge(name(1)), Ok(Some(1)));
        assert!(!book.awaits_all(name(1), name(6)));
        assert!(book.awaits_all(name(3), name(6)));
        assert!(!book.awaits_all(name(3).again(), name(6)));
        assert!(!book.awaits_all(name(3), MessageId::new(ConnSeq::nth(7), 6).unwrap()));
    }

    #[test]
    fn the_oldest_message_is_watched() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let waits =
            |book: &mut Unacked<u64>, seconds| book.oldest_waits(at(seconds)).map(|waits| waits.as_secs());
        let mut book = written(2);
        assert_eq!(waits(&mut book, 10), Some(0));
        assert_eq!(waits(&mut book, 15), Some(5));
        let _ = book.acknowledge(name(2));
        assert_eq!(waits(&mut book, 16), Some(6));
        let again = book.open_again(MessageId::new(ConnSeq::nth(1), 1).unwrap());
        let _ = book.written(again, 9);
        let _ = book.acknowledge(name(1));
        assert_eq!(waits(&mut book, 17), Some(0));
        assert_eq!(waits(&mut book, 18), Some(1));
        let _ = book.acknowledge(again);
        assert_eq!(waits(&mut book, 19), None);
        let _ = book.open();
        assert_eq!(waits(&mut book, 20), None);
    }

    #[derive(Clone, Debug)]
    enum RxStep {
        Open,
        Again(u64),
        Written(usize),
        Acknowledge(usize),
        GiveUp,
    }

    fn step() -> impl Strategy<Value = RxStep> {
        prop_oneof![
            4 => Just(RxStep::Open),
            1 => (1_u64..5).prop_map(RxStep::Again),
            5 => (0_usize..20).prop_map(RxStep::Written),
            5 => (0_usize..20).prop_map(RxStep::Acknowledge),
            1 => Just(RxStep::GiveUp),
        ]
    }

    proptest! {
        /// The model: for each name, whether it is written and whether its delivery ACK is here; it ends when both are.
        #[test]
        fn each_message_comes_back_exactly_once(steps in prop::collection::vec(step(), 0..60)) {
            let mut book = Unacked::new(line());
            let mut model: BTreeMap<MessageId, (bool, bool)> = BTreeMap::new();
            let mut names = Vec::new();
            let mut given_up = false;
            for step in steps {
                match step {
                    RxStep::Open => {
                        let cookie = book.open().unwrap();
                        names.push(cookie);
                        model.insert(cookie, (false, false));
                    }
                    RxStep::Again(sequence) => {
                        let first = MessageId::new(ConnSeq::nth(1), sequence).unwrap();
                        if let std::collections::btree_map::Entry::Vacant(vacant) = model.entry(first.again()) {
                            names.push(book.open_again(first));
                            vacant.insert((false, false));
                        }
                    }
                    RxStep::Written(at) => {
                        let Some(cookie) = names.get(at).copied() else { continue };
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
                        prop_assert_eq!(book.written(cookie, cookie), want);
                    }
                    RxStep::Acknowledge(at) => {
                        let Some(cookie) = names.get(at).copied() else { continue };
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
                        prop_assert_eq!(book.acknowledge(cookie), want);
                    }
                    RxStep::GiveUp => {
                        given_up = true;
                        let mut want: Vec<MessageId> =
                            model.iter().filter(|(_, (written, _))| *written).map(|(cookie, _)| *cookie).collect();
                        model.retain(|_, (written, _)| !*written);
                        let mut got = book.give_up();
                        got.sort();
                        want.sort();
                        prop_assert_eq!(got, want);
                    }
                }
            }
        }
    }
}
