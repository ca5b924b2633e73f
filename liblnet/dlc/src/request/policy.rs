//! User-defined selection policy (UDSP).

use lnet_wire::{Nid, Selector};
use serde::{Deserialize, Serialize};

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
    /// Before which rule; `None` or beyond the last: at the end.
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
}

/// What the rules made of a NID.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedUdsp {
    /// Its own priority; `u32::MAX`: none.
    pub nid_priority: u32,
    /// Its net's; `u32::MAX`: none.
    pub net_priority: u32,
    /// Its preferred partners among the node's NIDs.
    pub preferred_nids: Vec<Nid>,
    /// Its preferred routers.
    pub preferred_routers: Vec<Nid>,
}
