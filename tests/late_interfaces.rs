//! Interfaces that are not there, or have no address, when a node starts: the node starts without them and takes them when they come.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use lnet_dlc::export::export;
use lnet_dlc::ops::net;
use lnet_dlc::request::{AddRoute, DelLocalNi, LocalNi, NiStatus, Route, WaitingNi};
use lnet_dlc::{Backend, Report, Request, SeqNo};
use lnet_node::{Node, StartConfig};
use lnet_wire::{Errno, Pid};
use std::fs;
use std::sync::Arc;
use support::netns::{empty_namespace_or_skip, ip};
use support::rails::wait_until;

/// A node that accepts no connections, with these variables.
fn start(variables: &[(&str, &str)]) -> Result<Arc<Node>, Errno> {
    let config = StartConfig::from_lookup(|name| match name {
        "LNET_ACCEPT" => Some("none".to_owned()),
        name => variables.iter().find(|(its, _)| *its == name).map(|(_, value)| (*value).to_owned()),
    });
    Node::start(Pid::LUSTRE, config?)
}

const WAIT: (&str, &str) = ("LNET_WAIT_FOR_INTERFACES", "enabled");

/// The NIDs of the node but for that of the loopback, each with whether it is up.
fn nis(node: &Node) -> Vec<(String, bool)> {
    let backend: &dyn Backend = node;
    let all: Vec<Box<LocalNi>> = backend.list(Request::GetLocalNi).unwrap();
    let shown = |ni: &LocalNi| (ni.nid.to_string(), ni.status == NiStatus::Up);
    all.iter().skip(1).map(|ni| shown(ni)).collect()
}

/// The interfaces that wait, each with its reason.
fn waiting(node: &Node) -> Vec<(String, String)> {
    let backend: &dyn Backend = node;
    let all: Vec<WaitingNi> = backend.ask(Request::GetWaitingNis).unwrap();
    all.into_iter().map(|one| (one.ni.interface.unwrap_or_default(), one.reason)).collect()
}

fn routes(node: &Node) -> Vec<(String, bool)> {
    let backend: &dyn Backend = node;
    let all: Vec<Route> = backend.list(Request::GetRoute).unwrap();
    all.iter().map(|route| (format!("{} by {}", route.net, route.gateway), route.alive)).collect()
}

/// A link with a carrier, and without an address.
fn plug(name: &str, far_end: &str) {
    ip(&["link", "add", name, "type", "veth", "peer", "name", far_end]);
    ip(&["link", "set", name, "up"]);
    ip(&["link", "set", far_end, "up"]);
}

#[test]
fn an_interface_that_comes_after_the_start_is_used_once_it_has_its_address() {
    let Some(_namespace) = empty_namespace_or_skip() else { return };
    ip(&["link", "set", "lo", "up"]);
    plug("eth0", "cable0");
    ip(&["address", "add", "10.77.0.1/24", "dev", "eth0"]);
    let routes_of = "tcp7 10.77.1.9@tcp1";
    let node =
        start(&[("LNET_NETWORKS", "tcp(eth0),tcp1(eth1),tcp2(10.77.2.1)"), ("LNET_ROUTES", routes_of), WAIT])
            .unwrap();
    wait_until("eth0 has a carrier", || nis(&node) == [("10.77.0.1@tcp".to_owned(), true)]);
    let missing = "interface eth1: not usable (there is no such interface)";
    assert_eq!(waiting(&node)[0], ("eth1".to_owned(), missing.to_owned()));
    assert_eq!(waiting(&node)[1].0, "10.77.2.1");
    // The route waits with its net.
    assert_eq!(routes(&node), [("tcp7 by 10.77.1.9@tcp1".to_owned(), false)]);

    plug("eth1", "cable1");
    let no_address = "interface eth1: not usable (it has no IPv4 address)";
    wait_until("eth1 is there", || waiting(&node)[0].1 == no_address);
    assert_eq!(nis(&node).len(), 1);
    ip(&["address", "add", "10.77.1.1/24", "dev", "eth1"]);
    let second = ("10.77.1.1@tcp1".to_owned(), true);
    wait_until("eth1 is used", || nis(&node).get(1) == Some(&second));
    wait_until("the route is there", || node.core().admin().routes().iter().count() == 1);
    assert_eq!(routes(&node).len(), 1);

    // A second address of an interface that is there, as a cluster manager moves it.
    ip(&["address", "add", "10.77.2.1/24", "dev", "eth1"]);
    let third = ("10.77.2.1@tcp2".to_owned(), true);
    wait_until("the address is used", || nis(&node).get(2) == Some(&third));
    wait_until("nothing waits", || waiting(&node).is_empty());
    // Another address in place of the first is another NID: the NI stays what it was, and is down.
    ip(&["address", "add", "10.77.1.2/24", "dev", "eth1"]);
    ip(&["address", "delete", "10.77.1.1/24", "dev", "eth1"]);
    wait_until("the address is gone", || nis(&node)[1] == ("10.77.1.1@tcp1".to_owned(), false));
    node.shutdown();
}

