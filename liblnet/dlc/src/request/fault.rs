//! Fault rules, which drop or delay messages on purpose (core-behaviour 10.4).

use lnet_wire::NidPattern;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// The two kinds of fault rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// Rules that drop messages, or make their sending fail.
    Drop,
    /// Rules that delay messages.
    Delay,
}

/// A fault rule. A message matches if all of `source`, `dest`, `local`, `messages` and `portals` do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultRule {
    /// The source NIDs of the messages.
    pub source: NidPattern,
    /// The destination NIDs of the messages.
    pub dest: NidPattern,
    /// The NIDs of this node by which the messages leave or arrive.
    pub local: NidPattern,
    /// The types of the messages, as bits: ACK 1, PUT 2, GET 4, REPLY 8; 0: all.
    pub messages: u32,
    /// The portals of the messages: bit n is portal n; 0: all. With any other value only PUTs and GETs match.
    pub portals: u64,
    /// The share of the matching messages that the rule hits.
    pub odds: FaultOdds,
    /// The effect on the messages that are hit.
    pub effect: FaultEffect,
}

/// The share of the matching messages that a rule hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultOdds {
    /// One message of each window of this many.
    OneIn(NonZeroU32),
    /// One message in each interval of this many milliseconds.
    OnePerMs(u64),
    /// Each message with a chance of one half; the interval in milliseconds is only shown.
    HalfMs(u64),
}

/// The effect of a rule on the messages that it hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultEffect {
    /// The message is dropped, or its sending fails.
    Drop {
        /// The causes of which one fails the sending: bit n is number n of the health status (core-behaviour 4.2).
        /// 0: the message is dropped on arrival.
        errors: u32,
        /// Whether every matching message is hit, whatever the share, on arrival and on sending.
        all: bool,
    },
    /// The message is delayed.
    Delay {
        /// The delay in milliseconds.
        latency_ms: u64,
    },
}

/// Deletes the fault rules of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelFaults {
    /// The kind of the rules to delete.
    pub kind: FaultKind,
    /// The source that the rules must have; `None`: any.
    pub source: Option<NidPattern>,
    /// The destination that the rules must have; `None`: any.
    pub dest: Option<NidPattern>,
}

/// A fault rule and its counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The rule.
    pub rule: FaultRule,
    /// The counters of the rule.
    pub counts: FaultCounts,
}

/// The messages that a rule has seen since it was created or reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultCounts {
    /// Messages that matched the rule.
    pub matched: u64,
    /// Messages that the rule dropped or delayed.
    pub hit: u64,
    /// PUTs that the rule dropped or delayed.
    pub put: u64,
    /// ACKs that the rule dropped or delayed.
    pub ack: u64,
    /// GETs that the rule dropped or delayed.
    pub get: u64,
    /// REPLYs that the rule dropped or delayed.
    pub reply: u64,
}

impl FaultRule {
    /// The kind of the rule, which follows from its effect.
    pub const fn kind(&self) -> FaultKind {
        match self.effect {
            FaultEffect::Drop { .. } => FaultKind::Drop,
            FaultEffect::Delay { .. } => FaultKind::Delay,
        }
    }
}
