//! Waking the thread that waits for a set of requests, and telling it which of them have news.

use crate::lnet::Node;
use crate::sync::{lock, wait_until};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

/// What a thread waits at.
#[derive(Debug, Default)]
pub(crate) struct Wake {
    ready: Mutex<Vec<usize>>,
    news: Condvar,
}

/// Wakes it for one of its requests. From any thread, event handlers included.
#[derive(Clone, Debug)]
pub(crate) struct Waker {
    wake: Arc<Wake>,
    which: usize,
}

impl Wake {
    pub(crate) fn waker(self: &Arc<Self>, which: usize) -> Waker {
        Waker { wake: Arc::clone(self), which }
    }

    /// Waits until there is news, or until then; which of the requests have news, with repetitions. What may come at once is
    /// waited for in `node`.
    pub(crate) fn wait(&self, until: Option<Instant>, node: Option<&Node>) -> Vec<usize> {
        if let Some(node) = node {
            node.hasten(|| !lock(&self.ready).is_empty());
        }
        let mut ready = lock(&self.ready);
        while ready.is_empty() && until.is_none_or(|until| Instant::now() < until) {
            ready = wait_until(&self.news, ready, until);
        }
        std::mem::take(&mut ready)
    }
}

impl Waker {
    pub(crate) fn wake(&self) {
        let mut ready = lock(&self.wake.ready);
        if ready.last() != Some(&self.which) {
            ready.push(self.which);
        }
        drop(ready);
        self.wake.news.notify_all();
    }
}
