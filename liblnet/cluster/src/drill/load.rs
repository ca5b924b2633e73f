//! The load: each node that is no router keeps a number of operations in flight with nodes of other classes.

use super::error::DrillError;
use super::nodes::DrillCluster;
use super::plan::{DrillPlan, OPERATIONS_PER_SECOND};
use lnet_core::Time;
use lnet_sim::{NodeId, Op, OpId, OpSpec, World};
use lnet_wire::Nid;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::num::NonZeroU64;
use std::time::Duration;

/// The time after a failed operation before the next of the same slot begins, as programs wait before they try again.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(100);
/// The longest payloads in the simulator, as time and memory go with the bytes that are copied. They go into large buffers of routers, as
/// those do that they stand for.
const LARGE_PAYLOAD: u32 = 8192;

/// A node and a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    /// The index of the node that begins operations.
    pub(super) client: usize,
    /// The index of the target.
    pub(super) target: usize,
    /// The NID by which the target is addressed.
    pub(super) nid: Nid,
}

/// The end of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Neither success nor failure is known.
    Open,
    Done,
    Failed,
    /// The node that began the operation was lost.
    Orphaned,
}

/// An operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    /// The index of its pair.
    pub(super) pair: usize,
    pub(super) started: Time,
    pub(super) ended: Option<Time>,
    pub(super) outcome: Outcome,
}

/// A place for one operation in flight; its targets have their turns.
struct Slot {
    client: usize,
    pairs: Vec<usize>,
    next: usize,
}

/// The load of a drill.
pub(super) struct Generator {
    pub(super) pairs: Vec<Pair>,
    /// All operations; from [`Generator::begin`] on those that were in flight then, and later ones.
    pub(super) records: Vec<Record>,
    slots: Vec<Slot>,
    /// Slots without an operation, with the time at which their next one may begin.
    idle: BinaryHeap<Reverse<(Time, usize)>>,
    /// The slots and records of the operations in flight; no record for those of pairs that were left out.
    in_flight: BTreeMap<OpId, (usize, Option<usize>)>,
    spec: OpSpec,
}

/// The length of payloads in the simulator for operations of this length.
pub(super) const fn simulated_length(size: u32) -> u32 {
    if size > LARGE_PAYLOAD { LARGE_PAYLOAD } else { size }
}

/// The pairs of nodes with operations: nodes of different classes, or of one if there is only one.
pub(super) fn pairs(cluster: &DrillCluster) -> Result<Vec<Pair>, DrillError> {
    let ends: Vec<usize> = cluster.ends().collect();
    let classes: BTreeSet<&str> = ends.iter().map(|index| cluster.nodes[*index].class.as_str()).collect();
    let is_pair = |a: usize, b: usize| {
        a != b
            && !cluster.may_be_apart(a, b)
            && (classes.len() == 1 || cluster.nodes[a].class != cluster.nodes[b].class)
    };
    let all = ends.iter().flat_map(|client| ends.iter().map(move |target| (*client, *target)));
    let pairs: Vec<Pair> = all
        .filter(|(client, target)| is_pair(*client, *target))
        .filter_map(|(client, target)| Some(Pair { client, target, nid: address(cluster, client, target)? }))
        .collect();
    if pairs.is_empty() { Err(DrillError::TooFewNodes { nodes: ends.len() }) } else { Ok(pairs) }
}

/// The NID by which one node addresses another: the first on a net that both are on, or else the primary one.
fn address(cluster: &DrillCluster, client: usize, target: usize) -> Option<Nid> {
    let (own, its) = (&cluster.nodes[client].spec.nids, &cluster.nodes[target].spec.nids);
    let shared = its.iter().find(|nid| own.iter().any(|own| own.net() == nid.net()));
    shared.or_else(|| its.first()).copied()
}

/// The rate of interfaces with which those of the clients, and those of the targets, carry about [`OPERATIONS_PER_SECOND`]
/// operations together: in bytes of the load.
pub(super) fn interface_rate(cluster: &DrillCluster, plan: &DrillPlan, pairs: &[Pair]) -> NonZeroU64 {
    let interfaces = |node: fn(&Pair) -> usize| {
        let nodes: BTreeSet<usize> = pairs.iter().map(node).collect();
        nodes.into_iter().map(|index| cluster.nodes[index].spec.nids.len() as u64).sum::<u64>()
    };
    let fewest = interfaces(|pair| pair.client).min(interfaces(|pair| pair.target)).max(1);
    let rate = u64::from(plan.load.size) * OPERATIONS_PER_SECOND / fewest;
    plan.rate.or_else(|| NonZeroU64::new(rate)).unwrap_or(NonZeroU64::MIN)
}

