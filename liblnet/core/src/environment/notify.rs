//! Waking one of the node's threads when it has work.

use crate::sync::{Condvar, Mutex, lock};
use std::time::{Duration, Instant};

/// A notification of one thread by any thread. The thread that waits, now or later, is woken once.
#[derive(Debug, Default)]
pub(crate) struct Notify {
    notified: Mutex<bool>,
    condvar: Condvar,
}

impl Notify {
    pub(crate) fn notify(&self) {
        *lock(&self.notified) = true;
        self.condvar.notify_all();
    }

    /// Discards earlier notifications, because the thread checks for work now.
    pub(crate) fn reset(&self) {
        *lock(&self.notified) = false;
    }

    /// Waits for a notification, or until `is_over` holds, which is checked after each wake-up; at most `timeout`.
    pub(crate) fn wait(&self, timeout: Option<Duration>, is_over: impl Fn() -> bool) {
        let give_up = timeout.map(|timeout| Instant::now() + timeout);
        let mut notified = lock(&self.notified);
        while !*notified && !is_over() {
            notified = match give_up {
                None => self.condvar.wait(notified).unwrap_or_else(|poisoned| poisoned.into_inner()),
                Some(give_up) => {
                    let left = give_up.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return;
                    }
                    self.condvar
                        .wait_timeout(notified, left)
                        .unwrap_or_else(|poisoned| poisoned.into_inner())
                        .0
                }
            };
        }
    }
}
