//! Messages of handlers that are nested too deep: the monitor thread sends them, or the thread that posted them when it has left its
//! handlers, whichever comes first. So no handler keeps back what another waits for.

use super::Core;
use crate::event::{handler_depth, in_handler};
use crate::model::message::Message;
use crate::sync::{Mutex, lock};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

/// The depth of nested handlers beyond which their messages are sent by another thread: each needs room on the stack.
const MAX_DEPTH: u32 = 8;

/// What is to be sent, in order.
#[derive(Debug, Default)]
pub(crate) struct DeferredPosts {
    any: AtomicBool,
    queue: Mutex<VecDeque<Box<Message>>>,
}

impl Core {
    /// Keeps a message that a handler sends which is nested too deep; the others come back.
    pub(super) fn defer_post(&self, message: Box<Message>) -> Option<Box<Message>> {
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

    /// Sends what was deferred, unless the thread is in a handler.
    pub(super) fn send_deferred(&self) {
        if !self.deferred_posts.any.load(Ordering::Acquire) || in_handler() {
            return;
        }
        while let Some(message) = self.next_deferred() {
            self.post_now(message);
        }
    }

    fn next_deferred(&self) -> Option<Box<Message>> {
        let mut queue = lock(&self.deferred_posts.queue);
        let next = queue.pop_front();
        self.deferred_posts.any.store(!queue.is_empty(), Ordering::Release);
        next
    }
}
