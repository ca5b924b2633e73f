//! Event queues by their handles.

use super::Objects;
use crate::event::EventQueue;
use crate::memory::{EqHandle, TableOf};
use lnet_wire::Errno;
use std::sync::Arc;

impl Objects {
    /// Gives an event queue a handle. [`Errno::NoMemory`] if there are too many.
    pub(crate) fn add_queue(&self, queue: EventQueue) -> Result<EqHandle, Errno> {
        let queue = Arc::new(queue);
        let mut handle = None;
        self.queues.insert_in_turn(|place| {
            handle = Some(EqHandle::new(place));
            queue
        })?;
        handle.ok_or(Errno::NoMemory)
    }

    /// The queue with this handle. [`Errno::NotFound`] if it does not exist.
    pub(crate) fn queue(&self, eq: EqHandle) -> Result<Arc<EventQueue>, Errno> {
        self.queues.get(eq.place()).ok_or(Errno::NotFound)
    }

    /// The table that has the queue with this handle, for a short access to it. [`Errno::NotFound`] if there is none.
    #[inline]
    pub(crate) fn queues_with(&self, eq: EqHandle) -> Result<TableOf<'_, Arc<EventQueue>>, Errno> {
        self.queues.table_of(eq.place()).ok_or(Errno::NotFound)
    }

    /// Removes the queue; threads that wait on it get `errno`. [`Errno::NotFound`] if it does not exist.
    pub(crate) fn remove_queue(&self, eq: EqHandle, errno: Errno) -> Result<(), Errno> {
        self.queues.remove(eq.place()).ok_or(Errno::NotFound)?.end(errno);
        Ok(())
    }
}
