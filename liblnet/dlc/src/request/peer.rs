//! Requests about peers, and their states.

use super::{ElementStats, Heat, MessageStats, PeerDiscovery};
use lnet_wire::latency::Histogram;
use lnet_wire::{Nid, Reachability};
use serde::{Deserialize, Serialize};

/// Creates a peer, or adds a NID to it. Errors: dlc appendix A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddPeerNi {
    /// The primary NID of the peer.
    pub primary: Nid,
    /// The NID to add; `None`: create the peer.
    pub nid: Option<Nid>,
    /// Whether the peer is multi-rail.
    pub multi_rail: bool,
    /// Whether discovery must not change the primary NID of the peer.
    pub lock_primary: bool,
}

/// Removes a NID of a peer, or the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelPeerNi {
    /// The primary NID of the peer.
    pub primary: Nid,
    /// The NID to remove; `None` or the primary NID: the peer with all NIDs.
    pub nid: Option<Nid>,
    /// Whether the peer is removed even if its primary NID is locked.
    pub force: bool,
}

/// Overwrites a peer's state word (dlc appendix C).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetPeerState {
    /// Any NID of the peer.
    pub nid: Nid,
    /// The new state word.
    pub state: u32,
}

/// The state of a peer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// The primary NID, by which upper layers know the peer.
    pub primary: Nid,
    /// Whether the peer is multi-rail.
    pub multi_rail: bool,
    /// The state word (dlc appendix C).
    pub state: u32,
    /// The interfaces of the peer.
    pub nis: Vec<PeerNi>,
    /// The state of the peer's discovery, if the node reports it.
    #[serde(default)]
    pub discovery: Option<PeerDiscovery>,
    /// The reachability of the peer, if the node reports it.
    #[serde(default)]
    pub reachability: Option<PeerReachability>,
}

/// The reachability of a peer, as far as the node has noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerReachability {
    /// The reachability.
    pub state: Reachability,
    /// The seconds for which the peer has been in this state.
    pub seconds: u64,
    /// The number of paths to the peer: pairs of an interface of this node and one of the peer.
    pub paths: u32,
    /// The number of paths that can be used: not unresponsive, and with both interfaces up.
    pub usable_paths: u32,
}

/// The state of one interface of a peer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerNi {
    /// The NID of the interface.
    pub nid: Nid,
    /// Whether the interface responds; `None` where this is not monitored.
    pub alive: Option<bool>,
    /// Whether the peer reports the interface as down.
    #[serde(default)]
    pub reported_down: bool,
    /// The number of messages that may be in flight to the interface.
    pub max_tx_credits: i32,
    /// Available send credits; negative by the number of messages that wait.
    pub tx_credits: i32,
    /// The lowest number of send credits so far.
    pub min_tx_credits: i32,
    /// The bytes that wait to be sent to the interface.
    pub tx_queued_bytes: u32,
    /// The number of router buffers that the interface may still occupy.
    pub rtr_credits: i32,
    /// The lowest number of router buffer credits so far.
    pub min_rtr_credits: i32,
    /// The number of references to the interface.
    pub refcount: u32,
    /// The counts of all messages.
    pub stats: ElementStats,
    /// The counts of messages by type.
    pub messages: MessageStats,
    /// The bytes of payload of all messages.
    #[serde(default)]
    pub bytes: ElementStats,
    /// The recent use of the interface.
    #[serde(default)]
    pub heat: Heat,
    /// The health of the interface.
    pub health: PeerHealth,
    /// The delays of messages to and from the interface.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latencies: Vec<Histogram>,
}

impl PeerNi {
    /// An interface to which nothing was sent, for tests: they change what they are about.
    #[doc(hidden)]
    pub fn unused(nid: Nid) -> Self {
        Self {
            nid,
            alive: None,
            reported_down: false,
            max_tx_credits: 8,
            tx_credits: 8,
            min_tx_credits: 8,
            tx_queued_bytes: 0,
            rtr_credits: 8,
            min_rtr_credits: 8,
            refcount: 1,
            stats: ElementStats::default(),
            messages: MessageStats::default(),
            bytes: ElementStats::default(),
            heat: Heat::default(),
            health: PeerHealth { value: 1000, ..PeerHealth::default() },
            latencies: Vec::new(),
        }
    }
}

/// The health of a peer NI, and its failures by cause.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerHealth {
    /// The health value, 0 to 1000; 1000 is healthy.
    pub value: u32,
    /// Failures by cause: this one and the fields up to `network_timeout`.
    pub dropped: u64,
    /// See `dropped`.
    pub timeout: u64,
    /// See `dropped`.
    pub error: u64,
    /// See `dropped`.
    pub network_timeout: u64,
    /// Recovery pings since the interface last responded.
    pub ping_count: u64,
    /// The time of the next recovery ping: seconds on the node's clock; 0 if the interface is healthy.
    pub next_ping: u64,
    /// The seconds until the next recovery ping.
    #[serde(default)]
    pub next_ping_in: Option<u64>,
    /// The state of the interface, if the node reports it.
    #[serde(default)]
    pub state: Option<PeerNiState>,
    /// The NIDs of this node from which the interface is unresponsive: these paths are used only if there is no other.
    #[serde(default)]
    pub unresponsive_from: Vec<Nid>,
}

/// The state of a peer NI, as far as this node has used it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeerNiState {
    /// Nothing has been sent to the peer NI.
    Created,
    /// A message has been sent to the peer NI, and nothing has arrived from it.
    Activating,
    /// The last exchange succeeded.
    Connected,
    /// Messages have failed, or the peer reports the interface as down.
    Failed,
}

impl PeerNiState {
    /// The name of the state as the design documents write it.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Created => "CREATED",
            Self::Activating => "ACTIVATING",
            Self::Connected => "CONNECTED",
            Self::Failed => "FAILED",
        }
    }
}

/// An operator's statement that an interface of a peer, such as a gateway, is alive or down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetNotice {
    /// The NID of the interface.
    pub nid: Nid,
    /// Whether the interface is alive. If not, messages and routes avoid it.
    pub alive: bool,
}
