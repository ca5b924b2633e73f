//! Selection rules about the gateways to other nodes.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use lnet_core::policy::{Action, Rule};
use lnet_core::topology::Route;
use lnet_core::{NiTunables, Settings};
use lnet_wire::Nid;
use std::collections::BTreeSet;
use std::num::NonZeroU32;
use support::routes::{far, far_net, hops, rig, route};
use support::{FakeDriver, OnSend, Rig, on_net, tcp};

const ANY: [u32; 3] = [7, 8, 9];

fn rule(dst: &str, rte: &str, action: Action, messages: u32) -> Rule {
    let rule = Rule::new(None, Some(dst.parse().unwrap()), Some(rte.parse().unwrap()), action);
    Rule { messages: NonZeroU32::new(messages), ..rule }
}

fn three_routers() -> Rig {
    rig(&ANY.map(|gateway| route(far_net(), tcp(gateway))))
}

/// The gateways that messages to this NID take, in order.
fn each(rig: &Rig, to: Nid, puts: usize) -> Vec<Nid> {
    let md = rig.bind(-1);
    let one = || {
        rig.put(md, to);
        let hops = hops(rig);
        rig.driver.finish();
        assert_eq!(hops.iter().map(|(_, destination)| *destination).collect::<Vec<_>>(), [to]);
        hops[0].0
    };
    std::iter::repeat_with(one).take(puts).collect()
}

fn used(rig: &Rig, to: Nid) -> BTreeSet<Nid> {
    each(rig, to, 12).into_iter().collect()
}

fn gateways(addresses: &[u32]) -> BTreeSet<Nid> {
    addresses.iter().map(|address| tcp(*address)).collect()
}

#[test]
fn a_set_of_nodes_is_sent_to_by_its_set_of_routers() {
    let rig = three_routers();
    let (one, other) = (far(5), far(25));
    assert_eq!(used(&rig, one), gateways(&ANY));
    rig.core
        .admin()
        .add_rule(rule("0.0.0.[1-9]@tcp1", "0.0.0.[8-9]@tcp", Action::PreferredList, 0), None)
        .unwrap();
    assert_eq!((used(&rig, one), used(&rig, other)), (gateways(&[8, 9]), gateways(&ANY)));
    rig.core
        .admin()
        .add_rule(rule("0.0.0.[20-29]@tcp1", "0.0.0.7@tcp", Action::PreferredList, 0), None)
        .unwrap();
    assert_eq!((used(&rig, one), used(&rig, other)), (gateways(&[8, 9]), gateways(&[7])));
    rig.core.admin().delete_rule(Some(0)).unwrap();
    assert_eq!((used(&rig, one), used(&rig, other)), (gateways(&ANY), gateways(&[7])));
    rig.core.admin().delete_rule(None).unwrap();
    assert_eq!(used(&rig, other), gateways(&ANY));
}

#[test]
fn a_router_rule_comes_before_the_priority_and_the_hops_of_a_route() {
    let worse = Route { priority: 4, hops: Some(3), ..route(far_net(), tcp(9)) };
    let rig = rig(&[route(far_net(), tcp(8)), worse]);
    assert_eq!(used(&rig, far(5)), gateways(&[8]));
    rig.core.admin().add_rule(rule("tcp1", "0.0.0.9@tcp", Action::PreferredList, 0), None).unwrap();
    assert_eq!(used(&rig, far(5)), gateways(&[9]));
}

/// Fails if a rule outweighs the health of a router, or if a router that has recovered is not used again.
#[test]
fn another_router_is_used_while_the_preferred_one_is_ill() {
    let rig = three_routers();
    rig.core.admin().add_rule(rule("*.*.*.*@tcp1", "0.0.0.8@tcp", Action::Priority(0), 0), None).unwrap();
    rig.core.admin().add_rule(rule("*.*.*.*@tcp1", "0.0.0.9@tcp", Action::Priority(1), 0), None).unwrap();
    assert_eq!(used(&rig, far(5)), gateways(&[8]));
    rig.core.admin().set_peer_ni_health(Some(tcp(8)), 999);
    assert_eq!(used(&rig, far(5)), gateways(&[9]));
    rig.core.admin().set_peer_ni_health(Some(tcp(9)), 999);
    assert_eq!(used(&rig, far(5)), gateways(&[7]));
    rig.core.admin().set_peer_ni_health(None, 1000);
    assert_eq!(used(&rig, far(5)), gateways(&[8]));
}

