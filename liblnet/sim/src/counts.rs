//! Counts of messages, failures and discovery.

use crate::digest::Purpose;
use crate::trace::NodeId;
use lnet_core::Cause;
use std::collections::BTreeMap;

/// Counts for the whole network, and for each pair of nodes unless there are too many.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Messages sent, by [`Purpose`].
    pub by_purpose: [u64; 7],
    /// Messages that were lost.
    pub lost: u64,
    /// Pushes that were lost.
    pub lost_pushes: u64,
    /// Messages that were returned to their senders, each attempt counted.
    pub failed: u64,
    /// The same messages by cause, in the order of [`Cause::ALL`].
    pub by_cause: [u64; Cause::ALL.len()],
    /// Connections that broke.
    pub breaks: u64,
    /// Messages that arrived again and were recognised as duplicates.
    pub deduplicated: u64,
    /// Connections that were given up by one of their ends.
    pub pairs_ended: u64,
    /// Messages that had to wait for a buffer.
    pub holds: u64,
    /// Messages that routers began to send before they had arrived.
    pub begun_early: u64,
    /// The same, of those that did not arrive in time or at all.
    pub abandoned: u64,
    pairs: Option<BTreeMap<(NodeId, NodeId), Exchange>>,
}

/// Discovery messages of one node to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exchange {
    /// Pings from the one to the other.
    pub pings: u32,
    /// Pushes from the one to the other.
    pub pushes: u32,
    /// Replies to those pings that arrived.
    pub replies: u32,
}

impl Counts {
    pub(crate) fn new(pairs: bool) -> Self {
        Self { pairs: pairs.then(BTreeMap::new), ..Self::default() }
    }

    pub(crate) fn sent(&mut self, from: NodeId, to: Option<NodeId>, purpose: Purpose) {
        self.by_purpose[purpose as usize] += 1;
        if let (Some(to), Some(pairs)) = (to, &mut self.pairs) {
            match purpose {
                Purpose::Ping => pairs.entry((from, to)).or_default().pings += 1,
                Purpose::Push => pairs.entry((from, to)).or_default().pushes += 1,
                _ => {}
            }
        }
    }

    pub(crate) fn arrived(&mut self, from: NodeId, to: NodeId, purpose: Purpose) {
        if let (Purpose::PingReply, Some(pairs)) = (purpose, &mut self.pairs) {
            pairs.entry((to, from)).or_default().replies += 1;
        }
    }

    /// Messages sent for this purpose.
    pub const fn of(&self, purpose: Purpose) -> u64 {
        self.by_purpose[purpose as usize]
    }

    /// Messages sent for any purpose.
    pub fn messages(&self) -> u64 {
        self.by_purpose.iter().sum()
    }

    /// Pings and pushes.
    pub const fn discovery(&self) -> u64 {
        self.of(Purpose::Ping) + self.of(Purpose::Push)
    }

    /// The discovery messages of `from` to `to`.
    pub fn between(&self, from: NodeId, to: NodeId) -> Exchange {
        self.pairs.as_ref().and_then(|pairs| pairs.get(&(from, to))).copied().unwrap_or_default()
    }
}
