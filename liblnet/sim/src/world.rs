//! A world: nodes, the network between them, and one clock. What is done to it is done here.

use crate::agenda::Due;
use crate::clock::SimClock;
use crate::counts::Counts;
use crate::driver::{Held, Shared, SimDriver};
use crate::invariants;
use crate::ledger::{Ask, Asking, Ledger, Op, OpId};
use crate::network::{Arrival, Finished, LinkKey, Network, NetworkConfig, Order, Waiting};
use crate::node::{Life, MATCH_BITS, Node, NodeSpec, SharedLedger, lock, owned_memory};
use crate::trace::{NodeId, Trace, What};
use lnet_core::discovery::Standing;
use lnet_core::lnd::{HeldReceive, Upcalls, Verdict};
use lnet_core::{Clock, Core, DiscoveryMode, Errno, Message, Target, Time};
use lnet_wire::{Nid, Pid};
use lolnd::copy::fill_payload_of;
use std::cell::Cell;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How a world is made.
#[derive(Clone, Debug)]
pub struct WorldConfig {
    /// Everything that is left to chance follows from it.
    pub seed: u64,
    /// The network.
    pub network: NetworkConfig,
    /// Lines of trace to keep; 0 to be fast.
    pub trace: usize,
    /// Whether what must always be true is checked after every step.
    pub checked: bool,
}

impl Default for WorldConfig {
    fn default() -> Self {
        Self { seed: 1, network: NetworkConfig::default(), trace: 200, checked: true }
    }
}

/// Something that must never happen, and how to see it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// What is wrong.
    pub what: String,
    /// In which scenario.
    pub scenario: String,
    /// With which seed.
    pub seed: u64,
    /// The order of events that was chosen, if it was.
    pub path: Option<String>,
    /// What happened last, oldest first.
    pub trace: Vec<String>,
}

/// The world. After the first thing that is [`Broken`] nothing happens in it any more.
pub struct World {
    scenario: String,
    config: WorldConfig,
    clock: Arc<SimClock>,
    network: Shared,
    ledger: SharedLedger,
    pub(crate) nodes: Vec<Node>,
    broken: Option<Box<Broken>>,
    /// The longest that one call of `run_discovery` took, in real time; kept only if asked for.
    slowest_discovery: Option<Duration>,
}

/// Life stories: making a world, its nodes, and changing them.
impl World {
    /// An empty world. `scenario` is what it is called when something breaks.
    pub fn new(scenario: &str, config: WorldConfig) -> Self {
        let clock = Arc::new(SimClock::default());
        let trace = Trace::new(config.trace);
        let network = Network::new(config.network, config.seed, Arc::clone(&clock), trace);
        Self {
            scenario: scenario.to_owned(),
            clock,
            network: Shared::new(network),
            ledger: Arc::new(Mutex::new(Ledger::default())),
            nodes: Vec::new(),
            broken: None,
            slowest_discovery: None,
            config,
        }
    }

