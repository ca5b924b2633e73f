//! One memory descriptor: its budget, its operations in progress, and its one end.
//!
//! Every operation charges the MD when it starts ([`Md::commit_put_or_get`] and its sisters) and settles
//! with an event when it ends ([`Md::complete`]). Which event is the last is decided under the MD's lock, and
//! events are delivered one at a time in that order, outside the lock: a thread that finds another one
//! delivering leaves its event there.

use super::response_state::{ResponseState, ResponseTracker};
use super::spec::{MdOptions, MdSpec};
use super::{MdHandle, MdMemory, MeHandle};
use crate::environment::time::Time;
use crate::event::{Event, EventQueue, in_handler};
use crate::sync::{Condvar, Mutex, lock};
use lnet_wire::{Errno, Nid};
use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;

/// A memory descriptor.
pub(crate) struct Md {
    handle: MdHandle,
    spec: MdSpec,
    memory: MdMemory,
    max_size: Option<u32>,
    auto_unlink: bool,
    attached: Option<MeHandle>,
    queue: Option<Arc<EventQueue>>,
    /// Owns the memory of the node's own MDs; the application's is borrowed.
    _owner: Option<Arc<dyn Any + Send + Sync>>,
    state: Mutex<State>,
    delivered: Condvar,
}

struct State {
    /// Operations that may still start; `None` is without limit.
    budget: Option<u32>,
    /// Where the next message goes when the initiator does not say.
    offset: u32,
    /// Operations started and not completed.
    busy: u32,
    /// No new operation may start: unlinked by call, or exhausted and on its way out.
    unlinking: bool,
    /// Unlinked by call: messages that have not left are to be cancelled.
    aborted: bool,
    /// The last event has been decided.
    ended: bool,
    /// ACKs that were asked for and have not come.
    acks_due: u32,
    /// REPLYs that were asked for and have not come.
    replies_due: u32,
    /// Until when the answers are waited for, where that is watched.
    tracker: Option<ResponseTracker>,
    /// They did not come, and it was unlinked for that.
    unanswered: bool,
    /// Some thread is delivering events; others leave theirs in `waiting`.
    delivering: bool,
    waiting: VecDeque<Event>,
    /// Threads in [`Md::wait_until_delivered`].
    waiters: u32,
}

/// What an MD is made of.
pub(crate) struct NewMd {
    pub(crate) spec: MdSpec,
    pub(crate) memory: MdMemory,
    /// From [`Md::checked_max_size`].
    pub(crate) max_size: Option<u32>,
    pub(crate) auto_unlink: bool,
    pub(crate) attached: Option<MeHandle>,
    pub(crate) queue: Option<Arc<EventQueue>>,
    pub(crate) owner: Option<Arc<dyn Any + Send + Sync>>,
}

/// A PUT or GET that asks an MD to take part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) needs: MdOptions,
    pub(crate) length: u32,
    pub(crate) remote_offset: u32,
}

/// What an MD answers to an [`Access`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commit {
    /// Not this MD; look further.
    No,
    /// This MD, but the message is too long for it: drop the message (TRAP-14).
    TooLong,
    /// This MD. `last`: it leaves the portal now.
    Yes { offset: u32, length: u32, spec: MdSpec, last: bool },
}

/// What a peer sends back for a PUT or GET.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// For a PUT that wants one.
    Ack,
    /// For a GET.
    Reply,
}

/// Whether the operation just completed was the MD's last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completion {
    /// It lives on.
    Active,
    /// It is gone: take its handle out of the table.
    Ended,
}

impl State {
    const fn due(&mut self, answer: Answer) -> &mut u32 {
        match answer {
            Answer::Ack => &mut self.acks_due,
            Answer::Reply => &mut self.replies_due,
        }
    }

    /// An answer will not come, if it has not come already: its share of the threshold goes with it.
    fn forgo(&mut self, answer: Answer) {
        let due = self.due(answer);
        if *due == 0 {
            return;
        }
        *due -= 1;
        self.budget = self.budget.map(|left| left.saturating_sub(1));
        self.forget_tracker();
    }

    /// What nothing is waited for has no deadline.
    fn forget_tracker(&mut self) {
        if self.acks_due == 0 && self.replies_due == 0 {
            self.tracker = None;
        }
    }
}

