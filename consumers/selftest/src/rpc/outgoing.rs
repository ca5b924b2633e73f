//! Outgoing RPCs: their descriptors, messages and events. `outgoing_state` decides about their steps.

use super::kept_source::SourceDescriptor;
use super::outgoing_state::{OutgoingState, Piece, RpcStep};
use super::shared::{Lane, MessageOwner, Registry, RegistryKey, Shared};
use super::workers::{Task, with_short_tasks};
use crate::wire::{Features, IncomingReply, Message, PORTAL_REPLIES, Request, Service};
use lnet_api::Errno;
use lnet_api::clock::Time;
use lnet_api::sync::lock;
use lnet_api::{
    Destination, Event, EventHandler, EventKind, MatchCriteria, Md, MdSpec, MessageId, ProcessId, Region,
};
use std::ops::Range;
use std::sync::{Arc, Mutex, Weak};

/// A request with its destination.
#[derive(Debug)]
pub struct Call {
    /// The process that the request is for.
    pub to: ProcessId,
    /// The request.
    pub request: Request,
    /// The features in the header of the request.
    pub features: Features,
    /// The memory of the bulk data; present exactly if [`Request::has_bulk`].
    pub bulk: Option<Bulk>,
}

/// Memory of bulk data, which only this RPC changes until it has ended.
#[derive(Debug)]
pub enum Bulk {
    /// The server fetches this memory.
    Source(Arc<Region>, Range<usize>),
    /// The server fetches this memory, whose descriptor serves one RPC after the other.
    Kept(Arc<SourceDescriptor>),
    /// The server puts data into this memory, and fills all of it.
    Sink(Arc<Region>, Range<usize>),
}

impl Bulk {
    fn len(&self) -> usize {
        match self {
            Self::Source(_, range) | Self::Sink(_, range) => range.len(),
            Self::Kept(source) => source.len(),
        }
    }
}

/// The result of an RPC: a reply, whose status may be an error, or the failure. LNet no longer accesses its bulk memory, which is its owner's
/// alone; that of [`Bulk::Kept`] is still read.
pub type RpcOutcome = Result<IncomingReply, Errno>;

/// An RPC that is in progress, or has ended.
#[derive(Clone)]
pub struct CallHandle(Weak<OutgoingRpc>);

impl CallHandle {
    /// Ends the RPC with an error, unless it has ended: its completion is called as soon as LNet has given its memory back.
    pub fn abort(&self, reason: Errno) {
        if let Some(rpc) = self.0.upgrade() {
            rpc.abort(reason);
        }
    }
}

type Done = Box<dyn FnOnce(RpcOutcome) + Send>;

pub(super) struct OutgoingRpc {
    shared: Arc<Shared>,
    registry: Arc<Registry<Self>>,
    key: RegistryKey,
    service: Service,
    /// Bytes of bulk data.
    bulk_length: usize,
    /// The time at which the RPC is aborted; `None`: never.
    pub(super) deadline: Option<Time>,
    inner: Mutex<LockedState>,
}

struct LockedState {
    state: OutgoingState,
    /// A step that waits for a thread which may call LNet.
    step: Option<RpcStep>,
    request: Option<MessageId>,
    /// The descriptors of the reply and of bulk data.
    mds: [Option<Md>; 2],
    results: [Option<Result<(), Errno>>; 2],
    /// The memory of the reply, until the RPC has ended.
    reply_region: Option<Arc<Region>>,
    sink_length: Option<usize>,
    reply: Option<IncomingReply>,
    done: Option<Done>,
}

impl OutgoingRpc {
    /// Sends a request. `done` is called once, on one of the engine's threads; at once if the engine is closed.
    pub(super) fn start(
        shared: &Arc<Shared>,
        registry: &Arc<Registry<Self>>,
        mut call: Call,
        done: Done,
    ) -> CallHandle {
        let has_bulk = call.request.has_bulk();
        let reply_region = shared.reply_region();
        let deadline = shared.config.timeout.map(|timeout| shared.clock.now() + timeout);
        let rpc = registry.add(|key| Self {
            shared: Arc::clone(shared),
            registry: Arc::clone(registry),
            key,
            service: call.request.service(),
            bulk_length: call.bulk.as_ref().map_or(0, Bulk::len),
            deadline,
            inner: Mutex::new(LockedState {
                state: OutgoingState::new(has_bulk),
                step: None,
                request: None,
                mds: [None; 2],
                results: [None; 2],
                reply_region: Some(Arc::clone(&reply_region)),
                sink_length: match &call.bulk {
                    Some(bulk @ Bulk::Sink(..)) => Some(bulk.len()),
                    _ => None,
                },
                reply: None,
                done: Some(done),
            }),
        });
        // The check comes after the registration: a thread that closes the engine aborts registered RPCs, or this check sees
        // that it is closed.
        if shared.is_closed() {
            let done = lock(&rpc.inner).done.take();
            if let Some(done) = done {
                done(Err(Errno::Shutdown));
            }
            registry.remove(rpc.key);
            return CallHandle(Weak::new());
        }
        let refusal = (has_bulk != call.bulk.is_some()).then_some(Errno::Invalid);
        let bulk = call.bulk.take();
        rpc.post(&call, bulk, reply_region, refusal);
        CallHandle(Arc::downgrade(&rpc))
    }