    /// Adds a node and starts it.
    pub fn add_node(&mut self, spec: NodeSpec) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(Node { id, spec, life: None, lives: 0, wake: None });
        self.start(id);
        id
    }

    /// Starts a node that is down, with the NIDs that it had or was given since, and nothing else that it knew.
    pub fn start(&mut self, node: NodeId) {
        let Some(it) = self.nodes.get_mut(node.0 as usize) else { return };
        if it.life.is_some() {
            return;
        }
        it.lives += 1;
        {
            let mut network = self.network.lock();
            network.faults.unsilence(node);
            network.faults.set_down_rev(node, it.spec.down_rev);
            if network.trace.is_kept() {
                let nids: Vec<String> = it.spec.nids.iter().map(ToString::to_string).collect();
                network.note(node, What::Changed(format!("starts with {}", nids.join(", "))));
            }
        }
        match Life::start(node, it.lives, &it.spec, &self.network, &self.clock, &self.ledger) {
            Ok(life) => it.life = Some(life),
            Err(errno) => self.broke(format!("{node} does not start: {}", errno.text())),
        }
        self.settle(node);
    }

    /// Ends a node without a word to anybody. What it had sent still arrives.
    pub fn crash(&mut self, node: NodeId) {
        let Some(life) = self.nodes.get_mut(node.0 as usize).and_then(|it| it.life.take()) else { return };
        self.note(node, || "dies".to_owned());
        self.network.lock().silence(node);
        lock(&self.ledger).orphan(node);
        life.core.shutdown();
        self.drain(node);
    }

    /// Gives a node another interface; one that is down has it when it starts.
    pub fn add_ni(&mut self, node: NodeId, nid: Nid) {
        self.note(node, || format!("gets the interface {nid}"));
        let Some(it) = self.nodes.get_mut(node.0 as usize) else { return };
        it.spec.nids.push(nid);
        let Some(life) = &it.life else { return };
        let driver = SimDriver { network: self.network.clone(), node };
        if let Err(errno) = life.core.add_ni(nid, it.spec.tunables, &driver) {
            self.broke(format!("{node} does not get {nid}: {}", errno.text()));
        }
        self.settle(node);
    }

    /// Takes an interface from a node.
    pub fn remove_ni(&mut self, node: NodeId, nid: Nid) {
        self.note(node, || format!("loses the interface {nid}"));
        let Some(it) = self.nodes.get_mut(node.0 as usize) else { return };
        it.spec.nids.retain(|its| *its != nid);
        let Some(life) = &it.life else { return };
        if let Err(errno) = life.core.remove_ni(nid) {
            self.broke(format!("{node} keeps {nid}: {}", errno.text()));
        }
        self.settle(node);
    }

    /// Changes whether and how a node discovers.
    pub fn set_discovery(&mut self, node: NodeId, mode: DiscoveryMode) {
        self.note(node, || format!("discovery is {mode:?}"));
        let Some(it) = self.nodes.get_mut(node.0 as usize) else { return };
        it.spec.discovery = mode;
        self.with_core(node, |core| {
            core.change_settings(|settings| {
                settings.discovery = mode;
                Ok(())
            })
        });
    }

    /// Turns a node that is down into one of an older version, or back.
    pub fn set_down_rev(&mut self, node: NodeId, down_rev: bool) {
        if let Some(it) = self.nodes.get_mut(node.0 as usize) {
            it.spec.down_rev = down_rev;
            it.spec.discovery = if down_rev { DiscoveryMode::Off } else { DiscoveryMode::On };
            it.spec.first_ping = !down_rev;
        }
    }

    /// Has a node discover the one with this NID.
    pub fn discover(&mut self, node: NodeId, nid: Nid, force: bool) {
        self.note(node, || format!("is told to discover {nid}{}", if force { ", by force" } else { "" }));
        self.with_core(node, |core| core.discover(nid, force));
    }

    /// Does something with the core of a node, if it is up, and then what discovery has to do.
    pub fn with_core<R>(&mut self, node: NodeId, act: impl FnOnce(&Arc<Core>) -> R) -> Option<R> {
        if self.broken.is_some() {
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
            network.note(node, What::Changed(text()));
        }
    }
}

/// Faults of the network.
impl World {
    /// From now on nothing gets from one node to the other; the other way it may.
    pub fn cut(&mut self, from: NodeId, to: NodeId) {
        self.note(from, || format!("is cut off from {to}"));
        self.network.lock().faults.cut(from, to);
    }

    /// Ends all cuts, and doubled connections.
    pub fn heal(&mut self) {
        self.note(NodeId(0), || "the network is well again".to_owned());
        self.network.lock().faults.heal();
    }

    /// Breaks the connections between two nodes; what is under way on them is lost.
    pub fn break_between(&mut self, a: NodeId, b: NodeId) {
        self.note(a, || format!("the connections with {b} break"));
        self.network.lock().break_between(a, b);
    }

    /// There are two connections between the nodes from now on: messages overtake each other.
    pub fn double_connections(&mut self, a: NodeId, b: NodeId) {
        self.note(a, || format!("has a second connection with {b}"));
        self.network.lock().faults.double(a, b);
    }

    /// Lets connections break from now on: one message in so many breaks its own; 0: none.
    pub fn set_breaks(&mut self, one_in: u32) {
        self.network.lock().config.breaks_one_in = one_in;
    }
}

/// Operations.
impl World {
    /// Has a node ask something of the node with this NID. `None` when it is down.
    pub fn ask(&mut self, node: NodeId, nid: Nid, ask: Ask) -> Option<OpId> {
        self.ask_as(node, nid, Asking { ask, ..Asking::default() })
    }

    /// The same in every detail.
    pub fn ask_as(&mut self, node: NodeId, nid: Nid, asking: Asking) -> Option<OpId> {
        if self.broken.is_some() {
            return None;
        }
        let core = self.core(node)?;
        self.note(node, || format!("asks {nid}: {:?}", asking.ask));
        let id = lock(&self.ledger).start(node, asking.ask, self.clock.now());
        if let Err(errno) = self.begin(&core, id, node, nid, asking) {
            self.broke(format!("{node} cannot ask {nid}: {}", errno.text()));
        }
        self.settle(node);
        Some(id)
    }

