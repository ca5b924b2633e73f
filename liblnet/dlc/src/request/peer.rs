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

/// Takes a NID from a peer, or forgets the peer.
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
    /// How far its discovery is, where the node tells.
    #[serde(default)]
    pub discovery: Option<PeerDiscovery>,
    /// Whether it can be reached, where the node tells.
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
    /// How many more may be now; negative: so many wait.
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
    /// How much it was used of late.
    #[serde(default)]
    pub heat: Heat,
    /// How well it is.
    pub health: PeerHealth,
}

/// How well a peer NI is, and what befell it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerHealth {
    /// 0 to 1000; 1000 is well.
    pub value: u32,
    /// Failures by cause.
    pub dropped: u64,
    /// See `dropped`.
    pub timeout: u64,
    /// See `dropped`.
    pub error: u64,
    /// See `dropped`.
    pub network_timeout: u64,
    /// Recovery pings since it was last heard.
    pub ping_count: u64,
    /// When the next is due: seconds on the node's clock; 0 for who is not being recovered.
    pub next_ping: u64,
    /// In how many seconds that is.
    #[serde(default)]
    pub next_ping_in: Option<u64>,
    /// All that in a word, where the node tells.
    #[serde(default)]
    pub state: Option<PeerNiState>,
    /// The node's own NIDs from which nothing has reached it of late: the pair is not used while there is
    /// another.
    #[serde(default)]
    pub unresponsive_from: Vec<Nid>,
}

/// How a peer NI is, as far as the node has used it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeerNiState {
    /// Nothing has been sent to it.
    Created,
    /// Something is under way to it, and nothing has been heard of it yet.
    Activating,
    /// The last exchange went well.
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
    /// Room for so many NIDs.
    pub max_nids: u32,
}

/// What a node says of itself.
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

/// A router's state as somebody outside found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetNotice {
    /// Which router.
    pub nid: Nid,
    /// Whether it lives.
    pub alive: bool,
}
