//! Wakes the thread that waits for several requests, and names the requests to process.

use crate::clock::{Clock, Time};
use crate::lnet::Node;
use lnet_api::sync::{Condition, lock};
use std::sync::{Arc, Mutex, MutexGuard};

/// The requests of one thread that have something to process.
#[derive(Debug, Default)]
pub(crate) struct ReadyQueue {
    ready: Mutex<Vec<usize>>,
    changed: Condition,
}

/// Adds one request to the queue and wakes its thread. Any thread may call it, event handlers too.
#[derive(Clone, Debug)]
pub(crate) struct Waker {
    queue: Arc<ReadyQueue>,
    index: usize,
}

impl ReadyQueue {
    pub(crate) fn waker(self: &Arc<Self>, index: usize) -> Waker {
        Waker { queue: Arc::clone(self), index }
    }

    /// Waits until a request is ready, or until `until`; returns the ready ones, with repetitions. `node` is given the chance
    /// to make progress on this thread first.
    pub(crate) fn wait(&self, clock: &dyn Clock, until: Option<Time>, node: Option<&Node>) -> Vec<usize> {
        std::mem::take(&mut self.wait_ready(clock, until, node))
    }

    /// Waits like [`ReadyQueue::wait`], for a thread with one request.
    pub(crate) fn wait_any(&self, clock: &dyn Clock, until: Option<Time>, node: Option<&Node>) {
        self.wait_ready(clock, until, node).clear();
    }

    fn wait_ready(
        &self,
        clock: &dyn Clock,
        until: Option<Time>,
        node: Option<&Node>,
    ) -> MutexGuard<'_, Vec<usize>> {
        if let Some(node) = node {
            node.progress(|| !lock(&self.ready).is_empty());
        }
        let mut ready = lock(&self.ready);
        while ready.is_empty() && until.is_none_or(|until| clock.now() < until) {
            ready = self.changed.wait_until(clock, ready, until);
        }
        ready
    }
}

#[cfg(test)]
impl ReadyQueue {
    /// The ready requests, without waiting.
    pub(crate) fn take_ready(&self) -> Vec<usize> {
        std::mem::take(&mut lock(&self.ready))
    }
}

impl Waker {
    pub(crate) fn wake(&self) {
        let mut ready = lock(&self.queue.ready);
        if ready.last() != Some(&self.index) {
            ready.push(self.index);
        }
        drop(ready);
        self.queue.changed.notify_all();
    }
}
