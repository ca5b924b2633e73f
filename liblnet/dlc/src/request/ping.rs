//! Pings of nodes.

use lnet_wire::{Nid, ProcessId};
use serde::{Deserialize, Serialize};

/// Asks another node for its ping information.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ping {
    /// The node to ping.
    pub target: ProcessId,
    /// The NID of this node to send from; `None`: any.
    pub source: Option<Nid>,
    /// The timeout in milliseconds; `None`, or more than the node's maximum: that maximum.
    pub timeout_ms: Option<u32>,
    /// The maximum number of NIDs in the reply.
    pub max_nids: u32,
}

/// The ping information of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PingResponse {
    /// The primary NID of the node, as this node knows it.
    pub primary: Nid,
    /// The LNet process id of the node.
    pub pid: u32,
    /// Whether the node is a multi-rail peer of this node.
    pub multi_rail: bool,
    /// The NIDs of the node, without the loopback.
    pub nids: Vec<Nid>,
}
