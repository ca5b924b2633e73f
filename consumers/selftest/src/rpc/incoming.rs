//! Incoming RPCs from the request on: bulk data, and the reply (selftest 4.3).

use super::handler::{BulkDone, BulkTransfer, RequestHandler, Response, Sender};
use super::idle_transfers::{IdleTransfers, Shape};
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
    /// The descriptors of bulk data, with the RPCs that use them.
    transfers: Arc<Registry<Transfer>>,
    /// Those that no RPC uses.
    idle: IdleTransfers,
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
        Self { shared, handler: Mutex::new(None), transfers: Arc::default(), idle: IdleTransfers::default() }
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
        for transfer in self.transfers.filter(|transfer| !transfer.is_of_framework) {
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

/// A descriptor of bulk data with the RPC that uses it. A kept one is used by other RPCs afterwards.
pub(super) struct Transfer {
    serving: Arc<Serving>,
    key: RegistryKey,
    pub(super) shape: Shape,
    is_of_framework: bool,
    is_kept: bool,
    inner: Mutex<IncomingState>,
}

struct IncomingState {
    md: Option<Md>,
    is_aborted: bool,
    /// The first failure.
    failure: Option<Errno>,
    /// The data has been transferred.
    is_done: bool,
    /// The events of the transfer that are missing.
    missing: u8,
    /// The descriptor has had its last event.
    has_ended: bool,
    /// The memory, unless the descriptor is kept.
    region: Option<Arc<Region>>,
    /// The RPC; `None`: the descriptor is idle.
    rpc: Option<(Incoming, BulkDone)>,
}

impl Transfer {
    fn start(serving: &Arc<Serving>, incoming: Incoming, transfer: BulkTransfer, then: BulkDone) {
        let peer = incoming.sender.process;
        let (bits, shape, region, is_kept) = match transfer {
            BulkTransfer::Get { bits, region } => {
                (bits, Shape::fetch(region.len(), peer), Some(region), false)
            }
            BulkTransfer::Put { bits, region, length } => {
                (bits, Shape::send(length, &region), Some(region), false)
            }
            BulkTransfer::Discard { bits, length } => (bits, Shape::fetch(length, peer), None, true),
            BulkTransfer::PutShared { bits, region, length } => {
                (bits, Shape::send(length, &region), Some(region), true)
            }
        };
        let idle = is_kept.then(|| serving.idle.take(&shape)).flatten();
        let rpc = (incoming, then);
        let rpc = match idle {
            Some(idle) => match idle.begin(rpc) {
                Ok(md) => return idle.transmit(md, incoming, bits),
                Err(rpc) => rpc,
            },
            None => rpc,
        };
        let region = region.unwrap_or_else(|| Arc::new(Region::zeroed(shape.length)));
        let inner = Mutex::new(IncomingState {
            md: None,
            is_aborted: false,
            failure: None,
            is_done: false,
            missing: shape.events(),
            has_ended: false,
            region: (!is_kept).then(|| Arc::clone(&region)),
            rpc: Some(rpc),
        });
        let its = Arc::clone(serving);
        let is_of_framework = incoming.service.is_framework();
        let this =
            serving.transfers.add(|key| Self { serving: its, key, shape, is_of_framework, is_kept, inner });
        this.post(region, incoming, bits);
    }

    fn post(self: &Arc<Self>, region: Arc<Region>, incoming: Incoming, bits: u64) {
        let spec = MdSpec {
            range: 0..self.shape.length,
            threshold: (!self.is_kept).then(|| self.shape.events().into()),
            ..MdSpec::active(region, 1)
        };
        match self.serving.shared.node.bind(spec, Arc::clone(self) as Arc<dyn EventHandler>) {
            Ok(md) => self.transmit(md, incoming, bits),
            Err(_) => {
                let mut inner = lock(&self.inner);
                inner.failure.get_or_insert(Errno::NoMemory);
                inner.has_ended = true;
                drop(inner);
                self.queue();
            }
        }
    }

    /// Begins to serve an RPC with an idle descriptor, which is returned. It may have been unlinked: then the RPC is returned.
    fn begin(&self, rpc: (Incoming, BulkDone)) -> Result<Md, (Incoming, BulkDone)> {
        let mut inner = lock(&self.inner);
        match inner.md.filter(|_| !inner.is_aborted && !inner.has_ended) {
            Some(md) => {
                (inner.is_done, inner.missing, inner.rpc) = (false, self.shape.events(), Some(rpc));
                Ok(md)
            }
            None => Err(rpc),
        }
    }

    fn transmit(&self, md: Md, incoming: Incoming, bits: u64) {
        let node = &self.serving.shared.node;
        let Sender { process, to: from } = incoming.sender;
        let posted = match self.shape.is_get {
            true => node.get(from, md, process, PORTAL_REPLIES, bits, 0),
            false => node.put(from, md, Ack::No, process, PORTAL_REPLIES, bits, 0, 0),
        };
        let mut inner = lock(&self.inner);
        if let Err(errno) = posted {
            inner.failure.get_or_insert(errno);
        }
        // A thread that aborts the transfer unlinks the descriptor, or this sees that it is aborted.
        inner.md = Some(md);
        let has_failed = posted.is_err() || self.is_kept && inner.failure.is_some();
        let ends = has_failed || inner.is_aborted || self.serving.shared.is_closed();
        drop(inner);
        if ends {
            node.unlink(md);
        }
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
        match self.is_of_framework {
            true => shared.enqueue(Lane::Framework, task),
            false => shared.enqueue_step(Some(self.shape.length), task),
        }
    }

    fn handle_event(&self, event: &Event) {
        self.serving.shared.counters.event(event.status);
        let mut inner = lock(&self.inner);
        let is_data = event.kind == if self.shape.is_get { EventKind::Reply } else { EventKind::Send };
        match event.status {
            Err(errno) => {
                inner.failure.get_or_insert(errno);
            }
            Ok(()) if is_data => match !self.shape.is_get || event.mlength as usize == self.shape.length {
                true => inner.is_done = true,
                false => {
                    inner.failure.get_or_insert(Errno::BadMessage);
                }
            },
            Ok(()) => {}
        }
        inner.missing = inner.missing.saturating_sub(1);
        inner.has_ended |= event.unlinked;
        let (is_idle, has_ended) = (inner.rpc.is_none(), inner.has_ended);
        let is_complete = self.is_kept && inner.missing == 0 && inner.failure.is_none();
        // The RPC ends with the descriptor.
        let failed = inner.md.filter(|_| self.is_kept && inner.failure.is_some() && !has_ended);
        drop(inner);
        match (is_idle, has_ended) {
            (true, true) => self.end(),
            (true, false) => {}
            (false, _) if has_ended || is_complete => self.queue(),
            (false, _) => failed.into_iter().for_each(|md| self.serving.shared.node.unlink(md)),
        }
    }

    /// Forgets a descriptor that has had its last event.
    fn end(&self) {
        if self.is_kept {
            self.serving.idle.forget(self);
        }
        self.serving.transfers.remove(self.key);
    }

    /// Keeps the descriptor for another RPC.
    fn keep(self: &Arc<Self>) {
        if let Some(too_many) = self.serving.idle.keep(Arc::clone(self)) {
            too_many.abort();
        }
        // It may have had its last event before it was among the idle ones.
        if lock(&self.inner).has_ended {
            self.serving.idle.forget(self);
        }
    }
}

impl EventHandler for Transfer {
    fn on_event(&self, event: &Event) {
        with_short_tasks(|| self.handle_event(event));
    }
}

impl Task for Transfer {
    fn run(self: Arc<Self>) {
        let mut inner = lock(&self.inner);
        let is_good = inner.is_done && inner.failure.is_none() && !inner.is_aborted;
        let (region, has_ended) = (inner.region.take(), inner.has_ended);
        let Some((incoming, then)) = inner.rpc.take() else { return };
        drop(inner);
        let response = match is_good {
            true => {
                let counters = &self.serving.shared.counters;
                if !self.is_of_framework {
                    match self.shape.is_get {
                        true => counters.bulk_got(self.shape.length),
                        false => counters.bulk_put(self.shape.length),
                    }
                }
                then(region)
            }
            false => Response::Drop,
        };
        match (is_good, has_ended) {
            (_, true) => self.end(),
            (true, false) => self.keep(),
            // The last event follows.
            (false, false) => {}
        }
        self.serving.respond(incoming, response);
    }
}
