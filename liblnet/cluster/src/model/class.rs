//! A class: nodes that are configured alike.

use super::Addresses;
use lnet_core::NiTunables as DriverTunables;
use lnet_dlc::model::{Document, Place};
use lnet_dlc::ops::policy::RuleAction;
use lnet_dlc::request::{LndTunables, NiTunables};
use lnet_settings::Settings;
use lnet_wire::{NetId, Nid, Selector};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Nodes whose configuration is equal but for their addresses.
#[derive(Clone, Debug)]
pub struct Class {
    /// The name in a topology file; of a directory, the name of the first node.
    pub name: String,
    /// The number of nodes, at least 1.
    pub count: u64,
    /// The names of the nodes of a directory, in the order of the addresses; empty for a class of a topology file.
    pub nodes: Vec<String>,
    /// The file with the configuration; of a directory, that of the first node.
    pub file: PathBuf,
    /// The files of the nodes of a directory, in the same order as their names; empty for a class of a topology file.
    pub files: Vec<NodeFile>,
    /// The configuration of the first node.
    pub config: Document,
    /// The interfaces, without the loopback, in the order of the file. The primary NID of a node is that of the first one.
    pub nis: Vec<ClassNi>,
    /// The routes, one for each gateway.
    pub routes: Vec<ClassRoute>,
    /// The peers of the files.
    pub peers: Vec<ClassPeer>,
    /// The selection rules of the file.
    pub rules: Vec<ClassRule>,
    /// Whether the nodes forward messages.
    pub is_router: bool,
    /// The place of the block `routing`, or of the beginning of the file.
    pub routing_at: Place,
    /// The numbers of tiny, small and large router buffers; 0: the default.
    pub buffers: [u32; 3],
    /// The place of the block `buffers`, or of the beginning of the file.
    pub buffers_at: Place,
    /// The settings: the defaults, and those of the block `global`.
    pub settings: Settings,
    /// The place of the block `global`, or of the beginning of the file.
    pub settings_at: Place,
    /// The port on which the nodes accept connections, if a topology file or what was collected says it.
    pub accept_port: Option<u16>,
}

/// The file of one node, with the places of what may be another node's in the findings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeFile {
    /// The file.
    pub file: PathBuf,
    /// The places of the interfaces, in the order of [`Class::nis`].
    pub nis: Vec<Place>,
    /// The place of the block `routing`, or of the beginning of the file.
    pub routing_at: Place,
}

/// One interface of the nodes of a class.
#[derive(Clone, Debug)]
pub struct ClassNi {
    /// The net.
    pub net: NetId,
    /// The name of the interface, if the file has it.
    pub interface: Option<String>,
    /// The addresses of the nodes.
    pub addresses: Addresses,
    /// Whether a rule of `ip2nets` adds the interface, on machines whose addresses match, and those of this one are not known.
    pub is_assumed: bool,
    /// The switches that the interface is connected to: node `i` to the one at `i` modulo their number. Empty: not known.
    pub switches: Vec<String>,
    /// The MTU of the link in bytes, if a topology file or what was collected says it.
    pub mtu: Option<u32>,
    /// The tunables that every driver has.
    pub tunables: NiTunables,
    /// The tunables of the driver.
    pub lnd: LndTunables,
    /// The place of the interface in the file.
    pub place: Place,
}

/// A route of the nodes of a class, by one gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassRoute {
    /// The net that the route leads to.
    pub net: NetId,
    /// The NID of the gateway.
    pub gateway: Nid,
    /// The number of hops, if the file has one.
    pub hops: Option<u32>,
    /// The priority; smaller is preferred.
    pub priority: u32,
    /// The gateway's health sensitivity.
    pub sensitivity: Option<u32>,
    /// The place of the route in the file.
    pub place: Place,
}

/// A peer in the files of a class. Nodes of one class may have different peers: an export has those that a node has met.
#[derive(Clone, Debug)]
pub struct ClassPeer {
    /// The NIDs of the peer, the primary one first.
    pub nids: Vec<Nid>,
    /// Whether the peer is Multi-Rail.
    pub multi_rail: bool,
    /// The number of nodes of the class that have the peer.
    pub nodes: u64,
    /// The file of the first node that has the peer.
    pub file: PathBuf,
    /// The place of the peer in that file.
    pub place: Place,
}

