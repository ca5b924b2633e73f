//! Threads, and the tasks that they run.

use lnet_api::Errno;
use lnet_api::Node;
use lnet_api::sync::{Condition, lock};
use lnet_os::thread::JoinHandle;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// A task for a thread of the engine.
pub(crate) trait Task: Send + Sync {
    fn run(self: Arc<Self>);
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
            node.progress(|| !self.is_idle());
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
