//! Buffers that requests arrive in.

use super::buffer_counts::{BufferCounts, reservation};
use super::handler::Sender;
use super::incoming::{Incoming, Serving};
use super::shared::{Lane, Registry};
use super::workers::{Task, with_short_tasks};
use crate::wire::{
    Features, IncomingRequest, MESSAGE_LEN, ReceivedBody, Reply, Service, Status, Unanswerable,
};
use lnet_api::sync::lock;
use lnet_api::{Event, EventHandler, EventKind, MatchCriteria, Md, MdSpec, ProcessId, Region};
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
        let key = self.posted.take_key();
        let region = Arc::new(Region::zeroed(MESSAGE_LEN));
        let inner = Mutex::new(RequestBufferState { region, posts: 0, md: None, arrival: None });
        let buffer = Arc::new(RequestBuffer { buffers: Arc::clone(self), key, service, inner });
        self.posted.add(key, Arc::clone(&buffer));
        buffer.post();
    }
}

struct RequestBuffer {
    buffers: Arc<RequestBuffers>,
    key: u64,
    service: Service,
    inner: Mutex<RequestBufferState>,
}

struct RequestBufferState {
    region: Arc<Region>,
    /// The number of times that the buffer was posted.
    posts: u64,
    md: Option<Md>,
    /// A request that has not been read.
    arrival: Option<Arrival>,
}

#[derive(Clone, Copy)]
struct Arrival {
    is_good: bool,
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
        let (region, number) = (Arc::clone(&inner.region), inner.posts);
        drop(inner);
        let spec = MdSpec { puts: true, ..MdSpec::active(region, 1) };
        let criteria = MatchCriteria { from: None, bits: self.service.match_bits(), ignore: 0 };
        let events = Arc::new(BufferEvents(Arc::clone(self)));
        match serving.shared.node.attach(self.service.portal(), criteria, spec, events) {
            Ok(md) => {
                let mut inner = lock(&self.inner);
                // A request may have arrived meanwhile, and the buffer have been posted again.
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
                self.lose();
                self.end();
            }
        }
    }

    fn handle_event(self: &Arc<Self>, event: &Event) {
        let shared = &self.buffers.serving.shared;
        shared.counters.event(event.status);
        if event.kind != EventKind::Put {
            self.lose();
            return self.end();
        }
        shared.counters.request_received();
        lock(&self.inner).arrival = Some(Arrival {
            is_good: event.status.is_ok(),
            length: event.mlength as usize,
            source: event.source,
            target: event.target,
        });
        let task = Arc::clone(self) as Arc<dyn Task>;
        match self.service {
            Service::Brw => shared.enqueue_step(None, task),
            Service::Ping => shared.enqueue_step(Some(0), task),
            _ => shared.enqueue(Lane::Framework, task),
        }
    }

    /// Reads the request and its sender. `None` if there is no peer to reply to.
    fn read(&self, arrival: Arrival) -> Option<(Sender, Result<IncomingRequest, Unanswerable>)> {
        let process = arrival.source.filter(|_| arrival.is_good)?;
        let sender = Sender { process, to: arrival.target.map(|it| it.nid) };
        let mut inner = lock(&self.inner);
        let bytes = Arc::get_mut(&mut inner.region)?.bytes_mut();
        Some((sender, IncomingRequest::parse(self.service, bytes.get(..arrival.length)?)))
    }

    /// Posts a used buffer again if it is needed, and further buffers if few are left.
    fn repost(self: &Arc<Self>) {
        let Some(counts) = self.buffers.counts(self.service) else { return self.post() };
        let mut counts = lock(counts);
        let more = counts.arrived();
        let is_needed = counts.repost();
        drop(counts);
        (0..more).for_each(|_| self.buffers.post_new(self.service));
        match is_needed {
            true => self.post(),
            false => self.end(),
        }
    }

    fn lose(&self) {
        if let Some(counts) = self.buffers.counts(self.service) {
            lock(counts).lost();
        }
    }

    fn end(&self) {
        self.buffers.posted.remove(self.key);
    }
}

impl Task for RequestBuffer {
    fn run(self: Arc<Self>) {
        let Some(arrival) = lock(&self.inner).arrival.take() else { return };
        let read = self.read(arrival);
        // Clients of tests may send the next request as soon as they have the reply.
        if !self.service.is_framework() {
            self.repost();
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
            self.repost();
        }
    }
}

struct BufferEvents(Arc<RequestBuffer>);

impl EventHandler for BufferEvents {
    fn on_event(&self, event: &Event) {
        with_short_tasks(|| self.0.handle_event(event));
    }
}
