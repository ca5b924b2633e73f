//! Reading of files: each is one node or one class, whatever paths lead to it, and has each mistake once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lnet_cluster::checks::check;
use lnet_cluster::input;
use lnet_cluster::model::NodeRef;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use tempfile::TempDir;

/// Makes a directory with files, which may be in directories of it.
fn directory(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    directory
}

/// The configuration of a node with one interface.
fn node(address: &str) -> String {
    format!("net:\n  - {{net type: tcp, local NI(s): [{{nid: {address}@tcp, interfaces: {{0: eth0}}}}]}}\n")
}

/// The names of all nodes, the directory left out; and the kinds of findings.
fn read(directory: &TempDir, paths: &[&str]) -> (Vec<String>, Vec<&'static str>) {
    let paths: Vec<PathBuf> = paths.iter().map(|path| directory.path().join(path)).collect();
    let cluster = input::read(&paths).unwrap_or_else(|problems| panic!("{problems:?}"));
    let names = (0..cluster.classes.len()).flat_map(|class| {
        let (cluster, count) = (&cluster, cluster.classes[class].count);
        (0..count).map(move |node| cluster.node_name(NodeRef { class, node }))
    });
    let prefix = format!("{}/", directory.path().display());
    let names = names.map(|name| name.replace(&prefix, "")).collect();
    (names, check(&cluster).iter().map(|finding| finding.kind.row().id).collect())
}

#[test]
fn the_file_of_a_class_is_no_node_wherever_it_is() {
    let client = node("10.0.0.1");
    let topology = |class: &str| format!("classes:\n  clients: {{class: {class}}}\n");
    let directory = directory(&[
        ("near/client.yaml", &client),
        ("near/topology.yaml", &topology("../near/./client.yaml")),
        ("far/topology.yaml", &topology("../near/client.yaml")),
    ]);
    for paths in [
        &["near"][..],
        &["near/client.yaml", "far/topology.yaml"],
        &["near/client.yaml", "near/topology.yaml"],
        &["near/topology.yaml", "near", "near/topology.yaml"],
    ] {
        let (names, found) = read(&directory, paths);
        assert_eq!((names, found), (vec!["clients".to_owned()], vec![]), "{paths:?}");
    }
}

#[test]
fn a_file_that_several_paths_lead_to_is_one_node() {
    let directory = directory(&[("x/mds1.yaml", &node("10.0.0.1")), ("x/mds2.yaml", &node("10.0.0.2"))]);
    let (names, found) = read(&directory, &["x", "x/mds1.yaml", "x/../x"]);
    assert_eq!(names, ["mds1", "mds2"]);
    assert!(!found.contains(&"duplicate-nid"), "{found:?}");
}

#[test]
fn nodes_with_equal_names_are_told_apart_by_their_directories() {
    let directory = directory(&[
        ("x/mds1.yaml", &node("10.0.0.1")),
        ("y/mds1.yaml", &node("10.0.0.2")),
        ("y/mds1.yml", &node("10.0.0.3")),
        ("y/mds2.yaml", &node("10.0.0.4")),
    ]);
    let (mut names, _) = read(&directory, &["x", "y"]);
    names.sort_unstable();
    assert_eq!(names, ["mds2", "x/mds1", "y/mds1.yaml", "y/mds1.yml"]);
}

/// Each mistake of a topology file is said once: addresses that are refused are not also missing.
#[test]
fn addresses_that_are_too_few_are_the_only_problem() {
    let directory = directory(&[
        (
            "node.yaml",
            "net:\n  - net type: tcp\n    local NI(s):\n      - {interfaces: {0: eth0}}\n      - {interfaces: {0: eth1}}\n",
        ),
        ("topology.yaml", "classes:\n  a: {count: 3, class: node.yaml, addresses: {eth0: 10.0.0.0/30}}\n"),
    ]);
    let problems = input::read(&[directory.path()]).unwrap_err();
    let texts: Vec<&str> = problems.iter().map(|problem| problem.text.as_str()).collect();
    let missing = "class 'a' has no addresses for eth1@tcp; add them under 'addresses'";
    assert_eq!(texts, ["these are 2 addresses for 3 nodes; give more", missing]);
}

