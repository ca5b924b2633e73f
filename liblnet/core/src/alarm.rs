//! What a thread of the node's waits for when it has nothing to do.

use crate::sync::{Condvar, Mutex, lock};
use std::time::{Duration, Instant};

/// Rung by any thread; heard by the one that waits, now or when it waits next.
#[derive(Debug, Default)]
pub(crate) struct Alarm {
    rung: Mutex<bool>,
    ringing: Condvar,
}

impl Alarm {
    pub(crate) fn ring(&self) {
        *lock(&self.rung) = true;
        self.ringing.notify_all();
    }

    /// What has been rung for is being done.
    pub(crate) fn reset(&self) {
        *lock(&self.rung) = false;
    }

    /// Waits until it rings, or `is_over` when somebody rings to have that looked at; at most so long.
    pub(crate) fn wait(&self, timeout: Option<Duration>, is_over: impl Fn() -> bool) {
        let give_up = timeout.map(|timeout| Instant::now() + timeout);
        let mut rung = lock(&self.rung);
        while !*rung && !is_over() {
            rung = match give_up {
                None => self.ringing.wait(rung).unwrap_or_else(|poisoned| poisoned.into_inner()),
                Some(give_up) => {
                    let left = give_up.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return;
                    }
                    self.ringing.wait_timeout(rung, left).unwrap_or_else(|poisoned| poisoned.into_inner()).0
                }
            };
        }
    }
}
