//! State that the senders of a connection share: messages and NOOPs to be sent, and messages that wait for a delivery
//! ACK.

use super::cork;
use super::outgoing::{Occupied, Outgoing};
use super::postpone::{self, Load};
use crate::driver_thread::{ThreadNumber, is_app_poller};
use crate::proto::frame::Cookies;
use lnd_common::conn_error::ConnError;
use lnd_common::message_id::{ConnSeq, MessageId};
use lnd_common::unacked::{AfterWrite, Unacked};
use lnet_core::message::TakenCredits;
use lnet_core::{CreditWaiver, OutgoingMessage, Pooled, SendFailure};
use std::collections::VecDeque;

/// Maximum number of queued NOOPs: a peer that exceeds it asks for delivery ACKs and does not read them.
const MAX_NOOPS: usize = 1024;

/// Maximum length of the payload of a small message. The credits of one come back when it is written, at the latest (wire-tcp 9).
const MAX_SMALL: u32 = 4096;
/// Maximum number of messages in a queue whose credits come back before they are written: those that leave with one system call.
const MAX_QUEUED_WITHOUT_CREDITS: usize = postpone::MAX_MESSAGES + 1;
/// Maximum number of messages of a connection without delivery ACKs, from which on small ones keep their credits, too.
const MAX_UNACKED: usize = 64;

/// A message that the driver has completed, with its result.
pub(super) type EndedMessage = (Pooled<OutgoingMessage>, Result<(), SendFailure>);
pub(super) type EndedMessages = Vec<EndedMessage>;

/// The outcome for messages that a writer has written, which it reports to the core when another thread may write.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) ended: EndedMessages,
    /// The credits of those that are not complete.
    pub(super) credits: Vec<TakenCredits>,
}

/// Send state of a connection, behind its lock.
#[derive(Debug)]
pub(crate) struct SendSide {
    sending: Sending,
    writer: Writer,
    /// Messages that have asked for a delivery ACK, in the order of the wire: a message is entered when its place is settled.
    pub(crate) unacked: Unacked<Pooled<OutgoingMessage>>,
    /// Vector that a writer leaves for the next one, so that none allocates.
    spare: Vec<Outgoing>,
    spare_written: Written,
    /// Lets small messages join those in the queue without credits, as these would come back at once.
    waiver: Option<CreditWaiver>,
}

/// The parts of a [`SendSide`] as long as messages are sent.
pub(super) struct OpenSide<'a> {
    pub(super) queue: &'a mut VecDeque<Outgoing>,
    pub(super) writer: &'a mut Writer,
    pub(super) unacked: &'a mut Unacked<Pooled<OutgoingMessage>>,
    waiver: &'a mut Option<CreditWaiver>,
}

/// Whether messages are sent on a connection. Sending that has ended does not begin again.
#[derive(Debug)]
enum Sending {
    /// Messages are sent in the order of the queue.
    Open(VecDeque<Outgoing>),
    /// Nothing is sent any more, for this reason.
    EndedMessages(ConnError),
}

/// The writer of a connection's queue. There is at most one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writer {
    /// Nobody writes, as nothing is queued.
    Nobody,
    /// A thread writes, and will send messages that are queued meanwhile.
    Thread {
        /// The thread, while it has the connection corked: another thread does not wait for it, and becomes the writer.
        corked_by: Option<ThreadNumber>,
        /// Whether the socket became writable while the thread was writing.
        writable_again: bool,
    },
    /// The scheduler continues: when the socket is writable again, or after a thread has written for long.
    Scheduler,
}

/// The treatment of a message that a thread has to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// The thread writes the message.
    Write,
    /// The message is queued. Another thread writes it, or the calling thread when it ends its cork.
    Queue,
    /// The message is queued, and the thread writes the queue.
    TakeOver,
}

/// The next action of a writer.
pub(super) enum NextBatch {
    /// Write the batch.
    Write(Vec<Outgoing>),
    /// Nothing is left, and the thread is no longer the writer.
    Nothing,
    /// The scheduler continues with the batch, and the thread is no longer the writer.
    Later,
    /// Sending has ended: the batch is to be given up.
    EndedMessages(Vec<Outgoing>, ConnError),
}

