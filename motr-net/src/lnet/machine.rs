//! The state of a transfer machine that the transport adds. It is guarded by the machine's lock.

use super::address::{Address, StartAddress};
use super::address_table::AddressTable;
use super::completion::Completion;
use super::event_ring::EventRing;
use super::limits::{Budget, Held};
use super::match_bits::BufferId;
use super::waker::Waker;
use crate::backend::{EventQueue, Fragment, Handle, ProcessId};
use crate::net::types::{m0_net_buffer, m0_net_end_point, m0_net_transfer_mc};
use crate::support::{TIME_NEVER, m0_chan, m0_time_t};
use crate::sync::Mutex;
use lnet_os::thread::JoinHandle;
use std::collections::HashMap;
use std::ptr;
use std::sync::{Arc, LazyLock};

/// The addresses in use in this process.
pub(super) static ADDRESSES: LazyLock<Mutex<AddressTable>> = LazyLock::new(Mutex::default);

/// A transfer machine: `ntm_xprt_private`.
pub(super) struct Machine {
    pub(super) shared: Arc<Shared>,
    /// Where to start; when it is started, where.
    pub(super) start: Option<StartAddress>,
    /// Until it has stopped, or could not start: one of its domain's.
    pub(super) held: Option<Held>,
    /// From the start to the stop in LNet.
    pub(super) running: Option<Running>,
    /// The bits of the processors that its thread may use.
    pub(super) processors: Option<Vec<u64>>,
    pub(super) end_points: HashMap<Address, *mut m0_net_end_point>,
    /// The channel to be signalled when there are events.
    pub(super) notify: *mut m0_chan,
    /// A thread is delivering events, which must come one after the other.
    pub(super) is_delivering: bool,
    /// The first deadline of a queued buffer, or earlier.
    pub(super) nearest_deadline: m0_time_t,
    /// Set when it is stopped.
    pub(super) stopping: Option<Stopping>,
    pub(super) thread: Option<JoinHandle<()>>,
    /// It says more in the log.
    pub(super) debug: bool,
}

/// What a machine has in LNet.
#[derive(Clone)]
pub(super) struct Running {
    pub(super) address: Address,
    pub(super) queue: Arc<dyn EventQueue>,
    /// Of the next passive buffer.
    pub(super) next_id: BufferId,
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
    pub(super) buffer: *mut m0_net_buffer,
    pub(super) time: m0_time_t,
    pub(super) completion: Completion,
    /// Who sent it, with the header data.
    pub(super) sender: (ProcessId, u64),
}

// SAFETY: the buffer is only used by who delivers the event.
unsafe impl Send for RingEvent {}

/// What a registered buffer has: `nb_xprt_private`. Guarded by the lock of the machine where it is queued.
pub(super) struct LnetBuffer {
    pub(super) fragments: Vec<Fragment>,
    /// Bytes.
    pub(super) total: u64,
    /// Of the operation in progress.
    pub(super) handle: Option<Handle>,
    /// How many events the operation may have.
    pub(super) events: usize,
    /// One of its domain's.
    pub(super) _held: Held,
}

impl Machine {
    /// One whose events are among those of `budget`.
    pub(super) fn new(budget: Arc<Budget>) -> Self {
        Self {
            shared: Arc::new(Shared { ring: EventRing::new(budget), waker: Waker::default() }),
            start: None,
            held: None,
            running: None,
            processors: None,
            end_points: HashMap::new(),
            notify: ptr::null_mut(),
            is_delivering: false,
            nearest_deadline: TIME_NEVER,
            stopping: None,
            thread: None,
            debug: false,
        }
    }

    /// Wakes the machine's thread.
    pub(super) fn wake(&self) {
        self.shared.waker.wake(self.running.as_ref().map(|running| &*running.queue));
    }
}

/// The state of a machine.
///
/// # Safety
/// The machine is one of this transport, initialised and locked; the reference is not used when the lock has been given up.
pub(super) unsafe fn machine<'a>(tm: *mut m0_net_transfer_mc) -> &'a mut Machine {
    // SAFETY: a box that `tm_init` has made.
    unsafe { &mut *(*tm).ntm_xprt_private.cast() }
}

/// The state of a buffer.
///
/// # Safety
/// The buffer is registered in a domain of this transport; where it is queued is locked; the reference is not used when the lock has
/// been given up.
pub(super) unsafe fn lnet_buffer<'a>(buf: *mut m0_net_buffer) -> &'a mut LnetBuffer {
    // SAFETY: a box that `buf_register` has made.
    unsafe { &mut *(*buf).nb_xprt_private.cast() }
}
