//! The event queues of handlers that memory descriptors name themselves, as they do from 2.15 on.

use super::ProgramNode;
use arc_swap::ArcSwap;
use lnet_core::event::EventHandler;
use lnet_core::{EqHandle, Errno};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The queues of one node: one for each handler, by the handler's address. A queue exists until the node ends, or until
/// [`HandlerQueues::forget`].
#[derive(Default)]
pub(crate) struct HandlerQueues {
    /// Read for every memory descriptor, without a lock.
    queues: ArcSwap<HashMap<usize, EqHandle>>,
    /// The queues that new descriptors do not get any more, but others may use still. Locked while `queues` changes.
    retired: Mutex<Vec<(usize, EqHandle)>>,
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
        let _changing = self.retired();
        let mut queues = HashMap::clone(&self.queues.load());
        if let Some(eq) = queues.get(&handler) {
            return Ok(*eq);
        }
        let eq = node.eq_alloc(0, Some(make()))?;
        queues.insert(handler, eq);
        self.queues.store(queues.into());
        Ok(eq)
    }

    /// Whether new descriptors of the handler get another queue than `eq`, which may be freed.
    pub(crate) fn is_retired(&self, handler: usize, eq: EqHandle) -> bool {
        self.queues.load().get(&handler) != Some(&eq)
    }

    /// Frees the queues of a handler; new descriptors get another one. [`Errno::Busy`] while memory descriptors use one of them, and in a
    /// handler, where it does not wait for a call that runs.
    pub(crate) fn forget(&self, node: &dyn ProgramNode, handler: usize) -> Result<(), Errno> {
        let mut result = Ok(());
        // Not with the lock: it waits for a handler, which may make descriptors.
        for eq in self.retire(handler) {
            match node.eq_free(eq) {
                // Another thread has freed it.
                Ok(()) | Err(Errno::NotFound) => self.retired().retain(|(_, other)| *other != eq),
                Err(errno) => result = Err(errno),
            }
        }
        result
    }

    /// Retires the queue of a handler. Returns all its queues that are not freed.
    fn retire(&self, handler: usize) -> Vec<EqHandle> {
        let mut retired = self.retired();
        let mut queues = HashMap::clone(&self.queues.load());
        if let Some(eq) = queues.remove(&handler) {
            self.queues.store(queues.into());
            retired.push((handler, eq));
        }
        retired.iter().filter(|(other, _)| *other == handler).map(|(_, eq)| *eq).collect()
    }

    fn retired(&self) -> MutexGuard<'_, Vec<(usize, EqHandle)>> {
        self.retired.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lnet_core::{MdMemory, MdOptions, MdSpec};
    use lnet_node::{Node, StartConfig};
    use lnet_wire::Pid;

    const HANDLER: usize = 0x1000;

    #[test]
    fn new_descriptors_of_a_handler_do_not_get_a_queue_that_is_to_be_freed() {
        static BYTES: [u8; 8] = [0; 8];
        let node = Node::start(Pid::LUSTRE, StartConfig::default()).unwrap();
        let program: &dyn ProgramNode = &*node;
        let queues = HandlerQueues::default();
        let queue = || queues.queue_of(program, HANDLER, || Box::new(|_| {})).unwrap();
        let first = queue();
        assert_eq!(queue(), first);
        let spec = MdSpec {
            start: BYTES.as_ptr().expose_provenance(),
            length: 8,
            threshold: -1,
            max_size: 0,
            options: MdOptions(0),
            user_ptr: 0,
            eq: Some(first),
        };
        let memory = MdMemory::contiguous(spec.start, spec.length);
        let md = program.md_bind(spec, memory, true).unwrap();
        assert!(!queues.is_retired(HANDLER, first));
        assert_eq!(queues.forget(program, HANDLER), Err(Errno::Busy));
        assert!(queues.is_retired(HANDLER, first));
        let second = queue();
        assert_ne!(second, first);
        // The retired queue counts, too.
        assert_eq!(queues.forget(program, HANDLER), Err(Errno::Busy));
        program.md_unlink(md).unwrap();
        assert_eq!(queues.forget(program, HANDLER), Ok(()));
        for eq in [first, second] {
            assert_eq!(program.eq_get(eq).map(|_| ()), Err(Errno::NotFound));
        }
        assert_eq!(queues.forget(program, HANDLER), Ok(()));
        node.shutdown();
    }
}
