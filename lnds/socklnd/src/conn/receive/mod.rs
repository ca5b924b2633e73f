//! The receiving half of a connection.
//!
//! Payload goes from the socket into the memory that the core names, and the head of the next message comes
//! along in the same system call. One thread at a time receives on a connection; who comes meanwhile leaves
//! word and goes, and the first looks again.

mod acks;
mod dedup;

use crate::ack::delivery_acks::AcksIn;
use crate::ack::message_id::MessageId;
use crate::complaints::Reason;
use crate::conn::deferred_rx::{Deferred, Quota, Stored};
use crate::conn::read_ahead::ReadAhead;
use crate::conn::{Connection, Phase};
use crate::decide::cause::ConnError;
use crate::proto::Version;
use crate::proto::checksum::Checksum;
use crate::proto::frame::{self, Cookies, FRAME_LEN, Incoming};
use crate::remote_nodes::{Dedup, What};
use crate::scheduler::Pollable;
use crate::socket_io::{self, Vecs};
use crate::sync::lock;
use dedup::OpenSeq;
use lnet_core::lnd::{DeferredRx, RxAction, Violation};
use lnet_core::{Errno, Message};
use lnet_wire::{Body, Header};
use std::cell::OnceCell;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// System calls on one connection before others get their turn.
const ROUNDS: usize = 128;

/// What the receiving thread keeps from turn to turn.
#[derive(Debug)]
pub(crate) struct ReceiveSide {
    buffer: ReadAhead,
    state: State,
    /// Messages and NOOPs whose heads have come.
    heads: u64,
    /// From a node of this implementation: the conn_seq there, once a message has brought it.
    conn_seq: Option<OpenSeq>,
}

#[derive(Debug)]
enum State {
    /// The next is a head.
    Head,
    /// The core has not decided about this message, and there is no room for its payload.
    Deferred(Arc<Deferred>, Pending),
    /// The core has not decided about this message, or that is not known here; its payload is read all the same.
    Storing(Storing),
    Payload(Payload),
    Over,
}

/// A message whose head is read.
#[derive(Clone, Debug)]
struct Pending {
    length: usize,
    /// The cookie of the delivery ACK that it asks for.
    ack: Option<u64>,
    /// The same if it comes from a node of this implementation and is not a duplicate, until it is taken.
    message_id: Option<MessageId>,
    /// Something is likely to go the other way soon: its answer, or the next of those that it answers.
    answered: bool,
    /// The checksum that it has to have, and what the head gave.
    check: Option<(u32, Checksum)>,
}

#[derive(Debug)]
struct Payload {
    message: Option<Box<Message>>,
    got: usize,
    /// To be thrown away behind what is wanted.
    surplus: usize,
    pending: Pending,
}

/// A payload that is read into memory of the driver's.
#[derive(Debug)]
struct Storing {
    deferred: Arc<Deferred>,
    stored: Stored,
    got: usize,
    pending: Pending,
}

