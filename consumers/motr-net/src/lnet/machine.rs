//! The transport's part of the state of a transfer machine. It is guarded by the machine's lock, and changes in cells: a
//! thread that has the lock may reach it twice, in a callback of a callback. Nothing is called while something is borrowed.

use super::address::{Address, StartAddress};
use super::address_table::AddressTable;
use super::budget::{Budget, HeldUnit};
use super::completion::Completion;
use super::event_ring::EventRing;
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

/// The transport's part of a transfer machine, in `ntm_xprt_private`.
pub(super) struct Machine {
    pub(super) shared: Arc<Shared>,
    /// The address at which the machine is to be started or was started.
    pub(super) start: Cell<Option<StartAddress>>,
    /// The machine's unit of the domain's budget, until it has stopped or failed to start.
    pub(super) held: RefCell<Option<HeldUnit>>,
    /// The machine's state in LNet, from its start to its stop there.
    pub(super) running: RefCell<Option<Running>>,
    /// The number of the next passive buffer.
    pub(super) next_id: Cell<BufferId>,
    /// The bits of the processors that the machine's thread may use.
    pub(super) processors: RefCell<Option<Vec<u64>>>,
    pub(super) end_points: RefCell<HashMap<Address, Object<m0_net_end_point>>>,
    /// The channel to be signalled when there are events.
    pub(super) notify: Cell<Object<m0_chan>>,
    /// Whether a thread is delivering events, which must come one after the other.
    pub(super) is_delivering: Cell<bool>,
    /// The first deadline of a queued buffer, or earlier.
    pub(super) nearest_deadline: Cell<m0_time_t>,
    /// The deadlines of a stop, once the machine is being stopped.
    pub(super) stopping: Cell<Option<Stopping>>,
    pub(super) thread: RefCell<Option<JoinHandle<()>>>,
    /// Whether the machine writes more log lines.
    pub(super) debug: Cell<bool>,
}

/// The state of a machine in LNet.
#[derive(Clone)]
pub(super) struct Running {
    pub(super) address: Address,
    pub(super) queue: Arc<dyn EventQueue>,
}

/// The deadlines of a stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stopping {
    /// The time at which the buffers that are still queued are cancelled.
    pub(super) cancel_at: m0_time_t,
    /// The time from which the thread delivers events that the program does not fetch.
    pub(super) deliver_at: m0_time_t,
}

/// The part of a machine's state that LNet's threads use too.
pub(super) struct Shared {
    pub(super) ring: EventRing<RingEvent>,
    pub(super) waker: Waker,
}

/// An event of a buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct RingEvent {
    /// The buffer, which is queued until its last event is delivered.
    pub(super) buffer: Object<m0_net_buffer>,
    pub(super) time: m0_time_t,
    pub(super) completion: Completion,
    /// The sender, with the header data.
    pub(super) sender: (ProcessId, u64),
}

// SAFETY: the buffer is only followed by who delivers the event, with the lock of the machine where the buffer is queued.
unsafe impl Send for RingEvent {}

/// The transport's part of a registered buffer, in `nb_xprt_private`. Guarded by the lock of the machine where it is queued.
pub(super) struct LnetBuffer {
    pub(super) fragments: RefCell<Vec<Fragment>>,
    /// The size in bytes.
    pub(super) total: u64,
    /// The handle of the operation in progress.
    pub(super) handle: Cell<Option<Handle>>,
    /// The number of events that the operation may cause.
    pub(super) events: Cell<usize>,
    /// The buffer's unit of the domain's budget.
    pub(super) _held: HeldUnit,
}

impl Machine {
    /// A machine whose events count towards `budget`.
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

    /// The machine's state in LNet, between its start and its stop there.
    pub(super) fn running(&self) -> Option<Running> {
        self.running.borrow().clone()
    }

    /// A number for a passive buffer, which no other one of the machine has.
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

/// The transport's part of a machine, which is initialised and locked.
pub(super) fn machine(tm: Object<m0_net_transfer_mc>) -> Object<Machine> {
    // SAFETY: a machine of this transport has the box of `tm_init` there, until `tm_fini`.
    unsafe { Object::new(tm.ntm_xprt_private.get().cast()) }
}

/// The transport's part of a buffer, which is registered. The machine where it is queued is locked.
pub(super) fn lnet_buffer(buf: Object<m0_net_buffer>) -> Object<LnetBuffer> {
    // SAFETY: a buffer of this transport has the box of `buf_register` there, until `buf_deregister`.
    unsafe { Object::new(buf.nb_xprt_private.get().cast()) }
}
