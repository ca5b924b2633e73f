//! Message counters, in shards so that threads with different peers do not contend for a counter.

use super::MessageCounts;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// The number of shards. With more of them threads contend less, and the maximum is less exact.
const SHARDS: usize = 16;

/// The counters of messages from their creation until they are recycled.
#[derive(Debug, Default)]
pub(crate) struct MessageCounters {
    shards: [Shard; SHARDS],
    /// The number of failures; written only when one occurs.
    errors: AtomicU64,
    origins_refused: AtomicU64,
    /// The number of partial messages that are kept. It may be below 0 for a moment.
    partial: AtomicI64,
    partial_dropped: AtomicU64,
}

/// A change of a message that has arrived in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partial {
    /// The message is kept until its sender sends it again.
    Kept,
    /// The sender sends the message again.
    Resumed,
    /// The message is given up: it was not sent again in time, there are too many, or its interface is removed.
    GivenUp,
}

/// The shard in which a message is counted; it stays the same if the message goes to another peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShardId(u8);

/// A shard of the counters. It fills two cache lines, as processors fetch them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard {
    msgs_alloc: AtomicI64,
    msgs_max: AtomicI64,
    /// The number of responses to other nodes among the messages allocated.
    pending_responses: AtomicI64,
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

    /// Counts a message that is recycled.
    pub(crate) fn leave(&self, number: ShardId) {
        self.shard(number).msgs_alloc.fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts a message, counted already, that becomes a response.
    pub(crate) fn begin_response(&self, number: ShardId) {
        self.shard(number).pending_responses.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a response that has ended.
    pub(crate) fn end_response(&self, number: ShardId) {
        self.shard(number).pending_responses.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether the number of responses has reached `limit`, and the number in this shard its share of it. The other shards
    /// are read only if this one has reached its share.
    pub(crate) fn exceeds_response_limit(&self, number: ShardId, limit: u32) -> bool {
        let limit = i64::from(limit);
        let share = limit / SHARDS as i64;
        self.shard(number).pending_responses.load(Ordering::Relaxed) >= share
            && self.responses_in_all() >= limit
    }

    /// Whether any message is a response.
    pub(crate) fn has_responses(&self) -> bool {
        self.responses_in_all() > 0
    }

    fn responses_in_all(&self) -> i64 {
        self.shards.iter().map(|shard| shard.pending_responses.load(Ordering::Relaxed)).sum()
    }

    /// Counts a failure.
    pub(crate) fn error(&self) {
        self.errors.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a message with an origin that was refused.
    pub(crate) fn origin_refused(&self) {
        self.origins_refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a change of a message that has arrived in part.
    pub(crate) fn partial(&self, change: Partial) {
        match change {
            Partial::Kept => self.partial.fetch_add(1, Ordering::Relaxed),
            Partial::Resumed | Partial::GivenUp => self.partial.fetch_sub(1, Ordering::Relaxed),
        };
        if change == Partial::GivenUp {
            self.partial_dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns a snapshot of the counters.
    pub(crate) fn read(&self) -> MessageCounts {
        let sum = |of: fn(&Shard) -> &AtomicI64| -> u64 {
            let sum: i64 = self.shards.iter().map(|shard| of(shard).load(Ordering::Relaxed)).sum();
            u64::try_from(sum).unwrap_or(0)
        };
        let msgs_alloc = sum(|shard| &shard.msgs_alloc);
        let msgs_max = sum(|shard| &shard.msgs_max).max(msgs_alloc);
        let now = |count: &AtomicU64| count.load(Ordering::Relaxed);
        MessageCounts {
            msgs_alloc,
            msgs_max,
            errors: now(&self.errors),
            partial: u64::try_from(self.partial.load(Ordering::Relaxed)).unwrap_or(0),
            partial_dropped: now(&self.partial_dropped),
            origins_refused: now(&self.origins_refused),
        }
    }

    /// Resets the errors to 0, and the maximum to the current number.
    pub(crate) fn reset(&self) {
        for count in [&self.errors, &self.partial_dropped, &self.origins_refused] {
            count.store(0, Ordering::Relaxed);
        }
        for shard in &self.shards {
            shard.msgs_max.store(shard.msgs_alloc.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    fn shard(&self, number: ShardId) -> &Shard {
        &self.shards[usize::from(number.0) % SHARDS]
    }
}
