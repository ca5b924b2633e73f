//! How well interfaces are, what is done with messages that fail, and how what is sick gets well (core-behaviour 4).
//!
//! A failure comes in at `send`, which asks here: `value` says who is blamed, `resend` whether and when the message goes
//! out again. Two things are remembered of a failure: the health of the interfaces, as in the kernel, and beyond it which
//! paths are unresponsive (`path`): a dead rail between two interfaces that are well in all other respects takes nothing
//! but the paths over it out of use; the others to the same peer are suspect until something is heard on them
//! (`suspect`). What is sick is tried with pings until it is well (`recovery`, `path`), and who never answers is given up
//! (`response`), all of it in [`Core::run_monitor`].

mod fatal;
mod monitor;
mod path;
mod reachability;
mod recovery;
mod resend;
pub(crate) mod response;
mod suspect;
mod value;

pub use crate::model::{
    Cause, CauseCounters, CauseCounts, Delivery, HealthTotals, NiState, PeerNiState, Reachability, Recovery,
    SendFailure,
};
pub use path::UnresponsivePath;
pub use reachability::PeerReachability;
pub use recovery::NiKind;
pub(crate) use resend::pause;

use crate::credit::Epochs;
use crate::environment::Notify;
use crate::environment::time::Time;
use crate::sync::Mutex;
use path::UnresponsivePaths;
use reachability::Pending;
use recovery::Queues;
use resend::Later;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use suspect::SuspectPaths;

/// What a node knows of its health beside what each interface knows of its own.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// Failures of the whole node.
    failures: CauseCounters,
    /// Interfaces that there have been.
    numbers: AtomicU32,
    resends: AtomicU64,
    response_timeouts: AtomicU64,
    pub(crate) paths: UnresponsivePaths,
    suspects: SuspectPaths,
    reachability: Pending,
    queues: Queues,
    later: Later,
    /// Something waits, for an answer or a credit.
    armed: AtomicBool,
    /// When interfaces' credits are taken back from messages that are not over.
    pub(crate) ni_credits: Epochs,
    /// When all that waits is looked through next.
    next_scan: Mutex<Option<Time>>,
    /// Held by the thread that is in [`crate::Core::run_monitor`].
    running: Mutex<()>,
    pub(crate) wakeup: Notify,
}

impl Health {
    /// For an interface, to tell it from others.
    pub(crate) fn next_number(&self) -> u32 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn reset_counters(&self) {
        self.failures.reset();
        self.resends.store(0, Ordering::Relaxed);
        self.response_timeouts.store(0, Ordering::Relaxed);
    }

    fn totals(&self, responses_awaited: u64) -> HealthTotals {
        HealthTotals {
            responses_awaited,
            resends: self.resends.load(Ordering::Relaxed),
            response_timeouts: self.response_timeouts.load(Ordering::Relaxed),
            failures: self.failures.read(),
        }
    }
}
