//! A world: nodes, the network between them, and one clock; and the methods by which a test changes it.

use crate::counts::Counts;
use crate::driver::{Shared, SimDriver};
use crate::faults::FaultPoint;
use crate::ledger::Ledger;
use crate::network::{Network, NetworkConfig};
use crate::node::{Incarnation, Node, NodeSpec, SharedLedger, lock};
use crate::trace::{NodeId, Trace, TraceEvent, TraceLine};
use crate::traffic::Traffic;
use crate::violation::Violation;
use lnet_core::discovery::DiscoveryStatus;
use lnet_core::{Core, DiscoveryMode, ManualClock};
use lnet_wire::ping_info::{Features, NiStatus, PingEntry, PingInfo};
use lnet_wire::{Body, Header, Nid, PING_MATCH_BITS, Pid, RESERVED_PORTAL};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The parameters of a world.
#[derive(Clone, Debug)]
pub struct WorldConfig {
    /// The seed of all random numbers.
    pub seed: u64,
    /// The properties of the network.
    pub network: NetworkConfig,
    /// Number of trace lines to keep; 0 is fastest.
    pub trace: usize,
    /// Number of steps between two checks of the invariants; 0: no checks.
    pub check_every: u32,
    /// Whether the results of operations are checked when they end: that none ends late, or fails while a path works.
    pub check_operations: bool,
}

impl Default for WorldConfig {
    fn default() -> Self {
        Self {
            seed: 1,
            network: NetworkConfig::default(),
            trace: 200,
            check_every: 1,
            check_operations: true,
        }
    }
}

/// A simulated world. Stops after the first [`Violation`].
pub struct World {
    pub(crate) scenario: String,
    pub(crate) config: WorldConfig,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) network: Shared,
    pub(crate) ledger: SharedLedger,
    pub(crate) nodes: Vec<Node>,
    pub(crate) violation: Option<Box<Violation>>,
    /// Number of steps since the last check.
    pub(crate) unchecked: u32,
    /// Number of steps since a node's shown state was last compared with its selection.
    pub(crate) not_compared: u32,
    /// The longest duration of a call of `run_discovery`, with the caller's clock that measures it.
    pub(crate) slowest_discovery: Option<(fn() -> Duration, Duration)>,
    /// Number of peers that nodes have merged with another, or removed.
    pub(crate) peers_joined: u64,
}

/// Creation of a world and of its nodes, and changes of them.
impl World {
    /// Makes an empty world. `scenario` is its name in reports of violations.
    pub fn new(scenario: &str, config: WorldConfig) -> Self {
        let clock = Arc::new(ManualClock::default());
        let trace = Trace::new(config.trace);
        let network = Network::new(config.network, config.seed, Arc::clone(&clock), trace);
        Self {
            scenario: scenario.to_owned(),
            clock,
            network: Shared::new(network),
            ledger: Arc::new(Mutex::new(Ledger::new(config.network.delivery, config.check_operations))),
            nodes: Vec::new(),
            violation: None,
            unchecked: 0,
            not_compared: 0,
            slowest_discovery: None,
            peers_joined: 0,
            config,
        }
    }

