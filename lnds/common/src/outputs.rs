//! Outputs of a driver on their way to the core, where event handlers of the program run: one thread at a time passes them, in order, and
//! another one goes on when a handler keeps that thread.
//!
//! A driver, or an attached program, implements [`PassOutputs`]. It has a thread of its own, the owner, and may let a thread of the
//! application pass outputs as well ([`Role`]). [`PassOutputs::start_threads`] starts the owner and the thread that replaces it.

use crate::deliverers::{DelivererId, Deliverers, Role};
use crate::driver_threads::Threads;
use crate::handler_watch::{self, Served, WatchSignal};
use crate::sync::lock;
use lnet_core::event::HandlerState;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};

/// The outputs that wait, and the threads that pass them.
#[derive(Debug)]
pub struct OutputQueue<T> {
    /// `None` when the queue is closed.
    waiting: Mutex<Option<VecDeque<T>>>,
    /// The threads that pass outputs.
    pub deliverers: Deliverers,
    /// The signal to the thread that replaces threads which are kept.
    pub watch: WatchSignal,
}

impl<T> Default for OutputQueue<T> {
    fn default() -> Self {
        let waiting = Mutex::new(Some(VecDeque::new()));
        Self { waiting, deliverers: Deliverers::default(), watch: WatchSignal::default() }
    }
}

impl<T> OutputQueue<T> {
    /// Adds an output; returns it if the queue is closed.
    pub fn push(&self, output: T) -> Result<(), T> {
        match &mut *lock(&self.waiting) {
            Some(waiting) => waiting.push_back(output),
            None => return Err(output),
        }
        Ok(())
    }

    /// Adds outputs. A closed queue drops them.
    pub fn extend(&self, outputs: impl IntoIterator<Item = T>) {
        if let Some(waiting) = &mut *lock(&self.waiting) {
            waiting.extend(outputs);
        }
    }

    /// The number of outputs that wait.
    pub fn len(&self) -> usize {
        lock(&self.waiting).as_ref().map_or(0, VecDeque::len)
    }

    /// Whether no output waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Drops the outputs that wait.
    pub fn clear(&self) {
        if let Some(waiting) = &mut *lock(&self.waiting) {
            waiting.clear();
        }
    }

    /// Closes the queue; returns the outputs that wait.
    pub fn close(&self) -> VecDeque<T> {
        lock(&self.waiting).take().unwrap_or_default()
    }

    fn pop(&self) -> Option<T> {
        lock(&self.waiting).as_mut()?.pop_front()
    }
}

/// Work whose outputs any of several threads may pass to the core. The trait [`Served`] follows from it.
pub trait PassOutputs: Send + Sync + Sized + 'static {
    /// What is passed.
    type Output;
    /// The first letters of the names of the owners.
    const OWNER: &'static str;
    /// The name of the thread that replaces an owner.
    const WATCH: &'static str;

    /// The outputs that wait.
    fn outputs(&self) -> &OutputQueue<Self::Output>;

    /// The threads of this work.
    fn threads(&self) -> &Threads;

    /// Makes the calling thread the owner, until another becomes it or the work ends.
    fn run_owner(&self);

    /// Makes the owner look for work.
    fn wake_owner(&self);

    /// Whether the work has ended.
    fn has_ended(&self) -> bool;

    /// Passes one output. Event handlers of the program run here, and no lock is held.
    fn pass(&self, output: Self::Output);

    /// Looks for outputs when all have been passed, as handlers may have left something to do.
    fn find_outputs(&self) {}

    /// Passes the outputs, unless a thread does.
    fn pass_outputs(&self, role: Role) {
        let outputs = self.outputs();
        while !outputs.is_empty() {
            let Some(deliverer) = outputs.deliverers.begin(role) else { return };
            outputs.watch.note_serving();
            if !pass_all(self, deliverer) {
                return;
            }
        }
    }

    /// Passes the outputs after all threads that do, unless that is this one: an event handler ends the work.
    fn pass_last_outputs(&self) {
        let deliverer = self.outputs().deliverers.begin_after_others(Role::Owner);
        pass_all(self, deliverer);
    }

    /// Starts the owner, and the thread that replaces it when a handler keeps it.
    fn start_threads(self: &Arc<Self>) -> io::Result<()> {
        let watched = Arc::clone(self);
        self.threads().start(Self::WATCH.to_owned(), move || {
            let all = [Arc::clone(&watched)];
            handler_watch::run(&watched.outputs().watch, &all, replace_owner);
        })?;
        let owner = Arc::clone(self);
        self.threads().start_owner(Self::OWNER, move || owner.run_owner())
    }
}

