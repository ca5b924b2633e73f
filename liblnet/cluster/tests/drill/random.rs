//! Random clusters with Multi-Rail.

use super::*;
use fastrand::Rng;
use lnet_core::DiscoveryMode;

/// A cluster of two to five nodes with two or three rails each on one net, some of them on a second net as well; its name for messages.
fn cluster(random: &mut Rng) -> DrillCluster {
    let mut address = 0;
    let nodes = (0..random.u32(2..=5)).map(|number| {
        let mut next = |net: u16| {
            address += 1;
            nid(net, address)
        };
        let mut nids: Vec<Nid> = (0..random.u32(2..=3)).map(|_| next(0)).collect();
        if random.bool() {
            nids.push(next(1));
        }
        let mut spec = NodeSpec::new(&nids).with_discovery(DiscoveryMode::On);
        spec.settings.retry_count = random.u32(2..=4);
        node(&format!("node-{number}"), ["a", "b"][number as usize % 2], spec)
    });
    DrillCluster::of_all(nodes.collect())
}

#[test]
fn losing_any_rail_of_a_node_with_two_on_the_net_loses_nothing_whatever_the_seed() {
    for seed in 0..25 {
        let random = &mut Rng::with_seed(seed);
        let cluster = cluster(random);
        let node = random.choice(&cluster.nodes).unwrap();
        let rail = random.usize(0..2);
        let loss = format!("{}:eth{rail}@{}ms", node.name, random.u32(200..1500));
        let load = ["put:4k,x2", "get:4k,x3", "put:64k,x2"][random.usize(0..3)];
        let plan = DrillPlan { load: load.parse().unwrap(), seed, ..plan(&cluster, &[&loss], 4) };
        let report = run(&cluster, &plan, &mut |_| ()).unwrap();
        let its = &report.operations;
        assert!(its.all_succeeded() && its.done == its.begun, "seed {seed}, {loss}, {load}: {its:?}");
    }
}
