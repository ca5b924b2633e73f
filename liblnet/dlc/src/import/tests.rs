//! Tests of imports: the resulting configuration, and the reports.

use super::memory::Memory;
use super::*;
use crate::export::export;
use crate::request::{Peer, PeerNi, Request, Setting};
use std::net::Ipv4Addr;

fn source(text: &str) -> Source<'_> {
    Source { name: "lnet.conf", text }
}

fn imported(node: &Memory, purpose: Purpose, text: &str) -> (ReturnCode, Report) {
    let mut report = Report::new();
    (import(node, source(text), purpose, &mut report), report)
}

/// Imports a file, which must succeed.
fn add(node: &Memory, text: &str) {
    let (rc, report) = imported(node, Purpose::Add, text);
    assert_eq!(rc, ReturnCode::OK, "{}", report.errors_to_yaml());
}

fn exported(node: &Memory, backup: bool) -> String {
    let mut report = Report::new();
    assert_eq!(export(node, backup, &mut report), ReturnCode::OK);
    report.shown.to_yaml()
}

fn checked(node: &Memory, text: &str) -> String {
    check(Some(node), source(text), &mut Report::new()).1.to_yaml()
}

const EVERYTHING: &str = "\
net:
    - net type: tcp
      local NI(s):
        - interfaces:
              0: eth0
          tunables:
              peer_timeout: 100
              peer_credits: 16
              peer_buffer_credits: 1
              credits: 100
          lnd tunables:
              conns_per_peer: 2
          CPT: \"[0,1]\"
        - interfaces:
              0: eth1
          tunables:
              peer_timeout: 180
              peer_credits: 8
              peer_buffer_credits: 0
              credits: 256
          lnd tunables:
              conns_per_peer: 1
              tos: 16
          CPT: \"[0]\"
route:
    - net: tcp4
      gateway: 192.0.2.1@tcp
      hop: -1
      priority: 0
      health_sensitivity: 1
routing:
    enable: 1
buffers:
    tiny: 2048
    small: 16384
    large: 1024
peer:
    - primary nid: 192.0.2.20@tcp
      Multi-Rail: True
      peer ni:
        - nid: 192.0.2.20@tcp
        - nid: 192.0.2.21@tcp
global:
    numa_range: 3
    max_interfaces: 100
    discovery: 0
    drop_asym_route: 1
    retry_count: 60
    transaction_timeout: 100
    health_sensitivity: 50
    recovery_interval: 1
    router_sensitivity: 99
    lnd_timeout: 1
    response_tracking: 2
    recovery_limit: 10
    max_recovery_ping_interval: 60
    compare_queued_bytes: 1
    discovery_timeout: 4
udsp:
    - idx: 0
      src: tcp1
      dst: NA
      rte: NA
      action:
          priority: 1
    - idx: 1
      src: 192.0.2.10@tcp
      dst: 192.0.2.20@tcp
      rte: NA
    - idx: 2
      src: NA
      dst: tcp4
      rte: 192.0.2.[1-3]@tcp
    - idx: 3
      src: \"[0-255].[0-255].[0-255].[0-255]@tcp\"
      dst: NA
      rte: NA
      action:
          priority: 0
          messages: 3
";

/// [`EVERYTHING`] with the settings that it does not name, at other values than their defaults.
fn everything() -> String {
    let named = |setting: &Setting| EVERYTHING.contains(&format!("\n    {}: ", setting.name()));
    let others = Setting::all_global().filter(|setting| !named(setting)).map(|setting| {
        let range = setting.spec().range();
        let value = if setting.default_value() == range.most { range.least } else { range.most };
        format!("    {}: {value}\n", setting.name())
    });
    EVERYTHING.replace("udsp:\n", &format!("{}udsp:\n", others.collect::<String>()))
}

/// cfg-170: fails if anything that was set is not exported, or not imported again.
#[test]
fn importing_an_export_restores_the_node() {
    let node = Memory::new();
    let everything = everything();
    add(&node, &everything);
    assert_eq!(exported(&node, true), everything);
    // The whole export has the loopback, statistics and much more.
    for backup in [true, false] {
        let other = Memory::new();
        add(&other, &exported(&node, backup));
        assert_eq!(exported(&other, true), everything);
        assert_eq!(*other.state.borrow(), *node.state.borrow());
    }
}

