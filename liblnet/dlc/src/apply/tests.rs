//! Tests of the application of files: the changes, the resulting configuration, and that a second time nothing is changed.

use super::*;
use crate::export::export;
use crate::import::memory::Memory;

fn source(text: &str) -> Source<'_> {
    Source { name: "lnet.conf", text }
}

fn applied(node: &Memory, text: &str) -> (ReturnCode, Report) {
    let mut report = Report::new();
    (apply(node, source(text), Mode::Change, &mut report), report)
}

/// The changes that applying the file would make, one a line, as in `add net tcp eth0`.
fn shown(node: &Memory, text: &str) -> Vec<String> {
    let mut report = Report::new();
    let rc = apply(node, source(text), Mode::Show, &mut report);
    assert_eq!(rc, ReturnCode::OK, "{text}\n{}", report.errors_to_yaml());
    let yaml = report.shown.to_yaml();
    yaml.lines().skip(1).map(|line| line.trim_start_matches([' ', '-']).replacen(": ", " ", 1)).collect()
}

/// A node on which this file is in force.
fn node(text: &str) -> Memory {
    let node = Memory::new();
    let (rc, report) = applied(&node, text);
    assert_eq!(rc, ReturnCode::OK, "{text}\n{}", report.errors_to_yaml());
    node.told.borrow_mut().clear();
    node
}

fn exported(node: &Memory) -> String {
    let mut report = Report::new();
    assert_eq!(export(node, true, &mut report), ReturnCode::OK);
    report.shown.to_yaml()
}

const TWO_RAILS: &str = "\
net:
    - net type: tcp
      local NI(s):
        - interfaces: {0: eth0}
          lnd tunables: {conns_per_peer: 2}
        - interfaces: {0: eth1}
";
const ROUTES: &str = "\
route:
    - {net: tcp8, gateway: 192.0.2.8@tcp, priority: 3}
    - {net: tcp9, gateway: '192.0.2.[8-9]@tcp'}
";
const PEERS: &str = "\
peer:
    - primary nid: 192.0.2.1@tcp
      Multi-Rail: True
      peer ni: [{nid: 192.0.2.1@tcp}, {nid: 198.51.100.1@tcp}]
    - primary nid: 192.0.2.2@tcp
      Multi-Rail: False
";
const RULES: &str = "\
udsp:
    - {src: tcp, action: {priority: 1}}
    - {dst: 192.0.2.1@tcp, action: {priority: 2}}
    - {src: tcp, dst: 192.0.2.2@tcp}
";
const SETTINGS: &str = "\
routing: {enable: 1}
global: {numa_range: 5, retry_count: 3, transaction_timeout: 60}
";

fn all() -> String {
    [TWO_RAILS, ROUTES, PEERS, RULES, SETTINGS].concat()
}

/// The NIDs of the node but for that of the loopback.
fn nids(node: &Memory) -> Vec<String> {
    node.state.borrow().nis.iter().skip(1).map(|ni| ni.nid.to_string()).collect()
}

const BOTH_FAMILIES: &str = "\
net:
    - net type: tcp
      local NI(s):
        - interfaces: {0: eth6}
        - nid: fd99::11@tcp
          interfaces: {0: eth6}
";
const IPV6_ALONE: &str = "\
net:
    - net type: tcp
      local NI(s):
        - nid: fd99::11@tcp
          interfaces: {0: eth6}
";
const NAME_ALONE: &str = "\
net:
    - net type: tcp
      local NI(s):
        - interfaces: {0: eth6}
";

/// Each row: whether the node has large NIDs, its file, another one, the changes, and the NIDs after these. Fails if a name means an NI
/// of the family that the node does not take for names.
#[test]
fn a_name_means_the_ni_of_the_family_that_the_node_takes_for_names() {
    let (v4, v6) = ("10.0.0.1@tcp", "fd99::11@tcp");
    let both = ["add net tcp eth6", "remove net tcp eth6"];
    for (large_nids, before, file, changes, after) in [
        (false, IPV6_ALONE, NAME_ALONE, &both[..], &["10.0.0.2@tcp"][..]),
        (true, IPV6_ALONE, NAME_ALONE, &[], &[v6]),
        (false, BOTH_FAMILIES, NAME_ALONE, &both[1..], &[v4]),
        (true, BOTH_FAMILIES, NAME_ALONE, &both[1..], &[v6]),
        (false, BOTH_FAMILIES, BOTH_FAMILIES, &[], &[v4, v6]),
        (true, BOTH_FAMILIES, BOTH_FAMILIES, &[], &[v4, v6]),
    ] {
        let node = node(before);
        node.state.borrow_mut().large_nids = large_nids;
        assert_eq!(shown(&node, file), changes, "{large_nids} {before} {file}");
        assert_eq!(applied(&node, file).0, ReturnCode::OK);
        assert_eq!(nids(&node), after, "{large_nids} {before} {file}");
        assert_eq!(shown(&node, file), [""; 0]);
    }
}

