//! CPU partitions: their CPUs and NUMA nodes, and the distances between partitions.
//!
//! A table is made once, from the [`Hardware`] of the machine and the requested [`Layout`].

mod layout;
mod pattern;

pub use layout::{Hardware, Layout, LayoutError, NumaNode, default_count};
pub use pattern::{MAX_CPTS, Pattern, PatternError};

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

/// Linux's distance of a node to itself, and the default where the distance is unknown.
const LOCAL_DISTANCE: u32 = 10;

/// A CPU partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpt {
    /// The CPUs of the partition, by the system's numbers.
    pub cpus: Vec<u32>,
    /// The NUMA nodes that the CPUs are on, by the system's numbers.
    pub nodes: Vec<u32>,
}

/// All partitions of a node. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CptTable {
    cpts: Vec<Cpt>,
    of_cpu: BTreeMap<u32, u32>,
    of_node: BTreeMap<u32, u32>,
    /// The distances between partitions, row by row.
    distances: Vec<u32>,
    farthest: u32,
    tells_apart: bool,
}

/// The placement of memory and threads. Results may be out of date at once: they are hints.
pub trait Placement: std::fmt::Debug + Send + Sync {
    /// The NUMA node of the page with this address; `None` if unknown, as for a page that was never accessed. The
    /// memory is not accessed. A system call.
    fn node_of_memory(&self, address: usize) -> Option<u32>;

    /// The CPU that this thread runs on.
    fn cpu_of_this_thread(&self) -> Option<u32>;
}

impl CptTable {
    /// A table of `cpts` partitions of an unknown machine: all distances are equal.
    pub fn uniform(cpts: NonZeroUsize) -> Self {
        let cpts = vec![Cpt::default(); cpts.get()];
        let distances = vec![LOCAL_DISTANCE; cpts.len() * cpts.len()];
        let (of_cpu, of_node) = (BTreeMap::new(), BTreeMap::new());
        Self { cpts, of_cpu, of_node, distances, farthest: LOCAL_DISTANCE, tells_apart: false }
    }

    /// The partitions of `hardware` (NU-1).
    pub fn new(hardware: &Hardware, layout: &Layout) -> Result<Self, LayoutError> {
        let cpts = layout::divide(hardware, layout)?;
        let numbered = || (0_u32..).zip(&cpts);
        let of_cpu = numbered().flat_map(|(i, cpt)| cpt.cpus.iter().map(move |cpu| (*cpu, i))).collect();
        // Several partitions may share a node: it maps to the first (NU-3).
        let mut of_node = BTreeMap::new();
        for (i, cpt) in numbered() {
            cpt.nodes.iter().for_each(|node| _ = of_node.entry(*node).or_insert(i));
        }
        let between = |a: &[u32], b: &[u32]| {
            let pairs = a.iter().flat_map(|a| b.iter().map(move |b| hardware.distance(*a, *b)));
            pairs.max().unwrap_or_else(|| hardware.farthest())
        };
        // Memory without CPUs belongs to the nearest partition.
        for node in &hardware.nodes {
            let nearest = numbered().min_by_key(|(_, cpt)| between(&[node.id], &cpt.nodes));
            of_node.entry(node.id).or_insert_with(|| nearest.map_or(0, |(i, _)| i));
        }
        let distances: Vec<u32> =
            cpts.iter().flat_map(|a| cpts.iter().map(|b| between(&a.nodes, &b.nodes))).collect();
        let farthest = hardware.farthest();
        let tells_apart = distances.iter().any(|distance| *distance != farthest);
        Ok(Self { cpts, of_cpu, of_node, distances, farthest, tells_apart })
    }

    /// The number of partitions.
    pub fn count(&self) -> NonZeroUsize {
        NonZeroUsize::new(self.cpts.len()).unwrap_or(NonZeroUsize::MIN)
    }

    /// The partitions, in the order of their numbers.
    pub fn iter(&self) -> std::slice::Iter<'_, Cpt> {
        self.cpts.iter()
    }

    /// The distance from one partition to another: the largest distance between their nodes; from or to an unknown
    /// partition, the largest that exists (NU-2). Comparable only with each other.
    pub fn distance(&self, from: Option<u32>, to: Option<u32>) -> u32 {
        let count = self.cpts.len();
        let known = |cpt: Option<u32>| cpt.map(|cpt| cpt as usize).filter(|cpt| *cpt < count);
        match (known(from), known(to)) {
            (Some(from), Some(to)) => self.distances.get(from * count + to).copied().unwrap_or(self.farthest),
            _ => self.farthest,
        }
    }

    /// The largest distance between any two nodes.
    pub const fn farthest(&self) -> u32 {
        self.farthest
    }

    /// Whether any two distances differ, so that a near partition can be preferred.
    pub const fn tells_apart(&self) -> bool {
        self.tells_apart
    }

    /// The partition of a NUMA node, always the same (NU-3).
    pub fn of_node(&self, node: u32) -> Option<u32> {
        self.of_node.get(&node).copied()
    }

    /// The partition of a CPU.
    pub fn of_cpu(&self, cpu: u32) -> Option<u32> {
        self.of_cpu.get(&cpu).copied()
    }
}

/// Writes a line for each partition with the distances to all: `0: 0:10 1:21`.
impl std::fmt::Display for CptTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (from, _) in (0_u32..).zip(&self.cpts) {
            write!(f, "{}{from}:", if from > 0 { "\n" } else { "" })?;
            for (to, _) in (0_u32..).zip(&self.cpts) {
                write!(f, " {to}:{}", self.distance(Some(from), Some(to)))?;
            }
        }
        Ok(())
    }
}

impl Default for CptTable {
    /// A table of one partition.
    fn default() -> Self {
        Self::uniform(NonZeroUsize::MIN)
    }
}

#[cfg(all(test, not(loom)))]
#[path = "cpt_tests.rs"]
pub(crate) mod tests;
