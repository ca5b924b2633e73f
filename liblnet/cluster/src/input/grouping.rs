//! Grouping of the nodes of directories to classes.

use crate::model::{Addresses, Class, ClassNi, ClassRoute, ClassRule, Cluster};
use lnet_wire::Nid;
use std::collections::HashMap;
use std::fmt::Write;

/// The classes so far. Nodes are added one at a time, so the memory grows with the classes, the names and the runs of addresses.
#[derive(Default)]
pub(super) struct Grouping {
    classes: Vec<Class>,
    by_key: HashMap<String, usize>,
    /// For each class, the index of each of its peers.
    peers: Vec<HashMap<(Vec<Nid>, bool), usize>>,
}

impl Grouping {
    /// Adds a class of one node: to an equal class, if there is one.
    pub(super) fn add(&mut self, node: Class) {
        let index = *self.by_key.entry(key(&node)).or_insert(self.classes.len());
        if index == self.classes.len() {
            self.classes.push(Class {
                count: 0,
                nodes: Vec::new(),
                files: Vec::new(),
                peers: Vec::new(),
                ..without_addresses(&node)
            });
            self.peers.push(HashMap::new());
        }
        let (Some(class), Some(known)) = (self.classes.get_mut(index), self.peers.get_mut(index)) else {
            return;
        };
        class.count += node.count;
        class.nodes.extend(node.nodes);
        class.files.extend(node.files);
        for peer in node.peers {
            let at = *known.entry((peer.nids.clone(), peer.multi_rail)).or_insert(class.peers.len());
            match class.peers.get_mut(at) {
                Some(same) => same.nodes += peer.nodes,
                None => class.peers.push(peer),
            }
        }
        for (ni, of_node) in class.nis.iter_mut().zip(&node.nis) {
            of_node.addresses.runs().iter().for_each(|run| ni.addresses.push(*run));
        }
    }

    /// The cluster of these classes.
    pub(super) fn cluster(self) -> Cluster {
        Cluster { classes: self.classes, apart: Vec::new() }
    }
}

/// A class like this one, whose interfaces have no addresses yet.
fn without_addresses(class: &Class) -> Class {
    let mut class = class.clone();
    class.nis.iter_mut().for_each(|ni| ni.addresses = Addresses::UNKNOWN);
    class
}

/// All of a configuration that matters to the checks but addresses apart from their families, peers and places in the file, as text.
fn key(class: &Class) -> String {
    let Class { is_router, buffers, settings, accept_port, .. } = class;
    let mut key = format!("{is_router} {buffers:?} {settings:?} {accept_port:?}");
    let mut add = |args: std::fmt::Arguments<'_>| {
        // Writing to a string cannot fail.
        let _written = key.write_fmt(args);
    };
    for ClassNi { net, interface, addresses, is_assumed, mtu, tunables, lnd, .. } in &class.nis {
        let families = (addresses.has_ipv4(), addresses.has_ipv6());
        add(format_args!("\nni {net} {interface:?} {families:?} {is_assumed} {mtu:?} {tunables:?} {lnd:?}"));
    }
    // Nodes keep routes in an order of their own (RT-1), so that their exports have different orders of the same routes.
    let text = |route: &ClassRoute| {
        let ClassRoute { net, gateway, hops, priority, sensitivity, .. } = route;
        format!("\nroute {net} {gateway} {hops:?} {priority} {sensitivity:?}")
    };
    let mut routes: Vec<String> = class.routes.iter().map(text).collect();
    routes.sort_unstable();
    routes.iter().for_each(|route| add(format_args!("{route}")));
    for ClassRule { src, dst, rte, action, messages, .. } in &class.rules {
        add(format_args!("\nrule {src:?} {dst:?} {rte:?} {action:?} {messages:?}"));
    }
    key
}
