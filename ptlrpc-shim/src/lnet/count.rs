//! How many descriptors have not had their last event.

use crate::sync::{lock, wait};
use std::sync::{Arc, Condvar, Mutex};

/// Counts what is there.
#[derive(Debug, Default)]
pub(super) struct Count {
    there: Mutex<usize>,
    gone: Condvar,
}

/// One of those that are counted, until it is dropped.
#[derive(Debug)]
pub(super) struct Counted(Arc<Count>);

impl Count {
    pub(super) fn one(self: &Arc<Self>) -> Counted {
        *lock(&self.there) += 1;
        Counted(Arc::clone(self))
    }

    /// Waits until none is there.
    pub(super) fn wait_for_none(&self) {
        let mut there = lock(&self.there);
        while *there > 0 {
            there = wait(&self.gone, there);
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut there = lock(&self.0.there);
        *there -= 1;
        if *there == 0 {
            self.0.gone.notify_all();
        }
    }
}