#[test]
fn an_export_of_forwarding_that_is_off_again_makes_a_node_that_exports_the_same() {
    let node = Memory::new();
    add(&node, EVERYTHING);
    add(&node, "routing: {enable: 0}\n");
    for backup in [true, false] {
        let text = exported(&node, backup);
        let other = Memory::new();
        add(&other, &text);
        assert!(!text.contains("routing:") && !text.contains("buffers:"), "{text}");
        assert_eq!(exported(&other, backup), text);
    }
}

/// Fails if a backup of an NI with an IPv6 address comes back with another NID, as one that names the interface alone could.
#[test]
fn an_ni_with_an_ipv6_address_comes_back_with_its_nid() {
    let node = Memory::new();
    add(
        &node,
        "net:\n    - net type: tcp\n      local NI(s):\n        - interfaces:\n              0: FD99::0011\n",
    );
    for backup in [true, false] {
        let file = exported(&node, backup);
        assert!(file.contains("nid: fd99::11@tcp\n"), "{file}");
        assert!(file.contains("interfaces:\n              0: eth6\n"), "{file}");
        let again = Memory::new();
        add(&again, &file);
        assert_eq!(again.state.borrow().nis[1].nid.to_string(), "fd99::11@tcp");
        assert_eq!(exported(&again, true), exported(&node, true));
        assert_eq!(checked(&again, &file), "", "nothing to change");
        // A second import finds it there.
        add(&again, &file);
        let (rc, _) = imported(&again, Purpose::Del, &file);
        assert_eq!((rc, again.state.borrow().nis.len()), (ReturnCode::OK, 1), "{file}");
    }
}

#[test]
fn output_of_any_detail_level_can_be_imported() {
    let node = Memory::new();
    add(&node, EVERYTHING);
    for detail in 0..=6 {
        let mut report = Report::new();
        assert!(ops::net::show(&node, None, detail, SeqNo::NONE, &mut report, false).is_ok());
        assert!(ops::peer::show(&node, None, detail, SeqNo::NONE, &mut report, false).is_ok());
        assert!(ops::stats::show(&node, SeqNo::NONE, &mut report).is_ok());
        let shown = report.shown.to_yaml();
        for purpose in [Purpose::Add, Purpose::Del, Purpose::Show] {
            assert_eq!(read(&shown, purpose).map(drop), Ok(()), "at {detail}\n{shown}");
        }
    }
}

#[test]
fn what_is_there_already_is_no_failure_and_the_rest_is_imported() {
    let node = Memory::new();
    add(&node, EVERYTHING);
    node.told.borrow_mut().clear();
    let (rc, report) = imported(&node, Purpose::Add, EVERYTHING);
    assert_eq!(rc, ReturnCode::OK, "{}", report.errors_to_yaml());
    assert!(node.told.borrow().iter().any(|request| matches!(request, Request::SetTunable(..))));
}

#[test]
fn a_file_with_a_problem_is_not_begun() {
    let node = Memory::new();
    let text = "global:\n    discovery: 0\nnet:\n  - net type: tcp\n    seq_no: 4\nbogus:\npeer:\n  - primary nid: 5\n";
    let (rc, report) = imported(&node, Purpose::Add, text);
    assert_eq!(rc, ReturnCode::BAD_PARAM);
    assert_eq!(*node.told.borrow(), []);
    let expected = "\
add:
    - net:
          seq_no: 4
          errno: -2
          descr: \"lnet.conf:4:5: a net without interfaces; add 'local NI(s)' with 'interfaces' in each item\"
yaml:
    - builder:
          errno: -1
          descr: \"lnet.conf:6:1: there is no block 'bogus'; there are net, ip2nets, route, routing, buffers, peer, global, numa, udsp, selection, statistics, ping, discover\"
peer:
    - add:
          errno: -1
          descr: \"lnet.conf:8:18: primary nid '5': not a dotted IPv4 address at byte 0; nothing of this file is in force\"
";
    assert_eq!(report.errors_to_yaml(), expected);
}