#[test]
fn rules_of_ip2nets_are_evaluated_for_all_nodes_of_a_class_alike() {
    let rules = "ip2nets:\n  - {net-spec: tcp, ip-range: {0: '10.0.[0-1].*'}}\n  - {net-spec: tcp1, interfaces: {0: eth1}}\n";
    let topology = |addresses: &str| {
        format!("classes:\n  a: {{count: 300, class: node.yaml, addresses: {{{addresses}}}}}\n")
    };
    let table = [
        (
            "eth0: 10.0.0.0/23, eth1: 10.1.0.0/16",
            Ok("eth0 (tcp) 10.0.0.1-10.0.1.44, eth1 (tcp1) 10.1.0.1-10.1.1.44"),
        ),
        ("eth0: 10.5.0.0/16, eth1: 10.1.0.0/16", Ok("eth1 (tcp1) 10.1.0.1-10.1.1.44")),
        (
            "eth0: 10.0.1.0-10.0.3.0",
            Err(
                "node.yaml:2:5: the range 10.0.[0-1].[0-255] has one of 10.0.1.0 and 10.0.2.0, and not the other one; make two classes of these nodes",
            ),
        ),
        ("eth0: 10.0.0.0/30", Err("topology.yaml:2:55: these are 2 addresses for 300 nodes; give more")),
        (
            "tcp: 10.0.0.0/16",
            Err(
                "topology.yaml:2:3: class 'a' has rules of ip2nets; add the addresses of its interfaces by their names, such as 'addresses: {eth0: 10.0.0.0/16}'",
            ),
        ),
    ];
    for (addresses, expected) in table {
        let directory = directory(&[("node.yaml", rules), ("topology.yaml", &topology(addresses))]);
        let prefix = format!("{}/", directory.path().display());
        let found = input::read(&[directory.path()]);
        let found = found
            .map_err(|problems| {
                problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ").replace(&prefix, "")
            })
            .map(|cluster| {
                let class = &cluster.classes[0];
                let nis = class.nis.iter().enumerate();
                let nis = nis.map(|(index, ni)| format!("{} {}", class.ni_label(index), ni.addresses));
                nis.collect::<Vec<_>>().join(", ")
            });
        assert_eq!(found.as_deref().map_err(String::as_str), expected, "{addresses}");
    }
}

/// Fails if a sum of numbers of nodes or an address behind the last one overflows.
#[test]
fn classes_of_the_most_nodes_are_checked_as_others_are() {
    let interface = "net:\n  - {net type: tcp, local NI(s): [{interfaces: {0: eth0}}]}\n";
    let class = |name: char, addresses: &str| {
        format!("  {name}: {{count: 4294967296, class: node.yaml, addresses: {{tcp: '{addresses}'}}}}\n")
    };
    let classes = [class('a', "fd00::/16"), class('b', "::/0"), class('c', "ffff:ffff:ffff:ffff::")].concat();
    let directory = directory(&[
        ("node.yaml", interface),
        (
            "topology.yaml",
            &format!(
                "classes:\n{classes}  d: {{class: node.yaml, addresses: {{tcp: 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'}}}}\n"
            ),
        ),
    ]);
    let cluster = input::read(&[directory.path()]).unwrap();
    assert_eq!(cluster.node_count(), 3 * (1 << 32) + 1);
    let kinds: Vec<_> = check(&cluster).iter().map(|finding| finding.kind.row().id).collect();
    assert_eq!(kinds[..3], ["credits-too-few", "single-net", "single-interface"]);
}

