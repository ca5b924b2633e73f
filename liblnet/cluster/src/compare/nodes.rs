//! Which nodes of one configuration are which of the other.

use super::MAX_NAMES;
use crate::model::{Class, Cluster};
use std::collections::{BTreeMap, BTreeSet};

/// Nodes that are of one class before and of one class after.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Movement {
    /// The index of the old class; `None` for nodes that are added.
    pub(super) old: Option<usize>,
    /// The index of the new class; `None` for nodes that are gone.
    pub(super) new: Option<usize>,
    /// The number of nodes.
    pub(super) count: u64,
    /// The names of the first of them.
    pub(super) names: Vec<String>,
    /// The indices of the first of them in the old and the new class; 0 for those that are added or gone.
    pub(super) first: (u64, u64),
    /// The number of nodes with other addresses than before.
    pub(super) readdressed: u64,
}

/// The movements of all nodes: those of new classes in the order of these, then those that are gone.
pub(super) fn movements(old: &Cluster, new: &Cluster) -> Vec<Movement> {
    let mut all = Movements::default();
    all.of_files(old, new);
    all.of_topologies(old, new);
    let mut all: Vec<Movement> = all.by_classes.into_values().collect();
    all.sort_by_key(|movement| (movement.new.is_none(), movement.new, movement.old.is_some(), movement.old));
    all
}

#[derive(Default)]
struct Movements {
    by_classes: BTreeMap<(Option<usize>, Option<usize>), Movement>,
}

impl Movements {
    fn add(
        &mut self,
        classes: (Option<usize>, Option<usize>),
        first: (u64, u64),
        count: u64,
        name: impl Fn(u64) -> String,
        is_readdressed: bool,
    ) {
        if count == 0 {
            return;
        }
        let (old, new) = classes;
        let its = self.by_classes.entry(classes).or_insert_with(|| Movement {
            old,
            new,
            first,
            ..Movement::default()
        });
        its.count += count;
        its.readdressed += if is_readdressed { count } else { 0 };
        let room = MAX_NAMES.saturating_sub(its.names.len());
        its.names.extend((0..count).take(room).map(name));
    }

    /// Nodes that have a file each: by the name of the file.
    fn of_files(&mut self, old: &Cluster, new: &Cluster) {
        let places = |cluster: &Cluster| -> BTreeMap<String, (usize, u64)> {
            let classes = cluster.classes.iter().enumerate();
            let nodes = classes.flat_map(|(index, class)| {
                (0..).zip(&class.nodes).map(move |(node, name)| (name.clone(), (index, node)))
            });
            nodes.collect()
        };
        let (before, after) = (places(old), places(new));
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for name in names {
            let (was, is) = (before.get(name), after.get(name));
            let first = (was.map_or(0, |(_, node)| *node), is.map_or(0, |(_, node)| *node));
            let classes = (was.map(|(class, _)| *class), is.map(|(class, _)| *class));
            let is_readdressed = match (was, is) {
                (Some(was), Some(is)) => nids(old, *was) != nids(new, *is),
                _ => false,
            };
            self.add(classes, first, 1, |_| name.clone(), is_readdressed);
        }
    }

    /// Classes of topology files: by their names.
    fn of_topologies(&mut self, old: &Cluster, new: &Cluster) {
        let is_of_topology = |class: &&Class| class.nodes.is_empty();
        let find = |cluster: &Cluster, name: &str| {
            cluster.classes.iter().position(|class| class.nodes.is_empty() && class.name == name)
        };
        for (index, class) in new.classes.iter().enumerate().filter(|(_, class)| is_of_topology(class)) {
            let before = find(old, &class.name);
            let count = before.and_then(|before| old.classes.get(before)).map_or(0, |before| before.count);
            let both = count.min(class.count);
            let is_readdressed = before.and_then(|before| old.classes.get(before)).is_some_and(|before| {
                let addresses = |class: &Class| {
                    class
                        .nis
                        .iter()
                        .map(|ni| {
                            let mut addresses = ni.addresses.clone();
                            addresses.truncate(both);
                            (ni.net, addresses)
                        })
                        .collect::<Vec<_>>()
                };
                addresses(before) != addresses(class)
            });
            self.add((before, Some(index)), (0, 0), both, |node| class.node_name(node), is_readdressed);
            self.add(
                (None, Some(index)),
                (both, both),
                class.count - both,
                |node| class.node_name(both + node),
                false,
            );
        }
        for (index, class) in old.classes.iter().enumerate().filter(|(_, class)| is_of_topology(class)) {
            let after = find(new, &class.name).and_then(|after| new.classes.get(after));
            let both = after.map_or(0, |after| after.count.min(class.count));
            self.add(
                (Some(index), None),
                (both, both),
                class.count - both,
                |node| class.node_name(both + node),
                false,
            );
        }
    }
}

fn nids(cluster: &Cluster, (class, node): (usize, u64)) -> Vec<lnet_wire::Nid> {
    cluster.classes.get(class).map(|class| class.nids(node).collect()).unwrap_or_default()
}