impl Md {
    /// Makes an MD; its queue now counts it. If that has been freed meanwhile it has none
    /// ([`Md::has_queue`]).
    pub(crate) fn new(handle: MdHandle, new: NewMd) -> Self {
        let NewMd { spec, memory, max_size, auto_unlink, attached, queue, owner } = new;
        let queue = queue.filter(|queue| queue.attach_md());
        let state = State {
            budget: u32::try_from(spec.threshold).ok(),
            offset: 0,
            busy: 0,
            unlinking: false,
            aborted: false,
            ended: false,
            acks_due: 0,
            replies_due: 0,
            tracker: None,
            unanswered: false,
            delivering: false,
            waiting: VecDeque::new(),
            waiters: 0,
        };
        Self {
            handle,
            spec,
            memory,
            max_size,
            auto_unlink,
            attached,
            queue,
            _owner: owner,
            state: Mutex::new(state),
            delivered: Condvar::new(),
        }
    }

    /// The `max_size`, if there is a valid one (rule 6 of c-abi 1.4); the field holds garbage unless
    /// its option is set (TRAP-8).
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

    pub(crate) fn memory(&self) -> &MdMemory {
        &self.memory
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

    pub(crate) fn is_aborted(&self) -> bool {
        lock(&self.state).aborted
    }

    /// Whether it can serve nothing more (c-abi 3.6).
    pub(crate) fn is_exhausted(&self) -> bool {
        self.exhausted(&lock(&self.state))
    }

    /// Starts an incoming PUT or GET, if this MD takes it (MA-11 to MA-13, without the match criteria).
    pub(crate) fn commit_put_or_get(&self, access: Access) -> Commit {
        let state = &mut *lock(&self.state);
        if state.unlinking || self.exhausted(state) || !self.spec.options.has(access.needs) {
            return Commit::No;
        }
        let remote = self.spec.options.has(MdOptions::MANAGE_REMOTE);
        let offset = if remote { access.remote_offset } else { state.offset };
        let Some(room) = self.memory.len().checked_sub(offset) else {
            // MA-12a: an offset beyond the memory, which only a remote one can be.
            return Commit::TooLong;
        };
        let limit = self.max_size.unwrap_or(room);
        let length = match access.length {
            length if length <= limit.min(room) => length,
            _ if self.spec.options.has(MdOptions::TRUNCATE) => limit.min(room),
            _ => return Commit::TooLong,
        };
        let spec = self.commit(state);
        state.offset = offset + length;
        let last = self.auto_unlink && self.exhausted(state);
        state.unlinking |= last;
        Commit::Yes { offset, length, spec, last }
    }

    /// Starts a PUT or GET of this node's own, which asks for `answer`; `None` if the MD is attached,
    /// exhausted or going (MA-31).
    pub(crate) fn commit_send(&self, answer: Option<Answer>) -> Option<MdSpec> {
        if self.attached.is_some() {
            return None;
        }
        let state = &mut *lock(&self.state);
        if state.unlinking || state.budget == Some(0) {
            return None;
        }
        if let Some(answer) = answer {
            let due = state.due(answer);
            *due = due.saturating_add(1);
        }
        Some(self.commit(state))
    }

    /// Starts the arrival of an ACK or REPLY with `length` bytes (MA-42): how many of them are wanted. Each
    /// must have been asked for: a peer that knows the handle from a PUT must not write into its memory, nor
    /// answer twice.
    pub(crate) fn commit_answer(&self, answer: Answer, length: u32) -> Option<(u32, MdSpec)> {
        if self.attached.is_some() {
            return None;
        }
        let room = self.memory.len();
        if length > room && !self.spec.options.has(MdOptions::TRUNCATE) {
            return None;
        }
        let state = &mut *lock(&self.state);
        if state.unlinking || state.budget == Some(0) {
            return None;
        }
        let due = state.due(answer);
        *due = due.checked_sub(1)?;
        state.forget_tracker();
        Some((length.min(room), self.commit(state)))
    }

    /// The answers that it waits for shall come until then, from there (HE-40).
    pub(crate) fn track(&self, tracker: ResponseTracker) {
        let state = &mut *lock(&self.state);
        if state.acks_due > 0 || state.replies_due > 0 {
            state.tracker = Some(tracker);
        }
    }

    /// What it asked for goes to another NID now.
    pub(crate) fn goes_to(&self, asked: Nid) {
        if let Some(tracker) = &mut lock(&self.state).tracker {
            tracker.asked = asked;
        }
    }

    /// Whether all answers of this kind that it asked for have come: what asked for them has arrived.
    pub(crate) fn is_answered(&self, answer: Answer) -> bool {
        *lock(&self.state).due(answer) == 0
    }

    pub(crate) fn is_tracked(&self) -> bool {
        lock(&self.state).tracker.is_some()
    }

    /// Whether it waits for answers; said once that it has waited too long.
    pub(crate) fn unanswered(&self, now: Time) -> ResponseState {
        let state = &mut *lock(&self.state);
        if state.unlinking {
            return ResponseState::No;
        }
        let waits = ResponseTracker::state(state.tracker.as_ref(), now);
        if matches!(waits, ResponseState::TooLong(_)) {
            state.tracker = None;
            state.unanswered = true;
        }
        waits
    }

    /// Undoes [`Md::new`] for an MD that could not be attached, unless a caller who guessed its handle has
    /// unlinked it.
    pub(crate) fn discard(&self) {
        let state = &mut *lock(&self.state);
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

    /// Ends an operation with `event`.
    pub(crate) fn complete(&self, event: Event) -> Completion {
        self.complete_without(event, None)
    }

    /// The same for a PUT or GET that has failed, to which this answer will not come.
    pub(crate) fn complete_without(&self, mut event: Event, answer: Option<Answer>) -> Completion {
        let mut state = lock(&self.state);
        if let Some(answer) = answer {
            state.forgo(answer);
        }
        state.busy -= 1;
        let last = state.busy == 0
            && !state.ended
            && (state.unlinking || self.auto_unlink && self.exhausted(&state));
        state.unlinking |= last;
        state.ended |= last;
        event.unlinked = last;
        if last && state.unanswered && event.status.is_ok() {
            event.status = Err(Errno::TimedOut);
        }
        self.deliver(state, event);
        if last { Completion::Ended } else { Completion::Active }
    }

    /// Unlinks by call. Idle: the UNLINK event is delivered before this returns (TRAP-2); it says
    /// [`Errno::TimedOut`] if it is for an answer that did not come. Busy: the last operation's event will say it.
    /// [`Errno::NotFound`] when it is already going.
    pub(crate) fn unlink(&self) -> Result<Completion, Errno> {
        self.unlink_as(true)
    }

    /// The same, but what is under way, waiting or not, is not cancelled.
    pub(crate) fn retire(&self) -> Result<Completion, Errno> {
        self.unlink_as(false)
    }

    fn unlink_as(&self, aborted: bool) -> Result<Completion, Errno> {
        let mut state = lock(&self.state);
        if state.unlinking {
            return Err(Errno::NotFound);
        }
        state.unlinking = true;
        state.aborted = aborted;
        if state.busy > 0 {
            return Ok(Completion::Active);
        }
        state.ended = true;
        let status = if state.unanswered { Err(Errno::TimedOut) } else { Ok(()) };
        let event = Event { status, ..Event::unlink(self.handle, self.snapshot(&state)) };
        self.deliver(state, event);
        self.wait_until_delivered();
        Ok(Completion::Ended)
    }

    /// Waits until no event of this MD is being delivered; not inside a handler, which would wait for
    /// itself.
    pub(crate) fn wait_until_delivered(&self) {
        if self.queue.is_none() || in_handler() {
            return;
        }
        let mut state = lock(&self.state);
        state.waiters += 1;
        while state.delivering {
            state = self.delivered.wait(state).unwrap_or_else(|e| e.into_inner());
        }
        state.waiters -= 1;
    }

    fn exhausted(&self, state: &State) -> bool {
        state.budget == Some(0)
            || self
                .max_size
                .is_some_and(|max| u64::from(state.offset) + u64::from(max) > u64::from(self.memory.len()))
    }

    fn commit(&self, state: &mut State) -> MdSpec {
        state.busy += 1;
        if let Some(left) = &mut state.budget {
            *left -= 1;
        }
        self.snapshot(state)
    }

    fn snapshot(&self, state: &State) -> MdSpec {
        let threshold = state.budget.map_or(self.spec.threshold, |left| left as i32);
        MdSpec { threshold, ..self.spec }
    }

    /// Delivers `event` after those before it. Consumes the lock that decided its place.
    fn deliver(&self, mut state: crate::sync::MutexGuard<'_, State>, event: Event) {
        let Some(queue) = &self.queue else { return };
        if event.unlinked {
            queue.md_ending();
        }
        if state.delivering {
            state.waiting.push_back(event);
            return;
        }
        state.delivering = true;
        drop(state);
        let mut next = Some(event);
        while let Some(event) = next {
            let turn = Turn { md: self, queue, last: event.unlinked };
            queue.deliver(&event);
            drop(turn);
            next = self.next_to_deliver();
        }
    }

    fn next_to_deliver(&self) -> Option<Event> {
        let state = &mut *lock(&self.state);
        let next = state.waiting.pop_front();
        state.delivering = next.is_some();
        // A wake-up costs a system call even when nobody waits.
        if next.is_none() && state.waiters > 0 {
            self.delivered.notify_all();
        }
        next
    }
}

/// One delivery; ends properly even if the handler panics.
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
            lock(&self.md.state).delivering = false;
            self.md.delivered.notify_all();
        }
    }
}

impl std::fmt::Debug for Md {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Md").field("handle", &self.handle).field("spec", &self.spec).finish_non_exhaustive()
    }
}
