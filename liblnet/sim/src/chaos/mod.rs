//! Small random worlds under load in which rails, interfaces, paths and nodes fail and recover. Every operation must end
//! exactly once and in time, with success as long as there is a usable path; afterwards every node must be as before.

mod actions;
mod quiescence;
mod stats;

pub use stats::ChaosStats;

use crate::faults::Rail;
use crate::ledger::{OpKind, OpSpec};
use crate::network::{Delivery, NetworkConfig};
use crate::node::{NodeSpec, nid, nid6};
use crate::trace::NodeId;
use crate::violation::Violation;
use crate::world::{World, WorldConfig};
use lnet_core::{AddressFamily, Settings, Time};
use lnet_wire::Nid;
use std::collections::BTreeSet;
use std::time::Duration;

/// Maximum number of steps that the simulation takes between two actions.
const STORM: usize = 300_000;
/// Choices for the transaction timeout of a world, in seconds.
const TIMEOUTS: [u32; 3] = [10, 50, 50];

/// The address families of a world's NIDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Families {
    /// All NIDs have IPv4 addresses.
    Ipv4,
    /// Some nodes have IPv4 NIDs only, of which some know no others and some reach IPv6 NIDs; some nodes have NIDs of both families.
    Mixed,
}

/// Runs the world of this seed. A violation is reported with as few actions as it takes to reproduce it.
pub fn run_seed(seed: u64, families: Families) -> Result<ChaosStats, Box<Violation>> {
    let mut chaos = Chaos::new(seed, families, BTreeSet::new());
    let actions = chaos.actions;
    let broken = match chaos.run() {
        Ok(stats) => return Ok(stats),
        Err(broken) => broken,
    };
    Err(actions::fewest(seed, families, actions, broken))
}

/// A world and the actions on it.
struct Chaos {
    seed: u64,
    world: World,
    stats: ChaosStats,
    rails: u16,
    /// The number of actions, and the actions that are left out.
    actions: usize,
    without: BTreeSet<usize>,
    /// Whether connections do not break at random.
    calm: bool,
}

impl Chaos {
    fn new(seed: u64, families: Families, without: BTreeSet<usize>) -> Self {
        let mut random = fastrand::Rng::with_seed(seed ^ 0xc4a05);
        let network = network(&mut random);
        let lines = std::env::var("LNET_SIM_TRACE").ok().and_then(|lines| lines.parse().ok());
        let trace = lines.unwrap_or_else(|| WorldConfig::default().trace);
        let config = WorldConfig { seed, network, trace, check_every: 50, ..WorldConfig::default() };
        let world = World::new("a world in which rails fail", config);
        let (rails, timeout) = (random.u16(2..=3), TIMEOUTS[random.usize(0..TIMEOUTS.len())]);
        let calm = random.bool();
        let actions = random.usize(10..60);
        let stats = ChaosStats::default();
        let mut chaos = Self { seed, world, stats, rails, actions, without, calm };
        let mut random_families = fastrand::Rng::with_seed(seed ^ 0xfa317);
        for node in 0..random.u32(2..=4) {
            let spec = chaos.spec(&mut random, node, timeout);
            let spec = match families {
                Families::Ipv4 => spec,
                Families::Mixed => chaos.with_families(&mut random_families, node, spec),
            };
            chaos.world.add_node(spec);
        }
        chaos
    }

    /// Makes the specification of a node with one interface or more on each of some rails.
    fn spec(&mut self, random: &mut fastrand::Rng, node: u32, timeout: u32) -> NodeSpec {
        let most = if random.u8(0..6) == 0 { 1 } else { self.rails };
        let nids: Vec<Nid> = (0..most)
            .flat_map(|rail| (0..random.u16(1..=5) / 5 + 1).map(move |which| (rail, which)))
            .map(|(rail, which)| {
                let nid = nid(0, (node + 1) << 8 | u32::from(rail * 4 + which + 1));
                self.world.attach(nid, Rail(rail));
                nid
            })
            .collect();
        let settings = Settings { transaction_timeout: timeout, ..Settings::default() };
        NodeSpec { settings, ..NodeSpec::new(&nids) }
    }

    /// Gives the node of this number other families, or other knowledge of them. Each node keeps an IPv4 NID on the first rail, so that
    /// each reaches each.
    fn with_families(&mut self, random: &mut fastrand::Rng, node: u32, spec: NodeSpec) -> NodeSpec {
        let mut spec = match random.u8(0..6) {
            0 => return spec,
            1 => return spec.without_large_nids(),
            2 => return spec.reaching_ipv6(),
            3 => spec.reaching_ipv6(),
            _ => spec,
        };
        for (number, at) in (0..spec.nids.len()).rev().zip(1..) {
            let (rail, of_ipv6) = (self.world.rail_of(spec.nids[number]), nid6(0, (node + 1) << 8 | at));
            let Some(rail) = rail else { continue };
            match random.u8(0..3) {
                0 => continue,
                1 if number > 0 => spec.nids[number] = of_ipv6,
                _ => spec.nids.insert(number + random.usize(0..=1), of_ipv6),
            }
            self.world.attach(of_ipv6, rail);
        }
        spec
    }

    fn run(&mut self) -> Result<ChaosStats, Box<Violation>> {
        self.first_contact();
        for number in 0..self.actions {
            if !self.without.contains(&number) && self.world.is_sound() {
                self.act(number);
            }
        }
        self.recover();
        self.stats.worlds = 1;
        self.stats.add(&self.world);
        self.world.finish().map(|()| std::mem::take(&mut self.stats))
    }

    /// All nodes discover each other before anything fails.
    fn first_contact(&mut self) {
        for _ in 0..3 {
            self.all_to_all(1);
            self.pass(Duration::from_secs(5));
        }
        if !self.calm {
            self.world.set_breaks(300);
        }
    }

    /// Starts `times` operations from each node towards each other.
    fn all_to_all(&mut self, times: usize) {
        let nodes: Vec<NodeId> = self.world.node_ids().collect();
        for (node, other) in nodes.iter().flat_map(|node| nodes.iter().map(move |other| (*node, *other))) {
            let Some(to) = self.world.nids_reached(node, other).first().copied() else { continue };
            for time in (0..times).filter(|_| node != other) {
                let ask = [OpKind::PutWithAck, OpKind::Get, OpKind::Put][time % 3];
                self.world.start_op_with(node, to, OpSpec { ask, ..OpSpec::default() });
            }
        }
    }

    fn pass(&mut self, time: Duration) {
        let then: Time = self.world.now() + time;
        self.world.run_until_within(then, STORM);
    }
}

fn network(random: &mut fastrand::Rng) -> NetworkConfig {
    NetworkConfig {
        latency: Duration::from_micros(random.u64(1..50)),
        jitter: Duration::from_micros(random.u64(1..3000)),
        slow_one_in: if random.bool() { 0 } else { random.u32(20..200) },
        connections: random.u8(1..=3),
        delivery: Delivery::Acked,
        ..NetworkConfig::default()
    }
}
