//! What the node shows of a program: who it is, and what was done for it.

use super::deferred_acks::DeferredAcks;
use super::memory::{Fetches, MappedMemory};
use super::objects::Objects;
use super::reports::Reports;
use super::requests::RequestsUnderWay;
use super::rings::RingMemory;
use lnet_core::Errno;
use lnet_core::time::Time;
use lnet_dlc::request::{AttachedProgram, ProgramCounts, RingFill};
use lnet_ring::Fill;
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number that one thread changes and any may read: it costs the thread no more than one of its own.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    /// Adds one. For the one thread that changes the number.
    pub(super) fn increment(&self) {
        self.set(self.value() + 1);
    }

    /// Changes the number. For the one thread that does.
    pub(super) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    pub(super) fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What the thread of a program has done.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Operations that it has carried out.
    pub(super) operations: Count,
    /// Those of them that ended with an error.
    pub(super) refused: Count,
    /// Times that somebody woke it while it slept: the program, but for the end of the attachment.
    pub(super) wakeups: Count,
    /// Times that it has woken the program, which waited for room in the ring of operations.
    pub(super) room_wakeups: Count,
}

impl Counts {
    /// Counts an operation with this result. For the thread of the program.
    pub(super) fn note_operation<T>(&self, result: &Result<T, Errno>) {
        self.operations.increment();
        if result.is_err() {
            self.refused.increment();
        }
    }
}

/// Who a program is.
#[derive(Debug)]
pub(super) struct Identity {
    pub(super) name: String,
    pub(super) process: Option<u32>,
    pub(super) user: Option<u32>,
}

/// A program that is attached. Any thread may look.
pub(super) struct Status {
    pub(super) identity: Identity,
    pub(super) since: Time,
    pub(super) operations: Fill<RingMemory>,
    pub(super) reports: Fill<RingMemory>,
    pub(super) counts: Arc<Counts>,
    pub(super) told: Arc<Reports>,
    pub(super) objects: Arc<Objects>,
    pub(super) fetches: Arc<Fetches>,
    pub(super) acks: Arc<DeferredAcks>,
    pub(super) under_way: Arc<RequestsUnderWay>,
    pub(super) mapped: Arc<MappedMemory>,
}

impl Status {
    /// What there is to show at this time.
    pub(super) fn show(&self, now: Time) -> AttachedProgram {
        let Identity { name, process, user } = &self.identity;
        let Counts { operations, refused, wakeups, room_wakeups } = &*self.counts;
        let told = self.told.counts();
        let objects = self.objects.counts();
        let fill = |ring: &Fill<_>| RingFill { in_use: ring.in_use(), bytes: ring.capacity() };
        AttachedProgram {
            name: name.clone(),
            process: *process,
            user: *user,
            pid: self.fetches.pid().0,
            seconds: now.since(self.since).as_secs(),
            registered_bytes: self.mapped.bytes(),
            payload: objects.made,
            operations_ring: fill(&self.operations),
            reports_ring: fill(&self.reports),
            counts: ProgramCounts {
                operations: operations.value(),
                refused: refused.value(),
                reports: told.reports,
                delayed_reports: told.delayed,
                node_wakeups: wakeups.value(),
                program_wakeups: told.wakeups + room_wakeups.value(),
            },
            mes: objects.mes,
            mds: objects.mds,
            claims: objects.claims,
            waiting_gets: self.fetches.waiting(),
            waiting_acks: self.acks.waiting(),
            waiting_requests: self.under_way.held(),
        }
    }
}

impl Debug for Status {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Status").field("identity", &self.identity).finish_non_exhaustive()
    }
}
