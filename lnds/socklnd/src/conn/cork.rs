//! Messages that are sent while a thread parses what it has received wait until it has parsed all, and leave together.
//!
//! The thread is the writer of every connection that it has corked, so what other threads send there stays in order behind.

use crate::conn::Connection;
use std::cell::RefCell;
use std::sync::Arc;

thread_local! {
    /// The connections that the thread has corked; `None` while it does not parse.
    static CORKED: RefCell<Option<Vec<Arc<Connection>>>> = const { RefCell::new(None) };
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
            corked.push(Arc::clone(connection));
            true
        }
        None => false,
    })
}

/// Sends what waits.
pub(super) fn flush() {
    let corked = CORKED.with_borrow_mut(|corked| match corked {
        Some(corked) if !corked.is_empty() => std::mem::take(corked),
        _ => Vec::new(),
    });
    uncork(corked);
}

fn uncork(corked: Vec<Arc<Connection>>) {
    for connection in corked {
        connection.write_queue();
    }
}