    fn begin(&self, core: &Core, id: OpId, node: NodeId, nid: Nid, asking: Asking) -> Result<(), Errno> {
        let Asking { ask, source, bytes, portal } = asking;
        let Some(life) = self.nodes.get(node.0 as usize).and_then(|it| it.life.as_ref()) else {
            return Err(Errno::Shutdown);
        };
        let threshold = if ask == Ask::Put { 1 } else { 2 };
        let spec = life.md_spec(id.0, threshold, bytes, 0);
        let (memory, owner) = owned_memory(bytes);
        let md = core.bind_owned(spec, memory, true, owner)?;
        lock(&self.ledger).set_md(id, md);
        let target = Target { nid: Some(nid), pid: Pid::LUSTRE, portal, match_bits: MATCH_BITS, offset: 0 };
        match ask {
            Ask::Put => core.put(source, md, false, target, 0),
            Ask::PutWithAck => core.put(source, md, true, target, 0),
            Ask::Get => core.get(source, md, target),
        }
    }

    /// What became of an operation.
    pub fn op(&self, id: OpId) -> Option<Op> {
        lock(&self.ledger).op(id).cloned()
    }

    /// All operations, in the order in which they were started.
    pub fn ops(&self) -> Vec<Op> {
        lock(&self.ledger).all().to_vec()
    }

    /// How many have not ended.
    pub fn open_ops(&self) -> usize {
        lock(&self.ledger).count_open()
    }

    /// PUTs and GETs that nodes served.
    pub fn served(&self) -> u64 {
        lock(&self.ledger).served
    }

    /// Has the owners of operations that began before `before` and have not ended give them up, as whoever
    /// waits for an answer does in the end.
    pub fn give_up_ops(&mut self, before: Time) {
        let late: Vec<OpId> = {
            let ledger = lock(&self.ledger);
            ledger.open().filter(|(_, op)| op.started <= before).map(|(id, _)| id).collect()
        };
        late.into_iter().for_each(|id| self.give_up(id));
    }

    fn give_up(&mut self, id: OpId) {
        let Some((node, Some(md))) = lock(&self.ledger).op(id).map(|op| (op.node, op.md)) else { return };
        let Some(core) = self.core(node) else { return };
        self.note(node, || format!("gives up operation {}", id.0));
        // It may be on its way out already.
        let _ = core.md_unlink(md);
        self.settle(node);
    }
}

/// Time, and what it brings.
impl World {
    /// Now.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Does the next thing that is due. False when nothing is, or something is [`Broken`]. With
    /// [`Order::Chosen`] messages do not arrive by themselves.
    pub fn step(&mut self) -> bool {
        if self.broken.is_some() {
            return false;
        }
        let next = self.network.lock().agenda.take_next();
        let Some((at, due)) = next else { return false };
        self.clock.advance_to(at);
        match due {
            Due::Arrival(key, token) => {
                let holds = self.network.lock().is_armed(key, token);
                if holds {
                    self.deliver(key);
                }
            }
            Due::Finish(number) => {
                let finished = self.network.lock().take_finished(number);
                if let Some(Finished { upcalls, node, message, result }) = finished {
                    upcalls.finalize(message, result);
                    self.settle(node);
                }
            }
            Due::Wake(node) => self.wake(node, at),
        }
        true
    }

    fn wake(&mut self, node: NodeId, at: Time) {
        let Some(it) = self.nodes.get_mut(node.0 as usize) else { return };
        if it.wake == Some(at) {
            it.wake = None;
            self.settle(node);
        }
    }

    /// Lets time pass until then.
    pub fn run_until(&mut self, then: Time) {
        loop {
            let next = self.network.lock().agenda.next_at();
            if next.is_none_or(|at| at > then) || !self.step() {
                break;
            }
        }
        if self.broken.is_none() {
            self.clock.advance_to(then);
        }
    }

    /// Lets time pass until nothing is left to happen; [`Broken`] if that takes more than `most` steps.
    pub fn run_until_quiet(&mut self, most: usize) {
        for _ in 0..most {
            if !self.step() {
                return;
            }
        }
        self.broke(format!("still not quiet after {most} steps"));
    }

    /// Does what has to happen before anything can be chosen: senders are told. With `all` also what only time
    /// brings.
    pub(crate) fn step_unchosen(&mut self, all: bool) -> bool {
        let due = {
            let network = self.network.lock();
            all || matches!(network.agenda.peek(), Some(Due::Finish(_)))
        };
        due && self.step()
    }

    /// The connections of which a message may arrive next.
    pub fn ready(&self) -> Vec<LinkKey> {
        self.network.lock().ready()
    }

