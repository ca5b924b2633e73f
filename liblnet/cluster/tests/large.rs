//! Large clusters: what they take grows with classes, nets and gateways.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lnet_cluster::checks::check;
use lnet_cluster::input;
use lnet_cluster::model::{Cluster, Element, NidIndex, NodeRef};
use lnet_cluster::reach::Reach;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The routers between clients and servers, as in the issue of the check.
const ROUTERS: u32 = 32;

/// The configuration of a node on two nets, with routes to two others by all routers.
fn node(nets: [&str; 2], to: [&str; 2], credits: u32) -> String {
    let mut text = "net:\n".to_owned();
    for (index, net) in nets.iter().enumerate() {
        let ni =
            format!("{{interfaces: {{0: eth{index}}}, tunables: {{peer_credits: 8, credits: {credits}}}}}");
        writeln!(text, "  - {{net type: {net}, local NI(s): [{ni}]}}").unwrap();
    }
    text.push_str("route:\n");
    for (index, (own, far)) in nets.iter().zip(to).enumerate() {
        let side = if nets[0] == "tcp" { 0 } else { 2 } + index;
        let gateways = format!("10.{}.0.[1-{ROUTERS}]@{own}", 200 + side);
        writeln!(text, "  - {{net: {far}, gateway: \"{gateways}\"}}").unwrap();
    }
    text
}

/// Writes the files of a cluster with two rails, clients and servers on different nets, and routers between them.
fn write(directory: &Path, clients: u64) {
    let all = ["tcp", "tcp1", "tcp2", "tcp3"];
    let mut router = "net:\n".to_owned();
    for (index, net) in all.iter().enumerate() {
        let ni = format!("{{interfaces: {{0: eth{index}}}, tunables: {{peer_credits: 8, credits: 2048}}}}");
        writeln!(router, "  - {{net type: {net}, local NI(s): [{ni}]}}").unwrap();
    }
    router.push_str("routing: {enable: 1}\n");
    let topology = format!(
        "classes:\n  clients: {{count: {clients}, class: client.yaml, addresses: {{tcp: 10.0.0.0/14, tcp1: 10.64.0.0/14}}}}\n  \
         servers: {{count: 20, class: server.yaml, addresses: {{tcp2: 10.128.0.0/24, tcp3: 10.129.0.0/24}}}}\n  \
         routers: {{count: {ROUTERS}, class: router.yaml, addresses: {{tcp: 10.200.0.1, tcp1: 10.201.0.1, tcp2: 10.202.0.1, tcp3: 10.203.0.1}}}}\n"
    );
    let files = [
        ("topology.yaml", topology),
        ("client.yaml", node(["tcp", "tcp1"], ["tcp2", "tcp3"], 256)),
        ("server.yaml", node(["tcp2", "tcp3"], ["tcp", "tcp1"], 256)),
        ("router.yaml", router),
    ];
    for (name, text) in files {
        fs::write(directory.join(name), text).unwrap();
    }
}

fn read(clients: u64) -> Cluster {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), clients);
    input::read(&[directory.path()]).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// Fails if something is kept for each node: groups, runs of addresses, intervals of NIDs.
#[test]
fn a_hundred_thousand_nodes_of_three_classes_take_what_ten_do() {
    for clients in [10, 10_000, 100_000] {
        let cluster = read(clients);
        assert_eq!(cluster.node_count(), clients + 20 + u64::from(ROUTERS));
        let runs: usize =
            cluster.classes.iter().flat_map(|class| &class.nis).map(|ni| ni.addresses.runs().len()).sum();
        assert_eq!((cluster.classes.len(), runs), (3, 8), "{clients}");
        let nids = NidIndex::of(&cluster);
        assert_eq!(Reach::of(&cluster, &nids, None).groups().len(), 3);
        let router = Element::Node(NodeRef { class: 2, node: 7 });
        assert_eq!(Reach::of(&cluster, &nids, Some(&router)).groups().len(), 4);
    }
}

#[test]
fn a_large_cluster_with_two_rails_and_many_routers_has_no_findings() {
    for clients in [10_000, 100_000] {
        let cluster = read(clients);
        let found: Vec<String> = check(&cluster).into_iter().map(|finding| finding.what).collect();
        assert_eq!(found, [] as [String; 0]);
    }
}

/// The nodes of a directory with a file each are as many classes as there are configurations, and have runs of addresses.
#[test]
fn a_thousand_files_of_two_forms_are_two_classes() {
    let directory = tempfile::tempdir().unwrap();
    for node in 0..1000_u32 {
        let (high, low) = (node / 250, node % 250 + 1);
        let credits = if node < 900 { 8 } else { 16 };
        let ni = |net: &str, side| {
            let tunables = format!("tunables: {{peer_credits: {credits}, credits: 256}}");
            format!(
                "  - {{net type: {net}, local NI(s): [{{nid: 10.{side}.{high}.{low}@{net}, interfaces: {{0: eth{side}}}, {tunables}}}]}}\n"
            )
        };
        // Every node has met another one: that makes no class of its own.
        let peer = format!("10.0.{}.1@tcp", (high + 1) % 4);
        let text = format!("net:\n{}{}peer:\n  - {{primary nid: {peer}}}\n", ni("tcp", 0), ni("tcp1", 1));
        fs::write(directory.path().join(format!("node{node}.yaml")), text).unwrap();
    }
    let cluster = input::read(&[directory.path()]).unwrap();
    let counts: Vec<u64> = cluster.classes.iter().map(|class| class.count).collect();
    assert_eq!(counts, [900, 100]);
    let runs: Vec<usize> =
        cluster.classes.iter().flat_map(|class| &class.nis).map(|ni| ni.addresses.runs().len()).collect();
    assert_eq!(runs, [4, 4, 1, 1]);
    assert_eq!(cluster.node_name(NodeRef { class: 0, node: 899 }), "node899");
    let kinds: Vec<&str> = check(&cluster).iter().map(|finding| finding.kind.row().id).collect();
    assert_eq!(kinds, ["peer-credits-differ", "peer-credits-differ"]);
}

