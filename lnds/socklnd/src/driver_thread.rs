//! Role of the calling thread towards the driver at this moment.

use std::cell::Cell;

thread_local! {
    static DRIVER_THREAD: Cell<bool> = const { Cell::new(false) };
    static APP_POLLER: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread reads and writes for a driver. Such a thread must not wait for another.
pub(crate) fn is_driver_thread() -> bool {
    DRIVER_THREAD.get()
}

/// Whether the calling thread is an application's, which must return to its own work soon.
pub(crate) fn is_app_poller() -> bool {
    APP_POLLER.get()
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
