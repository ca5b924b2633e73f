//! The end of the process.

/// Registers `handler` to run when the process ends by `exit` or a return from `main`: on the thread that ends it, after
/// the handlers that are registered later. Returns whether there was space for it.
pub fn at_exit(handler: extern "C" fn()) -> bool {
    // SAFETY: a function that stays in memory as long as the process: the libraries are never unloaded (`-z nodelete`).
    unsafe { libc::atexit(handler) == 0 }
}
