//! Random loads: small worlds made at random, in which all kinds of events happen, and which must reach quiescence in
//! the end, with all nodes that discover knowing each other.

use crate::invariants;
use crate::ledger::{Op, OpKind, OpSpec};
use crate::load_stats::LoadStats;
use crate::network::{Completion, NetworkConfig};
use crate::node::{NodeSpec, nid};
use crate::trace::NodeId;
use crate::violation::Violation;
use crate::world::{World, WorldConfig};
use lnet_core::{DiscoveryMode, Time};
use lnet_wire::Nid;
use std::collections::BTreeSet;
use std::time::Duration;

/// Maximum number of rounds of messages between all nodes at the end, after which all must know each other.
const ROUNDS: usize = 12;
/// Maximum number of events of a small world.
const ENDLESS: usize = 500_000;
/// Maximum number of discovery messages for each action; more are a storm.
const STORM: u64 = 60;

/// Makes the world of this seed, runs it, and returns its statistics.
pub fn run_seed(seed: u64) -> Result<LoadStats, Box<Violation>> {
    let mut load = Load::new(seed);
    load.live();
    load.come_to_rest();
    load.stats.add_counts(&load.world.counts(), &load.world.ops());
    load.stats.peers_joined = load.world.peers_joined();
    load.world.finish().map(|()| load.stats)
}

struct Load {
    random: fastrand::Rng,
    world: World,
    stats: LoadStats,
    /// The number of NIDs that were assigned; each is new, except those that move.
    addresses: u32,
    /// Nodes that did not always discover as they do now: others' information about them may stay outdated.
    changed_mode: BTreeSet<NodeId>,
    /// Whether NIDs move between nodes; if not, operators configure peers.
    nids_move: bool,
    done: u64,
}

/// Setup of the world.
impl Load {
    fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed ^ 0x5eed);
        let network = network(&mut random);
        let lines = std::env::var("LNET_SIM_TRACE").ok().and_then(|lines| lines.parse().ok());
        let trace = lines.unwrap_or_else(|| WorldConfig::default().trace);
        let config = WorldConfig { seed, network, trace, ..WorldConfig::default() };
        let world = World::new("a world made by chance", config);
        let mut load = Self {
            random,
            world,
            stats: LoadStats { worlds: 1, ..LoadStats::default() },
            addresses: 0,
            changed_mode: BTreeSet::new(),
            nids_move: false,
            done: 0,
        };
        let alike = load.random.bool();
        load.nids_move = load.random.bool();
        for _ in 0..load.random.u32(2..=6) {
            let spec = load.spec(alike);
            load.stats.down_rev_nodes += u64::from(spec.is_down_rev());
            load.stats.nodes += 1;
            load.world.add_node(spec);
        }
        load
    }

    fn spec(&mut self, alike: bool) -> NodeSpec {
        let others = self.random.u32(0..=3);
        let mut nids: Vec<Nid> = (0..others).map(|_| self.new_nid(None)).collect();
        // All nodes meet on the first net.
        let first = self.new_nid(Some(0));
        nids.insert(self.random.usize(0..=nids.len()), first);
        let spec = NodeSpec::new(&nids);
        match if alike { 9 } else { self.random.u32(0..10) } {
            0 => spec.with_discovery(DiscoveryMode::Off),
            1 => spec.with_discovery(DiscoveryMode::Verify),
            2 => spec.down_rev(),
            _ => spec,
        }
    }

    fn new_nid(&mut self, net: Option<u16>) -> Nid {
        self.addresses += 1;
        let net = net.unwrap_or_else(|| self.random.u16(0..2));
        nid(net, self.addresses)
    }
}

fn network(random: &mut fastrand::Rng) -> NetworkConfig {
    let calm = random.bool();
    NetworkConfig {
        latency: Duration::from_micros(random.u64(1..50)),
        jitter: Duration::from_micros(random.u64(1..3000)),
        slow_one_in: if random.bool() { 0 } else { random.u32(5..100) },
        completion: if random.bool() { Completion::AtOnce } else { Completion::Later },
        connections: random.u8(1..=3),
        breaks_one_in: if calm { 0 } else { random.u32(10..300) },
        ..NetworkConfig::default()
    }
}

/// Actions on the world.
impl Load {
    fn live(&mut self) {
        for _ in 0..self.random.u32(20..100) {
            if !self.world.is_sound() {
                return;
            }
            self.done += 1;
            self.act();
            let pause = match self.random.u32(0..20) {
                0 => Duration::from_secs(self.random.u64(1..120)),
                1..=4 => Duration::from_millis(self.random.u64(1..50)),
                5..=9 => Duration::ZERO,
                _ => Duration::from_micros(self.random.u64(0..3000)),
            };
            let then = self.world.now() + pause;
            self.world.run_until(then);
        }
    }

