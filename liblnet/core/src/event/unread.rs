//! Events that a thread has left in the queue that it read last.

use std::cell::Cell;

thread_local! {
    static LEFT: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread, when it last read an event, left others in the queue: it will probably come back for them soon, and may
/// send something for each.
#[inline]
pub fn has_left_events() -> bool {
    LEFT.get()
}

/// Says that the calling thread has sent something since it read an event: [`has_left_events`] is false until it reads another.
#[inline]
pub fn forget_left_events() {
    LEFT.set(false);
}

/// Notes whether the calling thread, which reads an event, leaves others.
#[inline]
pub(super) fn note(leaves_events: bool) {
    LEFT.set(leaves_events);
}