#[test]
fn nets_are_deleted_last_since_routes_and_peers_go_with_them() {
    let node = Memory::new();
    add(&node, EVERYTHING);
    node.told.borrow_mut().clear();
    assert_eq!(imported(&node, Purpose::Del, EVERYTHING).0, ReturnCode::OK);
    let told = node.told.borrow();
    let is_net = |request: &Request| matches!(request, Request::DelLocalNi(_));
    let first = told.iter().position(is_net).unwrap();
    assert!(told[..first].iter().any(|request| matches!(request, Request::DelPeerNi(_))), "{told:?}");
    assert!(told[first..].iter().all(is_net), "{told:?}");
}

#[test]
fn problems_stand_under_the_words_of_lnetctl() {
    let table = [
        (Purpose::Add, "garbage", "yaml:\n    - builder:\n"),
        (Purpose::Add, "buffers:\n  tiny: x\n", "add:\n    - buf:\n"),
        (
            Purpose::Add,
            "global:\n  health_sensitivity: 9999\n",
            "add:\n    - health_sensitivity:\n          errno: -5\n",
        ),
        (Purpose::Add, "udsp:\n  - idx: 0\n", "add:\n    - udsp:\n"),
        (Purpose::Add, "ip2nets:\n  - net: tcp\n    x: 1\n", "add:\n    - ip2nets:\n"),
        (Purpose::Del, "udsp:\n  - idx: x\n", "add:\n    - udsp:\n"),
        (Purpose::Del, "peer:\n  - primary nid: 5\n", "peer:\n    - del:\n"),
        (Purpose::Del, "net:\n  - net: x\n", "del:\n    - net:\n"),
        (Purpose::Show, "peer:\n  - nid: 5\n", "show:\n    - peer:\n"),
        (Purpose::Exec, "ping:\n  - primary nid: 5\n", "manage:\n    - ping:\n"),
    ];
    for (purpose, text, expected) in table {
        let (rc, report) = imported(&Memory::new(), purpose, text);
        assert!(!rc.is_ok(), "{text}");
        assert!(report.errors_to_yaml().starts_with(expected), "{text}\n{}", report.errors_to_yaml());
    }
}

#[test]
fn files_end_as_they_did_with_lnetctl_2_15() {
    let node = Memory::new();
    let net =
        "net:\n    - net type: tcp9\n      local NI(s):\n        - interfaces:\n              0: eth0\n";
    let table = [
        (Purpose::Add, "", 0),
        (Purpose::Add, "garbage\n", 255),
        (Purpose::Add, "net:\n  - net type: tcp\n  local: [\n", 255),
        (Purpose::Add, net, 0),
        (Purpose::Add, &net.replace("eth0", "nosuch0"), 255),
        (Purpose::Add, &net.replace("tcp9", "bogus"), 255),
        (
            Purpose::Add,
            "route:\n    - net: tcp1\n      gateway: 10.99.0.12@tcp9\n      hop: 2\n      priority: 1\n",
            0,
        ),
        (
            Purpose::Add,
            "peer:\n    - primary nid: 10.99.0.90@tcp\n      Multi-Rail: True\n      peer ni:\n        - nid: \
             10.99.0.90@tcp\n        - nid: 10.99.1.90@tcp\n",
            0,
        ),
        (Purpose::Add, "global:\n    discovery: 0\n    retry_count: 3\n", 0),
        (Purpose::Add, "global:\n    health_sensitivity: 9999\n", 251),
        (Purpose::Add, "udsp:\n    - src: tcp\n      action:\n          priority: 0\n", 0),
        (Purpose::Show, net, 0),
        (Purpose::Exec, net, 0),
        (Purpose::Add, net, 0),
        (Purpose::Del, net, 0),
        (Purpose::Del, net, 254),
    ];
    for (purpose, text, code) in table {
        let (rc, report) = imported(&node, purpose, text);
        assert_eq!(rc.exit_code(), code, "{text}\n{}", report.errors_to_yaml());
    }
}

