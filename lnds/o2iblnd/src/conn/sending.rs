//! Messages of the core, and what is posted when credits allow it.

use super::credits::Cost;
use super::queue::Queued;
use super::writes::{ChainLimits, Unwritable, writes};
use super::{Asked, Conn, Context, Ended, Output, Posted, Sink, Then, Transfer};
use crate::decide::form::{Form, form};
use crate::decide::stamp::is_of_this_library;
use crate::device::{WorkId, Write};
use crate::memory::Prepared;
use crate::message::{Arriving, Outgoing};
use crate::proto::{Body, Completion, Descriptor, Fragment, Fragments, MESSAGE_SIZE, set_checksum};
use lnd_common::conn_error::{BytesSent, ConnError};
use lnet_core::{Errno, Time};

impl<M: Outgoing, A: Arriving> Conn<M, A> {
    /// Takes a message of the core, and posts what can be posted.
    pub(crate) fn send(&mut self, message: M, context: &mut Context<'_, M, A>) -> Result<(), Ended> {
        if let lnet_wire::Body::Reply { handle } = message.header().body
            && let Some(asked) = self.asked.remove(&handle)
        {
            self.reply_to(asked, message, context);
            return self.pump(context);
        }
        // A GET that is forwarded has no memory here for its REPLY.
        let is_own = message.reply_memory().remaining() > 0;
        let is_direct = is_own && message.header().dest_nid == self.terms.peer;
        let form = form(message.header(), is_direct, is_of_this_library(self.terms.peer_stamp));
        let owner = message.owner();
        let queued = match form {
            Form::Immediate => Ok(Queued::Immediate(message)),
            Form::PutRequest => {
                let prepared = self.source(&message, context);
                with(message, prepared, |message, memory| Queued::PutRequest { message, memory })
            }
            Form::GetRequest => {
                let memory = message.reply_memory();
                let prepared = context.memory.sink(context.device, memory, owner.as_ref());
                with(message, prepared, |message, memory| Queued::GetRequest { message, memory })
            }
        };
        match queued {
            Ok(queued) => self.queue.push(queued, context.now),
            Err((message, errno)) => {
                let failure = ConnError::Local(errno).failure(BytesSent::Nothing);
                context.out.push(Output::Finalize(message, Err(failure)));
            }
        }
        self.pump(context)
    }

    /// Posts what credits allow.
    pub(crate) fn pump(&mut self, context: &mut Context<'_, M, A>) -> Result<(), Ended> {
        loop {
            let credits = self.credits;
            let next = self.queue.next_cost(|cost| credits.may_post(cost));
            if credits.needs_noop(next) {
                self.queue.push_noop(context.now);
            }
            let Some((queued, since)) = self.queue.pop(|cost| credits.may_post(cost)) else { return Ok(()) };
            self.post(queued, since, context)?;
        }
    }

    /// The memory of a payload, to be read by the device.
    fn source(&self, message: &M, context: &mut Context<'_, M, A>) -> Result<Prepared, Errno> {
        self.source_of_pieces(message, usize::from(self.terms.fragments) * self.tunables.pieces, context)
    }

    /// The memory of a payload in at most `most` pieces.
    fn source_of_pieces(
        &self,
        message: &M,
        most: usize,
        context: &mut Context<'_, M, A>,
    ) -> Result<Prepared, Errno> {
        let owner = message.owner();
        let copied = || message.copied();
        context.memory.source(context.device, message.payload(), owner.as_ref(), most, copied)
    }

    /// Answers a GET_REQ with the core's REPLY: its data are written to the peer's memory.
    fn reply_to(&mut self, asked: Asked, message: M, context: &mut Context<'_, M, A>) {
        let Asked { cookie, descriptor, .. } = asked;
        self.credits.owe();
        let len = message.payload().remaining();
        let prepared = match len {
            0 => Ok((Prepared::default(), vec![])),
            _ => self
                .source(&message, context)
                .and_then(|memory| self.written(&message, memory, len, &descriptor, context)),
        };
        let (status, writes, payload) = completed(message, prepared, len, context);
        self.queue.push(Queued::GetDone { cookie, status, writes, payload }, context.now);
    }

