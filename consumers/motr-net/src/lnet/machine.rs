//! The state of a transfer machine that the transport adds. It is guarded by the machine's lock, and changes in cells: a thread that has the
//! lock may come by it twice, in a callback of a callback. Nothing is called while something is borrowed.

use super::address::{Address, StartAddress};
use super::address_table::AddressTable;
use super::completion::Completion;
use super::event_ring::EventRing;
use super::limits::{Budget, Held};
use super::match_bits::BufferId;
use super::waker::Waker;
use crate::backend::{EventQueue, Fragment, Handle, ProcessId};
use crate::net::types::{m0_net_buffer, m0_net_end_point, m0_net_transfer_mc};
use crate::object::Object;
use crate::support::{TIME_NEVER, m0_chan, m0_time_t};
use crate::sync::Mutex;
use lnet_os::thread::JoinHandle;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

/// The addresses in use in this process.
pub(super) static ADDRESSES: LazyLock<Mutex<AddressTable>> = LazyLock::new(Mutex::default);

/// A transfer machine: `ntm_xprt_private`.
pub(super) struct Machine {
    pub(super) shared: Arc<Shared>,
    /// Where to start; when it is started, where.
    pub(super) start: Cell<Option<StartAddress>>,
    /// Until it has stopped, or could not start: one of its domain's.
    pub(super) held: RefCell<Option<Held>>,
    /// From the start to the stop in LNet.
    pub(super) running: RefCell<Option<Running>>,
    /// The number of the next passive buffer.
    pub(super) next_id: Cell<BufferId>,
    /// The bits of the processors that its thread may use.
    pub(super) processors: RefCell<Option<Vec<u64>>>,
    pub(super) end_points: RefCell<HashMap<Address, Object<m0_net_end_point>>>,
    /// The channel to be signalled when there are events.
    pub(super) notify: Cell<Object<m0_chan>>,
    /// A thread is delivering events, which must come one after the other.
    pub(super) is_delivering: Cell<bool>,
    /// The first deadline of a queued buffer, or earlier.
    pub(super) nearest_deadline: Cell<m0_time_t>,
    /// Set when it is stopped.
    pub(super) stopping: Cell<Option<Stopping>>,
    pub(super) thread: RefCell<Option<JoinHandle<()>>>,
    /// It says more in the log.
    pub(super) debug: Cell<bool>,
}

/// What a machine has in LNet.
#[derive(Clone)]
pub(super) struct Running {
    pub(super) address: Address,
    pub(super) queue: Arc<dyn EventQueue>,
}

/// What a stop still does when time has passed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stopping {
    /// What is still queued is cancelled then.
    pub(super) cancel_at: m0_time_t,
    /// Events that the program does not fetch are delivered by the thread from then on.
    pub(super) deliver_at: m0_time_t,
}

/// What LNet's threads use too.
pub(super) struct Shared {
    pub(super) ring: EventRing<RingEvent>,
    pub(super) waker: Waker,
}

/// An event of a buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct RingEvent {
    /// Queued until its last event is delivered.
    pub(super) buffer: Object<m0_net_buffer>,
    pub(super) time: m0_time_t,
    pub(super) completion: Completion,
    /// Who sent it, with the header data.
    pub(super) sender: (ProcessId, u64),
}

// SAFETY: the buffer is only followed by who delivers the event, with the lock of the machine where the buffer is queued.
unsafe impl Send for RingEvent {}

/// What a registered buffer has: `nb_xprt_private`. Guarded by the lock of the machine where it is queued.
pub(super) struct LnetBuffer {
    pub(super) fragments: RefCell<Vec<Fragment>>,
    /// Bytes.
    pub(super) total: u64,
    /// Of the operation in progress.
    pub(super) handle: Cell<Option<Handle>>,
    /// How many events the operation may have.
    pub(super) events: Cell<usize>,
    /// One of its domain's.
    pub(super) _held: Held,
}

impl Machine {
    /// One whose events are among those of `budget`.
    pub(super) fn new(budget: Arc<Budget>) -> Self {
        Self {
            shared: Arc::new(Shared { ring: EventRing::new(budget), waker: Waker::default() }),
            start: Cell::new(None),
            held: RefCell::new(None),
            running: RefCell::new(None),
            next_id: Cell::new(BufferId::FIRST),
            processors: RefCell::new(None),
            end_points: RefCell::default(),
            notify: Cell::default(),
            is_delivering: Cell::new(false),
            nearest_deadline: Cell::new(TIME_NEVER),
            stopping: Cell::new(None),
            thread: RefCell::new(None),
            debug: Cell::new(false),
        }
    }

    /// What it has in LNet, between its start and its stop there.
    pub(super) fn running(&self) -> Option<Running> {
        self.running.borrow().clone()
    }

    /// The number of a passive buffer, for which no other one has it.
    pub(super) fn take_id(&self) -> BufferId {
        let id = self.next_id.get();
        self.next_id.set(id.next());
        id
    }

    /// Wakes the machine's thread.
    pub(super) fn wake(&self) {
        let running = self.running();
        self.shared.waker.wake(running.as_ref().map(|running| &*running.queue));
    }
}

/// The state of a machine of this transport, which is initialised and locked.
pub(super) fn machine(tm: Object<m0_net_transfer_mc>) -> Object<Machine> {
    // SAFETY: a machine of this transport has the box of `tm_init` there, until `tm_fini`.
    unsafe { Object::new(tm.ntm_xprt_private.get().cast()) }
}

/// The state of a buffer, which is registered in a domain of this transport. Where it is queued is locked.
pub(super) fn lnet_buffer(buf: Object<m0_net_buffer>) -> Object<LnetBuffer> {
    // SAFETY: a buffer of this transport has the box of `buf_register` there, until `buf_deregister`.
    unsafe { Object::new(buf.nb_xprt_private.get().cast()) }
}
