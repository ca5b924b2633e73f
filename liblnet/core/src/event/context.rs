//! Whether the current thread is inside an event handler.
//!
//! The API forbids most calls from handlers. Those that would have to wait for a handler look here first,
//! so that breaking the rule gives a late event instead of a thread that waits for itself.

use std::cell::Cell;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Whether a handler, of whichever node, is running on this thread: what may have to wait for one refuses then.
pub fn in_handler() -> bool {
    handler_depth() > 0
}

/// How many handlers are running on this thread, each called from inside the one before.
pub(crate) fn handler_depth() -> u32 {
    DEPTH.with(Cell::get)
}

/// Marks this thread as being in a handler until the result is dropped, also by a panic.
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
