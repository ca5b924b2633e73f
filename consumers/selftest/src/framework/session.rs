//! Sessions and batches: plain state.

use super::part::{ErrorCounts, Part};
use crate::wire::{BatchId, Features, FrameworkCounters, Name, SessionId};
use lnet_api::clock::Time;
use std::sync::Arc;

/// A session of a console that this node is in.
pub(crate) struct Session {
    pub(crate) id: SessionId,
    pub(crate) name: Name,
    pub(crate) features: Features,
    /// The number of times that the console has made it; the console has to remove it as often.
    pub(crate) references: u32,
    pub(crate) made: Time,
    /// The time at which the session ends unless there is a request before; `None`: never.
    pub(crate) deadline: Option<Time>,
    pub(crate) errors: Arc<ErrorCounts>,
    pub(crate) batches: Vec<Batch>,
}

/// A batch, which the first test in it brings about.
pub(crate) struct Batch {
    pub(crate) id: BatchId,
    /// The parts in tests, in the order of arrival.
    pub(crate) parts: Vec<Part>,
}

impl Session {
    pub(crate) fn batch(&self, id: BatchId) -> Option<&Batch> {
        self.batches.iter().find(|batch| batch.id == id)
    }

    pub(crate) fn add(&mut self, id: BatchId, part: Part) {
        match self.batches.iter_mut().find(|batch| batch.id == id) {
            Some(batch) => batch.parts.push(part),
            None => self.batches.push(Batch { id, parts: vec![part] }),
        }
    }

    pub(crate) fn parts(&self) -> impl Iterator<Item = &Part> {
        self.batches.iter().flat_map(|batch| &batch.parts)
    }

    pub(crate) fn counters(&self, now: Time, zombies: usize) -> FrameworkCounters {
        let running = now.since(self.made).as_millis();
        FrameworkCounters {
            // The number wraps after 49 days, as consoles expect of 32 bits.
            running_ms: running as u32,
            active_batches: self.batches.iter().filter(|batch| batch.is_active()).count() as u32,
            zombie_sessions: zombies as u32,
            brw_errors: self.errors.brw(),
            ping_errors: self.errors.ping(),
        }
    }
}

impl Batch {
    pub(crate) fn is_active(&self) -> bool {
        self.parts.iter().any(Part::is_active)
    }

    pub(crate) fn active_parts(&self) -> u32 {
        self.parts.iter().filter(|part| part.is_active()).count() as u32
    }
}