#[test]
fn rules_apply_to_routes_and_to_nodes_that_come_later() {
    let rig = rig(&[route(far_net(), tcp(7))]);
    rig.core
        .admin()
        .add_rule(rule("0.0.0.5@tcp1", "0.0.0.[8-9]@tcp", Action::PreferredList, 0), None)
        .unwrap();
    assert_eq!(used(&rig, far(5)), gateways(&[7]));
    rig.core.admin().add_route(route(far_net(), tcp(9))).unwrap();
    assert_eq!((used(&rig, far(5)), used(&rig, far(6))), (gateways(&[9]), gateways(&[7, 9])));
    rig.core.admin().add_route(route(far_net(), tcp(8))).unwrap();
    assert_eq!(used(&rig, far(5)), gateways(&[8, 9]));
    rig.core.admin().delete_routes(Some(far_net()), Some(tcp(9))).unwrap();
    assert_eq!(used(&rig, far(5)), gateways(&[8]));
    rig.core.admin().delete_routes(Some(far_net()), Some(tcp(8))).unwrap();
    assert_eq!(used(&rig, far(5)), gateways(&[7]));
}

/// Fails if a rule that names a NID of a gateway other than that of its route has no effect.
#[test]
fn a_gateway_may_be_named_by_any_of_its_nids() {
    let rig = rig(&[]);
    rig.core.admin().add_rule(rule("tcp1", "0.0.0.88@tcp", Action::PreferredList, 0), None).unwrap();
    rig.core.admin().make_peer(tcp(8), true, false).unwrap();
    rig.core.admin().add_peer_nid(tcp(8), tcp(88), true).unwrap();
    ANY.iter().for_each(|gateway| rig.core.admin().add_route(route(far_net(), tcp(*gateway))).unwrap());
    assert_eq!(used(&rig, far(5)), gateways(&[8, 88]));
}

/// The partners that rules give a NID behind gateways.
fn partners(rig: &Rig, to: Nid) -> Vec<Nid> {
    let partners = rig.core.admin().peer(to).unwrap().1[0].partners();
    partners.map_or_else(Vec::new, |partners| partners.gateways.iter().map(|its| its.nid).collect())
}

/// A node with routes by two gateways, of which a rule prefers the second by its NID on another net.
fn prefers_a_gateway_by_its_other_nid() -> Rig {
    let driver = FakeDriver::new(OnSend::Keep);
    let rig = Rig::builder(driver).with_discovery().nids([tcp(1), on_net(2, 1)]).build();
    // Gateways are not pinged, as pings would report their NIDs.
    let unasked = |settings: &mut Settings| {
        settings.alive_router_check_interval = 0;
        Ok(())
    };
    rig.core.admin().change_settings(unasked).unwrap();
    rig.core.admin().add_route(route(far_net(), tcp(7))).unwrap();
    rig.core.admin().add_peer(&[tcp(8), on_net(2, 88)]).unwrap();
    rig.core.admin().add_route(route(far_net(), tcp(8))).unwrap();
    rig.core.admin().add_rule(rule("tcp1", "0.0.0.88@tcp2", Action::PreferredList, 0), None).unwrap();
    rig.core.admin().make_peer(far(5), false, false).unwrap();
    rig
}

#[test]
fn a_gateway_keeps_its_nids_and_the_rules_about_them_when_this_node_leaves_their_net() {
    let rig = prefers_a_gateway_by_its_other_nid();
    rig.core.admin().remove_ni(on_net(2, 1)).unwrap();
    assert_eq!(partners(&rig, far(5)), [tcp(8)]);
}

#[test]
fn a_gateway_that_has_lost_the_nid_of_a_rule_is_not_preferred_any_more() {
    type Loss = fn(&Rig);
    let losses: [(&str, Loss); 4] = [
        ("it says so", |rig| assert!(rig.is_pushed(3, &[tcp(8)]))),
        ("another one says that it is its", |rig| {
            assert!(rig.is_pushed(3, &[tcp(30), on_net(2, 88)]));
        }),
        ("another peer has it", |rig| rig.core.admin().add_peer(&[tcp(30), on_net(2, 88)]).unwrap()),
        ("it is this node's", |rig| {
            rig.core.admin().add_ni(on_net(2, 88), NiTunables::default(), &rig.driver).map(|_| ()).unwrap();
        }),
    ];
    for (name, lose) in losses {
        let rig = prefers_a_gateway_by_its_other_nid();
        assert_eq!(partners(&rig, far(5)), [tcp(8)], "{name}");
        lose(&rig);
        assert_eq!(partners(&rig, far(5)), [], "{name}");
    }
}

/// cfg-145: fails if messages are not divided among gateways as the rules count them.
#[test]
fn router_rules_that_count_messages_divide_them() {
    let rig = three_routers();
    rig.core.admin().add_rule(rule("tcp1", "0.0.0.8@tcp", Action::Priority(0), 3), None).unwrap();
    rig.core.admin().add_rule(rule("tcp1", "0.0.0.9@tcp", Action::Priority(0), 1), None).unwrap();
    let expected = [8, 8, 8, 9, 8, 8, 8, 9].map(tcp);
    assert_eq!(each(&rig, far(5), 8), expected);
}
