//! The thread that does what discovery has to do: `lnet_discovery`, one a node.
//!
//! What is to be done the core decides, and when; here it is only called, and waited for.

use crate::clock::MonotonicClock;
use lnet_core::{Clock, Core, Errno};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;

/// After a panic in what is called: nobody knows whether it will be called for again.
const AFTER_A_PANIC: Duration = Duration::from_secs(1);

/// The thread of one node. It ends with [`DiscoveryThread::join`], not when this is dropped.
#[derive(Debug)]
pub(crate) struct DiscoveryThread {
    ending: Arc<AtomicBool>,
    thread: Thread,
    /// The process in which it runs: a child of `fork` does not have it.
    process: u32,
    handle: Mutex<Option<JoinHandle<()>>>,
}

impl DiscoveryThread {
    /// Starts it. The log says why it cannot be.
    pub(crate) fn start(core: Arc<Core>, clock: MonotonicClock) -> Result<Self, Errno> {
        let ending = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&ending);
        let thread = thread::Builder::new().name("lnet_discovery".to_owned());
        let handle = thread.spawn(move || run(&core, clock, &told)).map_err(|error| {
            log::error!("no thread for discovery: {error}");
            Errno::from(error)
        })?;
        let (thread, process) = (handle.thread().clone(), std::process::id());
        Ok(Self { ending, thread, process, handle: Mutex::new(Some(handle)) })
    }

    /// It shall not begin anything any more. It may wait in the core until that ends.
    pub(crate) fn begin_to_stop(&self) {
        self.ending.store(true, Ordering::Release);
        self.thread.unpark();
    }

    /// Waits for it to end, which it does only after [`DiscoveryThread::begin_to_stop`] and when the core is
    /// ending. Everybody who calls this waits, but the thread itself and who does not have it.
    pub(crate) fn join(&self) {
        if thread::current().id() == self.thread.id() || std::process::id() != self.process {
            return;
        }
        let mut handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        if handle.take().is_some_and(|handle| handle.join().is_err()) {
            log::error!("discovery ended for a reason of the library's own");
        }
    }
}

fn run(core: &Core, clock: MonotonicClock, ending: &AtomicBool) {
    while !ending.load(Ordering::Acquire) {
        // What is broken in the discovery of one peer shall not take that of the others along, and what waits
        // for it.
        let patience = match catch_unwind(AssertUnwindSafe(|| core.run_discovery())) {
            Ok(again) => again.map(|at| at.since(clock.now())),
            Err(_) => {
                log::error!("discovery failed for a reason of the library's own; it goes on");
                thread::park_timeout(AFTER_A_PANIC);
                Some(AFTER_A_PANIC)
            }
        };
        if !ending.load(Ordering::Acquire) {
            core.wait_for_discovery(patience);
        }
    }
}