impl Generator {
    /// Makes the load, whose first operations begin at `now`. Operation `i` of a node goes to every so many-th of its targets.
    pub(super) fn new(plan: &DrillPlan, pairs: Vec<Pair>, now: Time) -> Self {
        let mut generator = Self {
            pairs,
            records: Vec::new(),
            slots: Vec::new(),
            idle: BinaryHeap::new(),
            in_flight: BTreeMap::new(),
            spec: OpSpec {
                ask: plan.load.kind,
                bytes: simulated_length(plan.load.size),
                ..OpSpec::default()
            },
        };
        let all: Vec<usize> = (0..generator.pairs.len()).collect();
        generator.fill_slots(plan.load.in_flight as usize, &all, now);
        generator
    }

    /// Gives each client slots for its pairs among these.
    fn fill_slots(&mut self, per_client: usize, pairs: &[usize], now: Time) {
        let mut of_clients: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for pair in pairs {
            of_clients.entry(self.pairs[*pair].client).or_default().push(*pair);
        }
        for (number, (client, its)) in of_clients.into_iter().enumerate() {
            for slot in 0..per_client {
                // Clients begin with different targets.
                let first = (slot + number) % its.len();
                let step = per_client.min(its.len());
                let turns: Vec<usize> = its
                    .iter()
                    .cycle()
                    .skip(first)
                    .step_by(step)
                    .copied()
                    .take(its.len().div_ceil(step))
                    .collect();
                self.idle.push(Reverse((now, self.slots.len())));
                self.slots.push(Slot { client, pairs: turns, next: 0 });
            }
        }
    }

    /// Leaves pairs out of the load from now on, and forgets the operations that have ended, and those of these pairs.
    pub(super) fn begin(&mut self, is_left_out: impl Fn(usize) -> bool) {
        for slot in &mut self.slots {
            slot.pairs.retain(|pair| !is_left_out(*pair));
        }
        let mut kept = Vec::new();
        for (_, number) in self.in_flight.values_mut() {
            let record =
                number.and_then(|number| self.records.get(number)).filter(|it| !is_left_out(it.pair));
            *number = record.map(|record| {
                kept.push(*record);
                kept.len() - 1
            });
        }
        self.records = kept;
    }

    /// The time at which the next operation begins, if none ends before.
    pub(super) fn next_start(&self) -> Option<Time> {
        self.idle.peek().map(|Reverse((at, _))| *at)
    }

    /// Begins the operations that are due.
    pub(super) fn start_due(&mut self, world: &mut World, ids: &[NodeId]) {
        let now = world.now();
        while let Some(Reverse((at, number))) = self.idle.peek().copied()
            && at <= now
        {
            self.idle.pop();
            let slot = &mut self.slots[number];
            if slot.pairs.is_empty() {
                continue;
            }
            let pair = slot.pairs[slot.next % slot.pairs.len()];
            slot.next = (slot.next + 1) % slot.pairs.len();
            let Pair { client, nid, .. } = self.pairs[pair];
            // A node that was lost begins none.
            let Some(id) = world.start_op_with(ids[client], nid, self.spec) else { continue };
            self.in_flight.insert(id, (number, Some(self.records.len())));
            self.records.push(Record { pair, started: now, ended: None, outcome: Outcome::Open });
        }
    }

    /// Notes operations that have ended; their slots are free.
    pub(super) fn note_ended(&mut self, ended: &[(OpId, Op)], now: Time) {
        for (id, op) in ended {
            let Some((slot, record)) = self.in_flight.remove(id) else { continue };
            let succeeded = op.succeeded();
            if let Some(record) = record.and_then(|record| self.records.get_mut(record)) {
                record.ended = Some(op.end.unwrap_or(now));
                record.outcome = if succeeded { Outcome::Done } else { Outcome::Failed };
            }
            let pause = if succeeded { Duration::ZERO } else { PAUSE_AFTER_FAILURE };
            self.idle.push(Reverse((now + pause, slot)));
        }
    }

    /// Ends the operations and the slots of a node that is lost.
    pub(super) fn lose_node(&mut self, node: usize) {
        let (slots, records) = (&mut self.slots, &mut self.records);
        self.in_flight.retain(|_, (slot, record)| {
            let is_its = slots[*slot].client == node;
            if let Some(record) = record.and_then(|record| records.get_mut(record)).filter(|_| is_its) {
                record.outcome = Outcome::Orphaned;
            }
            !is_its
        });
        slots.iter_mut().filter(|slot| slot.client == node).for_each(|slot| slot.pairs.clear());
    }

    /// The number of operations in flight.
    pub(super) fn count_in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// The number of operations that have been in flight since before `before`.
    pub(super) fn count_older_than(&self, before: Time) -> usize {
        let started =
            |record: &Option<usize>| record.and_then(|at| self.records.get(at)).map(|it| it.started);
        self.in_flight.values().filter(|(_, record)| started(record).is_some_and(|at| at < before)).count()
    }
}
