//! A memory descriptor: its threshold, its operations in progress, and its end.
//!
//! Every operation is committed when it starts ([`Md::commit_put_or_get`] and the other `commit_*`), and completed
//! with an event when it ends ([`Md::complete_without`]). Which event is the last is decided under the MD's lock, and events
//! are delivered one at a time in that order, outside the lock: a thread that finds another one delivering leaves its
//! event to that ([`DeliveryOrder`]).

use super::keeper::{ClientMemory, Keeper};
use super::response_state::{ResponseState, ResponseTracker};
use super::spec::{MdOptions, MdSpec};
use super::{MdHandle, MdMemory, MeHandle, MemoryOwner};
use crate::environment::time::Time;
use crate::event::{DeliveryOrder, Event, EventQueue, in_handler};
use crate::sync::{Condvar, Mutex, Spinlock, SpinlockGuard, lock};
use lnet_wire::{Errno, Nid, Pid};
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

/// The needs of a PUT or GET that looks for an MD.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) needs: MdOptions,
    pub(crate) length: u32,
    pub(crate) remote_offset: u32,
}

/// The result of [`Md::commit_put_or_get`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commit {
    /// The MD does not accept the message: continue the search.
    No,
    /// The MD matches, but the message is too long for it: drop the message (TRAP-14).
    TooLong,
    /// The MD accepts the message. `threshold`: that of the MD from now on. `last`: it is removed from the portal now.
    Yes { offset: u32, length: u32, threshold: i32, last: bool },
}

/// A PUT or GET of this node that is about to be committed. The MD is locked.
pub(crate) struct BegunRequest<'a> {
    md: &'a Md,
    state: SpinlockGuard<'a, MdState>,
    response: Option<ResponseKind>,
}

impl BegunRequest<'_> {
    /// Commits the request, whose response `tracker` tracks, if no other request of the MD is tracked.
    #[inline(always)]
    pub(crate) fn commit(self, tracker: Option<ResponseTracker>) -> CommittedRequest {
        let Self { md, mut state, response } = self;
        if let Some(response) = response {
            let due = state.due(response);
            *due = due.saturating_add(1);
            // A response to another request would be taken for that of the measured one.
            state.begun = None;
        }
        let tracker = match (&state.tracker, tracker) {
            (None, Some(tracker)) => Some(state.set_tracker(tracker)),
            _ => None,
        };
        CommittedRequest { threshold: md.commit(&mut state), tracker }
    }
}

/// The result of [`BegunRequest::commit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CommittedRequest {
    /// The threshold of the MD from now on.
    pub(crate) threshold: i32,
    /// The number of the request's tracker, for [`Md::untrack`]; `None` if it is to be set later ([`Md::track`]).
    pub(crate) tracker: Option<TrackerNumber>,
}

/// The number of a tracker of an MD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TrackerNumber(u32);

/// The result of [`Md::commit_response`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CommittedResponse {
    /// The number of bytes to deliver.
    pub(crate) length: u32,
    /// The threshold of the MD from now on.
    pub(crate) threshold: i32,
    /// The time of the call of the request, if that is measured.
    pub(crate) begun: Option<Time>,
}

/// The kind of response to a PUT or GET.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseKind {
    /// The response to a PUT that requests one.
    Ack,
    /// The response to a GET.
    Reply,
}

/// Whether the completed operation was the last of the MD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completion {
    /// The MD remains.
    Active,
    /// The MD has ended: remove its handle from the table.
    Ended,
}

impl MdState {
    const fn due(&mut self, response: ResponseKind) -> &mut u32 {
        match response {
            ResponseKind::Ack => &mut self.acks_due,
            ResponseKind::Reply => &mut self.replies_due,
        }
    }

    /// Gives up a response that will not arrive, unless it has arrived already: returns its share of the threshold.
    fn forgo(&mut self, response: ResponseKind) {
        let due = self.due(response);
        if *due == 0 {
            return;
        }
        *due -= 1;
        self.threshold = self.threshold.map(|left| left.saturating_sub(1));
        self.forget_tracker();
    }

