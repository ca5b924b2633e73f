//! The threads of a driver: start, end, and replacement of those that are blocked in event handlers.

use crate::sync::lock;
use lnet_os::thread::JoinHandle;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Maximum number of owners: if a program's handlers block this many, its peers have to wait.
const MAX_OWNERS: usize = 64;

/// The threads of a driver.
#[derive(Debug, Default)]
pub struct Threads {
    handles: Mutex<Vec<JoinHandle<()>>>,
    /// Number of owners that have not ended, with those that are blocked in handlers.
    owners: Arc<AtomicUsize>,
    started: AtomicUsize,
}

impl Threads {
    /// Starts a thread that does `work`.
    pub fn start(&self, name: String, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let thread = std::thread::Builder::new().name(name);
        let handle = lnet_os::thread::spawn(thread, work)?;
        let mut handles = lock(&self.handles);
        handles.retain(|handle| !handle.is_finished());
        handles.push(handle);
        Ok(())
    }

    /// Starts a thread that does what must always be done by some thread. Its name is `prefix` with a number.
    pub fn start_owner(&self, prefix: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let owners = Arc::clone(&self.owners);
        owners.fetch_add(1, Ordering::Relaxed);
        let counted = Arc::clone(&owners);
        let started = self.start(format!("{prefix}{number:02}"), move || {
            work();
            owners.fetch_sub(1, Ordering::Relaxed);
        });
        started.inspect_err(|_| {
            counted.fetch_sub(1, Ordering::Relaxed);
        })
    }

    /// Starts a thread in place of one that is blocked in a handler, as far as the system has threads.
    pub fn replace_owner(&self, prefix: &str, work: impl FnOnce() + Send + 'static) {
        if self.owners.load(Ordering::Relaxed) < MAX_OWNERS {
            // Without a new thread the peers wait for the handler.
            let _ = self.start_owner(prefix, work);
        }
    }

    /// Waits for the end of all threads except the calling one.
    pub fn join(&self) {
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
