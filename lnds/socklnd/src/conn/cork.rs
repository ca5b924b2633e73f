//! Corking: messages that are sent while a thread parses received bytes, reports what it has written or does queued work wait until it
//! has finished, and leave together.
//!
//! The thread is the writer of every connection that it has corked. Another thread that sends there does not wait for the
//! first, which may be in a handler: it takes over, and writes the queue in order. So does the thread that replaces one
//! which is blocked in a handler; messages that the handler sends from then on are not corked.

use crate::conn::Connection;
use lnet_core::event::HandlerState;
use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Number of messages received or reported to the core after which corked messages are sent at the latest.
const MAX_REPORTS: u32 = 32;
/// Time in event handlers after which corked messages are sent, once the running handler has returned.
const MAX_TIME: Duration = Duration::from_micros(50);

thread_local! {
    static CORKED: RefCell<Corked> = const { RefCell::new(Corked::none()) };
}

/// The connections whose messages the thread holds back until it has finished.
struct Corked {
    /// Whether the thread has a guard.
    guarded: bool,
    connections: Vec<Arc<Connection>>,
    /// The time when the first of the connections was corked.
    since: Option<Instant>,
    /// Messages received or reported since then.
    reports: u32,
}

impl Corked {
    const fn none() -> Self {
        Self { guarded: false, connections: Vec::new(), since: None, reports: 0 }
    }
}

/// Guard: until it is dropped, messages of the thread wait for [`flush`].
pub(super) struct Cork {
    /// Whether the thread has a guard already.
    nested: bool,
}

impl Cork {
    pub(super) fn new() -> Self {
        Self { nested: CORKED.with_borrow_mut(|corked| std::mem::replace(&mut corked.guarded, true)) }
    }
}

impl Drop for Cork {
    fn drop(&mut self) {
        if self.nested {
            return;
        }
        // Writing returns credits, and completes messages, whose handlers may send: that waits for the next turn of the loop.
        while CORKED.with_borrow_mut(|corked| {
            corked.guarded = !corked.connections.is_empty();
            corked.guarded
        }) {
            flush();
        }
    }
}

/// Keeps a message on `connection`, of which the thread has become the writer, for [`flush`]. Returns false if the thread
/// is not corking.
pub(super) fn hold(connection: &Arc<Connection>) -> bool {
    CORKED.with_borrow_mut(|corked| {
        let holds = corked.guarded && !HandlerState::own_is_kept();
        if holds {
            corked.since.get_or_insert_with(Instant::now);
            corked.connections.push(Arc::clone(connection));
        }
        holds
    })
}

/// Whether the calling thread has a guard.
pub(super) fn is_corking() -> bool {
    CORKED.with_borrow(|corked| corked.guarded)
}

/// Sends the corked messages.
pub(super) fn flush() {
    flush_if(|_| true);
}

/// Counts a message that was received or reported to the core. Sends the corked messages if they have waited for long.
pub(super) fn on_report() {
    flush_if(|corked| {
        corked.reports += 1;
        corked.reports >= MAX_REPORTS || corked.since.is_some_and(|since| since.elapsed() >= MAX_TIME)
    });
}

fn flush_if(is_due: impl Fn(&mut Corked) -> bool) {
    let due = CORKED.with_borrow_mut(|corked| {
        let is_due = !corked.connections.is_empty() && is_due(corked);
        is_due.then(|| {
            (corked.since, corked.reports) = (None, 0);
            std::mem::take(&mut corked.connections)
        })
    });
    let Some(mut due) = due else { return };
    // Writing completes messages, and their handlers may send: the thread must not find the connections in the list
    // meanwhile.
    due.drain(..).for_each(|connection| connection.write_queue());
    // The vector's memory is used again.
    CORKED.with_borrow_mut(|corked| {
        if corked.connections.capacity() == 0 {
            corked.connections = due;
        }
    });
}