    fn set_tracker(&mut self, tracker: ResponseTracker) -> TrackerNumber {
        self.tracker = Some(tracker);
        self.tracker_number = TrackerNumber(self.tracker_number.0.wrapping_add(1));
        self.tracker_number
    }

    /// Removes the deadline and the begin, if no response is awaited.
    fn forget_tracker(&mut self) {
        if self.acks_due == 0 && self.replies_due == 0 {
            (self.tracker, self.begun) = (None, None);
        }
    }
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
            tracker_number: TrackerNumber(0),
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

    /// Commits an incoming PUT or GET, if this MD accepts it (MA-11 to MA-13, without the match criteria).
    #[inline(always)]
    pub(crate) fn commit_put_or_get(&self, access: Access) -> Commit {
        let state = &mut *self.state.lock();
        if state.unlinking || self.exhausted(state) || !self.spec.options.has(access.needs) {
            return Commit::No;
        }
        let remote = self.spec.options.has(MdOptions::MANAGE_REMOTE);
        let offset = if remote { access.remote_offset } else { state.offset };
        let Some(room) = self.memory.len().checked_sub(offset) else {
            // MA-12a: only a remote offset can be beyond the memory.
            return Commit::TooLong;
        };
        let limit = self.max_size.unwrap_or(room);
        let length = match access.length {
            length if length <= limit.min(room) => length,
            _ if self.spec.options.has(MdOptions::TRUNCATE) => limit.min(room),
            _ => return Commit::TooLong,
        };
        let threshold = self.commit(state);
        state.offset = offset + length;
        let last = self.auto_unlink && self.exhausted(state);
        state.unlinking |= last;
        Commit::Yes { offset, length, threshold, last }
    }