    /// Adds a node and starts it.
    pub fn add_node(&mut self, spec: NodeSpec) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(Node { spec, incarnation: None, incarnations: 0, wake: None, peers: 0 });
        self.start(id);
        id
    }

    /// Starts a node that is down, with its present specification and no other state of its earlier life.
    pub fn start(&mut self, node: NodeId) {
        let Some(it) = self.nodes.get_mut(node.0 as usize) else { return };
        if it.incarnation.is_some() {
            return;
        }
        it.incarnations += 1;
        {
            let mut network = self.network.lock();
            let now = network.now();
            network.faults.mend(FaultPoint::Down(node), now);
            network.faults.hide(node, it.spec.hides);
            network.families.set_reaching(node, it.spec.reaches_ipv6);
            network.forget_earlier_incarnation(node);
            network.identify(node, it.incarnations);
            if network.trace.is_kept() {
                let nids: Vec<String> = it.spec.nids.iter().map(ToString::to_string).collect();
                network.note(node, TraceEvent::Changed(format!("starts with {}", nids.join(", "))));
            }
        }
        match Incarnation::start(node, it.incarnations, &it.spec, &self.network, &self.clock, &self.ledger) {
            Ok(incarnation) => it.incarnation = Some(incarnation),
            Err(errno) => self.fail(format!("{node} does not start: {}", errno.text())),
        }
        self.settle(node);
    }

    /// Sets the specification of a node that is down, for its next start: another version, or other NIDs.
    pub fn set_spec(&mut self, node: NodeId, spec: NodeSpec) {
        if let Some(it) = self.nodes.get_mut(node.0 as usize).filter(|it| it.incarnation.is_none()) {
            it.spec = spec;
        }
    }

    /// Ends a node without closing its connections. Messages that it has sent still arrive.
    pub fn crash(&mut self, node: NodeId) {
        let Some(incarnation) = self.nodes.get_mut(node.0 as usize).and_then(|it| it.incarnation.take())
        else {
            return;
        };
        self.note(node, || "dies".to_owned());
        self.network.lock().shut_off(node);
        lock(&self.ledger).orphan(node);
        incarnation.core.admin().shutdown();
        if let Some(it) = self.nodes.get_mut(node.0 as usize) {
            it.wake = None;
        }
        self.drain(node);
    }

    /// Gives a node another interface; a node that is down gets it when it starts.
    pub fn add_ni(&mut self, node: NodeId, nid: Nid) {
        self.note(node, || format!("gets the interface {nid}"));
        let Some(it) = self.nodes.get_mut(node.0 as usize) else { return };
        it.spec.nids.push(nid);
        {
            let mut network = self.network.lock();
            let now = network.now();
            network.faults.mend(FaultPoint::Missing(nid), now);
        }
        let Some(incarnation) = &it.incarnation else { return };
        let driver = SimDriver { network: self.network.clone(), node, reaches_ipv6: it.spec.reaches_ipv6 };
        if let Err(error) = incarnation.core.admin().add_ni(nid, it.spec.tunables, &driver) {
            self.fail(format!("{node} does not get {nid}: {}", error));
        }
        self.settle(node);
    }

    /// Takes an interface from a node.
    pub fn remove_ni(&mut self, node: NodeId, nid: Nid) {
        self.note(node, || format!("loses the interface {nid}"));
        let Some(it) = self.nodes.get_mut(node.0 as usize) else { return };
        it.spec.nids.retain(|its| *its != nid);
        self.network.lock().faults.break_spot(FaultPoint::Missing(nid));
        let Some(incarnation) = &it.incarnation else { return };
        if let Err(errno) = incarnation.core.admin().remove_ni(nid) {
            self.fail(format!("{node} keeps {nid}: {}", errno.text()));
        }
        self.settle(node);
    }

    /// Changes the discovery mode of a node.
    pub fn set_discovery(&mut self, node: NodeId, mode: DiscoveryMode) {
        self.note(node, || format!("discovery is {mode:?}"));
        let Some(it) = self.nodes.get_mut(node.0 as usize) else { return };
        it.spec.discovery = mode;
        self.with_core(node, |core| {
            core.admin().change_settings(|settings| {
                settings.discovery = mode;
                Ok(())
            })
        });
    }

    /// Sets the specification of a node that is down, for its next start.
    pub fn respecify(&mut self, node: NodeId, spec: NodeSpec) {
        if let Some(it) = self.nodes.get_mut(node.0 as usize).filter(|it| it.incarnation.is_none()) {
            it.spec = spec;
        }
    }

    /// Starts the discovery of the node with this NID by `node`.
    pub fn discover(&mut self, node: NodeId, nid: Nid, force: bool) {
        self.note(node, || format!("is told to discover {nid}{}", if force { ", by force" } else { "" }));
        self.with_core(node, |core| core.admin().discover(nid, force));
    }

    /// Runs `act` on the core of a node, if it is up, and then the steps of its discovery.
    pub fn with_core<R>(&mut self, node: NodeId, act: impl FnOnce(&Arc<Core>) -> R) -> Option<R> {
        if self.violation.is_some() {
            return None;
        }
        let core = self.core(node)?;
        let result = act(&core);
        self.settle(node);
        Some(result)
    }

    /// Writes a line into the trace.
    pub fn note(&self, node: NodeId, text: impl FnOnce() -> String) {
        let mut network = self.network.lock();
        if network.trace.is_kept() {
            network.note(node, TraceEvent::Changed(text()));
        }
    }
}

