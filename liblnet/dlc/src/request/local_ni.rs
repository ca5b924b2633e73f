//! Interfaces of this node.

pub use super::lnd_numbers::LndNumbers;
use super::{ElementStats, Heat, MessageStats};
use crate::CptList;
use lnet_wire::latency::Histogram;
use lnet_wire::{NetId, Nid};
use serde::{Deserialize, Serialize};

/// The choices with which LNet is started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "ConfigureForm", into = "ConfigureForm")]
pub struct Configure {
    /// Whether it has the nets that are configured for the start.
    pub nets: bool,
    /// Whether an interface that is given by its name has the NID with its IPv6 address.
    pub large_nids: bool,
}

/// The form on the control socket: without large NIDs the flag alone.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(untagged)]
enum ConfigureForm {
    Nets(bool),
    Whole { nets: bool, large_nids: bool },
}

impl From<ConfigureForm> for Configure {
    fn from(form: ConfigureForm) -> Self {
        match form {
            ConfigureForm::Nets(nets) => Self { nets, large_nids: false },
            ConfigureForm::Whole { nets, large_nids } => Self { nets, large_nids },
        }
    }
}

impl From<Configure> for ConfigureForm {
    fn from(Configure { nets, large_nids }: Configure) -> Self {
        if large_nids { Self::Whole { nets, large_nids } } else { Self::Nets(nets) }
    }
}

/// The tunables of an interface that every driver has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NiTunables {
    /// Seconds without a message after which a peer counts as down.
    pub peer_timeout: Option<u32>,
    /// The number of messages that may be in flight to one peer NI.
    pub peer_credits: Option<u32>,
    /// Router buffers that one peer may occupy.
    pub peer_buffer_credits: Option<u32>,
    /// The number of messages that may be in flight on the interface.
    pub credits: Option<u32>,
}

/// The tunables of an interface that only one kind of driver has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LndTunables {
    /// Connections to one peer NI, over TCP in each direction; 0: as many as the speed of the link asks for.
    pub conns_per_peer: Option<u16>,
    /// The other numbers.
    #[serde(default, skip_serializing_if = "LndNumbers::is_empty")]
    pub numbers: LndNumbers,
}

/// Adds an interface. Tunables that are `None` have the values with which the node was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddLocalNi {
    /// The net that the interface is added to.
    pub net: NetId,
    /// The interface by its name or one of its addresses; `None`: the first of the machine.
    pub interface: Option<String>,
    /// The tunables that every driver has.
    pub tunables: NiTunables,
    /// The tunables of the net's own driver.
    pub lnd: LndTunables,
    /// The CPTs that the interface is bound to; `None`: all.
    pub cpts: Option<CptList>,
}

/// An interface of the start configuration that the host does not have yet, or not with an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingNi {
    /// The interface as it was asked for.
    pub ni: AddLocalNi,
    /// The error of the last attempt to start it.
    pub reason: String,
}

/// Deletes an interface of a net, or the whole net. [`lnet_wire::Errno::NotFound`] if there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelLocalNi {
    /// The net.
    pub net: NetId,
    /// The name or address under which the interface was added, or any other of its names; `None`: all interfaces of the
    /// net.
    pub interface: Option<String>,
}

/// Whether an interface can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NiStatus {
    /// The interface works.
    Up,
    /// The interface does not work.
    Down,
}

/// The state of an interface of this node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalNi {
    /// The NID of the interface.
    pub nid: Nid,
    /// Whether the interface works.
    pub status: NiStatus,
    /// The interface's name; `None` for the loopback.
    pub interface: Option<String>,
    /// The tunables that every driver has, each with its effective value.
    pub tunables: NiTunables,
    /// The tunables of the interface's driver; `None` for those that it does not have.
    pub lnd: LndTunables,
    /// The CPT of the interface's device; -1 where it is not known.
    pub device_cpt: i32,
    /// The CPTs that the interface is bound to; all are listed if it is bound to none in particular.
    pub cpts: CptList,
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
    pub health: LocalHealth,
    /// Available send credits, and their lowest value so far; negative by the number of messages that wait.
    pub tx_credits: i64,
    /// See `tx_credits`.
    pub min_tx_credits: i64,
    /// The delays of messages by the interface.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latencies: Vec<Histogram>,
}

impl LocalNi {
    /// An interface that works and has sent nothing, for tests: they change what they are about.
    #[doc(hidden)]
    pub fn unused(nid: Nid, interface: Option<&str>) -> Self {
        Self {
            nid,
            status: NiStatus::Up,
            interface: interface.map(str::to_owned),
            tunables: NiTunables::default(),
            lnd: LndTunables::default(),
            device_cpt: -1,
            cpts: CptList::new(vec![0]),
            stats: ElementStats::default(),
            messages: MessageStats::default(),
            bytes: ElementStats::default(),
            heat: Heat::default(),
            health: LocalHealth { value: 1000, ..LocalHealth::default() },
            tx_credits: 0,
            min_tx_credits: 0,
            latencies: Vec::new(),
        }
    }
}

/// The health of an interface of this node, and its failures by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalHealth {
    /// Whether the driver reports the interface as broken.
    pub fatal_error: bool,
    /// The health value, 0 to 1000; 1000 is healthy.
    pub value: u32,
    /// Failures by cause: this one and the fields up to `error`.
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
    /// Recovery pings since the interface last responded.
    pub ping_count: u64,
    /// The time of the next recovery ping: seconds on the node's clock; 0 if the interface is healthy.
    pub next_ping: u64,
    /// The seconds until the next recovery ping.
    #[serde(default)]
    pub next_ping_in: Option<u64>,
    /// The state of the interface, if the node reports it.
    #[serde(default)]
    pub state: Option<NiState>,
    /// The state of the interface's net, which is that of the best interface on it.
    #[serde(default)]
    pub net_state: Option<NiState>,
}

/// The state of an interface of this node, or of a net (dbg-030).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NiState {
    /// Healthy: nothing has failed lately.
    Active,
    /// The interface works, but messages have failed lately.
    Degraded,
    /// The interface does not work.
    Failed,
}

impl NiState {
    /// The name of the state as the design documents write it.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Active => "ACTIVE",
            Self::Degraded => "DEGRADED",
            Self::Failed => "FAILED",
        }
    }
}

/// The kind of interface whose health is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetHealthKind {
    /// Interfaces of this node.
    LocalNi,
    /// Interfaces of peers.
    PeerNi,
}

/// Sets the health value of one interface or of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetHealth {
    /// Whether interfaces of this node or of peers are meant.
    pub kind: SetHealthKind,
    /// The NID of the interface; `None`: all. [`lnet_wire::Errno::NotFound`] for an unknown NID.
    pub nid: Option<Nid>,
    /// The new health value, 0 to 1000; -1 stands for 1000.
    pub value: i32,
}

/// Sets the number of connections to each peer NI, for connections that are made from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetConnsPerPeer {
    /// The NID of the interface; `None`: all. [`lnet_wire::Errno::NotFound`] for an unknown NID.
    pub nid: Option<Nid>,
    /// The number of connections, 0 to 127; 0: as many as the speed of the link asks for.
    pub value: u16,
}
