//! Memory of messages that the driver has kept for a while, which is used again.

use crate::sync::lock;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Maximum number of runs of memory that are kept.
const MAX_RUNS: usize = 64;
/// Maximum size of a run that is kept, in bytes.
const MAX_RUN: usize = 4096;

/// Maximum number of objects in a list.
const MAX_OBJECTS: usize = 128;
/// Maximum number of objects that are looked at before a new one is made.
const MAX_TRIES: usize = 4;

/// Objects that were made one after the other, the oldest first. Those to which nothing else refers any more are used again.
#[derive(Debug)]
pub(crate) struct SpareObjects<T>(VecDeque<Arc<T>>);

/// Memory that no payload is in. Any thread may call its methods.
#[derive(Debug, Default)]
pub(crate) struct SpareMemory(Mutex<Vec<Vec<u8>>>);

impl<T> SpareObjects<T> {
    /// Returns one of the oldest objects, which `renew` makes a new one, unless something else refers to each of them.
    pub(crate) fn take(&mut self, renew: impl FnOnce(&mut T)) -> Option<Arc<T>> {
        for _ in 0..MAX_TRIES.min(self.0.len()) {
            let mut oldest = self.0.pop_front()?;
            if let Some(object) = Arc::get_mut(&mut oldest) {
                renew(object);
                return Some(oldest);
            }
            // It may be in use for long.
            self.0.push_back(oldest);
        }
        None
    }

    /// Adds an object, which may still be in use.
    pub(crate) fn keep(&mut self, object: Arc<T>) {
        if self.0.len() < MAX_OBJECTS {
            self.0.push_back(object);
        }
    }
}

impl<T> Default for SpareObjects<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl SpareMemory {
    /// Returns `length` bytes, in memory that is at most `more` bytes larger unless it is new; `None` if the system has none.
    pub(crate) fn take(&self, length: usize, more: usize) -> Option<Vec<u8>> {
        let fits = |run: &Vec<u8>| (length..=length.saturating_add(more)).contains(&run.capacity());
        let mut bytes = {
            let mut kept = lock(&self.0);
            let at = kept.iter().rposition(fits);
            at.map_or_else(Vec::new, |at| kept.swap_remove(at))
        };
        bytes.truncate(length);
        bytes.try_reserve_exact(length - bytes.len()).ok()?;
        bytes.resize(length, 0);
        Some(bytes)
    }

    /// Keeps the memory for [`SpareMemory::take`], or frees it.
    pub(crate) fn put(&self, bytes: Vec<u8>) {
        if bytes.capacity() == 0 || bytes.capacity() > MAX_RUN {
            return;
        }
        let mut kept = lock(&self.0);
        if kept.len() < MAX_RUNS {
            kept.push(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_for_a_payload_that_it_is_not_much_too_large_for() {
        // Length of the payload before, and of the next one, and whether that gets the same memory.
        for (before, next, is_same) in
            [(8, 8, true), (8, 9, false), (100, 8, true), (1033, 8, false), (4097, 4097, false)]
        {
            let spare = SpareMemory::default();
            let bytes = spare.take(before, 1024).unwrap();
            assert_eq!(bytes.len(), before);
            let address = bytes.as_ptr();
            spare.put(bytes);
            let kept = lock(&spare.0).len();
            let bytes = spare.take(next, 1024).unwrap();
            assert_eq!(bytes.len(), next);
            let is_used_again = lock(&spare.0).len() < kept && bytes.as_ptr() == address;
            assert_eq!(is_used_again, is_same, "{before} {next}");
        }
    }

    #[test]
    fn an_object_is_used_again_once_nothing_else_refers_to_it() {
        let mut spare = SpareObjects::default();
        let (first, second) = (Arc::new(1), Arc::new(2));
        spare.keep(Arc::clone(&first));
        spare.keep(Arc::clone(&second));
        drop(second);
        let mut take = || spare.take(|object| *object += 10).map(|object| *object);
        assert_eq!((take(), take()), (Some(12), None));
        drop(first);
        assert_eq!((take(), take()), (Some(11), None));
    }

    #[test]
    fn no_more_than_a_number_of_objects_is_kept() {
        let mut spare = SpareObjects::default();
        (0..2 * MAX_OBJECTS).for_each(|object| spare.keep(Arc::new(object)));
        assert_eq!(spare.0.len(), MAX_OBJECTS);
    }

    #[test]
    fn no_more_than_a_number_of_runs_is_kept() {
        let spare = SpareMemory::default();
        (0..2 * MAX_RUNS).for_each(|_| spare.put(vec![0; 8]));
        assert_eq!(lock(&spare.0).len(), MAX_RUNS);
    }
}