/// Nodes keep routes in an order of their own, and export them so: that makes no class of each node.
#[test]
fn routes_in_any_order_are_one_class() {
    let directory = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::with_seed(1);
    let ni = |net: &str, address: &str| {
        format!("  - {{net type: {net}, local NI(s): [{{nid: {address}@{net}, interfaces: {{0: eth0}}}}]}}\n")
    };
    let write = |name: String, text: String| fs::write(directory.path().join(name), text).unwrap();
    for node in 0..400_u32 {
        let (own, far, side) = if node < 380 { ("tcp", "tcp1", 0) } else { ("tcp1", "tcp", 1) };
        let mut routers: Vec<u32> = (1..=8).collect();
        random.shuffle(&mut routers);
        let mut text =
            format!("net:\n{}route:\n", ni(own, &format!("10.{side}.{}.{}", node / 250, node % 250)));
        for router in routers {
            writeln!(text, "  - {{net: {far}, gateway: 10.{side}.9.{router}@{own}}}").unwrap();
        }
        write(format!("node{node}.yaml"), text);
    }
    for router in 1..=8 {
        let [one, other] =
            [("tcp", 0), ("tcp1", 1)].map(|(net, side)| ni(net, &format!("10.{side}.9.{router}")));
        write(format!("router{router}.yaml"), format!("net:\n{one}{other}routing: {{enable: 1}}\n"));
    }
    let cluster = input::read(&[directory.path()]).unwrap();
    let counts: Vec<u64> = cluster.classes.iter().map(|class| class.count).collect();
    assert_eq!(counts, [380, 20, 8]);
    let kinds: Vec<&str> = check(&cluster).iter().map(|finding| finding.kind.row().id).collect();
    assert_eq!(kinds, ["single-net", "single-net", "single-interface", "single-interface"]);
}

/// Fails if one client, or one router, that differs from the others is taken for a server of them, or if a server with other credits is not one.
#[test]
fn a_node_that_differs_from_many_like_it_is_not_their_server() {
    let net = |net: &str, address: &str, credits: u32| {
        format!(
            "  - {{net type: {net}, local NI(s): [{{nid: {address}@{net}, interfaces: {{0: eth0}}, tunables: {{peer_credits: 8, credits: {credits}}}}}]}}\n"
        )
    };
    let client = |number: u32, more: &str| {
        let net = net("tcp", &format!("10.0.{}.{}", number / 200, number % 200 + 1), 16);
        format!("net:\n{net}route: [{{net: tcp1, gateway: '10.0.9.[1-4]@tcp'}}]\n{more}")
    };
    let router = |number: u32, more: &str| {
        let nets =
            [net("tcp", &format!("10.0.9.{number}"), 16), net("tcp1", &format!("10.1.9.{number}"), 16)];
        format!("net:\n{}{more}", nets.concat())
    };
    let server = |credits: u32| {
        format!(
            "net:\n{}route: [{{net: tcp, gateway: '10.1.9.[1-4]@tcp1'}}]\n",
            net("tcp1", "10.1.0.1", credits)
        )
    };
    let master = |credits: u32| format!("net:\n{}", net("tcp", "10.0.8.1", credits));
    let found = |outlier: bool, credits: Option<u32>| {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: String, text: String| fs::write(directory.path().join(name), text).unwrap();
        for number in 0..400 {
            let more = if outlier && number == 7 { "global: {retry_count: 5}\n" } else { "" };
            write(format!("client{number}.yaml"), client(number, more));
        }
        for number in 1..=4 {
            let enable = u8::from(!outlier || number != 3);
            write(
                format!("router{number}.yaml"),
                router(number, &format!("routing: {{enable: {enable}}}\n")),
            );
        }
        write("server.yaml".to_owned(), server(16));
        if let Some(credits) = credits {
            write("master.yaml".to_owned(), master(credits));
        }
        let findings = check(&input::read(&[directory.path()]).unwrap());
        let about_credits = findings.iter().filter(|finding| finding.kind.row().id == "credits-too-few");
        about_credits.map(|finding| finding.what.split(':').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for (outlier, credits, expected) in
        [(false, None, &[][..]), (true, None, &[]), (true, Some(40), &["master"]), (true, Some(64), &[])]
    {
        assert_eq!(found(outlier, credits), expected, "{outlier} {credits:?}");
    }
}
