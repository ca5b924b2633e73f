//! NUMA distances from the memory of a message to the devices of local NIs (core-behaviour 2.4, snd-010 to snd-025).
//! Peer NIs have no distance (snd-040).

use crate::cpt::{CptTable, Placement};
use crate::model::Ni;
use std::sync::Arc;

/// The parameters of the distances.
#[derive(Clone, Copy, Debug)]
pub struct Numa<'a> {
    /// The CPU partitions.
    pub cpts: &'a CptTable,
    /// Distances up to this value count as equal (cfg-090).
    pub range: u32,
    /// The source of the placement of memory and threads.
    pub placement: Option<&'a dyn Placement>,
    /// The origin of the distances.
    pub origin: Origin,
}

/// The origin of the distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The page with this address; the current thread if the placement of the page is unknown.
    Memory(usize),
    /// In this CPU partition.
    Cpt(u32),
    /// The current thread, as there is no memory.
    Thread,
}

impl<'a> Numa<'a> {
    /// The distances of these interfaces, if they can differ; only then the placement of the memory is looked up.
    #[cold]
    pub(super) fn distances(&self, nis: &[Arc<Ni>]) -> Option<Distances<'a>> {
        let (first, others) = nis.split_first()?;
        let differ = others.iter().any(|ni| ni.config().device_cpt != first.config().device_cpt);
        let in_range = self.range >= self.cpts.farthest();
        (differ && !in_range).then(|| Distances { cpts: self.cpts, range: self.range, from: self.cpt() })
    }

    fn cpt(&self) -> Option<u32> {
        let of_memory = |address| self.cpts.of_node(self.placement?.node_of_memory(address)?);
        let of_thread = || self.cpts.of_cpu(self.placement?.cpu_of_this_thread()?);
        match self.origin {
            Origin::Memory(address) => of_memory(address).or_else(of_thread),
            Origin::Cpt(cpt) => Some(cpt),
            Origin::Thread => of_thread(),
        }
    }
}

/// The distances from one origin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Distances<'a> {
    cpts: &'a CptTable,
    range: u32,
    from: Option<u32>,
}

impl Distances<'_> {
    /// The distance to the device of an interface, at least the range.
    #[inline(never)]
    pub(super) fn to(&self, ni: &Ni) -> u32 {
        self.cpts.distance(self.from, ni.config().device_cpt).max(self.range)
    }
}
