//! The state of threads that run event handlers.
//!
//! The API forbids most calls from handlers. Calls that would have to wait for a handler check here first, so that
//! breaking the rule delays an event instead of deadlocking the thread. A thread that serves several peers learns here that
//! another thread is inside a handler for long, and takes over that thread's work.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static CHANGES: Cell<u64> = const { Cell::new(0) };
    static STATE: Arc<HandlerState> = Arc::new(HandlerState::of_next_thread());
}

/// The state of one thread, inside an event handler or not, for other threads. It follows the thread with a delay of
/// nanoseconds, and does not order other memory accesses.
#[derive(Debug)]
pub struct HandlerState {
    state: AtomicU64,
    /// The state in which [`HandlerState::set_kept`] was called last.
    kept: AtomicU64,
}

impl HandlerState {
    /// The bit that is set while the thread is inside a handler; the other bits count its changes.
    const INSIDE: u64 = 1;
    const CHANGE: u64 = 2;
    /// The number of states of one thread: no two threads ever have the same state.
    const CHANGES: u64 = 1 << 40;

    fn of_next_thread() -> Self {
        static THREADS: AtomicU64 = AtomicU64::new(0);
        let first = THREADS.fetch_add(1, Ordering::Relaxed).wrapping_mul(Self::CHANGES);
        // Equal to a state outside any handler: no call of `set_kept` has been made.
        Self { state: AtomicU64::new(first), kept: AtomicU64::new(first) }
    }

    /// Calls `f` with the state of the calling thread, which may keep a reference; `None` while the thread ends.
    pub fn with_own<R>(f: impl FnOnce(&Arc<Self>) -> R) -> Option<R> {
        STATE.try_with(f).ok()
    }

    /// The number of the handler that the thread is inside, the outermost if they are nested. No other handler, on any
    /// thread, has the same number.
    pub fn inside(&self) -> Option<u64> {
        let state = self.state.load(Ordering::Relaxed);
        (state & Self::INSIDE != 0).then_some(state)
    }

    /// The number of times that the calling thread has entered or left a handler.
    pub fn own_changes() -> u64 {
        CHANGES.get()
    }

    /// Records that the thread has been inside this handler for long, so that others do the work it would do afterwards.
    pub fn set_kept(&self, inside: u64) {
        self.kept.store(inside, Ordering::SeqCst);
    }

    /// Whether the calling thread is inside a handler for which [`HandlerState::set_kept`] was called.
    pub fn own_is_kept() -> bool {
        let is_kept =
            |own: &Arc<Self>| own.inside().is_some_and(|inside| own.kept.load(Ordering::SeqCst) == inside);
        in_handler() && Self::with_own(is_kept).unwrap_or(false)
    }

    /// Sets whether the thread is inside a handler. Called by the thread itself only.
    fn set(&self, inside: bool) {
        let changes = self.state.load(Ordering::Relaxed) & !Self::INSIDE;
        self.state.store(changes.wrapping_add(Self::CHANGE) | u64::from(inside), Ordering::Relaxed);
    }
}

/// Whether an event handler of any node is running on this thread, so that calls which may wait for one must fail.
#[inline(always)]
pub fn in_handler() -> bool {
    handler_depth() > 0
}

/// The number of nested handlers running on this thread.
#[inline(always)]
pub(crate) fn handler_depth() -> u32 {
    DEPTH.with(Cell::get)
}

/// Marks this thread as inside a handler until the result is dropped, also by a panic.
pub(crate) fn enter_handler() -> InHandler {
    change_depth(1);
    InHandler(())
}

pub(crate) struct InHandler(());

impl Drop for InHandler {
    fn drop(&mut self) {
        change_depth(-1);
    }
}

fn change_depth(by: i32) {
    let before = DEPTH.get();
    let depth = before.saturating_add_signed(by);
    DEPTH.set(depth);
    // A handler counts as running while others are nested in it.
    if (before > 0) != (depth > 0) {
        CHANGES.set(CHANGES.get().wrapping_add(1));
        HandlerState::with_own(|state| state.set(depth > 0));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn other_threads_see_when_a_thread_enters_and_leaves_handlers() {
        let state = HandlerState::with_own(Arc::clone).unwrap();
        let seen = || std::thread::scope(|scope| scope.spawn(|| state.inside()).join().unwrap());
        assert_eq!(seen(), None);
        let outer = enter_handler();
        let first = seen().unwrap();
        assert!(!HandlerState::own_is_kept());
        state.set_kept(first);
        assert!(HandlerState::own_is_kept());
        drop(enter_handler());
        assert!(HandlerState::own_is_kept());
        drop(outer);
        assert_eq!(seen(), None);
        let before = HandlerState::own_changes();
        assert_eq!(HandlerState::own_changes(), before);
        let next = enter_handler();
        assert_ne!(HandlerState::own_changes(), before);
        assert!(seen().is_some_and(|next| next != first) && !HandlerState::own_is_kept());
        drop(next);
    }
}
