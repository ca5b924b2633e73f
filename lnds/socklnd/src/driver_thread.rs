//! Role of the calling thread towards the driver at this moment.

use std::cell::Cell;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    static DRIVER_THREAD: Cell<bool> = const { Cell::new(false) };
    static APP_POLLER: Cell<bool> = const { Cell::new(false) };
    static SCHEDULER: Cell<bool> = const { Cell::new(false) };
    static NUMBER: Cell<Option<ThreadNumber>> = const { Cell::new(None) };
}

/// A number of a thread that no other thread of the process has. It takes less than the ID of the standard library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadNumber(NonZeroU64);

impl ThreadNumber {
    /// The number of the calling thread.
    #[inline]
    pub(crate) fn own() -> Self {
        NUMBER.get().unwrap_or_else(Self::assign)
    }

    #[cold]
    fn assign() -> Self {
        static ASSIGNED: AtomicU64 = AtomicU64::new(0);
        let assigned = Self(NonZeroU64::MIN.saturating_add(ASSIGNED.fetch_add(1, Ordering::Relaxed)));
        NUMBER.set(Some(assigned));
        assigned
    }
}

/// Whether the calling thread reads and writes for a driver. Such a thread must not wait for another.
pub(crate) fn is_driver_thread() -> bool {
    DRIVER_THREAD.get()
}

/// Whether the calling thread is an application's, which must return to its own work soon.
pub(crate) fn is_app_poller() -> bool {
    APP_POLLER.get()
}

/// Whether another thread replaces the calling one while that is blocked in an event handler.
pub(crate) fn is_replaceable() -> bool {
    APP_POLLER.get() || SCHEDULER.get()
}

/// Runs `work` as the thread of a scheduler.
pub(crate) fn as_scheduler<R>(work: impl FnOnce() -> R) -> R {
    within(&SCHEDULER, work)
}

/// Runs `work` as a driver's thread.
pub(crate) fn as_driver_thread<R>(work: impl FnOnce() -> R) -> R {
    within(&DRIVER_THREAD, work)
}

/// Runs `work` as an application's thread that does the driver's work.
pub(crate) fn as_app_poller<R>(work: impl FnOnce() -> R) -> R {
    within(&APP_POLLER, || as_driver_thread(work))
}

fn within<R>(flag: &'static std::thread::LocalKey<Cell<bool>>, work: impl FnOnce() -> R) -> R {
    flag.set(true);
    let result = work();
    flag.set(false);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_its_number_and_no_other_has_it() {
        let own = ThreadNumber::own();
        let others = [(); 2].map(|()| std::thread::spawn(|| [ThreadNumber::own(), ThreadNumber::own()]));
        let [one, other] = others.map(|thread| thread.join().unwrap());
        assert_eq!((one[0], other[0]), (one[1], other[1]));
        assert!(own != one[0] && own != other[0] && one[0] != other[0]);
        assert_eq!(ThreadNumber::own(), own);
    }
}
