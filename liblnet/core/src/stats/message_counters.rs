//! How many messages a node has, counted so that threads with different peers do not meet at a counter.

use super::MessageCounts;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Groups that peers are divided into. More make threads meet less often and the maximum less exact.
const SHARDS: usize = 16;

/// Counts messages from when they are made to when they are put away.
#[derive(Debug, Default)]
pub(crate) struct MessageCounters {
    shards: [Shard; SHARDS],
    /// Written only when something goes wrong.
    errors: AtomicU64,
}

/// Which shard counts a message; it stays with the message, whatever peer that goes to in the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShardId(u8);

/// On cache lines of its own: two, because processors fetch them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard {
    msgs_alloc: AtomicI64,
    msgs_max: AtomicI64,
    /// of those allocated, answers to other nodes.
    answers: AtomicI64,
}

impl MessageCounters {
    /// Counts a message that is made for the peer that came as the `peer`th.
    pub(crate) fn enter(&self, peer: u64) -> ShardId {
        let number = ShardId((peer % SHARDS as u64) as u8);
        let shard = self.shard(number);
        let msgs_alloc = shard.msgs_alloc.fetch_add(1, Ordering::Relaxed) + 1;
        if msgs_alloc > shard.msgs_max.load(Ordering::Relaxed) {
            shard.msgs_max.fetch_max(msgs_alloc, Ordering::Relaxed);
        }
        number
    }

    /// Counts that it is put away.
    pub(crate) fn leave(&self, number: ShardId) {
        self.shard(number).msgs_alloc.fetch_sub(1, Ordering::Relaxed);
    }

    /// One of those counted is an answer now.
    pub(crate) fn answers(&self, number: ShardId) {
        self.shard(number).answers.fetch_add(1, Ordering::Relaxed);
    }

    /// And is over.
    pub(crate) fn answered(&self, number: ShardId) {
        self.shard(number).answers.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether there are `limit` answers in all, and in this shard its share of these. The other shards are looked at only
    /// when this one has its share.
    pub(crate) fn is_answering_too_much(&self, number: ShardId, limit: u32) -> bool {
        let limit = i64::from(limit);
        let share = limit / SHARDS as i64;
        self.shard(number).answers.load(Ordering::Relaxed) >= share && self.answers_in_all() >= limit
    }

    /// Whether any of those allocated is an answer.
    pub(crate) fn has_answers(&self) -> bool {
        self.answers_in_all() > 0
    }

    fn answers_in_all(&self) -> i64 {
        self.shards.iter().map(|shard| shard.answers.load(Ordering::Relaxed)).sum()
    }

    /// Counts something that went wrong.
    pub(crate) fn error(&self) {
        self.errors.fetch_add(1, Ordering::Relaxed);
    }

    /// The numbers as they are at this moment.
    pub(crate) fn read(&self) -> MessageCounts {
        let sum = |of: fn(&Shard) -> &AtomicI64| -> u64 {
            let sum: i64 = self.shards.iter().map(|shard| of(shard).load(Ordering::Relaxed)).sum();
            u64::try_from(sum).unwrap_or(0)
        };
        let msgs_alloc = sum(|shard| &shard.msgs_alloc);
        let msgs_max = sum(|shard| &shard.msgs_max).max(msgs_alloc);
        MessageCounts { msgs_alloc, msgs_max, errors: self.errors.load(Ordering::Relaxed) }
    }

    /// Begins anew: no errors, and never more messages than now.
    pub(crate) fn reset(&self) {
        self.errors.store(0, Ordering::Relaxed);
        for shard in &self.shards {
            shard.msgs_max.store(shard.msgs_alloc.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    fn shard(&self, number: ShardId) -> &Shard {
        &self.shards[usize::from(number.0) % SHARDS]
    }
}
