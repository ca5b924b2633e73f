//! The sending half of a connection.
//!
//! The thread that sends a message writes it, in one system call, if no other thread is writing. Otherwise
//! the message stays in the queue, and the writing thread sends it too. Bytes that the socket does not
//! accept wait until the socket is writable again.

use super::cork::{self, Cork};
use super::postpone;
use super::send_side::{EndedMessage, NextBatch, OpenSide, Outgoing, SendSide, Transmitted, Turn, Written};
use crate::conn::Connection;
use crate::proto::Version;
use crate::proto::frame::{Cookies, KEEPALIVE_COOKIE};
use crate::scheduler::Pollable;
use crate::socket_io::{self, Vecs};
use crate::sync::lock;
use lnd_common::conn_error::{BytesSent, ConnError};
use lnd_common::message_id::MessageId;
use lnd_common::unacked::AfterWrite;
use lnet_core::lnd::ArrivalWaiter;
use lnet_core::message::TakenCredits;
use lnet_core::{Confirmation, Delivery, Errno, OutgoingMessage, Pooled, SendFailure, Time};
use std::io::ErrorKind;
use std::num::NonZeroU64;
use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

/// Maximum number of messages written with one system call.
const BATCH: usize = 32;
/// Maximum length of a queue to which a confirmation is added that waits for the next message.
const MAX_HELD: usize = 16;
/// Number of system calls for other threads' messages after which a writer hands over to the scheduler.
const ROUNDS: usize = 16;

enum WriteResult {
    All,
    /// The batch has more runs of memory than one system call takes.
    More,
    SocketFull,
    /// The rest of the first message that is not written has not arrived.
    Starved,
    Failed(ConnError),
}

impl Connection {
    /// Sends a message, or queues it.
    pub(crate) fn transmit(self: &Arc<Self>, mut out: Outgoing) -> Transmitted {
        {
            let mut side = lock(&self.tx);
            let Some(open) = side.open() else { return Transmitted::Ended(out) };
            if !out.assign_message_id(open.unacked, self.own_id()) {
                drop(side);
                self.owner.end(self, ConnError::Local(Errno::ConnectionReset));
                return Transmitted::Ended(out);
            }
            if out.message.is_none() && open.is_full_of_noops() {
                drop(side);
                self.ni.note_stalled(
                    self.terms.identity.id,
                    "it does not receive the delivery ACKs that it asks for",
                );
                self.owner.end(self, ConnError::Stalled);
                return Transmitted::Ended(out);
            }
            let unsent = self.unsent.fetch_add(out.left(), Ordering::Relaxed) + out.left();
            if open.load(&out, unsent).is_some_and(postpone::postpones) {
                let is_first = open.queue.is_empty();
                open.queue.push_back(out);
                drop(side);
                postpone::note(self, is_first);
                return Transmitted::Kept;
            }
            let turn = open.writer.take_turn(|| cork::hold(self));
            // Confirmations that wait for it go first.
            if turn != Turn::Write || !open.queue.is_empty() || out.arrival.is_some() {
                open.queue.push_back(out);
                drop(side);
                if turn != Turn::Queue {
                    self.drain_queue(None, false);
                }
                return Transmitted::Kept;
            }
        }
        self.write_one(out)
    }

    /// Writes a message as the only writer, of which nothing else is queued.
    fn write_one(self: &Arc<Self>, mut out: Outgoing) -> Transmitted {
        match self.write(std::slice::from_mut(&mut out)) {
            WriteResult::All => self.wrote_one(out),
            WriteResult::More | WriteResult::Starved => {
                self.drain_queue(Some(out), false);
                Transmitted::Kept
            }
            WriteResult::SocketFull => {
                self.drain_queue(Some(out), true);
                Transmitted::Kept
            }
            WriteResult::Failed(conn_error) => {
                self.writing_failed(conn_error);
                self.end_writing();
                let failure = self.failure(&out, conn_error);
                match out.message {
                    Some(message) => Transmitted::Failed(message, failure),
                    None => Transmitted::Kept,
                }
            }
        }
    }

