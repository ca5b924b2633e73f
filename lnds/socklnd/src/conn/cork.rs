//! Messages that are sent while a thread parses what it has received wait until it has parsed all, and leave together.
//!
//! The thread is the writer of every connection that it has corked, so what other threads send there stays in order behind.

use crate::conn::Connection;
use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What is corked leaves at the latest after so many messages have been received,
const MAX_RECEIVED: u32 = 16;
/// or when the handlers of those messages have taken so long, and the one that runs has returned.
const MAX_TIME: Duration = Duration::from_micros(50);

thread_local! {
    /// What the thread has corked; `None` while it does not parse.
    static CORKED: RefCell<Option<Corked>> = const { RefCell::new(None) };
}

#[derive(Default)]
struct Corked {
    connections: Vec<Arc<Connection>>,
    /// When the first of them was.
    since: Option<Instant>,
    /// Messages received since then.
    received: u32,
}

/// From when it is made until it is dropped, what the thread sends waits for [`flush`].
pub(super) struct Cork {
    /// The thread has one already.
    nested: bool,
}

impl Cork {
    pub(super) fn new() -> Self {
        let nested = CORKED.with_borrow_mut(|corked| {
            let nested = corked.is_some();
            corked.get_or_insert_default();
            nested
        });
        Self { nested }
    }
}

impl Drop for Cork {
    fn drop(&mut self) {
        if !self.nested {
            let corked = CORKED.take();
            uncork(corked.unwrap_or_default());
        }
    }
}

/// Whether a message on `connection`, of which the thread has become the writer, waits for [`flush`].
pub(super) fn hold(connection: &Arc<Connection>) -> bool {
    CORKED.with_borrow_mut(|corked| match corked {
        Some(corked) => {
            corked.since.get_or_insert_with(Instant::now);
            corked.connections.push(Arc::clone(connection));
            true
        }
        None => false,
    })
}

/// Sends what waits.
pub(super) fn flush() {
    flush_if(|_| true);
}

/// The thread has received a message. Sends what waits if it has waited for long.
pub(super) fn on_received() {
    flush_if(|corked| {
        corked.received += 1;
        corked.received >= MAX_RECEIVED || corked.since.is_some_and(|since| since.elapsed() >= MAX_TIME)
    });
}

fn flush_if(is_due: impl Fn(&mut Corked) -> bool) {
    let due = CORKED.with_borrow_mut(|corked| {
        let corked = corked.as_mut().filter(|corked| !corked.connections.is_empty())?;
        is_due(corked).then(|| std::mem::take(corked))
    });
    if let Some(due) = due {
        uncork(due);
    }
}

fn uncork(corked: Corked) {
    for connection in corked.connections {
        connection.write_queue();
    }
}
