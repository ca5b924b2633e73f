//! MDs, as the program keeps them: the memory, the queue, and the order of the events.

use super::budget::Budget;
use super::handled::Handling;
use super::memory::Lease;
use super::{AttachedNode, PendingTask, Task};
use crate::record::ProgramMemory;
use lnd_common::sync::lock;
use lnet_core::event::{DeliveryOrder, EventQueue, in_handler};
use lnet_core::{Errno, Event, EventKind, MdHandle, MdMemory, MdOptions, MdSpec};
use lnet_os::stop_point;
use lolnd::copy::copy;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};

/// An MD of the program.
#[derive(Debug)]
pub(super) struct ProgramMd {
    /// Set before the first event.
    handle: OnceLock<MdHandle>,
    spec: MdSpec,
    /// Whether it is attached to an ME, and so sends nothing.
    is_target: bool,
    /// The program's memory.
    memory: MdMemory,
    /// The memory that the node has in its place, unless it accesses the program's own.
    copied: Option<Lease>,
    queue: Option<Arc<EventQueue>>,
    events: Mutex<Events>,
    delivered: Condvar,
    /// Whether the last event has been taken for its delivery.
    has_ended: AtomicBool,
}

/// The events of an MD, and what is known of the operations that it may still begin.
#[derive(Debug)]
struct Events {
    budget: Budget,
    /// Begun from the start: the thread that makes the MD delivers its first events, once the program has the handle.
    order: DeliveryOrder,
    /// Whether the last event has come.
    has_last: bool,
    handling: Handling,
}

impl Events {
    /// Adds an event that is not delivered at once. Returns whether the caller delivers one now, which is then in place of it.
    fn add(&mut self, event: &mut Event) -> bool {
        self.handling.note_event();
        let next = self.order.begin(*event);
        next.inspect(|next| *event = *next).is_some()
    }
}

impl ProgramMd {
    /// Whether the node cannot refuse a PUT or GET of this MD; then it counts as begun.
    #[inline(always)]
    pub(super) fn begin_posted(&self, responds: bool) -> bool {
        let events = &mut *lock(&self.events);
        let may = !self.is_target && !events.has_last && events.budget.is_enough();
        if may {
            events.budget.note_request(responds);
        }
        may
    }

    /// Counts a PUT or GET that the node has begun.
    pub(super) fn note_request(&self, responds: bool) {
        lock(&self.events).budget.note_request(responds);
    }

    /// The handle, once the node has given it.
    pub(super) fn handle(&self) -> Option<MdHandle> {
        self.handle.get().copied()
    }

    /// Lets the ACK of a request wait until the events that have come are delivered. `false` if they are.
    pub(super) fn add_ack(&self, request: u64) -> bool {
        lock(&self.events).handling.add(request)
    }

    /// The request for the next ACK whose event has been delivered.
    fn next_ack(&self) -> Option<u64> {
        lock(&self.events).handling.next()
    }

    /// Whether the node has other memory than the program.
    pub(super) const fn is_copied(&self) -> bool {
        self.copied.is_some()
    }

    /// Whether the last event has been taken for its delivery.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::SeqCst)
    }

    /// The number of bytes.
    pub(super) const fn len(&self) -> u32 {
        self.memory.len()
    }

    /// Whether the events go to a handler of the program, which may take any time.
    pub(super) fn has_handler(&self) -> bool {
        self.queue.as_ref().is_some_and(|queue| queue.has_handler())
    }

    /// Delivers an event at once, unless it is the last one or there is a handler, or the program has not got the handle yet. Returns whether; if
    /// not, nothing was done.
    #[inline(always)]
    pub(super) fn deliver_at_once(&self, event: &mut Event) -> bool {
        let events = &mut *lock(&self.events);
        if event.unlinked || events.has_last || events.order.is_delivering() || self.has_handler() {
            return false;
        }
        stop_point::reach("program: event taken");
        events.budget.note_event(event);
        if self.is_copied() {
            self.copy_in(event);
        }
        // No code of the program is called, and none that takes this lock.
        if let Some(queue) = &self.queue {
            let threshold = event.md.threshold;
            event.md = MdSpec { threshold, ..self.spec };
            queue.deliver(event);
        }
        true
    }

    /// Copies the program's bytes to the memory that the node has, before a PUT.
    pub(super) fn copy_out(&self) {
        if let Some(lease) = &self.copied {
            let all = self.memory.len();
            copy(self.memory.slice(0, all), lease.memory().slice(0, all));
        }
    }

    /// Copies bytes of the program for the REPLY to a GET.
    pub(super) fn copy_to(&self, lease: &Lease, offset: u32, len: u32) {
        copy(self.memory.slice(offset, len), lease.memory().slice(0, len));
    }

    /// Copies the bytes that have arrived to the program's memory.
    fn copy_in(&self, event: &Event) {
        if let (Some(lease), EventKind::Put | EventKind::Reply, Ok(())) =
            (&self.copied, event.kind, event.status)
        {
            let Event { offset, mlength, .. } = *event;
            copy(lease.memory().slice(offset, mlength), self.memory.slice(offset, mlength));
        }
    }
}

/// What the program gives for a new MD.
pub(super) struct NewMd {
    pub(super) spec: MdSpec,
    pub(super) memory: MdMemory,
}

