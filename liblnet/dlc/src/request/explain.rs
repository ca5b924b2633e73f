//! Explanation of path selection: the path that a message would take, and why it would take no other.

use super::PeerReachability;
use lnet_wire::{NetId, Nid};
use serde::{Deserialize, Serialize};

/// Requests the explanation for a destination. Nothing is sent, and no peer is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explain {
    /// The destination NID.
    pub destination: Nid,
    /// The NID of this node that the message would be sent from; `None`: any, as LNet selects.
    pub source: Option<Nid>,
}

/// The path that a message would take, and the candidates that were not chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// The peer's primary NID.
    pub primary: Nid,
    /// Whether the peer is multi-rail: any of its NIDs may be used in place of another.
    pub multi_rail: bool,
    /// Whether the node knows the peer. An unknown peer is treated as one with a single NID.
    pub known: bool,
    /// The NID of this node that the message would be sent from.
    pub local: Nid,
    /// The NID of the peer that the message would be sent to.
    pub remote: Nid,
    /// The NID of the gateway that the message would be sent to first; `None`: both nodes are on the same net.
    #[serde(default)]
    pub gateway: Option<Nid>,
    /// The candidates that were not chosen: gateways, nets of the peer, nets on which the gateway is reached,
    /// interfaces of this node, of the gateway, then of the peer.
    pub passed_over: Vec<PassedOver>,
    /// The selection rules that apply to the path.
    #[serde(default)]
    pub rules: Vec<RuleOfWay>,
    /// The reachability of the peer, if the node reports it.
    #[serde(default)]
    pub reachability: Option<PeerReachability>,
    /// The fault of the chosen path, if it has one and there is no better path.
    #[serde(default)]
    pub remark: Option<String>,
}

/// A selection rule that applies to the path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleOfWay {
    /// The part of the path that the rule applies to, such as `local net`.
    pub about: String,
    /// The index of the rule.
    pub index: u32,
    /// The effect of the rule, such as `priority 0`.
    pub gives: String,
}

/// A candidate that was not chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassedOver {
    /// The candidate.
    pub candidate: Passed,
    /// The first criterion by which the candidate was worse than the chosen one, with both values.
    pub why: String,
}

/// A candidate of path selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Passed {
    /// A net of the peer, or a net on which the chosen gateway is reached.
    Net(NetId),
    /// An interface of this node.
    LocalNi(Nid),
    /// An interface of the peer, or of the chosen gateway.
    PeerNi(Nid),
    /// A gateway, by the NID that messages would be sent to.
    Gateway(Nid),
}
