//! The event queues of handlers that memory descriptors name themselves, as they do from 2.15 on.

use super::ProgramNode;
use arc_swap::ArcSwap;
use lnet_core::event::EventHandler;
use lnet_core::{EqHandle, Errno};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The queues of one node: one for each handler, by the handler's address. A queue exists until the node ends, or until
/// [`HandlerQueues::forget`].
#[derive(Default)]
pub(crate) struct HandlerQueues {
    /// Read for every memory descriptor, without a lock.
    queues: ArcSwap<HashMap<usize, EqHandle>>,
    /// Held while a queue is added or removed.
    changing: Mutex<()>,
}

impl HandlerQueues {
    /// The queue of a handler, which is made if there is none.
    pub(crate) fn queue_of(
        &self,
        node: &dyn ProgramNode,
        handler: usize,
        make: impl FnOnce() -> EventHandler,
    ) -> Result<EqHandle, Errno> {
        if let Some(eq) = self.queues.load().get(&handler) {
            return Ok(*eq);
        }
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut queues = HashMap::clone(&self.queues.load());
        if let Some(eq) = queues.get(&handler) {
            return Ok(*eq);
        }
        let eq = node.eq_alloc(0, Some(make()))?;
        queues.insert(handler, eq);
        self.queues.store(queues.into());
        Ok(eq)
    }

    /// Frees the queue of a handler: [`Errno::Busy`] while memory descriptors use it, and in a handler, where it does not wait.
    pub(crate) fn forget(&self, node: &dyn ProgramNode, handler: usize) -> Result<(), Errno> {
        let Some(eq) = self.queues.load().get(&handler).copied() else { return Ok(()) };
        // Not with the lock: it waits for a handler, which may make descriptors.
        node.eq_free(eq)?;
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut queues = HashMap::clone(&self.queues.load());
        if queues.get(&handler) == Some(&eq) {
            queues.remove(&handler);
            self.queues.store(queues.into());
        }
        Ok(())
    }
}