    pub(super) fn abort(self: &Arc<Self>, reason: Errno) {
        self.change(|state| state.abort(reason));
    }

    /// Ends the RPC with ETIMEDOUT, and counts it as expired, unless it has ended.
    pub(super) fn expire(self: &Arc<Self>) {
        let mut inner = lock(&self.inner);
        let step = inner.state.abort(Errno::TimedOut);
        if step.is_some() {
            self.shared.counters.expired();
        }
        self.follow(&mut inner, step);
    }

    /// Makes the descriptors and sends the request. Those of the reply and of bulk data exist before the request goes out.
    fn post(
        self: &Arc<Self>,
        call: &Call,
        bulk: Option<Bulk>,
        reply_region: Arc<Region>,
        refusal: Option<Errno>,
    ) {
        let kept = match &bulk {
            Some(Bulk::Kept(source)) => source.begin(self),
            _ => None,
        };
        let (reply_bits, new_bits) = self.shared.match_bits.take(bulk.is_some() && kept.is_none());
        let bulk_bits = kept.map_or(new_bits, |(_, bits)| bits);
        let mut failure = refusal;
        let spec = MdSpec { puts: true, ..MdSpec::active(reply_region, 1) };
        let reply = self.make(Piece::Reply, &mut failure, || self.attach(Piece::Reply, reply_bits, spec));
        let mut mds = [reply, None];
        // The descriptor is the only one who has the memory when the RPC ends.
        if let Some(bulk) = bulk {
            let attach = || match bulk {
                Bulk::Source(region, range) => {
                    let spec = MdSpec { gets: true, ..MdSpec::active(region, 1) };
                    self.attach(Piece::Bulk, bulk_bits, MdSpec { range, ..spec })
                }
                Bulk::Kept(source) => kept.map_or_else(|| source.attach(bulk_bits), |(md, _)| Ok(md)),
                Bulk::Sink(region, range) => {
                    let spec = MdSpec { puts: true, ..MdSpec::active(region, 1) };
                    self.attach(Piece::Bulk, bulk_bits, MdSpec { range, ..spec })
                }
            };
            mds[index_of(Piece::Bulk)] = self.make(Piece::Bulk, &mut failure, attach);
        } else if call.request.has_bulk() {
            self.change(|state| state.ended(Piece::Bulk, Err(Errno::Invalid)));
        }
        let sent = match failure {
            Some(errno) => Err(errno),
            None => self.send(&call.request.write(call.features, reply_bits, bulk_bits), call),
        };
        // Until here no step needs the descriptors.
        let mut inner = lock(&self.inner);
        (inner.mds, inner.request) = (mds, sent.ok());
        if let Err(errno) = sent {
            inner.state.ended(Piece::Request, Err(errno));
        }
        let step = inner.state.posted();
        self.follow(&mut inner, step);
    }

    fn send(self: &Arc<Self>, message: &Message, call: &Call) -> Result<MessageId, Errno> {
        let service = call.request.service();
        let to = Destination {
            from: None,
            to: call.to,
            portal: service.portal(),
            match_bits: service.match_bits(),
            offset: 0,
        };
        self.shared.send(message, &to, Arc::clone(self) as Arc<dyn MessageOwner>)
    }

    /// Attaches a descriptor by a call of `attach`, unless an earlier one could not be made.
    fn make(
        self: &Arc<Self>,
        piece: Piece,
        failure: &mut Option<Errno>,
        attach: impl FnOnce() -> Result<Md, Errno>,
    ) -> Option<Md> {
        let made = match *failure {
            Some(errno) => Err(errno),
            None => attach(),
        };
        made.inspect_err(|errno| {
            *failure = Some(*errno);
            self.change(|state| state.ended(piece, Err(*errno)));
        })
        .ok()
    }

    /// Attaches a descriptor for any sender: LNet compares primary NIDs, and a peer's may become known while the RPC is in
    /// progress. No
    /// other process can guess the bits.
    fn attach(self: &Arc<Self>, piece: Piece, bits: u64, spec: MdSpec) -> Result<Md, Errno> {
        let spec = MdSpec { tag: tag_of(piece), ..spec };
        let criteria = MatchCriteria { from: None, bits, ignore: 0 };
        let handler = Arc::clone(self) as Arc<dyn EventHandler>;
        self.shared.node.attach(PORTAL_REPLIES, criteria, spec, handler)
    }

