//! The receiving half of a connection.
//!
//! Small messages are read many at a time into a buffer of the thread, and copied from there. A large payload is read from
//! the socket into the memory that the core names, and the head of the next message is read in the same system call.
//! One thread at a time receives on a connection; a thread that comes meanwhile makes the first check once more, and
//! leaves. While the first reports to the core, and so while an event handler runs, another thread can replace it. The
//! action in each state is in [`state::RxState::next`].

mod acks;
mod arrival;
mod head;
mod read_batch;
pub(crate) mod state;

use crate::conn::cork::{self, Cork};
use crate::conn::deferred_rx::{Deferred, Quota, Stored};
use crate::conn::{ConnPhase, Connection};
use crate::scheduler::Pollable;
use crate::socket_io::{self, Vecs};
use crate::sync::lock;
use lnd_common::conn_error::ConnError;
use lnet_core::Errno;
use lnet_core::lnd::{RxAction, Violation};
use lnet_log::LogClass;
use read_batch::ReadBatch;
use state::{Next, Payload, Pending, ReceiveSide, Report, RxEnd, RxState, Storing};
use std::io::{self, ErrorKind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};

/// Maximum number of system calls, and of messages, on one connection before others get their turn.
const MAX_READS: usize = 128;
const MAX_MESSAGES: u64 = 512;

/// Whether to continue after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Continue,
    /// No data is available, or nothing may be read.
    Pause,
}

impl Connection {
    /// Receives available data. If another thread does so, makes that thread check once more.
    pub(crate) fn run_receive(self: &Arc<Self>) {
        if !self.rx_turn.take() {
            return;
        }
        self.receive_until_done();
    }

    /// Receives like `run_receive`, also if the receiving thread is blocked in an event handler: it is replaced, which it
    /// notices when the handler returns. A thread that is not blocked will check once more.
    pub(super) fn run_receive_in_place_of_another(self: &Arc<Self>) {
        // The thread that holds the lock receives at this moment; a thread that reports to the core does not hold it.
        if self.rx_turn.take() || self.rx.try_lock().is_ok() {
            self.receive_until_done();
        }
    }

    fn receive_until_done(self: &Arc<Self>) {
        let _at_work = self.at_work();
        while let Some(has_more) = self.receive_some() {
            if self.rx_turn.leave() {
                if has_more {
                    self.scheduler.schedule(Arc::clone(self));
                }
                return;
            }
        }
    }

    /// Receives one connection's share. Returns whether there may be more; `None` if another thread has taken the place of
    /// this one.
    fn receive_some(self: &Arc<Self>) -> Option<bool> {
        let mut side = lock(&self.rx);
        let turn = self.rx_turns.load(Ordering::Relaxed) + 1;
        self.rx_turns.store(turn, Ordering::Release);
        side.buffer.begin_turn();
        let cork = Cork::new();
        let (mut side, has_more) = self.receive_share(side)?;
        side.buffer.end_turn();
        drop(side);
        drop(cork);
        (self.rx_turns.load(Ordering::Acquire) == turn).then_some(has_more)
    }

    /// Makes the due reports to the core, without the lock. `None` if another thread has taken the place of this one
    /// meanwhile.
    fn tell_core<'a>(&'a self, mut side: MutexGuard<'a, ReceiveSide>) -> Option<MutexGuard<'a, ReceiveSide>> {
        let turn = self.rx_turns.load(Ordering::Relaxed);
        while let Some(report) = side.reports.pop_front() {
            drop(side);
            match report {
                Report::Sent(message) => self.ni.finalize(message, Ok(())),
                Report::Confirmed(id, confirmation) => {
                    self.ni.upcalls.confirmed(self.terms.identity.id.nid, id, confirmation);
                }
                Report::SendsOn(message) => self.ni.upcalls.send_cut_through(message),
                Report::Arrived(arrival, bytes) => arrival.advance(bytes),
                Report::Received(message) => self.ni.upcalls.received(message, Ok(())),
                Report::Stored(decided) => {
                    let (action, stored) = *decided;
                    stored.execute(action, &self.ni);
                }
            }
            side = lock(&self.rx);
            if self.rx_turns.load(Ordering::Relaxed) != turn {
                return None;
            }
        }
        Some(side)
    }

