//! The nodes of a drill from files.

use super::*;
use lnet_cluster::drill::{LossKind, LossTarget};
use lnet_core::policy::Action;
use std::fs;

const ROUTERS: u32 = 32;

fn interfaces(net: &str, names: &[&str]) -> String {
    let ni = |name: &&str| {
        format!("    - net type: {net}\n      local NI(s):\n        - interfaces:\n              0: {name}\n")
    };
    names.iter().map(ni).collect()
}

fn routes(net: &str, prefix: &str, own: &str) -> String {
    let route = |number| format!("    - net: {net}\n      gateway: {prefix}.{number}@{own}\n");
    format!("route:\n{}", (1..=ROUTERS).map(route).collect::<String>())
}

/// 10 000 clients with two rails on `o2ib`, 64 servers with two on `tcp`, and 32 routers.
fn large() -> DrillCluster {
    let directory = tempfile::tempdir().unwrap();
    let classes = "classes:
  clients:
    count: 10000
    class: client.yaml
    addresses: {ib0@o2ib: 10.0.0.0/16, ib1@o2ib: 10.1.0.0/16}
    switches: {ib0: [leaf-1, leaf-2], ib1: leaf-3}
  servers:
    count: 64
    class: server.yaml
    addresses: {eth0@tcp: 10.20.0.0/24, eth1@tcp: 10.21.0.0/24}
  routers:
    count: 32
    class: router.yaml
    addresses: {ib0: 10.9.0.1-10.9.0.32, eth0: 10.19.0.1-10.19.0.32}
";
    let client = format!(
        "net:\n{}{}global:\n    transaction_timeout: 30\n    retry_count: 3\n",
        interfaces("o2ib", &["ib0", "ib1"]),
        routes("tcp", "10.9.0", "o2ib")
    );
    let rules = "udsp:\n    - src: tcp\n      action:\n          priority: 3\n";
    let server =
        format!("net:\n{}{}{rules}", interfaces("tcp", &["eth0", "eth1"]), routes("o2ib", "10.19.0", "tcp"));
    let nis = [interfaces("o2ib", &["ib0"]), interfaces("tcp", &["eth0"])].concat();
    let router = format!("net:\n{nis}routing:\n    enable: 1\nbuffers:\n    small: 1024\n");
    let files = [
        ("cluster.yaml", classes),
        ("client.yaml", &client),
        ("server.yaml", &server),
        ("router.yaml", &router),
    ];
    for (name, text) in files {
        fs::write(directory.path().join(name), text).unwrap();
    }
    let cluster = lnet_cluster::input::read(&[directory.path().join("cluster.yaml")]).unwrap();
    DrillCluster::sample(&cluster, 2)
}

