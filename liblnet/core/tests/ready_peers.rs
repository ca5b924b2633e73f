//! Requests to a peer that has been sent to before, after what they depend on has changed.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

mod support;

use lnet_core::policy::{Action, Rule};
use lnet_core::topology::{PeerState, Route};
use lnet_core::{DiscoveryMode, Errno, EventKind, NiTunables, Settings};
use lnet_wire::Nid;
use std::collections::BTreeSet;
use std::sync::Arc;
use support::routes::{far, far_net, gateways_of, hops, route};
use support::{FakeDriver, OnSend, Rig, on_net, tcp};

const PEER: u32 = 9;

/// A node whose peer with one NID has been sent to.
fn rig(nids: &[Nid]) -> Rig {
    let rig = Rig::builder(FakeDriver::new(OnSend::Keep)).nids(nids.iter().copied()).build();
    rig.core.admin().make_peer(tcp(PEER), true, false).unwrap();
    rig.put(rig.bind(-1), tcp(PEER));
    rig.put(rig.bind(-1), tcp(PEER));
    rig
}

/// The paths of four more requests.
fn paths(rig: &Rig) -> BTreeSet<(Nid, Nid)> {
    let nis = || (0..rig.nis.len()).map(|index| (rig.nis[index].nid(), rig.driver.ni(index)));
    rig.driver.finish();
    (0..4).for_each(|_| rig.put(rig.bind(-1), tcp(PEER)));
    nis().flat_map(|(own, ni)| ni.map_kept(move |message| (own, message.next_hop().nid))).collect()
}

/// DI-30: fails if requests to a peer are sent without discovery because earlier ones were.
#[test]
fn a_peer_that_was_sent_to_is_discovered_once_discovery_is_switched_on() {
    let switch_on = |settings: &mut Settings| {
        settings.discovery = DiscoveryMode::On;
        Ok(())
    };
    let rig = rig(&[tcp(1)]);
    let parked = || rig.core.admin().discovery_of(tcp(PEER)).map(|discovery| discovery.parked);
    assert_eq!((paths(&rig).len(), parked()), (1, Some(0)));
    rig.core.admin().change_settings(switch_on).unwrap();
    rig.put(rig.bind(-1), tcp(PEER));
    assert_eq!(parked(), Some(1));
}

/// PS-31, cfg-075: fails if requests to a peer that was sent to keep to the only path that there was.
#[test]
fn a_path_that_is_added_later_is_used() {
    let rig_of_one = rig(&[tcp(1)]);
    assert_eq!(paths(&rig_of_one), BTreeSet::from([(tcp(1), tcp(PEER))]));
    rig_of_one.core.admin().add_peer_nid(tcp(PEER), tcp(PEER + 1), true).unwrap();
    assert_eq!(paths(&rig_of_one), BTreeSet::from([(tcp(1), tcp(PEER)), (tcp(1), tcp(PEER + 1))]));

    let mut rig_of_two = rig(&[tcp(1)]);
    let ni = rig_of_two.core.admin().add_ni(tcp(2), NiTunables::default(), &rig_of_two.driver).unwrap();
    rig_of_two.nis.push(ni);
    assert_eq!(paths(&rig_of_two), BTreeSet::from([(tcp(1), tcp(PEER)), (tcp(2), tcp(PEER))]));
}

/// Fails if a request leaves by an interface that is no more.
#[test]
fn the_only_interface_that_is_removed_is_not_used() {
    let rig = rig(&[tcp(1)]);
    rig.driver.finish();
    rig.core.admin().remove_ni(tcp(1)).unwrap();
    rig.take_events();
    rig.put(rig.bind(-1), tcp(PEER));
    assert_eq!(rig.take_events(), [(EventKind::Send, Err(Errno::HostUnreachable), false)]);
}

const GATEWAY: u32 = 8;
const FORWARDS: PeerState = PeerState::DISCOVERED.with(PeerState::ROUTER_ENABLED, true);

/// A node that has sent to a node behind its only gateway, a configured peer.
fn rig_behind(one_hop: Route) -> Rig {
    let rig = support::routes::rig(&[]);
    rig.core.admin().make_peer(tcp(GATEWAY), true, false).unwrap();
    rig.core.admin().add_route(one_hop).unwrap();
    assert_eq!(gateways_of(&rig, 3), [tcp(GATEWAY); 3]);
    rig
}

fn over_gateway() -> Route {
    route(far_net(), tcp(GATEWAY))
}

/// The gateways of some more requests, in no order.
fn gateways(rig: &Rig) -> BTreeSet<Nid> {
    gateways_of(rig, 4).into_iter().collect()
}

