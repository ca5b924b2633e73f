//! How healthy interfaces and paths are, what is done with messages that fail, and how what is unhealthy recovers
//! (core-behaviour 4).
//!
//! [`Health`] is told what happens (`message_failed`, `heard`, `path_is_unresponsive`) and asked what is due (`poll_*`). It
//! calls neither drivers nor the rest of the node: pings that are to be sent, and those that are to be ended, it returns as
//! [`ProbeAction`]s.
//!
//! Two things are remembered of a failure: the health of the interfaces, as in the kernel, and beyond it which
//! paths are unresponsive (`path`): a dead rail between two interfaces that are healthy in all other respects takes nothing
//! but the paths over it out of use; the others to the same peer are suspect until something is heard on them
//! (`suspect`). What is unhealthy is pinged until it has recovered (`recovery`, `path`).

mod path;
mod probe;
mod reachability;
mod recovery;
mod recovery_queues;
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
pub use recovery_queues::NiKind;
pub(crate) use resend::{Resend, ResendContext, ResendPlan, pause};
pub use unresponsive_paths::UnresponsivePath;

use crate::environment::Notify;
use crate::environment::time::Time;
use crate::model::message::Message;
use crate::sync::{Mutex, MutexGuard, lock};
use lnet_wire::Nid;
use recovery_queues::RecoveryQueues;
use resend_queue::ResendQueue;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;
use suspect_paths::SuspectPaths;
use unresponsive_paths::UnresponsivePaths;

/// What a node knows of its health beside what each interface and peer NI keeps. Any thread may call.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// Failures of the whole node.
    failures: CauseCounters,
    /// Interfaces that there have been.
    numbers: AtomicU32,
    resends: AtomicU64,
    response_timeouts: AtomicU64,
    paths: UnresponsivePaths,
    suspects: SuspectPaths,
    /// Peers, by any of their NIDs, whose reachability may have changed.
    reachability: Mutex<BTreeSet<Nid>>,
    queues: RecoveryQueues,
    resend_queue: ResendQueue,
    /// Something waits, for a response or a credit.
    armed: AtomicBool,
    /// When all that waits is looked through next.
    next_scan: Mutex<Option<Time>>,
    /// Held by the thread that does the monitor's work.
    running: Mutex<()>,
    wakeup: Notify,
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

    /// What went wrong on the whole node, which awaits so many responses now.
    pub(crate) fn totals(&self, responses_awaited: u64) -> HealthTotals {
        HealthTotals {
            responses_awaited,
            resends: self.resends.load(Ordering::Relaxed),
            response_timeouts: self.response_timeouts.load(Ordering::Relaxed),
            failures: self.failures.read(),
        }
    }
}

/// The monitor thread's work.
impl Health {
    /// The right to do it: one thread at a time.
    pub(crate) fn run(&self) -> MutexGuard<'_, ()> {
        let running = lock(&self.running);
        self.wakeup.reset();
        running
    }

    /// Takes the messages whose time to be sent again has come; when the next is to go.
    #[allow(clippy::vec_box, reason = "boxes are what drivers give and take")]
    pub(crate) fn take_resends(&self, now: Time) -> (Vec<Box<Message>>, Option<Time>) {
        self.resend_queue.take_due(now)
    }

    /// Takes all of them: the node is ending.
    #[allow(clippy::vec_box, reason = "boxes are what drivers give and take")]
    pub(crate) fn take_all_resends(&self) -> Vec<Box<Message>> {
        self.resend_queue.take_all()
    }

    /// Whether any message is to be sent again later.
    pub(crate) fn has_resends(&self) -> bool {
        !self.resend_queue.is_empty()
    }

    /// Has the monitor thread look for work now.
    pub(crate) fn wake(&self) {
        self.wakeup.notify();
    }

    /// Waits until there is work, or `is_over`; at most so long.
    pub(crate) fn wait(&self, timeout: Option<Duration>, is_over: impl Fn() -> bool) {
        self.wakeup.wait(timeout, is_over);
    }

    /// Something waits that must not wait for ever.
    pub(crate) fn watch(&self) {
        if !self.armed.load(Ordering::Relaxed) && !self.armed.swap(true, Ordering::Relaxed) {
            self.wake();
        }
    }

    /// Has `scan` end what has waited too long for a response or for a credit, if it is time: when the first of what waits is
    /// late, and twice in a transaction time-out for what begins to wait. `scan` says when the next of what waits is late.
    /// When the next scan is.
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
                // Before the look: what begins to wait meanwhile is seen by the next one.
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
