//! Incoming RPCs from the request on: bulk data, and the reply (selftest 4.3).

use super::handler::{BulkDone, BulkTransfer, RequestHandler, Response, Sender};
use super::shared::{Lane, MessageOwner, Registry, RegistryKey, Shared};
use super::workers::{Task, with_short_tasks};
use crate::wire::{Message, PORTAL_REPLIES, Service};
use lnet_api::Errno;
use lnet_api::sync::lock;
use lnet_api::{Ack, Destination, Event, EventHandler, EventKind, Md, MdSpec, Region};
use std::sync::{Arc, Mutex};

/// The state that the incoming RPCs of an engine share.
pub(super) struct Serving {
    pub(super) shared: Arc<Shared>,
    handler: Mutex<Option<Arc<dyn RequestHandler>>>,
    /// The RPCs with bulk data in flight.
    transfers: Arc<Registry<Transfer>>,
}

/// A request that has been read, with the data that its reply needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incoming {
    pub(super) service: Service,
    pub(super) sender: Sender,
    pub(super) reply_bits: u64,
}

impl Serving {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, handler: Mutex::new(None), transfers: Arc::default() }
    }

    pub(super) fn handler(&self) -> Option<Arc<dyn RequestHandler>> {
        lock(&self.handler).clone()
    }

    pub(super) fn set_handler(&self, handler: Option<Arc<dyn RequestHandler>>) {
        // Dropped without the lock.
        drop(std::mem::replace(&mut *lock(&self.handler), handler));
    }

    pub(super) fn respond(self: &Arc<Self>, to: Incoming, response: Response) {
        match response {
            Response::Drop => self.shared.counters.dropped(),
            Response::Reply(message) => self.reply(to, &message),
            Response::Bulk { transfer, then } => Transfer::start(self, to, transfer, then),
        }
    }

    /// Sends a reply to the NID that the request came from, from the local NI that it was sent to.
    fn reply(self: &Arc<Self>, to: Incoming, message: &Message) {
        let Sender { process, to: from } = to.sender;
        let to =
            Destination { from, to: process, portal: PORTAL_REPLIES, match_bits: to.reply_bits, offset: 0 };
        if self.shared.send(message, &to, Arc::clone(self) as Arc<dyn MessageOwner>).is_err() {
            self.shared.counters.dropped();
        }
    }

    /// Ends the transfers of tests, whosever they are: there is no reply.
    pub(super) fn abort_tests(&self) {
        for transfer in self.transfers.filter(|transfer| !transfer.incoming.service.is_framework()) {
            transfer.abort();
        }
    }

    /// Ends all transfers.
    pub(super) fn abort_all(&self) {
        for transfer in self.transfers.all() {
            transfer.abort();
        }
    }

    pub(super) fn wait_until_no_transfers(&self) {
        self.transfers.wait_until_none();
    }
}

/// The outcomes of replies.
impl MessageOwner for Serving {
    fn on_sent(self: Arc<Self>, result: Result<(), Errno>) {
        self.shared.counters.event(result);
        if result.is_err() {
            self.shared.counters.dropped();
        }
    }
}

/// An RPC with bulk data in flight.
struct Transfer {
    serving: Arc<Serving>,
    key: RegistryKey,
    incoming: Incoming,
    is_get: bool,
    length: usize,
    inner: Mutex<IncomingState>,
}

struct IncomingState {
    md: Option<Md>,
    is_aborted: bool,
    /// The first failure.
    failure: Option<Errno>,
    /// The data has been transferred.
    is_done: bool,
    region: Option<Arc<Region>>,
    then: Option<BulkDone>,
}