impl Writer {
    /// Whether a thread writes, or will when it ends its cork.
    pub(super) const fn is_thread(self) -> bool {
        matches!(self, Self::Thread { .. })
    }

    const fn thread(corked_by: Option<ThreadNumber>) -> Self {
        Self::Thread { corked_by, writable_again: false }
    }

    /// The turn of the calling thread, which has a message to send. Without a writer it becomes the writer; `cork` tells whether
    /// it then keeps the connection corked.
    pub(super) fn take_turn(&mut self, cork: impl FnOnce() -> bool) -> Turn {
        if *self != Self::Nobody {
            return if self.take_over() { Turn::TakeOver } else { Turn::Queue };
        }
        let is_corked = cork();
        *self = Self::thread(is_corked.then(ThreadNumber::own));
        if is_corked { Turn::Queue } else { Turn::Write }
    }

    /// Ends the cork of the calling thread; returns whether it is still the writer.
    const fn uncork(&mut self) -> bool {
        match self {
            Self::Thread { corked_by, .. } => corked_by.take().is_some(),
            Self::Nobody | Self::Scheduler => false,
        }
    }

    /// Makes the calling thread the writer in place of one that has the connection corked; returns whether it is.
    fn take_over(&mut self) -> bool {
        match self {
            Self::Thread { corked_by, .. } => {
                corked_by.take_if(|thread| *thread != ThreadNumber::own()).is_some()
            }
            Self::Nobody | Self::Scheduler => false,
        }
    }

    /// Whether the socket became writable while the thread was writing; the mark is removed.
    const fn take_writable_again(&mut self) -> bool {
        match self {
            Self::Thread { writable_again, .. } => std::mem::replace(writable_again, false),
            Self::Nobody | Self::Scheduler => false,
        }
    }
}

impl OpenSide<'_> {
    /// The load of the connection with `out`, of which `unsent` bytes are to be sent in all, if `out` may be postponed: nobody writes,
    /// and it is a message whose delivery ACK comes soon, or the thread will look for events after it has received.
    pub(super) fn load(&self, out: &Outgoing, unsent: usize) -> Option<Load> {
        let is_acks = out.is_acks_that_wait();
        let may_wait = if is_acks {
            is_app_poller()
        } else {
            out.cookie.is_some() && out.arrival.is_none() && !cork::is_corking()
        };
        if *self.writer != Writer::Nobody || !may_wait {
            return None;
        }
        let queued = self.queue.len();
        let is_awaiting_acks = self.unacked.len() > queued + usize::from(!is_acks);
        let is_first = !is_acks && self.queue.back().is_none_or(Outgoing::is_acks_that_wait);
        Some(Load { queued, unsent, is_awaiting_acks, is_acks, is_first })
    }

    /// Adds delivery ACKs to those that are last in the queue, if a NOOP can carry both; returns whether it does.
    pub(super) fn join_acks(&mut self, acks: Cookies) -> bool {
        self.queue.back_mut().is_some_and(|last| last.join_acks(acks))
    }

    /// Queues a message. Returns its credits if a thread writes the queue soon: the next messages leave with it, and do not wait for
    /// its credits. Those of a socket that is full do.
    pub(super) fn enqueue(&mut self, mut out: Outgoing, is_written_soon: bool) -> Option<TakenCredits> {
        let returns = is_written_soon
            && self.queue.len() < MAX_QUEUED_WITHOUT_CREDITS
            && self.unacked.len() <= MAX_UNACKED;
        let mut credits = None;
        if !returns {
            *self.waiver = None;
        } else if let Some(message) = out.message.as_mut().filter(|message| is_small(message)) {
            credits = message.take_credits();
            CreditWaiver::renew(self.waiver, message, MAX_SMALL + 1);
        }
        self.queue.push_back(out);
        credits
    }

    pub(super) fn is_full_of_noops(&self) -> bool {
        // There are few messages: they have credits.
        self.queue.len() >= MAX_NOOPS
            && self.queue.iter().filter(|out| out.message.is_none()).count() >= MAX_NOOPS
    }
}

