//! Nodes with IPv6 NIDs: which address of an interface a NID has, in configurations of every kind, and that they reach each other.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use lnet_dlc::export::export;
use lnet_dlc::import::{Source, import};
use lnet_dlc::ops::fault::{self, RuleAction, Which, Wording};
use lnet_dlc::ops::net::{self, NetConfig};
use lnet_dlc::ops::policy::{self, RuleEffect, RuleText};
use lnet_dlc::ops::{lnet, ping};
use lnet_dlc::request::{Configure, FaultKind, LocalNi};
use lnet_dlc::yaml::Purpose;
use lnet_dlc::{Backend, InterfaceSpec, Report, Request, ReturnCode, SeqNo};
use lnet_node::{Node, StartConfig, misrouted_addresses};
use lnet_wire::{Errno, Pid};
use std::net::UdpSocket;
use std::sync::Arc;
use support::netns::{Namespace, empty_namespace_or_skip, ip};

const PORT: &str = "9989";

/// A machine with eth0, which has addresses of both families, eth1, which has an IPv4 and a link-local address alone, and eth2, whose IPv6
/// address is in a subnet of eth0. `None`: it cannot be made here.
fn machine_or_skip() -> Option<Namespace> {
    let namespace = empty_namespace_or_skip()?;
    ip(&["link", "set", "lo", "up"]);
    for link in ["eth0", "eth1", "eth2"] {
        ip(&["link", "add", link, "type", "veth", "peer", "name", &format!("{link}-cable")]);
        ip(&["link", "set", &format!("{link}-cable"), "up"]);
        ip(&["link", "set", link, "up"]);
    }
    for (address, link) in [("10.79.0.11/24", "eth0"), ("10.79.1.11/24", "eth1")] {
        ip(&["address", "add", address, "dev", link]);
    }
    for (address, link) in [("fd99::12/64", "eth0"), ("fd99::11/64", "eth0"), ("fd99::21/64", "eth2")] {
        ip(&["address", "add", address, "dev", link, "nodad"]);
    }
    if UdpSocket::bind(("fd99::11", 0)).is_err() {
        test_support::skip("this machine has no IPv6");
        return None;
    }
    Some(namespace)
}

/// A node with these variables, which accepts no connections unless they say so: a process that another test starts may hold a socket for a
/// moment after a node has closed it.
fn start(variables: &[(&str, &str)]) -> Result<Arc<Node>, Errno> {
    let has = |name: &str| variables.iter().any(|(its, _)| *its == name);
    let config = StartConfig::from_lookup(|name| match name {
        "LNET_ACCEPT" if !has(name) => Some("none".to_owned()),
        "LNET_ACCEPT_PORT" => Some(PORT.to_owned()),
        name => variables.iter().find(|(its, _)| *its == name).map(|(_, value)| (*value).to_owned()),
    });
    Node::start(Pid::LUSTRE, config?)
}

/// The NIDs of the node but for that of the loopback, each with the name of its interface.
fn nis(node: &Node) -> Vec<String> {
    let backend: &dyn Backend = node;
    let all: Vec<Box<LocalNi>> = backend.list(Request::GetLocalNi).unwrap();
    let shown = |ni: &LocalNi| format!("{} {}", ni.nid, ni.interface.as_deref().unwrap_or_default());
    all.iter().skip(1).map(|ni| shown(ni)).collect()
}

fn add(node: &Node, net: &str, interface: &str) -> (ReturnCode, String) {
    let mut report = Report::new();
    let interfaces = vec![InterfaceSpec::parse(interface).unwrap()];
    let config = NetConfig { net: Some(net), interfaces, ..NetConfig::default() };
    (net::add(node, &config, SeqNo::NONE, &mut report), report.errors_to_yaml())
}

fn del(node: &Node, net: &str, interface: &str) -> ReturnCode {
    let interfaces = [InterfaceSpec::parse(interface).unwrap()];
    net::del(node, Some(net), &interfaces, SeqNo::NONE, &mut Report::new())
}

fn exported(node: &Node) -> String {
    let mut report = Report::new();
    assert_eq!(export(node, true, &mut report), ReturnCode::OK);
    report.shown.to_yaml()
}

