//! The configuration as a value: the result of every form of YAML (dlc 2 and 3).
//!
//! Everything in it has been checked as far as that is possible without a node; each item has its position in the
//! file, for later errors.

use crate::ip2nets::Rule;
use crate::ops::global::Setting;
use crate::ops::policy::RuleAction;
use crate::request::{LndTunables, NiTunables};
use crate::{CptList, InterfaceSpec, SeqNo};
use lnet_wire::{NetId, Nid, ProcessId, Selector};
use std::fmt;

/// A place in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// An item of a file, its place in the file, and the number that its author gave it.
#[derive(Clone, Debug, PartialEq)]
pub struct Item<T> {
    /// The content of the item.
    pub it: T,
    /// The place in the file at which the item begins.
    pub at: Place,
    /// The `seq_no` that the author of the file gave the item.
    pub seq_no: SeqNo,
}

/// A file: its blocks in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// The blocks in the order of the file.
    pub blocks: Vec<Block>,
    /// The keys without items: a list of nothing.
    pub empty: Vec<EmptyBlock>,
}

/// A top-level key of a file without an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmptyBlock {
    /// The canonical name of the block.
    pub name: &'static str,
    /// The place of the key.
    pub at: Place,
    /// Whether there is a value, such as `[]` or items that are passed over.
    pub has_value: bool,
}

/// The names of the sizes of router buffers, in the order of their numbers.
pub const BUFFER_NAMES: [&str; 3] = ["tiny", "small", "large"];

/// The items under one top-level key of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// `net`
    Net(Vec<Item<NetItem>>),
    /// `ip2nets`
    Ip2nets(Vec<Item<Ip2netsItem>>),
    /// `route`
    Route(Vec<Item<RouteItem>>),
    /// `peer`, `peers`
    Peer(Vec<Item<PeerItem>>),
    /// `routing`: `enable`, if it is given.
    Routing(Item<Option<bool>>),
    /// `buffers`: the numbers of each size, in the order of [`BUFFER_NAMES`].
    Buffers(Item<[Option<u32>; 3]>),
    /// `global`, `numa`: settings in the order of the file.
    Global(Item<Vec<(Setting, i64)>>),
    /// `udsp`, `selection`
    Udsp(Vec<Item<UdspItem>>),
    /// `statistics`
    Statistics(Item<()>),
    /// `ping`
    Ping(Vec<Item<PingItem>>),
    /// `discover`
    Discover(Vec<Item<DiscoverItem>>),
}

/// Interfaces of one net.
#[derive(Clone, Debug, PartialEq)]
pub struct NetItem {
    /// The net; with `show`, none stands for all nets.
    pub net: Option<NetId>,
    /// The interfaces of the net.
    pub nis: Vec<NiItem>,
    /// A rule in the legacy grammar, in place of `net` and `nis`.
    pub ip2net: Option<String>,
    /// The verbosity of `show`.
    pub detail: Option<u32>,
}

/// One interface.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NiItem {
    /// The name or address of the interface; `None` only in items for `del` and `show`, and for nets without interfaces.
    pub interface: Option<InterfaceSpec>,
    /// The tunables that every driver has.
    pub tunables: NiTunables,
    /// The tunables of this net's driver.
    pub lnd: LndTunables,
    /// The CPTs that the interface is bound to.
    pub cpts: Option<CptList>,
    /// The NID of an exported interface. An import ignores it, but for IPv6 addresses: those are in `interface` too.
    pub nid: Option<Nid>,
    /// The name of the interface, where `interface` has the address of the NID in place of it.
    pub link: Option<String>,
    /// The place in the file at which the interface begins.
    pub at: Place,
}

/// A rule of the `ip2nets` block.
#[derive(Clone, Debug, PartialEq)]
pub struct Ip2netsItem {
    /// The rule: net, interfaces and addresses.
    pub rule: Rule,
    /// The tunables of the NIs that the rule adds.
    pub tunables: NiTunables,
    /// The driver's tunables of these NIs.
    pub lnd: LndTunables,
    /// The CPTs of these NIs.
    pub cpts: Option<CptList>,
}

/// Routes to one net.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteItem {
    /// The net that the routes lead to.
    pub net: Option<NetId>,
    /// The gateways, as written: a list of NID ranges.
    pub gateway: Option<String>,
    /// The number of hops to the net.
    pub hops: Option<u32>,
    /// The priority of the routes; smaller is preferred.
    pub priority: Option<u32>,
    /// The gateway's health sensitivity.
    pub sensitivity: Option<u32>,
    /// The verbosity of `show`.
    pub detail: Option<u32>,
}

/// A peer.
#[derive(Clone, Debug, PartialEq)]
pub struct PeerItem {
    /// The primary NID of the peer.
    pub primary: Option<Nid>,
    /// The NIDs of the peer, expanded, with or without the primary; `None` if the item has none (which matters to `del`).
    pub nids: Option<Vec<Nid>>,
    /// Whether the peer is multi-rail.
    pub multi_rail: bool,
    /// Whether the peer shall have no other NIDs than `nids` (the design document's `peers`, CONFLICT-6).
    pub replace: bool,
    /// The verbosity of `show`.
    pub detail: Option<u32>,
}

/// A selection rule.
#[derive(Clone, Debug, PartialEq)]
pub struct UdspItem {
    /// The position of the rule in the list; for `del` and `show`, the rule that is meant.
    pub index: Option<u32>,
    /// Selects interfaces of this node.
    pub src: Option<Selector>,
    /// Selects interfaces of peers.
    pub dst: Option<Selector>,
    /// Selects routers.
    pub rte: Option<Selector>,
    /// The action of the rule.
    pub action: RuleAction,
    /// The number of messages of one turn, for rules that count messages.
    pub messages: Option<u32>,
}

/// A ping to be made by `exec`.
#[derive(Clone, Debug, PartialEq)]
pub struct PingItem {
    /// The node to ping.
    pub target: ProcessId,
    /// The timeout of the ping, in milliseconds.
    pub timeout_ms: Option<u32>,
    /// The local NID to send from.
    pub source: Option<Nid>,
}

/// A discovery to be made by `exec`.
#[derive(Clone, Debug, PartialEq)]
pub struct DiscoverItem {
    /// The node to discover.
    pub target: ProcessId,
    /// Whether the node is discovered even if it is known already.
    pub force: bool,
}
