//! RxState that the receiving thread keeps for a connection between two turns, and the next step in each state.

use super::read_batch::ReadBatch;
use crate::conn::deferred_rx::{Deferred, Stored};
use crate::conn::read_ahead::ReadAhead;
use crate::ni::SockNi;
use crate::proto::Version;
use crate::proto::checksum::Checksum;
use crate::proto::frame;
use crate::socket_io;
use crate::spare_memory::SpareObjects;
use lnd_common::message_id::{ConnSeq, MessageId};
use lnd_common::pending_acks::AckFor;
use lnet_core::lnd::{Arrival, CutThrough, RxAction, Upcalls};
use lnet_core::{ArrivingMessage, Confirmation, Errno, OutgoingMessage, Pooled, Time};
use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The receiving half of a connection.
#[derive(Debug)]
pub(crate) struct ReceiveSide {
    pub(super) buffer: ReadAhead,
    /// The length of the last message's head.
    pub(super) head_len: usize,
    /// Whether the last payload was large: the next probably is, too.
    pub(super) is_bulk: bool,
    pub(super) state: RxState,
    /// Number of messages and NOOPs whose heads have arrived.
    pub(super) heads: u64,
    /// The messages that the last read has brought.
    pub(super) batch: ReadBatch,
    /// The connection's sequence, for a node of this implementation, once a message has named it.
    pub(super) conn_seq: Option<OpenSeq>,
    /// Reports to the core that are due, in this order.
    pub(super) reports: VecDeque<Report>,
    /// Deferred messages that receiving has finished with.
    pub(super) deferred: SpareObjects<Deferred>,
}

/// A report to the core. Event handlers run inside, which may take any time.
#[derive(Debug)]
pub(super) enum Report {
    /// The delivery ACK of a message has come.
    Sent(Pooled<OutgoingMessage>),
    /// The gateway confirms the message with this ID.
    Confirmed(NonZeroU64, Confirmation),
    /// A message whose payload is arriving is sent on.
    SendsOn(Pooled<OutgoingMessage>),
    /// This number of bytes of such a payload has arrived.
    Arrived(Arc<Arrival>, usize),
    /// The payload of a message has arrived in full.
    Received(ArrivingMessage),
    /// A deferred message has arrived in full, and the core has decided about it.
    Stored(Box<(RxAction, Stored)>),
}

/// The part of the stream that is received next.
#[derive(Debug)]
pub(super) enum RxState {
    /// A head: of a message or a NOOP.
    Head,
    /// Nothing is received: the core has deferred the message, and there is no quota for its payload.
    Deferred(Arc<Deferred>, Pending),
    /// The payload of a message that the core has deferred, into memory of the driver.
    Storing(Storing),
    /// The payload of a message, into the memory that the core has named.
    Payload(Payload),
    /// Nothing is received: receiving has ended.
    Over,
}

/// The next step of the receiving thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Decode the head that is in the buffer; read if it is not complete.
    Decode,
    /// Check whether the core has decided.
    CheckDecision,
    /// Read from the socket.
    Read,
    /// Wait until the socket is readable.
    Pause,
    /// Keep the payload for the core, and continue with the next head.
    Store,
    /// Pass the payload to the core; continue with the next head unless there is a surplus.
    Deliver,
    /// Read the surplus behind the payload and drop it.
    DropSurplus,
}

impl RxState {
    /// Returns the next step. `drained`: the socket is known to be empty.
    #[inline]
    pub(super) const fn next(&self, drained: bool) -> Next {
        match (self, drained) {
            (Self::Head, _) => Next::Decode,
            (Self::Deferred(..), _) => Next::CheckDecision,
            (Self::Storing(storing), false) if storing.missing() > 0 => Next::Read,
            (Self::Storing(storing), true) if storing.missing() > 0 => Next::Pause,
            (Self::Storing(_), _) => Next::Store,
            (Self::Payload(payload), false) if payload.missing() > 0 => Next::Read,
            (Self::Payload(payload), true) if payload.missing() > 0 => Next::Pause,
            (Self::Payload(payload), _) if !payload.delivered => Next::Deliver,
            (Self::Payload(_), false) => Next::DropSurplus,
            (Self::Payload(_), true) => Next::Pause,
            (Self::Over, _) => Next::Pause,
        }
    }
}