    /// Lets the next message of a connection arrive.
    pub fn deliver(&mut self, key: LinkKey) {
        if self.broken.is_some() {
            return;
        }
        let node = key.receiver();
        let arrival = self.network.lock().take_arrival(key);
        if let Some(arrival) = arrival {
            self.arrive(arrival);
        }
        self.settle(node);
    }

    fn arrive(&mut self, arrival: Arrival) {
        let asked = Cell::new(None);
        let hold = || {
            let number = self.network.lock().next_number();
            asked.set(Some(number));
            Arc::new(Held { network: self.network.clone(), number }) as Arc<dyn HeldReceive>
        };
        let verdict = arrival.upcalls.receive(&arrival.ni, arrival.from, &arrival.parcel.header, &hold);
        match (verdict, asked.into_inner()) {
            (Verdict::Deliver(message), _) => {
                place(&*arrival.upcalls, message, arrival.parcel.payload.as_deref(), Ok(()));
            }
            (Verdict::Discard, _) => {}
            (Verdict::Hold, Some(number)) => self.network.lock().hold(number, arrival),
            (Verdict::Hold, None) => self.broke("a message is to wait, and for nothing".to_owned()),
            (Verdict::Refuse(violation), _) => {
                self.broke(format!("{} refuses a message: {violation}", arrival.key.receiver()));
            }
        }
    }

    /// After something was done to a node: what waited for it, and what its discovery has to do.
    fn settle(&mut self, node: NodeId) {
        if self.broken.is_some() {
            return;
        }
        for _ in 0..SPINS {
            self.drain(node);
            let Some(core) = self.core(node) else { return };
            let wake = self.discovery(&core);
            self.give_up_hopeless();
            let now = self.clock.now();
            if self.network.lock().resumed.is_empty() && wake.is_none_or(|at| at > now) {
                self.plan_wake(node, wake);
                self.check(node);
                return;
            }
        }
        self.broke(format!("{node} always wants to run its discovery again"));
    }

    fn discovery(&mut self, core: &Core) -> Option<Time> {
        let Some(slowest) = &mut self.slowest_discovery else { return core.run_discovery() };
        let before = std::time::Instant::now();
        let wake = core.run_discovery();
        *slowest = before.elapsed().max(*slowest);
        wake
    }

    fn plan_wake(&mut self, node: NodeId, wake: Option<Time>) {
        let Some(it) = self.nodes.get_mut(node.0 as usize) else { return };
        if let Some(at) = wake.filter(|_| it.wake != wake) {
            self.network.lock().agenda.plan(at, |_| Due::Wake(node));
        }
        it.wake = wake;
    }

    /// Delivers what waited for a buffer and has one.
    fn drain(&mut self, node: NodeId) {
        loop {
            let resumed = self.network.lock().take_resumed();
            let Some((Waiting { upcalls, parcel, broken, .. }, verdict)) = resumed else { return };
            match verdict {
                Verdict::Deliver(message) => {
                    let result = if broken { Err(Errno::ConnectionReset) } else { Ok(()) };
                    place(&*upcalls, message, parcel.payload.as_deref(), result);
                }
                Verdict::Discard => {}
                Verdict::Hold | Verdict::Refuse(_) => {
                    self.broke(format!("{node} decides on a message that waited and does not decide"));
                }
            }
        }
    }

    fn give_up_hopeless(&mut self) {
        let hopeless = std::mem::take(&mut lock(&self.ledger).hopeless);
        for id in hopeless {
            let Some((node, Some(md))) = lock(&self.ledger).op(id).map(|op| (op.node, op.md)) else { continue };
            if let Some(core) = self.core(node) {
                let _ = core.md_unlink(md);
            }
        }
    }
}

/// More rounds of discovery without anything new do not come to an end.
const SPINS: usize = 1000;

/// Puts the payload where it belongs, and says so.
fn place(upcalls: &dyn Upcalls, message: Box<Message>, payload: Option<&[u8]>, result: Result<(), Errno>) {
    if let (Some(payload), Ok(())) = (payload, result) {
        fill_payload_of(&message, payload);
    }
    upcalls.received(message, result);
}

/// Looking at it.
impl World {
    /// The core of a node that is up.
    pub fn core(&self, node: NodeId) -> Option<Arc<Core>> {
        Some(Arc::clone(&self.nodes.get(node.0 as usize)?.life.as_ref()?.core))
    }

    /// All nodes.
    pub fn node_ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    /// What a node is to be now.
    pub fn spec(&self, node: NodeId) -> Option<&NodeSpec> {
        self.nodes.get(node.0 as usize).map(|it| &it.spec)
    }

