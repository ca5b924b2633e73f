//! Twenty nodes that have just been started, each of which sends to each other at once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod live;

use live::{Talker, free_port, knows, node, own_nids, wait_until};
use lnet_core::DiscoveryMode;
use lnet_wire::Nid;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::HashMap;
use std::sync::Barrier;
use std::thread;

const NODES: usize = 20;

/// cfg-085, dyn-005, dyn-025: fails if a node does not discover all NIDs of each other node by sending to one of
/// them.
#[test]
fn twenty_nodes_that_start_at_once_discover_each_other_with_the_same_nids() {
    // Every node has several connections to every other.
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
    let port = free_port();
    let talkers: Vec<Talker> = (1..=NODES)
        .map(|n| {
            let addresses = [format!("127.0.67.{n}"), format!("127.0.68.{n}")];
            Talker::new(node(port, &addresses.each_ref().map(String::as_str), DiscoveryMode::On))
        })
        .collect();
    let nids: Vec<Vec<Nid>> = talkers.iter().map(|talker| own_nids(&talker.node)).collect();
    let start = Barrier::new(NODES);
    thread::scope(|scope| {
        for (me, talker) in talkers.iter().enumerate() {
            let (nids, start) = (&nids, &start);
            scope.spawn(move || {
                start.wait();
                // Some messages name a peer by its primary NID, some by the other one.
                for other in (1..NODES).map(|distance| (me + distance) % NODES) {
                    talker.put(nids[other][(me + other) % 2]);
                }
                talker.await_acks(NODES - 1);
            });
        }
    });
    for (me, talker) in talkers.iter().enumerate() {
        let mut heard: HashMap<usize, usize> = HashMap::new();
        for event in (1..NODES).map(|_| talker.arrival()) {
            let source = event.source.nid.unwrap();
            *heard.entry(nids.iter().position(|nids| nids.contains(&source)).unwrap()).or_default() += 1;
        }
        assert_eq!(heard, (0..NODES).filter(|other| *other != me).map(|other| (other, 1)).collect());
    }
    wait_until("all know all", || {
        talkers.iter().enumerate().all(|(me, talker)| {
            let mut others = nids.iter().enumerate().filter(|(other, _)| *other != me);
            others.all(|(_, nids)| knows(&talker.node, nids))
        })
    });
    // No peer is known by any other NID.
    for talker in &talkers {
        assert_eq!(talker.node.core().admin().peers().len(), NODES - 1);
    }
}
