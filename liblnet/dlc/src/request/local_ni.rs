//! Interfaces of this node.

use super::{ElementStats, Heat, MessageStats};
use crate::CptList;
use lnet_wire::{NetId, Nid};
use serde::{Deserialize, Serialize};

/// What every driver has for an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NiTunables {
    /// Seconds without a message after which a peer counts as down.
    pub peer_timeout: Option<u32>,
    /// Messages under way to one peer NI.
    pub peer_credits: Option<u32>,
    /// Router buffers that one peer may occupy.
    pub peer_buffer_credits: Option<u32>,
    /// Messages under way on the interface.
    pub credits: Option<u32>,
}

/// What only one kind of driver has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LndTunables {
    /// `tcp`: connections for bulk in each direction to one peer NI; 0: as many as the link deserves.
    pub conns_per_peer: Option<u16>,
}

/// Adds an interface. What is `None` takes the driver's default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddLocalNi {
    /// On which net.
    pub net: NetId,
    /// Its name or one of its addresses; `None`: the machine's first.
    pub interface: Option<String>,
    /// What every driver has.
    pub tunables: NiTunables,
    /// What this driver has.
    pub lnd: LndTunables,
    /// Where it is bound; `None`: to all.
    pub cpts: Option<CptList>,
}

/// Takes away an interface of a net, or the whole net. [`lnet_wire::Errno::NotFound`] when there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelLocalNi {
    /// Which net.
    pub net: NetId,
    /// The name or address under which the interface was added, or any other of its names; `None`: all of
    /// the net.
    pub interface: Option<String>,
}

/// What an interface is able to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NiStatus {
    /// It works.
    Up,
    /// It does not.
    Down,
}

/// An interface as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalNi {
    /// Its NID.
    pub nid: Nid,
    /// Whether it works.
    pub status: NiStatus,
    /// The interface's name; none for the loopback.
    pub interface: Option<String>,
    /// Its tunables, all set.
    pub tunables: NiTunables,
    /// Its driver's; unset where the driver has none.
    pub lnd: LndTunables,
    /// The CPT of its device; -1 where that is not known.
    pub device_cpt: i32,
    /// Where it is bound: every CPT by number.
    pub cpts: CptList,
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
    pub health: LocalHealth,
    /// Available send credits, and their lowest value; negative by the number of messages that wait.
    pub tx_credits: i64,
    /// See `tx_credits`.
    pub min_tx_credits: i64,
}

/// The health of an interface, and its failures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalHealth {
    /// The driver says that it is broken.
    pub fatal_error: bool,
    /// 0 to 1000; 1000 is healthy.
    pub value: u32,
    /// Failures by cause.
    pub interrupts: u64,
    /// See `interrupts`.
    pub dropped: u64,
    /// See `interrupts`.
    pub aborted: u64,
    /// See `interrupts`.
    pub no_route: u64,
    /// See `interrupts`.
    pub timeouts: u64,
    /// See `interrupts`.
    pub error: u64,
    /// Recovery pings since it last responded.
    pub ping_count: u64,
    /// When the next ping is due: seconds on the node's clock; 0 if it is healthy.
    pub next_ping: u64,
    /// In how many seconds that is.
    #[serde(default)]
    pub next_ping_in: Option<u64>,
    /// Its state, if the node reports it.
    #[serde(default)]
    pub state: Option<NiState>,
    /// Its net's: that of the net's best interface.
    #[serde(default)]
    pub net_state: Option<NiState>,
}

/// How an interface of the node, or a net, is (dbg-030).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NiState {
    /// Healthy.
    Active,
    /// It works, but messages have failed lately.
    Degraded,
    /// It does not work.
    Failed,
}

impl NiState {
    /// As the design documents write it.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Active => "ACTIVE",
            Self::Degraded => "DEGRADED",
            Self::Failed => "FAILED",
        }
    }
}

/// Interfaces or peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetHealthKind {
    /// The node's interfaces.
    LocalNi,
    /// Other nodes'.
    PeerNi,
}

/// Sets health values, 0..=1000; -1 is 1000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetHealth {
    /// Of what.
    pub kind: SetHealthKind,
    /// Of which; `None`: of all. [`lnet_wire::Errno::NotFound`] for a NID that is not there.
    pub nid: Option<Nid>,
    /// To what.
    pub value: i32,
}

/// Sets the number of connections to each peer, 0..=127, for connections made from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetConnsPerPeer {
    /// Of which interface; `None`: of all. [`lnet_wire::Errno::NotFound`] for a NID that is not there.
    pub nid: Option<Nid>,
    /// To what.
    pub value: u16,
}