impl SendSide {
    pub(crate) fn new(conn_seq: ConnSeq) -> Self {
        Self {
            sending: Sending::Open(VecDeque::new()),
            writer: Writer::Nobody,
            unacked: Unacked::new(conn_seq),
            spare: Vec::new(),
            spare_written: Written::default(),
            waiver: None,
        }
    }

    /// The number of messages that have been sent and wait for their delivery ACKs; `None` if that says nothing about the peer, as no message
    /// that asks for one is queued.
    pub(super) fn at_peer(&mut self) -> Option<usize> {
        let open = self.open()?;
        let queued = open.queue.iter().filter(|out| out.cookie.is_some()).count();
        (queued > 0).then(|| open.unacked.len().saturating_sub(queued))
    }

    /// The reason for which nothing is sent any more.
    pub(super) const fn ended(&self) -> Option<ConnError> {
        match &self.sending {
            Sending::Open(_) => None,
            Sending::EndedMessages(conn_error) => Some(*conn_error),
        }
    }

    /// Ends sending, unless it has ended before; returns the queue.
    pub(super) fn end(&mut self, conn_error: ConnError) -> VecDeque<Outgoing> {
        let Sending::Open(queue) = &mut self.sending else { return VecDeque::new() };
        let queue = std::mem::take(queue);
        self.sending = Sending::EndedMessages(conn_error);
        self.waiver = None;
        queue
    }