/// Faults of the network.
impl World {
    /// Cuts one direction: nothing gets from the one node to the other.
    pub fn cut(&mut self, from: NodeId, to: NodeId) {
        self.note(from, || format!("is cut off from {to}"));
        self.network.lock().faults.break_spot(FaultPoint::Nodes(from, to));
    }

    /// Ends all cuts, and doubled connections.
    pub fn heal(&mut self) {
        self.note(NodeId(0), || "the network is well again".to_owned());
        let mut network = self.network.lock();
        let now = network.now();
        network.faults.heal(now);
        network.go_on();
    }

    /// Breaks the connections between two nodes; messages under way on them are lost.
    pub fn break_between(&mut self, a: NodeId, b: NodeId) {
        self.note(a, || format!("the connections with {b} break"));
        self.network.lock().break_between(a, b);
    }

    /// Makes two connections between the nodes, so that messages overtake each other.
    pub fn double_connections(&mut self, a: NodeId, b: NodeId) {
        self.note(a, || format!("has a second connection with {b}"));
        self.network.lock().faults.double(a, b);
    }

    /// Makes a forged push arrive: from the NID `src` to `dest`, with these NIDs, on a separate connection.
    pub fn forge_push(&mut self, src: Nid, dest: Nid, sequence: u32, nids: &[Nid]) {
        let entries = nids.iter().map(|nid| PingEntry { nid: *nid, status: NiStatus::Up }).collect();
        let features =
            Features::NI_STATUS | Features::RTE_DISABLED | Features::MULTI_RAIL | Features::DISCOVERY;
        let payload = PingInfo { features, pid: Pid::LUSTRE, sequence, entries }.encode();
        let (match_bits, portal) = (PING_MATCH_BITS, RESERVED_PORTAL);
        let header = Header {
            dest_nid: dest,
            src_nid: src,
            dest_pid: Pid::LUSTRE,
            src_pid: Pid::LUSTRE,
            payload_length: payload.len() as u32,
            body: Body::Put { ack: None, match_bits, hdr_data: 0, portal, offset: 0 },
        };
        self.network.lock().inject(header, Some(payload.into()));
    }

    /// Sets how often connections break: one message in `one_in` breaks its own; 0: none.
    pub fn set_breaks(&mut self, one_in: u32) {
        self.network.lock().config.breaks_one_in = one_in;
    }
}

/// Queries.
impl World {
    /// The core of a node that is up.
    pub fn core(&self, node: NodeId) -> Option<Arc<Core>> {
        Some(Arc::clone(&self.nodes.get(node.0 as usize)?.incarnation.as_ref()?.core))
    }

    /// The clock of this world.
    pub const fn clock(&self) -> &Arc<ManualClock> {
        &self.clock
    }

    /// All nodes.
    pub fn node_ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    /// The specification of a node.
    pub fn spec(&self, node: NodeId) -> Option<&NodeSpec> {
        self.nodes.get(node.0 as usize).map(|it| &it.spec)
    }

