//! How far a message's memory is from the devices of this node's interfaces (core-behaviour 2.4, snd-010 to
//! snd-025). Peers' interfaces are not compared so (snd-040).

use crate::cpt::{CptTable, Placement};
use crate::model::Ni;
use std::sync::Arc;

/// What distances are taken by.
#[derive(Clone, Copy, Debug)]
pub struct Numa<'a> {
    /// The CPU partitions.
    pub cpts: &'a CptTable,
    /// Distances up to this count as equal (cfg-090).
    pub range: u32,
    /// Who knows where memory and threads are.
    pub placement: Option<&'a dyn Placement>,
    /// From where.
    pub origin: Origin,
}

/// Where a message's path begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Where the page with this address is; where this thread runs if nobody knows.
    Memory(usize),
    /// In this CPU partition.
    Cpt(u32),
    /// Where this thread runs: there is no memory.
    Thread,
}

impl<'a> Numa<'a> {
    /// The distances of these interfaces, if they can differ; only then is anybody asked where the memory is.
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

/// Distances from one place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Distances<'a> {
    cpts: &'a CptTable,
    range: u32,
    from: Option<u32>,
}

impl Distances<'_> {
    /// To the device of an interface, not below the range.
    #[inline(never)]
    pub(super) fn to(&self, ni: &Ni) -> u32 {
        self.cpts.distance(self.from, ni.config().device_cpt).max(self.range)
    }
}