    /// Writes the messages that were queued while the calling thread had the connection corked, unless another thread has
    /// taken over.
    pub(super) fn write_queue(self: &Arc<Self>) {
        let only = {
            let mut side = lock(&self.tx);
            if !side.uncork() {
                return;
            }
            side.take_only()
        };
        let Some(out) = only else { return self.drain_queue(None, false) };
        let _at_work = self.at_work();
        match self.write_one(out) {
            Transmitted::Done(out) => {
                if let Some(message) = out.into_message() {
                    self.ni.finalize(message, Ok(()));
                }
            }
            Transmitted::Sent(credits) => self.ni.upcalls.release_credits(credits),
            Transmitted::Failed(message, failure) => self.ni.finalize(message, Err(failure)),
            Transmitted::Kept | Transmitted::Ended(_) => {}
        }
    }

    /// Ends the work on a message that was written without queueing: the thread stops writing if nothing else is queued.
    fn wrote_one(self: &Arc<Self>, mut out: Outgoing) -> Transmitted {
        let (after_write, credits) = {
            let mut side = lock(&self.tx);
            let (after_write, credits) = match (out.cookie, out.message.take()) {
                (Some(cookie), Some(message)) => side.note_written(cookie, message),
                (_, message) => {
                    out.message = message;
                    (AfterWrite::Waits, None)
                }
            };
            if side.open().is_none_or(|open| !open.queue.is_empty()) {
                drop(side);
                self.drain_queue(None, false);
            } else {
                side.end_writing();
            }
            (after_write, credits)
        };
        match (out.cookie, after_write) {
            (None, _) => Transmitted::Done(out),
            (Some(_), AfterWrite::Waits) => credits.map_or(Transmitted::Kept, Transmitted::Sent),
            (Some(_), AfterWrite::Done(message)) => {
                out.message = Some(message);
                Transmitted::Done(out)
            }
            (Some(_), AfterWrite::Lost(message)) => {
                Transmitted::Failed(message, self.failure_of_lost(&lock(&self.tx)))
            }
        }
    }

    /// Sends a NOOP that the peer's system must acknowledge, unless unsent messages do the same or the version has no NOOP.
    /// Returns whether it did.
    pub(crate) fn send_keepalive(self: &Arc<Self>) -> bool {
        let sends = self.terms.version >= Version::V3 && !self.has_unsent();
        if sends {
            self.transmit_noop(Cookies { request: 0, ack: KEEPALIVE_COOKIE });
        }
        sends
    }

    /// Sends a NOOP if the connection is open.
    pub(crate) fn transmit_noop(self: &Arc<Self>, cookies: Cookies) {
        let _ = self.transmit(Outgoing::noop(cookies));
    }

    /// Sends a confirmation, with a delivery ACK, if the connection is open; returns whether it is.
    pub(crate) fn transmit_confirmation(
        self: &Arc<Self>,
        confirmation: Confirmation,
        cookies: Cookies,
    ) -> bool {
        !matches!(self.transmit(Outgoing::confirmation(confirmation, cookies)), Transmitted::Ended(_))
    }

    /// Keeps a confirmation for the next message to the peer, if messages to it are under way, since then more will follow. Returns
    /// whether it did; then [`Connection::on_writable`] must come soon, in case nothing follows.
    pub(crate) fn hold_confirmation(&self, confirmation: Confirmation, id: NonZeroU64) -> bool {
        let mut side = lock(&self.tx);
        let Some(open) = side.open() else { return false };
        let holds = !open.unacked.is_empty() && open.queue.len() < MAX_HELD;
        if holds {
            let out = Outgoing::confirmation(confirmation, Cookies { request: id.get(), ack: 0 });
            self.unsent.fetch_add(out.left(), Ordering::Relaxed);
            open.queue.push_back(out);
        }
        holds
    }

    /// Continues writing when the socket may have room again.
    pub(crate) fn on_writable(self: &Arc<Self>) {
        let is_writer = lock(&self.tx).on_writable();
        if is_writer {
            self.drain_queue(None, false);
        }
    }

    /// Ends sending. Queued messages come back. Messages that are written and have no delivery ACK stay until
    /// [`Connection::fail_unacked`]. Returns how many messages came back.
    pub(crate) fn stop_sending(&self, conn_error: ConnError) -> usize {
        let queue = lock(&self.tx).end(conn_error);
        let mut count = 0;
        for (message, result) in queue.into_iter().filter_map(|out| self.given_back(out, conn_error)) {
            self.ni.finalize(message, result);
            count += 1;
        }
        count
    }

