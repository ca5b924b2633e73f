//! Counters of messages and bytes, and histograms of delays.

mod latencies;
mod message_counters;
mod packed_counts;

pub use latencies::Latencies;
use lnet_wire::MessageType;
pub use message_counters::Partial;
pub(crate) use message_counters::{MessageCounters, ShardId};
use packed_counts::{KindCounts, PackedCounts};

/// The outcome of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageOutcome {
    /// A driver has sent the message.
    Sent,
    /// The message was received and delivered.
    Received,
    /// The message was dropped after it was received, or after it was queued to be sent.
    Dropped,
}

/// The number of [`MessageOutcome`]s.
const OUTCOMES: usize = 3;
/// The number of kinds of messages that are counted, which are those from 0 on.
const KINDS: usize = 4;

/// The number of messages by kind and outcome, and their payload bytes by outcome.
#[derive(Debug, Default)]
pub struct Counters {
    /// By outcome, and by kind within each.
    counts: PackedCounts<{ OUTCOMES * KINDS }>,
}

/// The number of messages with one outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TypeCounts {
    /// The number of ACKs.
    pub ack: u64,
    /// The number of PUTs.
    pub put: u64,
    /// The number of GETs.
    pub get: u64,
    /// The number of REPLYs.
    pub reply: u64,
    /// The payload of all of them in bytes.
    pub bytes: u64,
}

impl TypeCounts {
    fn of(counts: &[KindCounts; OUTCOMES * KINDS], outcome: MessageOutcome) -> Self {
        let [ack, put, get, reply] = std::array::from_fn(|kind| counts[outcome as usize * KINDS + kind]);
        let bytes = [ack, put, get, reply].iter().map(|its| its.bytes).sum();
        Self { ack: ack.messages, put: put.messages, get: get.messages, reply: reply.messages, bytes }
    }

    /// The number of messages of any kind.
    pub const fn messages(&self) -> u64 {
        self.ack + self.put + self.get + self.reply
    }
}

impl std::ops::AddAssign for TypeCounts {
    fn add_assign(&mut self, other: Self) {
        self.ack += other.ack;
        self.put += other.put;
        self.get += other.get;
        self.reply += other.reply;
        self.bytes += other.bytes;
    }
}

impl Counters {
    #[inline]
    pub(crate) fn count(&self, outcome: MessageOutcome, kind: MessageType, bytes: u32) {
        if (kind as usize) < KINDS {
            self.counts.add(outcome as usize * KINDS + kind as usize, bytes);
        }
    }

    /// A snapshot of the numbers with one outcome.
    pub fn read(&self, outcome: MessageOutcome) -> TypeCounts {
        TypeCounts::of(&self.counts.read(), outcome)
    }

    /// A snapshot of the numbers of all outcomes.
    pub fn read_all(&self) -> NodeCounters {
        let counts = self.counts.read();
        NodeCounters {
            sent: TypeCounts::of(&counts, MessageOutcome::Sent),
            received: TypeCounts::of(&counts, MessageOutcome::Received),
            dropped: TypeCounts::of(&counts, MessageOutcome::Dropped),
        }
    }

    /// Sets all counters to 0.
    pub(crate) fn reset(&self) {
        self.counts.reset();
    }
}

/// The counters of the whole node (`struct lnet_counters`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeCounters {
    /// Messages sent.
    pub sent: TypeCounts,
    /// Messages received.
    pub received: TypeCounts,
    /// Messages dropped.
    pub dropped: TypeCounts,
}

/// The counters of existing and failed messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageCounts {
    /// The number of messages that exist now: being sent, arriving, or waiting.
    pub msgs_alloc: u64,
    /// The maximum number of messages since the last reset: exact with one peer; with several possibly too high,
    /// never too low, as the maxima of the shards are added.
    pub msgs_max: u64,
    /// The number of messages that ended with an error since the last reset: not sent, aborted during reception, or invalid.
    pub errors: u64,
    /// The number of messages that have arrived in part, whose senders may send them again.
    pub partial: u64,
    /// The number of such messages that were given up since the last reset: not sent again in time, or too many.
    pub partial_dropped: u64,
    /// The number of messages since the last reset whose origin was refused.
    pub origins_refused: u64,
}

impl std::ops::AddAssign for NodeCounters {
    fn add_assign(&mut self, other: Self) {
        self.sent += other.sent;
        self.received += other.received;
        self.dropped += other.dropped;
    }
}
