//! The messages of one connection that have asked for a delivery ACK and are not complete.
//!
//! A message is complete when its bytes are written *and* its delivery ACK has come; either may be first.

use crate::message_id::{ConnSeq, MessageId};
use lnet_core::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// A delivery ACK that was not requested: the peer breaks the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotOutstanding;

/// The unacknowledged messages of one connection. See the module.
#[derive(Debug)]
pub struct Unacked<M> {
    conn_seq: ConnSeq,
    /// The sequence of the first of `first_sent`.
    first: u64,
    /// Messages that got their IDs on this connection, in the order in which they were written.
    first_sent: VecDeque<MessageSlot<M>>,
    /// Messages that were sent before by other connections. Few, and only after a failure.
    resent: Vec<(MessageId, MessageSlot<M>)>,
    /// Whether no delivery ACK will come any more.
    given_up: bool,
    /// The oldest message at the last check, and the time since which it has been the oldest.
    watched: Option<(MessageId, Time)>,
}

#[derive(Debug)]
enum MessageSlot<M> {
    /// The message has not been written in full, as far as the writer has reported.
    Writing,
    /// The message is being written, and its delivery ACK has been received already.
    Acknowledged,
    /// The message has been written; the delivery ACK is missing.
    Written(M),
    /// The message has been written, and given back because the delivery ACK was late. The ACK may come.
    Abandoned,
    Done,
}

/// The outcome for a message when its last byte is written.
#[derive(Debug, PartialEq, Eq)]
pub enum AfterWrite<M> {
    /// The message is complete.
    Done(M),
    /// The delivery ACK will never come.
    Lost(M),
    /// The message is kept until its delivery ACK comes.
    Waits,
}

impl<M> MessageSlot<M> {
    /// Notes that a delivery ACK has come. Returns the message if that completes it.
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

    fn written(&mut self, message: M, given_up: bool) -> AfterWrite<M> {
        match self {
            Self::Writing if !given_up => {
                *self = Self::Written(message);
                AfterWrite::Waits
            }
            Self::Acknowledged => {
                *self = Self::Done;
                AfterWrite::Done(message)
            }
            _ => {
                *self = Self::Done;
                AfterWrite::Lost(message)
            }
        }
    }

    const fn is_outstanding(&self) -> bool {
        matches!(self, Self::Writing | Self::Written(_) | Self::Abandoned)
    }
}

impl<M> Unacked<M> {
    /// Makes the table of a connection with this sequence, without messages.
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

    /// Returns the ID of the next message on the wire, and enters it. `None`: IDs have run out.
    pub fn open(&mut self) -> Option<MessageId> {
        let id = MessageId::new(self.conn_seq, self.first + self.first_sent.len() as u64)?;
        self.first_sent.push_back(MessageSlot::Writing);
        Some(id)
    }

    /// Adds a message that got its ID on another connection, or on this one. Returns the ID for the resend.
    pub fn open_resend(&mut self, first: MessageId) -> MessageId {
        let id = first.resent();
        self.resent.push((id, MessageSlot::Writing));
        id
    }

    /// Notes that the message is written.
    pub fn written(&mut self, id: MessageId, message: M) -> AfterWrite<M> {
        self.written_with(id, message, |_| ())
    }

    /// Notes that the message is written; `kept` is called with it if it is kept until its delivery ACK comes.
    pub fn written_with(
        &mut self,
        id: MessageId,
        mut message: M,
        kept: impl FnOnce(&mut M),
    ) -> AfterWrite<M> {
        let given_up = self.given_up;
        let Some(slot) = self.slot(id) else { return AfterWrite::Lost(message) };
        if matches!(slot, MessageSlot::Writing) && !given_up {
            kept(&mut message);
        }
        let result = slot.written(message, given_up);
        if !matches!(result, AfterWrite::Waits) {
            self.tidy(id);
        }
        result
    }

    /// Notes that a delivery ACK has come. Returns the message if that completes it.
    pub fn acknowledge(&mut self, id: MessageId) -> Result<Option<M>, NotOutstanding> {
        let late = if self.given_up { Ok(None) } else { Err(NotOutstanding) };
        let Some(slot) = self.slot(id) else { return late };
        let Ok(done) = slot.acknowledge() else { return late };
        self.tidy(id);
        Ok(done)
    }

    /// Whether all IDs of this connection from `from` to `to` are of messages that wait for their delivery ACKs.
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