    /// Takes back the messages of which no byte has been written; the others stay.
    pub(crate) fn withdraw(&self) -> Vec<Pooled<OutgoingMessage>> {
        let side = &mut *lock(&self.tx);
        let mut withdrawn = Vec::new();
        let Some(OpenSide { queue, unacked, .. }) = side.open() else { return withdrawn };
        for mut out in std::mem::take(queue) {
            match out.message.take() {
                Some(message) if out.sent == 0 => {
                    self.unsent.fetch_sub(out.head.bytes().len() + message.payload_len(), Ordering::Relaxed);
                    if let Some(cookie) = out.cookie {
                        unacked.withdraw(cookie);
                    }
                    withdrawn.push(message);
                }
                message => {
                    out.message = message;
                    queue.push_back(out);
                }
            }
        }
        withdrawn
    }

    /// Takes the credits of the messages that are partly written or sent, so that others need not wait until these arrive.
    pub(crate) fn take_credits(&self) -> Vec<TakenCredits> {
        lock(&self.tx).kept().filter_map(|message| message.take_credits()).collect()
    }

    /// Gives back the messages whose delivery ACKs are late; the connection stays open, and the delivery ACKs may still come.
    pub(crate) fn abandon_unacked(&self, conn_error: ConnError) {
        let late = lock(&self.tx).unacked.abandon();
        for message in late {
            self.ni.finalize(message, Err(self.unacked_failure(conn_error)));
        }
    }

    /// Fails the messages without a delivery ACK, because none will come any more. Returns how many came back.
    pub(crate) fn fail_unacked(&self, conn_error: ConnError) -> usize {
        let lost = lock(&self.tx).unacked.give_up();
        let count = lost.len();
        for message in lost {
            self.ni.finalize(message, Err(self.unacked_failure(conn_error)));
        }
        count
    }

    /// Whether the message with this ID was sent again on this connection, and has no delivery ACK yet.
    pub(crate) fn has_sent_again(&self, message_id: MessageId) -> bool {
        lock(&self.tx).unacked.contains(message_id)
    }

    /// Whether any message waits for a delivery ACK.
    pub(crate) fn awaits_acks(&self) -> bool {
        !lock(&self.tx).unacked.is_empty()
    }

    /// Whether the oldest message without a delivery ACK has waited longer than the timeout.
    pub(crate) fn is_ack_overdue(&self, now: Time) -> bool {
        lock(&self.tx).unacked.oldest_waits(now).is_some_and(|waits| waits >= self.ni.sock_timeout())
    }

    /// Writes the messages that were queued while another thread had the connection corked.
    pub(super) fn take_over_queue(self: &Arc<Self>) {
        let is_writer = lock(&self.tx).take_over();
        if is_writer {
            self.drain_queue(None, false);
        }
    }

    /// Writes the queue as the only writer, after the rest of `first`. `full` says that the socket was full
    /// just now. What has been written is reported to the core when another thread may write.
    fn drain_queue(self: &Arc<Self>, first: Option<Outgoing>, full: bool) {
        let _at_work = self.at_work();
        // Messages that get the credits of those that are written leave together.
        let _cork = Cork::new();
        let (mut batch, mut written) = lock(&self.tx).take_spare();
        batch.extend(first);
        self.write_batches(batch, full, &mut written);
        written.credits.drain(..).for_each(|credits| self.ni.upcalls.release_credits(credits));
        for (message, result) in written.ended.drain(..) {
            self.ni.finalize(message, result);
        }
        lock(&self.tx).keep_spare(written);
    }

