//! Threads, and the tasks that they run.
//!
//! A thread that makes progress for the node runs the short tasks of an event itself, in the event's handler: no thread has to be woken,
//! and the messages that the tasks of several events send leave together. A task that adds tasks, as the events of a message to this node
//! itself do, adds them to the queue: handlers would be called in handlers without end.

use lnet_api::Errno;
use lnet_api::Node;
use lnet_api::sync::{Condition, lock};
use lnet_os::thread::JoinHandle;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// A task for a thread of the engine.
pub(crate) trait Task: Send + Sync {
    fn run(self: Arc<Self>);
}

/// The state of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Here {
    /// The thread runs no tasks in event handlers.
    Elsewhere,
    /// The thread makes progress for a node, and may run tasks.
    Progressing,
    /// The thread runs a task in an event handler.
    Running,
}

thread_local! {
    static HERE: Cell<Here> = const { Cell::new(Here::Elsewhere) };
    /// The short tasks of the event that is being handled.
    static SHORT: RefCell<Vec<Arc<dyn Task>>> = const { RefCell::new(Vec::new()) };
}

/// Handles an event, then runs its short tasks if this thread may: without the locks that `handle` has taken.
pub(crate) fn with_short_tasks(handle: impl FnOnce()) {
    handle();
    if HERE.get() != Here::Progressing {
        return;
    }
    while let Some(task) = SHORT.with_borrow_mut(Vec::pop) {
        HERE.set(Here::Running);
        task.run();
        HERE.set(Here::Progressing);
    }
}

/// Tasks that wait for a thread. Any thread may add some, event handlers too.
#[derive(Default)]
pub(crate) struct TaskQueue {
    tasks: Mutex<Tasks>,
    changed: Condition,
}

#[derive(Default)]
struct Tasks {
    queue: VecDeque<Arc<dyn Task>>,
    /// Whether a thread makes progress for the node: it takes the next task, so that none has to be woken for that.
    is_progressing: bool,
    is_closed: bool,
}

impl TaskQueue {
    pub(crate) fn push(&self, task: Arc<dyn Task>) {
        let mut tasks = lock(&self.tasks);
        tasks.queue.push_back(task);
        let is_progressing = tasks.is_progressing;
        drop(tasks);
        if !is_progressing {
            self.changed.notify_one();
        }
    }

    /// Adds a task that takes no longer than the sending of a small message. Called inside [`with_short_tasks`], or anywhere else.
    pub(crate) fn push_short(&self, task: Arc<dyn Task>) {
        match HERE.get() {
            Here::Progressing => SHORT.with_borrow_mut(|short| short.push(task)),
            Here::Elsewhere | Here::Running => self.push(task),
        }
    }

    fn is_idle(&self) -> bool {
        let tasks = lock(&self.tasks);
        tasks.queue.is_empty() && !tasks.is_closed
    }

    /// The next task. While there is none, one thread makes progress for `node`, if that is given. `None`: the queue is closed and empty.
    fn next(&self, node: Option<&Node>) -> Option<Arc<dyn Task>> {
        let mut tasks = lock(&self.tasks);
        if let Some(node) = node
            && tasks.queue.is_empty()
            && !tasks.is_closed
            && !tasks.is_progressing
        {
            tasks.is_progressing = true;
            drop(tasks);
            HERE.set(Here::Progressing);
            node.progress(|| !self.is_idle());
            HERE.set(Here::Elsewhere);
            tasks = lock(&self.tasks);
            tasks.is_progressing = false;
        }
        loop {
            if let Some(task) = tasks.queue.pop_front() {
                let is_last = tasks.queue.is_empty();
                drop(tasks);
                if !is_last {
                    self.changed.notify_one();
                }
                return Some(task);
            }
            if tasks.is_closed {
                return None;
            }
            tasks = self.changed.wait(tasks);
        }
    }

    fn close(&self) {
        lock(&self.tasks).is_closed = true;
        self.changed.notify_all();
    }
}

/// Threads that run the tasks of queues.
#[derive(Default)]
pub(crate) struct Workers(Mutex<Vec<(Arc<TaskQueue>, JoinHandle<()>)>>);

impl Workers {
    /// Starts threads for a queue, which make progress for `node` while they have nothing else to do.
    pub(crate) fn start(
        &self,
        name: &str,
        count: usize,
        queue: &Arc<TaskQueue>,
        node: Option<&Arc<Node>>,
    ) -> Result<(), Errno> {
        for _ in 0..count {
            let (its, node) = (Arc::clone(queue), node.map(Arc::clone));
            let run = move || {
                while let Some(task) = its.next(node.as_deref()) {
                    task.run();
                }
            };
            let thread = lnet_os::thread::spawn(thread::Builder::new().name(name.to_owned()), run)
                .map_err(|_| Errno::NoMemory)?;
            lock(&self.0).push((Arc::clone(queue), thread));
        }
        Ok(())
    }

    /// Ends the threads after the queued tasks. Must not be called on one of them.
    pub(crate) fn stop(&self) {
        let threads = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for (queue, _) in &threads {
            queue.close();
        }
        for (_, thread) in threads {
            // A thread that panicked has logged it.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Notes its name, and adds a task if it has one.
    struct Noted {
        name: &'static str,
        notes: Arc<Mutex<Vec<&'static str>>>,
        adds: Option<(Arc<TaskQueue>, Arc<Self>)>,
    }

    impl Task for Noted {
        fn run(self: Arc<Self>) {
            lock(&self.notes).push(self.name);
            if let Some((queue, task)) = &self.adds {
                with_short_tasks(|| queue.push_short(Arc::clone(task) as Arc<dyn Task>));
            }
        }
    }

    /// Fails if a short task runs while its event is handled, which may hold locks; if one that a task adds runs inside that; or if a
    /// thread that does not make progress runs one.
    #[test]
    fn short_tasks_run_behind_their_event_on_a_thread_that_makes_progress() {
        let (queue, notes) = (Arc::<TaskQueue>::default(), Arc::<Mutex<Vec<_>>>::default());
        let task = |name, adds| Arc::new(Noted { name, notes: Arc::clone(&notes), adds });
        let second = task("second", None);
        let first = task("first", Some((Arc::clone(&queue), Arc::clone(&second))));
        HERE.set(Here::Progressing);
        with_short_tasks(|| {
            queue.push_short(Arc::clone(&first) as Arc<dyn Task>);
            assert!(lock(&notes).is_empty());
        });
        assert_eq!(*lock(&notes), ["first"]);
        assert!(!queue.is_idle(), "the second waits in the queue");
        let waiting = lock(&queue.tasks).queue.pop_front();
        waiting.unwrap().run();
        assert_eq!(*lock(&notes), ["first", "second"]);
        HERE.set(Here::Elsewhere);
        with_short_tasks(|| queue.push_short(second as Arc<dyn Task>));
        assert_eq!(lock(&notes).len(), 2);
        assert!(!queue.is_idle());
    }
}