/// Passes the outputs as this deliverer. Returns whether it still was the current one at the end.
fn pass_all<T: PassOutputs>(work: &T, deliverer: DelivererId) -> bool {
    let outputs = work.outputs();
    loop {
        match outputs.pop() {
            Some(output) => work.pass(output),
            None => {
                work.find_outputs();
                if outputs.is_empty() {
                    break;
                }
            }
        }
        if !outputs.deliverers.is_current(deliverer) {
            break;
        }
    }
    outputs.deliverers.end(deliverer)
}

/// Lets a new thread do the work of the owner, which is blocked in a handler.
fn replace_owner<T: PassOutputs>(work: &Arc<T>) {
    work.outputs().deliverers.replace(Role::Owner);
    let owner = Arc::clone(work);
    work.threads().replace_owner(T::OWNER, move || owner.run_owner());
}

impl<T: PassOutputs> Served for T {
    fn is_stopped(&self) -> bool {
        self.has_ended()
    }

    fn is_served(&self) -> bool {
        self.outputs().deliverers.is_served()
    }

    fn servers(&self) -> [Option<Arc<HandlerState>>; 2] {
        self.outputs().deliverers.servers()
    }

    fn app_poller_is_kept(&self) {
        self.outputs().deliverers.replace(Role::Application);
    }

    fn relieve(&self) {
        self.wake_owner();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

    /// Work that passes numbers. Whoever passes 0 is replaced meanwhile; 9 makes one more output in its handler.
    #[derive(Default)]
    struct Numbers {
        outputs: OutputQueue<u32>,
        threads: Threads,
        passed: Mutex<Vec<u32>>,
        late: AtomicU32,
        is_owner_awake: AtomicBool,
    }

    impl PassOutputs for Numbers {
        type Output = u32;
        const OWNER: &'static str = "test_owner_";
        const WATCH: &'static str = "test_watch";

        fn outputs(&self) -> &OutputQueue<u32> {
            &self.outputs
        }

        fn threads(&self) -> &Threads {
            &self.threads
        }

        fn run_owner(&self) {}

        fn wake_owner(&self) {
            self.is_owner_awake.store(true, Ordering::SeqCst);
        }

        fn has_ended(&self) -> bool {
            false
        }

        fn pass(&self, output: u32) {
            lock(&self.passed).push(output);
            match output {
                0 => self.app_poller_is_kept(),
                9 => self.late.store(10, Ordering::SeqCst),
                _ => {}
            }
            // A handler that gets here again leaves the outputs to the thread that has called it.
            self.pass_outputs(Role::Owner);
        }

        fn find_outputs(&self) {
            let late = self.late.swap(0, Ordering::SeqCst);
            self.outputs.extend((late > 0).then_some(late));
        }
    }

    #[test]
    fn outputs_are_passed_in_order_by_one_thread_at_a_time() {
        for (given, expected) in [
            (&[1, 2, 3][..], &[1, 2, 3][..]),
            (&[9, 2], &[9, 2, 10]),
            // A second thread, here the same, goes on while the first is kept.
            (&[1, 0, 2, 9], &[1, 0, 2, 9, 10]),
        ] {
            let numbers = Numbers::default();
            numbers.outputs.extend(given.iter().copied());
            numbers.pass_outputs(Role::Application);
            assert_eq!(*lock(&numbers.passed), expected, "{given:?}");
            assert!(numbers.outputs.is_empty() && !numbers.is_served(), "{given:?}");
        }
    }

    #[test]
    fn a_closed_queue_takes_nothing() {
        let queue = OutputQueue::default();
        assert_eq!((queue.push(1), queue.len()), (Ok(()), 1));
        assert_eq!(queue.close(), [1]);
        queue.extend([2]);
        assert_eq!((queue.push(3), queue.len(), queue.pop()), (Err(3), 0, None));
    }
}
