//! A drill: a world of the simulator, its load, its losses.

use super::error::DrillError;
use super::load::{Generator, interface_rate, pairs, simulated_length};
use super::nodes::{DrillCluster, DrillNode};
use super::observe::{Observer, RunFacts};
use super::paths::{path_of, shown_pairs};
use super::phases::DELAYED;
use super::plan::{DrillPlan, Loss};
use super::report::{DrillReport, PathShown};
use lnet_core::Time;
use lnet_sim::{NetworkConfig, NodeId, World, WorldConfig};
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::time::Duration;

/// The time before the drill in which nodes discover each other under load; nothing of it is reported.
const WARM_UP: Duration = Duration::from_secs(3);
/// The time, beyond one and a half of the transaction timeout, after which an operation without an end counts as lost.
const GRACE: Duration = Duration::from_secs(10);

/// The progress of a drill, or of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The number of the drill, from 0.
    pub drill: usize,
    /// The number of drills.
    pub drills: usize,
    /// The virtual time of this drill that is over.
    pub over: Duration,
    /// The virtual time that this drill takes, without the wait for the last operations.
    pub whole: Duration,
}

/// Makes a drill. `progress` is called for each point of the throughput over time.
pub fn run(
    cluster: &DrillCluster,
    plan: &DrillPlan,
    progress: &mut dyn FnMut(Progress),
) -> Result<DrillReport, DrillError> {
    let mut drill = Drill::build(cluster, plan)?;
    drill.warm_up()?;
    drill.go(progress)?;
    drill.drain()?;
    Ok(drill.report())
}

struct Drill<'a> {
    cluster: &'a DrillCluster,
    plan: &'a DrillPlan,
    world: World,
    ids: Vec<NodeId>,
    load: Generator,
    rate: NonZeroU64,
    start: Time,
    observer: Observer,
    /// The losses to come, the last first.
    to_come: Vec<Loss>,
    lost_nodes: BTreeMap<usize, Time>,
    shown: Vec<usize>,
    before: Vec<Option<PathShown>>,
    after: Vec<Option<PathShown>>,
    left_out: Vec<String>,
}

impl<'a> Drill<'a> {
    fn build(cluster: &'a DrillCluster, plan: &'a DrillPlan) -> Result<Self, DrillError> {
        if let Some(loss) = plan.losses.iter().find(|loss| loss.at >= plan.duration) {
            let element = loss.target.name(cluster);
            return Err(DrillError::LossAfterEnd { element, at: loss.at, end: plan.duration });
        }
        let pairs = pairs(cluster)?;
        let rate = interface_rate(cluster, plan, &pairs);
        let length = simulated_length(plan.load.size);
        // Payloads may be shorter than the operations of the load, and take as long.
        let scaled = u64::from(length).saturating_mul(rate.get()) / u64::from(plan.load.size.max(1));
        let network = NetworkConfig {
            delivery: plan.delivery,
            rate: NonZeroU64::new(scaled).or(Some(NonZeroU64::MIN)),
            ..NetworkConfig::default()
        };
        let config =
            WorldConfig { seed: plan.seed, network, trace: 0, check_every: 0, check_operations: false };
        let mut world = World::new("a drill", config);
        let mut ids = Vec::new();
        for node in &cluster.nodes {
            ids.push(start_node(&mut world, node, length)?);
        }
        world.note_ended_ops();
        let mut to_come = plan.losses.clone();
        to_come.sort_by_key(|loss| std::cmp::Reverse(loss.at));
        let lost: Vec<_> = plan.losses.iter().flat_map(|loss| loss.target.nids(cluster)).collect();
        let is_concerned = |node: usize| {
            let its = &cluster.nodes[node].spec.nids;
            let is_lost = plan.losses.iter().any(|loss| loss.target.node() == Some(node));
            !is_lost && its.iter().any(|nid| lost.contains(nid))
        };
        let shown = shown_pairs(cluster, &pairs, is_concerned);
        let now = world.now();
        Ok(Self {
            cluster,
            plan,
            load: Generator::new(plan, pairs, now),
            world,
            ids,
            rate,
            start: now,
            observer: Observer::default(),
            to_come,
            lost_nodes: BTreeMap::new(),
            shown,
            before: Vec::new(),
            after: Vec::new(),
            left_out: cluster.left_out.clone(),
        })
    }

    /// Lets nodes discover each other, and leaves pairs out that have no path.
    fn warm_up(&mut self) -> Result<(), DrillError> {
        self.run_load_until(self.start + WARM_UP)?;
        let Self { world, load, ids, cluster, .. } = self;
        let is_unreachable = |pair: &super::load::Pair| {
            let core = world.core(ids[pair.client]);
            core.is_none_or(|core| core.data_path().select_path(None, pair.nid).is_err())
        };
        let unreachable: Vec<bool> = load.pairs.iter().map(is_unreachable).collect();
        let mut of_classes: BTreeMap<(&str, &str), [u64; 2]> = BTreeMap::new();
        for (pair, is_out) in load.pairs.iter().zip(&unreachable) {
            let class = |node: usize| cluster.nodes[node].class.as_str();
            let counts = of_classes.entry((class(pair.client), class(pair.target))).or_default();
            counts[0] += u64::from(*is_out);
            counts[1] += 1;
        }
        let text = |((from, to), [out, all]): (&(&str, &str), &[u64; 2])| {
            format!("{out} of {all} pairs from {from} to {to}: they have no path, before any loss")
        };
        self.left_out.extend(of_classes.iter().filter(|(_, [out, _])| *out > 0).map(text));
        load.begin(|pair| unreachable[pair]);
        if unreachable.iter().all(|is_out| *is_out) {
            return Err(DrillError::TooFewNodes { nodes: cluster.ends().count() });
        }
        world.count_traffic();
        self.start = world.now();
        self.observer.begin(self.start);
        Ok(())
    }

