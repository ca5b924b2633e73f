//! The threads that do what the core has to do by itself, one of each a node: `lnet_discovery` and `lnet_monitor`.
//!
//! What is to be done the core decides, and when; here it is only called, and waited for.

use crate::clock::MonotonicClock;
use lnet_core::{Clock, Core, Errno, Time};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;

/// After a panic in what is called: nobody knows whether it will be called for again.
const AFTER_A_PANIC: Duration = Duration::from_secs(1);

/// What one of the threads does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Duty {
    name: &'static str,
    /// Does it; the time at which it wants to be called again at the latest.
    run: fn(&Core) -> Option<Time>,
    /// Waits until there is something to do, at most so long.
    wait: fn(&Core, Option<Duration>),
}

/// Finding out who peers are.
pub(crate) const DISCOVERY: Duty =
    Duty { name: "lnet_discovery", run: Core::run_discovery, wait: Core::wait_for_discovery };
/// Sending again, giving up, and trying what is sick.
pub(crate) const MONITOR: Duty =
    Duty { name: "lnet_monitor", run: Core::run_monitor, wait: Core::wait_for_monitor };

/// A thread of one node. It ends with [`CoreThread::join`], not when this is dropped.
#[derive(Debug)]
pub(crate) struct CoreThread {
    name: &'static str,
    ending: Arc<AtomicBool>,
    thread: Thread,
    /// The process in which it runs: a child of `fork` does not have it.
    process: u32,
    handle: Mutex<Option<JoinHandle<()>>>,
}

impl CoreThread {
    /// Starts it. The log says why it cannot be.
    pub(crate) fn start(duty: Duty, core: Arc<Core>, clock: MonotonicClock) -> Result<Self, Errno> {
        let ending = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&ending);
        let thread = thread::Builder::new().name(duty.name.to_owned());
        let handle = thread.spawn(move || run(duty, &core, clock, &told)).map_err(|error| {
            log::error!("no thread {}: {error}", duty.name);
            Errno::from(error)
        })?;
        let (thread, process) = (handle.thread().clone(), std::process::id());
        Ok(Self { name: duty.name, ending, thread, process, handle: Mutex::new(Some(handle)) })
    }

    /// It shall not begin anything any more. It may wait in the core until that ends.
    pub(crate) fn begin_to_stop(&self) {
        self.ending.store(true, Ordering::Release);
        self.thread.unpark();
    }

    /// Waits for it to end, which it does only after [`CoreThread::begin_to_stop`] and when the core is
    /// ending. Everybody who calls this waits, but the thread itself and who does not have it.
    pub(crate) fn join(&self) {
        if thread::current().id() == self.thread.id() || std::process::id() != self.process {
            return;
        }
        let mut handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        if handle.take().is_some_and(|handle| handle.join().is_err()) {
            log::error!("{} ended for a reason of the library's own", self.name);
        }
    }
}

fn run(duty: Duty, core: &Core, clock: MonotonicClock, ending: &AtomicBool) {
    while !ending.load(Ordering::Acquire) {
        // What is broken for one peer shall not take the others along, and what waits for them.
        let patience = match catch_unwind(AssertUnwindSafe(|| (duty.run)(core))) {
            Ok(again) => again.map(|at| at.since(clock.now())),
            Err(_) => {
                log::error!("{} failed for a reason of the library's own; it goes on", duty.name);
                thread::park_timeout(AFTER_A_PANIC);
                Some(AFTER_A_PANIC)
            }
        };
        if !ending.load(Ordering::Acquire) {
            (duty.wait)(core, patience);
        }
    }
}
