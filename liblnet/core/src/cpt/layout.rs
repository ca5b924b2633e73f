//! The division of a machine into CPU partitions.

use super::pattern::{MAX_CPTS, Pattern};
use super::{Cpt, LOCAL_DISTANCE};
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use thiserror::Error;

/// The distance between two nodes, if the machine does not report it.
const REMOTE_DISTANCE: u32 = 20;

/// The CPUs and NUMA nodes of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hardware {
    /// The NUMA nodes; one if the machine reports none.
    pub nodes: Vec<NumaNode>,
    /// The maximum number of threads of a core.
    pub threads_per_core: NonZeroUsize,
}

/// A NUMA node of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NumaNode {
    /// The number that the system gives the node.
    pub id: u32,
    /// The online CPUs of the node, the threads of one core adjacent; empty for a node with memory only.
    pub cpus: Vec<u32>,
    /// The distance to each node, in the order of [`Hardware::nodes`].
    pub distances: Vec<u32>,
}

/// The way in which a machine is divided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// [`default_count`] partitions.
    #[default]
    Default,
    /// This number of partitions, of nearly equal size.
    Count(NonZeroUsize),
    /// The partitions that a pattern lists.
    Pattern(Pattern),
}

/// The reason why a machine cannot be divided as requested.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LayoutError {
    /// More partitions were requested than there are CPUs, or more than 256.
    #[error(
        "{wanted} CPU partitions are too many: there are {cpus} CPUs, and never more than 256 partitions"
    )]
    TooMany {
        /// The requested number of partitions.
        wanted: usize,
        /// The number of CPUs.
        cpus: usize,
    },
    /// The CPU does not exist, or is offline.
    #[error("there is no CPU {0}, or it is off")]
    NoCpu(u32),
    /// The node does not exist, or is offline.
    #[error("there is no NUMA node {0}, or it is off")]
    NoNode(u32),
    /// The CPU or node is in two partitions, or twice in one.
    #[error("{0} is named twice")]
    Twice(u32),
    /// The partition has no CPU.
    #[error("partition {0} has no CPU")]
    Empty(u32),
}

/// The default number of partitions of a machine with `cpus` CPUs (NU-1): one for up to four CPUs, otherwise the
/// fewest, at least two, with at most two cores each, and fewer than that until all partitions have the same number
/// of CPUs.
pub fn default_count(cpus: usize, threads_per_core: NonZeroUsize) -> NonZeroUsize {
    if cpus <= 4 {
        return NonZeroUsize::MIN;
    }
    let most = cpus.div_ceil(threads_per_core.get().saturating_mul(2)).clamp(2, MAX_CPTS);
    let count = (1..=most).rev().find(|count| cpus.is_multiple_of(*count));
    count.and_then(NonZeroUsize::new).unwrap_or(NonZeroUsize::MIN)
}

impl Hardware {
    /// A machine with one node that has these CPUs, each a core.
    pub fn of_one_node(cpus: Vec<u32>) -> Self {
        let node = NumaNode { id: 0, cpus, distances: vec![LOCAL_DISTANCE] };
        Self { nodes: vec![node], threads_per_core: NonZeroUsize::MIN }
    }

    /// The distance between two nodes, by their numbers.
    pub(super) fn distance(&self, from: u32, to: u32) -> u32 {
        let place = |id| self.nodes.iter().position(|node| node.id == id);
        let said = place(from).zip(place(to)).and_then(|(from, to)| self.nodes.get(from)?.distances.get(to));
        said.copied().unwrap_or(if from == to { LOCAL_DISTANCE } else { REMOTE_DISTANCE })
    }

    /// The largest distance between any two nodes.
    pub(super) fn farthest(&self) -> u32 {
        let pairs = self.nodes.iter().flat_map(|a| self.nodes.iter().map(|b| self.distance(a.id, b.id)));
        pairs.max().unwrap_or(LOCAL_DISTANCE)
    }