/// Where to read to first.
enum Into<'a> {
    Nothing,
    Payload(&'a mut Payload),
    Storing(&'a mut Storing),
}

impl ReceiveSide {
    /// One head's worth is read ahead and no more: behind a message's head in the buffer there is no room
    /// for its payload, which so never goes anywhere but where the core wants it.
    pub(crate) fn new(version: Version) -> Self {
        Self {
            buffer: ReadAhead::new(frame::head_len(version)),
            state: State::Head,
            heads: 0,
            conn_seq: None,
        }
    }
}

/// What follows from a step.
enum RxStep {
    /// Take another one.
    On,
    /// Nothing more is there, or nothing may be read.
    Pause,
    End(End),
}

/// Why receiving on a connection ends.
enum End {
    /// The peer closed it, or the network did.
    ByPeer(Errno),
    TimedOut,
    Broken(String),
    ShuttingDown,
}

impl Connection {
    /// Receives what is there, unless another thread is at it; that one will look again.
    pub(crate) fn run_receive(self: &Arc<Self>) {
        if !self.rx_turn.take() {
            return;
        }
        loop {
            let out_of_turn = self.receive_some();
            if self.rx_turn.leave() {
                if out_of_turn {
                    self.scheduler.schedule(Arc::clone(self));
                }
                return self.note_quiet();
            }
        }
    }

    /// Whether there is more to do than a fair share.
    fn receive_some(self: &Arc<Self>) -> bool {
        let mut side = lock(&self.rx);
        let side = &mut *side;
        let mut drained = false;
        for _ in 0..ROUNDS {
            if self.phase() == Phase::Closed {
                self.abandon(side);
                return false;
            }
            match self.step(side, &mut drained) {
                RxStep::On => {}
                RxStep::Pause => {
                    self.midway.store(if side.is_midway() { side.heads + 1 } else { 0 }, Ordering::Relaxed);
                    return false;
                }
                RxStep::End(end) => {
                    self.abandon(side);
                    self.end(end);
                    return false;
                }
            }
        }
        true
    }

    /// One step in the present state.
    fn step(self: &Arc<Self>, side: &mut ReceiveSide, drained: &mut bool) -> RxStep {
        match &mut side.state {
            State::Head => self.on_head(side, drained),
            State::Deferred(..) => self.on_deferred(side),
            State::Payload(payload) => {
                let step = self.payload(&mut side.buffer, side.conn_seq.as_ref(), payload, drained);
                if matches!(step, RxStep::On) && payload.is_complete() {
                    side.state = State::Head;
                }
                step
            }
            State::Storing(storing) => {
                let step = self.store(&mut side.buffer, side.conn_seq.as_ref(), storing, drained);
                if matches!(step, RxStep::On) && storing.is_complete() {
                    self.stored(side);
                }
                step
            }
            State::Over => RxStep::Pause,
        }
    }

    /// The next is a head: what is in the buffer decides.
    fn on_head(self: &Arc<Self>, side: &mut ReceiveSide, drained: &mut bool) -> RxStep {
        match frame::decode(self.version, self.order, side.buffer.bytes()) {
            Err(error) => RxStep::End(End::Broken(error.to_string())),
            Ok(Incoming::Need(_)) if *drained => RxStep::Pause,
            Ok(Incoming::Need(_)) => self.read(&mut side.buffer, Into::Nothing, drained),
            Ok(Incoming::Noop { cookies, checksum }) => self.noop(side, cookies, checksum),
            Ok(Incoming::Message { cookies, checksum, header, len }) => {
                match self.check_duplicate(side, cookies.request) {
                    Dedup::Busy => {
                        self.scheduler.schedule(Arc::clone(self));
                        RxStep::Pause
                    }
                    Dedup::Nonsense => {
                        RxStep::End(End::Broken(format!("a message named {:#x}", cookies.request)))
                    }
                    dedup => {
                        let pending = self.take_head(side, cookies, checksum, &header, len, &dedup);
                        self.on_message(side, cookies, header, pending, dedup)
                    }
                }
            }
        }
    }

    /// Takes the head of a message, of `len` bytes, out of the buffer.
    fn take_head(
        &self,
        side: &mut ReceiveSide,
        cookies: Cookies,
        checksum: u32,
        header: &Header,
        len: usize,
        dedup: &Dedup,
    ) -> Pending {
        let message_id = MessageId::of(cookies.request).filter(|_| self.same_implementation());
        let bytes = side.buffer.bytes().get(..len).unwrap_or_default();
        let pending = Pending {
            length: header.payload_length as usize,
            ack: Some(cookies.request).filter(|cookie| *cookie != 0),
            answered: !matches!(header.body, Body::Put { ack: None, .. }),
            message_id: message_id.filter(|_| !matches!(dedup, Dedup::Duplicate)),
            check: (checksum != 0).then(|| (checksum, head_checksum(bytes))),
        };
        side.buffer.consume(len);
        side.heads += 1;
        pending
    }

    /// The head of a message has been taken: the delivery ACKs that it brings, then where its payload goes.
    fn on_message(
        self: &Arc<Self>,
        side: &mut ReceiveSide,
        cookies: Cookies,
        header: Header,
        pending: Pending,
        dedup: Dedup,
    ) -> RxStep {
        let is_request = matches!(header.body, Body::Put { .. } | Body::Get { .. });
        let acknowledged = self.acknowledge(AcksIn::by_message(self.version, cookies), is_request);
        match (dedup, acknowledged) {
            (Dedup::Resumed(parked), Err(end)) => {
                parked.end();
                RxStep::End(end)
            }
            (_, Err(end)) => RxStep::End(end),
            (Dedup::Duplicate, Ok(())) => {
                self.ni().counts.duplicates.add();
                self.begin(side, RxAction::Discard, pending)
            }
            (Dedup::Resumed(parked), Ok(())) if parked.length != pending.length => {
                parked.end();
                RxStep::End(End::Broken("a message again, and of another length".into()))
            }
            (Dedup::Resumed(parked), Ok(())) => {
                self.ni().counts.resumed.add();
                match parked.what {
                    What::Message(message) => self.begin(side, RxAction::Deliver(message), pending),
                    What::Deferred(deferred) => {
                        deferred.move_to(self);
                        self.defer(side, deferred, pending)
                    }
                }
            }
            (_, Ok(())) => self.message(side, header, pending),
        }
    }

    /// The core has deferred the message, and nothing is read until it has decided.
    fn on_deferred(self: &Arc<Self>, side: &mut ReceiveSide) -> RxStep {
        let State::Deferred(deferred, pending) = &side.state else { return RxStep::On };
        match deferred.take() {
            // Nobody reads what would say it: the peer may connect again, and what it sent still counts.
            None if self.stream_ended.load(Ordering::Acquire) && self.phase() == Phase::Open => {
                self.peer.closed_by_peer(self, Errno::ConnectionReset, true);
                RxStep::Pause
            }
            None => RxStep::Pause,
            Some(action) => {
                let pending = pending.clone();
                // Its time begins now.
                self.heard.store(true, Ordering::Relaxed);
                self.begin(side, action, pending)
            }
        }
    }

    /// Reads into the rest of a payload, if there is one, and the buffer behind it.
    fn read(&self, buffer: &mut ReadAhead, mut into: Into<'_>, drained: &mut bool) -> RxStep {
        let result = loop {
            let mut vecs = Vecs::new();
            let mut whole = true;
            match &mut into {
                Into::Nothing => {}
                Into::Payload(payload) => {
                    if let Some(message) = &payload.message {
                        vecs.memory(message.payload().advanced(payload.got), payload.wanting());
                    }
                    whole = payload.surplus == 0;
                }
                Into::Storing(storing) => {
                    vecs.buffer(storing.stored.bytes.get_mut(storing.got..).unwrap_or_default())
                }
            }
            if whole && !vecs.is_full() {
                vecs.buffer(buffer.space());
            }
            match socket_io::receive(self.fd(), &mut vecs) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => break result.map(|got| (got, vecs.total())),
            }
        };
        match self.took(result, drained) {
            Ok(Some(got)) => {
                let wanted = match into {
                    Into::Nothing => 0,
                    Into::Payload(payload) => {
                        let wanted = payload.wanting().min(got);
                        payload.got += wanted;
                        wanted
                    }
                    Into::Storing(storing) => {
                        let wanted = (storing.stored.bytes.len() - storing.got).min(got);
                        storing.got += wanted;
                        wanted
                    }
                };
                buffer.filled(got - wanted);
                RxStep::On
            }
            Ok(None) => RxStep::Pause,
            Err(end) => RxStep::End(end),
        }
    }

    /// Judges a read of `asked` bytes. `None`: there was nothing.
    fn took(&self, result: io::Result<(usize, usize)>, drained: &mut bool) -> Result<Option<usize>, End> {
        match result {
            Ok((0, _)) => Err(End::ByPeer(Errno::ConnectionReset)),
            Ok((got, asked)) => {
                self.heard.store(true, Ordering::Relaxed);
                self.reads.fetch_add(1, Ordering::Relaxed);
                // Less than asked for means that the socket is empty: the next byte will be an event. But
                // the end of the stream that is known already will not be announced again.
                *drained = got < asked && !self.stream_ended.load(Ordering::Acquire);
                Ok(Some(got))
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                *drained = true;
                Ok(None)
            }
            Err(error) if error.kind() == ErrorKind::TimedOut => Err(End::TimedOut),
            Err(error) => Err(End::ByPeer(Errno::from(&error))),
        }
    }

    fn noop(self: &Arc<Self>, side: &mut ReceiveSide, cookies: Cookies, checksum: u32) -> RxStep {
        let bytes = side.buffer.bytes().get(..FRAME_LEN).unwrap_or_default();
        if checksum != 0 && head_checksum(bytes).value() != checksum {
            return RxStep::End(End::Broken("a NOOP with a wrong checksum".into()));
        }
        side.buffer.consume(FRAME_LEN);
        side.heads += 1;
        match self.acknowledge(AcksIn::by_noop(self.version, cookies), false) {
            Ok(()) => RxStep::On,
            Err(end) => RxStep::End(end),
        }
    }

    /// Asks the core about a message.
    fn message(self: &Arc<Self>, side: &mut ReceiveSide, mut header: Header, pending: Pending) -> RxStep {
        self.peer.relabel(&mut header);
        let deferred = OnceCell::new();
        let defer = || Arc::clone(deferred.get_or_init(|| Deferred::new(self))) as Arc<dyn DeferredRx>;
        let action = self.ni().upcalls.receive(&self.lnet_ni, self.peer.id.nid, &header, &defer);
        match (action, deferred.into_inner()) {
            (RxAction::Defer, Some(deferred)) => self.defer(side, deferred, pending),
            (action, _) => self.begin(side, action, pending),
        }
    }

    fn begin(self: &Arc<Self>, side: &mut ReceiveSide, action: RxAction, pending: Pending) -> RxStep {
        let message = match action {
            RxAction::Deliver(message) => Some(message),
            RxAction::Discard | RxAction::Defer => None,
            RxAction::Reject(Violation::ShuttingDown) => return RxStep::End(End::ShuttingDown),
            RxAction::Reject(violation) => return RxStep::End(End::Broken(violation.to_string())),
        };
        let wanted = message.as_ref().map_or(0, |message| message.payload_len()).min(pending.length);
        let surplus = pending.length - wanted;
        side.state = State::Payload(Payload { message, got: 0, surplus, pending });
        RxStep::On
    }

    /// The core decides later.
    fn defer(&self, side: &mut ReceiveSide, deferred: Arc<Deferred>, pending: Pending) -> RxStep {
        let quota = Quota::take(pending.length, &self.peer.deferred_bytes, &self.ni().shared.deferred_bytes);
        side.state = match quota.and_then(|quota| Stored::with_memory(pending.length, quota)) {
            Some(stored) => State::Storing(Storing { deferred, stored, got: 0, pending }),
            None => State::Deferred(deferred, pending),
        };
        RxStep::On
    }

    /// One read's worth of a payload that waits for the core.
    fn store(
        self: &Arc<Self>,
        buffer: &mut ReadAhead,
        conn_seq: Option<&OpenSeq>,
        storing: &mut Storing,
        drained: &mut bool,
    ) -> RxStep {
        if !storing.is_complete() {
            if *drained {
                return RxStep::Pause;
            }
            let step = self.read(buffer, Into::Storing(&mut *storing), drained);
            if !matches!(step, RxStep::On) || !storing.is_complete() {
                return step;
            }
        }
        if let Some((expected, mut sum)) = storing.pending.check.take() {
            sum.update(&storing.stored.bytes);
            if sum.value() != expected {
                return RxStep::End(End::Broken("a message with a wrong checksum".into()));
            }
        }
        self.acknowledge_arrival(conn_seq, &mut storing.pending);
        RxStep::On
    }

    /// A payload that waits for the core is here: what comes behind it can go on.
    fn stored(self: &Arc<Self>, side: &mut ReceiveSide) {
        if let State::Storing(Storing { deferred, stored, .. }) =
            std::mem::replace(&mut side.state, State::Head)
            && let Some((action, stored)) = deferred.store(stored, self)
        {
            stored.execute(action, self.ni());
        }
    }

    /// One read's worth of payload, wanted or not.
    fn payload(
        self: &Arc<Self>,
        buffer: &mut ReadAhead,
        conn_seq: Option<&OpenSeq>,
        payload: &mut Payload,
        drained: &mut bool,
    ) -> RxStep {
        if payload.wanting() > 0 {
            if *drained {
                return RxStep::Pause;
            }
            let step = self.read(buffer, Into::Payload(&mut *payload), drained);
            if !matches!(step, RxStep::On) || payload.wanting() > 0 {
                return step;
            }
        }
        if let Err(end) = self.deliver(conn_seq, payload) {
            return RxStep::End(end);
        }
        if payload.surplus > 0 {
            if *drained {
                return RxStep::Pause;
            }
            let result = socket_io::discard(self.fd(), payload.surplus);
            match self.took(result.map(|got| (got, payload.surplus)), drained) {
                Ok(Some(got)) => payload.surplus -= got.min(payload.surplus),
                Ok(None) => return RxStep::Pause,
                Err(end) => return RxStep::End(end),
            }
        }
        RxStep::On
    }

    /// What is wanted of the payload is in place: checksum, delivery ACK, and the core is told.
    fn deliver(self: &Arc<Self>, conn_seq: Option<&OpenSeq>, payload: &mut Payload) -> Result<(), End> {
        // The kernel does not verify what it cuts short, either.
        if let Some((expected, mut sum)) = payload.pending.check.take()
            && payload.got == payload.pending.length
        {
            if let Some(message) = &payload.message {
                socket_io::add_to_checksum(&mut sum, message.payload(), payload.got);
            }
            if sum.value() != expected {
                return Err(End::Broken("a message with a wrong checksum".into()));
            }
        }
        self.acknowledge_arrival(conn_seq, &mut payload.pending);
        if let Some(message) = payload.message.take() {
            self.ni().upcalls.received(message, Ok(()));
        }
        Ok(())
    }

    fn end(self: &Arc<Self>, end: End) {
        match end {
            End::ByPeer(errno) => self.peer.closed_by_peer(self, errno, false),
            End::TimedOut => {
                self.ni().counts.timed_out.add();
                self.peer.end(self, ConnError::Stalled);
            }
            End::ShuttingDown => self.peer.end(self, ConnError::Shutdown),
            End::Broken(what) => {
                self.ni().counts.protocol_errors.add();
                let line = format_args!("closing the connections to {}: it sent {what}", self.peer.name());
                self.ni().shared.complaints.say(Reason::Broken, line);
                self.peer.end(self, ConnError::BrokenByPeer);
            }
        }
    }
}

impl ReceiveSide {
    /// Whether a message has begun and its rest has to come.
    fn is_midway(&self) -> bool {
        match &self.state {
            State::Head => !self.buffer.bytes().is_empty(),
            State::Payload(_) | State::Storing(_) => true,
            State::Deferred(..) | State::Over => false,
        }
    }
}

impl Storing {
    fn is_complete(&self) -> bool {
        self.got == self.stored.bytes.len()
    }
}

impl Payload {
    fn wanting(&self) -> usize {
        let wanted = self.message.as_ref().map_or(0, |message| message.payload_len());
        wanted.min(self.pending.length).saturating_sub(self.got)
    }

    fn is_complete(&self) -> bool {
        self.message.is_none() && self.surplus == 0
    }
}

/// The checksum of a head with its checksum field as 0.
fn head_checksum(head: &[u8]) -> Checksum {
    let mut sum = Checksum::new();
    sum.update(head.get(..4).unwrap_or_default());
    sum.update(&[0; 4]);
    sum.update(head.get(8..).unwrap_or_default());
    sum
}