#[test]
fn deleting_what_was_added_leaves_the_rest() {
    let node = Memory::new();
    add(&node, EVERYTHING);
    let text = "\
route:
    - net: tcp4
      gateway: 192.0.2.1@tcp
net:
    - net type: tcp
      local NI(s):
        - interfaces:
              0: eth1
peer:
    - primary nid: 192.0.2.20@tcp
      peer ni:
        - nid: 192.0.2.21@tcp
global:
    discovery: 0
    retry_count: 0
routing:
udsp:
    - idx: 0
      src: tcp1
    - idx: 1
      src: 192.0.2.10@tcp
      dst: 192.0.2.20@tcp
    - dst: tcp4
      rte: 192.0.2.[1-3]@tcp
    - src: \"*.*.*.*@tcp\"
";
    assert_eq!(imported(&node, Purpose::Del, text).0, ReturnCode::OK);
    let state = node.state.borrow();
    assert_eq!(state.nis.len(), 2);
    assert!(state.routes.is_empty() && state.rules.is_empty());
    assert_eq!(state.peers.iter().map(|peer| peer.nis.len()).collect::<Vec<_>>(), [1, 1]);
    assert_eq!((state.tunables.get(Setting::Discovery), state.tunables.get(Setting::RetryCount)), (1, 60));
    assert!(!state.buffers.unwrap().enabled);
}

const TWO_RULES: &str = "\
udsp:
    - idx: 0
      src: tcp
      action:
          priority: 0
          messages: 3
    - idx: 1
      dst: 10.0.0.*@tcp
      action:
          priority: 1
";

/// Fails if an export with one changed value ends in an error for an unchanged value, or if the changed value is neither in force
/// afterwards nor refused by name.
#[test]
fn an_export_with_one_value_changed_changes_that_value_or_is_refused_by_name() {
    let node = Memory::new();
    add(&node, EVERYTHING);
    let once = exported(&node, true);
    add(&node, &once);
    assert_eq!((exported(&node, true), checked(&node, &once)), (once.clone(), String::new()));
    let changed = [
        ("conns_per_peer: 2", "conns_per_peer: 5"),
        ("discovery: 0", "discovery: 1"),
        ("numa_range: 3", "numa_range: 4"),
        ("small: 16384", "small: 8"),
        ("          priority: 1", "          priority: 2"),
        ("        - nid: 192.0.2.21@tcp", "        - nid: 192.0.2.21@tcp\n        - nid: 192.0.2.22@tcp"),
    ];
    for (old, new) in changed {
        assert_eq!(once.matches(old).count(), 1, "{old}");
        let node = Memory::new();
        add(&node, EVERYTHING);
        add(&node, &once.replace(old, new));
        assert_eq!(exported(&node, true), once.replace(old, new), "{new}");
    }
    let refused = [
        (
            "credits: 100\n          lnd",
            "credits: 101\n          lnd",
            -17,
            "credits from 100 to 101 of eth0 on tcp",
        ),
        ("peer_timeout: 100", "peer_timeout: 99", -17, "peer_timeout from 100 to 99"),
        ("tos: 16", "tos: -1", -17, "tos from 16 to -1 of eth1 on tcp"),
        (
            "conns_per_peer: 2",
            "conns_per_peer: 2\n              tos: 16",
            -17,
            "tos from -1 to 16 of eth0 on tcp",
        ),
        ("CPT: \"[0,1]\"", "CPT: \"[1]\"", -17, "CPT from [0,1] to [1]"),
        (
            "      priority: 0\n      health",
            "      priority: 7\n      health",
            -17,
            "priority from 0 to 7 of the route",
        ),
        ("      hop: -1", "      hop: 3", -17, "hop from -1 to 3"),
        ("      Multi-Rail: True", "      Multi-Rail: False", -1, "other setting of --non_mr"),
        ("retry_count: 60", "retry_count: 101", -5, "at most transaction_timeout"),
    ];
    for (old, new, rc, text) in refused {
        assert!(once.contains(old), "{old}");
        let file = once.replacen(old, new, 1);
        let node = Memory::new();
        add(&node, EVERYTHING);
        let mut report = Report::new();
        let (found, _) = check(Some(&node), source(&file), &mut report);
        let told = report.errors_to_yaml();
        assert_eq!(found, ReturnCode(rc), "{new}\n{told}");
        assert!(told.contains(text), "{new}\n{told}");
        let (found, report) = imported(&node, Purpose::Add, &file);
        assert_eq!(found, ReturnCode(rc), "{new}\n{}", report.errors_to_yaml());
        assert!(report.errors_to_yaml().contains(text), "{new}\n{}", report.errors_to_yaml());
        assert_eq!(exported(&node, true), once, "{new}");
    }
}

