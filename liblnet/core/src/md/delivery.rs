//! The delivery of the events of an MD, one at a time in the order in which they were decided.

use super::{Md, MdState};
use crate::event::{Event, EventQueue, in_handler};
use crate::sync::{SpinlockGuard, lock};

impl Md {
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

    /// Delivers an event after those before it; it is the `last` one or not. Consumes the lock under which its position was decided.
    #[inline(always)]
    pub(super) fn deliver(
        &self,
        state: SpinlockGuard<'_, MdState>,
        last: bool,
        write: impl FnOnce(&mut Event),
    ) {
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