#[test]
fn a_sample_has_the_first_nodes_of_each_class_and_all_routers_with_their_configuration() {
    let cluster = large();
    let samples: Vec<(&str, u64, u64)> =
        cluster.samples.iter().map(|its| (its.class.as_str(), its.simulated, its.nodes)).collect();
    assert_eq!(samples, [("clients", 2, 10_000), ("servers", 2, 64), ("routers", 32, 32)]);
    let [client, server, router] = [0, 2, 4].map(|index| &cluster.nodes[index]);
    assert_eq!((client.name.as_str(), server.name.as_str()), ("clients[0]", "servers[0]"));
    assert_eq!((client.spec.settings.transaction_timeout, client.spec.settings.retry_count), (30, 3));
    assert_eq!((client.spec.routes.len(), client.is_router()), (ROUTERS as usize, false));
    let switches = |node: usize| {
        cluster.nodes[node].interfaces.iter().map(|its| its.switch.clone().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(
        (switches(0), switches(1)),
        (vec!["leaf-1".to_owned(), "leaf-3".to_owned()], vec!["leaf-2".to_owned(), "leaf-3".to_owned()])
    );
    assert_eq!(server.rules.iter().map(|rule| rule.action).collect::<Vec<_>>(), [Action::Priority(3)]);
    assert_eq!(router.spec.forwards, Some([0, 1024, 0]));
    for (kind, count) in [
        (LossKind::Rail, 4),
        (LossKind::Router, 32),
        (LossKind::Switch, 3),
        (LossKind::Node, 2),
        (LossKind::Net, 2),
    ] {
        assert_eq!(LossTarget::all(&cluster, kind).unwrap().len(), count, "{kind:?}");
    }
}

#[test]
fn a_drill_of_ten_thousand_nodes_costs_what_its_sample_costs() {
    let cluster = large();
    let report = drill(&cluster, &["routers[0]@1s"], 4);
    let its = &report.operations;
    // Four nodes with two interfaces each, 20 operations a second each, in both directions.
    assert!(its.all_succeeded() && (100..2000).contains(&its.begun), "{its:?}");
    let shown = lnet_cluster::drill::text::drill(&report);
    for line in ["simulated: clients 2 of 10000, servers 2 of 64, routers 32 of 32", "routers (31):ib0"] {
        assert!(shown.contains(line), "{line:?} is not in:\n{shown}");
    }
}

#[test]
fn nodes_have_the_peers_that_all_files_of_their_class_name_but_not_themselves() {
    let address = |number: u32| format!("10.0.0.{number}@tcp");
    let peer = |number: u32| {
        format!(
            "    - primary nid: {0}\n      Multi-Rail: True\n      peer ni:\n        - nid: {0}\n",
            address(number)
        )
    };
    let file = |number: u32, peers: &[u32]| {
        let ni =
            format!("        - nid: {}\n          interfaces:\n              0: eth0\n", address(number));
        let peers: String = peers.iter().map(|number| peer(*number)).collect();
        format!("net:\n    - net type: tcp\n      local NI(s):\n{ni}peer:\n{peers}")
    };
    let directory = tempfile::tempdir().unwrap();
    // The first node has pinged itself; the second alone has met 7; the server has another setting, and so another class.
    for (name, text) in [
        ("n1", file(1, &[1, 2, 3, 9])),
        ("n2", file(2, &[1, 3, 7, 9])),
        ("n3", file(3, &[1, 2, 9])),
        ("server", file(9, &[1]) + "global:\n    retry_count: 3\n"),
    ] {
        fs::write(directory.path().join(name).with_extension("yaml"), text).unwrap();
    }
    let cluster = DrillCluster::sample(&lnet_cluster::input::read(&[directory.path()]).unwrap(), 4);
    let peers = |node: &DrillNode| node.peers.iter().map(|peer| peer.primary.to_string()).collect::<Vec<_>>();
    let expected: [&[u32]; 4] = [&[2, 3, 9], &[1, 3, 9], &[1, 2, 9], &[1]];
    for (node, expected) in cluster.nodes.iter().zip(expected) {
        let mut its = peers(node);
        its.sort();
        assert_eq!(its, expected.iter().map(|number| address(*number)).collect::<Vec<_>>(), "{}", node.name);
    }
    assert_eq!(cluster.left_out, ["1 of the 5 peers of n1, which only some of its nodes have"]);
    assert!(drill(&cluster, &[], 3).operations.all_succeeded());
}

#[test]
fn switches_and_nodes_that_the_sample_lacks_are_named_and_refused_with_the_remedy() {
    let directory = tempfile::tempdir().unwrap();
    let classes = "classes:
  clients:
    count: 8
    class: client.yaml
    addresses: {eth0: 10.0.0.1-10.0.0.8}
    switches: {eth0: [l1, l2, l3, l4, l5, l6, l7, l8]}
";
    for (name, text) in [
        ("cluster.yaml", classes.to_owned()),
        ("client.yaml", format!("net:\n{}", interfaces("tcp", &["eth0"]))),
    ] {
        fs::write(directory.path().join(name), text).unwrap();
    }
    let cluster = lnet_cluster::input::read(&[directory.path().join("cluster.yaml")]).unwrap();
    let sample = DrillCluster::sample(&cluster, 4);
    assert_eq!(
        sample.left_out,
        ["4 of the switches, as no node of the sample is on them: l5, l6, l7, l8; raise --clients"]
    );
    for name in ["switch:l8", "clients[7]", "clients[7]:eth0"] {
        assert_eq!(refused(&sample, name), DrillError::NotSampled { name: name.to_owned() });
    }
    for name in ["switch:l9", "clients[8]", "clients[]", "client[7]"] {
        assert!(matches!(refused(&sample, name), DrillError::UnknownElement { .. }), "{name}");
    }
    // All of them are simulated.
    let whole = DrillCluster::sample(&cluster, 8);
    assert!(whole.left_out.is_empty(), "{:?}", whole.left_out);
    assert_eq!(LossTarget::all(&whole, LossKind::Switch).unwrap().len(), 8);
    // A directory has nodes with names of their own.
    let directory = tempfile::tempdir().unwrap();
    for number in 1..=3 {
        let ni =
            format!("        - nid: 10.0.0.{number}@tcp\n          interfaces:\n              0: eth0\n");
        let text = format!("net:\n    - net type: tcp\n      local NI(s):\n{ni}");
        fs::write(directory.path().join(format!("n{number}.yaml")), text).unwrap();
    }
    let sample = DrillCluster::sample(&lnet_cluster::input::read(&[directory.path()]).unwrap(), 2);
    for name in ["n3", "n3:eth0"] {
        assert_eq!(refused(&sample, name), DrillError::NotSampled { name: name.to_owned() });
    }
}
