//! The reachability of random small clusters, beside an explicit search over their nodes, and beside the core itself in the simulator.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod naive;
mod random;
mod simulated;

use lnet_cluster::checks::{FindingKind, check};
use lnet_cluster::model::{Cluster, Element, NidIndex, NodeRef};
use lnet_cluster::reach::{Passage, Reach};
use naive::Node;

/// The number of random clusters that are compared with the search.
const CLUSTERS: u64 = 400;

/// The node of the cluster that has the name of a node of the search.
fn node_of(cluster: &Cluster, name: &str) -> NodeRef {
    for (class, it) in cluster.classes.iter().enumerate() {
        if let Some(node) = (0..it.count).find(|node| it.node_name(*node) == name) {
            return NodeRef { class, node };
        }
    }
    panic!("no node {name}")
}

/// Compares all pairs of nodes; returns the numbers of pairs by their passage.
fn compare(cluster: &Cluster, reach: &Reach, nodes: &[Node], about: &str) -> [usize; 3] {
    let mut counts = [0; 3];
    for from in nodes {
        for to in nodes.iter().filter(|to| to.name != from.name) {
            let group = |node: &Node| reach.group_of(node_of(cluster, &node.name)).unwrap();
            let found = reach.passage(group(from), group(to));
            let expected = naive::passage(nodes, from, to);
            assert_eq!(found, expected, "{about}: {} -> {}\n{nodes:#?}", from.name, to.name);
            counts[expected as usize] += 1;
        }
    }
    counts
}

#[test]
fn reachability_on_classes_is_that_of_a_search_over_all_nodes() {
    let mut counts = [0; 3];
    for seed in 0..CLUSTERS {
        let nodes = random::nodes(seed);
        let cluster = random::read(&nodes);
        let nids = NidIndex::of(&cluster);
        let reach = Reach::of(&cluster, &nids, None);
        let found = compare(&cluster, &reach, &nodes, &format!("seed {seed}"));
        counts.iter_mut().zip(found).for_each(|(count, found)| *count += found);
    }
    // Every passage occurs: the comparison means something.
    assert!(counts.iter().all(|count| *count > 100), "{counts:?}");
}

#[test]
fn reachability_after_a_loss_is_that_of_a_search_without_what_is_lost() {
    for seed in 0..CLUSTERS {
        let nodes = random::nodes(seed);
        let cluster = random::read(&nodes);
        let nids = NidIndex::of(&cluster);
        for (element, left) in losses(&cluster, &nodes) {
            let reach = Reach::of(&cluster, &nids, Some(&element));
            compare(&cluster, &reach, &left, &format!("seed {seed} without {element:?}"));
        }
    }
}

/// Every net, node and interface, and the nodes without it.
fn losses(cluster: &Cluster, nodes: &[Node]) -> Vec<(Element, Vec<Node>)> {
    let mut all = Vec::new();
    for net in cluster.nets() {
        let mut left = nodes.to_vec();
        left.iter_mut().for_each(|node| node.nids.retain(|nid| nid.net() != net));
        all.push((Element::Net(net), left));
    }
    for lost in nodes {
        let node = node_of(cluster, &lost.name);
        let left = |nids: &dyn Fn(usize) -> bool| {
            let mut left = nodes.to_vec();
            let it = left.iter_mut().find(|it| it.name == lost.name).unwrap();
            let (kept, gone): (Vec<_>, Vec<_>) = lost.nids.iter().enumerate().partition(|(ni, _)| nids(*ni));
            it.nids = kept.into_iter().map(|(_, nid)| *nid).collect();
            it.lost = gone.into_iter().map(|(_, nid)| *nid).collect();
            left
        };
        all.push((Element::Node(node), left(&|_| false)));
        for ni in 0..lost.nids.len() {
            all.push((Element::Interface { node, nis: vec![ni] }, left(&|other| other != ni)));
        }
    }
    all
}

/// The core may use more paths than one after the other, so a pair that the model calls answered is expected to be answered only where each
/// route that it might choose works.
#[test]
fn requests_in_the_simulator_end_as_the_model_says() {
    let mut counts = [0; 2];
    for seed in 0..60 {
        let nodes = random::nodes(seed);
        for (from, to, nid, is_answered) in simulated::all_pairs(seed, &nodes) {
            let may_be = naive::may_be_answered(&nodes, from, to);
            let must_be = naive::must_be_answered(&nodes, from, to, nid);
            let said = format!("seed {seed}: {} -> {nid}: {is_answered}\n{nodes:#?}", from.name);
            assert!(may_be || !is_answered, "no path: {said}");
            assert!(!must_be || is_answered, "every path works: {said}");
            counts[usize::from(is_answered)] += 1;
        }
    }
    assert!(counts.iter().all(|count| *count > 50), "{counts:?}");
}

/// Fails if a pair of ends without a path in one direction is in no finding.
#[test]
fn a_cluster_with_ends_that_do_not_reach_each_other_has_a_finding_that_says_so() {
    let mut with_findings = 0;
    for seed in 0..CLUSTERS {
        let nodes = random::nodes(seed);
        let cluster = random::read(&nodes);
        let is_gateway = |node: &Node| {
            node.forwards
                || nodes
                    .iter()
                    .flat_map(|other| &other.routes)
                    .any(|route| node.nids.contains(&route.gateway))
        };
        let ends = || nodes.iter().filter(|node| !is_gateway(node));
        // A class of which one node is a gateway is none of ends.
        let is_end_class = |node: &Node| {
            let class = &cluster.classes[node_of(&cluster, &node.name).class];
            (0..class.count).all(|index| ends().any(|end| end.name == class.node_name(index)))
        };
        let broken = ends().filter(|node| is_end_class(node)).any(|from| {
            ends()
                .filter(|node| is_end_class(node))
                .any(|to| from.name != to.name && naive::passage(&nodes, from, to) != Passage::Answered)
        });
        let findings = check(&cluster);
        let about_paths = findings.iter().any(|finding| {
            matches!(
                finding.kind,
                FindingKind::Isolated
                    | FindingKind::NoPath
                    | FindingKind::Apart
                    | FindingKind::GatewayNobody
                    | FindingKind::GatewayNotOnOwnNet
                    | FindingKind::GatewayNotOnTarget
                    | FindingKind::GatewayDoesNotForward
                    | FindingKind::HopsDisagree
                    | FindingKind::FamilyDiffers
            )
        });
        assert!(!broken || about_paths, "seed {seed}\n{nodes:#?}");
        with_findings += usize::from(broken);
    }
    assert!(with_findings > 50, "{with_findings}");
}