    /// The memory of a payload of `len` bytes, with its WRITEs into the peer's memory. A payload in too many pieces for that goes
    /// through a bounce buffer.
    fn written(
        &self,
        message: &M,
        memory: Prepared,
        len: usize,
        descriptor: &Descriptor,
        context: &mut Context<'_, M, A>,
    ) -> Result<(Prepared, Vec<Write>), Errno> {
        let limits = ChainLimits { writes: self.terms.fragments.into(), pieces: self.tunables.pieces };
        let mut memory = memory;
        loop {
            memory.truncate(len);
            match writes(&memory.segments, descriptor, limits) {
                Ok(writes) => return Ok((memory, writes)),
                Err(error) => {
                    let pieces = memory.segments.len();
                    context.memory.end(context.device, memory, |_| ());
                    if error == Unwritable::TooShort || pieces == 1 {
                        return Err(Errno::MessageSize);
                    }
                    memory = self.source_of_pieces(message, 1, context)?;
                }
            }
        }
    }

    /// Writes the first `len` bytes of a payload to the memory that the peer has named for it.
    pub(super) fn write(
        &mut self,
        transfer: Transfer<M>,
        len: usize,
        cookie: u64,
        descriptor: &Descriptor,
        context: &mut Context<'_, M, A>,
    ) {
        let Transfer { message, memory, .. } = transfer;
        let prepared = self.written(&message, memory, len, descriptor, context);
        let (status, writes, payload) = completed(message, prepared, len, context);
        self.queue.push(Queued::PutDone { cookie, status, writes, payload }, context.now);
    }

    /// Whether the peer waits for a REPLY with this handle.
    pub(crate) fn was_asked(&self, handle: &lnet_wire::WireHandle) -> bool {
        self.asked.contains_key(handle)
    }

    /// Tells the peer that its GET_REQ with this handle brings no data.
    pub(super) fn refuse_get(&mut self, handle: lnet_wire::WireHandle) {
        if let Some(Asked { cookie, since, .. }) = self.asked.remove(&handle) {
            let status = -Errno::NoData.number();
            self.credits.owe();
            self.queue.push(Queued::GetDone { cookie, status, writes: vec![], payload: None }, since);
        }
    }

    /// Asks the peer to write a payload to `memory`.
    pub(super) fn accept_put(&mut self, cookie: u64, arriving: A, memory: Prepared, now: Time) {
        let sink = self.next_cookie();
        let Some(descriptor) = descriptor_of(&memory) else { return };
        self.sinks.insert(sink, Sink { arriving, memory, since: now });
        self.queue.push(Queued::PutAck { cookie, sink, descriptor }, now);
    }

    fn post(&mut self, queued: Queued<M>, since: Time, context: &mut Context<'_, M, A>) -> Result<(), Ended> {
        let cost = queued.cost();
        let credits = self.credits.post(cost);
        let mut buffer = std::mem::take(&mut self.buffer);
        let (len, writes, then) = self.encode(queued, credits, &mut buffer, context.now);
        self.last_work = self.last_work.wrapping_add(1);
        let work = WorkId(self.last_work);
        let posted = match len {
            Some(len) => {
                if self.tunables.checksum {
                    set_checksum(&mut buffer[..len]);
                }
                context.device.post_send(self.id, work, &writes, &buffer[..len])
            }
            None => Err(Errno::MessageSize),
        };
        self.buffer = buffer;
        context.counters.chains += 1;
        context.counters.writes += writes.len() as u64;
        context.counters.noops += u64::from(cost == Cost::Noop);
        self.last_posted = context.now;
        if self.posted.is_empty() {
            self.progress_at = context.now;
        }
        let bytes = len.unwrap_or(0) as u64
            + writes.iter().flat_map(|w| &w.from).map(|s| u64::from(s.len)).sum::<u64>();
        self.posted_bytes += bytes;
        // Without success nothing of the chain left; it is returned with the rest when the connection ends.
        self.posted.push_back(Posted { work, cost, since, bytes, then });
        posted.map_err(Ended::Local)
    }

