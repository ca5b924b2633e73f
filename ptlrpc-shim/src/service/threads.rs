//! Who serves (PR-71).

use super::counts::Dropped;
use super::incoming::Work;
use super::server::Core;
use super::{housekeeper, intake, serve};
use crate::errno::Errno;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, Builder, ThreadId};
use std::time::Instant;

/// Threads that end together.
pub(super) struct Crew {
    ids: Vec<ThreadId>,
    /// Each has a sender: when all are gone, so are they.
    gone: Receiver<Infallible>,
    /// Until no more are to be hired.
    sender: Option<Sender<Infallible>>,
}

impl Crew {
    pub(super) fn new() -> Self {
        let (sender, gone) = channel();
        Self { ids: Vec::new(), gone, sender: Some(sender) }
    }

    /// One more thread. `EAGAIN`: the system has none.
    pub(super) fn hire(
        &mut self,
        name: &str,
        core: &Arc<Core>,
        work: impl FnOnce(&Core) + Send + 'static,
    ) -> Result<(), Errno> {
        let (core, here) = (Arc::clone(core), self.sender.clone());
        let body = move || {
            work(&core);
            drop(core);
            drop(here);
        };
        // The system shows 15 bytes of a name.
        let thread = Builder::new().name(name.replace('\0', "")).spawn(body).map_err(|_| Errno::AGAIN)?;
        self.ids.push(thread.thread().id());
        Ok(())
    }

    /// Whether the caller is one of them.
    pub(super) fn has_me(&self) -> bool {
        self.ids.contains(&thread::current().id())
    }

    /// Waits until all have ended; whether they have.
    pub(super) fn wait(&mut self, until: Instant) -> bool {
        self.sender = None;
        let left = until.saturating_duration_since(Instant::now());
        self.gone.recv_timeout(left) == Err(RecvTimeoutError::Disconnected)
    }
}

/// What each of the service's threads does.
pub(super) fn work(core: &Core) {
    loop {
        match core.queue.next(&core.node) {
            Work::LookAt(arrived) => {
                let admitted = guarded(core, || intake::look_at(core, arrived)).flatten();
                if let Some(back) = core.queue.looked_at(admitted) {
                    serve::drop_it(core, &back, Dropped::Stopping);
                }
            }
            Work::Serve(admitted, class) => {
                guarded(core, || serve::serve(core, &admitted));
                core.queue.served(class);
            }
            Work::End => return,
        }
    }
}

/// Runs what may call the program, whose panics are not the service's. `None`: it panicked.
pub(super) fn guarded<T>(core: &Core, what: impl FnOnce() -> T) -> Option<T> {
    let done = catch_unwind(AssertUnwindSafe(what));
    if done.is_err() {
        log::error!("{}: the program panicked", core.config.name);
    }
    done.ok()
}

/// What its housekeeper does.
pub(super) fn keep_house(core: &Core) {
    housekeeper::run(core);
}
