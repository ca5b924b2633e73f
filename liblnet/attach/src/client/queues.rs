//! The event queues of a program by their handles.

use lnet_core::event::EventQueue;
use lnet_core::{EqHandle, Errno};
use std::sync::Arc;

/// The low bits of the cookies of queues, as in a node of this process. The place in the list is above them, and above that a number that no
/// other queue has.
const QUEUE: u64 = 3;
const PLACE_SHIFT: u32 = 2;
const NUMBER_SHIFT: u32 = 24;
/// The most queues at a time.
const MAX_QUEUES: usize = 1 << (NUMBER_SHIFT - PLACE_SHIFT);

/// Queues, each at a place of its own.
#[derive(Debug, Default)]
pub(super) struct Queues {
    places: Vec<Option<(EqHandle, Arc<EventQueue>)>>,
    /// Places without a queue.
    free: Vec<usize>,
    /// The number of queues that there have been.
    begun: u64,
}

impl Queues {
    /// Gives a queue a handle. [`Errno::NoMemory`] if there are too many.
    pub(super) fn insert(&mut self, queue: Arc<EventQueue>) -> Result<EqHandle, Errno> {
        let place = self.free.pop().unwrap_or(self.places.len());
        if place >= MAX_QUEUES {
            return Err(Errno::NoMemory);
        }
        self.begun += 1;
        let handle =
            EqHandle::from_cookie(self.begun << NUMBER_SHIFT | (place as u64) << PLACE_SHIFT | QUEUE);
        let entry = Some((handle, queue));
        match self.places.get_mut(place) {
            Some(free) => *free = entry,
            None => self.places.push(entry),
        }
        Ok(handle)
    }

    /// The queue with this handle. [`Errno::NotFound`] if there is none.
    #[inline]
    pub(super) fn find(&self, handle: EqHandle) -> Result<&Arc<EventQueue>, Errno> {
        match self.places.get(place_of(handle)) {
            Some(Some((found, queue))) if *found == handle => Ok(queue),
            _ => Err(Errno::NotFound),
        }
    }

    /// Takes the queue with this handle. [`Errno::NotFound`] if there is none.
    pub(super) fn remove(&mut self, handle: EqHandle) -> Result<Arc<EventQueue>, Errno> {
        let place = place_of(handle);
        let entry = self.places.get_mut(place).ok_or(Errno::NotFound)?;
        let (_, queue) = entry.take_if(|(found, _)| *found == handle).ok_or(Errno::NotFound)?;
        self.free.push(place);
        Ok(queue)
    }

    /// All queues.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<EventQueue>> {
        self.places.iter().flatten().map(|(_, queue)| queue)
    }
}

const fn place_of(handle: EqHandle) -> usize {
    // Below the most queues, which fits.
    (handle.cookie() >> PLACE_SHIFT) as usize & (MAX_QUEUES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue() -> Arc<EventQueue> {
        Arc::new(EventQueue::new(1, None).unwrap())
    }

    #[test]
    fn a_handle_finds_its_queue_and_never_the_next_one_at_that_place() {
        let mut queues = Queues::default();
        let [one, other] = [queue(), queue()];
        let handles = [&one, &other].map(|queue| queues.insert(Arc::clone(queue)).unwrap());
        assert!(Arc::ptr_eq(queues.find(handles[0]).unwrap(), &one));
        assert!(Arc::ptr_eq(&queues.remove(handles[0]).unwrap(), &one));
        let next = queues.insert(queue()).unwrap();
        assert_eq!(place_of(next), place_of(handles[0]));
        for gone in [handles[0], EqHandle::from_cookie(0), EqHandle::from_cookie(u64::MAX)] {
            assert_eq!(queues.find(gone).err(), Some(Errno::NotFound), "{gone:?}");
            assert_eq!(queues.remove(gone).err(), Some(Errno::NotFound), "{gone:?}");
        }
        assert!(queues.find(next).is_ok() && Arc::ptr_eq(queues.find(handles[1]).unwrap(), &other));
        assert_eq!(queues.all().count(), 2);
    }
}
