//! Message counters, in shards so that threads with different peers do not contend for a counter.

use super::MessageCounts;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// The number of shards. With more of them threads contend less, and the maximum is less exact.
const SHARDS: usize = 16;

/// Counts messages from their creation until they are recycled.
#[derive(Debug, Default)]
pub(crate) struct MessageCounters {
    shards: [Shard; SHARDS],
    /// Written only when something fails.
    errors: AtomicU64,
}

/// The shard in which a message is counted; it stays the same if the message goes to another peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShardId(u8);

/// Two cache lines, as processors fetch them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard {
    msgs_alloc: AtomicI64,
    msgs_max: AtomicI64,
    /// Of those allocated, responses to other nodes.
    answers: AtomicI64,
}

impl MessageCounters {
    /// Counts a new message for the peer with number `peer`.
    pub(crate) fn enter(&self, peer: u64) -> ShardId {
        let number = ShardId((peer % SHARDS as u64) as u8);
        let shard = self.shard(number);
        let msgs_alloc = shard.msgs_alloc.fetch_add(1, Ordering::Relaxed) + 1;
        if msgs_alloc > shard.msgs_max.load(Ordering::Relaxed) {
            shard.msgs_max.fetch_max(msgs_alloc, Ordering::Relaxed);
        }
        number
    }

    /// The message is recycled.
    pub(crate) fn leave(&self, number: ShardId) {
        self.shard(number).msgs_alloc.fetch_sub(1, Ordering::Relaxed);
    }

    /// A counted message becomes a response.
    pub(crate) fn answers(&self, number: ShardId) {
        self.shard(number).answers.fetch_add(1, Ordering::Relaxed);
    }

    /// The response has ended.
    pub(crate) fn answered(&self, number: ShardId) {
        self.shard(number).answers.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether there are `limit` responses in all, and in this shard its share of them. The other shards are read
    /// only if this one has its share.
    pub(crate) fn is_answering_too_much(&self, number: ShardId, limit: u32) -> bool {
        let limit = i64::from(limit);
        let share = limit / SHARDS as i64;
        self.shard(number).answers.load(Ordering::Relaxed) >= share && self.answers_in_all() >= limit
    }

    /// Whether any message is a response.
    pub(crate) fn has_answers(&self) -> bool {
        self.answers_in_all() > 0
    }

    fn answers_in_all(&self) -> i64 {
        self.shards.iter().map(|shard| shard.answers.load(Ordering::Relaxed)).sum()
    }

    /// Counts a failure.
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

    /// Resets: no errors, and a maximum of the current number.
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
