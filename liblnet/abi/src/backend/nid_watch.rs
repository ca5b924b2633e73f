//! Calls of the program for NIDs of its node that come and go.
//!
//! The NIDs are looked at by a thread at intervals, so that it makes no difference whether the node is in this process.

use super::ProgramNode;
use lnet_core::Errno;
use lnet_core::event::in_handler;
use lnet_log::{LogClass, write_line};
use lnet_os::thread::{JoinHandle, spawn};
use lnet_wire::Nid;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

/// The interval of looking at the NIDs.
const INTERVAL: Duration = Duration::from_secs(1);

thread_local! {
    /// Whether this thread is one that looks at the NIDs of a node.
    static IS_WATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Whether the caller is a function that is called for NIDs.
pub(super) fn is_in_update() -> bool {
    IS_WATCHING.get()
}

/// A function of the program, called with each NID that has come (`true`) or gone.
pub(crate) type Update = Arc<dyn Fn(Nid, bool) + Send + Sync>;

/// The functions of one node, by what the program knows them by.
#[derive(Default)]
pub(crate) struct NidWatch {
    state: Mutex<WatchState>,
    changed: Condvar,
}

#[derive(Default)]
struct WatchState {
    updates: Vec<(UpdateKey, Update)>,
    /// The NIDs that the node had when they were looked at last.
    known: Vec<Nid>,
    is_calling: bool,
    is_ending: bool,
    thread: Option<JoinHandle<()>>,
}

/// The addresses of a function and of its data.
type UpdateKey = (usize, usize);

impl NidWatch {
    /// Adds a function. [`Errno::Exists`] if it is there already, [`Errno::NoMemory`] if there can be no thread. `list` is the node's list of NIDs.
    pub(crate) fn add(
        self: &Arc<Self>,
        key: UpdateKey,
        update: Update,
        list: fn() -> Result<Vec<Nid>, Errno>,
    ) -> Result<(), Errno> {
        let now = list()?;
        let mut state = self.lock();
        if state.updates.iter().any(|(other, _)| *other == key) {
            return Err(Errno::Exists);
        }
        if state.updates.is_empty() {
            state.known = now;
        }
        if state.thread.is_none() {
            let watch = Arc::clone(self);
            let thread = Builder::new().name("lnet_nids".to_owned());
            let thread = spawn(thread, move || watch.run(list)).map_err(|error| {
                write_line!(LogClass::ThreadFailed, "thread lnet_nids: not started ({error})");
                Errno::NoMemory
            })?;
            state.thread = Some(thread);
        }
        state.updates.push((key, update));
        self.changed.notify_all();
        Ok(())
    }

    /// Removes a function: it is called no more when this returns, but in a call of a function, which may be this one, that does not wait.
    /// [`Errno::NotFound`] if there is no such function, [`Errno::Busy`] in an event handler.
    pub(crate) fn remove(&self, key: UpdateKey) -> Result<(), Errno> {
        if in_handler() {
            return Err(Errno::Busy);
        }
        let mut state = self.lock();
        let at = state.updates.iter().position(|(other, _)| *other == key).ok_or(Errno::NotFound)?;
        state.updates.remove(at);
        while state.is_calling && !is_in_update() {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }

    /// Lets no more functions be called: the node ends. A call that runs goes on.
    pub(super) fn stop(&self) {
        let mut state = self.lock();
        state.is_ending = true;
        state.updates.clear();
        drop(state);
        self.changed.notify_all();
    }

    /// Waits for the thread to end, after [`NidWatch::stop`].
    pub(super) fn join(&self) {
        let thread = self.lock().thread.take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }

    fn run(&self, list: fn() -> Result<Vec<Nid>, Errno>) {
        IS_WATCHING.set(true);
        while self.sleep() {
            // A node that ends has no list any more.
            if let Ok(now) = list() {
                self.report(now);
            }
        }
    }

    /// Waits until it is time to look at the NIDs. `false` if the node ends.
    fn sleep(&self) -> bool {
        let state = self.lock();
        let idle = |state: &mut WatchState| state.updates.is_empty() && !state.is_ending;
        let state = self.changed.wait_while(state, idle).unwrap_or_else(PoisonError::into_inner);
        let busy = |state: &mut WatchState| !state.is_ending;
        let waited = self.changed.wait_timeout_while(state, INTERVAL, busy);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !state.is_ending
    }

    /// Calls the functions for what is different from the last time.
    fn report(&self, now: Vec<Nid>) {
        let mut state = self.lock();
        let changes = changes(&state.known, &now);
        state.known = now;
        if changes.is_empty() || state.is_ending {
            return;
        }
        state.is_calling = true;
        let keys: Vec<UpdateKey> = state.updates.iter().map(|(key, _)| *key).collect();
        for (nid, is_there) in changes {
            for key in &keys {
                // It may have been removed meanwhile.
                let update = state.updates.iter().find(|(other, _)| other == key);
                let Some(update) = update.map(|(_, update)| Arc::clone(update)) else { continue };
                drop(state);
                // A panic is the program's: the others are called all the same.
                let _ = catch_unwind(AssertUnwindSafe(|| update(nid, is_there)));
                state = self.lock();
            }
        }
        state.is_calling = false;
        drop(state);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, WatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The NIDs that are gone, and then those that have come.
fn changes(before: &[Nid], now: &[Nid]) -> Vec<(Nid, bool)> {
    let gone = before.iter().filter(|nid| !now.contains(nid)).map(|nid| (*nid, false));
    let come = now.iter().filter(|nid| !before.contains(nid)).map(|nid| (*nid, true));
    gone.chain(come).collect()
}

/// The NIDs of a node, without the loopback's.
pub(crate) fn nids_of_node(node: &dyn ProgramNode) -> Result<Vec<Nid>, Errno> {
    let mut nids = Vec::new();
    for index in 1.. {
        match node.ni_by_index(index) {
            Ok(own) => nids.push(own.nid),
            Err(Errno::NotFound) => break,
            Err(errno) => return Err(errno),
        }
    }
    Ok(nids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_comes_before_what_is_new() {
        let [a, b, c]: [Nid; 3] =
            ["10.0.0.1@tcp", "10.0.0.2@tcp", "2001:db8::1@tcp"].map(|text| text.parse().unwrap());
        for (before, now, expected) in [
            (vec![], vec![], vec![]),
            (vec![a, b], vec![b, a], vec![]),
            (vec![], vec![a], vec![(a, true)]),
            (vec![a, b], vec![c, b], vec![(a, false), (c, true)]),
        ] {
            assert_eq!(changes(&before, &now), expected);
        }
    }
}