/// Fails if an interface gets an address of another family than the one that is asked for, or a link-local one, or if its name is lost.
#[test]
fn an_interface_has_the_address_that_is_asked_for() {
    let Some(_namespace) = machine_or_skip() else { return };
    let first = first_of_eth0();
    let other = if first == "fd99::11" { "fd99::12" } else { "fd99::11" };
    let (v4, v6) = ("10.79.0.11@tcp eth0", format!("{first}@tcp eth0"));
    let table: [(&str, &str, &str, Vec<String>); 10] = [
        ("LNET_NETWORKS", "tcp(eth0)", "0", vec![v4.to_owned()]),
        ("LNET_NETWORKS", "tcp(eth0)", "1", vec![v6.clone()]),
        ("LNET_NETWORKS", "tcp(eth0[large])", "0", vec![v6.clone()]),
        ("LNET_NETWORKS", "tcp(eth0,eth0[large])", "0", vec![v4.to_owned(), v6.clone()]),
        ("LNET_NETWORKS", "tcp[large]", "0", vec![v6.clone()]),
        (
            "LNET_NETWORKS",
            "tcp(eth0,10.79.1.11)[large]",
            "0",
            vec![v6.clone(), "10.79.1.11@tcp 10.79.1.11".to_owned()],
        ),
        ("LNET_NETWORKS", &format!("tcp({other})"), "0", vec![format!("{other}@tcp {other}")]),
        ("LNET_NETWORKS", "tcp(eth1)", "1", vec!["10.79.1.11@tcp eth1".to_owned()]),
        (
            "LNET_IP2NETS",
            "tcp(eth0) 10.79.0.0/16 fd99::/64; tcp1 fd99::21",
            "0",
            vec![v4.to_owned(), v6.clone(), "fd99::21@tcp1 eth2".to_owned()],
        ),
        (
            "LNET_IP2NETS",
            "tcp(eth0) 10.79.0.0/16 fd99::/64; tcp1 10.79.0.*",
            "1",
            vec!["10.79.0.11@tcp 10.79.0.11".to_owned(), v6.clone(), "10.79.0.11@tcp1 10.79.0.11".to_owned()],
        ),
    ];
    for (variable, text, large, expected) in table {
        let node = start(&[(variable, text), ("LNET_LARGE_NIDS", large)]).unwrap();
        assert_eq!(nis(&node), expected, "{text}, large NIDs: {large}");
        node.shutdown();
    }
    for text in ["tcp(eth1[large])", "tcp(fe80::1)", "tcp(fd99::99)", "o2ib(fd99::11)"] {
        assert!(start(&[("LNET_NETWORKS", text)]).is_err(), "{text}");
    }
}

/// The address that the name eth0 means: the system lists the addresses of an interface in an order of its own.
fn first_of_eth0() -> String {
    let host = lnet_os::interfaces::host_interfaces().unwrap();
    let all = lnet_os::interfaces::addresses_of(&host, "eth0", lnet_os::interfaces::Family::V6).unwrap();
    all[0].to_string()
}

/// Fails if the name of an interface means an address that is gone after some time.
#[test]
fn the_name_of_an_interface_means_an_address_that_stays() {
    let Some(_namespace) = machine_or_skip() else { return };
    // Linux lists the newest address of an interface first.
    ip(&["address", "add", "fd99::dead/64", "dev", "eth0", "nodad", "preferred_lft", "0"]);
    let passing = "fd99::dead@tcp fd99::dead";
    let node = start(&[("LNET_NETWORKS", "tcp(eth0[large])")]).unwrap();
    let named = format!("{}@tcp eth0", first_of_eth0());
    assert_ne!(first_of_eth0(), "fd99::dead");
    assert_eq!(nis(&node), std::slice::from_ref(&named));
    assert_eq!(add(&node, "tcp", "fd99::dead").0, ReturnCode::OK);
    assert_eq!(nis(&node), [&*named, passing]);
    node.shutdown();
}

