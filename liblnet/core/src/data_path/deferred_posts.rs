//! Messages of deeply nested handlers: the monitor thread sends them, or the thread that posted them when it has left its
//! handlers, whichever comes first. So no handler delays a message that another waits for.

use super::DataPath;
use crate::event::{handler_depth, in_handler};
use crate::model::message::OutgoingMessage;
use crate::model::message::Pooled;
use crate::sync::{Mutex, lock};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

/// The depth of nested handlers from which their messages are sent by another thread: each handler needs stack space.
const MAX_DEPTH: u32 = 8;

/// The deferred messages, in the order in which they were posted.
#[derive(Debug, Default)]
pub(crate) struct DeferredPosts {
    any: AtomicBool,
    queue: Mutex<VecDeque<Pooled<OutgoingMessage>>>,
}

impl DataPath {
    /// Keeps the message if its handler is nested too deep; returns it otherwise.
    #[inline(always)]
    pub(crate) fn defer_post(&self, message: Pooled<OutgoingMessage>) -> Option<Pooled<OutgoingMessage>> {
        if handler_depth() < MAX_DEPTH {
            return Some(message);
        }
        {
            let mut queue = lock(&self.deferred_posts.queue);
            queue.push_back(message);
            self.deferred_posts.any.store(true, Ordering::Release);
        }
        self.health.wake();
        None
    }

    /// Sends the deferred messages, unless the thread is in a handler.
    #[inline(always)]
    pub(crate) fn send_deferred(&self) {
        if !self.deferred_posts.any.load(Ordering::Acquire) || in_handler() {
            return;
        }
        while let Some(message) = self.next_deferred() {
            self.post_now(message);
        }
    }

    fn next_deferred(&self) -> Option<Pooled<OutgoingMessage>> {
        let mut queue = lock(&self.deferred_posts.queue);
        let next = queue.pop_front();
        self.deferred_posts.any.store(!queue.is_empty(), Ordering::Release);
        next
    }
}
