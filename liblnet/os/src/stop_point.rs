//! Steps at which a test ends this process, as if it were killed there, or keeps a thread. They exist in builds for tests only (feature
//! `stop-points`).

#[cfg(feature = "stop-points")]
use std::sync::OnceLock;

/// The variable that names the step, and the one with the number of times that it is passed before.
#[cfg(feature = "stop-points")]
const VARIABLES: [&str; 2] = ["LNET_TEST_STOP_AT", "LNET_TEST_STOP_AFTER"];

#[cfg(feature = "stop-points")]
static OBSERVER: OnceLock<fn(&str)> = OnceLock::new();

/// Calls a function on each thread that reaches a step, with the step, from now on. The thread goes on when the function returns. Only the
/// first call has an effect.
#[cfg(feature = "stop-points")]
pub fn observe(observer: fn(&str)) {
    _ = OBSERVER.set(observer);
}

/// Ends the process by SIGKILL if the environment names this step and its time has come.
#[cfg(feature = "stop-points")]
pub fn reach(step: &str) {
    use std::sync::atomic::{AtomicU32, Ordering};
    static WANTED: OnceLock<Option<String>> = OnceLock::new();
    static PASSED: AtomicU32 = AtomicU32::new(0);
    if let Some(observer) = OBSERVER.get() {
        observer(step);
    }
    if WANTED.get_or_init(|| std::env::var(VARIABLES[0]).ok()).as_deref() == Some(step) {
        let after = std::env::var(VARIABLES[1]).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
        if PASSED.fetch_add(1, Ordering::SeqCst) == after {
            _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        }
    }
}

/// Does nothing in this build.
#[cfg(not(feature = "stop-points"))]
#[inline(always)]
pub const fn reach(_: &str) {}
