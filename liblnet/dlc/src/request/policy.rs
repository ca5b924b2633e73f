//! User-defined selection policy (UDSP).

use lnet_wire::{Nid, Selector};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// The action of a selection rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UdspAction {
    /// Gives the NIDs or nets that match a priority: the smaller one is preferred, `u32::MAX` is none.
    Priority(u32),
    /// Makes the NIDs that match one selector the preferred partners of those that match the other.
    PreferredList,
}

/// Adds a rule. [`lnet_wire::Errno::Already`] if there is one with the same criteria and action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddUdsp {
    /// Selects interfaces of this node.
    pub src: Option<Selector>,
    /// Selects interfaces of peers.
    pub dst: Option<Selector>,
    /// Selects routers.
    pub rte: Option<Selector>,
    /// The action of the rule.
    pub action: UdspAction,
    /// The number of messages of one turn, for rules that count messages.
    #[serde(default)]
    pub messages: Option<NonZeroU32>,
    /// The index of the rule before which the new one is inserted; `None` or beyond the last: at the end.
    pub index: Option<u32>,
}

/// Deletes the rule with exactly these criteria. [`lnet_wire::Errno::NotFound`] if there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelSameUdsp {
    /// Selects interfaces of this node.
    pub src: Option<Selector>,
    /// Selects interfaces of peers.
    pub dst: Option<Selector>,
    /// Selects routers.
    pub rte: Option<Selector>,
    /// The index of the rule, if it is known; [`lnet_wire::Errno::Invalid`] if the rule has another one.
    pub index: Option<u32>,
}

/// A selection rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Udsp {
    /// The index of the rule.
    pub index: u32,
    /// Selects interfaces of this node.
    pub src: Option<Selector>,
    /// Selects interfaces of peers.
    pub dst: Option<Selector>,
    /// Selects routers.
    pub rte: Option<Selector>,
    /// The action of the rule.
    pub action: UdspAction,
    /// The number of messages of one turn, for rules that count messages.
    #[serde(default)]
    pub messages: Option<NonZeroU32>,
}

impl Udsp {
    /// The selectors `src`, `dst` and `rte`, in this order.
    pub fn criteria(&self) -> [Option<Selector>; 3] {
        [self.src.clone(), self.dst.clone(), self.rte.clone()]
    }
}

/// The effect of the selection rules on a NID.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedUdsp {
    /// The effect of the rule that matches the NID.
    pub nid: Option<GivenByUdsp>,
    /// The effect of the rule that matches its net.
    pub net: Option<GivenByUdsp>,
    /// The preferred partners of the NID among the NIDs of this node.
    pub preferred_nids: Vec<UdspPartner>,
    /// The preferred routers of the NID.
    pub preferred_routers: Vec<UdspPartner>,
}

/// The effect of a rule on what it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenByUdsp {
    /// The priority; `u32::MAX` is the lowest.
    pub priority: u32,
    /// The number of messages of one turn, for rules that count messages.
    pub messages: Option<NonZeroU32>,
    /// The index of the rule.
    pub rule: u32,
}

/// A partner that a rule prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UdspPartner {
    /// The NID of the partner.
    pub nid: Nid,
    /// The effect of the rule, with the order among the partners.
    pub given: GivenByUdsp,
}

impl AppliedUdsp {
    /// The priority of the NID; `u32::MAX`: none.
    pub fn nid_priority(&self) -> u32 {
        self.nid.map_or(u32::MAX, |given| given.priority)
    }

    /// The priority of the NID's net; `u32::MAX`: none.
    pub fn net_priority(&self) -> u32 {
        self.net.map_or(u32::MAX, |given| given.priority)
    }
}