/// Fails if the check finds something other than the import is refused, or in other words.
#[test]
fn a_check_ends_as_the_import_would_and_gives_its_reasons() {
    let ni = |net: &str, interface: &str, more: &str| {
        format!(
            "net:\n    - net type: {net}\n      local NI(s):\n        - interfaces:\n              0: {interface}\n{more}"
        )
    };
    let route = |net: &str, gateway: &str| format!("route:\n    - {{net: {net}, gateway: {gateway}}}\n");
    let refused = [
        ni("o2ib", "ib0", ""),
        ni("tcp5", "nosuch0", ""),
        ni("tcp5", "eth0", "          CPT: \"[0,2]\"\n"),
        ni("tcp", "eth0", "          CPT: \"[0]\"\n"),
        route("tcp", "192.0.2.9@o2ib"),
        route("tcp6", "192.0.2.9@tcp7"),
        route("tcp6", "192.0.2.9@tcp6"),
        "peer:\n    - primary nid: 192.0.2.21@tcp\n".to_owned(),
        "peer:\n    - primary nid: 192.0.2.30@tcp\n      peer ni: [192.0.2.20@tcp]\n".to_owned(),
        "udsp:\n    - {src: 192.0.2.10@tcp, dst: 192.0.2.20@tcp, priority: 2}\n".to_owned(),
        "global:\n    transaction_timeout: 60\n".to_owned(),
        "global:\n    health_sensitivity: 0\n    transaction_timeout: 1\n    retry_count: 1\n".to_owned(),
    ];
    let failures = |report: &Report| {
        let yaml = report.errors_to_yaml();
        let texts = yaml.lines().filter(|line| line.contains("descr") && !line.contains("success"));
        let all = texts.filter(|line| !line.contains("the operation ended at"));
        all.map(|line| line.trim().to_owned()).collect::<Vec<_>>()
    };
    for file in refused {
        let node = Memory::new();
        add(&node, EVERYTHING);
        let mut told = Report::new();
        let (rc, changes) = check(Some(&node), source(&file), &mut told);
        let (ended, report) = imported(&node, Purpose::Add, &file);
        assert!(!rc.is_ok(), "{file}\n{}", report.errors_to_yaml());
        assert_eq!((rc, failures(&told)), (ended, failures(&report)), "{file}");
        assert!(changes.to_yaml().contains("conflict"), "{file}");
    }
    for nothing in ["", "# only this\n", "net:\n", "net:\n    - net type: lo\n"] {
        let mut report = Report::new();
        assert_eq!(check(None, source(nothing), &mut report).0, ReturnCode::OK, "{nothing}");
        assert_eq!(names_something(source(nothing), &mut report), ReturnCode::BAD_PARAM, "{nothing}");
        assert!(report.errors_to_yaml().contains("nothing in it to import"));
        assert_eq!(imported(&Memory::new(), Purpose::Add, nothing).0, ReturnCode::OK, "{nothing}");
    }
}

/// Fails if a file deletes rules that it does not name.
#[test]
fn deleting_rules_needs_an_index_or_what_they_are_about_and_what_they_do_if_that_is_given() {
    let node = Memory::new();
    add(&node, TWO_RULES);
    let before = exported(&node, false);
    for item in [
        "action:\n          priority: 0",
        "src: NA\n      dst: NA\n      rte: NA",
        "src: tcp\n      action:\n          priority: 0\n          messages: 1",
        "src: tcp\n      action:\n          priority: 1",
    ] {
        let (rc, _) = imported(&node, Purpose::Del, &format!("udsp:\n    - {item}\n"));
        assert_ne!(rc, ReturnCode::OK, "{item}");
        assert_eq!(exported(&node, false), before, "{item}");
    }
    for (item, left) in [("src: tcp", "dst: 10.0.0."), ("idx: -1", "")] {
        let (rc, report) = imported(&node, Purpose::Del, &format!("udsp:\n    - {item}\n"));
        assert_eq!(rc, ReturnCode::OK, "{}", report.errors_to_yaml());
        let now = exported(&node, false);
        assert_eq!(
            (now.contains("src: tcp"), now.contains("dst: 10.0.0.")),
            (false, !left.is_empty()),
            "{now}"
        );
    }
}

