//! Wakes the thread that waits for several requests, and names the requests to process.

use crate::clock::{Clock, Time};
use crate::lnet::Node;
use lnet_api::sync::{Condition, lock};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// The requests of one thread that have something to process.
#[derive(Debug, Default)]
pub(crate) struct ReadyQueue {
    ready: Mutex<Vec<usize>>,
    /// Whether a request is ready, for looks without the lock. Who sets it has the lock.
    is_ready: AtomicBool,
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
            node.progress(|| self.is_ready.load(Ordering::Acquire));
        }
        let mut ready = lock(&self.ready);
        while ready.is_empty() && until.is_none_or(|until| clock.now() < until) {
            ready = self.changed.wait_until(clock, ready, until);
        }
        // The caller takes all.
        self.is_ready.store(false, Ordering::Release);
        ready
    }
}

#[cfg(test)]
impl ReadyQueue {
    /// The ready requests, without waiting.
    pub(crate) fn take_ready(&self) -> Vec<usize> {
        self.is_ready.store(false, Ordering::Release);
        std::mem::take(&mut lock(&self.ready))
    }
}

impl Waker {
    /// The queue of the request's thread.
    pub(crate) fn queue(&self) -> &ReadyQueue {
        &self.queue
    }

    /// Makes this one wake what `other` does.
    pub(crate) fn set_to(&mut self, other: &Self) {
        self.index = other.index;
        // Mostly it is the same queue: then no reference has to be counted.
        if !Arc::ptr_eq(&self.queue, &other.queue) {
            self.queue = Arc::clone(&other.queue);
        }
    }

    pub(crate) fn wake(&self) {
        let mut ready = lock(&self.queue.ready);
        if ready.last() != Some(&self.index) {
            ready.push(self.index);
        }
        self.queue.is_ready.store(true, Ordering::Release);
        drop(ready);
        self.queue.changed.notify_all();
    }
}
