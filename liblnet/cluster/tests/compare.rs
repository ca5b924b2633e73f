//! Comparison of two configurations.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lnet_cluster::compare::{Comparison, Reached, compare, to_text};
use lnet_cluster::model::Cluster;
use std::fs;
use tempfile::TempDir;

type Files = Vec<(&'static str, String)>;

/// A directory with files of these names and contents.
fn directory(files: &[(&str, String)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(directory.path().join(name), text).unwrap();
    }
    directory
}

fn read(files: &[(&str, String)]) -> Cluster {
    lnet_cluster::input::read(&[directory(files).path()]).unwrap()
}

fn interface(net: &str, name: &str, address: &str) -> String {
    format!(
        "    - net type: {net}\n      local NI(s):\n        - nid: {address}@{net}\n          interfaces:\n              0: {name}\n"
    )
}

fn client(number: u32) -> String {
    let route = "route:\n    - net: tcp1\n      gateway: 10.0.0.100@tcp\n";
    format!("net:\n{}{route}", interface("tcp", "eth0", &format!("10.0.0.{number}")))
}

fn server() -> String {
    let route = "route:\n    - net: tcp\n      gateway: 10.1.0.100@tcp1\n";
    format!("net:\n{}{route}", interface("tcp1", "eth0", "10.1.0.1"))
}

fn router() -> String {
    let nis = [interface("tcp", "eth0", "10.0.0.100"), interface("tcp1", "eth1", "10.1.0.100")].concat();
    format!("net:\n{nis}routing:\n    enable: 1\n")
}

/// Two clients, a server, a router.
fn cluster() -> Files {
    vec![("c1.yaml", client(1)), ("c2.yaml", client(2)), ("s1.yaml", server()), ("r1.yaml", router())]
}

/// The comparison with the cluster after this change.
fn after(change: impl FnOnce(&mut Files)) -> Comparison {
    let mut files = cluster();
    change(&mut files);
    compare(&read(&cluster()), &read(&files))
}

fn replace(files: &mut [(&'static str, String)], name: &str, old: &str, new: &str) {
    let (_, text) = files.iter_mut().find(|(its, _)| *its == name).unwrap();
    assert!(text.contains(old), "{text}");
    *text = text.replace(old, new);
}

#[test]
fn nothing_changes_between_equal_configurations() {
    let same = after(|_| ());
    assert!(same.is_empty() && !same.is_worse() && same.unchanged == 4, "{same:?}");
    assert_eq!(to_text(&same), "nothing changes: 4 nodes are configured as before\n");
}

#[test]
fn a_router_that_forwards_no_more_takes_the_paths_of_all_classes_behind_it() {
    let worse = after(|files| replace(files, "r1.yaml", "enable: 1", "enable: 0"));
    let paths: Vec<String> = worse
        .paths
        .iter()
        .filter(|path| path.new == Reached::No)
        .map(|path| format!("{} {}", path.from, path.to))
        .collect();
    assert_eq!(paths, ["c1 s1", "s1 c1"]);
    assert_eq!(worse.paths[0].old, Reached::Routed(vec!["tcp1 by 10.0.0.100@tcp".to_owned()]));
    assert!(worse.is_worse() && worse.findings_new.iter().any(|its| its.severity == "error"), "{worse:#?}");
    let text = to_text(&worse);
    for line in ["  c1 to s1: routed, tcp1 by 10.0.0.100@tcp -> no path", "  routing: on -> off"] {
        assert!(text.lines().any(|its| its == line), "{line:?} is not in:\n{text}");
    }
    // Seen from the other side everything gets better.
    let mut files = cluster();
    replace(&mut files, "r1.yaml", "enable: 1", "enable: 0");
    let better = compare(&read(&files), &read(&cluster()));
    assert!(!better.is_worse() && better.findings_gone.iter().any(|its| its.is_error()), "{better:#?}");
}

#[test]
fn another_gateway_is_another_path_and_one_of_two_that_is_gone_too() {
    let second = |files: &mut Files| {
        let text = router().replace("10.0.0.100", "10.0.0.101").replace("10.1.0.100", "10.1.0.101");
        files.push(("r2.yaml", text));
        replace(files, "c2.yaml", "gateway: 10.0.0.100", "gateway: 10.0.0.101");
    };
    let moved = after(second);
    // The second client is of a class of its own afterwards.
    let path = moved.paths.iter().find(|path| path.from.starts_with("c2") && path.to == "s1").unwrap();
    assert_eq!(path.from, "c2 (was c1)");
    assert_eq!(path.new, Reached::Routed(vec!["tcp1 by 10.0.0.101@tcp".to_owned()]));
    assert_eq!(moved.changed.len(), 1, "{moved:#?}");
    assert_eq!(
        (moved.changed[0].nodes.nodes.as_slice(), moved.changed[0].nodes.count),
        (&["c2".to_owned()][..], 1)
    );
    let added: Vec<&str> = moved.added.iter().flat_map(|its| &its.nodes).map(String::as_str).collect();
    assert_eq!(added, ["r2"]);
}

#[test]
fn changes_of_configuration_are_named_with_both_values() {
    // (the file, the old text, the new one, the changes in words)
    let table: &[(&str, &str, &str, &[&str])] = &[
        ("s1.yaml", "route:", "global:\n    retry_count: 3\nroute:", &["retry_count: 2 -> 3"]),
        ("r1.yaml", "enable: 1\n", "enable: 1\nbuffers:\n    large: 64\n", &["+ large router buffers 64"]),
        ("s1.yaml", "10.1.0.1@", "10.1.0.7@", &["NIDs: 10.1.0.1@tcp1 -> 10.1.0.7@tcp1"]),
        (
            "s1.yaml",
            "gateway: 10.1.0.100",
            "gateway: 10.1.0.101",
            &["- route tcp by 10.1.0.100@tcp1", "+ route tcp by 10.1.0.101@tcp1"],
        ),
        ("s1.yaml", "0: eth0", "0: eth5", &["- interface eth0 (tcp1)", "+ interface eth5 (tcp1)"]),
        (
            "s1.yaml",
            "              0: eth0\n",
            "              0: eth0\n          tunables:\n              peer_credits: 32\n",
            &["interface eth0 (tcp1): defaults -> peer_credits 32"],
        ),
        (
            "s1.yaml",
            "route:",
            "peer:\n    - primary nid: 10.1.0.9@tcp1\n      Multi-Rail: True\nroute:",
            &["+ peer 10.1.0.9@tcp1"],
        ),
        (
            "s1.yaml",
            "route:",
            "udsp:\n    - src: tcp1\n      action:\n          priority: 3\nroute:",
            &["+ selection rules src tcp1 priority 3"],
        ),
    ];
    for (file, old, new, expected) in table {
        let text = to_text(&after(|files| replace(files, file, old, new)));
        for line in *expected {
            assert!(text.lines().any(|its| its.trim() == *line), "{line:?} is not in:\n{text}");
        }
    }
}

#[test]
fn findings_that_stay_are_not_new_when_nodes_like_others_come_or_go() {
    // No node has the NID of the gateway, which is an error about all clients.
    let broken = |number: u32| client(number).replace("10.0.0.100", "10.0.0.99");
    let old = || {
        let mut files = cluster();
        files.push(("c3.yaml", broken(3)));
        replace(&mut files, "c1.yaml", "10.0.0.100", "10.0.0.99");
        replace(&mut files, "c2.yaml", "10.0.0.100", "10.0.0.99");
        files
    };
    let after = |change: &dyn Fn(&mut Files)| {
        let mut files = old();
        change(&mut files);
        let change = compare(&read(&old()), &read(&files));
        let kinds = |all: &[lnet_cluster::compare::FindingChange]| {
            all.iter().map(|its| its.kind.clone()).collect::<Vec<_>>()
        };
        (kinds(&change.findings_new), kinds(&change.findings_gone))
    };
    // One more, whose name comes before all others and so names the class; one less.
    assert_eq!(after(&|files| files.push(("a9.yaml", broken(9)))), (vec![], vec![]));
    assert_eq!(after(&|files| files.retain(|(name, _)| *name != "c1.yaml")), (vec![], vec![]));
    // Another class with the same fault, and the same class with another one, are new.
    let settings = broken(9) + "global:\n    health_sensitivity: 7\n";
    let (appear, vanish) = after(&|files| files.push(("z9.yaml", settings.clone())));
    assert!(appear.contains(&"gateway-nobody".to_owned()) && vanish.is_empty(), "{appear:?} {vanish:?}");
    let (appear, vanish) = after(&|files| {
        files
            .iter_mut()
            .for_each(|(_, text)| *text = text.replace("gateway: 10.0.0.99", "gateway: 10.0.0.98"));
    });
    assert_eq!((appear, vanish), (vec!["gateway-nobody".to_owned()], vec!["gateway-nobody".to_owned()]));
}

#[test]
fn another_address_that_two_nodes_have_is_another_finding() {
    let with = |pairs: [(&'static str, u32); 4]| {
        let mut files = cluster();
        files.retain(|(name, _)| !name.starts_with('c'));
        files.extend(pairs.map(|(name, number)| (name, client(number))));
        read(&files)
    };
    let old = with([("c1.yaml", 1), ("c2.yaml", 1), ("c3.yaml", 3), ("c4.yaml", 4)]);
    let new = with([("c1.yaml", 1), ("c2.yaml", 2), ("c3.yaml", 3), ("c4.yaml", 3)]);
    let change = compare(&old, &new);
    let whats = |all: &[lnet_cluster::compare::FindingChange]| {
        all.iter().map(|its| format!("{}: {:.13}", its.kind, its.what)).collect::<Vec<_>>()
    };
    assert_eq!(whats(&change.findings_new), ["duplicate-nid: 10.0.0.3@tcp "]);
    assert_eq!(whats(&change.findings_gone), ["duplicate-nid: 10.0.0.1@tcp "]);
}

#[test]
fn nodes_that_come_and_go_are_counted_and_named() {
    let change = after(|files| {
        files.retain(|(name, _)| *name != "c2.yaml");
        files.push(("c7.yaml", client(7)));
        files.push(("c8.yaml", client(8)));
    });
    let names = |nodes: &[lnet_cluster::compare::NodesOf]| -> Vec<(Vec<String>, u64)> {
        nodes.iter().map(|its| (its.nodes.clone(), its.count)).collect()
    };
    assert_eq!(names(&change.gone), [(vec!["c2".to_owned()], 1)]);
    assert_eq!(names(&change.added), [(vec!["c7".to_owned(), "c8".to_owned()], 2)]);
    assert!(change.changed.is_empty() && change.paths.is_empty() && change.unchanged == 3, "{change:#?}");
}

#[test]
fn of_many_gateways_and_routes_the_text_has_the_first_ones_and_the_number_of_the_others() {
    let client = |gateways: &str| {
        format!(
            "net:\n{}route:\n  - {{net: tcp1, gateway: '{gateways}@tcp'}}\n",
            interface("tcp", "eth0", "10.0.0.1")
        )
    };
    let text = "classes:\n  c: {class: c.yml}\n  s: {class: s.yml}\n  r: {count: 40, class: r.yml, addresses: {tcp: 10.0.9.0/24, tcp1: 10.1.9.0/24}}\n";
    let read = |gateways: &str| {
        let server = server().replace("10.1.0.100@tcp1", "'10.1.9.[1-40]@tcp1'");
        let files = [
            ("t.yaml", text.to_owned()),
            ("c.yml", client(gateways)),
            ("s.yml", server),
            ("r.yml", router()),
        ];
        let directory = directory(&files);
        lnet_cluster::input::read(&[directory.path().join("t.yaml")]).unwrap()
    };
    let text = to_text(&compare(&read("10.0.9.[1-9]"), &read("10.0.9.[3-40]")));
    for line in [
        "c to s: routed, no longer tcp1 by 10.0.9.1@tcp, tcp1 by 10.0.9.2@tcp; now also tcp1 by 10.0.9.10@tcp, tcp1 by 10.0.9.11@tcp, tcp1 by 10.0.9.12@tcp, tcp1 by 10.0.9.13@tcp and 27 more",
        "- route tcp1 by 10.0.9.2@tcp",
        "+ route tcp1 by 10.0.9.13@tcp",
        "+ route: 27 more",
    ] {
        assert!(text.lines().any(|its| its.trim() == line), "{line:?} is not in:\n{text}");
    }
}

#[test]
fn classes_of_topology_files_are_compared_by_name_whatever_their_size() {
    let topology = |count: u64, settings: &str| {
        let classes = format!(
            "classes:\n  clients:\n    count: {count}\n    class: client.yaml\n    addresses: {{tcp: 10.0.0.0/8}}\n"
        );
        let client = format!(
            "net:\n    - net type: tcp\n      local NI(s):\n        - interfaces:\n              0: eth0\n{settings}"
        );
        read(&[("cluster.yaml", classes), ("client.yaml", client)])
    };
    let change =
        compare(&topology(100_000, ""), &topology(100_010, "global:\n    transaction_timeout: 30\n"));
    assert_eq!(change.added.iter().map(|its| its.count).collect::<Vec<_>>(), [10]);
    assert_eq!(change.added[0].nodes[0], "clients[100000]");
    assert_eq!(change.changed.len(), 1);
    assert_eq!(change.changed[0].nodes.count, 100_000);
    assert!(to_text(&change).contains("transaction_timeout: 50 -> 30"), "{}", to_text(&change));
    let json: serde_json::Value = serde_json::from_str(&change.to_json()).unwrap();
    assert_eq!(json["changed"][0]["changes"][0]["what"], "transaction_timeout");
}

#[test]
fn names_from_files_can_neither_steer_the_terminal_nor_forge_lines() {
    let (old, mut new) = (read(&cluster()), read(&cluster()));
    for class in &mut new.classes {
        class.nodes.iter_mut().for_each(|name| *name = format!("evil\x1b[31m{name}\nnothing changes"));
    }
    let text = to_text(&compare(&old, &new));
    assert!(!text.contains(|it: char| it.is_control() && it != '\n'), "{text:?}");
    assert!(!text.lines().any(|line| line.starts_with("nothing changes")), "{text}");
    assert!(text.contains("evil\\u{1b}[31mc1\\nnothing changes"), "{text}");
}

#[test]
fn the_summary_counts_one_and_many_in_their_own_words() {
    let last = |change: &Comparison| to_text(change).lines().last().unwrap().to_owned();
    let one = after(|files| files.push(("c3.yaml", client(3))));
    assert_eq!(
        last(&one),
        "1 node added, 0 gone, 0 changed, 4 as before; 0 pairs of classes with other paths, 0 of them with none any more; \
         0 findings appear, 0 vanish"
    );
    let findings = after(|files| replace(files, "s1.yaml", "route:", "global:\n    retry_count: 5\nroute:"));
    let text = last(&findings);
    assert!(text.ends_with("; 1 finding appears, 0 vanish"), "{text}");
    let mut single = cluster();
    single.truncate(1);
    let same = compare(&read(&single), &read(&single));
    assert_eq!(to_text(&same), "nothing changes: 1 node is configured as before\n");
}