#[test]
fn deleting_a_net_by_its_old_key_takes_all_of_it() {
    let node = Memory::new();
    add(&node, EVERYTHING);
    assert_eq!(imported(&node, Purpose::Del, "net:\n    - net: tcp\n").0, ReturnCode::OK);
    assert_eq!(node.state.borrow().nis.len(), 1);
    let (rc, _) = imported(&node, Purpose::Del, "net:\n    - net: tcp\n");
    assert_eq!(rc, ReturnCode(-2));
}

#[test]
fn items_with_the_same_selection_are_shown_once() {
    let node = Memory::new();
    add(&node, EVERYTHING);
    let (rc, report) = imported(&node, Purpose::Show, EVERYTHING);
    assert_eq!(rc, ReturnCode::OK);
    let shown = report.shown.to_yaml();
    assert_eq!(shown.matches("net type: tcp").count(), 1, "{shown}");
    assert_eq!(shown.matches("primary nid: 192.0.2.20@tcp").count(), 1);
    assert_eq!(shown.matches("numa_range").count(), 1);
}

#[test]
fn pings_are_carried_out_by_exec_alone() {
    let text = "ping:\n    - primary nid: 192.0.2.1@tcp\ndiscover:\n    - primary nid: 192.0.2.1@tcp\n      force: 1\n";
    let node = Memory::new();
    add(&node, text);
    assert_eq!(*node.told.borrow(), []);
    let (rc, _) = imported(&node, Purpose::Exec, text);
    assert!(!rc.is_ok(), "this node cannot ping");
    let told = node.told.borrow();
    assert!(matches!(&told[0], Request::PingPeer(ping) if ping.timeout_ms == Some(1000)), "{told:?}");
    assert!(matches!(&told[1], Request::Discover(discover) if discover.force), "{told:?}");
}

fn nids(node: &Memory) -> Vec<Vec<String>> {
    let state = node.state.borrow();
    state.peers.iter().map(|peer| peer.nis.iter().map(|ni| ni.nid.to_string()).collect()).collect()
}

#[test]
fn peers_of_the_design_document_replace_what_there_is() {
    let node = Memory::new();
    add(&node, "peers:\n- nids: {0: 10.2.2.3@tcp, 1: 10.4.4.4@tcp1}\n");
    assert_eq!(nids(&node), [["10.2.2.3@tcp", "10.4.4.4@tcp1"]]);
    add(&node, "peers:\n- nids: {0: 10.2.2.3@tcp, 1: 10.5.5.5@tcp2}\n");
    assert_eq!(nids(&node), [["10.2.2.3@tcp", "10.5.5.5@tcp2"]]);
    // The peer is found by another NID; without its primary NID in the list it is created anew.
    add(&node, "peers:\n- nids: {0: 10.6.6.6@tcp, 1: 10.5.5.5@tcp2}\n");
    assert_eq!(nids(&node), [["10.6.6.6@tcp", "10.5.5.5@tcp2"]]);
    // `peer` keeps NIDs that it does not list.
    add(&node, "peer:\n- primary nid: 10.6.6.6@tcp\n  peer ni:\n  - nid: 10.7.7.7@tcp\n");
    assert_eq!(nids(&node), [["10.6.6.6@tcp", "10.5.5.5@tcp2", "10.7.7.7@tcp"]]);

    assert_eq!(imported(&node, Purpose::Del, "peers:\n- nids: [10.7.7.7@tcp]\n").0, ReturnCode::OK);
    assert_eq!(nids(&node), [["10.6.6.6@tcp", "10.5.5.5@tcp2"]]);
    assert_eq!(imported(&node, Purpose::Del, "peers:\n- nids: [10.6.6.6@tcp]\n").0, ReturnCode(-16));
    assert_eq!(
        imported(&node, Purpose::Del, "peers:\n- nids: [10.5.5.5@tcp2, 10.6.6.6@tcp]\n").0,
        ReturnCode::OK
    );
    assert!(nids(&node).is_empty());
    assert_eq!(imported(&node, Purpose::Del, "peers:\n- nids: [10.5.5.5@tcp2]\n").0, ReturnCode(-2));
}