impl AttachedNode {
    /// Makes an MD, with the memory for the node, and counts it in its queue. [`Errno::NotFound`] for a queue that does not exist.
    pub(super) fn new_md(&self, new: NewMd) -> Result<(Arc<ProgramMd>, ProgramMemory), Errno> {
        let NewMd { spec, memory } = new;
        let (for_node, copied) = self.memory_for_node(&memory, spec.options)?;
        let queue = spec.eq.map(|eq| self.queue(eq)).transpose()?;
        if queue.as_ref().is_some_and(|queue| !queue.attach_md()) {
            return Err(Errno::NotFound);
        }
        let md = ProgramMd {
            handle: OnceLock::new(),
            spec,
            is_target: spec.options.has(MdOptions::OP_PUT) || spec.options.has(MdOptions::OP_GET),
            memory,
            copied,
            queue,
            events: Mutex::new(Events {
                budget: Budget::new(spec.threshold),
                order: DeliveryOrder::begun(),
                has_last: false,
                handling: Handling::default(),
            }),
            delivered: Condvar::new(),
            has_ended: AtomicBool::new(false),
        };
        Ok((Arc::new(md), for_node))
    }

    /// Undoes [`AttachedNode::new_md`] for an MD that the node has not taken.
    pub(super) fn discard(md: &ProgramMd) {
        if let Some(queue) = &md.queue {
            queue.md_ending();
            queue.md_ended();
        }
    }

    /// Adds an MD that the node has made.
    pub(super) fn add_md(&self, md: &Arc<ProgramMd>, handle: MdHandle) {
        _ = md.handle.set(handle);
        lock(&self.mds).insert(handle, Arc::clone(md));
    }

    /// Reports that the node has refused a PUT or GET that was posted: the MD has ended meanwhile.
    pub(super) fn refused(&self, handle: MdHandle, errno: Errno) {
        self.unsent.fetch_sub(1, Ordering::SeqCst);
        let Ok(md) = self.md(handle) else { return };
        let mut event = Event {
            kind: EventKind::Send,
            status: Err(errno),
            unlinked: false,
            ..Event::unlink(handle, md.spec)
        };
        if self.happened(&md, &mut event) {
            self.tasks.extend([PendingTask(Task::Deliver(md, event))]);
        }
    }

    /// The MD with this handle: [`Errno::NotFound`] if the program has none, or if it has had its last event; [`Errno::NetworkDown`] if the
    /// attachment has ended.
    pub(super) fn md(&self, handle: MdHandle) -> Result<Arc<ProgramMd>, Errno> {
        // The end of the attachment is recorded before it takes the MDs.
        let missing =
            || if self.has_ended.load(Ordering::SeqCst) { Errno::NetworkDown } else { Errno::NotFound };
        let md = lock(&self.mds).get(&handle).map(Arc::clone);
        md.filter(|md| !md.has_ended()).ok_or_else(missing)
    }

    /// Adds an event to those of the MD. Delivers it at once if no handler of the program is called. Otherwise returns whether the caller has to
    /// deliver one, which is then in place of the event.
    pub(super) fn happened(&self, md: &ProgramMd, event: &mut Event) -> bool {
        let events = &mut *lock(&md.events);
        // The node may end after the last event, and before it is delivered.
        if events.has_last {
            return false;
        }
        events.has_last = event.unlinked;
        events.budget.note_event(event);
        // Without a handler only the first events are in delivery: they wait until the program has the handle.
        if md.has_handler() || events.order.is_delivering() {
            return events.add(event);
        }
        // No code of the program is called, and none that takes this lock.
        self.deliver_one(md, event);
        false
    }

    /// Delivers an event that [`AttachedNode::happened`] has returned, and those of the MD that come meanwhile.
    pub(super) fn deliver(&self, md: &ProgramMd, first: Event) {
        let mut next = Some(first);
        while let Some(mut event) = next {
            self.deliver_one(md, &mut event);
            lock(&md.events).handling.note_delivery();
            while let Some(request) = md.next_ack() {
                self.note_handled(request);
            }
            next = self.next(md);
        }
    }

    /// Delivers the events that have come before the program had the handle of the MD.
    pub(super) fn open(&self, md: &ProgramMd) {
        if let Some(first) = self.next(md) {
            self.deliver(md, first);
        }
    }

    /// Waits until no event of the MD is being delivered; does not wait inside a handler, which would deadlock.
    pub(super) fn wait_until_delivered(&self, md: &ProgramMd) {
        if md.queue.is_none() || in_handler() {
            return;
        }
        let mut events = lock(&md.events);
        events.order.begin_wait();
        while events.order.is_delivering() {
            events = md.delivered.wait(events).unwrap_or_else(PoisonError::into_inner);
        }
        events.order.end_wait();
    }

    fn next(&self, md: &ProgramMd) -> Option<Event> {
        let order = &mut lock(&md.events).order;
        let next = order.next_event();
        // A wake-up costs a system call even if no thread waits.
        if next.is_none() && order.has_waiters() {
            md.delivered.notify_all();
        }
        next
    }

    fn deliver_one(&self, md: &ProgramMd, event: &mut Event) {
        stop_point::reach("program: event taken");
        md.copy_in(event);
        let is_last = event.unlinked;
        if is_last {
            md.has_ended.store(true, Ordering::SeqCst);
        }
        if let Some(queue) = &md.queue {
            if is_last {
                queue.md_ending();
            }
            event.md = MdSpec { threshold: event.md.threshold, ..md.spec };
            queue.deliver(event);
            if is_last {
                queue.md_ended();
            }
        }
        if is_last {
            lock(&self.mds).remove(&event.md_handle);
        }
    }

    /// All MDs, which end without the node.
    pub(super) fn take_mds(&self) -> Vec<Arc<ProgramMd>> {
        lock(&self.mds).drain().map(|(_, md)| md).collect()
    }

    /// The event of an MD whose node is gone.
    pub(super) fn lost(md: &ProgramMd) -> Option<Event> {
        let event = Event::unlink(*md.handle.get()?, md.spec);
        Some(Event { status: Err(Errno::NetworkDown), ..event })
    }
}
