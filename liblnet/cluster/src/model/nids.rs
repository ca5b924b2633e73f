//! Which node has a NID.

use super::addresses::{is_long, number_of};
use super::{Cluster, NodeRef};
use lnet_wire::{NetId, Nid};
use std::collections::{BTreeMap, BTreeSet};

/// The owner of a NID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NidOwner {
    /// The node.
    pub node: NodeRef,
    /// The index of the interface in [`super::Class::nis`].
    pub ni: usize,
}

/// Consecutive NIDs of the nodes of one class.
#[derive(Clone, Copy, Debug)]
struct Interval {
    first: u128,
    last: u128,
    /// The greatest `last` of this interval and all before it.
    max_last: u128,
    class: usize,
    ni: usize,
    /// The index in the class of the node with the first NID.
    node: u64,
}

/// The NIDs of all nodes. Memory and time of a search grow with the runs of addresses, not with the nodes.
#[derive(Clone, Debug, Default)]
pub struct NidIndex {
    /// By net and family (`true`: sixteen bytes), in the order of the first address.
    intervals: BTreeMap<(NetId, bool), Vec<Interval>>,
    /// The nets on which some node has an interface without a known address.
    with_unknown: BTreeSet<NetId>,
}

impl NidIndex {
    /// The NIDs of a cluster.
    pub fn of(cluster: &Cluster) -> Self {
        let mut index = Self::default();
        for (class_index, class) in cluster.classes.iter().enumerate() {
            for (ni_index, ni) in class.nis.iter().enumerate() {
                if !ni.addresses.is_known() {
                    index.with_unknown.insert(ni.net);
                }
                let mut node = 0;
                for run in ni.addresses.runs() {
                    let first = number_of(run.first);
                    let last = first + u128::from(run.count.saturating_sub(1));
                    let all = index.intervals.entry((ni.net, is_long(run.first))).or_default();
                    all.push(Interval { first, last, max_last: 0, class: class_index, ni: ni_index, node });
                    node += run.count;
                }
            }
        }
        for all in index.intervals.values_mut() {
            all.sort_by_key(|interval| (interval.first, interval.class, interval.ni));
            let mut max = 0;
            for interval in all {
                max = interval.last.max(max);
                interval.max_last = max;
            }
        }
        index
    }

    /// The node that has a NID; of several, one.
    pub fn owner(&self, nid: Nid) -> Option<NidOwner> {
        let number = number_of(nid.address());
        let all = self.intervals.get(&(nid.net(), is_long(nid.address())))?;
        let end = all.partition_point(|interval| interval.first <= number);
        let before = all[..end].iter().rev().take_while(|interval| interval.max_last >= number);
        let found = before.into_iter().find(|interval| interval.last >= number)?;
        let node = found.node + u64::try_from(number - found.first).ok()?;
        Some(NidOwner { node: NodeRef { class: found.class, node }, ni: found.ni })
    }

    /// Whether nobody has a NID: false also if a node on the net has an address that is not known.
    pub fn is_nobodys(&self, nid: Nid) -> bool {
        self.owner(nid).is_none() && !self.with_unknown.contains(&nid.net())
    }

    /// Whether a node on the net has an address that is not known.
    pub fn has_unknown(&self, net: NetId) -> bool {
        self.with_unknown.contains(&net)
    }

    /// The NIDs that two interfaces have: the first common NID of each pair of overlapping runs, the number of common NIDs, and the owners.
    pub fn duplicates(&self) -> Vec<(Nid, u64, NidOwner, NidOwner)> {
        let mut found = Vec::new();
        for ((net, long), all) in &self.intervals {
            let mut open: Vec<Interval> = Vec::new();
            for interval in all {
                open.retain(|before| before.last >= interval.first);
                for before in &open {
                    let count = before.last.min(interval.last) - interval.first + 1;
                    let offset = u64::try_from(interval.first - before.first).unwrap_or(u64::MAX);
                    let owner = |of: &Interval, offset| NidOwner {
                        node: NodeRef { class: of.class, node: of.node + offset },
                        ni: of.ni,
                    };
                    let address = match long {
                        true => lnet_wire::nid::Address::Long(interval.first.to_be_bytes()),
                        false => {
                            lnet_wire::nid::Address::Short(u32::try_from(interval.first).unwrap_or(u32::MAX))
                        }
                    };
                    let count = u64::try_from(count).unwrap_or(u64::MAX);
                    found.push((address.on(*net), count, owner(before, offset), owner(interval, 0)));
                }
                open.push(*interval);
            }
        }
        found
    }
}
