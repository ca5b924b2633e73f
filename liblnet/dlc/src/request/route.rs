//! Routes, and forwarding for others.

use lnet_wire::{NetId, Nid};
use serde::{Deserialize, Serialize};

/// Adds a route. Errors: dlc appendix A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddRoute {
    /// To which net.
    pub net: NetId,
    /// By which node.
    pub gateway: Nid,
    /// The number of hops, 1 to 255; `None`: not given.
    pub hops: Option<u32>,
    /// Smaller is preferred.
    pub priority: u32,
    /// The gateway's health sensitivity.
    pub health_sensitivity: u32,
}

/// Deletes routes: those that match what is given. [`lnet_wire::Errno::NotFound`] without a route to the net.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelRoute {
    /// To which net; `None`: any.
    pub net: Option<NetId>,
    /// By which node; `None`: any.
    pub gateway: Option<Nid>,
}

/// A route as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// To which net.
    pub net: NetId,
    /// By which node.
    pub gateway: Nid,
    /// The number of hops; `None`: not given.
    pub hops: Option<u32>,
    /// Smaller is preferred.
    pub priority: u32,
    /// The gateway's health sensitivity.
    pub health_sensitivity: u32,
    /// Whether the gateway is usable.
    pub alive: bool,
    /// Whether the gateway is on the net itself.
    pub single_hop: bool,
    /// The places of the selection rules that prefer the gateway for some destination on the net.
    #[serde(default)]
    pub rules: Vec<u32>,
}

/// How many router buffers there shall be, over all CPTs: 0 for the default, `None` for as many as now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferCounts {
    /// For messages without payload.
    pub tiny: Option<u32>,
    /// For up to one page.
    pub small: Option<u32>,
    /// For up to 1 MiB.
    pub large: Option<u32>,
}

/// Buffers of one size on one CPT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferPool {
    /// Pages of each.
    pub pages: u32,
    /// How many there are.
    pub buffers: u32,
    /// Free buffers; negative by the number of messages that wait.
    pub credits: i32,
    /// The fewest there ever were.
    pub min_credits: i32,
}

/// The router buffers of one CPT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CptBuffers {
    /// For messages without payload.
    pub tiny: BufferPool,
    /// For up to one page.
    pub small: BufferPool,
    /// For up to 1 MiB.
    pub large: BufferPool,
    /// Whether the node forwards now.
    pub enabled: bool,
}
