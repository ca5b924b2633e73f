//! Buffers that requests arrive in. Those of tests have space for several, so that few of them have to be posted.

use super::buffer_counts::{BufferCounts, REQUESTS_PER_BUFFER, reservation};
use super::handler::Sender;
use super::incoming::{Incoming, Serving};
use super::shared::{Lane, Registry, RegistryKey};
use super::workers::{Task, with_short_tasks};
use crate::wire::{
    Features, IncomingRequest, MESSAGE_LEN, ReceivedBody, Reply, Service, Status, Unanswerable,
};
use lnet_api::sync::lock;
use lnet_api::{Event, EventHandler, EventKind, MatchCriteria, Md, MdSpec, ProcessId, Region, RegionSlice};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// The buffers of all services.
pub(super) struct RequestBuffers {
    serving: Arc<Serving>,
    posted: Arc<Registry<RequestBuffer>>,
    brw: Mutex<BufferCounts>,
    ping: Mutex<BufferCounts>,
}

impl RequestBuffers {
    pub(super) fn new(serving: Arc<Serving>) -> Arc<Self> {
        Arc::new(Self { serving, posted: Arc::default(), brw: Mutex::default(), ping: Mutex::default() })
    }

    /// Posts the buffers of the framework.
    pub(super) fn post_framework(self: &Arc<Self>) {
        let count = self.serving.shared.config.framework_buffers;
        for service in Service::FRAMEWORK {
            (0..count).for_each(|_| self.post_new(service));
        }
    }

    /// Posts buffers for a load of this many simultaneous RPCs of a test; `None` means an unlimited load. Returns the number
    /// of reserved buffers, for [`RequestBuffers::release`].
    pub(super) fn reserve(self: &Arc<Self>, service: Service, load: Option<u32>) -> u32 {
        let config = &self.serving.shared.config;
        let most = if service == Service::Brw { config.max_brw_buffers } else { config.max_ping_buffers };
        let reserved = reservation(load, most);
        let new = self.counts(service).map_or(0, |counts| lock(counts).reserve(reserved));
        (0..new).for_each(|_| self.post_new(service));
        reserved
    }

    pub(super) fn release(&self, service: Service, reserved: u32) {
        if let Some(counts) = self.counts(service) {
            lock(counts).release(reserved);
        }
    }

    /// Unlinks all buffers, after the engine was closed.
    pub(super) fn unlink(&self) {
        for buffer in self.posted.all() {
            let md = lock(&buffer.inner).md;
            md.into_iter().for_each(|md| self.serving.shared.node.unlink(md));
        }
    }

    pub(super) fn wait_until_none(&self) {
        self.posted.wait_until_none();
    }

    /// The counts of a service; `None` for the framework's, whose number of buffers does not change.
    const fn counts(&self, service: Service) -> Option<&Mutex<BufferCounts>> {
        match service {
            Service::Brw => Some(&self.brw),
            Service::Ping => Some(&self.ping),
            _ => None,
        }
    }

    fn post_new(self: &Arc<Self>, service: Service) {
        let capacity = if service.is_framework() { 1 } else { REQUESTS_PER_BUFFER };
        let inner = RequestBufferState {
            region: Arc::new(Region::zeroed(usize::from(capacity) * MESSAGE_LEN)),
            posts: 0,
            md: None,
            space: 0,
            is_posted: false,
            arrivals: VecDeque::new(),
            unread: 0,
        };
        let inner = Mutex::new(inner);
        let buffers = Arc::clone(self);
        self.posted.add(|key| RequestBuffer { buffers, key, service, capacity, inner }).post();
    }
}

struct RequestBuffer {
    buffers: Arc<RequestBuffers>,
    key: RegistryKey,
    service: Service,
    /// The number of requests that it has space for.
    capacity: u16,
    inner: Mutex<RequestBufferState>,
}

struct RequestBufferState {
    region: Arc<Region>,
    /// The number of times that the buffer was posted.
    posts: u64,
    md: Option<Md>,
    /// The number of requests that have not arrived.
    space: u16,
    /// Whether the last event of the descriptor is missing.
    is_posted: bool,
    /// The requests that no thread has begun to read.
    arrivals: VecDeque<Arrival>,
    /// The number of requests that have arrived and not been read.
    unread: u16,
}

#[derive(Clone, Copy)]
struct Arrival {
    is_good: bool,
    offset: usize,
    length: usize,
    source: Option<ProcessId>,
    target: Option<ProcessId>,
}

