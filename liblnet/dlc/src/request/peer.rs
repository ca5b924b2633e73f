//! Other nodes.

use super::{ElementStats, Heat, MessageStats, PeerDiscovery};
use lnet_wire::{Nid, ProcessId, Reachability};
use serde::{Deserialize, Serialize};

/// Makes a peer, or gives it another NID. Errors: dlc appendix A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddPeerNi {
    /// Its primary NID.
    pub primary: Nid,
    /// The NID to add; `None`: make the peer.
    pub nid: Option<Nid>,
    /// Whether it is multi-rail.
    pub multi_rail: bool,
    /// Whether discovery may not change its primary NID.
    pub lock_primary: bool,
}

/// Removes a NID of a peer, or the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelPeerNi {
    /// Its primary NID.
    pub primary: Nid,
    /// The NID to take; `None` or the primary NID: all.
    pub nid: Option<Nid>,
    /// Forget it even if its primary NID is locked.
    pub force: bool,
}

/// Overwrites a peer's state word (dlc appendix C).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetPeerState {
    /// Any of its NIDs.
    pub nid: Nid,
    /// The new word.
    pub state: u32,
}

/// A peer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// The NID by which upper layers know it.
    pub primary: Nid,
    /// Whether it is multi-rail.
    pub multi_rail: bool,
    /// The state word (dlc appendix C).
    pub state: u32,
    /// Its interfaces.
    pub nis: Vec<PeerNi>,
    /// The state of its discovery, if the node reports it.
    #[serde(default)]
    pub discovery: Option<PeerDiscovery>,
    /// Its reachability, if the node reports it.
    #[serde(default)]
    pub reachability: Option<PeerReachability>,
}

/// Whether a peer can be reached, as far as the node has noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerReachability {
    /// Its state.
    pub state: Reachability,
    /// For how many seconds it has been so.
    pub seconds: u64,
    /// Paths to it: pairs of an interface of the node's and one of the peer's.
    pub paths: u32,
    /// Those of them that can be used: not unresponsive, and with both interfaces up.
    pub usable_paths: u32,
}

/// One interface of a peer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerNi {
    /// Its NID.
    pub nid: Nid,
    /// Whether it answers; `None` where that is not watched.
    pub alive: Option<bool>,
    /// Whether its node says that it does not work.
    #[serde(default)]
    pub reported_down: bool,
    /// Messages that may be under way to it at once.
    pub max_tx_credits: i32,
    /// Available send credits; negative by the number of messages that wait.
    pub tx_credits: i32,
    /// The fewest there ever were.
    pub min_tx_credits: i32,
    /// Bytes waiting to be sent to it.
    pub tx_queued_bytes: u32,
    /// Router buffers it may still occupy.
    pub rtr_credits: i32,
    /// The fewest there ever were.
    pub min_rtr_credits: i32,
    /// Who uses it.
    pub refcount: u32,
    /// Messages in all.
    pub stats: ElementStats,
    /// Messages by kind.
    pub messages: MessageStats,
    /// Bytes of their payloads.
    #[serde(default)]
    pub bytes: ElementStats,
    /// How much it was used recently.
    #[serde(default)]
    pub heat: Heat,
    /// Its health.
    pub health: PeerHealth,
}

/// The health of a peer NI, and its failures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerHealth {
    /// 0 to 1000; 1000 is healthy.
    pub value: u32,
    /// Failures by cause.
    pub dropped: u64,
    /// See `dropped`.
    pub timeout: u64,
    /// See `dropped`.
    pub error: u64,
    /// See `dropped`.
    pub network_timeout: u64,
    /// Recovery pings since it last responded.
    pub ping_count: u64,
    /// When the next ping is due: seconds on the node's clock; 0 if it is healthy.
    pub next_ping: u64,
    /// In how many seconds that is.
    #[serde(default)]
    pub next_ping_in: Option<u64>,
    /// Its state, if the node reports it.
    #[serde(default)]
    pub state: Option<PeerNiState>,
    /// The local NIDs from which it is unresponsive: these paths are used only if there is no other.
    #[serde(default)]
    pub unresponsive_from: Vec<Nid>,
}

/// How a peer NI is, as far as the node has used it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeerNiState {
    /// Nothing has been sent to it.
    Created,
    /// Something was sent to it, and nothing has arrived from it.
    Activating,
    /// The last exchange succeeded.
    Connected,
    /// Messages have failed, or its node says that it does not work.
    Failed,
}

impl PeerNiState {
    /// As the design documents write it.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Created => "CREATED",
            Self::Activating => "ACTIVATING",
            Self::Connected => "CONNECTED",
            Self::Failed => "FAILED",
        }
    }
}

/// Asks another node who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ping {
    /// Whom.
    pub target: ProcessId,
    /// By which of the node's own NIDs; `None`: any.
    pub source: Option<Nid>,
    /// How long to wait, in milliseconds; `None`: as long as it takes.
    pub timeout_ms: Option<u32>,
    /// The maximum number of NIDs in the reply.
    pub max_nids: u32,
}

/// The ping information of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PingAnswer {
    /// Its primary NID as this node knows it.
    pub primary: Nid,
    /// Its process id.
    pub pid: u32,
    /// Whether it is a multi-rail peer of this node.
    pub multi_rail: bool,
    /// Its NIDs, the loopback not among them.
    pub nids: Vec<Nid>,
}

/// What an operator says of an interface of a peer, a gateway for example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetNotice {
    /// The interface.
    pub nid: Nid,
    /// Whether the interface is alive; if not, messages and routes avoid it.
    pub alive: bool,
}
