//! Event queues by their handles.

use super::Objects;
use crate::event::{EventHandler, EventQueue};
use crate::memory::EqHandle;
use lnet_wire::Errno;
use std::sync::Arc;

impl Objects {
    /// Creates an event queue. Its ring holds `count` events (rounded up to a power of two); with 0 it has no ring.
    /// [`Errno::Invalid`] without ring and handler, [`Errno::NoMemory`].
    pub(crate) fn add_queue(&self, count: u32, handler: Option<EventHandler>) -> Result<EqHandle, Errno> {
        let queue = Arc::new(EventQueue::new(count, handler)?);
        let mut handle = None;
        self.queues.insert(|place| {
            handle = Some(EqHandle::new(place));
            queue
        })?;
        handle.ok_or(Errno::NoMemory)
    }

    /// The queue with this handle. [`Errno::NotFound`] if it does not exist.
    pub(crate) fn queue(&self, eq: EqHandle) -> Result<Arc<EventQueue>, Errno> {
        self.queues.get(eq.place()).ok_or(Errno::NotFound)
    }

    /// Removes the queue; threads that wait on it get `errno`. [`Errno::NotFound`] if it does not exist.
    pub(crate) fn remove_queue(&self, eq: EqHandle, errno: Errno) -> Result<(), Errno> {
        self.queues.remove(eq.place()).ok_or(Errno::NotFound)?.end(errno);
        Ok(())
    }
}