/// Fails if an NI is removed by the name of an interface that another NI has, too.
#[test]
fn of_two_nis_on_one_interface_the_one_that_the_file_lacks_is_removed() {
    let node = node(BOTH_FAMILIES);
    assert_eq!(nids(&node), ["10.0.0.1@tcp", "fd99::11@tcp"]);
    node.state.borrow_mut().large_nids = true;
    assert_eq!(shown(&node, IPV6_ALONE), ["remove net tcp eth6"]);
    assert_eq!(applied(&node, IPV6_ALONE).0, ReturnCode::OK);
    assert_eq!(nids(&node), ["fd99::11@tcp"]);
}

#[test]
fn a_file_that_is_in_force_changes_nothing() {
    for text in [TWO_RAILS.to_owned(), [TWO_RAILS, ROUTES].concat(), all()] {
        let node = node(&text);
        assert_eq!(shown(&node, &text), [""; 0], "{text}");
        assert_eq!(applied(&node, &text).0, ReturnCode::OK);
        // What a node exports is in force on it.
        let exported = exported(&node);
        assert_eq!(shown(&node, &exported), [""; 0], "{exported}");
        assert_eq!(applied(&node, &exported).0, ReturnCode::OK);
        assert_eq!(*node.told.borrow(), [], "{text}");
    }
}

/// Each row: what is in place of a part of the file, and the changes. Fails if a change is missing, in an order that a node refuses,
/// or about something that does not differ.
#[test]
fn only_what_differs_is_changed_and_then_the_file_is_in_force() {
    let table: &[(&str, &str, &str, &[&str])] = &[
        ("an interface less", "        - interfaces: {0: eth1}\n", "", &["remove net tcp eth1"]),
        (
            "another interface: the net is never without one",
            "{0: eth1}",
            "{0: eth2}",
            &["add net tcp eth2", "remove net tcp eth1"],
        ),
        (
            "a value that can change",
            "conns_per_peer: 2",
            "conns_per_peer: 4",
            &["set net tcp eth0 conns_per_peer 4"],
        ),
        (
            "a value that cannot",
            "{0: eth1}\n",
            "{0: eth1}\n          tunables: {credits: 64}\n",
            &["remove net tcp eth1", "add net tcp eth1"],
        ),
        (
            "a number of the driver that cannot",
            "{0: eth1}\n",
            "{0: eth1}\n          lnd tunables: {tos: 16}\n",
            &["remove net tcp eth1", "add net tcp eth1"],
        ),
        (
            "a number of the driver that is so without being shown",
            "conns_per_peer: 2",
            "conns_per_peer: 2, tos: -1",
            &[],
        ),
        (
            "another number of a route",
            "priority: 3",
            "priority: 4",
            &["remove route tcp8 by 192.0.2.8@tcp", "add route tcp8 by 192.0.2.8@tcp"],
        ),
        (
            "another gateway",
            "gateway: '192.0.2.[8-9]@tcp'",
            "gateway: '192.0.2.[8,7]@tcp'",
            &["remove route tcp9 by 192.0.2.9@tcp", "add route tcp9 by 192.0.2.7@tcp"],
        ),
        (
            "no routes",
            ROUTES,
            "route: []\n",
            &[
                "remove route tcp8 by 192.0.2.8@tcp",
                "remove route tcp9 by 192.0.2.8@tcp",
                "remove route tcp9 by 192.0.2.9@tcp",
            ],
        ),
        ("nothing about routes", ROUTES, "", &[]),
        (
            "another NID of a peer",
            "{nid: 198.51.100.1@tcp}",
            "{nid: 198.51.100.2@tcp}",
            &[
                "remove peer 192.0.2.1@tcp nid 198.51.100.1@tcp",
                "add peer 192.0.2.1@tcp nid 198.51.100.2@tcp",
            ],
        ),
        (
            "another kind of peer",
            "Multi-Rail: False",
            "Multi-Rail: True",
            &["remove peer 192.0.2.2@tcp", "add peer 192.0.2.2@tcp"],
        ),
        (
            "a NID that another peer has",
            PEERS,
            "peer:\n    - {primary nid: 192.0.2.1@tcp, peer ni: [{nid: 192.0.2.2@tcp}]}\n    - {primary nid: 198.51.100.1@tcp}\n",
            &[
                "remove peer 192.0.2.1@tcp nid 198.51.100.1@tcp",
                "remove peer 192.0.2.2@tcp",
                "add peer 192.0.2.1@tcp nid 192.0.2.2@tcp",
                "add peer 198.51.100.1@tcp",
            ],
        ),
        (
            "another priority",
            "priority: 2",
            "priority: 9",
            &["set udsp dst 192.0.2.1@tcp priority 9 (now priority 2)"],
        ),
        (
            "a rule at the beginning",
            "udsp:\n",
            "udsp:\n    - {src: tcp7, action: {priority: 7}}\n",
            &["add udsp src tcp7 priority 7"],
        ),
        (
            "another order",
            RULES,
            "udsp:\n    - {src: tcp, dst: 192.0.2.2@tcp}\n    - {src: tcp, action: {priority: 1}}\n    - {dst: 192.0.2.1@tcp, action: {priority: 2}}\n",
            &["remove udsp src tcp, dst 192.0.2.2@tcp", "add udsp src tcp, dst 192.0.2.2@tcp"],
        ),
        ("forwarding", "enable: 1", "enable: 0", &["set routing enable 0"]),
        ("a setting", "numa_range: 5", "numa_range: 6", &["set global numa_range 6 (now 5)"]),
        ("a setting that is not said any more", "numa_range: 5, ", "", &[]),
    ];
    for (name, part, other, changes) in table {
        let before = all();
        assert_eq!(before.matches(part).count(), 1, "{name}: {part}");
        let after = before.replace(part, other);
        let node = node(&before);
        assert_eq!(shown(&node, &after), *changes, "{name}");
        assert_eq!(*node.told.borrow(), [], "{name}: it was only to be shown");
        let (rc, report) = applied(&node, &after);
        assert_eq!((rc, report.errors_to_yaml()), (ReturnCode::OK, String::new()), "{name}");
        assert_eq!(node.told.borrow().len(), changes.len(), "{name}");
        assert_eq!(shown(&node, &after), [""; 0], "{name}");
    }
}

