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
    /// The number of messages allocated in the lower half, and the number of responses to other nodes among them in the upper half.
    now: AtomicU64,
    msgs_max: AtomicU64,
}

/// A message in [`Shard::now`].
const MESSAGE: u64 = 1;
/// The mark of a message as a response in [`Shard::now`].
const RESPONSE: u64 = 1 << 32;

impl Shard {
    fn msgs_alloc(&self) -> u64 {
        self.now.load(Ordering::Relaxed) % RESPONSE
    }

    fn pending_responses(&self) -> u64 {
        self.now.load(Ordering::Relaxed) / RESPONSE
    }
}

impl MessageCounters {
    /// Counts a new message for the peer with number `peer`.
    pub(crate) fn enter(&self, peer: u64) -> ShardId {
        let number = ShardId((peer % SHARDS as u64) as u8);
        let shard = self.shard(number);
        let msgs_alloc = shard.now.fetch_add(MESSAGE, Ordering::Relaxed) % RESPONSE + 1;
        if msgs_alloc > shard.msgs_max.load(Ordering::Relaxed) {
            shard.msgs_max.fetch_max(msgs_alloc, Ordering::Relaxed);
        }
        number
    }

    /// Counts a message that is recycled.
    pub(crate) fn leave(&self, number: ShardId) {
        self.shard(number).now.fetch_sub(MESSAGE, Ordering::Relaxed);
    }

    /// Counts a message, counted already, that becomes a response.
    pub(crate) fn begin_response(&self, number: ShardId) {
        self.shard(number).now.fetch_add(RESPONSE, Ordering::Relaxed);
    }

    /// Counts a response that is recycled.
    pub(crate) fn leave_response(&self, number: ShardId) {
        self.shard(number).now.fetch_sub(RESPONSE + MESSAGE, Ordering::Relaxed);
    }

    /// Whether the number of responses has reached `limit`, and the number in this shard its share of it. The other shards
    /// are read only if this one has reached its share.
    pub(crate) fn exceeds_response_limit(&self, number: ShardId, limit: u32) -> bool {
        let limit = u64::from(limit);
        let share = limit / SHARDS as u64;
        self.shard(number).pending_responses() >= share && self.responses_in_all() >= limit
    }

    /// Whether any message is a response.
    pub(crate) fn has_responses(&self) -> bool {
        self.responses_in_all() > 0
    }

    fn responses_in_all(&self) -> u64 {
        self.shards.iter().map(Shard::pending_responses).sum()
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
        let msgs_alloc = self.shards.iter().map(Shard::msgs_alloc).sum();
        let max_of_shards: u64 = self.shards.iter().map(|shard| shard.msgs_max.load(Ordering::Relaxed)).sum();
        let msgs_max = max_of_shards.max(msgs_alloc);
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
            shard.msgs_max.store(shard.msgs_alloc(), Ordering::Relaxed);
        }
    }

    fn shard(&self, number: ShardId) -> &Shard {
        &self.shards[usize::from(number.0) % SHARDS]
    }
}
