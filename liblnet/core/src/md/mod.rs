//! A memory descriptor: its threshold, its operations in progress, and its end.
//!
//! Every operation is committed when it starts ([`Md::commit_put_or_get`] and the other `commit_*`), and completed
//! with an event when it ends ([`Md::complete_without`]). Which event is the last is decided under the MD's lock, and events
//! are delivered one at a time in that order, outside the lock: a thread that finds another one delivering leaves its
//! event to that ([`DeliveryOrder`]).

mod commit;
mod completion;
mod delivery;
#[cfg(all(test, loom))]
mod md_loom;
#[cfg(all(test, not(loom)))]
mod md_tests;
mod responses;

pub(crate) use commit::{Access, Commit, CommittedRequest, CommittedResponse};
pub(crate) use completion::Completion;
pub(crate) use responses::{MissingResponse, ResponseKind, ResponseState, ResponseTracker, TrackerNumber};

use crate::environment::time::Time;
use crate::event::{DeliveryOrder, EventQueue};
use crate::memory::{ClientMemory, Keeper, MdHandle, MdMemory, MdOptions, MdSpec, MeHandle, MemoryOwner};
use crate::sync::{Condvar, Mutex, Spinlock};
use lnet_wire::{Errno, Pid};
use std::sync::{Arc, Weak};

/// A memory descriptor.
pub(crate) struct Md {
    handle: MdHandle,
    spec: MdSpec,
    memory: MdMemory,
    max_size: Option<u32>,
    auto_unlink: bool,
    attached: Option<MeHandle>,
    queue: Option<Arc<EventQueue>>,
    keeper: Keeper,
    state: Spinlock<MdState>,
    /// Where the threads in [`Md::wait_until_delivered`] wait.
    waiting: Mutex<()>,
    delivered: Condvar,
}

struct MdState {
    /// The number of operations that may still start; `None`: unlimited.
    threshold: Option<u32>,
    /// The offset of the next message in bytes, if the initiator does not give one.
    offset: u32,
    /// The number of operations started and not completed.
    busy: u32,
    /// Whether no new operation may start: the MD was unlinked by a call, or is exhausted.
    unlinking: bool,
    /// Whether the MD was unlinked by a call: messages that have not been sent are to be cancelled.
    aborted: bool,
    /// Whether the last event has been decided.
    ended: bool,
    /// The number of ACKs that were requested and have not arrived.
    acks_due: u32,
    /// The number of REPLYs that were requested and have not arrived.
    replies_due: u32,
    /// The deadline of the responses, if they are tracked.
    tracker: Option<ResponseTracker>,
    /// The number of the last tracker.
    tracker_number: TrackerNumber,
    /// The time of the call of the request whose response is awaited, if that is measured.
    begun: Option<Time>,
    /// Whether the responses have not arrived in time, and the MD was unlinked for that.
    response_timed_out: bool,
    /// The events for a queue with a handler, and the threads in [`Md::wait_until_delivered`].
    events: DeliveryOrder,
}

/// The properties of a new MD.
pub(crate) struct NewMd {
    pub(crate) spec: MdSpec,
    pub(crate) memory: MdMemory,
    /// The result of [`Md::checked_max_size`].
    pub(crate) max_size: Option<u32>,
    pub(crate) auto_unlink: bool,
    pub(crate) attached: Option<MeHandle>,
    pub(crate) queue: Option<Arc<EventQueue>>,
    pub(crate) keeper: Keeper,
}

impl Md {
    /// Creates an MD, which is counted by its queue. If the queue has been freed meanwhile the MD has none
    /// ([`Md::has_queue`]).
    pub(crate) fn new(handle: MdHandle, new: NewMd) -> Self {
        let NewMd { spec, memory, max_size, auto_unlink, attached, queue, keeper } = new;
        let queue = queue.filter(|queue| queue.attach_md());
        let state = MdState {
            threshold: u32::try_from(spec.threshold).ok(),
            offset: 0,
            busy: 0,
            unlinking: false,
            aborted: false,
            ended: false,
            acks_due: 0,
            replies_due: 0,
            tracker: None,
            tracker_number: TrackerNumber::default(),
            begun: None,
            response_timed_out: false,
            events: DeliveryOrder::new(),
        };
        Self {
            handle,
            spec,
            memory,
            max_size,
            auto_unlink,
            attached,
            queue,
            keeper,
            state: Spinlock::new(state),
            waiting: Mutex::new(()),
            delivered: Condvar::new(),
        }
    }