/// Fails if a peer may have no more NIDs in a file than one list may name.
#[test]
fn peers_with_more_nids_than_a_list_may_name_are_imported_as_they_were_exported() {
    for count in [129, 4096] {
        let all: Vec<String> =
            (1..=count).map(|number| format!("{}@tcp", Ipv4Addr::from_bits(0x0a01_0000 + number))).collect();
        let peer = |nids: &[String]| {
            let listed: String = nids.iter().map(|nid| format!("  - nid: {nid}\n")).collect();
            format!("peer:\n- primary nid: {}\n  peer ni:\n{listed}", all[0])
        };
        let complete = |nids: &[String]| format!("peers:\n- nids: [{}]\n", nids.join(", "));
        for text in [peer(&all), complete(&all)] {
            let (node, again) = (Memory::new(), Memory::new());
            add(&node, &text);
            assert_eq!(nids(&node), std::slice::from_ref(&all));
            add(&again, &exported(&node, true));
            assert_eq!(nids(&again), std::slice::from_ref(&all));
        }
        for text in [peer(&all[1..]), complete(&all[1..])] {
            let node = Memory::new();
            add(&node, &peer(&all));
            assert_eq!(imported(&node, Purpose::Del, &text).0, ReturnCode::OK);
            assert_eq!(nids(&node), [[all[0].clone()]]);
        }
    }
}

#[test]
fn a_refused_nid_does_not_end_a_complete_list() {
    let node = Memory::new();
    add(&node, "peer:\n- primary nid: 10.0.0.9@tcp\n");
    let (rc, _) = imported(
        &node,
        Purpose::Add,
        "peers:\n- nids: [10.0.0.1@tcp]\n- nids: [10.0.0.1@tcp, 10.0.0.2@tcp]\n",
    );
    assert_eq!(rc, ReturnCode::OK);
    let clash = "peers:\n- nids: [10.0.0.1@tcp, 10.0.0.9@tcp, 10.0.0.3@tcp]\n";
    assert_eq!(imported(&node, Purpose::Add, clash).0, ReturnCode(-17));
    assert_eq!(nids(&node)[1], ["10.0.0.1@tcp", "10.0.0.3@tcp"]);
}

#[test]
fn settings_that_bound_each_other_are_set_in_the_order_that_fits() {
    let node = Memory::new();
    add(&node, "global:\n    retry_count: 60\n    transaction_timeout: 100\n");
    add(&node, "global:\n    transaction_timeout: 10\n    retry_count: 3\n");
    let state = node.state.borrow();
    assert_eq!(
        (state.tunables.get(Setting::RetryCount), state.tunables.get(Setting::TransactionTimeout)),
        (3, 10)
    );
}

#[test]
fn a_check_lists_the_changes_and_makes_none() {
    let node = Memory::new();
    let everything = checked(&node, EVERYTHING);
    assert_eq!(everything.matches("- add:").count(), 9, "{everything}");
    assert_eq!(*node.told.borrow(), []);
    add(&node, EVERYTHING);
    node.told.borrow_mut().clear();
    assert_eq!(checked(&node, EVERYTHING), "");

    let text = "\
net:
    - net type: tcp
      local NI(s):
        - interfaces: {0: eth0}
          tunables: {credits: 7}
        - interfaces: {0: eth2}
route:
    - {net: tcp4, gateway: 192.0.2.1@tcp, priority: 9}
    - {net: tcp5, gateway: 192.0.2.1@tcp}
routing: {enable: 0}
buffers: {tiny: 1}
peer:
    - primary nid: 192.0.2.20@tcp
      peer ni: [192.0.2.22@tcp]
    - primary nid: 192.0.2.21@tcp
    - primary nid: 192.0.2.1@tcp
peers:
    - nids: [192.0.2.30@tcp]
global: {discovery: 1, numa_range: 3}
udsp:
    - {src: tcp1, priority: 4}
    - {dst: tcp}
    - {src: 192.0.2.10@tcp, dst: 192.0.2.20@tcp, priority: 2}
ping: {primary nid: 192.0.2.1@tcp}
";
    let expected = "\
check:
    - conflict: cannot change credits from 100 to 7 of eth0 on tcp; delete the interface first, and add it again
    - add: net tcp eth2
    - skip: peer 192.0.2.1@tcp is a gateway, which its route makes; it stays as it is
    - conflict: cannot change priority from 0 to 9 of the route to tcp4 by 192.0.2.1@tcp; delete it first, and add it again
    - add: route tcp5 by 192.0.2.1@tcp
    - set: routing enable 0
    - set: buffers tiny 1
    - add: peer 192.0.2.20@tcp nid 192.0.2.22@tcp
    - conflict: cannot add 192.0.2.21@tcp: File exists; another peer has this NID, see 'lnetctl peer show'
    - add: peer 192.0.2.30@tcp
    - set: global discovery 1 (now 0)
    - set: udsp src tcp1 priority 4 (now priority 1)
    - add: udsp dst tcp priority 0
    - conflict: cannot add the rule: Operation already in progress; there is a rule about the same, which only another priority, or other messages, would change; see 'lnetctl udsp show'
    - run: ping 12345-192.0.2.1@tcp
";
    assert_eq!(checked(&node, text), expected);
    assert!(node.told.borrow().is_empty());
}

