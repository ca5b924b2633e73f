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
    registered: Registrations,
    is_calling: bool,
    is_ending: bool,
    thread: Option<JoinHandle<()>>,
}

/// The functions, and what each knows of the NIDs.
#[derive(Default)]
struct Registrations {
    all: Vec<Registration>,
    /// The number of looks at the NIDs that have begun.
    looks: u64,
}

struct Registration {
    key: UpdateKey,
    update: Update,
    /// The NIDs that the function knows of: those at its registration, and what it was called for since.
    known: Vec<Nid>,
    /// The first look that has begun after the registration. An earlier one may have seen the NIDs before `known`.
    first_look: u64,
}

/// The addresses of a function and of its data.
type UpdateKey = (usize, usize);

impl Registrations {
    /// Adds a function, which knows of the NIDs `now`. [`Errno::Exists`] if it is there already.
    fn add(&mut self, key: UpdateKey, update: Update, now: Vec<Nid>) -> Result<(), Errno> {
        if self.all.iter().any(|its| its.key == key) {
            return Err(Errno::Exists);
        }
        self.all.push(Registration { key, update, known: now, first_look: self.looks + 1 });
        Ok(())
    }

    fn remove(&mut self, key: UpdateKey) -> Result<(), Errno> {
        let at = self.all.iter().position(|its| its.key == key).ok_or(Errno::NotFound)?;
        self.all.remove(at);
        Ok(())
    }

    fn find(&self, key: UpdateKey) -> Option<Update> {
        self.all.iter().find(|its| its.key == key).map(|its| Arc::clone(&its.update))
    }

    /// The number of a look at the NIDs, which begins.
    fn begin_look(&mut self) -> u64 {
        self.looks += 1;
        self.looks
    }

    /// The calls to make after a look that has found the NIDs `now`.
    fn end_look(&mut self, look: u64, now: &[Nid]) -> Vec<(UpdateKey, Nid, bool)> {
        let mut calls = Vec::new();
        for its in self.all.iter_mut().filter(|its| its.first_look <= look) {
            calls
                .extend(changes(&its.known, now).into_iter().map(|(nid, is_there)| (its.key, nid, is_there)));
            now.clone_into(&mut its.known);
        }
        calls
    }
}

impl NidWatch {
    /// Adds a function. [`Errno::Exists`] if it is there already, [`Errno::NoMemory`] if there can be no thread, [`Errno::NetworkDown`] if
    /// the node ends. `list` is the node's list of NIDs.
    pub(crate) fn add(
        self: &Arc<Self>,
        key: UpdateKey,
        update: Update,
        list: fn() -> Result<Vec<Nid>, Errno>,
    ) -> Result<(), Errno> {
        let now = list()?;
        let mut state = self.lock();
        if state.is_ending {
            return Err(Errno::NetworkDown);
        }
        state.registered.add(key, update, now)?;
        if state.thread.is_none() {
            let watch = Arc::clone(self);
            let thread = Builder::new().name("lnet_nids".to_owned());
            match spawn(thread, move || watch.run(list)) {
                Ok(thread) => state.thread = Some(thread),
                Err(error) => {
                    write_line!(LogClass::ThreadFailed, "thread lnet_nids: not started ({error})");
                    state.registered.remove(key)?;
                    return Err(Errno::NoMemory);
                }
            }
        }
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
        state.registered.remove(key)?;
        while state.is_calling && !is_in_update() {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }

    /// Lets no more functions be called: the node ends. A call that runs goes on.
    pub(super) fn stop(&self) {
        let mut state = self.lock();
        state.is_ending = true;
        state.registered.all.clear();
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
        while let Some(look) = self.sleep() {
            // A node that ends has no list any more.
            if let Ok(now) = list() {
                self.report(look, &now);
            }
        }
    }

    /// Waits until it is time to look at the NIDs. `None` if the node ends.
    fn sleep(&self) -> Option<u64> {
        let state = self.lock();
        let idle = |state: &mut WatchState| state.registered.all.is_empty() && !state.is_ending;
        let state = self.changed.wait_while(state, idle).unwrap_or_else(PoisonError::into_inner);
        let busy = |state: &mut WatchState| !state.is_ending;
        let waited = self.changed.wait_timeout_while(state, INTERVAL, busy);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        (!state.is_ending).then(|| state.registered.begin_look())
    }

    /// Calls the functions for what is different from what each knows.
    fn report(&self, look: u64, now: &[Nid]) {
        let mut state = self.lock();
        let calls = state.registered.end_look(look, now);
        if calls.is_empty() {
            return;
        }
        state.is_calling = true;
        for (key, nid, is_there) in calls {
            // It may have been removed meanwhile.
            let Some(update) = state.registered.find(key) else { continue };
            drop(state);
            // A panic is the program's: the others are called all the same.
            let _ = catch_unwind(AssertUnwindSafe(|| update(nid, is_there)));
            state = self.lock();
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

    #[test]
    fn a_function_is_not_called_for_what_was_there_when_it_was_registered() {
        let [a, b, c]: [Nid; 3] =
            ["10.0.0.1@tcp", "10.0.0.2@tcp", "2001:db8::1@tcp"].map(|text| text.parse().unwrap());
        let (first, second) = ((1, 0), (1, 8));
        let update = || Arc::new(|_, _| {}) as Update;
        let mut registered = Registrations::default();
        registered.add(first, update(), vec![a]).unwrap();
        assert_eq!(registered.add(first, update(), vec![a]), Err(Errno::Exists));
        // `b` comes, of which the first function is not told yet.
        registered.add(second, update(), vec![a, b]).unwrap();
        let look = registered.begin_look();
        assert_eq!(registered.end_look(look, &[a, b]), [(first, b, true)]);
        let look = registered.begin_look();
        assert_eq!(
            registered.end_look(look, &[a, c]),
            [(first, b, false), (first, c, true), (second, b, false), (second, c, true)]
        );
        registered.remove(second).unwrap();
        assert_eq!(registered.remove(second), Err(Errno::NotFound));
        // The look began before `c` was gone, of which the function knows at its registration.
        let look = registered.begin_look();
        registered.add(second, update(), vec![a]).unwrap();
        assert_eq!(registered.end_look(look, &[a, c]), []);
        let look = registered.begin_look();
        assert_eq!(registered.end_look(look, &[a]), [(first, c, false)]);
    }
}