    /// Whether a message with this ID waits for its delivery ACK.
    pub fn contains(&mut self, id: MessageId) -> bool {
        self.slot(id).is_some()
    }

    /// Returns how long the oldest written message has waited for its delivery ACK, counted from the first call that saw
    /// it as the oldest.
    pub fn oldest_waits(&mut self, now: Time) -> Option<Duration> {
        let is_over = |slot: &MessageSlot<M>| matches!(slot, MessageSlot::Abandoned | MessageSlot::Done);
        let of_first_sent = match self.first_sent.iter().enumerate().find(|(_, slot)| !is_over(slot)) {
            Some((at, MessageSlot::Written(_))) => MessageId::new(self.conn_seq, self.first + at as u64),
            _ => None,
        };
        let of_resent = || self.resent.iter().find(|(_, slot)| matches!(slot, MessageSlot::Written(_)));
        let oldest = of_first_sent.or_else(|| of_resent().map(|(id, _)| *id));
        match (self.watched, oldest) {
            (_, None) => self.watched = None,
            (Some((watched, _)), Some(oldest)) if watched == oldest => {}
            (_, Some(oldest)) => self.watched = Some((oldest, now)),
        }
        self.watched.map(|(_, since)| now.since(since))
    }

    /// Removes a message that got its ID on this connection and is not sent after all.
    pub fn withdraw(&mut self, id: MessageId) {
        if let Some(slot) = self.slot(id) {
            *slot = MessageSlot::Done;
            self.tidy(id);
        }
    }

    /// The written messages.
    pub fn all_written(&mut self) -> impl Iterator<Item = &mut M> {
        let resent = self.resent.iter_mut().map(|(_, slot)| slot);
        self.first_sent.iter_mut().chain(resent).filter_map(|slot| match slot {
            MessageSlot::Written(message) => Some(message),
            _ => None,
        })
    }

    /// Takes the written messages, which are late. Their delivery ACKs may still come.
    pub fn abandon(&mut self) -> Vec<M> {
        let resent = self.resent.iter_mut().map(|(_, slot)| slot);
        let written =
            self.first_sent.iter_mut().chain(resent).filter(|slot| matches!(slot, MessageSlot::Written(_)));
        let taken = written.filter_map(|slot| match std::mem::replace(slot, MessageSlot::Abandoned) {
            MessageSlot::Written(message) => Some(message),
            _ => None,
        });
        taken.collect()
    }

    /// Takes the written messages. The delivery ACKs of these messages, and of those that are being written, will never come.
    pub fn give_up(&mut self) -> Vec<M> {
        self.given_up = true;
        let resent = self.resent.iter_mut().map(|(_, slot)| slot);
        let taken = self.first_sent.iter_mut().chain(resent).filter_map(|slot| match slot {
            MessageSlot::Written(_) => match std::mem::replace(slot, MessageSlot::Done) {
                MessageSlot::Written(message) => Some(message),
                _ => None,
            },
            _ => None,
        });
        let taken = taken.collect();
        self.resent.retain(|(_, slot)| !matches!(slot, MessageSlot::Done));
        taken
    }

    /// The number of messages from the first that waits for its delivery ACK, or is given back because it is late, to the last.
    pub fn len(&self) -> usize {
        self.first_sent.len() + self.resent.len()
    }

    /// Whether no message waits for a delivery ACK.
    pub fn is_empty(&self) -> bool {
        let all = self.first_sent.iter().chain(self.resent.iter().map(|(_, slot)| slot));
        all.into_iter().all(|slot| matches!(slot, MessageSlot::Abandoned | MessageSlot::Done))
    }

    fn slot(&mut self, id: MessageId) -> Option<&mut MessageSlot<M>> {
        if id.is_resend() {
            return self.resent.iter_mut().find(|(resent, _)| *resent == id).map(|(_, slot)| slot);
        }
        if id.conn_seq() != self.conn_seq {
            return None;
        }
        let at = id.sequence().checked_sub(self.first)?;
        self.first_sent.get_mut(usize::try_from(at).ok()?)
    }

    /// Removes completed messages.
    fn tidy(&mut self, changed: MessageId) {
        if changed.is_resend() {
            self.resent.retain(|(_, slot)| !matches!(slot, MessageSlot::Done));
        }
        while matches!(self.first_sent.front(), Some(MessageSlot::Done)) {
            self.first_sent.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
#[path = "unacked_tests.rs"]
mod tests;