#[test]
fn a_class_has_a_name_that_no_other_class_and_no_node_has() {
    let directory = directory(&[
        ("files/node.yml", &node("10.0.0.1")),
        ("files/other.yml", &node("10.0.0.2")),
        ("nodes/server.yaml", &node("10.0.0.3")),
        ("one.yaml", "classes:\n  client: {class: files/node.yml}\n"),
        ("two.yaml", "classes:\n  client: {class: files/other.yml}\n  server: {class: files/other.yml}\n"),
    ]);
    let paths: Vec<PathBuf> =
        ["one.yaml", "two.yaml", "nodes"].iter().map(|path| directory.path().join(path)).collect();
    let problems = input::read(&paths).unwrap_err();
    let prefix = format!("{}/", directory.path().display());
    let texts: Vec<String> =
        problems.iter().map(|problem| problem.to_string().replace(&prefix, "")).collect();
    assert_eq!(
        texts,
        [
            "two.yaml:2:3: 'client' is also the name of what one.yaml:2:3 has; give one another name",
            "two.yaml:3:3: 'server' is also the name of what nodes/server.yaml has; give one another name",
        ]
    );
}

#[test]
fn pipes_and_devices_are_refused() {
    let directory = directory(&[("topology.yaml", "classes:\n  a: {class: pipe}\n")]);
    let pipe = directory.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // With a reader the program would get this, and not wait forever.
    let text = node("10.0.0.1");
    let written = pipe.clone();
    thread::spawn(move || while fs::write(&written, &text).is_ok() {});
    for path in ["/dev/null", "pipe", "topology.yaml"] {
        let problems = input::read(&[directory.path().join(path)]).unwrap_err();
        let text = problems[0].text.as_str();
        assert!(text.ends_with("it is no regular file; write what it has to one, and name that"), "{text}");
    }
}

/// Fails if what `lnetctl cluster collect` has gathered beside the configuration is not compared.
#[test]
fn links_and_ports_that_were_collected_are_compared() {
    let links = |mtu: u32| format!("2: eth0: <UP> mtu {mtu} qdisc mq state UP\n");
    let port = |number: u16| format!("/sys/module/lnet/parameters/accept_port:{number}\n");
    for (mtu, number, expected) in [
        (9000, 988, &["single-net"][..]),
        (1500, 988, &["mtu-differs", "single-net"]),
        (9000, 989, &["accept-port-differs", "single-net"]),
    ] {
        let directory = directory(&[
            ("a.yaml", &node("10.0.0.1")),
            ("a/links.txt", &links(9000)),
            ("a/tunables.yaml", &port(988)),
            ("b.yaml", &node("10.0.0.2")),
            ("b/links.txt", &links(mtu)),
            ("b/tunables.yaml", &port(number)),
            // Nothing is known of it.
            ("c.yaml", &node("10.0.0.3")),
        ]);
        let (_, found) = read(&directory, &["."]);
        let found: Vec<_> = found.into_iter().filter(|kind| *kind != "single-interface").collect();
        assert_eq!(found, expected, "{mtu} {number}");
    }
}

/// Fails if a finding about one of many nodes that are alike is in the file of the first of them.
#[test]
fn findings_about_one_node_are_in_its_file() {
    let copy = "# This file has a line more than the others\n".to_owned() + &node("10.0.0.1");
    let route = format!("{}route: [{{net: tcp1, gateway: 10.0.0.2@tcp}}]\n", node("10.0.0.9"));
    let directory = directory(&[
        ("a1.yaml", &node("10.0.0.1")),
        ("a2.yaml", &node("10.0.0.2")),
        ("a3.yaml", &copy),
        ("b.yaml", &route),
        ("c.yaml", &node("10.1.0.1").replace("tcp", "tcp1")),
    ]);
    let findings = check(&input::read(&[directory.path()]).unwrap());
    let mut at = findings
        .iter()
        .map(|it| (it.kind.row().id, it.file.file_name().unwrap().to_str().unwrap(), it.place.line));
    assert!(at.clone().any(|it| it == ("duplicate-nid", "a3.yaml", 3)), "{:?}", at.collect::<Vec<_>>());
    assert!(at.any(|it| it == ("gateway-does-not-forward", "a2.yaml", 1)), "{findings:?}");
}