    fn write_batches(self: &Arc<Self>, mut batch: Vec<Outgoing>, mut full: bool, written: &mut Written) {
        for _ in 0..ROUNDS {
            let next = lock(&self.tx).next_batch(batch, BATCH, full);
            batch = match next {
                NextBatch::Write(batch) => batch,
                NextBatch::Nothing | NextBatch::Later => return,
                NextBatch::EndedMessages(batch, conn_error) => {
                    return self.give_up(batch, conn_error, written);
                }
            };
            if batch.iter().any(Outgoing::has_failed) {
                batch = match self.without_failed(batch, written) {
                    Ok(batch) => batch,
                    Err(batch) => {
                        self.writing_failed(ConnError::Abandoned);
                        return self.give_up(batch, ConnError::Abandoned, written);
                    }
                };
            }
            let mut starved = false;
            match self.write(&mut batch) {
                WriteResult::All | WriteResult::More => full = false,
                WriteResult::SocketFull => full = true,
                WriteResult::Starved => (full, starved) = (false, true),
                WriteResult::Failed(conn_error) => {
                    self.writing_failed(conn_error);
                    return self.give_up(batch, conn_error, written);
                }
            }
            let done = batch.iter().take_while(|out| out.left() == 0).count();
            self.progress.written.fetch_add(done as u64, Ordering::Relaxed);
            self.note_all_written(batch.drain(..done), written);
            if starved {
                batch = match self.await_arrival(batch, written) {
                    Some(batch) => batch,
                    None => return,
                };
            }
        }
        let stopped = lock(&self.tx).stop_for_now(batch);
        match stopped {
            Ok(()) => self.scheduler.schedule(Arc::clone(self)),
            Err((batch, conn_error)) => self.give_up(batch, conn_error, written),
        }
    }

    /// Takes the messages of which nothing was written, and whose payload will not arrive, out of the batch. `Err`: the first message has
    /// been begun, and cannot be completed.
    fn without_failed(
        &self,
        mut batch: Vec<Outgoing>,
        written: &mut Written,
    ) -> Result<Vec<Outgoing>, Vec<Outgoing>> {
        if batch.first().is_some_and(|out| out.has_failed() && out.sent > 0) {
            return Err(batch);
        }
        for out in batch.extract_if(.., |out| out.sent == 0 && out.has_failed()) {
            self.unsent.fetch_sub(out.left(), Ordering::Relaxed);
            if let Some(cookie) = out.cookie {
                lock(&self.tx).unacked.withdraw(cookie);
            }
            written.ended.extend(self.given_back(out, ConnError::Abandoned));
        }
        Ok(batch)
    }

    /// Ends the writer's work until more of the first message has arrived. Returns what is to be written if that is so already, and no
    /// other thread writes it.
    fn await_arrival(self: &Arc<Self>, batch: Vec<Outgoing>, written: &mut Written) -> Option<Vec<Outgoing>> {
        let first = batch.first().and_then(|out| Some((out.arrival.clone()?, out.payload_sent())));
        let stopped = lock(&self.tx).stop_for_now(batch);
        if let Err((batch, conn_error)) = stopped {
            self.give_up(batch, conn_error, written);
            return None;
        }
        // Only now: from here on another thread may be the writer.
        let waits = first.is_some_and(|(arrival, sent)| {
            arrival.wait(sent, Arc::downgrade(self) as Weak<dyn ArrivalWaiter>)
        });
        let is_writer = !waits && lock(&self.tx).on_writable();
        is_writer.then(|| lock(&self.tx).take_spare().0)
    }

    fn give_up(&self, batch: Vec<Outgoing>, conn_error: ConnError, written: &mut Written) {
        let (done, rest): (Vec<_>, Vec<_>) = batch.into_iter().partition(|out| out.left() == 0);
        self.note_all_written(done.into_iter(), written);
        written.ended.extend(rest.into_iter().filter_map(|out| self.given_back(out, conn_error)));
        self.end_writing();
    }