    /// Changes the state, and ensures that the resulting step is carried out.
    fn change(self: &Arc<Self>, change: impl FnOnce(&mut OutgoingState) -> Option<RpcStep>) {
        let mut inner = lock(&self.inner);
        let step = change(&mut inner.state);
        self.follow(&mut inner, step);
    }

    fn follow(self: &Arc<Self>, inner: &mut LockedState, step: Option<RpcStep>) {
        if step.is_some() {
            // A later step replaces a step that has not been carried out.
            inner.step = step;
            let task = Arc::clone(self) as Arc<dyn Task>;
            match step {
                // The next RPC of the test follows.
                Some(RpcStep::Complete(Ok(()))) if !self.service.is_framework() => {
                    self.shared.enqueue_step(Some(self.bulk_length), task);
                }
                _ => self.shared.enqueue(Lane::Other, task),
            }
        }
    }

    /// Handles the event that says what came of a piece, or the last one of its descriptor.
    pub(super) fn handle_last_event(&self, piece: Piece, event: &Event) {
        self.handle_event(piece, event, true);
    }

    fn handle_event(&self, piece: Piece, event: &Event, is_last: bool) {
        self.shared.counters.event(event.status);
        let mut inner = lock(&self.inner);
        let result = match event.status {
            Ok(()) if event.kind == EventKind::Unlink => Err(Errno::Interrupted),
            Ok(())
                if piece == Piece::Bulk
                    && inner.sink_length.is_some_and(|it| it != event.mlength as usize) =>
            {
                Err(Errno::BadMessage)
            }
            status => status,
        };
        let known = &mut inner.results[index_of(piece)];
        if known.is_none_or(|known| known.is_ok() && event.kind != EventKind::Unlink) {
            *known = Some(result);
        }
        let result = known.unwrap_or(result);
        if !is_last {
            return;
        }
        let step = match (piece, result) {
            (Piece::Reply, Ok(())) => match inner.read_reply(self.service, event.mlength as usize) {
                Ok(is_refused) => inner.state.replied(is_refused),
                Err(errno) => inner.state.ended(piece, Err(errno)),
            },
            _ => inner.state.ended(piece, result),
        };
        if step.is_some()
            && let Some(this) = self.registry.get(self.key)
        {
            this.follow(&mut inner, step);
        }
    }
}

impl LockedState {
    /// Reads the reply. Returns whether its status is an error.
    fn read_reply(&mut self, service: Service, length: usize) -> Result<bool, Errno> {
        let region = self.reply_region.as_mut().and_then(Arc::get_mut).ok_or(Errno::Io)?;
        let bytes = region.bytes_mut();
        let reply = bytes.get(..length).and_then(|bytes| IncomingReply::parse(service, bytes).ok());
        self.reply = reply;
        reply.map(|it| !it.reply.status().is_ok()).ok_or(Errno::BadMessage)
    }
}

impl Task for OutgoingRpc {
    fn run(self: Arc<Self>) {
        let mut inner = lock(&self.inner);
        let (mds, request) = (inner.mds, inner.request);
        let Some(step) = inner.step.take() else { return };
        let (done, reply, reply_region) = match step {
            RpcStep::Complete(_) => (inner.done.take(), inner.reply, inner.reply_region.take()),
            _ => (None, None, None),
        };
        drop(inner);
        reply_region.into_iter().for_each(|region| self.shared.keep_reply_region(region));
        match step {
            RpcStep::UnlinkAll => {
                mds.into_iter().flatten().for_each(|md| self.shared.node.unlink(md));
                request.into_iter().for_each(|request| self.shared.messages.abort(request));
                self.change(OutgoingState::unlinked);
            }
            RpcStep::UnlinkBulk => {
                mds[index_of(Piece::Bulk)].into_iter().for_each(|md| self.shared.node.unlink(md))
            }
            RpcStep::Complete(result) => {
                if let Some(done) = done {
                    done(result.and_then(|()| reply.ok_or(Errno::Io)));
                }
                self.registry.remove(self.key);
            }
        }
    }
}

/// The outcome of the request.
impl MessageOwner for OutgoingRpc {
    fn on_sent(self: Arc<Self>, result: Result<(), Errno>) {
        self.shared.counters.event(result);
        if result.is_ok() {
            self.shared.counters.request_sent();
        }
        self.change(|state| state.ended(Piece::Request, result));
    }
}

/// The index of a descriptor of the reply or of bulk data.
const fn index_of(piece: Piece) -> usize {
    matches!(piece, Piece::Bulk) as usize
}

/// The tag of the events of a descriptor of the reply or of bulk data.
const fn tag_of(piece: Piece) -> u32 {
    index_of(piece) as u32
}

/// The events of the descriptors of the reply and of bulk data.
impl EventHandler for OutgoingRpc {
    fn on_event(&self, event: &Event) {
        let piece = if event.tag == tag_of(Piece::Bulk) { Piece::Bulk } else { Piece::Reply };
        with_short_tasks(|| self.handle_event(piece, event, event.unlinked));
    }
}