    fn receive_share<'a>(
        self: &'a Arc<Self>,
        mut side: MutexGuard<'a, ReceiveSide>,
    ) -> Option<(MutexGuard<'a, ReceiveSide>, bool)> {
        let mut drained = false;
        let last_read = self.progress.reads.load(Ordering::Relaxed) + MAX_READS;
        let last_head = side.heads + MAX_MESSAGES;
        let mut heads = side.heads;
        while self.progress.reads.load(Ordering::Relaxed) < last_read && side.heads < last_head {
            if !side.reports.is_empty() {
                side = self.tell_core(side)?;
            }
            if self.phase() == ConnPhase::Closed {
                self.abandon(&mut side);
                return Some((side, false));
            }
            if side.heads != heads {
                heads = side.heads;
                cork::on_report();
                self.send_first_half(&mut side);
            }
            let step = self.step(&mut side, &mut drained);
            if !side.reports.is_empty() {
                side = self.tell_core(side)?;
            }
            match step {
                Ok(Flow::Continue) => {}
                Ok(Flow::Pause) => {
                    self.progress
                        .midway
                        .store(if side.is_midway() { side.heads + 1 } else { 0 }, Ordering::Relaxed);
                    return Some((side, false));
                }
                Err(end) => {
                    self.abandon(&mut side);
                    self.end_receive(end);
                    return Some((side, false));
                }
            }
        }
        Some((side, true))
    }

    /// Sends the answers to the first half of what was read, if that has just been handled, event handlers gave them, and the peer
    /// waits for them: of the messages that it has been sent before it has answered all, or will have with what is left.
    fn send_first_half(&self, side: &mut ReceiveSide) {
        let left = side.buffer.bytes().len();
        let Some(messages) = side.batch.left_at_half(side.heads, left) else { return };
        let is_idle = || self.tx.lock().at_peer().is_some_and(|at_peer| at_peer as u64 <= messages);
        if side.batch.has_run_handlers() && is_idle() {
            cork::flush();
        }
    }

    #[inline]
    fn step(self: &Arc<Self>, side: &mut ReceiveSide, drained: &mut bool) -> Result<Flow, RxEnd> {
        match side.state.next(*drained) {
            Next::Decode => self.decode(side, drained),
            Next::CheckDecision => self.check_decision(side),
            Next::Read => self.read(side, drained),
            Next::Pause => Ok(Flow::Pause),
            Next::Store => self.store(side),
            Next::Deliver => self.deliver(side),
            Next::DropSurplus => self.drop_surplus(side, drained),
        }
    }

    /// Starts to carry out the core's decision.
    fn begin(
        self: &Arc<Self>,
        side: &mut ReceiveSide,
        action: RxAction,
        pending: Pending,
    ) -> Result<Flow, RxEnd> {
        let message = match action {
            RxAction::Deliver(message) => Some(message),
            RxAction::Discard | RxAction::Defer => None,
            RxAction::Reject(Violation::ShuttingDown) => return Err(RxEnd::ShuttingDown),
            RxAction::Reject(violation) => return Err(RxEnd::ProtocolViolation(violation.to_string())),
        };
        side.is_bulk = pending.length >= self.ni.shared.config.rx_copy_below;
        let mut payload = Payload::new(message, pending);
        payload.take(&mut side.buffer);
        let result = if payload.is_complete() {
            self.complete(side.conn_seq.as_ref(), &mut side.reports, &mut payload)
        } else {
            side.reports.extend(payload.report_part(&*self.ni.upcalls));
            Ok(())
        };
        if !payload.is_over() {
            side.state = RxState::Payload(payload);
        } else if !matches!(side.state, RxState::Head) {
            side.state = RxState::Head;
        }
        result.map(|()| Flow::Continue)
    }

    /// Defers the message: the core decides later.
    fn defer(&self, side: &mut ReceiveSide, deferred: Arc<Deferred>, pending: Pending) -> Flow {
        let shared = &self.ni.shared;
        let quota = Quota::take(pending.length, &self.deferred_bytes, &shared.deferred_bytes);
        let with_memory = |quota: Quota| Stored::with_memory(pending.length, quota, &shared.deferred_memory);
        side.state = match quota.and_then(with_memory) {
            Some(stored) => {
                let mut storing = Storing { deferred, stored, got: 0, pending };
                storing.take(&mut side.buffer);
                RxState::Storing(storing)
            }
            None => RxState::Deferred(deferred, pending),
        };
        Flow::Continue
    }

    /// Checks whether the core has decided about a deferred message whose payload is not read.
    fn check_decision(self: &Arc<Self>, side: &mut ReceiveSide) -> Result<Flow, RxEnd> {
        let RxState::Deferred(deferred, pending) = &side.state else { return Ok(Flow::Continue) };
        match deferred.take() {
            // No thread reads the end of the stream: the peer may connect again, and the bytes that it sent still count.
            None if self.stream_ended.load(Ordering::Acquire) && self.phase() == ConnPhase::Open => {
                self.owner.closed_by_peer(self, Errno::ConnectionReset, true);
                Ok(Flow::Pause)
            }
            None => Ok(Flow::Pause),
            Some(action) => {
                let (deferred, pending) = (Arc::clone(deferred), pending.clone());
                // The time limit of the payload begins now.
                self.progress.received.store(true, Ordering::Relaxed);
                side.keep(deferred, &self.ni);
                self.begin(side, action, pending)
            }
        }
    }

    /// Reads the rest of the current payload, if there is one, and bytes behind it into the buffer.
    fn read(&self, side: &mut ReceiveSide, drained: &mut bool) -> Result<Flow, RxEnd> {
        cork::flush();
        let ahead = side.read_ahead_limit();
        let ReceiveSide { buffer, state, reports, .. } = side;
        let result = loop {
            let mut vecs = Vecs::new();
            let mut head_follows = true;
            match state {
                RxState::Payload(payload) => {
                    if let Some(message) = &payload.message {
                        vecs.memory(message.payload().advanced(payload.got), payload.next_part());
                    }
                    head_follows = payload.surplus == 0 && payload.next_part() == payload.missing();
                }
                RxState::Storing(Storing { stored, got, .. }) => {
                    vecs.buffer(stored.bytes.get_mut(*got..).unwrap_or_default());
                }
                RxState::Head | RxState::Deferred(..) | RxState::Over => {}
            }
            if head_follows && !vecs.is_full() {
                vecs.buffer(buffer.space(ahead));
            }
            match socket_io::receive(self.fd(), &mut vecs) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => break result.map(|read| (read, vecs.total())),
            }
        };
        let Some(read) = self.on_read(result, drained)? else { return Ok(Flow::Pause) };
        let of_payload = match state {
            RxState::Payload(payload) => {
                let wanted = payload.missing().min(read);
                payload.got += wanted;
                reports.extend(payload.report_part(&*self.ni.upcalls));
                wanted
            }
            RxState::Storing(storing) => {
                let wanted = storing.missing().min(read);
                storing.got += wanted;
                wanted
            }
            RxState::Head | RxState::Deferred(..) | RxState::Over => 0,
        };
        buffer.filled(read - of_payload);
        side.batch = ReadBatch::new(side.heads, side.buffer.bytes().len());
        Ok(Flow::Continue)
    }

    /// Handles the result of a read: the number of bytes read and of bytes asked for. Returns the former, or `None` if
    /// nothing was there.
    #[inline]
    fn on_read(
        &self,
        result: io::Result<(usize, usize)>,
        drained: &mut bool,
    ) -> Result<Option<usize>, RxEnd> {
        match result {
            Ok((0, _)) => Err(RxEnd::ByPeer(Errno::ConnectionReset)),
            Ok((read, asked)) => {
                self.progress.received.store(true, Ordering::Relaxed);
                self.progress.reads.fetch_add(1, Ordering::Relaxed);
                // Fewer bytes than requested mean that the socket is empty: the next byte will cause an event. But
                // an end of the stream that is known already will not be reported again.
                *drained = read < asked && !self.stream_ended.load(Ordering::Acquire);
                Ok(Some(read))
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                *drained = true;
                Ok(None)
            }
            Err(error) if error.kind() == ErrorKind::TimedOut => Err(RxEnd::TimedOut),
            Err(error) => Err(RxEnd::ByPeer(Errno::from(&error))),
        }
    }

    /// Reads the surplus of a payload, and drops it.
    fn drop_surplus(&self, side: &mut ReceiveSide, drained: &mut bool) -> Result<Flow, RxEnd> {
        let RxState::Payload(payload) = &mut side.state else { return Ok(Flow::Continue) };
        let result = socket_io::discard(self.fd(), payload.surplus);
        let Some(read) = self.on_read(result.map(|read| (read, payload.surplus)), drained)? else {
            return Ok(Flow::Pause);
        };
        payload.surplus -= read.min(payload.surplus);
        if payload.surplus == 0 {
            side.state = RxState::Head;
        }
        Ok(Flow::Continue)
    }

    /// Ends the connections to the peer as the reason for the end of receiving demands.
    fn end_receive(self: &Arc<Self>, end: RxEnd) {
        match end {
            RxEnd::ByPeer(errno) => self.owner.closed_by_peer(self, errno, false),
            RxEnd::TimedOut => {
                self.ni.counts.timed_out.add();
                self.owner.end(self, ConnError::Stalled);
            }
            RxEnd::ShuttingDown => self.owner.end(self, ConnError::Shutdown),
            RxEnd::ProtocolViolation(what) => {
                self.ni.counts.protocol_errors.add();
                let peer = self.terms.identity.id;
                self.ni.shared.log(
                    LogClass::ProtocolViolation,
                    peer,
                    format_args!("{peer}: protocol violation (it sent {what}); closing its connections"),
                );
                self.owner.end(self, ConnError::BrokenByPeer);
            }
        }
    }
}