/// Fails if an address cannot be added because the link's first address was another one when its NID was added.
#[test]
fn every_address_of_a_link_may_have_a_nid_in_any_order() {
    let Some(_namespace) = machine_or_skip() else { return };
    let node = start(&[("LNET_NETWORKS", "tcp(eth0[large])")]).unwrap();
    let mut expected = vec![format!("{}@tcp eth0", first_of_eth0())];
    for address in ["fd99::13", "fd99::14"] {
        ip(&["address", "add", &format!("{address}/64"), "dev", "eth0", "nodad"]);
        assert_eq!(add(&node, "tcp", address).0, ReturnCode::OK, "{address}");
        expected.push(format!("{address}@tcp {address}"));
        assert_eq!(nis(&node), expected);
    }
    // The IPv4 address has the name still, and comes once.
    assert_eq!(add(&node, "tcp", "eth0").0, ReturnCode::OK);
    assert_eq!(add(&node, "tcp", "fd99::13").0, ReturnCode(-17));
    expected.push("10.79.0.11@tcp eth0".to_owned());
    assert_eq!(nis(&node), expected);
    let file = exported(&node);
    node.shutdown();
    let node = start(&[]).unwrap();
    let source = Source { name: "lnet.conf", text: &file };
    assert_eq!(import(&*node, source, Purpose::Add, &mut Report::new()), ReturnCode::OK);
    let nids =
        |nis: &[String]| nis.iter().map(|ni| ni.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(nids(&nis(&node)), nids(&expected));
    node.shutdown();
}

/// Fails if `lnet configure --large` does nothing on a node that runs, or if NIs of both families that share an interface are mixed up.
#[test]
fn a_node_that_runs_has_large_nids_from_the_command_on() {
    let Some(_namespace) = machine_or_skip() else { return };
    let node = start(&[]).unwrap();
    let v6 = format!("{}@tcp eth0", first_of_eth0());
    assert_eq!(add(&node, "tcp", "eth0").0, ReturnCode::OK);
    let how = Configure { nets: false, large_nids: true };
    assert_eq!(lnet::config_ni_system(&*node, Some(how), SeqNo::NONE, &mut Report::new()), ReturnCode::OK);
    assert_eq!(nis(&node), ["10.79.0.11@tcp eth0"]);
    assert_eq!(add(&node, "tcp", "eth0").0, ReturnCode::OK);
    assert_eq!(nis(&node), ["10.79.0.11@tcp eth0", v6.as_str()]);

    for (interface, code, words) in [
        ("eth0", Errno::Exists.into(), "has this interface already"),
        (&*first_of_eth0(), Errno::Exists.into(), "has this interface already"),
        ("fe80::1", ReturnCode::BAD_PARAM, "link-local"),
        ("fd99::99", ReturnCode::BAD_PARAM, "is it an address of this machine?"),
    ] {
        let (rc, text) = add(&node, "tcp", interface);
        assert!(rc == code && text.contains(words), "{interface}: {rc} {text}");
    }
    // The name means the IPv6 address now; the other NI is left, and goes next.
    assert_eq!(del(&node, "tcp", "eth0"), ReturnCode::OK);
    assert_eq!(nis(&node), ["10.79.0.11@tcp eth0"]);
    assert_eq!(add(&node, "tcp", "eth0[large]").0, ReturnCode::OK);
    assert_eq!(del(&node, "tcp", "10.79.0.11"), ReturnCode::OK);
    assert_eq!(nis(&node), [v6.as_str()]);
    assert_eq!(del(&node, "tcp", &first_of_eth0().to_uppercase()), ReturnCode::OK);
    assert_eq!(nis(&node), [""; 0]);
    node.shutdown();
}

/// Fails if a backup does not bring back the same NIDs, on a node whose names mean the other family.
#[test]
fn a_backup_brings_back_the_same_nids() {
    let Some(_namespace) = machine_or_skip() else { return };
    let networks = "tcp(eth0[large],eth0,fd99::21),tcp1(eth1)";
    let node = start(&[("LNET_NETWORKS", networks)]).unwrap();
    let (file, before) = (exported(&node), nis(&node));
    node.shutdown();
    for large in ["0", "1"] {
        // A name with an IPv4 address alone in the file means that address where names do.
        let node = start(&[("LNET_LARGE_NIDS", large)]).unwrap();
        let mut report = Report::new();
        let source = Source { name: "lnet.conf", text: &file };
        let rc = import(&*node, source, Purpose::Add, &mut report);
        let long = |all: &[String]| all.iter().filter(|ni| ni.contains("::")).cloned().collect::<Vec<_>>();
        assert_eq!(long(&nis(&node)), long(&before), "{}", report.errors_to_yaml());
        if large == "0" {
            assert_eq!((rc, nis(&node), exported(&node)), (ReturnCode::OK, before.clone(), file.clone()));
        }
        node.shutdown();
    }
}

/// Fails if a node does not reach another by IPv6, or if rules with masks of IPv6 addresses do not match or are not shown.
#[test]
fn nodes_with_ipv6_nids_reach_each_other_and_rules_match_them() {
    let Some(_namespace) = machine_or_skip() else { return };
    let [near, far] = ["tcp(fd99::21)", "tcp(fd99::12)"]
        .map(|networks| start(&[("LNET_NETWORKS", networks), ("LNET_ACCEPT", "all")]).unwrap());
    let asked = |to: &str, timeout_ms| {
        let mut report = Report::new();
        let rc = ping::ping(&*near, to, None, timeout_ms, SeqNo::NONE, &mut report);
        (rc, report.shown.to_yaml() + &report.errors_to_yaml())
    };
    let (rc, text) = asked("FD99:0::12", 100_000);
    assert!(rc.is_ok() && text.contains("- nid: fd99::12@tcp"), "{text}");
    let mut report = Report::new();
    assert!(ping::discover(&*near, "fd99::12@tcp", false, SeqNo::NONE, &mut report).is_ok());
    assert!(report.shown.to_yaml().contains("primary nid: fd99::12@tcp"));

    let rule = RuleText { src: Some("fd99::/64@tcp"), ..RuleText::default() };
    let effect = RuleEffect::of(policy::RuleAction::Priority(7));
    let mut report = Report::new();
    assert!(
        policy::add(&*near, rule, effect, SeqNo::NONE, &mut report).is_ok(),
        "{}",
        report.errors_to_yaml()
    );
    assert!(policy::show(&*near, -1, SeqNo::NONE, &mut report).is_ok());
    assert!(report.shown.to_yaml().contains("src: fd99::/64@tcp"), "{}", report.shown.to_yaml());
    let mut report = Report::new();
    let _ = net::show(&*near, Some("tcp"), 4, SeqNo::NONE, &mut report, false);
    assert!(report.shown.to_yaml().contains("nid priority: 7"), "{}", report.shown.to_yaml());

    let wording = Wording {
        source: Some("fd99::/64@tcp"),
        dest: Some("fd99::12/128@tcp"),
        rate: Some(1),
        ..Wording::default()
    };
    let all = RuleAction::Dropped { errors: &["local_error".to_owned()], random: false, all: false };
    let mut report = Report::new();
    assert!(fault::add(&*near, &wording, all, &mut report).is_ok(), "{}", report.errors_to_yaml());
    assert!(!asked("fd99::12@tcp", 1000).0.is_ok());
    assert!(fault::show(&*near, FaultKind::Drop, false, &mut report).is_ok());
    let shown = report.shown.to_yaml();
    assert!(shown.contains("fa_src: fd99::/64@tcp") && shown.contains("fa_dst: fd99::12/128@tcp"), "{shown}");
    assert!(fault::del(&*near, FaultKind::Drop, Which::All, &mut report).is_ok());
    assert!(asked("fd99::12@tcp", 100_000).0.is_ok());
    near.shutdown();
    far.shutdown();
}

/// Fails if an IPv6 address that sends by the link of another one is not found, or a link-local one is.
#[test]
fn addresses_that_send_by_another_link_are_found_for_ipv6() {
    let Some(_namespace) = machine_or_skip() else { return };
    let found = misrouted_addresses();
    assert!(
        found.iter().all(|its| its.subnet.to_string() == "fd99::/64" && its.device != its.egress),
        "{found:?}"
    );
    let devices: Vec<&str> = found.iter().map(|its| its.device.as_str()).collect();
    assert!(!devices.is_empty() && devices.iter().all(|device| *device == devices[0]), "{found:?}");
}
