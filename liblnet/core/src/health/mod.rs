//! The health of interfaces and paths, the resends of failed messages, and the recovery of unhealthy interfaces and paths
//! (core-behaviour 4).
//!
//! Events go into [`Health`] by methods such as `message_failed`, `heard` and `path_is_unresponsive`; due work comes
//! out of `poll_*`. [`Health`] calls neither drivers nor the rest of the node: pings to send and to end are returned
//! as [`ProbeAction`]s.
//!
//! A failure has two effects: it lowers the health values of the interfaces, as in the kernel, and it may mark paths as
//! unresponsive (`path`). A dead rail between two otherwise healthy interfaces makes only the paths over it
//! unusable; the other paths to the same peer are suspect until something is received on them (`suspect`). Unhealthy
//! interfaces and unresponsive paths are pinged until they have recovered (`recovery`, `path`).

mod ni_reports;
mod ni_states;
mod path;
mod probe;
mod reachability;
mod recovery;
mod recovery_queues;
mod repeats;
mod resend;
mod resend_queue;
pub(crate) mod response;
mod suspect;
mod suspect_paths;
mod unresponsive_paths;
mod value;

pub use crate::model::{
    Cause, CauseCounters, CauseCounts, Delivery, HealthTotals, NiState, PeerNiState, Reachability, Recovery,
    SendFailure,
};
pub(crate) use probe::{Probe, ProbeAction};
pub use reachability::PeerReachability;
pub(crate) use reachability::peer_ni_state;
pub use recovery_queues::NiKind;
pub(crate) use repeats::Repeat;
pub(crate) use resend::{Resend, ResendPlan, pause};
pub use unresponsive_paths::UnresponsivePath;

use crate::environment::time::Time;
use crate::environment::{Environment, Notify};
use crate::md::Md;
use crate::model::message::{OutgoingMessage, Pooled};
use crate::sync::{Mutex, MutexGuard, lock};
use lnet_wire::Nid;
use ni_reports::NiReports;
use ni_states::NiStates;
use recovery_queues::RecoveryQueues;
use repeats::Repeats;
use resend_queue::ResendQueue;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;
use suspect_paths::SuspectPaths;
use unresponsive_paths::UnresponsivePaths;

/// The health state of a node beyond that of each interface and peer NI. Any thread may call its methods.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// The failures of the node by cause.
    failures: CauseCounters,
    /// The number of interfaces ever added.
    numbers: AtomicU32,
    resends: AtomicU64,
    resends_succeeded: AtomicU64,
    resends_failed: AtomicU64,
    response_timeouts: AtomicU64,
    paths: UnresponsivePaths,
    suspects: SuspectPaths,
    /// One NID of each peer whose reachability may have changed.
    reachability: Mutex<BTreeSet<Nid>>,
    queues: RecoveryQueues,
    resend_queue: ResendQueue,
    repeats: Repeats,
    ni_states: NiStates,
    ni_reports: NiReports,
    /// Whether any message or MD waits for a response or a credit.
    armed: AtomicBool,
    /// The time of the next scan of everything that waits.
    next_scan: Mutex<Option<Time>>,
    /// Held by the thread that runs the monitor's work.
    running: Mutex<()>,
    wakeup: Notify,
}

impl Health {
    /// A number for an interface, different for each.
    pub(crate) fn next_number(&self) -> u32 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn reset_counters(&self) {
        self.failures.reset();
        for count in [&self.resends, &self.resends_succeeded, &self.resends_failed, &self.response_timeouts] {
            count.store(0, Ordering::Relaxed);
        }
    }

    /// The failure counters of the node, with the number of responses awaited now.
    pub(crate) fn totals(&self, responses_awaited: u64) -> HealthTotals {
        HealthTotals {
            responses_awaited,
            resends: self.resends.load(Ordering::Relaxed),
            resends_succeeded: self.resends_succeeded.load(Ordering::Relaxed),
            resends_failed: self.resends_failed.load(Ordering::Relaxed),
            response_timeouts: self.response_timeouts.load(Ordering::Relaxed),
            failures: self.failures.read(),
        }
    }
}

/// The monitor thread's work.
impl Health {
    /// Locks the monitor's work: one thread at a time.
    pub(crate) fn run(&self) -> MutexGuard<'_, ()> {
        let running = lock(&self.running);
        self.wakeup.reset();
        running
    }

    /// Takes the messages to be resent now; returns the time of the next resend.
    pub(crate) fn take_resends(&self, now: Time) -> (Vec<Pooled<OutgoingMessage>>, Option<Time>) {
        self.resend_queue.take_due(now)
    }

    /// Takes all messages to be resent, as the node shuts down.
    pub(crate) fn take_all_resends(&self) -> Vec<Pooled<OutgoingMessage>> {
        self.resend_queue.take_all()
    }

    /// Records a request that is about to be sent on its path. If the path fails the request is repeated, from `source` if
    /// that is given, provided that it may arrive twice.
    pub(crate) fn note_request(&self, env: &Environment, message: &OutgoingMessage, source: Option<Nid>) {
        self.repeats.note(message, source, env.now());
    }

    /// The requests to be sent again, each with its MD: they wait for a response on a path that `has_failed`.
    pub(crate) fn requests_to_repeat(
        &self,
        now: Time,
        has_failed: impl Fn((Nid, Nid)) -> bool,
    ) -> Vec<(Arc<Md>, Repeat)> {
        self.repeats.on_failed(now, has_failed)
    }

    /// Counts a resend.
    pub(crate) fn count_resend(&self) {
        self.resends.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts the end of a message that was resent.
    #[cold]
    pub(crate) fn count_resent(&self, result: Result<(), SendFailure>) {
        let count = if result.is_ok() { &self.resends_succeeded } else { &self.resends_failed };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether any message waits to be resent.
    pub(crate) fn has_resends(&self) -> bool {
        !self.resend_queue.is_empty()
    }

    /// Wakes the monitor thread.
    pub(crate) fn wake(&self) {
        self.wakeup.notify();
    }

    /// Waits until there is work, or `is_over`; at most `timeout`.
    pub(crate) fn wait(&self, timeout: Option<Duration>, is_over: impl Fn() -> bool) {
        self.wakeup.wait(timeout, is_over);
    }

    /// Schedules a scan, as something waits for a response or a credit.
    #[inline]
    pub(crate) fn watch(&self) {
        if !self.armed.load(Ordering::Relaxed) && !self.armed.swap(true, Ordering::Relaxed) {
            self.wake();
        }
    }

    /// Calls `scan` if it is due. A scan ends what has waited too long for a response or a credit. It is due at the earliest
    /// deadline, and twice in a transaction timeout for anything that begins to wait. `scan` returns the next deadline.
    /// Returns the time of the next scan.
    pub(crate) fn scan(
        &self,
        now: Time,
        transaction_timeout: Duration,
        scan: impl FnOnce() -> Option<Time>,
    ) -> Option<Time> {
        let pause = transaction_timeout / 2;
        let mut next = lock(&self.next_scan);
        match *next {
            Some(at) if now < at => {}
            Some(_) => {
                // The flag is cleared before the scan: anything that begins to wait during the scan is found by the next one.
                self.armed.store(false, Ordering::Relaxed);
                let late = scan();
                let again = late.is_some() || self.armed.load(Ordering::Relaxed);
                self.armed.store(again, Ordering::Relaxed);
                *next = again.then(|| late.map_or(now + pause, |late| late.min(now + pause)));
            }
            None => *next = self.armed.load(Ordering::Relaxed).then(|| now + pause),
        }
        *next
    }
}
