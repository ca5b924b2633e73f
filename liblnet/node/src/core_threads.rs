//! The threads that call the core, of which each node has one each: `lnet_discovery` and `lnet_monitor`.
//!
//! The core decides which work is due, and when it must be called again.

use crate::clock::MonotonicClock;
use lnet_core::{Clock, Core, Errno, Time};
use lnet_log::{LogClass, write_line};
use lnet_os::thread::JoinHandle;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

/// The pause after a panic in the core, which then cannot return the time of the next call.
const PANIC_PAUSE: Duration = Duration::from_secs(1);

/// The name and the functions of one of the threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadSpec {
    name: &'static str,
    /// Does the work that is due; returns the latest time of the next call.
    run: fn(&Core) -> Option<Time>,
    /// Waits until work is due; at most the given duration.
    wait: fn(&Core, Option<Duration>),
}

/// The thread for the discovery of peers.
pub(crate) const DISCOVERY: ThreadSpec = ThreadSpec {
    name: "lnet_discovery",
    run: |core| core.monitor().run_discovery(),
    wait: |core, timeout| core.monitor().wait_for_discovery(timeout),
};
/// The thread for resends, timeouts and recovery.
pub(crate) const MONITOR: ThreadSpec = ThreadSpec {
    name: "lnet_monitor",
    run: |core| core.monitor().run(),
    wait: |core, timeout| core.monitor().wait(timeout),
};

/// A thread of one node. It ends with [`CoreThread::join`], not when this is dropped.
#[derive(Debug)]
pub(crate) struct CoreThread {
    name: &'static str,
    ending: Arc<AtomicBool>,
    thread: Thread,
    /// The process in which the thread runs: a child of `fork` does not have it.
    process: u32,
    handle: Mutex<Option<JoinHandle<()>>>,
}

impl CoreThread {
    /// Starts the thread. A failure is logged before it is returned.
    pub(crate) fn start(spec: ThreadSpec, core: Arc<Core>, clock: MonotonicClock) -> Result<Self, Errno> {
        let ending = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&ending);
        let thread = thread::Builder::new().name(spec.name.to_owned());
        let handle =
            lnet_os::thread::spawn(thread, move || run(spec, &core, clock, &stop)).map_err(|error| {
                write_line!(LogClass::ThreadFailed, "thread {}: not started ({error})", spec.name);
                Errno::from(error)
            })?;
        let (thread, process) = (handle.thread().clone(), std::process::id());
        Ok(Self { name: spec.name, ending, thread, process, handle: Mutex::new(Some(handle)) })
    }

    /// Requests the end of the thread after its current call, which may last until the core shuts down.
    pub(crate) fn request_stop(&self) {
        self.ending.store(true, Ordering::Release);
        self.thread.unpark();
    }

    /// Waits for the end of the thread, which needs [`CoreThread::request_stop`] and the shutdown of the core. Does
    /// not wait when called by the thread itself, or by a child of `fork`.
    pub(crate) fn join(&self) {
        if thread::current().id() == self.thread.id() || std::process::id() != self.process {
            return;
        }
        let mut handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        if handle.take().is_some_and(|handle| handle.join().is_none()) {
            write_line!(
                LogClass::ThreadFailed,
                "thread {}: ended by an internal error (panic), see above; please report",
                self.name
            );
        }
    }
}

fn run(spec: ThreadSpec, core: &Core, clock: MonotonicClock, ending: &AtomicBool) {
    while !ending.load(Ordering::Acquire) {
        // A panic in the work for one peer does not end the thread, which serves all peers.
        let timeout = match catch_unwind(AssertUnwindSafe(|| (spec.run)(core))) {
            Ok(again) => again.map(|at| at.since(clock.now())),
            Err(_) => {
                core.log(
                    LogClass::InternalError,
                    spec.name,
                    format_args!(
                        "thread {}: internal error (panic), see above; please report; the thread goes on",
                        spec.name
                    ),
                );
                thread::park_timeout(PANIC_PAUSE);
                Some(PANIC_PAUSE)
            }
        };
        if !ending.load(Ordering::Acquire) {
            (spec.wait)(core, timeout);
        }
    }
}
