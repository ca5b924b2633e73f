//! How often what went wrong (dbg-020).

use super::Cause;
use std::sync::atomic::{AtomicU64, Ordering};

/// Failures by their cause.
#[derive(Debug, Default)]
pub struct CauseCounters([AtomicU64; Cause::ALL.len()]);

/// What [`CauseCounters`] held at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CauseCounts([u64; Cause::ALL.len()]);

/// The whole node's numbers beside those of its interfaces and peers (`struct lnet_counters_health`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HealthTotals {
    /// Answers that are waited for now.
    pub responses_awaited: u64,
    /// Messages sent again.
    pub resends: u64,
    /// Answers that did not come in time.
    pub response_timeouts: u64,
    /// Messages that failed, each attempt by itself.
    pub failures: CauseCounts,
}

impl CauseCounters {
    pub(crate) fn count(&self, cause: Cause) {
        if let Some(counter) = self.0.get(cause as usize - 1) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The numbers as they are at this moment.
    pub fn read(&self) -> CauseCounts {
        CauseCounts(std::array::from_fn(|at| self.0[at].load(Ordering::Relaxed)))
    }

    pub(crate) fn reset(&self) {
        self.0.iter().for_each(|counter| counter.store(0, Ordering::Relaxed));
    }
}

impl CauseCounts {
    /// How often this.
    pub const fn of(&self, cause: Cause) -> u64 {
        self.0[cause as usize - 1]
    }
}