    /// Begins to commit a PUT or GET of this node that requests `response`; `None` if the MD is attached, exhausted or being unlinked
    /// (MA-31). The MD is locked until the request is committed: the caller does little, and locks nothing that is held while an MD is locked.
    #[inline(always)]
    pub(crate) fn begin_request(&self, response: Option<ResponseKind>) -> Option<BegunRequest<'_>> {
        if self.attached.is_some() {
            return None;
        }
        let state = self.state.lock();
        if state.unlinking || state.threshold == Some(0) {
            return None;
        }
        Some(BegunRequest { md: self, state, response })
    }

    /// Commits a PUT or GET of this node: see [`BegunRequest::commit`].
    #[cfg(test)]
    pub(crate) fn commit_request(
        &self,
        response: Option<ResponseKind>,
        tracker: Option<ResponseTracker>,
    ) -> Option<CommittedRequest> {
        self.begin_request(response).map(|begun| begun.commit(tracker))
    }

    /// Commits the arrival of an ACK or REPLY with `length` bytes (MA-42); returns what is to be delivered.
    /// The response must have been requested: a peer that knows the handle from a PUT must not write into its memory,
    /// nor respond twice.
    #[inline(always)]
    pub(crate) fn commit_response(&self, response: ResponseKind, length: u32) -> Option<CommittedResponse> {
        if self.attached.is_some() {
            return None;
        }
        let room = self.memory.len();
        if length > room && !self.spec.options.has(MdOptions::TRUNCATE) {
            return None;
        }
        let state = &mut *self.state.lock();
        if state.unlinking || state.threshold == Some(0) {
            return None;
        }
        let due = state.due(response);
        *due = due.checked_sub(1)?;
        let begun = state.begun.take();
        state.forget_tracker();
        Some(CommittedResponse { length: length.min(room), threshold: self.commit(state), begun })
    }

    /// Measures the response to a request that was called at this time, unless the MD awaits others, which it could be taken for.
    pub(crate) fn measure_response(&self, begun: Time) {
        let state = &mut *self.state.lock();
        if state.acks_due.saturating_add(state.replies_due) == 1 {
            state.begun = Some(begun);
        }
    }

    /// Sets the deadline and the NID of the awaited responses (HE-40).
    #[inline(always)]
    pub(crate) fn track(&self, tracker: ResponseTracker) {
        let state = &mut *self.state.lock();
        if state.acks_due > 0 || state.replies_due > 0 {
            state.set_tracker(tracker);
        }
    }

    /// Removes the tracker of a request that is not sent now, unless that of another request has replaced it.
    pub(crate) fn untrack(&self, number: TrackerNumber) {
        let state = &mut *self.state.lock();
        if state.tracker_number == number {
            state.tracker = None;
        }
    }

    /// Records that the request is resent to another NID.
    pub(crate) fn goes_to(&self, asked: Nid) {
        if let Some(tracker) = &mut self.state.lock().tracker {
            tracker.asked = asked;
        }
    }

    /// Whether all responses of this kind have arrived, which proves that their requests have arrived.
    pub(crate) fn has_response(&self, response: ResponseKind) -> bool {
        *self.state.lock().due(response) == 0
    }

    pub(crate) fn is_tracked(&self) -> bool {
        self.state.lock().tracker.is_some()
    }

    /// The wait for responses at this time; a timeout is returned once.
    pub(crate) fn response_state(&self, now: Time) -> ResponseState {
        let state = &mut *self.state.lock();
        if state.unlinking {
            return ResponseState::No;
        }
        let waits = ResponseTracker::state(state.tracker.as_ref(), state.busy == 0, now);
        if matches!(waits, ResponseState::TooLong(_)) {
            state.tracker = None;
            state.response_timed_out = true;
        }
        waits
    }

    /// Undoes [`Md::new`] for an MD that could not be attached, unless a caller has guessed its handle and unlinked
    /// it.
    pub(crate) fn discard(&self) {
        let state = &mut *self.state.lock();
        if state.ended {
            return;
        }
        state.unlinking = true;
        state.ended = true;
        if let Some(queue) = &self.queue {
            queue.md_ending();
            queue.md_ended();
        }
    }

    /// Completes an operation as [`Md::complete_without`] does, whose response may arrive.
    #[cfg(test)]
    pub(crate) fn complete(&self, event: impl FnOnce() -> Event) -> Completion {
        self.complete_without(None, |place| *place = event())
    }

    /// Completes an operation with the event that `write` writes, in which the MD says whether it has ended; of a PUT or GET the
    /// `response`, if given, will not arrive. `write` is called at most once, under locks: it is brief, and calls nothing that may lock.
    #[inline(always)]
    pub(crate) fn complete_without(
        &self,
        response: Option<ResponseKind>,
        write: impl FnOnce(&mut Event),
    ) -> Completion {
        let mut state = self.state.lock();
        if let Some(response) = response {
            state.forgo(response);
        }
        state.busy -= 1;
        let last = state.busy == 0
            && !state.ended
            && (state.unlinking || self.auto_unlink && self.exhausted(&state));
        state.unlinking |= last;
        state.ended |= last;
        let timed_out = last && state.response_timed_out;
        self.deliver(state, last, |event| {
            write(event);
            if timed_out {
                event.status = event.status.and(Err(Errno::TimedOut));
            }
            event.unlinked = last;
        });
        if last { Completion::Ended } else { Completion::Active }
    }

    /// Unlinks the MD by a call. If idle, the UNLINK event is delivered before this returns (TRAP-2), with [`Errno::TimedOut`]
    /// if a response did not arrive. If busy, the event of the last operation reports it. [`Errno::NotFound`] if the MD is
    /// being unlinked already.
    pub(crate) fn unlink(&self) -> Result<Completion, Errno> {
        self.unlink_as(true)
    }

    /// Unlinks the MD, but does not cancel operations in progress.
    pub(crate) fn retire(&self) -> Result<Completion, Errno> {
        self.unlink_as(false)
    }

    fn unlink_as(&self, aborted: bool) -> Result<Completion, Errno> {
        let mut state = self.state.lock();
        if state.unlinking {
            return Err(Errno::NotFound);
        }
        state.unlinking = true;
        state.aborted = aborted;
        if state.busy > 0 {
            return Ok(Completion::Active);
        }
        state.ended = true;
        let status = if state.response_timed_out { Err(Errno::TimedOut) } else { Ok(()) };
        let spec = MdSpec { threshold: self.threshold(&state), ..self.spec };
        self.deliver(state, true, |event| *event = Event { status, ..Event::unlink(self.handle, spec) });
        self.wait_until_delivered();
        Ok(Completion::Ended)
    }

    /// Waits until no event of this MD is being delivered; does not wait inside a handler, which would deadlock.
    pub(crate) fn wait_until_delivered(&self) {
        if self.queue.is_none() || in_handler() {
            return;
        }
        let mut waiting = lock(&self.waiting);
        self.state.lock().events.begin_wait();
        while self.state.lock().events.is_delivering() {
            waiting = self.delivered.wait(waiting).unwrap_or_else(|e| e.into_inner());
        }
        self.state.lock().events.end_wait();
    }

    fn exhausted(&self, state: &MdState) -> bool {
        state.threshold == Some(0)
            || self
                .max_size
                .is_some_and(|max| u64::from(state.offset) + u64::from(max) > u64::from(self.memory.len()))
    }

    /// Starts an operation; returns the threshold from now on.
    fn commit(&self, state: &mut MdState) -> i32 {
        state.busy += 1;
        if let Some(left) = &mut state.threshold {
            *left -= 1;
        }
        self.threshold(state)
    }

    fn threshold(&self, state: &MdState) -> i32 {
        state.threshold.map_or(self.spec.threshold, |left| left as i32)
    }

    /// Delivers an event after those before it; it is the `last` one or not. Consumes the lock under which its position was decided.
    #[inline(always)]
    fn deliver(&self, state: SpinlockGuard<'_, MdState>, last: bool, write: impl FnOnce(&mut Event)) {
        let Some(queue) = &self.queue else { return };
        if last {
            queue.md_ending();
        }
        if queue.has_handler() {
            return self.deliver_in_order(queue, state, write);
        }
        // Without a handler the delivery calls no code that could take long or take this lock.
        queue.deliver_written(write);
        drop(state);
        if last {
            queue.md_ended();
        }
    }

    #[inline(never)]
    fn deliver_in_order(
        &self,
        queue: &EventQueue,
        mut state: SpinlockGuard<'_, MdState>,
        write: impl FnOnce(&mut Event),
    ) {
        let mut next = state.events.begin(Event::written(write));
        drop(state);
        while let Some(event) = next {
            let turn = Turn { md: self, queue, last: event.unlinked };
            queue.deliver(&event);
            drop(turn);
            next = self.next_to_deliver();
        }
    }

    fn next_to_deliver(&self) -> Option<Event> {
        let (next, has_waiters) = {
            let events = &mut self.state.lock().events;
            (events.next_event(), events.has_waiters())
        };
        if next.is_none() && has_waiters {
            self.wake_waiting();
        }
        next
    }

    /// Wakes the threads in [`Md::wait_until_delivered`], after the change for which they look.
    fn wake_waiting(&self) {
        // A thread that has just looked waits by now.
        drop(lock(&self.waiting));
        self.delivered.notify_all();
    }
}

/// A delivery of events, which ends properly even if the handler panics.
struct Turn<'a> {
    md: &'a Md,
    queue: &'a EventQueue,
    last: bool,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if self.last {
            self.queue.md_ended();
        }
        if std::thread::panicking() {
            self.md.state.lock().events.give_up();
            self.md.wake_waiting();
        }
    }
}

impl std::fmt::Debug for Md {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Md").field("handle", &self.handle).field("spec", &self.spec).finish_non_exhaustive()
    }
}