/// RT-22, RT-3: fails if requests keep to a gateway that they took before, although its route may not be used any more.
#[test]
fn a_route_that_may_not_be_used_any_more_is_not_used() {
    type Change = fn(&Rig);
    let changes: [(&str, Change); 5] = [
        ("the route is deleted", |rig| rig.core.admin().delete_routes(None, Some(tcp(GATEWAY))).unwrap()),
        ("the gateway does not forward", |rig| {
            rig.core.admin().set_peer_state(tcp(GATEWAY), PeerState::DISCOVERED).unwrap();
        }),
        ("the gateway is not on the net, and must be", |rig| {
            rig.core.admin().set_peer_state(tcp(GATEWAY), FORWARDS).unwrap();
        }),
        ("the gateway has no interface up on the net", |rig| {
            rig.core.admin().add_peer_nid(tcp(GATEWAY), far(GATEWAY), true).unwrap();
            assert_eq!(gateways_of(rig, 3), [tcp(GATEWAY); 3]);
            rig.core.admin().notify_peer_ni(far(GATEWAY), false);
        }),
        ("this node is on the net", |rig| {
            rig.core.admin().add_ni(tcp(GATEWAY), NiTunables::default(), &rig.driver).unwrap();
        }),
    ];
    for (case, change) in changes {
        let rig = rig_behind(Route { hops: Some(1), ..over_gateway() });
        change(&rig);
        rig.put(rig.bind(-1), far(5));
        assert_eq!(hops(&rig), [], "{case}");
    }
}

/// RT-22 d: fails if requests keep to a gateway although a setting excludes its route.
#[test]
fn a_route_that_a_setting_excludes_is_not_used() {
    let avoid_asym = |rig: &Rig, avoid: bool| {
        let change = |settings: &mut Settings| {
            settings.avoid_asym_router_failure = avoid;
            Ok(())
        };
        rig.core.admin().change_settings(change).unwrap();
    };
    let rig = rig_behind(Route { hops: Some(1), ..over_gateway() });
    avoid_asym(&rig, false);
    rig.core.admin().set_peer_state(tcp(GATEWAY), FORWARDS).unwrap();
    assert_eq!(gateways_of(&rig, 3), [tcp(GATEWAY); 3]);
    avoid_asym(&rig, true);
    rig.put(rig.bind(-1), far(5));
    assert_eq!(hops(&rig), []);
}

/// PS-31, RT-2: fails if requests keep to the only gateway that there was.
#[test]
fn a_gateway_that_is_added_later_is_used() {
    let rig = rig_behind(over_gateway());
    rig.core.admin().add_route(route(far_net(), tcp(GATEWAY + 1))).unwrap();
    assert_eq!(gateways(&rig), BTreeSet::from([tcp(GATEWAY), tcp(GATEWAY + 1)]));
    rig.core.admin().delete_routes(None, Some(tcp(GATEWAY))).unwrap();
    assert_eq!(gateways(&rig), BTreeSet::from([tcp(GATEWAY + 1)]));
    assert_eq!(gateways(&rig), BTreeSet::from([tcp(GATEWAY + 1)]), "and again over the only one");
}

/// PS-31: fails if requests keep to the only NID of a gateway, or to the only interface from which it was reached.
#[test]
fn a_path_beside_the_only_one_over_a_gateway_is_used() {
    let rig = rig_behind(over_gateway());
    rig.core.admin().add_peer_nid(tcp(GATEWAY), tcp(GATEWAY + 1), true).unwrap();
    assert_eq!(gateways(&rig), BTreeSet::from([tcp(GATEWAY), tcp(GATEWAY + 1)]));

    let rig = rig_behind(over_gateway());
    rig.core.admin().make_peer(far(5), true, false).unwrap();
    assert_eq!(gateways_of(&rig, 3), [tcp(GATEWAY); 3]);
    rig.core.admin().add_ni(tcp(2), NiTunables::default(), &rig.driver).unwrap();
    (0..4).for_each(|_| rig.put(rig.bind(-1), far(5)));
    assert_eq!([0, 1].map(|ni| rig.driver.ni(ni).kept()), [2, 2]);
}

/// PS-30, PS-31: fails if requests to a peer on several nets keep to the NID that was the only one.
#[test]
fn a_nid_that_a_node_behind_a_gateway_gains_is_used() {
    let rig = support::routes::rig(&[over_gateway(), route(on_net(2, 1).net(), tcp(GATEWAY + 1))]);
    rig.core.admin().make_peer(far(5), true, false).unwrap();
    assert_eq!(gateways(&rig), BTreeSet::from([tcp(GATEWAY)]));
    rig.core.admin().add_peer_nid(far(5), on_net(2, 5), true).unwrap();
    assert_eq!(gateways(&rig), BTreeSet::from([tcp(GATEWAY), tcp(GATEWAY + 1)]));
}

/// A node with the NIDs 1 and 2 and a rule for a third, whose peer with several NIDs has been sent to.
fn rig_of_rails(its: u32) -> Rig {
    let driver = FakeDriver::new(OnSend::Complete).recording();
    let rig = Rig::builder(driver).nids([tcp(1), tcp(2)]).build();
    rig.core.admin().make_peer(tcp(PEER), true, false).unwrap();
    (1..its).for_each(|n| rig.core.admin().add_peer_nid(tcp(PEER), tcp(PEER + n), true).unwrap());
    rule(&rig, Some(3), None);
    assert_eq!(rails(&rig), (numbers([1, 2]), numbers(PEER..PEER + its)));
    rig
}