    fn act(&mut self) {
        match self.random.u32(0..100) {
            0..=5 => self.add_ni(),
            6..=11 => self.remove_ni(),
            12..=14 => self.crash(),
            15..=19 => self.start(),
            20..=22 => self.cut(),
            23..=25 => self.world.heal(),
            26..=28 => self.break_between(),
            29..=30 if self.nids_move => self.move_nid(),
            31..=34 => self.discover(),
            35..=36 => self.change_mode(),
            37..=39 => self.delete_peer(),
            40..=41 if !self.nids_move => self.configure_peer(),
            42..=43 => self.give_up(),
            44 => {
                let (a, b) = (self.any_node(), self.any_node());
                self.world.double_connections(a, b);
            }
            _ => self.start_ops(),
        }
    }

    fn any_node(&mut self) -> NodeId {
        NodeId(self.random.u32(0..self.world.node_ids().count() as u32))
    }

    fn any_nid_of(&mut self, node: NodeId) -> Option<Nid> {
        let nids = self.world.spec(node)?.nids.clone();
        self.random.choice(nids)
    }

    fn start_ops(&mut self) {
        let (node, other) = (self.any_node(), self.any_node());
        let Some(nid) = self.any_nid_of(other).filter(|nid| self.is_on_net_of(node, *nid)) else { return };
        if node == other {
            return;
        }
        let ask = [OpKind::Put, OpKind::PutWithAck, OpKind::Get][self.random.usize(0..3)];
        for _ in 0..self.random.u32(1..=12) {
            let source =
                self.any_nid_of(node).filter(|its| its.net() == nid.net() && self.random.u8(0..8) == 0);
            let spec = OpSpec { ask, source, bytes: self.random.u32(0..64), ..OpSpec::default() };
            self.world.start_op_with(node, nid, spec);
        }
    }

    fn is_on_net_of(&self, node: NodeId, nid: Nid) -> bool {
        self.world.spec(node).is_some_and(|spec| spec.nids.iter().any(|its| its.net() == nid.net()))
    }

    fn add_ni(&mut self) {
        let node = self.any_node();
        if self.world.spec(node).is_some_and(|spec| spec.nids.len() < 6) {
            let nid = self.new_nid(None);
            self.world.add_ni(node, nid);
            self.stats.nis_added += 1;
        }
    }

    /// Returns a NID that the node can lose: it stays on the first net.
    fn spare_nid(&mut self, node: NodeId) -> Option<Nid> {
        let nids = self.world.spec(node)?.nids.clone();
        let first_net = nid(0, 0).net();
        let on_first_net = nids.iter().filter(|nid| nid.net() == first_net).count();
        let spare = nids.into_iter().filter(|nid| nid.net() != first_net || on_first_net > 1);
        self.random.choice(spare.collect::<Vec<_>>())
    }

    fn remove_ni(&mut self) {
        let node = self.any_node();
        if let Some(nid) = self.spare_nid(node) {
            self.world.remove_ni(node, nid);
            self.stats.nis_removed += 1;
        }
    }

    fn move_nid(&mut self) {
        let (from, to) = (self.any_node(), self.any_node());
        if let Some(nid) = self.spare_nid(from).filter(|_| from != to) {
            self.world.remove_ni(from, nid);
            // The NID is added when no confirmations are in flight that would be taken for those of the other node.
            let then = self.world.now() + Duration::from_secs(10);
            self.world.run_until(then);
            self.world.add_ni(to, nid);
            self.stats.nids_moved += 1;
        }
    }

    fn crash(&mut self) {
        let node = self.any_node();
        if self.world.is_up(node) {
            self.world.crash(node);
            self.stats.crashes += 1;
        }
    }

    fn start(&mut self) {
        let down: Vec<NodeId> = self.world.node_ids().filter(|node| !self.world.is_up(*node)).collect();
        if let Some(node) = self.random.choice(down) {
            self.world.start(node);
        }
    }

    fn cut(&mut self) {
        let (a, b) = (self.any_node(), self.any_node());
        self.world.cut(a, b);
        if self.random.bool() {
            self.world.cut(b, a);
        }
        self.stats.cuts += 1;
    }

    fn break_between(&mut self) {
        let (a, b) = (self.any_node(), self.any_node());
        self.world.break_between(a, b);
    }

    fn discover(&mut self) {
        let (node, other) = (self.any_node(), self.any_node());
        if let Some(nid) = self.any_nid_of(other).filter(|nid| node != other && self.is_on_net_of(node, *nid))
        {
            let force = self.random.bool();
            self.world.discover(node, nid, force);
        }
    }

    fn change_mode(&mut self) {
        let node = self.any_node();
        if self.world.spec(node).is_some_and(|spec| !spec.is_down_rev()) {
            let modes = [DiscoveryMode::On, DiscoveryMode::Off, DiscoveryMode::Verify];
            self.world.set_discovery(node, modes[self.random.usize(0..3)]);
            self.changed_mode.insert(node);
            self.stats.mode_changes += 1;
        }
    }

