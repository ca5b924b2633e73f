//! Failure counters (dbg-020).

use super::Cause;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of failures by cause. Any thread may count.
#[derive(Debug, Default)]
pub struct CauseCounters([AtomicU64; Cause::ALL.len()]);

/// A snapshot of [`CauseCounters`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CauseCounts([u64; Cause::ALL.len()]);

/// The counters of the node that are not those of an interface or a peer (`struct lnet_counters_health`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HealthTotals {
    /// Responses awaited now.
    pub responses_awaited: u64,
    /// Resends of messages.
    pub resends: u64,
    /// Messages that were resent and were sent in the end.
    pub resends_succeeded: u64,
    /// Messages that were resent and were given up in the end.
    pub resends_failed: u64,
    /// Responses that did not arrive in time.
    pub response_timeouts: u64,
    /// Failed messages, each attempt counted.
    pub failures: CauseCounts,
}

impl CauseCounters {
    pub(crate) fn count(&self, cause: Cause) {
        if let Some(counter) = self.0.get(cause as usize - 1) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns a snapshot of all counters.
    pub fn read(&self) -> CauseCounts {
        CauseCounts(std::array::from_fn(|at| self.0[at].load(Ordering::Relaxed)))
    }

    pub(crate) fn reset(&self) {
        self.0.iter().for_each(|counter| counter.store(0, Ordering::Relaxed));
    }
}

impl CauseCounts {
    /// The number of failures with this cause.
    pub const fn of(&self, cause: Cause) -> u64 {
        self.0[cause as usize - 1]
    }
}