impl RequestBuffer {
    fn post(self: &Arc<Self>) {
        let serving = &self.buffers.serving;
        if serving.shared.is_closed() {
            return self.end();
        }
        let mut inner = lock(&self.inner);
        inner.posts += 1;
        (inner.space, inner.is_posted) = (self.capacity, true);
        let (region, number) = (Arc::clone(&inner.region), inner.posts);
        drop(inner);
        let spec = MdSpec {
            puts: true,
            max_size: Some(MESSAGE_LEN as u32),
            ..MdSpec::active(region, self.capacity)
        };
        let criteria = MatchCriteria { from: None, bits: self.service.match_bits(), ignore: 0 };
        let events = Arc::new(BufferEvents(Arc::clone(self)));
        match serving.shared.node.attach(self.service.portal(), criteria, spec, events) {
            Ok(md) => {
                let mut inner = lock(&self.inner);
                // Requests may have arrived meanwhile, and the buffer have been posted again.
                if inner.posts == number {
                    inner.md = Some(md);
                }
                drop(inner);
                // The thread that closes the engine has unlinked only descriptors that existed then.
                if serving.shared.is_closed() {
                    serving.shared.node.unlink(md);
                }
            }
            Err(_) => {
                self.lose(self.capacity);
                self.end();
            }
        }
    }

    fn handle_event(self: &Arc<Self>, event: &Event) {
        let shared = &self.buffers.serving.shared;
        shared.counters.event(event.status);
        let mut inner = lock(&self.inner);
        inner.is_posted &= !event.unlinked;
        if event.kind != EventKind::Put {
            let (lost, ends) = (std::mem::take(&mut inner.space), inner.unread == 0);
            drop(inner);
            self.lose(lost);
            // Otherwise it ends when the last request has been read.
            if ends {
                self.end();
            }
            return;
        }
        inner.space = inner.space.saturating_sub(1);
        inner.unread += 1;
        inner.arrivals.push_back(Arrival {
            is_good: event.status.is_ok(),
            offset: event.offset as usize,
            length: event.mlength as usize,
            source: event.source(),
            target: event.target(),
        });
        drop(inner);
        shared.counters.request_received();
        let task = Arc::clone(self) as Arc<dyn Task>;
        match self.service {
            Service::Brw => shared.enqueue_step(None, task),
            Service::Ping => shared.enqueue_step(Some(0), task),
            _ => shared.enqueue(Lane::Framework, task),
        }
    }

    /// Reads the request and its sender. `None` if there is no peer to reply to.
    fn read(
        &self,
        region: Arc<Region>,
        arrival: Arrival,
    ) -> Option<(Sender, Result<IncomingRequest, Unanswerable>)> {
        let process = arrival.source.filter(|_| arrival.is_good)?;
        let sender = Sender { process, to: arrival.target.map(|it| it.nid) };
        let end = arrival.offset.saturating_add(arrival.length);
        // SAFETY: LNet has written this request there, and puts each into bytes of its own. It writes to these again only when the buffer is
        // posted again, after all of its requests have been read (`is_used_up`).
        let bytes = unsafe { RegionSlice::new(region, arrival.offset..end) };
        Some((sender, IncomingRequest::parse(self.service, &bytes)))
    }

    /// Posts the buffer again if all of its requests have been read and it is needed; and further ones if little space is left.
    fn repost(self: &Arc<Self>, is_used_up: bool) {
        let Some(counts) = self.buffers.counts(self.service) else {
            return if is_used_up {
                self.post()
            };
        };
        let mut counts = lock(counts);
        let more = counts.arrived();
        let is_needed = is_used_up && counts.repost();
        drop(counts);
        (0..more).for_each(|_| self.buffers.post_new(self.service));
        match (is_used_up, is_needed) {
            (true, true) => self.post(),
            (true, false) => self.end(),
            (false, _) => {}
        }
    }

    /// Notes that this number of requests found no space.
    fn lose(&self, space: u16) {
        if let Some(counts) = self.buffers.counts(self.service) {
            lock(counts).lost(space.into());
        }
    }

    fn end(&self) {
        self.buffers.posted.remove(self.key);
    }
}

impl Task for RequestBuffer {
    fn run(self: Arc<Self>) {
        let mut inner = lock(&self.inner);
        let Some(arrival) = inner.arrivals.pop_front() else { return };
        let region = Arc::clone(&inner.region);
        drop(inner);
        let read = self.read(region, arrival);
        let mut inner = lock(&self.inner);
        inner.unread -= 1;
        let is_used_up = inner.unread == 0 && !inner.is_posted;
        drop(inner);
        // Clients of tests may send the next request as soon as they have the reply.
        if !self.service.is_framework() {
            self.repost(is_used_up);
        }
        let serving = &self.buffers.serving;
        match (read, serving.handler()) {
            (Some((sender, Ok(request))), Some(handler)) => {
                let incoming = Incoming { service: self.service, sender, reply_bits: request.reply_bits };
                let response = match request.body {
                    ReceivedBody::OtherVersion => super::Response::Reply(Reply::write_status_alone(
                        self.service,
                        Features::KNOWN,
                        Status::PROTOCOL,
                    )),
                    _ => handler.handle(&request, &sender),
                };
                serving.respond(incoming, response);
            }
            _ => serving.shared.counters.dropped(),
        }
        if self.service.is_framework() {
            self.repost(is_used_up);
        }
    }
}

struct BufferEvents(Arc<RequestBuffer>);

impl EventHandler for BufferEvents {
    fn on_event(&self, event: &Event) {
        with_short_tasks(|| self.0.handle_event(event));
    }
}
