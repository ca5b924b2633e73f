//! The events of a transfer machine, between LNet's threads and the thread that delivers them (motr-net 7.2).
//!
//! An operation reserves space for all of its events before it begins, and releases it when the last of them has been taken
//! out. So there is always space, and adding an event allocates nothing.

use super::budget::Budget;
use crate::Errno;
use crate::sync::{AtomicUsize, Mutex, Ordering, lock};
use std::collections::VecDeque;
use std::sync::Arc;

/// The most events of one operation for which space is reserved: beyond that the ring grows when they come.
const MAX_RESERVED: usize = 4096;

/// The events in the order in which they came.
#[derive(Debug)]
pub struct EventRing<E> {
    inner: Mutex<SharedRing<E>>,
    /// The number of events, which can be read without the lock.
    count: AtomicUsize,
    /// The budget of events that all rings of a domain share.
    budget: Arc<Budget>,
}

#[derive(Debug)]
struct SharedRing<E> {
    events: VecDeque<E>,
    /// The number of events that the operations in progress may still cause.
    reserved: usize,
}

impl<E> Default for EventRing<E> {
    /// An empty ring without a limit.
    fn default() -> Self {
        Self::new(Arc::default())
    }
}

impl<E> EventRing<E> {
    /// An empty ring, whose reserved events count towards `budget`.
    pub fn new(budget: Arc<Budget>) -> Self {
        let inner = Mutex::new(SharedRing { events: VecDeque::new(), reserved: 0 });
        Self { inner, count: AtomicUsize::new(0), budget }
    }

    /// Reserves space for the events of an operation. `ENOSPC`: the budget is exhausted; `ENOMEM`: memory is.
    pub fn reserve(&self, events: usize) -> Result<(), Errno> {
        let events = events.min(MAX_RESERVED);
        self.budget.take(events)?;
        let mut inner = lock(&self.inner);
        let reserved = inner.reserved + events;
        let missing = reserved.saturating_sub(inner.events.len());
        if inner.events.try_reserve(missing).is_err() {
            self.budget.give(events);
            return Err(Errno::NoMemory);
        }
        inner.reserved = reserved;
        Ok(())
    }

    /// Releases the space of an operation, which has ended, or did not begin.
    pub fn release(&self, events: usize) {
        let events = events.min(MAX_RESERVED);
        self.budget.give(events);
        let mut inner = lock(&self.inner);
        inner.reserved = inner.reserved.saturating_sub(events);
    }

    /// Adds an event. Called by LNet's threads: never blocks for long.
    pub fn push(&self, event: E) {
        let mut inner = lock(&self.inner);
        inner.events.push_back(event);
        self.count.store(inner.events.len(), Ordering::Release);
    }

    /// Removes the oldest event.
    pub fn pop(&self) -> Option<E> {
        if self.is_empty() {
            return None;
        }
        let mut inner = lock(&self.inner);
        let event = inner.events.pop_front();
        self.count.store(inner.events.len(), Ordering::Release);
        event
    }

    /// Whether the ring has no events now.
    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// The number of events that fit without allocating; for tests.
    #[cfg(all(test, not(loom)))]
    fn capacity(&self) -> usize {
        lock(&self.inner).events.capacity()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn events_come_out_in_order() {
        let ring = EventRing::default();
        assert!(ring.is_empty() && ring.pop().is_none());
        (0..5).for_each(|n| ring.push(n));
        assert!(!ring.is_empty());
        assert_eq!(std::iter::from_fn(|| ring.pop()).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        assert!(ring.is_empty());
    }

    #[test]
    fn a_program_that_wants_very_many_messages_in_a_buffer_does_not_get_the_memory_at_once() {
        let ring = EventRing::<u64>::default();
        ring.reserve(usize::MAX).unwrap();
        assert!(ring.capacity() < 4 * MAX_RESERVED);
        ring.release(usize::MAX);
    }

    proptest! {
        /// Operations begin and end; each has at most as many events as it has reserved.
        #[test]
        fn no_event_ever_lacks_room(steps in prop::collection::vec((0_usize..6, 1_usize..9), 1..80)) {
            let ring = EventRing::default();
            let mut running: Vec<usize> = vec![];
            for (step, amount) in steps {
                if step < 3 {
                    ring.reserve(amount).unwrap();
                    running.push(amount);
                } else if let Some(need) = running.pop() {
                    let before = ring.capacity();
                    (0..need).for_each(|n| ring.push(n));
                    prop_assert_eq!(ring.capacity(), before);
                    if step == 3 {
                        // The event has not been removed: its space stays reserved.
                        running.insert(0, 0);
                        let _ = ring.pop();
                        ring.reserve(1).unwrap();
                    } else {
                        while ring.pop().is_some() {}
                        ring.release(need);
                    }
                }
            }
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    /// Two threads of LNet add events while another one removes them.
    #[test]
    fn no_event_is_lost_or_seen_twice_whatever_the_order_of_threads() {
        loom::model(|| {
            let ring = Arc::new(EventRing::default());
            ring.reserve(2).unwrap();
            let producers: Vec<_> = [1, 2]
                .into_iter()
                .map(|event| {
                    let ring = Arc::clone(&ring);
                    thread::spawn(move || ring.push(event))
                })
                .collect();
            let mut taken: Vec<_> = std::iter::from_fn(|| ring.pop()).collect();
            producers.into_iter().for_each(|producer| producer.join().unwrap());
            taken.extend(std::iter::from_fn(|| ring.pop()));
            taken.sort_unstable();
            assert_eq!(taken, [1, 2]);
            assert!(ring.is_empty());
        });
    }

    /// `is_empty` does not take the lock: an event whose presence it reports can be removed.
    #[test]
    fn an_event_that_is_pending_can_be_delivered() {
        loom::model(|| {
            let ring = Arc::new(EventRing::default());
            ring.reserve(1).unwrap();
            let producer = {
                let ring = Arc::clone(&ring);
                thread::spawn(move || ring.push(7))
            };
            if !ring.is_empty() {
                assert_eq!(ring.pop(), Some(7));
            }
            producer.join().unwrap();
        });
    }
}
