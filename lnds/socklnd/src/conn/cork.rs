//! Corking: messages that are sent while a thread parses received bytes, reports what it has written or does queued work wait until it
//! has finished, and leave together.
//!
//! The thread is the writer of every connection that it has corked. Another thread that sends there does not wait for the
//! first, which may be in a handler: it takes over, and writes the queue in order. So does the thread that replaces one
//! which is blocked in a handler; messages that the handler sends from then on are not corked. Nor are those of a handler on a thread that
//! none replaces.

use crate::conn::Connection;
use crate::driver_thread::is_replaceable;
use lnet_core::event::{HandlerState, in_handler};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Number of messages received or reported to the core after which corked messages are sent at the latest.
const MAX_REPORTS: u32 = 32;
/// Time in event handlers after which corked messages are sent, once the running handler has returned.
const MAX_TIME: Duration = Duration::from_micros(50);

thread_local! {
    static CORK: CorkState = const { CorkState::none() };
    /// The connections whose messages the thread holds back until it has finished.
    static CORKED: RefCell<Vec<Arc<Connection>>> = const { RefCell::new(Vec::new()) };
}

/// The state of the calling thread.
struct CorkState {
    /// Whether the thread has a guard.
    guarded: Cell<bool>,
    /// Whether any connection is corked.
    holds: Cell<bool>,
    /// Messages received or reported since the first of the connections was corked.
    reports: Cell<u32>,
    /// The time when it was corked.
    since: Cell<Option<Instant>>,
    /// [`HandlerState::own_changes`] when the clock was last read.
    handlers: Cell<u64>,
}

impl CorkState {
    const fn none() -> Self {
        Self {
            guarded: Cell::new(false),
            holds: Cell::new(false),
            reports: Cell::new(0),
            since: Cell::new(None),
            handlers: Cell::new(0),
        }
    }

    /// Counts a report; returns whether the corked messages, of which there are some, have waited for long. Only handlers take long: the
    /// clock is read when one has run since the last time.
    fn counts_as_last(&self) -> bool {
        self.reports.set(self.reports.get() + 1);
        let handlers = HandlerState::own_changes();
        self.reports.get() >= MAX_REPORTS
            || self.handlers.replace(handlers) != handlers
                && self.since.get().is_some_and(|since| since.elapsed() >= MAX_TIME)
    }
}

/// Guard: until it is dropped, messages of the thread wait for [`flush`].
pub(super) struct Cork {
    /// Whether the thread has a guard already.
    nested: bool,
}

impl Cork {
    pub(super) fn new() -> Self {
        Self { nested: CORK.with(|cork| cork.guarded.replace(true)) }
    }
}

impl Drop for Cork {
    fn drop(&mut self) {
        if self.nested {
            return;
        }
        // Writing returns credits, and completes messages, whose handlers may send: that waits for the next turn of the loop.
        while CORK.with(|cork| {
            cork.guarded.set(cork.holds.get());
            cork.holds.get()
        }) {
            flush();
        }
    }
}

/// Keeps a message on `connection`, of which the thread has become the writer, for [`flush`]. Returns false if the thread
/// is not corking.
pub(super) fn hold(connection: &Arc<Connection>) -> bool {
    let holds = CORK.with(|cork| {
        let holds = cork.guarded.get() && !HandlerState::own_is_kept() && !is_in_unwatched_handler();
        if holds && !cork.holds.replace(true) {
            cork.since.set(Some(Instant::now()));
            cork.handlers.set(HandlerState::own_changes());
        }
        holds
    });
    if holds {
        // A handler of the program's exit sends when the variables of its thread are gone: then nothing is held back.
        return CORKED.try_with(|all| all.borrow_mut().push(Arc::clone(connection))).is_ok();
    }
    false
}

/// Whether the calling thread runs a handler, and no other would replace it if that took long: another thread that sends or connects.
fn is_in_unwatched_handler() -> bool {
    in_handler() && !is_replaceable()
}

/// Whether the calling thread has a guard.
pub(super) fn is_corking() -> bool {
    CORK.with(|cork| cork.guarded.get())
}

/// Sends the corked messages.
pub(super) fn flush() {
    if CORK.with(|cork| cork.holds.get()) {
        send_corked();
    }
}

/// Counts a message that was received or reported to the core. Sends the corked messages if they have waited for long.
pub(super) fn on_report() {
    if CORK.with(|cork| cork.holds.get() && cork.counts_as_last()) {
        send_corked();
    }
}

fn send_corked() {
    CORK.with(|cork| {
        cork.holds.set(false);
        cork.since.set(None);
        cork.reports.set(0);
    });
    // Most often there is one.
    let only = |all: &RefCell<Vec<_>>| if all.borrow().len() == 1 { all.borrow_mut().pop() } else { None };
    if let Some(connection) = CORKED.try_with(only).ok().flatten() {
        return connection.write_queue();
    }
    let mut due = CORKED.try_with(RefCell::take).unwrap_or_default();
    // Writing completes messages, and their handlers may send: the thread must not find the connections in the list
    // meanwhile.
    due.drain(..).for_each(|connection| connection.write_queue());
    // The vector's memory is used again.
    _ = CORKED.try_with(|connections| {
        if connections.borrow().capacity() == 0 {
            connections.replace(due);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use lnet_core::event::EventQueue;
    use lnet_core::{Event, MdHandle, MdOptions, MdSpec};

    /// Runs an event handler on the calling thread.
    fn run_handler() {
        let (start, user_ptr) = (0, 0);
        let spec =
            MdSpec { start, length: 0, threshold: 1, max_size: 0, options: MdOptions(0), user_ptr, eq: None };
        let queue = EventQueue::new(0, Some(Box::new(|_| ()))).unwrap();
        queue.deliver(&Event::unlink(MdHandle::from_cookie(1), spec));
    }

    #[test]
    fn corked_messages_leave_after_many_reports_or_when_a_handler_has_run_and_some_time_has_passed() {
        for (waited, runs_handler, reports) in
            [(Duration::ZERO, false, MAX_REPORTS), (MAX_TIME, false, MAX_REPORTS), (MAX_TIME, true, 1)]
        {
            let cork = CorkState::none();
            cork.since.set(Instant::now().checked_sub(waited));
            cork.handlers.set(HandlerState::own_changes());
            if runs_handler {
                run_handler();
            }
            let last = (1..).find(|_| cork.counts_as_last());
            assert_eq!(last, Some(reports), "{waited:?}, {runs_handler}");
        }
    }
}
