//! The explanation of the path to another node: the rules that apply, and the candidates passed over.
#![allow(clippy::unwrap_used, clippy::panic)]

use lnet_dlc::request::{
    AddLocalNi, AddPeerNi, AddRoute, AddUdsp, Explain, Explanation, LndTunables, NiTunables, Passed, Route,
    SetHealth, SetHealthKind, UdspAction,
};
use lnet_dlc::{Backend, Request};
use lnet_node::{Node, StartConfig};
use lnet_wire::{Nid, Pid};
use std::sync::Arc;

/// A node on `tcp` with two NIDs, with two gateways to each of `tcp1` and `tcp2`. No node has the gateways' NIDs, and none is
/// pinged.
fn node() -> Arc<Node> {
    let mut config = StartConfig::default();
    config.drivers.get_mut::<socklnd::SocklndConfig>().unwrap().accept = socklnd::AcceptFrom::None;
    config.settings.alive_router_check_interval = 0;
    let node = Node::start(Pid::LUSTRE, config).unwrap();
    let backend: &dyn Backend = &*node;
    for interface in ["127.0.1.1", "127.0.1.2"] {
        let interface = Some(interface.to_owned());
        let (tunables, lnd) = (NiTunables::default(), LndTunables::default());
        let add = AddLocalNi { net: "tcp".parse().unwrap(), interface, tunables, lnd, cpts: None };
        backend.tell(Request::AddLocalNi(add)).unwrap();
    }
    for (net, gateway) in [
        ("tcp1", "127.0.1.8@tcp"),
        ("tcp1", "127.0.1.9@tcp"),
        ("tcp2", "127.0.1.8@tcp"),
        ("tcp2", "127.0.1.9@tcp"),
    ] {
        let (net, gateway) = (net.parse().unwrap(), nid(gateway));
        let route = AddRoute { net, gateway, hops: None, priority: 0, health_sensitivity: 1 };
        backend.tell(Request::AddRoute(route)).unwrap();
    }
    node
}

fn nid(text: &str) -> Nid {
    text.parse().unwrap()
}

fn peer(backend: &dyn Backend, nids: &[&str]) {
    let add = |its: Option<&str>| {
        let (primary, nid) = (nid(nids[0]), its.map(nid));
        let add = AddPeerNi { primary, nid, multi_rail: true, lock_primary: false };
        backend.tell(Request::AddPeerNi(add)).unwrap();
    };
    add(None);
    nids[1..].iter().for_each(|its| add(Some(its)));
}

fn rule(backend: &dyn Backend, [src, dst, rte]: [&str; 3], action: UdspAction) {
    let selector = |text: &str| (!text.is_empty()).then(|| text.parse().unwrap());
    let (src, dst, rte) = (selector(src), selector(dst), selector(rte));
    backend.tell(Request::AddUdsp(AddUdsp { src, dst, rte, action, messages: None, index: None })).unwrap();
}

fn explain(backend: &dyn Backend, to: &str) -> Explanation {
    backend.ask(Request::Explain(Explain { destination: nid(to), source: None })).unwrap()
}

/// The subjects and the indexes of the rules that apply to the path.
fn rules(told: &Explanation) -> Vec<(&str, u32)> {
    told.rules.iter().map(|rule| (&*rule.about, rule.index)).collect()
}

fn why(told: &Explanation, passed: Passed) -> &str {
    &told.passed_over.iter().find(|its| its.candidate == passed).unwrap().why
}

#[test]
fn the_rules_behind_a_routed_way_are_named() {
    let node = node();
    let backend: &dyn Backend = &*node;
    peer(backend, &["10.1.0.5@tcp1", "10.1.0.6@tcp1", "10.2.0.5@tcp2"]);
    assert_eq!(rules(&explain(backend, "10.1.0.5@tcp1")), []);
    let zero = UdspAction::Priority(0);
    rule(backend, ["", "tcp2", ""], zero);
    rule(backend, ["", "tcp1", "127.0.1.9@tcp"], UdspAction::PreferredList);
    rule(backend, ["", "tcp2", "127.0.1.9@tcp"], UdspAction::PreferredList);
    rule(backend, ["127.0.1.2@tcp", "127.0.1.9@tcp", ""], UdspAction::PreferredList);
    rule(backend, ["", "127.0.1.9@tcp", ""], zero);
    let told = explain(backend, "10.1.0.5@tcp1");
    assert_eq!((told.local, told.remote), (nid("127.0.1.2@tcp"), nid("10.2.0.5@tcp2")));
    assert_eq!(told.gateway, Some(nid("127.0.1.9@tcp")));
    let expected = [("peer net", 0), ("gateway", 2), ("gateway nid", 4), ("pair with the gateway", 3)];
    assert_eq!(rules(&told), expected);
    // Pair rules about the destination take precedence over those about the gateway.
    rule(backend, ["127.0.1.1@tcp", "tcp2", ""], UdspAction::PreferredList);
    let told = explain(backend, "10.1.0.5@tcp1");
    assert_eq!(told.local, nid("127.0.1.1@tcp"));
    assert_eq!(rules(&told), [("peer net", 0), ("pair", 5), ("gateway", 2), ("gateway nid", 4)]);
}

#[test]
fn what_a_routed_way_passes_over_is_told_with_both_values() {
    let node = node();
    let backend: &dyn Backend = &*node;
    peer(backend, &["10.1.0.5@tcp1", "10.1.0.6@tcp1", "10.2.0.5@tcp2"]);
    let ill = SetHealth { kind: SetHealthKind::PeerNi, nid: Some(nid("10.1.0.6@tcp1")), value: 900 };
    backend.tell(Request::SetHealth(ill)).unwrap();
    rule(backend, ["", "tcp1", ""], UdspAction::Priority(0));
    rule(backend, ["", "tcp1", "127.0.1.9@tcp"], UdspAction::Priority(1));
    rule(backend, ["127.0.1.2@tcp", "", ""], UdspAction::Priority(2));
    let told = explain(backend, "10.2.0.5@tcp2");
    assert_eq!((told.local, told.remote), (nid("127.0.1.2@tcp"), nid("10.1.0.5@tcp1")));
    let table = [
        (
            Passed::Gateway(nid("127.0.1.8@tcp")),
            "less preferred by selection rules: none, the chosen one has 1",
        ),
        (
            Passed::Net("tcp2".parse().unwrap()),
            "lower priority by selection rules: none, the chosen one has 0",
        ),
        (
            Passed::LocalNi(nid("127.0.1.1@tcp")),
            "lower priority by selection rules: none, the chosen one has 2",
        ),
        (Passed::PeerNi(nid("10.1.0.6@tcp1")), "lower health: 900, the chosen one has 1000"),
    ];
    assert_eq!(told.passed_over.len(), table.len(), "{told:?}");
    for (passed, expected) in table {
        assert_eq!(why(&told, passed), expected);
    }
}

#[test]
fn a_route_names_the_router_rules_that_count() {
    let node = node();
    let backend: &dyn Backend = &*node;
    rule(backend, ["", "tcp1", "127.0.1.9@tcp"], UdspAction::PreferredList);
    rule(backend, ["", "tcp[1-2]", "127.0.1.[8-9]@tcp"], UdspAction::PreferredList);
    let routes: Vec<Route> = backend.list(Request::GetRoute).unwrap();
    let named: Vec<_> = routes.iter().map(|route| route.rules.clone()).collect();
    assert_eq!(named, [vec![], vec![0], vec![1], vec![1]]);
}