    /// The parts that sending needs; `None` once sending has ended.
    pub(super) const fn open(&mut self) -> Option<OpenSide<'_>> {
        let Self { sending, writer, unacked, waiver, .. } = self;
        match sending {
            Sending::Open(queue) => Some(OpenSide { queue, writer, unacked, waiver }),
            Sending::EndedMessages(_) => None,
        }
    }

    /// Notes that a message is written that asks for the delivery ACK `cookie`. Also returns the credits of a message that is kept until
    /// then and returns them before.
    pub(super) fn note_written(
        &mut self,
        cookie: MessageId,
        message: Pooled<OutgoingMessage>,
    ) -> (AfterWrite<Pooled<OutgoingMessage>>, Option<TakenCredits>) {
        let (mut credits, unacked) = (None, self.unacked.len());
        let after_write = self.unacked.written_with(cookie, message, |message| {
            if unacked <= MAX_UNACKED && is_small(message) {
                credits = message.take_credits();
            }
        });
        (after_write, credits)
    }

    /// Ends the cork of the calling thread; returns whether it is still the writer.
    pub(super) const fn uncork(&mut self) -> bool {
        self.writer.uncork()
    }

    /// Takes the message that is queued, if there is just one, and it is there in full.
    pub(super) fn take_only(&mut self) -> Option<Outgoing> {
        match &mut self.sending {
            Sending::Open(queue) if queue.len() == 1 => queue.pop_front_if(|out| out.arrival.is_none()),
            Sending::Open(_) | Sending::EndedMessages(_) => None,
        }
    }

    /// See [`Writer::take_over`].
    pub(super) fn take_over(&mut self) -> bool {
        self.writer.take_over()
    }

    /// Whether a message that is still arriving has been begun.
    pub(super) fn occupied(&self) -> Occupied {
        match (&self.sending, self.writer) {
            (Sending::Open(_), Writer::Thread { .. }) => Occupied::Unknown,
            (Sending::Open(queue), Writer::Nobody | Writer::Scheduler) => {
                queue.front().map_or(Occupied::No, Outgoing::occupies)
            }
            (Sending::EndedMessages(_), _) => Occupied::No,
        }
    }

    /// The messages that the connection keeps, in the queue or until their delivery ACKs.
    pub(super) fn kept(&mut self) -> impl Iterator<Item = &mut Pooled<OutgoingMessage>> {
        let Self { sending, unacked, .. } = self;
        let queue = match sending {
            Sending::Open(queue) => Some(queue),
            Sending::EndedMessages(_) => None,
        };
        let queued = queue.into_iter().flatten().filter_map(|out| out.message.as_mut());
        queued.chain(unacked.all_written())
    }

    /// Takes the spare vectors, for messages to be written and for those that are written.
    pub(super) fn take_spare(&mut self) -> (Vec<Outgoing>, Written) {
        (std::mem::take(&mut self.spare), std::mem::take(&mut self.spare_written))
    }

    pub(super) fn keep_spare(&mut self, written: Written) {
        let Written { ended, credits } = written;
        if self.spare_written.ended.capacity() < ended.capacity() {
            self.spare_written.ended = ended;
        }
        if self.spare_written.credits.capacity() < credits.capacity() {
            self.spare_written.credits = credits;
        }
    }

    pub(crate) const fn is_writing(&self) -> bool {
        self.writer.is_thread()
    }

    /// Handles that the socket is writable. Makes the calling thread the writer if there is none and anything is queued;
    /// returns whether it is.
    pub(super) fn on_writable(&mut self) -> bool {
        if let Writer::Thread { writable_again, .. } = &mut self.writer {
            *writable_again = true;
            return false;
        }
        let has_work = self.open().is_some_and(|open| !open.queue.is_empty());
        self.writer = if has_work { Writer::thread(None) } else { Writer::Nobody };
        has_work
    }

    /// Ends the work of the calling thread, the writer.
    pub(super) fn end_writing(&mut self) {
        self.writer = Writer::Nobody;
        self.waiver = None;
    }

    /// Adds to the writer's batch, up to `limit` messages in all. `full` says that the socket was full just now.
    pub(super) fn next_batch(&mut self, mut batch: Vec<Outgoing>, limit: usize, full: bool) -> NextBatch {
        let queue = match &mut self.sending {
            Sending::Open(queue) => queue,
            Sending::EndedMessages(conn_error) => return NextBatch::EndedMessages(batch, *conn_error),
        };
        if full && !self.writer.take_writable_again() {
            return match self.stop_for_now(batch) {
                Ok(()) => NextBatch::Later,
                Err((batch, conn_error)) => NextBatch::EndedMessages(batch, conn_error),
            };
        }
        let room = limit.saturating_sub(batch.len()).min(queue.len());
        batch.extend(queue.drain(..room));
        if !batch.is_empty() {
            return NextBatch::Write(batch);
        }
        self.spare = batch;
        self.end_writing();
        NextBatch::Nothing
    }

    /// Ends the writer's work; the scheduler continues with the rest. Returns the batch if sending has ended.
    pub(super) fn stop_for_now(
        &mut self,
        mut batch: Vec<Outgoing>,
    ) -> Result<(), (Vec<Outgoing>, ConnError)> {
        let queue = match &mut self.sending {
            Sending::Open(queue) => queue,
            Sending::EndedMessages(conn_error) => return Err((batch, *conn_error)),
        };
        while let Some(out) = batch.pop() {
            queue.push_front(out);
        }
        self.spare = batch;
        self.writer = Writer::Scheduler;
        self.waiver = None;
        Ok(())
    }
}

/// Whether a message returns its credits before its delivery ACK: a small one does, but a gateway has buffers for as many messages as there
/// are credits.
fn is_small(message: &OutgoingMessage) -> bool {
    message.payload_len() <= MAX_SMALL as usize && !message.is_routed()
}

/// The outcome of giving a message to a connection.
pub(crate) enum Transmitted {
    /// The message needs nothing more.
    Done(Outgoing),
    /// The message will never be written in full, or its delivery ACK will never come.
    Failed(Pooled<OutgoingMessage>, SendFailure),
    /// The connection keeps the message, for sending or until its delivery ACK.
    Kept,
    /// The connection keeps the message, until its delivery ACK if there is one; other messages need not wait for its credits.
    Sent(TakenCredits),
    /// The connection has ended; nothing of the message was written.
    Ended(Outgoing),
}

impl Transmitted {
    /// The connection keeps a message that has returned these credits, if any.
    pub(super) fn kept(credits: Option<TakenCredits>) -> Self {
        credits.map_or(Self::Kept, Self::Sent)
    }
}
