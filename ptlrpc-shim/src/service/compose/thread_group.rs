//! Threads that are waited for together.

use crate::Errno;
use crate::clock::{Clock, Time};
use std::convert::Infallible;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, Builder, ThreadId};

/// A group of threads.
pub(super) struct ThreadGroup {
    ids: Vec<ThreadId>,
    /// Disconnected when all threads have ended: each owns a sender.
    ended: Receiver<Infallible>,
    /// The sender that each further thread gets a copy of.
    sender: Option<Sender<Infallible>>,
}

impl ThreadGroup {
    pub(super) fn new() -> Self {
        let (sender, ended) = channel();
        Self { ids: Vec::new(), ended, sender: Some(sender) }
    }

    /// Starts a thread. `EAGAIN`: the system has none.
    pub(super) fn spawn(&mut self, name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), Errno> {
        let sender = self.sender.clone();
        let run = move || {
            body();
            drop(sender);
        };
        // The system shows 15 bytes of a name.
        let thread = Builder::new().name(name.replace('\0', ""));
        let thread = lnet_os::thread::spawn(thread, run).map_err(|_| Errno::Again)?;
        self.ids.push(thread.thread().id());
        Ok(())
    }

    /// Whether the calling thread is in the group.
    pub(super) fn contains_current(&self) -> bool {
        self.ids.contains(&thread::current().id())
    }

    /// Waits until all threads have ended, but not longer than until `until`. Returns whether they have ended. No other
    /// threads can be started afterwards.
    pub(super) fn wait(&mut self, clock: &dyn Clock, until: Time) -> bool {
        self.sender = None;
        loop {
            let left = until.since(clock.now());
            match self.ended.recv_timeout(clock.sleep_limit(left)) {
                Err(RecvTimeoutError::Disconnected) => return true,
                _ if left.is_zero() => return false,
                _ => {}
            }
        }
    }
}
