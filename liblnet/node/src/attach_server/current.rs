//! The operation that a thread of the server carries out.

use std::cell::Cell;

thread_local! {
    static CURRENT: Cell<Option<Current>> = const { Cell::new(None) };
}

/// An operation of a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Current {
    /// The number of the program.
    pub(super) client: u64,
    pub(super) number: u64,
    /// Whether it is a PUT or GET.
    pub(super) is_request: bool,
}

impl Current {
    /// Carries out `work` as this operation.
    #[inline(always)]
    pub(super) fn during<T>(self, work: impl FnOnce() -> T) -> T {
        CURRENT.with(|current| {
            current.set(Some(self));
            let result = work();
            current.set(None);
            result
        })
    }
}

/// The number of the operation that the thread carries out for this program, of which an event comes; 0 for none.
pub(super) fn number_of_current(client: u64) -> u64 {
    CURRENT.get().filter(|current| current.client == client).map_or(0, |current| current.number)
}

/// Whether the thread carries out a PUT or GET of this program.
pub(super) fn is_in_request_of(client: u64) -> bool {
    CURRENT.get().is_some_and(|current| current.client == client && current.is_request)
}