/// A message whose head has been read.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    /// Payload length in bytes, from the header.
    pub(super) length: usize,
    /// The cookie of the requested delivery ACK.
    pub(super) ack: Option<u64>,
    /// The message ID, if the message comes from a node of this implementation and is not a duplicate, until it has arrived.
    pub(super) message_id: Option<MessageId>,
    /// Whether a message that has arrived in part is kept until it is sent again. A message through gateways may come
    /// again by another path.
    pub(super) kept: bool,
    /// The time until which a message is kept that had arrived in part before.
    pub(super) kept_until: Option<Time>,
    /// The message as it counts for its delivery ACK.
    pub(super) ack_for: AckFor,
    /// The expected checksum, and the checksum of the head.
    pub(super) check: Option<(u32, Checksum)>,
}

/// A payload that is received into the core's memory.
#[derive(Debug)]
pub(super) struct Payload {
    pub(super) message: Option<ArrivingMessage>,
    /// Number of bytes that the core wants, and how many of them have arrived.
    pub(super) wanted: usize,
    pub(super) got: usize,
    /// Number of bytes to be dropped behind the wanted ones.
    pub(super) surplus: usize,
    /// Whether the payload has been passed to the core.
    pub(super) delivered: bool,
    /// The number of bytes with which the core decides whether the message is sent on before it is complete; `None`: it does not.
    pub(super) ask_at: Option<usize>,
    pub(super) pending: Pending,
}

/// A payload that is received into memory of the driver.
#[derive(Debug)]
pub(super) struct Storing {
    pub(super) deferred: Arc<Deferred>,
    pub(super) stored: Stored,
    pub(super) got: usize,
    pub(super) pending: Pending,
}

/// The sequence of a connection from a node of this implementation.
#[derive(Debug)]
pub(super) struct OpenSeq {
    pub(super) conn_seq: ConnSeq,
    /// The number of the last message that has begun.
    pub(super) begun: u64,
    /// The number of the last message that has arrived.
    pub(super) taken: Arc<AtomicU64>,
}

/// The reason for which receiving on a connection ends.
#[derive(Debug)]
pub(super) enum RxEnd {
    /// The connection was closed by the peer, or broken by the network.
    ByPeer(Errno),
    TimedOut,
    ProtocolViolation(String),
    ShuttingDown,
}

impl ReceiveSide {
    pub(crate) fn new(version: Version) -> Self {
        Self {
            buffer: ReadAhead::default(),
            head_len: frame::head_len(version),
            is_bulk: false,
            state: RxState::Head,
            heads: 0,
            batch: ReadBatch::default(),
            conn_seq: None,
            reports: VecDeque::new(),
            deferred: SpareObjects::default(),
        }
    }

    /// Returns how many bytes to read ahead. The head and payload of a small message come with one system call, often with
    /// more messages; a large payload is read directly into the core's memory, not copied there.
    pub(super) const fn read_ahead_limit(&self) -> usize {
        if self.is_bulk { self.head_len } else { usize::MAX }
    }

    /// Keeps a deferred message that receiving has finished with, for one that comes later.
    pub(super) fn keep(&mut self, deferred: Arc<Deferred>, ni: &Arc<SockNi>) {
        if deferred.is_of(ni) {
            self.deferred.keep(deferred);
        }
    }

    /// Whether a message has arrived in part.
    pub(super) fn is_midway(&self) -> bool {
        match &self.state {
            RxState::Head => !self.buffer.bytes().is_empty(),
            RxState::Payload(_) | RxState::Storing(_) => true,
            RxState::Deferred(..) | RxState::Over => false,
        }
    }
}

impl Storing {
    /// Takes bytes that were read ahead.
    pub(super) fn take(&mut self, buffer: &mut ReadAhead) {
        let take = self.missing().min(buffer.bytes().len());
        if let (Some(to), Some(from)) =
            (self.stored.bytes.get_mut(self.got..self.got + take), buffer.bytes().get(..take))
        {
            to.copy_from_slice(from);
        }
        self.got += take;
        buffer.consume(take);
    }

    /// Number of bytes that have not arrived.
    pub(super) const fn missing(&self) -> usize {
        self.stored.bytes.len() - self.got
    }
}

impl Payload {
    #[inline]
    pub(super) fn new(message: Option<ArrivingMessage>, pending: Pending) -> Self {
        let wanted = message.as_ref().map_or(0, |message| message.payload_len()).min(pending.length);
        let surplus = pending.length - wanted;
        // A payload with a checksum may turn out to be wrong at its end.
        let may_be_sent_on = matches!(message, Some(ArrivingMessage::ForAnother(_)))
            && surplus == 0
            && pending.check.is_none();
        let ask_at = may_be_sent_on.then_some(0);
        Self { message, wanted, got: 0, surplus, delivered: false, ask_at, pending }
    }

    /// Whether everything that is to be received is here.
    #[inline]
    pub(super) const fn is_complete(&self) -> bool {
        self.missing() == 0 && self.surplus == 0
    }