    /// Whether a node is up.
    pub fn is_up(&self, node: NodeId) -> bool {
        self.nodes.get(node.0 as usize).is_some_and(|it| it.life.is_some())
    }

    /// How often a node was started.
    pub fn lives(&self, node: NodeId) -> u32 {
        self.nodes.get(node.0 as usize).map_or(0, |it| it.lives)
    }

    /// How far a node's discovery of the peer with this NID is.
    pub fn standing(&self, node: NodeId, nid: Nid) -> Option<Standing> {
        self.core(node)?.discovery_of(nid)
    }

    /// What a node believes to be all NIDs of the peer with this one, the primary first; none, if it does not
    /// know it.
    pub fn believed(&self, node: NodeId, nid: Nid) -> Vec<Nid> {
        let peer = self.core(node).and_then(|core| core.peer(nid));
        peer.map(|(peer, _)| peer.nids.clone()).unwrap_or_default()
    }

    /// The node that has this NID now.
    pub fn owner(&self, nid: Nid) -> Option<NodeId> {
        self.network.lock().owner(nid)
    }

    /// How much of what happened.
    pub fn counts(&self) -> Counts {
        self.network.lock().counts.clone()
    }

    /// Whether nothing is under way between nodes.
    pub fn is_idle(&self) -> bool {
        self.network.lock().is_idle()
    }

    /// Messages that wait for a buffer of their receiver's.
    pub fn waiting(&self) -> usize {
        self.network.lock().waiting()
    }

    /// What this world was made with.
    pub const fn config(&self) -> &WorldConfig {
        &self.config
    }

    /// Measures from now on how long, in real time, calls of `run_discovery` take.
    pub fn measure_discovery(&mut self) {
        self.slowest_discovery = Some(Duration::ZERO);
    }

    /// The longest since then.
    pub fn slowest_discovery(&self) -> Duration {
        self.slowest_discovery.unwrap_or_default()
    }
}

/// What must be true.
impl World {
    /// Notes that something must be true that is not.
    pub fn expect(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.broke(otherwise());
        }
    }

    /// Whether nothing is broken yet.
    pub const fn is_sound(&self) -> bool {
        self.broken.is_none()
    }

    /// What was found broken first, if anything.
    pub fn finish(&mut self) -> Result<(), Box<Broken>> {
        match self.broken.take() {
            Some(broken) => Err(broken),
            None => Ok(()),
        }
    }

    /// Checks what must be true of a world in which nothing is under way: see [`invariants::quiet`].
    pub fn check_quiet(&mut self) {
        if let Err(what) = invariants::quiet(self) {
            self.broke(what);
        }
    }

    /// Checks that those two nodes know each other as they are: see [`invariants::agreement`].
    pub fn check_agreement(&mut self, a: NodeId, b: NodeId) {
        if let Err(what) = invariants::agreement(self, a, b) {
            self.broke(what);
        }
    }

    /// What must be true of the node after every step.
    fn check(&mut self, node: NodeId) {
        let complaint = lock(&self.ledger).complaint.take();
        if let Some(complaint) = complaint {
            self.broke(complaint.0);
        }
        if !self.config.checked {
            return;
        }
        let checked = self.core(node).map_or(Ok(()), |core| invariants::node(&core));
        if let Err(what) = checked {
            self.broke(format!("{node}: {what}"));
        }
    }

    fn broke(&mut self, what: String) {
        if self.broken.is_some() {
            return;
        }
        let trace = self.network.lock().trace.lines().map(ToString::to_string).collect();
        let (scenario, seed) = (self.scenario.clone(), self.config.seed);
        self.broken = Some(Box::new(Broken { what, scenario, seed, path: None, trace }));
    }

    /// Whether messages arrive when the caller says.
    pub(crate) fn is_chosen(&self) -> bool {
        self.config.network.order == Order::Chosen
    }
}

impl Drop for World {
    /// Cores and their drivers hold each other until they are shut down.
    fn drop(&mut self) {
        for node in 0..self.nodes.len() as u32 {
            self.crash(NodeId(node));
        }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.scenario, self.what)?;
        writeln!(f, "what happened last:")?;
        self.trace.iter().try_for_each(|line| writeln!(f, "{line}"))?;
        match &self.path {
            Some(path) => write!(f, "the same again: LNET_SIM_PATH={path} cargo test -p lnet-sim THIS_TEST"),
            None => write!(f, "the same again: LNET_SIM_SEED={} cargo test -p lnet-sim THIS_TEST", self.seed),
        }
    }
}

impl std::error::Error for Broken {}
