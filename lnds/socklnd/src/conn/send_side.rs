//! State that the senders of a connection share: messages and NOOPs to be sent, and messages that wait for a delivery
//! ACK.

use crate::decide::cause::ConnError;
use crate::proto::Version;
use crate::proto::checksum::Checksum;
use crate::proto::frame::{Cookies, Head};
use crate::socket_io::{self, Vecs};
use lnd_common::message_id::{ConnSeq, MessageId};
use lnd_common::unacked::Unacked;
use lnet_core::{Confirmation, MessageOrigin, OutgoingMessage, Pooled, SendFailure};
use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::thread::{self, ThreadId};

/// Maximum number of queued NOOPs: a peer that exceeds it asks for delivery ACKs and does not read them.
const MAX_NOOPS: usize = 1024;

/// A message or NOOP that is being written to a socket.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(super) head: Head,
    pub(super) sent: usize,
    pub(super) message: Option<Pooled<OutgoingMessage>>,
    /// Whether the message asks for a delivery ACK.
    pub(super) wants_ack: bool,
    /// The cookie of the delivery ACK that goes with it; 0 for none.
    pub(super) ack: u64,
    /// The message ID, by which the delivery ACK names the message.
    pub(super) cookie: Option<MessageId>,
    /// Whether a checksum is still to be computed.
    pub(super) unsealed: bool,
}

impl Outgoing {
    /// Makes a message for a connection of `version` with the delivery ACK `ack`, and with its origin if the peer is of
    /// the `same_implementation`. Returns the message if a NID does not fit in that version. If it `wants_ack`, it gets
    /// its message ID when its place among the messages of the connection is settled.
    pub(crate) fn message(
        message: Pooled<OutgoingMessage>,
        version: Version,
        same_implementation: bool,
        wants_ack: bool,
        ack: u64,
        checksum: bool,
    ) -> Result<Self, Pooled<OutgoingMessage>> {
        let cookies = Cookies { request: 0, ack };
        let head = match message.carried_origin().filter(|_| same_implementation) {
            Some(carried) => Head::message_with_origin(version, message.header(), cookies, carried),
            None => Head::message(version, message.header(), cookies),
        };
        let Some(head) = head else { return Err(message) };
        let unsealed = checksum && version == Version::V2;
        Ok(Self { head, sent: 0, message: Some(message), wants_ack, ack, cookie: None, unsealed })
    }

    pub(crate) fn noop(cookies: Cookies) -> Self {
        Self::without_message(Head::noop(cookies))
    }

    /// Makes a confirmation, with a delivery ACK.
    pub(crate) fn confirmation(confirmation: Confirmation, cookies: Cookies) -> Self {
        Self::without_message(Head::confirmation(confirmation, cookies))
    }

    const fn without_message(head: Head) -> Self {
        Self { head, sent: 0, message: None, wants_ack: false, ack: 0, cookie: None, unsealed: false }
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
        self.head.set_cookies(Cookies { request: cookie.wire(), ack: self.ack });
        true
    }

    /// Computes the checksum, if there is to be one. To be called when nothing in the message changes any more.
    pub(super) fn seal(&mut self) {
        if !std::mem::take(&mut self.unsealed) {
            return;
        }
        if let Some(message) = &self.message {
            let mut sum = Checksum::new();
            sum.update(self.head.bytes());
            socket_io::add_to_checksum(&mut sum, message.payload(), message.payload_len());
            self.head.set_checksum(sum.value());
        }
    }

    pub(crate) fn into_message(self) -> Option<Pooled<OutgoingMessage>> {
        self.message
    }

    pub(super) fn left(&self) -> usize {
        let payload = self.message.as_ref().map_or(0, |message| message.payload_len());
        (self.head.bytes().len() + payload).saturating_sub(self.sent)
    }

    pub(super) fn add_to<'a>(&'a self, vecs: &mut Vecs<'a>) {
        let head = self.head.bytes();
        vecs.bytes_to_send(head.get(self.sent..).unwrap_or_default());
        if let Some(message) = &self.message {
            let payload = message.payload().advanced(self.sent.saturating_sub(head.len()));
            let left = payload.remaining();
            vecs.memory(payload, left);
        }
    }
}

/// A message that the driver has completed, with its result.
pub(super) type EndedMessage = (Pooled<OutgoingMessage>, Result<(), SendFailure>);
pub(super) type Ended = Vec<EndedMessage>;

/// Send state of a connection, behind its lock.
#[derive(Debug)]
pub(crate) struct SendSide {
    pub(super) queue: VecDeque<Outgoing>,
    /// Messages that have asked for a delivery ACK, in the order of the wire: a message is entered when its place is settled.
    pub(crate) unacked: Unacked<Pooled<OutgoingMessage>>,
    /// Vector that a writer leaves for the next one, so that none allocates.
    pub(super) spare: Vec<Outgoing>,
    spare_ended: Ended,
    /// Whether a thread is writing; it will send messages that are queued meanwhile.
    pub(super) writing: bool,
    /// The thread that is writing, while it has the connection corked: another thread does not wait for it, and becomes the
    /// writer.
    pub(super) corked_by: Option<ThreadId>,
    /// Whether the socket is full; the scheduler continues when it is writable.
    pub(super) blocked: bool,
    /// Whether the socket became writable while a thread was writing.
    pub(super) writable_again: bool,
    /// The reason for which nothing is sent any more.
    pub(super) ended: Option<ConnError>,
}

impl SendSide {
    pub(crate) fn new(conn_seq: ConnSeq) -> Self {
        Self {
            queue: VecDeque::new(),
            unacked: Unacked::new(conn_seq),
            spare: Vec::new(),
            spare_ended: Ended::new(),
            writing: false,
            corked_by: None,
            blocked: false,
            writable_again: false,
            ended: None,
        }
    }

    /// Takes the spare vectors, for messages to be written and for ended messages.
    pub(super) fn take_spare(&mut self) -> (Vec<Outgoing>, Ended) {
        (std::mem::take(&mut self.spare), std::mem::take(&mut self.spare_ended))
    }

    pub(super) fn keep_spare(&mut self, ended: Ended) {
        if self.spare_ended.capacity() < ended.capacity() {
            self.spare_ended = ended;
        }
    }

    pub(crate) fn is_writing(&self) -> bool {
        self.writing
    }

    /// Makes the calling thread the writer in place of one that has the connection corked; returns whether it is.
    pub(super) fn take_over(&mut self) -> bool {
        self.corked_by.take_if(|thread| *thread != thread::current().id()).is_some()
    }

    pub(super) fn is_full_of_noops(&self) -> bool {
        // There are few messages, since each needs a credit.
        self.queue.len() >= MAX_NOOPS
            && self.queue.iter().filter(|out| out.message.is_none()).count() >= MAX_NOOPS
    }

    /// Ends the writer's work; the scheduler continues with the rest.
    pub(super) fn stop_for_now(&mut self, mut batch: Vec<Outgoing>) {
        while let Some(out) = batch.pop() {
            self.queue.push_front(out);
        }
        self.spare = batch;
        self.blocked = true;
        self.writing = false;
    }
}

/// The outcome of giving a message to a connection.
pub(crate) enum Transmitted {
    /// The message needs nothing more.
    Done(Outgoing),
    /// The message will never be written in full, or its delivery ACK will never come.
    Failed(Pooled<OutgoingMessage>, SendFailure),
    /// The connection keeps the message, for sending or until its delivery ACK.
    Kept,
    /// The connection has ended; nothing of the message was written.
    Ended(Outgoing),
}
