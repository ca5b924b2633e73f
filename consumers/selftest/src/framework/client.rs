//! A test as a client: closed loops, each with one RPC in flight (selftest 6).

use super::part::{ClientPart, ErrorCounts};
use crate::load::brw_client::{BrwClient, BrwMemory};
use crate::load::ping_client::{self, PingSequence};
use crate::rpc::{Call, CallHandle, RpcEngine, RpcOutcome};
use crate::wire::{Features, Loop, Request, Service};
use lnet_api::Errno;
use lnet_api::ProcessId;
use lnet_api::sync::lock;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, Weak};

/// The kind of RPCs that a client sends.
pub(crate) enum Load {
    Brw(BrwClient),
    Ping(PingSequence),
}

/// The specification of a client's test.
pub(crate) struct ClientSpec {
    pub(crate) load: Load,
    pub(crate) features: Features,
    /// The destination of each loop.
    pub(crate) destinations: Vec<ProcessId>,
    pub(crate) times: Loop,
    pub(crate) stop_on_error: bool,
}

/// A test that runs on this node as a client, or may run.
pub(crate) struct ClientTest {
    spec: ClientSpec,
    engine: Weak<RpcEngine>,
    errors: Arc<ErrorCounts>,
    /// Loops that have not ended.
    active: AtomicU32,
    /// A [`Stop`].
    stop: AtomicU8,
    slots: Vec<Mutex<ClientSlot>>,
    when_idle: Box<dyn Fn() + Send + Sync>,
}

/// Whether a test is to stop; a later one replaces an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Stop {
    No,
    /// No further RPC is begun; those in flight end normally.
    Wait,
    /// RPCs in flight are aborted.
    Abort,
}

/// The RPC of one loop.
#[derive(Default)]
struct ClientSlot {
    /// The number of RPCs that the loop has begun.
    number: u64,
    call: Option<CallHandle>,
}

/// A loop of RPCs.
struct RpcLoop {
    test: Arc<ClientTest>,
    index: usize,
    /// The number of RPCs that the loop has begun.
    number: u64,
    left: Option<u32>,
    memory: BrwMemory,
}

impl ClientTest {
    /// `when_idle` is called when the last loop has ended, on a thread of the engine's.
    pub(crate) fn new(
        spec: ClientSpec,
        engine: &Arc<RpcEngine>,
        errors: Arc<ErrorCounts>,
        when_idle: impl Fn() + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            slots: spec.destinations.iter().map(|_| Mutex::default()).collect(),
            spec,
            engine: Arc::downgrade(engine),
            errors,
            active: AtomicU32::new(0),
            stop: AtomicU8::new(Stop::No as u8),
            when_idle: Box::new(when_idle),
        })
    }

    fn service(&self) -> Service {
        match self.spec.load {
            Load::Brw(_) => Service::Brw,
            Load::Ping(_) => Service::Ping,
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(SeqCst) != Stop::No as u8
    }

    fn is_aborted(&self) -> bool {
        self.stop.load(SeqCst) == Stop::Abort as u8
    }

    fn loop_ended(&self) {
        if self.active.fetch_sub(1, SeqCst) == 1 {
            (self.when_idle)();
        }
    }
}

impl ClientPart for ClientTest {
    fn start(self: Arc<Self>) {
        let count = self.slots.len() as u32;
        if self.active.compare_exchange(0, count, SeqCst, SeqCst).is_err() {
            return;
        }
        self.stop.store(Stop::No as u8, SeqCst);
        for (index, slot) in self.slots.iter().enumerate() {
            *lock(slot) = ClientSlot::default();
            let left = match self.spec.times {
                Loop::Endless => None,
                Loop::Times(times) => Some(times.get()),
            };
            let test = Arc::clone(&self);
            RpcLoop { test, index, number: 0, left, memory: BrwMemory::default() }.next();
        }
    }

    fn stop(&self, force: bool) {
        if self.active_loops() == 0 {
            return;
        }
        let stop = if force { Stop::Abort } else { Stop::Wait };
        self.stop.fetch_max(stop as u8, SeqCst);
        if force {
            for slot in &self.slots {
                let call = lock(slot).call.clone();
                if let Some(call) = call {
                    call.abort(Errno::Interrupted);
                }
            }
        }
    }

    fn active_loops(&self) -> u32 {
        self.active.load(SeqCst)
    }
}

impl RpcLoop {
    /// Begins the next RPC, or ends.
    fn next(mut self) {
        let test = Arc::clone(&self.test);
        let engine = test.engine.upgrade().filter(|_| !test.is_stopped() && self.left != Some(0));
        let Some(engine) = engine else {
            drop(self);
            return test.loop_ended();
        };
        self.left = self.left.map(|left| left - 1);
        self.number += 1;
        let (index, number) = (self.index, self.number);
        let (request, bulk) = match &test.spec.load {
            Load::Brw(client) => {
                let (request, bulk) = client.prepare(&mut self.memory, &engine);
                (request, Some(bulk))
            }
            Load::Ping(sequence) => (Request::Ping(sequence.prepare()), None),
        };
        let call = Call { to: test.spec.destinations[index], request, features: test.spec.features, bulk };
        let handle = engine.call(call, move |outcome| self.completed(&request, &outcome));
        let mut slot = lock(&test.slots[index]);
        // The RPC may have ended already, and the next one have begun.
        if slot.number < number {
            *slot = ClientSlot { number, call: Some(handle.clone()) };
        }
        drop(slot);
        // A thread that stops the test aborts the RPC in the slot, or this check sees the stop.
        if test.is_aborted() {
            handle.abort(Errno::Interrupted);
        }
    }

    fn completed(mut self, request: &Request, outcome: &RpcOutcome) {
        let test = Arc::clone(&self.test);
        let is_good = match (outcome, &test.spec.load) {
            (Err(_), _) => false,
            (Ok(reply), Load::Brw(client)) => client.is_good(&mut self.memory, reply),
            (Ok(reply), Load::Ping(_)) => ping_client::is_good(request, reply),
        };
        if !is_good {
            self.memory.forget_source();
            if !test.is_stopped() {
                test.errors.add(test.service());
            }
            if test.spec.stop_on_error || *outcome == Err(Errno::Shutdown) {
                return test.loop_ended();
            }
        }
        self.next();
    }
}