    fn cpus(&self) -> impl Iterator<Item = u32> {
        self.nodes.iter().flat_map(|node| node.cpus.iter().copied())
    }

    fn node_of(&self, cpu: u32) -> Option<u32> {
        self.nodes.iter().find(|node| node.cpus.contains(&cpu)).map(|node| node.id)
    }

    fn cpus_of_node(&self, id: u32) -> Result<&[u32], LayoutError> {
        let node = self.nodes.iter().find(|node| node.id == id).ok_or(LayoutError::NoNode(id))?;
        Ok(&node.cpus)
    }
}

/// Divides the machine; returns at least one partition.
pub(super) fn divide(hardware: &Hardware, layout: &Layout) -> Result<Vec<Cpt>, LayoutError> {
    let cpus = hardware.cpus().count();
    match layout {
        Layout::Default => evenly(hardware, cpus, default_count(cpus, hardware.threads_per_core)),
        Layout::Count(count) => evenly(hardware, cpus, *count),
        Layout::Pattern(Pattern::EachNode) => {
            let with_cpus = hardware.nodes.iter().filter(|node| !node.cpus.is_empty());
            let cpts: Vec<Cpt> =
                with_cpus.map(|node| Cpt { cpus: node.cpus.clone(), nodes: vec![node.id] }).collect();
            match cpts.len() {
                0 => evenly(hardware, cpus, NonZeroUsize::MIN),
                1..=MAX_CPTS => Ok(cpts),
                wanted => Err(LayoutError::TooMany { wanted, cpus }),
            }
        }
        Layout::Pattern(Pattern::Nodes(groups)) => {
            named_once(groups)?;
            let cpts = groups.iter().map(|nodes| {
                let cpus: Result<Vec<_>, _> = nodes.iter().map(|node| hardware.cpus_of_node(*node)).collect();
                Ok(Cpt { cpus: cpus?.concat(), nodes: nodes.clone() })
            });
            none_empty(cpts.collect::<Result<_, _>>()?)
        }
        Layout::Pattern(Pattern::Cpus(groups)) => {
            named_once(groups)?;
            none_empty(groups.iter().map(|cpus| of_cpus(hardware, cpus)).collect::<Result<_, _>>()?)
        }
    }
}

/// Divides the CPUs into `count` partitions of adjacent CPUs, whose sizes differ by one at most.
fn evenly(hardware: &Hardware, cpus: usize, count: NonZeroUsize) -> Result<Vec<Cpt>, LayoutError> {
    let all: Vec<u32> = hardware.cpus().collect();
    let count = count.get();
    if count > MAX_CPTS || count > cpus.max(1) {
        return Err(LayoutError::TooMany { wanted: count, cpus });
    }
    let part = |i| all.get(cpus * i / count..cpus * (i + 1) / count).unwrap_or(&[]);
    (0..count).map(|i| of_cpus(hardware, part(i))).collect()
}

fn of_cpus(hardware: &Hardware, cpus: &[u32]) -> Result<Cpt, LayoutError> {
    let nodes: Result<BTreeSet<_>, _> =
        cpus.iter().map(|cpu| hardware.node_of(*cpu).ok_or(LayoutError::NoCpu(*cpu))).collect();
    Ok(Cpt { cpus: cpus.to_vec(), nodes: nodes?.into_iter().collect() })
}

fn named_once(groups: &[Vec<u32>]) -> Result<(), LayoutError> {
    let mut seen = BTreeSet::new();
    match groups.iter().flatten().find(|number| !seen.insert(**number)) {
        Some(twice) => Err(LayoutError::Twice(*twice)),
        None => Ok(()),
    }
}

fn none_empty(cpts: Vec<Cpt>) -> Result<Vec<Cpt>, LayoutError> {
    match (0..).zip(&cpts).find(|(_, cpt)| cpt.cpus.is_empty()) {
        Some((i, _)) => Err(LayoutError::Empty(i)),
        None => Ok(cpts),
    }
}
