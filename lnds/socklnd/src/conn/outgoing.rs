//! A message or NOOP on its way to a socket.
//!
//! The head is encoded when it is written, beside the heads that leave with it: what is queued is small.

use crate::decide::delivery_acks::join;
use crate::proto::Version;
use crate::proto::checksum::Checksum;
use crate::proto::frame::{Cookies, FRAME_LEN, Heads};
use crate::socket_io::{self, Vecs};
use lnd_common::message_id::MessageId;
use lnd_common::unacked::Unacked;
use lnet_core::lnd::{Arrival, Arrived};
use lnet_core::{Confirmation, MessageOrigin, OutgoingMessage, Pooled};
use std::num::NonZeroU64;
use std::sync::Arc;

/// A message or NOOP that is being written to a socket.
#[derive(Debug)]
pub(crate) struct Outgoing {
    frame: Frame,
    /// The version of the connection.
    version: Version,
    /// Number of bytes of the head.
    head_len: u8,
    /// Whether the message asks for a delivery ACK.
    wants_ack: bool,
    /// Whether a checksum is still to be computed.
    unsealed: bool,
    /// The checksum; 0 for none.
    checksum: u32,
    /// The cookies of the head: the delivery ACK that the message asks for, and the one that goes with it.
    cookies: Cookies,
    pub(super) sent: usize,
    pub(super) message: Option<Pooled<OutgoingMessage>>,
    /// The message ID, by which the delivery ACK names the message.
    pub(super) cookie: Option<MessageId>,
    /// The arrival of the payload, if that was not complete when the message was queued.
    pub(super) arrival: Option<Arc<Arrival>>,
}

/// The kind of a head.
#[derive(Clone, Copy, Debug)]
enum Frame {
    Message {
        carries_origin: bool,
    },
    Noop {
        /// Whether it has delivery ACKs that may wait for messages.
        may_wait: bool,
    },
    Confirmation(Confirmation),
}

/// Whether the socket is in the middle of a message that is still arriving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occupied {
    No,
    /// A thread is writing at this moment.
    Unknown,
    /// The message with this ID has been begun; `starved`: all that has arrived is written.
    ByArriving {
        id: MessageId,
        starved: bool,
    },
}

impl Outgoing {
    /// Makes a message for a connection of `version` with the delivery ACK `ack`, and with its origin if the peer is of
    /// the `same_implementation`. Returns the message if a NID does not fit in that version. If it `wants_ack`, it gets
    /// its message ID when its place among the messages of the connection is settled.
    #[inline]
    pub(crate) fn message(
        message: Pooled<OutgoingMessage>,
        version: Version,
        same_implementation: bool,
        wants_ack: bool,
        ack: u64,
        checksum: bool,
    ) -> Result<Self, Pooled<OutgoingMessage>> {
        let carries_origin = same_implementation && message.carried_origin().is_some();
        let Some(head_len) = Heads::len_of_message(version, message.header(), carries_origin) else {
            return Err(message);
        };
        Ok(Self {
            frame: Frame::Message { carries_origin },
            version,
            head_len,
            wants_ack,
            unsealed: checksum && version == Version::V2,
            checksum: 0,
            cookies: Cookies { request: 0, ack },
            sent: 0,
            arrival: message.arrival().cloned(),
            message: Some(message),
            cookie: None,
        })
    }

    pub(crate) const fn noop(cookies: Cookies) -> Self {
        Self::without_message(Frame::Noop { may_wait: false }, cookies)
    }

    /// Makes a NOOP with delivery ACKs that may wait for messages.
    pub(super) const fn acks_that_wait(cookies: Cookies) -> Self {
        Self::without_message(Frame::Noop { may_wait: true }, cookies)
    }

    /// Makes a confirmation, with a delivery ACK.
    pub(crate) const fn confirmation(confirmation: Confirmation, cookies: Cookies) -> Self {
        Self::without_message(Frame::Confirmation(confirmation), cookies)
    }

    const fn without_message(frame: Frame, cookies: Cookies) -> Self {
        Self {
            frame,
            // Such a frame is the same in all versions that have it.
            version: Version::V2,
            head_len: FRAME_LEN as u8,
            wants_ack: false,
            unsealed: false,
            checksum: 0,
            cookies,
            sent: 0,
            message: None,
            cookie: None,
            arrival: None,
        }
    }

    /// Assigns the message ID that the delivery ACK will name; returns false when the connection has none left. `own_id` is
    /// the ID of this node, if the peer is of the same implementation.
    pub(super) fn assign_message_id(
        &mut self,
        unacked: &mut Unacked<Pooled<OutgoingMessage>>,
        own_id: Option<NonZeroU64>,
    ) -> bool {
        let Some(message) = self.message.as_mut().filter(|_| self.wants_ack) else { return true };
        let before =
            message.message_id().filter(|_| own_id.is_some()).and_then(|name| MessageId::of(name.get()));
        let cookie = match before {
            Some(first) => unacked.open_resend(first),
            None => match unacked.open() {
                Some(cookie) => cookie,
                None => return false,
            },
        };
        if let Some(node) = own_id {
            message.set_message_id(cookie.first());
            if message.is_routed() {
                message.expect_confirmation(MessageOrigin { node, id: cookie.first() });
            }
        }
        self.cookie = Some(cookie);
        self.cookies.request = cookie.wire();
        true
    }

    /// Computes the checksum, if there is to be one. To be called when nothing in the message changes any more.
    #[inline]
    pub(super) fn seal(&mut self) {
        if self.unsealed {
            self.compute_checksum();
        }
    }

