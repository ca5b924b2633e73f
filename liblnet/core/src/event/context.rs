//! Whether the current thread is inside an event handler.
//!
//! The API forbids most calls from handlers. Calls that would have to wait for a handler check here first, so that
//! breaking the rule delays an event instead of deadlocking the thread.

use std::cell::Cell;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Whether an event handler, of any node, is running on this thread: then calls that may have to wait for one fail.
pub fn in_handler() -> bool {
    handler_depth() > 0
}

/// The number of nested handlers running on this thread.
pub(crate) fn handler_depth() -> u32 {
    DEPTH.with(Cell::get)
}

/// Marks this thread as inside a handler until the result is dropped, also by a panic.
pub(crate) fn enter_handler() -> InHandler {
    DEPTH.with(|depth| depth.set(depth.get() + 1));
    InHandler(())
}

pub(crate) struct InHandler(());

impl Drop for InHandler {
    fn drop(&mut self) {
        DEPTH.with(|depth| depth.set(depth.get() - 1));
    }
}
