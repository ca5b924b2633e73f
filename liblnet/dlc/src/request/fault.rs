//! Rules that lose or delay messages on purpose (core-behaviour 10.4).

use lnet_wire::NidPattern;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// What rules do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// Lose messages, or make it fail to send them.
    Drop,
    /// Make them late.
    Delay,
}

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultRule {
    /// Whose messages.
    pub source: NidPattern,
    /// The destination NIDs.
    pub dest: NidPattern,
    /// By which interface of the node they leave or come in.
    pub local: NidPattern,
    /// Which kinds: ACK 1, PUT 2, GET 4, REPLY 8; 0 is all.
    pub messages: u32,
    /// To which portals: bit n is portal n; 0 is all. With any other, PUTs and GETs only.
    pub portals: u64,
    /// How many of them.
    pub odds: FaultOdds,
    /// What happens to the messages that are hit.
    pub effect: FaultEffect,
}

/// How many of the messages that a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultOdds {
    /// One of each window of this many messages.
    OneIn(NonZeroU32),
    /// One in each interval of this many milliseconds.
    OnePerMs(u64),
    /// Half of them, by chance; the interval in milliseconds is only shown.
    HalfMs(u64),
}

/// What happens to messages that are hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultEffect {
    /// They are lost.
    Drop {
        /// They fail on their way out, by one of these causes: bit n is number n of the health status (core-behaviour
        /// 4.2). 0: they are lost on arrival.
        errors: u32,
        /// All of them whatever the odds, both on arrival and on their way out.
        all: bool,
    },
    /// They are late by so many milliseconds.
    Delay {
        /// So many.
        latency_ms: u64,
    },
}

/// Deletes rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelFaults {
    /// Of which kind.
    pub kind: FaultKind,
    /// With this source; `None`: with any.
    pub source: Option<NidPattern>,
    /// With this destination; `None`: with any.
    pub dest: Option<NidPattern>,
}

/// A rule and what it has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The rule.
    pub rule: FaultRule,
    /// What it has done.
    pub counts: FaultCounts,
}

/// Messages that a rule has seen since it was made, or reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultCounts {
    /// That it was about.
    pub matched: u64,
    /// That it lost or delayed.
    pub hit: u64,
    /// PUTs among those.
    pub put: u64,
    /// ACKs among those.
    pub ack: u64,
    /// GETs among those.
    pub get: u64,
    /// REPLYs among those.
    pub reply: u64,
}

impl FaultRule {
    /// Its kind.
    pub const fn kind(&self) -> FaultKind {
        match self.effect {
            FaultEffect::Drop { .. } => FaultKind::Drop,
            FaultEffect::Delay { .. } => FaultKind::Delay,
        }
    }
}
