//! Which node has a NID.

use super::addresses::{is_long, number_of};
use super::{Cluster, NodeRef};
use lnet_wire::nid::Address;
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

/// NIDs that nodes have by an interface of their class, and other nodes by an interface of theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The first of them.
    pub nid: Nid,
    /// An owner of it.
    pub one: NidOwner,
    /// Another owner.
    pub other: NidOwner,
    /// The number of NIDs that one more interface has.
    pub count: u64,
    /// The number of runs of addresses that they are in.
    pub runs: u64,
    /// The number of interfaces of nodes that have a NID which another one has.
    pub nodes: u64,
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

    /// The NIDs that several interfaces have, in the order of nets and addresses: one entry for each pair of interfaces of classes. Each run of
    /// addresses is compared with one other run only, the one before it that ends last, so there are less entries than runs.
    pub fn duplicates(&self) -> Vec<Duplicate> {
        let mut found: Vec<Duplicate> = Vec::new();
        for ((net, long), all) in &self.intervals {
            let mut by_interfaces: BTreeMap<[(usize, usize); 2], usize> = BTreeMap::new();
            let Some((mut open, others)) = all.split_first() else { continue };
            // The owners of smaller numbers of `open` are in an entry already.
            let mut uncounted = 0;
            for interval in others {
                if interval.first <= open.last {
                    let last = open.last.min(interval.last);
                    let count = nodes_between(interval.first, last);
                    let of_open = nodes_between(interval.first.max(uncounted), last);
                    uncounted = uncounted.max(last.saturating_add(1));
                    let interfaces = [(open.class, open.ni), (interval.class, interval.ni)];
                    let at = *by_interfaces.entry(interfaces).or_insert(found.len());
                    match found.get_mut(at) {
                        Some(same) => {
                            same.runs += 1;
                            same.count = same.count.saturating_add(count);
                            same.nodes = same.nodes.saturating_add(count).saturating_add(of_open);
                        }
                        None => found.push(Duplicate {
                            nid: interval.address(*long).on(*net),
                            one: open.owner(interval.first),
                            other: interval.owner(interval.first),
                            count,
                            runs: 1,
                            nodes: count.saturating_add(of_open),
                        }),
                    }
                }
                if interval.last > open.last {
                    open = interval;
                }
            }
        }
        found
    }
}

impl Interval {
    /// The owner of a number of the interval.
    fn owner(&self, number: u128) -> NidOwner {
        let offset = u64::try_from(number.saturating_sub(self.first)).unwrap_or(u64::MAX);
        NidOwner { node: NodeRef { class: self.class, node: self.node.saturating_add(offset) }, ni: self.ni }
    }

    /// The first address.
    fn address(&self, long: bool) -> Address {
        match long {
            true => Address::Long(self.first.to_be_bytes()),
            false => Address::Short(u32::try_from(self.first).unwrap_or(u32::MAX)),
        }
    }
}

/// The number of numbers from one to another, both included.
fn nodes_between(first: u128, last: u128) -> u64 {
    let count = last.checked_sub(first).map_or(0, |more| more.saturating_add(1));
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Intervals of one class each, as the index keeps them.
    fn index(intervals: &[(u128, u128, usize)]) -> NidIndex {
        let interval = |(first, last, class): &(u128, u128, usize)| Interval {
            first: *first,
            last: *last,
            max_last: *last,
            class: *class,
            ni: 0,
            node: u64::try_from(*first).unwrap(),
        };
        let net: NetId = "tcp".parse().unwrap();
        let all = intervals.iter().map(interval).collect();
        NidIndex { intervals: [((net, false), all)].into(), with_unknown: BTreeSet::new() }
    }

    #[test]
    fn duplicates_are_one_for_each_pair_of_interfaces() {
        let copies = [(7, 7, 0); 2000];
        let table = [
            (&copies[..], &[(1999, 1999, 2000)][..]),
            (&[(1, 9, 0), (10, 12, 1)], &[]),
            (&[(1, 9, 0), (4, 6, 1)], &[(3, 1, 6)]),
            // The second and the third one have another pair, and the fourth one is within the first.
            (
                &[(1, 9, 0), (4, 12, 1), (11, 11, 2), (30, 40, 3), (31, 31, 4), (35, 36, 4)],
                &[(6, 1, 12), (1, 1, 2), (3, 2, 6)],
            ),
            (&[(1, 9, 0), (2, 4, 1), (3, 4, 2)], &[(3, 1, 6), (2, 1, 2)]),
        ];
        for (intervals, expected) in table {
            let found: Vec<_> =
                index(intervals).duplicates().iter().map(|it| (it.count, it.runs, it.nodes)).collect();
            assert_eq!(found, expected, "{:?}", &intervals[..intervals.len().min(6)]);
        }
    }
}