    fn delete_peer(&mut self) {
        let node = self.any_node();
        let peers = self.world.core(node).map(|core| core.admin().peers()).unwrap_or_default();
        let Some(peer) = self.random.choice(peers) else { return };
        // A NID that an operator deletes from a discovered peer stays deleted until the next push of that peer.
        let part = peer.is_configured() && self.random.bool();
        let nid = if part { self.random.choice(peer.nids.clone()) } else { None };
        self.world.note(node, || format!("forgets {} of {}", nid.unwrap_or(peer.primary), peer.primary));
        self.world.with_core(node, |core| core.admin().delete_peer(peer.primary, nid, false));
        self.stats.peers_deleted += 1;
    }

    /// Configures a peer, correctly or with a small difference.
    fn configure_peer(&mut self) {
        let (node, other) = (self.any_node(), self.any_node());
        let Some(nids) = self.world.spec(other).map(|spec| spec.nids.clone()) else { return };
        let Some(primary) = nids.first().copied().filter(|_| node != other) else { return };
        let multi_rail = self.random.u8(0..4) > 0;
        self.world.note(node, || format!("is told of {primary}"));
        self.world.with_core(node, |core| core.admin().make_peer(primary, multi_rail, false));
        for nid in nids.into_iter().skip(1).filter(|_| multi_rail) {
            self.world.with_core(node, |core| core.admin().add_peer_nid(primary, nid, true));
        }
        self.stats.peers_configured += 1;
    }

    fn give_up(&mut self) {
        let timeout = Duration::from_secs(60);
        let now = self.world.now().since(Time(timeout));
        self.world.give_up_ops(Time(now));
    }
}

/// Quiescence.
impl Load {
    fn come_to_rest(&mut self) {
        self.world.heal();
        self.world.set_breaks(0);
        for node in self.world.node_ids() {
            self.world.start(node);
        }
        self.quieten();
        let mut wrong = Ok(());
        for round in 0..ROUNDS {
            if !self.world.is_sound() {
                return;
            }
            let first = self.world.ops().len();
            self.all_talk();
            self.quieten();
            wrong = self.all_is_well(first);
            if wrong.is_ok() {
                self.stats.rounds = self.stats.rounds.max(round as u64 + 1);
                break;
            }
        }
        self.world.expect(wrong.is_ok(), || wrong.err().unwrap_or_default());
        let cost = self.world.counts().discovery();
        let nodes = self.world.node_ids().count() as u64;
        let most = STORM * (self.done + ROUNDS as u64 * nodes) * nodes;
        self.world.expect(cost < most, || format!("{cost} pings and pushes for {} actions", self.done));
    }

    /// Runs until no event is left, and gives up operations without a response.
    fn quieten(&mut self) {
        self.world.run_until_quiet(ENDLESS);
        let now = self.world.now();
        self.world.give_up_ops(now);
        self.world.run_until_quiet(ENDLESS);
        self.world.check_quiet();
        let open = self.world.open_ops();
        self.world.expect(open == 0, || format!("{open} operations do not end"));
    }

    fn all_talk(&mut self) {
        let nodes: Vec<NodeId> = self.world.node_ids().collect();
        let pairs = nodes.iter().flat_map(|node| nodes.iter().map(|other| (*node, *other)));
        let mut pairs: Vec<_> = pairs.filter(|(node, other)| node != other).collect();
        // The order differs each time: the position in the round-robin of NIDs must not always be the same.
        self.random.shuffle(&mut pairs);
        for (node, other) in pairs {
            let nids = self.world.spec(other).map(|spec| spec.nids.clone()).unwrap_or_default();
            let first_net = nids.into_iter().find(|nid| self.is_on_net_of(node, *nid));
            if let Some(nid) = first_net {
                self.world.start_op(node, nid, OpKind::PutWithAck);
                self.done += 1;
            }
        }
    }

    /// Checks that all nodes that discover agree, and that operations from `first` on have succeeded.
    fn all_is_well(&self, first: usize) -> Result<(), String> {
        for a in self.world.node_ids() {
            for b in self.world.node_ids().filter(|b| *b > a) {
                if self.must_agree(a, b) {
                    invariants::agreement(&self.world, a, b)?;
                }
            }
        }
        let ops = self.world.ops();
        let must = |op: &Op| {
            let other = self.world.owner(op.target);
            other.is_some_and(|other| self.must_agree(op.node, other))
        };
        let failed = ops.iter().skip(first).find(|op| !op.succeeded() && must(op));
        failed.map_or(Ok(()), |op| Err(format!("{} does not reach {}: {:?}", op.node, op.target, op.sent)))
    }

    fn must_agree(&self, a: NodeId, b: NodeId) -> bool {
        let mode = |node| self.world.spec(node).map(|spec| spec.discovery);
        let modes = [mode(a), mode(b)];
        let both_on = modes == [Some(DiscoveryMode::On); 2];
        let verifies = modes.contains(&Some(DiscoveryMode::Verify));
        // A node that does not discover any more pushes no change of its NIDs.
        let as_ever =
            self.stats.nids_moved == 0 && !self.changed_mode.contains(&a) && !self.changed_mode.contains(&b);
        both_on || as_ever && !verifies
    }
}
