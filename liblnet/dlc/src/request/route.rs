//! Requests about routes and router buffers.

use lnet_wire::{NetId, Nid};
use serde::{Deserialize, Serialize};

/// Adds a route. Errors: dlc appendix A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddRoute {
    /// The remote net.
    pub net: NetId,
    /// The NID of the gateway.
    pub gateway: Nid,
    /// The number of hops, 1 to 255; `None`: not given.
    pub hops: Option<u32>,
    /// The priority of the route; the smaller one is preferred.
    pub priority: u32,
    /// The gateway's health sensitivity.
    pub health_sensitivity: u32,
}

/// Deletes the routes that match. [`lnet_wire::Errno::NotFound`] without a route to the net.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelRoute {
    /// The remote net; `None`: any.
    pub net: Option<NetId>,
    /// The NID of the gateway; `None`: any.
    pub gateway: Option<Nid>,
}

/// The state of a route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// The remote net.
    pub net: NetId,
    /// The NID of the gateway.
    pub gateway: Nid,
    /// The number of hops; `None`: not given.
    pub hops: Option<u32>,
    /// The priority of the route; the smaller one is preferred.
    pub priority: u32,
    /// The gateway's health sensitivity.
    pub health_sensitivity: u32,
    /// Whether the gateway is usable.
    pub alive: bool,
    /// Whether the gateway itself is on the net.
    pub single_hop: bool,
    /// The indices of the selection rules that prefer the gateway for some destination on the net.
    #[serde(default)]
    pub rules: Vec<u32>,
}

/// The numbers of router buffers over all CPTs: 0 for the default, `None` for no change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferCounts {
    /// Buffers for messages without payload.
    pub tiny: Option<u32>,
    /// Buffers for payloads of up to one page.
    pub small: Option<u32>,
    /// Buffers for payloads of up to 1 MiB.
    pub large: Option<u32>,
}

/// The router buffers of one size on one CPT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferPool {
    /// The pages of each buffer.
    pub pages: u32,
    /// The number of buffers.
    pub buffers: u32,
    /// Free buffers; negative by the number of messages that wait.
    pub credits: i32,
    /// The lowest number of free buffers so far.
    pub min_credits: i32,
}

/// The router buffers of one CPT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CptBuffers {
    /// Buffers for messages without payload.
    pub tiny: BufferPool,
    /// Buffers for payloads of up to one page.
    pub small: BufferPool,
    /// Buffers for payloads of up to 1 MiB.
    pub large: BufferPool,
    /// Whether forwarding is switched on.
    pub enabled: bool,
}