    /// Whether the next head follows: the payload has been passed to the core, and no surplus is left.
    #[inline]
    pub(super) const fn is_over(&self) -> bool {
        self.delivered && self.surplus == 0
    }

    /// Returns the report that is due when a part of the payload, and not all, has arrived.
    pub(super) fn report_part(&mut self, upcalls: &dyn Upcalls) -> Option<Report> {
        let message = self.message.as_mut().filter(|_| self.wanted > self.got)?;
        if let Some(arrival) = message.arrival() {
            return Some(Report::Arrived(Arc::clone(arrival), self.got));
        }
        if self.ask_at.is_none_or(|at| self.got < at) {
            return None;
        }
        let decision = upcalls.cut_through(message, self.got);
        self.ask_at = match &decision {
            CutThrough::NotYet(at) => Some(*at as usize),
            CutThrough::Begin(_) | CutThrough::Never => None,
        };
        match decision {
            CutThrough::Begin(message) => Some(Report::SendsOn(message)),
            CutThrough::NotYet(_) | CutThrough::Never => None,
        }
    }

    /// Takes bytes that were read ahead.
    #[inline]
    pub(super) fn take(&mut self, buffer: &mut ReadAhead) {
        let take = self.missing().min(buffer.bytes().len());
        if take > 0 {
            if let (Some(message), Some(from)) = (&self.message, buffer.bytes().get(..take)) {
                socket_io::copy(from, message.payload().advanced(self.got));
            }
            self.got += take;
            buffer.consume(take);
        }
        if self.missing() == 0 && self.surplus > 0 {
            let drop = self.surplus.min(buffer.bytes().len());
            self.surplus -= drop;
            buffer.consume(drop);
        }
    }

    /// Number of wanted bytes that have not arrived.
    #[inline]
    pub(super) const fn missing(&self) -> usize {
        self.wanted - self.got
    }

    /// Number of bytes to read next: those with which the core decides whether the message is sent on, and then all that are there. What a
    /// call has brought is sent on before the next.
    #[inline]
    pub(super) fn next_part(&self) -> usize {
        match self.ask_at {
            Some(at) if at > self.got => self.missing().min(at - self.got),
            _ => self.missing(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(wanted: usize, got: usize, surplus: usize, delivered: bool) -> RxState {
        RxState::Payload(payload_with(wanted, got, surplus, delivered, None))
    }

    fn payload_with(
        wanted: usize,
        got: usize,
        surplus: usize,
        delivered: bool,
        ask_at: Option<usize>,
    ) -> Payload {
        let pending = Pending {
            length: wanted + surplus,
            ack: None,
            message_id: None,
            kept: true,
            kept_until: None,
            ack_for: AckFor::Unanswered,
            check: None,
        };
        Payload { message: None, wanted, got, surplus, delivered, ask_at, pending }
    }

    #[test]
    fn what_the_receiver_does_next_follows_from_its_state_and_whether_the_socket_is_empty() {
        use Next::{Decode, Deliver, DropSurplus, Pause, Read};
        for (what, state, socket_has_bytes, socket_is_empty) in [
            ("a head is due", RxState::Head, Decode, Decode),
            ("nothing of a payload is here", payload(10, 0, 0, false), Read, Pause),
            ("a part of a payload is here", payload(10, 9, 0, false), Read, Pause),
            ("a payload is complete", payload(10, 10, 0, false), Deliver, Deliver),
            ("an empty payload", payload(0, 0, 0, false), Deliver, Deliver),
            ("a payload with a surplus is complete", payload(10, 10, 5, false), Deliver, Deliver),
            ("an unwanted payload", payload(0, 0, 5, false), Deliver, Deliver),
            ("a surplus remains", payload(10, 10, 5, true), DropSurplus, Pause),
            ("receiving has ended", RxState::Over, Pause, Pause),
        ] {
            assert_eq!((state.next(false), state.next(true)), (socket_has_bytes, socket_is_empty), "{what}");
        }
    }

    #[test]
    fn no_more_of_a_payload_is_read_at_once_than_the_core_wants_before_it_decides() {
        for (what, ask_at, got, next_part) in [
            ("no decision is due", None, 100, 900),
            ("it has not been asked", Some(0), 0, 1000),
            ("it wants more", Some(300), 0, 300),
            ("a part of that is here", Some(300), 299, 1),
            ("all of that is here", Some(300), 300, 700),
            ("it wants more than there is", Some(2000), 100, 900),
        ] {
            assert_eq!(payload_with(1000, got, 0, false, ask_at).next_part(), next_part, "{what}");
        }
    }
}