/// Fails if routes and peers that the node forgets with a net are not made again after it.
#[test]
fn a_net_whose_interfaces_are_all_made_again_keeps_its_routes_and_peers() {
    let before = TWO_RAILS.replace("        - interfaces: {0: eth1}\n", "");
    let after = before.replace(
        "        - interfaces: {0: eth0}",
        "        - tunables: {credits: 9}\n          interfaces: {0: eth0}",
    );
    for rest in [[ROUTES, PEERS].concat(), String::new()] {
        let node = node(&[before.as_str(), ROUTES, PEERS].concat());
        let had = exported(&node);
        assert_eq!(applied(&node, &[after.as_str(), &rest].concat()).0, ReturnCode::OK);
        assert_eq!(exported(&node), had.replace("credits: 256", "credits: 9"), "{rest}");
    }
}

#[test]
fn peers_that_were_only_discovered_stay_until_the_file_names_them() {
    let node = node(PEERS);
    node.state.borrow_mut().peers.iter_mut().for_each(|peer| peer.state = 0);
    assert_eq!(shown(&node, "peer: []"), [""; 0]);
    let named = "peer: [{primary nid: 192.0.2.2@tcp, Multi-Rail: False}]";
    assert_eq!(shown(&node, named), ["add peer 192.0.2.2@tcp"]);
}

#[test]
fn a_file_with_a_problem_is_not_begun() {
    let table = [
        ("route:\n", "lnet.conf:1:1: 'route' has no value; write 'route: []' for a node without any"),
        ("net: [{net type: bogus}]", "unknown network name"),
        (
            "ip2nets: [{net-spec: tcp, interfaces: {0: nosuch0}}]",
            "lnet.conf: ip2nets tcp, there is no interface nosuch0; nothing of this file is in force",
        ),
    ];
    for (text, expected) in table {
        let node = node(&all());
        let (rc, report) = applied(&node, text);
        assert!(!rc.is_ok() && report.errors_to_yaml().contains(expected), "{}", report.errors_to_yaml());
        assert_eq!(*node.told.borrow(), [], "{text}");
    }
}

#[test]
fn a_change_that_is_refused_is_reported_and_does_not_stop_the_others() {
    let node = Memory::new();
    let text = "net: [{net type: tcp, local NI(s): [{interfaces: {0: nosuch0}}, {interfaces: {0: eth0}}]}]";
    let mut report = Report::new();
    let shown = apply(&node, source(text), Mode::Show, &mut report);
    let expected = "cannot add net tcp nosuch0: interface nosuch0: not usable (missing)";
    assert!(report.errors_to_yaml().contains(expected), "{}", report.errors_to_yaml());
    let (rc, report) = applied(&node, text);
    assert_eq!((rc, shown), (Errno::NoDevice.into(), Errno::NoDevice.into()));
    assert!(report.errors_to_yaml().contains(expected), "{}", report.errors_to_yaml());
    assert_eq!(node.state.borrow().nis.len(), 2);
}