impl Transfer {
    fn start(serving: &Arc<Serving>, incoming: Incoming, transfer: BulkTransfer, then: BulkDone) {
        let (is_get, bits, region, length) = match transfer {
            BulkTransfer::Get { bits, region } => {
                let length = region.len();
                (true, bits, region, length)
            }
            BulkTransfer::Put { bits, region, length } => (false, bits, region, length),
        };
        let inner = IncomingState {
            md: None,
            is_aborted: false,
            failure: None,
            is_done: false,
            region: Some(Arc::clone(&region)),
            then: Some(then),
        };
        let its = Arc::clone(serving);
        let inner = Mutex::new(inner);
        let this = serving.transfers.add(|key| Self { serving: its, key, incoming, is_get, length, inner });
        // A GET is two operations: the request and the reply.
        let spec = MdSpec { range: 0..length, ..MdSpec::active(region, if is_get { 2 } else { 1 }) };
        this.post(spec, bits);
    }

    fn post(self: &Arc<Self>, spec: MdSpec, bits: u64) {
        let node = &self.serving.shared.node;
        let Ok(md) = node.bind(spec, Arc::clone(self) as Arc<dyn EventHandler>) else {
            self.fail(Errno::NoMemory);
            self.queue();
            return;
        };
        let Sender { process, to: from } = self.incoming.sender;
        let posted = match self.is_get {
            true => node.get(from, md, process, PORTAL_REPLIES, bits, 0),
            false => node.put(from, md, Ack::No, process, PORTAL_REPLIES, bits, 0, 0),
        };
        if let Err(errno) = posted {
            self.fail(errno);
        }
        let mut inner = lock(&self.inner);
        // A thread that aborts the transfer unlinks the descriptor, or this sees that it is aborted.
        inner.md = Some(md);
        let ends = posted.is_err() || inner.is_aborted || self.serving.shared.is_closed();
        drop(inner);
        if ends {
            node.unlink(md);
        }
    }

    fn fail(&self, errno: Errno) {
        lock(&self.inner).failure.get_or_insert(errno);
    }

    fn abort(&self) {
        let mut inner = lock(&self.inner);
        inner.is_aborted = true;
        let md = inner.md;
        drop(inner);
        if let Some(md) = md {
            self.serving.shared.node.unlink(md);
        }
    }

    fn queue(&self) {
        let Some(task) = self.serving.transfers.get(self.key) else { return };
        let shared = &self.serving.shared;
        // The remaining work of the framework runs on its thread, too.
        match self.incoming.service.is_framework() {
            true => shared.enqueue(Lane::Framework, task),
            false => shared.enqueue_step(Some(self.length), task),
        }
    }
}

impl EventHandler for Transfer {
    fn on_event(&self, event: &Event) {
        with_short_tasks(|| self.handle_event(event));
    }
}

impl Transfer {
    fn handle_event(&self, event: &Event) {
        self.serving.shared.counters.event(event.status);
        let mut inner = lock(&self.inner);
        let is_data = event.kind == if self.is_get { EventKind::Reply } else { EventKind::Send };
        match event.status {
            Err(errno) => {
                inner.failure.get_or_insert(errno);
            }
            Ok(()) if is_data && (!self.is_get || event.mlength as usize == self.length) => {
                inner.is_done = true
            }
            Ok(()) => {}
        }
        drop(inner);
        if event.unlinked {
            self.queue();
        }
    }
}

impl Task for Transfer {
    fn run(self: Arc<Self>) {
        let mut inner = lock(&self.inner);
        let is_good = inner.is_done && inner.failure.is_none() && !inner.is_aborted;
        let (region, then) = (inner.region.take(), inner.then.take());
        drop(inner);
        let response = match (region, then) {
            (Some(region), Some(then)) if is_good => {
                let counters = &self.serving.shared.counters;
                if !self.incoming.service.is_framework() {
                    match self.is_get {
                        true => counters.bulk_got(self.length),
                        false => counters.bulk_put(self.length),
                    }
                }
                then(region)
            }
            _ => Response::Drop,
        };
        self.serving.respond(self.incoming, response);
        self.serving.transfers.remove(self.key);
    }
}