#[test]
fn the_first_interface_of_a_machine_without_any_is_waited_for() {
    let Some(_namespace) = empty_namespace_or_skip() else { return };
    ip(&["link", "set", "lo", "up"]);
    let node = start(&[("LNET_NETWORKS", "tcp"), WAIT]).unwrap();
    assert_eq!((nis(&node), waiting(&node).len()), (vec![], 1));
    plug("eth0", "cable0");
    ip(&["address", "add", "10.77.0.1/24", "dev", "eth0"]);
    wait_until("it is used", || nis(&node).iter().any(|(nid, _)| nid == "10.77.0.1@tcp"));
    wait_until("nothing waits", || waiting(&node).is_empty());
    node.shutdown();
}

#[test]
fn without_the_setting_a_missing_interface_ends_the_start() {
    for variables in [
        &[("LNET_NETWORKS", "tcp(no-such-if)")][..],
        &[("LNET_NETWORKS", "tcp(no-such-if)"), ("LNET_WAIT_FOR_INTERFACES", "disabled")],
        // No interface can have this address.
        &[("LNET_NETWORKS", "tcp(0.0.0.0)"), WAIT],
        &[("LNET_NETWORKS", "o5ib(eth0)"), WAIT],
    ] {
        assert!(start(variables).is_err(), "{variables:?}");
    }
}

#[test]
fn what_waits_is_shown_exported_and_deleted() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let text = "\
net:
    - net type: tcp9
      local NI(s):
        - interfaces:
              0: no-such-if
          tunables:
              peer_credits: 16
route:
    - net: tcp8
      gateway: 10.9.0.1@tcp9
";
    fs::write(file.path(), text).unwrap();
    let node = start(&[("LNET_CONFIG", file.path().to_str().unwrap()), WAIT]).unwrap();
    let backend: &dyn Backend = &*node;

    let mut report = Report::new();
    assert!(net::show(backend, Some("tcp9"), 1, SeqNo::NONE, &mut report, false).is_ok());
    let shown = "\
waiting interfaces:
    - net type: tcp9
      local NI(s):
        - interfaces:
              0: no-such-if
          status: down
          reason: \"interface no-such-if: not usable (there is no such interface)\"
          tunables:
              peer_credits: 16
";
    assert_eq!(report.shown.to_yaml(), shown);

    // Both kinds of export lead to the same configuration at the next start.
    for backup in [false, true] {
        let mut report = Report::new();
        assert!(export(backend, backup, &mut report).is_ok());
        let exported = report.shown.to_yaml();
        fs::write(file.path(), &exported).unwrap();
        let next = start(&[("LNET_CONFIG", file.path().to_str().unwrap()), WAIT]).unwrap();
        let all = |node: &dyn Backend| node.ask::<Vec<WaitingNi>>(Request::GetWaitingNis).unwrap();
        assert_eq!(all(&*next), all(backend), "{exported}");
        assert_eq!(routes(&next), routes(&node), "{exported}");
        next.shutdown();
    }

    // A net whose interface waits counts as one that the node is on.
    let route = |net: &str, gateway: &str| {
        let (net, gateway) = (net.parse().unwrap(), gateway.parse().unwrap());
        let add = AddRoute { net, gateway, hops: None, priority: 0, health_sensitivity: 1 };
        backend.tell(Request::AddRoute(add))
    };
    assert_eq!(route("tcp9", "10.9.0.1@tcp5"), Err(Errno::Exists));
    assert_eq!(route("tcp8", "10.9.0.1@tcp9"), Err(Errno::Exists));
    assert_eq!(route("tcp7", "10.9.0.1@tcp9"), Ok(()));
    assert_eq!(routes(&node).len(), 2);

    let delete = |interface: Option<&str>| {
        let interface = interface.map(str::to_owned);
        backend.tell(Request::DelLocalNi(DelLocalNi { net: "tcp9".parse().unwrap(), interface }))
    };
    assert_eq!(delete(Some("no-such-if")), Ok(()));
    assert_eq!((waiting(&node), routes(&node)), (vec![], vec![]));
    assert_eq!(delete(None), Err(Errno::NotFound));
    // Only the configuration of the start may wait.
    let mut report = Report::new();
    let config = net::NetConfig {
        net: Some("tcp9"),
        interfaces: lnet_dlc::InterfaceSpec::parse_list("no-such-if").unwrap(),
        ..net::NetConfig::default()
    };
    assert!(!net::add(backend, &config, SeqNo::NONE, &mut report).is_ok());
    assert_eq!(waiting(&node), []);
    node.shutdown();
}