    /// Writes a message to `buffer`; returns its length, the WRITEs before it, and what it leads to.
    fn encode(
        &mut self,
        queued: Queued<M>,
        credits: u8,
        buffer: &mut [u8],
        now: Time,
    ) -> (Option<usize>, Vec<Write>, Then<M>) {
        let put = |conn: &Self, body: Body<'_>, buffer: &mut [u8]| {
            let message = crate::proto::Message { credits, ..conn.message(body) };
            message.encode_before_payload(buffer).ok()
        };
        match queued {
            Queued::Noop => (put(self, Body::Noop, buffer), vec![], Then::Nothing),
            Queued::Immediate(message) => {
                let header = *message.header();
                let payload = message.copied();
                let len = put(self, Body::Immediate { header, payload: &[] }, buffer)
                    .filter(|at| at + payload.len() <= MESSAGE_SIZE)
                    .map(|at| {
                        buffer[at..at + payload.len()].copy_from_slice(&payload);
                        at + payload.len()
                    });
                (len, vec![], Then::Finalize(message))
            }
            Queued::PutRequest { message, memory } => {
                let cookie = self.next_cookie();
                let len = put(self, Body::PutReq { header: *message.header(), cookie }, buffer);
                self.puts.insert(cookie, Transfer { message, memory, since: now });
                (len, vec![], Then::Nothing)
            }
            Queued::GetRequest { message, memory } => {
                let cookie = self.next_cookie();
                let len = descriptor_of(&memory).and_then(|descriptor| {
                    put(self, Body::GetReq { header: *message.header(), cookie, descriptor }, buffer)
                });
                self.gets.insert(cookie, Transfer { message, memory, since: now });
                (len, vec![], Then::Nothing)
            }
            Queued::PutNak { cookie, status } => {
                (put(self, Body::PutNak(Completion { cookie, status }), buffer), vec![], Then::Nothing)
            }
            Queued::PutAck { cookie, sink, descriptor } => {
                let body = Body::PutAck { src_cookie: cookie, dst_cookie: sink, descriptor };
                (put(self, body, buffer), vec![], Then::Nothing)
            }
            Queued::PutDone { cookie, status, writes, payload } => {
                let len = put(self, Body::PutDone(Completion { cookie, status }), buffer);
                (len, writes, Then::of_payload(payload))
            }
            Queued::GetDone { cookie, status, writes, payload } => {
                let len = put(self, Body::GetDone(Completion { cookie, status }), buffer);
                (len, writes, Then::of_payload(payload))
            }
        }
    }
}

impl<M> Then<M> {
    fn of_payload(payload: Option<(M, Prepared)>) -> Self {
        payload.map_or(Self::Nothing, |(message, memory)| Self::End(message, memory))
    }
}

/// The status and the WRITEs of a transfer; a message that cannot be written is done.
fn completed<M, A>(
    message: M,
    prepared: Result<(Prepared, Vec<Write>), Errno>,
    len: usize,
    context: &mut Context<'_, M, A>,
) -> (i32, Vec<Write>, Option<(M, Prepared)>) {
    match prepared {
        Ok((memory, writes)) => (len as i32, writes, Some((message, memory))),
        Err(errno) => {
            let failure = ConnError::Local(errno).failure(BytesSent::Nothing);
            context.out.push(Output::Finalize(message, Err(failure)));
            (-errno.number(), vec![], None)
        }
    }
}

/// What becomes of a message whose memory was prepared, or not.
fn with<M>(
    message: M,
    prepared: Result<Prepared, Errno>,
    queued: impl FnOnce(M, Prepared) -> Queued<M>,
) -> Result<Queued<M>, (M, Errno)> {
    match prepared {
        Ok(memory) => Ok(queued(message, memory)),
        Err(errno) => Err((message, errno)),
    }
}

/// What the peer is told of memory that it may write to.
fn descriptor_of(memory: &Prepared) -> Option<Descriptor> {
    let segment = memory.segments.first()?;
    let fragment = Fragment { bytes: segment.len, address: segment.address };
    Some(Descriptor { rkey: memory.rkey, fragments: Fragments::one(fragment) })
}