/// A selection rule of a class.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassRule {
    /// Selects interfaces of the node.
    pub src: Option<Selector>,
    /// Selects interfaces of peers.
    pub dst: Option<Selector>,
    /// Selects gateways.
    pub rte: Option<Selector>,
    /// The action of the rule.
    pub action: RuleAction,
    /// The number of messages of one turn, for rules that count messages.
    pub messages: Option<u32>,
    /// The place of the rule in the file.
    pub place: Place,
}

impl Class {
    /// The nets that the nodes are on.
    pub fn nets(&self) -> BTreeSet<NetId> {
        self.nis.iter().map(|ni| ni.net).collect()
    }

    /// Whether the nodes are on a net.
    pub fn is_on(&self, net: NetId) -> bool {
        self.nis.iter().any(|ni| ni.net == net)
    }

    /// The NID of an interface of a node, if its address is known.
    pub fn nid(&self, ni: usize, node: u64) -> Option<Nid> {
        let ni = self.nis.get(ni)?;
        Some(ni.addresses.at(node)?.on(ni.net))
    }

    /// The NIDs of a node, the primary one first, as far as they are known.
    pub fn nids(&self, node: u64) -> impl Iterator<Item = Nid> + '_ {
        (0..self.nis.len()).filter_map(move |ni| self.nid(ni, node))
    }

    /// Whether a node of the class may be the gateway of a route that names a NID nobody is known to have: it forwards, has an interface on the net
    /// of the gateway whose address is not known, and is on the net of the route or has a route to it over another net.
    pub fn may_be_gateway(&self, route: &ClassRoute) -> bool {
        let came_by = route.gateway.net();
        let leads_on = |own: &ClassRoute| own.net == route.net && own.gateway.net() != came_by;
        self.is_router
            && self.nis.iter().any(|ni| ni.net == came_by && !ni.addresses.is_known())
            && (self.is_on(route.net) || self.routes.iter().any(leads_on))
    }

    /// The name of a node: that of its file, or that of the class with its number from 0.
    pub fn node_name(&self, node: u64) -> String {
        let of_file = usize::try_from(node).ok().and_then(|index| self.nodes.get(index));
        match of_file {
            Some(name) => name.clone(),
            None if self.count == 1 => self.name.clone(),
            None => format!("{}[{node}]", self.name),
        }
    }

    /// The file of a node; `None` for a class of a topology file.
    pub fn file_of(&self, node: u64) -> Option<&NodeFile> {
        self.files.get(usize::try_from(node).ok()?)
    }

    /// The class with the number of its nodes, for texts.
    pub fn label(&self) -> String {
        match (self.count, self.nodes.is_empty()) {
            (1, _) => self.name.clone(),
            (count, true) => format!("{} ({count} nodes)", self.name),
            (count, false) => format!("{} and {} like it", self.name, count - 1),
        }
    }

    /// The name of an interface for texts: with its net, as in `eth0 (tcp)`.
    pub fn ni_label(&self, ni: usize) -> String {
        match self.nis.get(ni) {
            Some(ClassNi { interface: Some(name), net, .. }) => format!("{name} ({net})"),
            Some(ClassNi { net, .. }) => format!("the interface on {net}"),
            None => String::new(),
        }
    }
}

impl ClassNi {
    /// The credits of the interface: those of the file, or the default of drivers.
    pub fn credits(&self) -> u32 {
        self.tunables.credits.unwrap_or_else(|| DriverTunables::default().credits)
    }

    /// The credits for each peer NI: those of the file, or the default of drivers.
    pub fn peer_credits(&self) -> u32 {
        self.tunables.peer_credits.unwrap_or_else(|| DriverTunables::default().peer_credits)
    }

    /// The switch that the interface of a node is connected to.
    pub fn switch_of(&self, node: u64) -> Option<&str> {
        let count = u64::try_from(self.switches.len()).ok().filter(|count| *count > 0)?;
        self.switches.get(usize::try_from(node % count).ok()?).map(String::as_str)
    }
}
