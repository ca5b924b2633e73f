//! Tests of the reasons in an explanation if gateways are involved: they are those of the selection.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use lnet_core::lnd::Upcalls;
use lnet_core::policy::{Action, Rule};
use lnet_core::select::{Criterion, Explanation, Loser};
use lnet_core::topology::Route;
use lnet_wire::{NetId, Nid};
use support::routes::{far, far_net, hops, route};
use support::{FakeDriver, OnSend, Rig, on_net, tcp};

fn rig(nids: &[Nid], routes: &[Route]) -> Rig {
    let rig = Rig::builder(FakeDriver::new(OnSend::Keep)).nids(nids.iter().copied()).build();
    routes.iter().for_each(|route| rig.core.admin().add_route(*route).unwrap());
    rig
}

fn peer(rig: &Rig, nids: &[Nid]) {
    rig.core.admin().make_peer(nids[0], true, false).unwrap();
    nids[1..].iter().for_each(|nid| rig.core.admin().add_peer_nid(nids[0], *nid, true).unwrap());
}

fn rule(rig: &Rig, [src, dst, rte]: [&str; 3]) {
    let selector = |text: &str| (!text.is_empty()).then(|| text.parse().unwrap());
    let is_list = [src, dst, rte].iter().filter(|text| !text.is_empty()).count() > 1;
    let action = if is_list { Action::PreferredList } else { Action::Priority(0) };
    rig.core.admin().add_rule(Rule::new(selector(src), selector(dst), selector(rte), action), None).unwrap();
}

/// The explanation for `to`, checked against the path of the next message.
fn explained(rig: &Rig, to: Nid) -> Explanation {
    let explanation = rig.core.data_path().explain(None, to).unwrap();
    let chosen = &explanation.chosen;
    let expected = (chosen.next_hop(), chosen.destination());
    rig.put(rig.bind(1), to);
    assert_eq!(hops(rig), [expected]);
    rig.driver.finish();
    let passed_over = |nid: Nid, list: &[Nid]| assert!(!list.contains(&nid), "{nid} is chosen");
    passed_over(chosen.ni.nid(), &losers(&explanation.local_nis).map(|(nid, _)| nid).collect::<Vec<_>>());
    passed_over(chosen.destination(), &losers(&explanation.peer_nis).map(|(nid, _)| nid).collect::<Vec<_>>());
    let of_gateway = losers(&explanation.gateway_nis).chain(losers(&explanation.gateways));
    passed_over(chosen.next_hop(), &of_gateway.map(|(nid, _)| nid).collect::<Vec<_>>());
    explanation
}

fn losers<I: Copy>(list: &[Loser<I>]) -> impl Iterator<Item = (I, Criterion)> {
    list.iter().map(|(it, why)| (*it, why.criterion))
}

fn all<I: Copy>(list: &[Loser<I>]) -> Vec<(I, Criterion)> {
    losers(list).collect()
}

fn net(number: u16) -> NetId {
    on_net(number, 1).net()
}

#[test]
fn each_other_gateway_is_named_with_what_spoke_against_it() {
    let to = |gateway, priority, hops| Route { priority, hops, ..route(far_net(), tcp(gateway)) };
    let routes = [to(5, 0, None), to(6, 1, None), to(7, 0, Some(2)), to(8, 0, None), to(9, 0, None)];
    let rig = rig(&[tcp(1)], &routes);
    rig.core.admin().set_peer_ni_health(Some(tcp(9)), 900);
    let explanation = explained(&rig, far(5));
    assert_eq!(explanation.chosen.next_hop(), tcp(5));
    let expected = [
        (tcp(6), Criterion::RoutePriority),
        (tcp(7), Criterion::Hops),
        (tcp(8), Criterion::Order),
        (tcp(9), Criterion::RouteState),
    ];
    assert_eq!(all(&explanation.gateways), expected);
    assert_eq!(all(&explained(&rig, far(5)).gateways)[0], (tcp(5), Criterion::RoundRobin));
    rule(&rig, ["", "tcp1", "0.0.0.6@tcp"]);
    let explanation = explained(&rig, far(5));
    assert_eq!(explanation.chosen.next_hop(), tcp(6));
    assert_eq!(all(&explanation.gateways)[0], (tcp(5), Criterion::Preferred));
}

#[test]
fn the_other_nets_of_the_peer_behind_gateways_are_named_with_what_spoke_against_them() {
    let routes = [route(net(1), tcp(7)), route(net(2), tcp(8)), route(net(3), tcp(9)), route(net(4), tcp(8))];
    let rig = rig(&[tcp(1)], &routes);
    peer(&rig, &[on_net(1, 5), on_net(2, 5), on_net(3, 5), on_net(4, 5), on_net(6, 5)]);
    rule(&rig, ["", "tcp2", ""]);
    rig.core.admin().set_peer_ni_health(Some(tcp(7)), 900);
    rig.core.data_path().path_is_unresponsive(rig.ni(), tcp(9));
    let explanation = explained(&rig, on_net(1, 5));
    assert_eq!(explanation.chosen.destination(), on_net(2, 5));
    let expected =
        [(net(1), Criterion::Health), (net(3), Criterion::Unresponsive), (net(4), Criterion::Priority)];
    assert_eq!(all(&explanation.nets), expected);
    let texts: Vec<String> = explanation.nets.iter().map(|(_, why)| why.to_string()).collect();
    assert_eq!(texts[0], "lower health: 900, the chosen one has 1000");
    assert_eq!(texts[2], "lower priority by selection rules: none, the chosen one has 0");
}

