//! User-defined selection policy (UDSP).

use lnet_wire::{Nid, Selector};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UdspAction {
    /// Gives what matches a priority; smaller is preferred, `u32::MAX` is none.
    Priority(u32),
    /// Makes what matches on one side the preferred partners of what matches on the other.
    PreferredList,
}

/// Adds a rule. [`lnet_wire::Errno::Already`] for one that is there with the same action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddUdsp {
    /// Interfaces of this node.
    pub src: Option<Selector>,
    /// Other nodes'.
    pub dst: Option<Selector>,
    /// Routers.
    pub rte: Option<Selector>,
    /// What it does.
    pub action: UdspAction,
    /// The messages of a turn, if it counts them.
    #[serde(default)]
    pub messages: Option<NonZeroU32>,
    /// Before which rule; `None` or beyond the last: at the end.
    pub index: Option<u32>,
}

/// Deletes the rule about exactly this. [`lnet_wire::Errno::NotFound`] if there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelSameUdsp {
    /// Interfaces of this node.
    pub src: Option<Selector>,
    /// Other nodes'.
    pub dst: Option<Selector>,
    /// Routers.
    pub rte: Option<Selector>,
    /// Its place, if that is known: another one is [`lnet_wire::Errno::Invalid`].
    pub index: Option<u32>,
}

/// A rule as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Udsp {
    /// Its place.
    pub index: u32,
    /// Interfaces of this node.
    pub src: Option<Selector>,
    /// Other nodes'.
    pub dst: Option<Selector>,
    /// Routers.
    pub rte: Option<Selector>,
    /// What it does.
    pub action: UdspAction,
    /// The messages of a turn, if it counts them.
    #[serde(default)]
    pub messages: Option<NonZeroU32>,
}

impl Udsp {
    /// src, dst and rte.
    pub fn criteria(&self) -> [Option<Selector>; 3] {
        [self.src.clone(), self.dst.clone(), self.rte.clone()]
    }
}

/// What the rules made of a NID.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedUdsp {
    /// What one gave it.
    pub nid: Option<GivenByUdsp>,
    /// What one gave its net.
    pub net: Option<GivenByUdsp>,
    /// Its preferred partners among the node's NIDs.
    pub preferred_nids: Vec<UdspPartner>,
    /// Its preferred routers.
    pub preferred_routers: Vec<UdspPartner>,
}

/// What a rule gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenByUdsp {
    /// The priority; `u32::MAX` is the lowest.
    pub priority: u32,
    /// The messages of a turn, if they are counted.
    pub messages: Option<NonZeroU32>,
    /// The place of the rule.
    pub rule: u32,
}

/// A partner that a rule names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UdspPartner {
    /// The partner.
    pub nid: Nid,
    /// Its place among the partners.
    pub given: GivenByUdsp,
}

impl AppliedUdsp {
    /// The priority of the NID; `u32::MAX`: none.
    pub fn nid_priority(&self) -> u32 {
        self.nid.map_or(u32::MAX, |given| given.priority)
    }

    /// The priority of its net; `u32::MAX`: none.
    pub fn net_priority(&self) -> u32 {
        self.net.map_or(u32::MAX, |given| given.priority)
    }
}
