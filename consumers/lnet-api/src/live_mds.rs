//! Counts the descriptors of a node that have not had their last event.

use crate::sync::{lock, wait};
use std::sync::{Arc, Condvar, Mutex};

/// The number of descriptors that have not had their last event.
#[derive(Debug, Default)]
pub(crate) struct LiveMds {
    count: Mutex<usize>,
    none_left: Condvar,
}

/// A live descriptor, which is counted until the drop.
#[derive(Debug)]
pub(crate) struct LiveMd(Arc<LiveMds>);

impl LiveMds {
    pub(crate) fn add(self: &Arc<Self>) -> LiveMd {
        *lock(&self.count) += 1;
        LiveMd(Arc::clone(self))
    }

    /// Waits until no descriptor is left.
    pub(crate) fn wait_until_none(&self) {
        let mut count = lock(&self.count);
        while *count > 0 {
            count = wait(&self.none_left, count);
        }
    }
}

impl Drop for LiveMd {
    fn drop(&mut self) {
        let mut count = lock(&self.0.count);
        *count -= 1;
        if *count == 0 {
            self.0.none_left.notify_all();
        }
    }
}