    /// The valid `max_size`, if there is one (rule 6 of c-abi 1.4); without its option the field is undefined
    /// (TRAP-8).
    pub(crate) fn checked_max_size(spec: &MdSpec, memory: &MdMemory) -> Result<Option<u32>, Errno> {
        if !spec.options.has(MdOptions::MAX_SIZE) {
            return Ok(None);
        }
        match u32::try_from(spec.max_size) {
            Ok(max) if max <= memory.len() => Ok(Some(max)),
            _ => Err(Errno::Invalid),
        }
    }

    pub(crate) fn handle(&self) -> MdHandle {
        self.handle
    }

    /// The MD as the owner of its memory.
    pub(crate) fn memory_owner(self: &Arc<Self>) -> MemoryOwner {
        let life: Weak<Self> = Arc::downgrade(self);
        MemoryOwner { id: self.handle.cookie(), life }
    }

    /// The PID of the program whose MD it is; `node` is the node's.
    pub(crate) fn pid(&self, node: Pid) -> Pid {
        match &self.keeper {
            Keeper::Client(client) => client.pid(),
            Keeper::Program | Keeper::Node(_) => node,
        }
    }

    pub(crate) fn memory(&self) -> &MdMemory {
        &self.memory
    }

    /// The number of operations started and not completed.
    pub(crate) fn busy(&self) -> u32 {
        self.state.lock().busy
    }

    /// The description of the MD by its creator.
    pub(crate) const fn spec(&self) -> &MdSpec {
        &self.spec
    }

    pub(crate) fn options(&self) -> MdOptions {
        self.spec.options
    }

    pub(crate) fn attached(&self) -> Option<MeHandle> {
        self.attached
    }

    pub(crate) const fn has_queue(&self) -> bool {
        self.queue.is_some()
    }

    /// Whether the memory belongs to the node itself, and stays as long as the MD does.
    pub(crate) const fn is_of_node(&self) -> bool {
        matches!(self.keeper, Keeper::Node(_))
    }

    /// The memory of a program in another process whose bytes are fetched for each GET, if this MD stands for such memory.
    pub(crate) fn fetched_memory(&self) -> Option<&Arc<dyn ClientMemory>> {
        match &self.keeper {
            Keeper::Client(client) if !client.is_in_place() => Some(client),
            Keeper::Client(_) | Keeper::Node(_) | Keeper::Program => None,
        }
    }

    /// The program in another process which the ACK of a PUT waits for, if there is one.
    pub(crate) fn acknowledging_client(&self) -> Option<&Arc<dyn ClientMemory>> {
        match &self.keeper {
            Keeper::Client(client) if client.acknowledges() => Some(client),
            Keeper::Client(_) | Keeper::Node(_) | Keeper::Program => None,
        }
    }

    /// Whether the memory belongs to a program in another process.
    pub(crate) const fn is_of_client(&self) -> bool {
        matches!(self.keeper, Keeper::Client(_))
    }

    /// Whether no new operation may start, nor a response arrive.
    pub(crate) fn is_unlinking(&self) -> bool {
        self.state.lock().unlinking
    }

    pub(crate) fn is_aborted(&self) -> bool {
        self.state.lock().aborted
    }

    /// Whether no further operation fits (c-abi 3.6).
    pub(crate) fn is_exhausted(&self) -> bool {
        self.exhausted(&self.state.lock())
    }

    fn exhausted(&self, state: &MdState) -> bool {
        state.threshold == Some(0)
            || self
                .max_size
                .is_some_and(|max| u64::from(state.offset) + u64::from(max) > u64::from(self.memory.len()))
    }

    fn threshold(&self, state: &MdState) -> i32 {
        state.threshold.map_or(self.spec.threshold, |left| left as i32)
    }
}

impl std::fmt::Debug for Md {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Md").field("handle", &self.handle).field("spec", &self.spec).finish_non_exhaustive()
    }
}