/// Adds a rule that prefers a local NID, or one of the peer's.
fn rule(rig: &Rig, own: Option<u32>, its: Option<u32>) {
    let selector = |address: Option<u32>| address.map(|address| tcp(address).to_string().parse().unwrap());
    let rule = Rule::new(selector(own), selector(its), None, Action::Priority(0));
    rig.core.admin().add_rule(rule, None).unwrap();
}

type Numbers = BTreeSet<u32>;

fn numbers(all: impl IntoIterator<Item = u32>) -> Numbers {
    all.into_iter().collect()
}

/// The local NIDs and those of the peer that some requests use.
fn rails(rig: &Rig) -> (Numbers, Numbers) {
    let number = |nid: Nid| nid.to_u64().unwrap() as u32;
    rig.driver.recorded();
    (0..48).for_each(|_| rig.put(rig.bind(1), tcp(PEER)));
    rig.take_events();
    let headers = rig.driver.recorded();
    let own = headers.iter().map(|header| number(header.src_nid)).collect();
    (own, headers.iter().map(|header| number(header.dest_nid)).collect())
}

/// PS-31, DI-30: fails if requests to a peer with several NIDs take the paths that it had when it was last found ready.
#[test]
fn whatever_decides_a_path_to_a_peer_with_several_nids_is_seen_by_the_next_request() {
    type Change = fn(&Rig, u32);
    type Its = fn(u32) -> Numbers;
    // (what changes, how, this node's NIDs from then on, those of the peer without one or with one more)
    let table: [(&str, Change, &[u32], Its); 9] = [
        ("nothing", |_, _| (), &[1, 2], |its| numbers(PEER..PEER + its)),
        (
            "the health of a local NI",
            |rig, _| rig.core.admin().set_ni_health(Some(tcp(1)), 1),
            &[2],
            |its| numbers(PEER..PEER + its),
        ),
        (
            "the health of a peer NI",
            |rig, _| rig.core.admin().set_peer_ni_health(Some(tcp(PEER)), 1),
            &[1, 2],
            |its| numbers(PEER + 1..PEER + its),
        ),
        ("a rule for a local NI", |rig, _| rule(rig, Some(2), None), &[2], |its| numbers(PEER..PEER + its)),
        ("a rule for a peer NI", |rig, _| rule(rig, None, Some(PEER + 1)), &[1, 2], |_| numbers([PEER + 1])),
        (
            "a local NI less",
            |rig, _| rig.core.admin().remove_ni(tcp(2)).unwrap(),
            &[1],
            |its| numbers(PEER..PEER + its),
        ),
        (
            "a local NI more, which a rule prefers",
            |rig, _| drop(rig.core.admin().add_ni(tcp(3), NiTunables::default(), &rig.driver).unwrap()),
            &[3],
            |its| numbers(PEER..PEER + its),
        ),
        (
            "a peer NI less",
            |rig, _| rig.core.admin().delete_peer(tcp(PEER), Some(tcp(PEER + 1)), false).unwrap(),
            &[1, 2],
            |its| numbers((PEER..PEER + its).filter(|its| *its != PEER + 1)),
        ),
        (
            "a peer NI more",
            |rig, its| rig.core.admin().add_peer_nid(tcp(PEER), tcp(PEER + its), true).unwrap(),
            &[1, 2],
            |its| numbers(PEER..=PEER + its),
        ),
    ];
    for (case, change, own, its) in table {
        for count in [2, 3, 20] {
            let rig = rig_of_rails(count);
            change(&rig, count);
            assert_eq!(rails(&rig), (numbers(own.iter().copied()), its(count)), "{case}, {count}");
        }
    }
}

/// DI-30: fails if requests to a peer with several NIDs are sent without discovery because earlier ones were.
#[test]
fn a_peer_with_several_nids_that_was_sent_to_is_discovered_once_discovery_is_switched_on() {
    let rig = rig_of_rails(3);
    let switch_on = |settings: &mut Settings| {
        settings.discovery = DiscoveryMode::On;
        Ok(())
    };
    rig.core.admin().change_settings(switch_on).unwrap();
    rig.put(rig.bind(-1), tcp(PEER));
    assert_eq!(rig.core.admin().discovery_of(tcp(PEER)).map(|discovery| discovery.parked), Some(1));
}

/// Fails if a peer that was sent to keeps an interface in memory.
#[test]
fn an_interface_that_is_removed_is_not_kept_by_peers_that_were_sent_to() {
    let rig = rig_of_rails(3);
    let removed = Arc::downgrade(&rig.nis[0]);
    drop(rig.nis);
    rig.core.admin().remove_ni(tcp(1)).unwrap();
    assert_eq!(removed.strong_count(), 0);
}
