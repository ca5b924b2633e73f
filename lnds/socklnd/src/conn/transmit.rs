//! The sending half of a connection.
//!
//! The thread that sends a message writes it, in one system call, if no other thread is writing. Otherwise
//! the message stays in the queue, and the writing thread sends it too. Bytes that the socket does not
//! accept wait until the socket is writable again.

use super::batch::{self, SentBytes};
use super::cork::{self, Cork};
use super::outgoing::Outgoing;
use super::postpone;
use super::send_side::{NextBatch, Transmitted, Turn, Written};
use crate::conn::Connection;
use crate::scheduler::Pollable;
use lnd_common::conn_error::ConnError;
use lnd_common::unacked::AfterWrite;
use lnet_core::Errno;
use lnet_core::lnd::ArrivalWaiter;
use std::io::ErrorKind;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

/// Maximum number of messages written with one system call: as many as are postponed, and the one that is not any more.
const BATCH: usize = postpone::MAX_MESSAGES + 1;
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
            let mut side = self.tx.lock();
            let Some(mut open) = side.open() else { return Transmitted::Ended(out) };
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
            let unsent = self.unsent.queue(out.left());
            if open.load(&out, unsent).is_some_and(|load| postpone::postpones(self, load)) {
                let is_first = open.queue.is_empty();
                let credits = open.enqueue(out, true);
                drop(side);
                postpone::note_queued(self, is_first);
                return Transmitted::kept(credits);
            }
            let turn = open.writer.take_turn(|| cork::hold(self));
            // Confirmations that wait for it go first.
            if turn != Turn::Write || !open.queue.is_empty() || out.arrival.is_some() {
                let is_written_soon = open.writer.is_thread();
                let credits = open.enqueue(out, is_written_soon);
                drop(side);
                if turn != Turn::Queue {
                    self.drain_queue(None, false);
                }
                return Transmitted::kept(credits);
            }
        }
        self.write_one(out)
    }

    /// Writes a message as the only writer, of which nothing else is queued.
    fn write_one(self: &Arc<Self>, mut out: Outgoing) -> Transmitted {
        match self.write(std::slice::from_mut(&mut out)).0 {
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
            let mut side = self.tx.lock();
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
            let mut side = self.tx.lock();
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
            (Some(_), AfterWrite::Waits) => Transmitted::kept(credits),
            (Some(_), AfterWrite::Done(message)) => {
                out.message = Some(message);
                Transmitted::Done(out)
            }
            (Some(_), AfterWrite::Lost(message)) => {
                Transmitted::Failed(message, self.failure_of_lost(&self.tx.lock()))
            }
        }
    }

    /// Continues writing when the socket may have room again.
    pub(crate) fn on_writable(self: &Arc<Self>) {
        let is_writer = self.tx.lock().on_writable();
        if is_writer {
            self.drain_queue(None, false);
        }
    }

    /// Writes the messages that were queued while another thread had the connection corked.
    pub(super) fn take_over_queue(self: &Arc<Self>) {
        let is_writer = self.tx.lock().take_over();
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
        let (mut batch, mut written) = self.tx.lock().take_spare();
        batch.extend(first);
        self.write_batches(batch, full, &mut written);
        written.credits.drain(..).for_each(|credits| self.ni.upcalls.release_credits(credits));
        for (message, result) in written.ended.drain(..) {
            self.ni.finalize(message, result);
        }
        self.tx.lock().keep_spare(written);
    }

    fn write_batches(self: &Arc<Self>, mut batch: Vec<Outgoing>, mut full: bool, written: &mut Written) {
        for _ in 0..ROUNDS {
            let next = self.tx.lock().next_batch(batch, BATCH, full);
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
            let (result, done) = self.write(&mut batch);
            match result {
                WriteResult::All | WriteResult::More => full = false,
                WriteResult::SocketFull => full = true,
                WriteResult::Starved => (full, starved) = (false, true),
                WriteResult::Failed(conn_error) => {
                    self.writing_failed(conn_error);
                    return self.give_up(batch, conn_error, written);
                }
            }
            self.progress.written.fetch_add(done as u64, Ordering::Relaxed);
            self.note_all_written(batch.drain(..done), written);
            if starved {
                batch = match self.await_arrival(batch, written) {
                    Some(batch) => batch,
                    None => return,
                };
            }
        }
        let stopped = self.tx.lock().stop_for_now(batch);
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
            {
                let mut side = self.tx.lock();
                self.unsent.withdraw(out.left());
                if let Some(cookie) = out.cookie {
                    side.unacked.withdraw(cookie);
                }
            }
            written.ended.extend(self.given_back(out, ConnError::Abandoned));
        }
        Ok(batch)
    }

    /// Ends the writer's work until more of the first message has arrived. Returns what is to be written if that is so already, and no
    /// other thread writes it.
    fn await_arrival(self: &Arc<Self>, batch: Vec<Outgoing>, written: &mut Written) -> Option<Vec<Outgoing>> {
        let first = batch.first().and_then(|out| Some((out.arrival.clone()?, out.payload_sent())));
        let stopped = self.tx.lock().stop_for_now(batch);
        if let Err((batch, conn_error)) = stopped {
            self.give_up(batch, conn_error, written);
            return None;
        }
        // Only now: from here on another thread may be the writer.
        let waits = first.is_some_and(|(arrival, sent)| {
            arrival.wait(sent, Arc::downgrade(self) as Weak<dyn ArrivalWaiter>)
        });
        let is_writer = !waits && self.tx.lock().on_writable();
        is_writer.then(|| self.tx.lock().take_spare().0)
    }

    fn give_up(&self, batch: Vec<Outgoing>, conn_error: ConnError, written: &mut Written) {
        let (done, rest): (Vec<_>, Vec<_>) = batch.into_iter().partition(|out| out.left() == 0);
        self.note_all_written(done.into_iter(), written);
        written.ended.extend(rest.into_iter().filter_map(|out| self.given_back(out, conn_error)));
        self.end_writing();
    }

    /// Writes one batch with one system call. Also returns the number of messages that are written in full.
    fn write(self: &Arc<Self>, batch: &mut [Outgoing]) -> (WriteResult, usize) {
        batch.iter_mut().for_each(Outgoing::seal);
        match batch::send(self.fd(), batch) {
            Ok(SentBytes { sent, full, starved }) => {
                self.unsent.note_sent(sent);
                self.note_written();
                let (mut left, mut done) = (sent, 0);
                for out in &mut *batch {
                    let of_out = out.left();
                    if of_out > left {
                        out.sent += left;
                        break;
                    }
                    out.sent += of_out;
                    left -= of_out;
                    done += 1;
                }
                let result = match (full, done == batch.len()) {
                    (_, true) => WriteResult::All,
                    (true, false) => WriteResult::SocketFull,
                    (false, false) if starved => WriteResult::Starved,
                    (false, false) => WriteResult::More,
                };
                (result, done)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => (WriteResult::SocketFull, 0),
            Err(error) => (WriteResult::Failed(self.why_writing_failed(Errno::from(&error))), 0),
        }
    }

    /// Returns the reason of a failed write: the earlier end of the connection, if it has ended meanwhile.
    fn why_writing_failed(&self, errno: Errno) -> ConnError {
        self.tx.lock().ended().unwrap_or(match errno {
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
        self.tx.lock().end_writing();
        self.note_quiet();
    }

    /// Handles messages that have left, and adds to `written` what is to be reported.
    fn note_all_written(&self, all: impl Iterator<Item = Outgoing>, written: &mut Written) {
        let mut side = self.tx.lock();
        for out in all {
            let Outgoing { message: Some(message), cookie, .. } = out else { continue };
            let (after_write, credits) = match cookie {
                Some(cookie) => side.note_written(cookie, message),
                None => (AfterWrite::Done(message), None),
            };
            if let Some(credits) = credits {
                written.credits.push(credits);
            }
            match after_write {
                AfterWrite::Waits => {}
                AfterWrite::Done(message) => written.ended.push((message, Ok(()))),
                AfterWrite::Lost(message) => written.ended.push((message, Err(self.failure_of_lost(&side)))),
            }
        }
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
