//! The threads of a driver: start, end, and replacement of those that are blocked in event handlers.

use crate::conn::Scheduler;
use crate::driver_thread::as_driver_thread;
use crate::sync::lock;
use lnet_os::thread::JoinHandle;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Maximum number of scheduler threads: if a program's handlers block this many, its peers have to wait.
const MAX_OWNERS: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Threads {
    handles: Mutex<Vec<JoinHandle<()>>>,
    /// Number of scheduler threads that have not ended: owners, and threads that are blocked in handlers.
    owners: Arc<AtomicUsize>,
    started: AtomicUsize,
}

impl Threads {
    /// Starts a thread that does `work`.
    pub(crate) fn start(&self, name: String, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let thread = std::thread::Builder::new().name(name);
        let handle = lnet_os::thread::spawn(thread, move || as_driver_thread(work))?;
        let mut handles = lock(&self.handles);
        handles.retain(|handle| !handle.is_finished());
        handles.push(handle);
        Ok(())
    }

    /// Starts a thread that becomes the owner of `scheduler`; application threads wait in `first`.
    pub(crate) fn start_owner(&self, first: &Arc<Scheduler>, scheduler: &Arc<Scheduler>) -> io::Result<()> {
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let (first, scheduler, owners) = (Arc::clone(first), Arc::clone(scheduler), Arc::clone(&self.owners));
        owners.fetch_add(1, Ordering::Relaxed);
        let counted = Arc::clone(&owners);
        let started = self.start(format!("lnet_sock_sd_{number:02}"), move || {
            scheduler.run(&first);
            owners.fetch_sub(1, Ordering::Relaxed);
        });
        started.inspect_err(|_| {
            counted.fetch_sub(1, Ordering::Relaxed);
        })
    }

    /// Replaces the owner of `scheduler`, which is blocked in a handler, as far as the system has threads.
    pub(crate) fn replace_owner(&self, first: &Arc<Scheduler>, scheduler: &Arc<Scheduler>) {
        if self.owners.load(Ordering::Relaxed) < MAX_OWNERS {
            // Without a new thread the scheduler's peers wait for the handler.
            let _ = self.start_owner(first, scheduler);
        }
    }

    /// Waits for the end of all threads except the calling one.
    pub(crate) fn join(&self) {
        let me = std::thread::current().id();
        loop {
            // A thread that is being started meanwhile is in the next list.
            let handles = std::mem::take(&mut *lock(&self.handles));
            if handles.is_empty() {
                return;
            }
            for handle in handles.into_iter().filter(|handle| handle.thread().id() != me) {
                // A thread that panicked has logged that already.
                let _ = handle.join();
            }
        }
    }
}