#[test]
fn a_check_sees_gateways_that_cannot_be_reached_and_those_that_the_file_makes() {
    let text = "\
net:
    - {net type: tcp, local NI(s): [{interfaces: {0: eth0}}]}
route:
    - {net: tcp9, gateway: 192.0.2.1@tcp}
    - {net: tcp9, gateway: 192.0.2.1@tcp7}
peer:
    - {primary nid: 192.0.2.1@tcp, Multi-Rail: False}
";
    let expected = "\
check:
    - add: net tcp eth0
    - add: route tcp9 by 192.0.2.1@tcp
    - conflict: cannot add a route to tcp9 by 192.0.2.1@tcp7: No route to host; the gateway must be on a net of this node, see 'lnetctl net show'
";
    assert_eq!(checked(&Memory::new(), text), expected);
}

#[test]
fn a_check_reports_nets_without_a_driver() {
    let text = "\
net:
    - {net type: o2ib, local NI(s): [{interfaces: {0: ib0}}]}
    - {net type: tcp, local NI(s): [{interfaces: {0: eth0}}]}
route:
    - {net: tcp9, gateway: 192.0.2.1@o2ib}
";
    let expected = "\
check:
    - conflict: cannot add ib0 to o2ib: net o2ib: not started (there is no driver)
    - add: net tcp eth0
    - conflict: cannot add a route to tcp9 by 192.0.2.1@o2ib: No route to host; the gateway must be on a net of this node, see 'lnetctl net show'
";
    assert_eq!(checked(&Memory::new(), text), expected);
    // Which drivers there are only a node knows.
    let mut report = Report::new();
    let (rc, value) = check(None, source(text), &mut report);
    assert_eq!((rc, value.to_yaml().matches("- add: ").count()), (ReturnCode::OK, 3));
}

#[test]
fn a_check_needs_no_node() {
    let mut report = Report::new();
    let (rc, value) = check(None, source("global:\n    discovery: 0\n"), &mut report);
    assert_eq!((rc, value.to_yaml().as_str()), (ReturnCode::OK, "check:\n    - set: global discovery 0\n"));
    let (rc, value) = check(None, source("glob:\n"), &mut report);
    assert_eq!((rc, value), (ReturnCode::BAD_PARAM, Value::map()));
}

#[test]
fn a_plan_forgets_a_peer_whose_primary_nid_is_not_listed() {
    use super::complete_peers::{Plan, plan};
    let [a, b, c] = ["10.0.0.1@tcp", "10.0.0.2@tcp", "10.0.0.3@tcp"].map(|nid| nid.parse().unwrap());
    let now = Peer {
        primary: a,
        multi_rail: true,
        state: 8,
        nis: vec![PeerNi::unused(a), PeerNi::unused(b)],
        discovery: None,
        reachability: None,
    };
    let table = [
        (vec![a, b], None, Plan { primary: Some(a), add: vec![a, b], ..Plan::default() }),
        (vec![b, a], Some(&now), Plan { primary: Some(a), ..Plan::default() }),
        (vec![a, c], Some(&now), Plan { primary: Some(a), add: vec![c], remove: vec![b], forget: None }),
        (vec![b, c], Some(&now), Plan { primary: Some(b), add: vec![b, c], remove: vec![], forget: Some(a) }),
    ];
    for (listed, now, expected) in table {
        assert_eq!(plan(&listed, now), expected, "{listed:?}");
    }
}