    #[cold]
    fn compute_checksum(&mut self) {
        self.unsealed = false;
        if let Some(message) = &self.message {
            let mut head = Heads::new();
            self.add_whole_head(&mut head);
            let mut sum = Checksum::new();
            sum.update(head.bytes());
            socket_io::add_to_checksum(&mut sum, message.payload(), message.payload_len());
            self.checksum = sum.value();
        }
    }

    pub(super) const fn is_acks_that_wait(&self) -> bool {
        matches!(self.frame, Frame::Noop { may_wait: true })
    }

    /// Adds delivery ACKs to a NOOP, if it can carry them, and nothing of it has been written; returns whether it does.
    pub(super) fn join_acks(&mut self, acks: Cookies) -> bool {
        if !self.is_acks_that_wait() || self.sent > 0 {
            return false;
        }
        let joined = join(self.cookies, acks);
        self.cookies = joined.unwrap_or(self.cookies);
        joined.is_some()
    }

    /// The delivery ACK that goes with the message.
    pub(super) fn carried_ack(&self) -> Option<u64> {
        Some(self.cookies.ack).filter(|ack| *ack != 0)
    }

    pub(crate) fn into_message(self) -> Option<Pooled<OutgoingMessage>> {
        self.message
    }

    /// The number of bytes of the whole message.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.head_len() + self.message.as_ref().map_or(0, |message| message.payload_len())
    }

    #[inline]
    pub(super) fn left(&self) -> usize {
        self.len().saturating_sub(self.sent)
    }

    #[inline]
    const fn head_len(&self) -> usize {
        self.head_len as usize
    }

    /// The number of payload bytes that have been written.
    #[inline]
    pub(super) const fn payload_sent(&self) -> usize {
        self.sent.saturating_sub(self.head_len())
    }

    /// The number of bytes that [`Outgoing::add_head`] adds.
    #[inline]
    pub(super) const fn head_left(&self) -> usize {
        self.head_len().saturating_sub(self.sent)
    }

    /// Adds what is not written yet of the head.
    #[inline]
    pub(super) fn add_head(&self, heads: &mut Heads) {
        if self.head_left() == 0 {
            return;
        }
        let begin = heads.bytes().len();
        self.add_whole_head(heads);
        if self.checksum != 0 {
            heads.set_checksum(begin, self.checksum);
        }
        if self.sent > 0 {
            heads.remove(begin, self.sent);
        }
    }

    #[inline]
    fn add_whole_head(&self, heads: &mut Heads) {
        match (self.frame, &self.message) {
            (Frame::Message { carries_origin }, Some(message)) => {
                let carried = if carries_origin { message.carried_origin() } else { None };
                // The length of the head was found when this was made, so that there is one.
                heads.add_message(self.version, message.header(), self.cookies, carried);
            }
            (Frame::Confirmation(confirmation), _) => heads.add_confirmation(confirmation, self.cookies),
            (Frame::Noop { .. } | Frame::Message { .. }, _) => heads.add_noop(self.cookies),
        }
    }

    /// Adds what is not written yet of the payload, as far as it has arrived; returns whether that is all.
    #[inline]
    pub(super) fn add_payload<'a>(&'a self, vecs: &mut Vecs<'a>) -> bool {
        let Some(message) = &self.message else { return true };
        let (sent, length) = (self.payload_sent(), message.payload_len());
        if length == 0 {
            return true;
        }
        let left = length.saturating_sub(sent);
        let ready = match self.arrival.as_ref().map(|arrival| arrival.arrived()) {
            None | Some(Arrived::Whole) => left,
            Some(Arrived::Part(arrived)) => left.min(arrived.saturating_sub(sent)),
            Some(Arrived::Failed) => 0,
        };
        vecs.memory(message.payload().advanced(sent), ready);
        ready == left
    }

    /// Whether the rest of the payload will not arrive.
    pub(super) fn has_failed(&self) -> bool {
        self.arrival.as_ref().is_some_and(|arrival| arrival.arrived() == Arrived::Failed)
    }

    /// The state of the socket, for which this message is the first to be written.
    pub(super) fn occupies(&self) -> Occupied {
        match (self.arrival.as_ref().map(|arrival| arrival.arrived()), self.cookie) {
            (Some(Arrived::Part(arrived)), Some(id)) if self.sent > 0 => {
                Occupied::ByArriving { id, starved: arrived <= self.payload_sent() }
            }
            _ => Occupied::No,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::frame::Head;

    #[test]
    fn the_rest_of_a_head_follows_the_bytes_that_have_been_sent() {
        let cookies = Cookies { request: 7, ack: 9 };
        let before = Outgoing::noop(Cookies { request: 0, ack: 5 });
        for (mut out, head) in [
            (Outgoing::noop(cookies), Head::noop(cookies)),
            (
                Outgoing::confirmation(Confirmation::Delivered, cookies),
                Head::confirmation(Confirmation::Delivered, cookies),
            ),
        ] {
            for sent in 0..=FRAME_LEN {
                out.sent = sent;
                let mut heads = Heads::new();
                before.add_head(&mut heads);
                out.add_head(&mut heads);
                assert_eq!((out.left(), out.head_left()), (FRAME_LEN - sent, FRAME_LEN - sent));
                assert_eq!(heads.bytes().get(FRAME_LEN..), head.bytes().get(sent..), "{sent}");
            }
        }
    }
}
