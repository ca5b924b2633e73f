//! The decision whether a router sends a message on while it arrives.
//!
//! A message that has been begun has to be completed, or its connection ended. So a message is begun early only where its rest can be
//! expected soon, and where both neighbours deduplicate: then nothing is lost or doubled if a connection has to be ended.

use std::sync::atomic::{AtomicU64, Ordering};

/// The fewest bytes that have arrived when a message is begun: a smaller one is received as a whole.
const MIN_ARRIVED: u32 = 64 << 10;
/// The fewest bytes that are missing when a message is begun: for fewer it is not worth while.
const MIN_MISSING: u32 = 64 << 10;

/// The counters of messages that were begun before they had arrived in full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CutThroughCounts {
    /// The number of messages that were begun.
    pub begun: u64,
    /// The payload of these messages in bytes.
    pub bytes: u64,
    /// The number of those whose rest has not arrived, or not in time.
    pub abandoned: u64,
}

/// The counters as a node keeps them. Any thread may count.
#[derive(Debug, Default)]
pub(super) struct CutThroughCounters {
    begun: AtomicU64,
    bytes: AtomicU64,
    abandoned: AtomicU64,
}

impl CutThroughCounters {
    pub(super) fn begin(&self, bytes: u32) {
        self.begun.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes.into(), Ordering::Relaxed);
    }

    pub(super) fn abandon(&self) {
        self.abandoned.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> CutThroughCounts {
        let [begun, bytes, abandoned] =
            [&self.begun, &self.bytes, &self.abandoned].map(|counter| counter.load(Ordering::Relaxed));
        CutThroughCounts { begun, bytes, abandoned }
    }

    pub(super) fn reset(&self) {
        for counter in [&self.begun, &self.bytes, &self.abandoned] {
            counter.store(0, Ordering::Relaxed);
        }
    }
}

/// The facts about a message for another node, a part of which has arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CutThroughFacts {
    /// Whether the node's settings allow it.
    pub(crate) is_on: bool,
    /// The length of the payload.
    pub(crate) length: u32,
    /// The bytes of it that have arrived.
    pub(crate) arrived: u32,
    /// Whether the previous hop waits for this node's confirmation, and sends the message again if it fails.
    pub(crate) is_confirmed: bool,
    /// Whether the last large message of the previous hop has arrived quickly.
    pub(crate) is_quick: bool,
}

/// The decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CutThroughDecision {
    /// The message is received as a whole.
    Never,
    /// More has to arrive first: this number of bytes in all.
    NotYet(u32),
    /// The message may be begun, if its next hop takes it at once.
    Begin,
}

/// Decides whether a message may be sent on before its rest has arrived.
pub(crate) const fn decide(facts: CutThroughFacts) -> CutThroughDecision {
    let CutThroughFacts { is_on, length, arrived, is_confirmed, is_quick } = facts;
    let when_begun = if arrived < MIN_ARRIVED { MIN_ARRIVED } else { arrived };
    if !is_on || !is_confirmed || !is_quick || length.saturating_sub(when_begun) < MIN_MISSING {
        CutThroughDecision::Never
    } else if arrived < when_begun {
        CutThroughDecision::NotYet(when_begun)
    } else {
        CutThroughDecision::Begin
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use CutThroughDecision::{Begin, Never, NotYet};

    #[test]
    fn a_large_message_of_a_quick_sender_that_confirms_is_begun_when_a_part_is_there() {
        const MIB: u32 = 1 << 20;
        const KIB: u32 = 1 << 10;
        // (on, length, arrived, confirmed, quick, decision)
        let table = [
            ("the first bytes", true, MIB, 100, true, true, NotYet(64 * KIB)),
            ("a part", true, MIB, 64 * KIB, true, true, Begin),
            ("most of it", true, MIB, 960 * KIB, true, true, Begin),
            ("nearly all", true, MIB, 961 * KIB, true, true, Never),
            ("all", true, MIB, MIB, true, true, Never),
            ("just large enough", true, 128 * KIB, 64 * KIB, true, true, Begin),
            ("the first bytes of that", true, 128 * KIB, 0, true, true, NotYet(64 * KIB)),
            ("the first bytes of a somewhat smaller one", true, 127 * KIB, 0, true, true, Never),
            ("small", true, 4 * KIB, KIB, true, true, Never),
            ("switched off", false, MIB, 64 * KIB, true, true, Never),
            ("from a node that does not send it again", true, MIB, 64 * KIB, false, true, Never),
            ("from a slow node, or one that is not known yet", true, MIB, 64 * KIB, true, false, Never),
        ];
        for (what, is_on, length, arrived, is_confirmed, is_quick, decision) in table {
            let facts = CutThroughFacts { is_on, length, arrived, is_confirmed, is_quick };
            assert_eq!(decide(facts), decision, "{what}");
        }
    }
}
