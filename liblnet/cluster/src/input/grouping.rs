//! Grouping of the nodes of directories to classes.

use crate::model::{Class, ClassNi, ClassPeer, ClassRoute, ClassRule, Cluster};
use std::collections::HashMap;
use std::fmt::Write;

/// The classes so far. Nodes are added one at a time, so the memory grows with the classes, the names and the runs of addresses.
#[derive(Default)]
pub(super) struct Grouping {
    classes: Vec<Class>,
    by_key: HashMap<String, usize>,
}

impl Grouping {
    /// Adds a class of one node: to an equal class, if there is one.
    pub(super) fn add(&mut self, node: Class) {
        let index = *self.by_key.entry(key(&node)).or_insert(self.classes.len());
        let Some(class) = self.classes.get_mut(index) else { return self.classes.push(node) };
        class.count += node.count;
        class.nodes.extend(node.nodes);
        for (ni, of_node) in class.nis.iter_mut().zip(&node.nis) {
            of_node.addresses.runs().iter().for_each(|run| ni.addresses.push(*run));
        }
    }

    /// The cluster of these classes.
    pub(super) fn cluster(self) -> Cluster {
        Cluster { classes: self.classes, apart: Vec::new() }
    }
}

/// All of a configuration that matters to the checks but the addresses and the places in the file, as text.
fn key(class: &Class) -> String {
    let mut key = format!("{} {:?}", class.is_router, class.settings);
    let mut add = |args: std::fmt::Arguments<'_>| {
        // Writing to a string cannot fail.
        let _written = key.write_fmt(args);
    };
    for ClassNi { net, interface, addresses, tunables, lnd, .. } in &class.nis {
        add(format_args!("\nni {net} {interface:?} {} {tunables:?} {lnd:?}", addresses.is_known()));
    }
    for ClassRoute { net, gateway, hops, priority, sensitivity, .. } in &class.routes {
        add(format_args!("\nroute {net} {gateway} {hops:?} {priority} {sensitivity:?}"));
    }
    for ClassRule { src, dst, rte, action, messages, .. } in &class.rules {
        add(format_args!("\nrule {src:?} {dst:?} {rte:?} {action:?} {messages:?}"));
    }
    // Nodes list peers in the order in which they met them.
    let mut peers: Vec<_> =
        class.peers.iter().map(|ClassPeer { nids, multi_rail, .. }| (nids, multi_rail)).collect();
    peers.sort_unstable();
    for (nids, multi_rail) in peers {
        add(format_args!("\npeer {multi_rail} {nids:?}"));
    }
    key
}