    /// The NIDs of a node in its ping information: net by net, the primary one first. Empty while it is down.
    pub fn nids(&self, node: NodeId) -> Vec<Nid> {
        let Some(core) = self.core(node) else { return Vec::new() };
        core.nets().nis().map(|ni| ni.nid()).filter(|nid| !nid.is_loopback()).collect()
    }

    /// The NIDs of a node that another one reaches, whatever has come from there, in their order.
    pub fn nids_reached(&self, from: NodeId, to: NodeId) -> Vec<Nid> {
        let Some((from, to)) = self.spec(from).zip(self.spec(to)) else { return Vec::new() };
        let is_reached =
            |nid: &Nid| from.nids.iter().any(|own| own.net() == nid.net() && from.reaches(*own, *nid));
        to.nids.iter().copied().filter(is_reached).collect()
    }

    /// Whether the node is up.
    pub fn is_up(&self, node: NodeId) -> bool {
        self.nodes.get(node.0 as usize).is_some_and(|it| it.incarnation.is_some())
    }

    /// Number of times that the node was started.
    pub fn incarnations(&self, node: NodeId) -> u32 {
        self.nodes.get(node.0 as usize).map_or(0, |it| it.incarnations)
    }

    /// The status of a node's discovery of the peer with this NID.
    pub fn standing(&self, node: NodeId, nid: Nid) -> Option<DiscoveryStatus> {
        self.core(node)?.admin().discovery_of(nid)
    }

    /// The NIDs that a node knows of the peer with this NID, the primary first; none, if it does not
    /// know the peer.
    pub fn believed(&self, node: NodeId, nid: Nid) -> Vec<Nid> {
        let peer = self.core(node).and_then(|core| core.admin().peer(nid));
        peer.map(|(peer, _)| peer.nids.clone()).unwrap_or_default()
    }

    /// The node that has this NID now.
    pub fn owner(&self, nid: Nid) -> Option<NodeId> {
        self.network.lock().owner(nid)
    }

    /// The counts of messages, failures and discovery.
    pub fn counts(&self) -> Counts {
        self.network.lock().counts.clone()
    }

    /// Starts to count the traffic of each interface.
    pub fn count_traffic(&mut self) {
        self.network.lock().traffic.get_or_insert_default();
    }

    /// The traffic of each interface that has had any; empty unless [`World::count_traffic`] was called.
    pub fn traffic(&self) -> BTreeMap<Nid, Traffic> {
        self.network.lock().traffic.clone().unwrap_or_default()
    }

    /// Whether no message is under way between nodes.
    pub fn is_idle(&self) -> bool {
        self.network.lock().is_idle()
    }

    /// The last events, as many as [`WorldConfig::trace`] allows, oldest first.
    pub fn trace(&self) -> Vec<TraceLine> {
        self.network.lock().trace.lines().cloned().collect()
    }

    /// Number of messages that wait for a buffer of their receiver.
    pub fn waiting(&self) -> usize {
        self.network.lock().waiting()
    }

    /// The number of peers that were merged with another, or removed; counted only if the world is checked.
    pub const fn peers_joined(&self) -> u64 {
        self.peers_joined
    }

    /// The parameters of this world.
    pub const fn config(&self) -> &WorldConfig {
        &self.config
    }

    /// Starts to measure the duration of calls of `run_discovery`, by a clock that is not the world's.
    pub fn measure_discovery(&mut self, clock: fn() -> Duration) {
        self.slowest_discovery = Some((clock, Duration::ZERO));
    }

    /// The longest duration since then.
    pub fn slowest_discovery(&self) -> Duration {
        self.slowest_discovery.map_or(Duration::ZERO, |(_, slowest)| slowest)
    }
}

impl Drop for World {
    /// Shuts the nodes down: cores and their drivers hold each other until then.
    fn drop(&mut self) {
        for node in 0..self.nodes.len() as u32 {
            self.crash(NodeId(node));
        }
    }
}