#[test]
fn the_other_nids_of_the_peer_and_of_its_gateway_are_named() {
    let rig = rig(&[tcp(1)], &[]);
    peer(&rig, &[tcp(7), tcp(8), tcp(9)]);
    rig.core.admin().add_route(route(far_net(), tcp(7))).unwrap();
    peer(&rig, &[far(5), far(6), far(7)]);
    rig.core.admin().set_peer_ni_health(Some(tcp(8)), 900);
    rig.core.admin().set_peer_ni_health(Some(far(6)), 900);
    rule(&rig, ["", "0.0.0.7@tcp1", ""]);
    let explanation = explained(&rig, far(5));
    assert_eq!(explanation.chosen.destination(), far(7));
    assert_eq!(all(&explanation.peer_nis), [(far(5), Criterion::Priority), (far(6), Criterion::Health)]);
    let of_gateway = all(&explanation.gateway_nis);
    assert_eq!(of_gateway, [(tcp(8), Criterion::Health), (tcp(9), Criterion::Order)]);
}

/// Fails if the explanation passes over the interface that a pair rule about the destination selects, for one near the gateway.
#[test]
fn the_interfaces_to_a_gateway_are_compared_as_the_choice_does() {
    let rig = rig(&[1, 2, 3].map(tcp), &[route(far_net(), tcp(9))]);
    peer(&rig, &[far(5)]);
    rule(&rig, ["0.0.0.2@tcp", "0.0.0.9@tcp", ""]);
    let explanation = explained(&rig, far(5));
    assert_eq!(explanation.chosen.ni.nid(), tcp(2));
    assert_eq!(all(&explanation.local_nis), [1, 3].map(|own| (tcp(own), Criterion::Preferred)));
    rule(&rig, ["0.0.0.3@tcp", "0.0.0.5@tcp1", ""]);
    let explanation = explained(&rig, far(5));
    assert_eq!(explanation.chosen.ni.nid(), tcp(3));
    assert_eq!(all(&explanation.local_nis), [1, 2].map(|own| (tcp(own), Criterion::Preferred)));
}

#[test]
fn the_nets_by_which_a_gateway_is_reached_are_named() {
    let rig = rig(&[tcp(1), on_net(7, 1)], &[]);
    peer(&rig, &[tcp(9), on_net(7, 9)]);
    rig.core.admin().add_route(route(far_net(), tcp(9))).unwrap();
    peer(&rig, &[far(5)]);
    rule(&rig, ["tcp7", "", ""]);
    let explanation = explained(&rig, far(5));
    assert_eq!(explanation.chosen.ni.nid(), on_net(7, 1));
    assert_eq!(all(&explanation.gateway_nets), [(net(0), Criterion::LocalNetPriority)]);
    assert_eq!(all(&explanation.nets), []);
}

/// PS-11: fails if a common net and a net behind a gateway are not both named as each other's alternative.
#[test]
fn a_common_net_and_one_behind_a_gateway_are_named_each_beside_the_other() {
    let rig = rig(&[tcp(1)], &[route(far_net(), tcp(9))]);
    peer(&rig, &[tcp(5), far(5)]);
    let explanation = explained(&rig, tcp(5));
    assert_eq!(explanation.chosen.next_hop(), tcp(5));
    assert_eq!(all(&explanation.nets), [(far_net(), Criterion::BehindGateway)]);
    rule(&rig, ["", "tcp1", ""]);
    let explanation = explained(&rig, tcp(5));
    assert_eq!(explanation.chosen.next_hop(), tcp(9));
    assert_eq!(all(&explanation.nets), [(net(0), Criterion::Priority)]);
    rig.core.admin().set_peer_ni_health(Some(tcp(9)), 900);
    let explanation = explained(&rig, tcp(5));
    assert_eq!(explanation.chosen.next_hop(), tcp(5));
    assert_eq!(all(&explanation.nets), [(far_net(), Criterion::Health)]);
    rig.core.data_path().path_is_unresponsive(rig.ni(), tcp(5));
    rig.core.admin().delete_rule(None).unwrap();
    let explanation = explained(&rig, tcp(5));
    assert_eq!(explanation.chosen.next_hop(), tcp(9));
    assert_eq!(all(&explanation.nets), [(net(0), Criterion::Unresponsive)]);
}

/// Fails if the interfaces that a rule passes over for a peer bound to one interface are not explained.
#[test]
fn the_interfaces_that_a_rule_passes_over_for_a_single_rail_peer_are_named() {
    for (its, routes) in [(tcp(5), vec![]), (far(5), vec![route(far_net(), tcp(9))])] {
        let rig = rig(&[1, 2, 3, 4].map(tcp), &routes);
        let bound = explained(&rig, its).chosen.ni.nid();
        assert_eq!(
            (bound, all(&rig.core.data_path().explain(None, its).unwrap().local_nis)),
            (tcp(1), vec![])
        );
        rule(&rig, ["0.0.0.[2-4]@tcp", &its.to_string(), ""]);
        rig.core.admin().set_ni_health(Some(tcp(3)), 900);
        let explanation = explained(&rig, its);
        assert_eq!(explanation.chosen.ni.nid(), tcp(2));
        let expected =
            [(tcp(1), Criterion::Preferred), (tcp(3), Criterion::Health), (tcp(4), Criterion::Bound)];
        assert_eq!(all(&explanation.local_nis), expected, "{its}");
    }
}