    /// Runs the world with its load for the time of the drill, with its losses.
    fn go(&mut self, progress: &mut dyn FnMut(Progress)) -> Result<(), DrillError> {
        let (slice, duration) = (self.plan.slice(), self.plan.duration);
        let mut at = Duration::ZERO;
        while at < duration {
            progress(Progress { drill: 0, drills: 1, over: at, whole: duration });
            let next = (at + slice).min(duration);
            while let Some(loss) = self.to_come.pop_if(|loss| loss.at < next) {
                self.run_load_until(self.start + loss.at)?;
                self.lose(&loss);
            }
            self.run_load_until(self.start + next)?;
            let now = self.world.now();
            let stalled = self.load.count_older_than(Time(now.since(Time(DELAYED))));
            self.observer.end_slice(self.world.traffic(), self.load.count_in_flight(), stalled);
            at = next;
        }
        if self.before.is_empty() {
            self.before = self.paths();
        }
        self.after = self.paths();
        Ok(())
    }

    fn paths(&self) -> Vec<Option<PathShown>> {
        let shown = self.shown.iter().map(|pair| self.load.pairs[*pair]);
        shown.map(|pair| path_of(&self.world, &self.ids, pair)).collect()
    }

    /// Loses an element: nothing gets into its interfaces or out of them, and no node gets to know it otherwise.
    fn lose(&mut self, loss: &Loss) {
        if self.before.is_empty() {
            self.before = self.paths();
        }
        let nids = loss.target.nids(self.cluster);
        nids.iter().for_each(|nid| self.world.kill_interface(*nid));
        if let Some(node) = loss.target.node().filter(|node| !self.lost_nodes.contains_key(node)) {
            self.world.crash(self.ids[node]);
            self.load.lose_node(node);
            self.lost_nodes.insert(node, self.world.now());
        }
    }

    /// Runs the world until then, and begins operations as others end.
    fn run_load_until(&mut self, then: Time) -> Result<(), DrillError> {
        loop {
            self.load.start_due(&mut self.world, &self.ids);
            let next = self.load.next_start().map_or(then, |at| at.min(then));
            self.world.run_until_op_ends(next);
            self.note_ended();
            if !self.world.is_sound() {
                self.world.finish()?;
            }
            if self.world.now() >= then {
                return Ok(());
            }
        }
    }

    fn note_ended(&mut self) {
        let ended = self.world.take_ended_ops();
        self.load.note_ended(&ended, self.world.now());
    }

    /// Waits for the operations in flight, until none of them can end any more.
    fn drain(&mut self) -> Result<(), DrillError> {
        let timeouts = self.cluster.nodes.iter().map(|node| node.spec.settings.transaction_timeout);
        let longest = Duration::from_secs(timeouts.max().unwrap_or(0).into());
        let limit = self.world.now() + longest + longest / 2 + GRACE;
        while self.load.count_in_flight() > 0 && self.world.now() < limit {
            self.world.run_until_op_ends(limit);
            self.note_ended();
            if !self.world.is_sound() {
                self.world.finish()?;
            }
        }
        Ok(())
    }

    fn report(self) -> DrillReport {
        let paths = self.shown.iter().zip(self.before.into_iter().zip(self.after));
        let facts = RunFacts {
            cluster: self.cluster,
            plan: self.plan,
            pairs: &self.load.pairs,
            records: &self.load.records,
            lost_nodes: &self.lost_nodes,
            rate: self.rate,
            start: self.start,
            left_out: self.left_out,
            paths: paths.map(|(pair, (before, after))| (*pair, before, after)).collect(),
        };
        self.observer.report(facts)
    }
}

/// Starts a node with its rules and its configured peers.
fn start_node(world: &mut World, node: &DrillNode, length: u32) -> Result<NodeId, DrillError> {
    let refused = |what: String| DrillError::Node { node: node.name.clone(), what };
    let mut spec = node.spec.clone();
    spec.serves = spec.serves.max(length);
    let id = world.add_node(spec);
    world.finish()?;
    for rule in &node.rules {
        let added = world.with_core(id, |core| core.admin().add_rule(rule.clone(), None));
        added.unwrap_or(Ok(())).map_err(|errno| refused(format!("a selection rule: {}", errno.text())))?;
    }
    for peer in &node.peers {
        let made = world.with_core(id, |core| {
            core.admin().make_peer(peer.primary, peer.multi_rail, false)?;
            peer.nids
                .iter()
                .try_for_each(|nid| core.admin().add_peer_nid(peer.primary, *nid, peer.multi_rail))
        });
        made.unwrap_or(Ok(()))
            .map_err(|errno| refused(format!("the peer {}: {}", peer.primary, errno.text())))?;
    }
    Ok(id)
}
