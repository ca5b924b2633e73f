//! The RPC engine, which connects the parts of this module, and its timer.

use super::config::RpcConfig;
use super::handler::RequestHandler;
use super::incoming::Serving;
use super::kept_source::KeptSource;
use super::outgoing::{Call, CallHandle, OutgoingRpc, RpcOutcome};
use super::request_buffer::RequestBuffers;
use super::shared::{Registry, Shared};
use super::workers::Workers;
use crate::wire::{PORTAL_FRAMEWORK, PORTAL_TESTS, RpcCounters, Service};
use lnet_api::Errno;
use lnet_api::clock::Clock;
use lnet_api::sync::{Condition, lock};
use lnet_api::{Counters, Nid, Node, Region};
use lnet_os::thread::JoinHandle;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The interval at which deadlines of RPCs are checked.
const TICK: Duration = Duration::from_secs(1);

/// Sends requests, and serves those that arrive, on the LNet of this process. At most one per process, as there is one portal for
/// each purpose.
pub struct RpcEngine {
    shared: Arc<Shared>,
    outgoing: Arc<Registry<OutgoingRpc>>,
    serving: Arc<Serving>,
    buffers: Arc<RequestBuffers>,
    workers: Workers,
    ticker: Mutex<Option<JoinHandle<()>>>,
    end: Arc<(Mutex<bool>, Condition)>,
}

impl RpcEngine {
    /// Starts the threads. Requests to this node wait in LNet until [`RpcEngine::serve`].
    pub fn start(node: Arc<Node>, clock: Arc<dyn Clock>, config: RpcConfig) -> Result<Arc<Self>, Errno> {
        let shared = Arc::new(Shared::new(node, clock, config));
        let serving = Arc::new(Serving::new(Arc::clone(&shared)));
        let engine = Arc::new(Self {
            buffers: RequestBuffers::new(Arc::clone(&serving)),
            outgoing: Arc::default(),
            workers: Workers::default(),
            ticker: Mutex::new(None),
            end: Arc::default(),
            serving,
            shared,
        });
        engine.start_threads().inspect_err(|_| engine.stop())?;
        Ok(engine)
    }

    fn start_threads(&self) -> Result<(), Errno> {
        let shared = &self.shared;
        let count =
            shared.config.workers.unwrap_or_else(|| thread::available_parallelism().map_or(2, usize::from));
        // The thread of the framework would get the events of tests, and hand each over to another thread.
        self.workers.start("lnet_st_sess", 1, &shared.framework, None)?;
        self.workers.start("lnet_st_test", count.max(1), &shared.other, Some(&shared.node))?;
        let (shared, outgoing) = (Arc::clone(shared), Arc::clone(&self.outgoing));
        let (serving, end) = (Arc::clone(&self.serving), Arc::clone(&self.end));
        let mut next = shared.clock.now() + TICK;
        let tick = move || {
            let mut has_ended = lock(&end.0);
            while !*has_ended {
                if shared.clock.now() < next {
                    has_ended = end.1.wait_until(&*shared.clock, has_ended, Some(next));
                    continue;
                }
                drop(has_ended);
                next = shared.clock.now() + TICK;
                expire(&shared, &outgoing);
                if let Some(handler) = serving.handler() {
                    handler.tick();
                }
                has_ended = lock(&end.0);
            }
        };
        let thread = lnet_os::thread::spawn(thread::Builder::new().name("lnet_st_timer".to_owned()), tick);
        *lock(&self.ticker) = Some(thread.map_err(|_| Errno::NoMemory)?);
        Ok(())
    }

    /// Serves requests: makes the portals lazy and posts the buffers of the framework. Those of tests are posted by
    /// [`RpcEngine::reserve`].
    pub fn serve(&self, handler: Arc<dyn RequestHandler>) -> Result<(), Errno> {
        self.serving.set_handler(Some(handler));
        for portal in [PORTAL_TESTS, PORTAL_FRAMEWORK] {
            self.shared.node.set_lazy(portal, true)?;
        }
        self.buffers.post_framework();
        Ok(())
    }

    /// Sends a request. `done` is called once, when the RPC has ended, on a thread of the engine's, where it must not block; at once,
    /// with `ESHUTDOWN`, after [`RpcEngine::stop`].
    pub fn call(&self, call: Call, done: impl FnOnce(RpcOutcome) + Send + 'static) -> CallHandle {
        OutgoingRpc::start(&self.shared, &self.outgoing, call, Box::new(done))
    }

    /// Makes memory that never changes a source of the bulk data of RPCs of which one is in progress at a time.
    pub fn keep_source(&self, region: Arc<Region>, range: Range<usize>) -> KeptSource {
        KeptSource::new(&self.shared, region, range)
    }

    /// Posts buffers for a load of this many RPCs of a test at a time; `None`: no end of them. Returns the number for
    /// [`RpcEngine::release`].
    pub fn reserve(&self, service: Service, load: Option<u32>) -> u32 {
        self.buffers.reserve(service, load)
    }

    /// Releases a reservation of buffers.
    pub fn release(&self, service: Service, reserved: u32) {
        self.buffers.release(service, reserved);
    }

    /// Ends the transfers of all tests that this node serves; their clients get no reply.
    pub fn abort_served_tests(&self) {
        self.serving.abort_tests();
    }

    /// Sets the match bits of the reply to the next request; those of its bulk data follow. Only for replaying captures.
    pub fn set_next_match_bits(&self, bits: u64) {
        self.shared.match_bits.set_next(bits);
    }

    /// The counters.
    pub fn counters(&self) -> RpcCounters {
        self.shared.counters.now()
    }

    /// The counters of LNet.
    pub fn lnet_counters(&self) -> Counters {
        self.shared.node.counters()
    }

    /// The NIDs of this node, `0@lo` first.
    pub fn local_nids(&self) -> Vec<Nid> {
        self.shared.node.local_nids()
    }

    /// The clock of all times.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.shared.clock
    }

    /// Ends all RPCs: those of this node with `ESHUTDOWN`, those of others without a reply. Waits until LNet has released all
    /// memory. Must not be called on a thread of the engine.
    pub fn stop(&self) {
        self.shared.close();
        for rpc in self.outgoing.all() {
            rpc.abort(Errno::Shutdown);
        }
        for portal in [PORTAL_TESTS, PORTAL_FRAMEWORK] {
            // Fails if LNet has been shut down already.
            let _ = self.shared.node.set_lazy(portal, false);
        }
        self.buffers.unlink();
        self.serving.abort_all();
        self.buffers.wait_until_none();
        self.serving.wait_until_no_transfers();
        self.outgoing.wait_until_none();
        *lock(&self.end.0) = true;
        self.end.1.notify_all();
        let ticker = lock(&self.ticker).take();
        if let Some(ticker) = ticker {
            // A thread that panicked has logged it.
            let _ = ticker.join();
        }
        self.workers.stop();
        self.serving.set_handler(None);
        self.shared.messages.close();
    }
}

fn expire(shared: &Shared, outgoing: &Registry<OutgoingRpc>) {
    let now = shared.clock.now();
    for rpc in outgoing.filter(|rpc| rpc.deadline.is_some_and(|deadline| deadline <= now)) {
        rpc.expire();
    }
}
