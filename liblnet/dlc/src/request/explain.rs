//! Which way a message would go, and why no other.

use super::PeerReachability;
use lnet_wire::{NetId, Nid};
use serde::{Deserialize, Serialize};

/// Asks for it. Nothing is sent, and no peer is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explain {
    /// The destination NID.
    pub destination: Nid,
    /// By which of the node's own NIDs; `None` leaves it to LNet.
    pub source: Option<Nid>,
}

/// The way, and what was passed over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// The peer's primary NID.
    pub primary: Nid,
    /// Whether any of its NIDs may be used in place of another.
    pub multi_rail: bool,
    /// Whether the node knows the peer. One that it does not know it would take for a peer of one rail.
    pub known: bool,
    /// The NID by which the message would leave.
    pub local: Nid,
    /// The NID to which it would go.
    pub remote: Nid,
    /// The gateway's NID that it would be sent to first; `None` where both nodes have a net in common.
    #[serde(default)]
    pub gateway: Option<Nid>,
    /// Gateways, nets of the peer, nets by which the gateway is reached, this node's interfaces, the gateway's, then the peer's.
    pub passed_over: Vec<PassedOver>,
    /// The selection rules that concern the way.
    #[serde(default)]
    pub rules: Vec<RuleOfWay>,
    /// The reachability of the peer, if the node reports it.
    #[serde(default)]
    pub reachability: Option<PeerReachability>,
    /// What is wrong with the chosen path, of which there is no better one.
    #[serde(default)]
    pub remark: Option<String>,
}

/// A selection rule that concerns the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleOfWay {
    /// What it is about, such as `local net`.
    pub about: String,
    /// Its place.
    pub index: u32,
    /// What it gives, such as `priority 0`.
    pub gives: String,
}

/// One candidate that lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassedOver {
    /// Who.
    pub candidate: Passed,
    /// Why: the first thing in which it was worse than the chosen one, with both values.
    pub why: String,
}

/// What may be passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Passed {
    /// A net of the peer, or by which the chosen gateway is reached.
    Net(NetId),
    /// An interface of this node.
    LocalNi(Nid),
    /// An interface of the peer, or of the chosen gateway.
    PeerNi(Nid),
    /// A gateway, by the NID that would be sent to.
    Gateway(Nid),
}