    /// Writes one batch with one system call.
    fn write(self: &Arc<Self>, batch: &mut [Outgoing]) -> WriteResult {
        batch.iter_mut().for_each(Outgoing::seal);
        match send(self.fd(), batch) {
            Ok(SentBytes { sent, full, starved }) => {
                self.unsent.fetch_sub(sent, Ordering::Relaxed);
                self.note_written();
                let mut left = sent;
                for out in &mut *batch {
                    let n = out.left().min(left);
                    out.sent += n;
                    left -= n;
                }
                match (full, batch.iter().all(|out| out.left() == 0)) {
                    (_, true) => WriteResult::All,
                    (true, false) => WriteResult::SocketFull,
                    (false, false) if starved => WriteResult::Starved,
                    (false, false) => WriteResult::More,
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => WriteResult::SocketFull,
            Err(error) => WriteResult::Failed(self.why_writing_failed(Errno::from(&error))),
        }
    }

    /// Returns the reason of a failed write: the earlier end of the connection, if it has ended meanwhile.
    fn why_writing_failed(&self, errno: Errno) -> ConnError {
        lock(&self.tx).ended().unwrap_or(match errno {
            Errno::Pipe | Errno::ConnectionReset | Errno::ConnectionAborted => ConnError::ClosedByPeer(errno),
            _ => ConnError::WriteFailed(errno),
        })
    }

    /// Handles that the socket cannot be written to any more. The peer's last messages may still be read.
    fn writing_failed(self: &Arc<Self>, conn_error: ConnError) {
        match conn_error {
            ConnError::ClosedByPeer(errno) => self.owner.closed_by_peer(self, errno, true),
            _ => self.owner.end(self, conn_error),
        }
    }

    fn end_writing(&self) {
        lock(&self.tx).end_writing();
        self.note_quiet();
    }

    /// Handles messages that have left, and adds to `written` what is to be reported.
    fn note_all_written(&self, all: impl Iterator<Item = Outgoing>, written: &mut Written) {
        let mut side = lock(&self.tx);
        for out in all {
            let Outgoing { message: Some(message), cookie, .. } = out else { continue };
            let (after_write, credits) = match cookie {
                Some(cookie) => side.note_written(cookie, message),
                None => (AfterWrite::Done(message), None),
            };
            written.credits.extend(credits);
            match after_write {
                AfterWrite::Waits => {}
                AfterWrite::Done(message) => written.ended.push((message, Ok(()))),
                AfterWrite::Lost(message) => written.ended.push((message, Err(self.failure_of_lost(&side)))),
            }
        }
    }

    /// Handles a message that will never be written. Returns it with its failure if it is to be reported to the core.
    fn given_back(&self, out: Outgoing, conn_error: ConnError) -> Option<EndedMessage> {
        let failure = self.failure(&out, conn_error);
        out.message.map(|message| (message, Err(failure)))
    }

    fn failure(&self, out: &Outgoing, conn_error: ConnError) -> SendFailure {
        match (out.sent, out.cookie) {
            (0, _) => conn_error.failure(BytesSent::Nothing),
            (_, None) => conn_error.failure(BytesSent::Something),
            (_, Some(_)) => self.unacked_failure(conn_error),
        }
    }

    /// The failure of a message that was written when its delivery ACK could not arrive any more.
    fn failure_of_lost(&self, side: &SendSide) -> SendFailure {
        self.unacked_failure(side.ended().unwrap_or(ConnError::Local(Errno::Io)))
    }

    /// The failure of a message that has left, asks for a delivery ACK, and will not get it.
    fn unacked_failure(&self, conn_error: ConnError) -> SendFailure {
        let failure = conn_error.failure(BytesSent::Something);
        let delivery = match failure.delivery {
            Delivery::Unknown if self.same_implementation() => Delivery::Deduplicated,
            known => known,
        };
        SendFailure { delivery, ..failure }
    }
}

impl ArrivalWaiter for Connection {
    fn on_arrival(self: Arc<Self>) {
        self.on_writable();
    }

    fn on_arrival_failed(self: Arc<Self>) {
        let scheduler = Arc::clone(&self.scheduler);
        scheduler.schedule(self);
    }
}

/// The result of [`send`].
struct SentBytes {
    /// The number of bytes.
    sent: usize,
    /// Whether the socket is full now.
    full: bool,
    /// Whether something was left out because it has not arrived.
    starved: bool,
}

/// Sends with one system call.
fn send(socket: BorrowedFd<'_>, batch: &[Outgoing]) -> std::io::Result<SentBytes> {
    loop {
        let mut vecs = Vecs::new();
        let mut starved = false;
        for out in batch {
            starved = !out.add_to(&mut vecs);
            if starved || vecs.is_full() {
                break;
            }
        }
        if vecs.total() == 0 {
            return Ok(SentBytes { sent: 0, full: false, starved });
        }
        match socket_io::send(socket, &vecs) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(sent) => return Ok(SentBytes { sent, full: sent < vecs.total(), starved }),
        }
    }
}
