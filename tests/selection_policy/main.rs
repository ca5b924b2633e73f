//! The test table of the design document of selection policies, one test for each row: nodes on separate machines, and
//! PUTs counted on each interface.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod examples;
mod site;
#[path = "../support/mod.rs"]
mod support;

use lnet_core::topology::Route;
use lnet_dlc::ops::policy::{RuleAction, RuleEffect};
use lnet_wire::NetId;
use site::{PUTS, Site, assert_all};
use support::rails::{nids, wait_until};

const ALL: [&str; 4] = ["1@tcp", "2@tcp", "3@tcp1", "4@tcp1"];
const TCP: [&str; 2] = ["1@tcp", "2@tcp"];
const TCP1: [&str; 2] = ["3@tcp1", "4@tcp1"];

// ---- network rules ----

#[test]
fn a_local_net_rule_is_shown_with_its_net_and_is_gone_when_it_is_deleted() {
    let Some(site) = Site::direct_or_skip() else { return };
    site.add(["tcp1", "", ""], Some(3));
    let shown = site.shown();
    assert_eq!(shown.matches("net priority: 3\n").count(), 2, "{shown}");
    assert_eq!(shown.matches("net rule: 0\n").count(), 2, "{shown}");
    site.delete(0);
    let shown = site.shown();
    assert!(!shown.contains("net rule") && !shown.contains("net priority: 3"), "{shown}");
    site.shutdown();
}

#[test]
fn traffic_goes_over_the_local_net_with_the_highest_priority_until_its_rule_is_deleted() {
    let Some(site) = Site::direct_or_skip() else { return };
    site.assert_leaves_by(&ALL);
    site.add(["*@tcp1", "", ""], Some(0));
    site.assert_leaves_by(&TCP1);
    site.add(["tcp", "", ""], Some(0));
    site.assert_leaves_by(&ALL);
    site.delete(0);
    site.assert_leaves_by(&TCP);
    site.delete(0);
    site.assert_leaves_by(&ALL);
    site.shutdown();
}

/// The use case of a network for fail-over.
#[test]
fn traffic_goes_over_the_healthiest_net_though_it_has_a_lower_priority_and_returns() {
    let Some(site) = Site::direct_or_skip() else { return };
    site.add(["tcp", "", ""], Some(0));
    site.add(["tcp1", "", ""], Some(1));
    site.assert_leaves_by(&TCP);
    TCP.iter().for_each(|name| site.set_health(&site.own(name), 300));
    site.assert_leaves_by(&TCP1);
    site.set_health(&site.own("2@tcp"), 1000);
    site.assert_leaves_by(&["2@tcp"]);
    site.set_health(&site.own("1@tcp"), 1000);
    site.assert_leaves_by(&TCP);
    site.shutdown();
}

#[test]
fn a_rule_for_a_net_that_does_not_exist_is_kept_and_does_nothing() {
    let Some(site) = Site::direct_or_skip() else { return };
    site.add(["tcp7", "", ""], Some(0));
    site.add(["", "tcp8", ""], Some(0));
    assert_eq!(site.rules(), 2);
    site.assert_leaves_by(&ALL);
    site.shutdown();
}

#[test]
fn traffic_is_routed_to_the_remote_net_with_the_highest_priority_until_its_rule_is_deleted() {
    let Some(site) = Site::routed_or_skip() else { return };
    site.assert_comes_to(&["2@tcp1", "3@tcp2"]);
    site.add(["", "tcp2", ""], Some(0));
    assert!(site.shown().contains("net priority: 0\n"));
    site.assert_comes_to(&["3@tcp2"]);
    site.delete(0);
    assert!(!site.shown().contains("net priority: 0\n"));
    site.assert_comes_to(&["2@tcp1", "3@tcp2"]);
    site.shutdown();
}

#[test]
fn traffic_is_routed_to_another_net_while_the_remote_net_of_the_highest_priority_is_not_reachable() {
    let Some(site) = Site::routed_or_skip() else { return };
    site.add(["", "tcp2", ""], Some(0));
    site.assert_comes_to(&["3@tcp2"]);
    let core = site.client().core();
    let net: NetId = "tcp2".parse().unwrap();
    let routes: Vec<Route> = core.admin().routes().iter().filter(|route| route.net == net).copied().collect();
    core.admin().delete_routes(Some(net), None).unwrap();
    site.assert_comes_to(&["2@tcp1"]);
    routes.into_iter().for_each(|route| core.admin().add_route(route).unwrap());
    site.assert_comes_to(&["3@tcp2"]);
    // Health of the other end comes first, too.
    site.set_health(&site.its("3@tcp2"), 500);
    site.assert_comes_to(&["2@tcp1"]);
    site.shutdown();
}

#[test]
fn traffic_is_routed_to_another_net_after_the_only_router_to_the_preferred_one_has_died() {
    let Some(site) = Site::routed_or_skip() else { return };
    let core = site.client().core();
    let gateways: Vec<_> = site.routers.iter().map(|router| nids(router)[0]).collect();
    for (net, other) in [("tcp1", gateways[0]), ("tcp2", gateways[1])] {
        core.admin().delete_routes(Some(net.parse().unwrap()), Some(other)).unwrap();
    }
    site.add(["", "tcp2", ""], Some(0));
    site.assert_comes_to(&["3@tcp2"]);
    site.routers[0].shutdown();
    // Messages in flight when the router ends go by the other, too.
    site.send(PUTS, 8);
    wait_until("the route is down", || {
        let routes = core.admin().routes();
        routes.active().iter().any(|route| !core.admin().route_is_up(route))
    });
    site.assert_comes_to(&["2@tcp1"]);
    site.shutdown();
}

// ---- NID rules ----

#[test]
fn a_local_nid_rule_is_shown_and_sends_all_traffic_by_its_nid_until_it_is_deleted() {
    let Some(site) = Site::direct_or_skip() else { return };
    site.add(["tcp", "", ""], Some(0));
    site.add([&site.own("2@tcp"), "", ""], Some(4));
    let shown = site.shown();
    assert!(shown.contains("nid priority: 4\n") && shown.contains("nid rule: 1\n"), "{shown}");
    site.assert_leaves_by(&["2@tcp"]);
    site.delete(1);
    assert!(!site.shown().contains("nid rule"));
    site.assert_leaves_by(&TCP);
    site.shutdown();
}

#[test]
fn traffic_goes_over_the_healthiest_local_nid_though_it_has_a_lower_priority() {
    let Some(site) = Site::direct_or_skip() else { return };
    site.add(["tcp", "", ""], Some(0));
    site.add([&site.own("2@tcp"), "", ""], Some(0));
    site.set_health(&site.own("2@tcp"), 900);
    site.assert_leaves_by(&["1@tcp"]);
    site.set_health(&site.own("2@tcp"), 1000);
    site.assert_leaves_by(&["2@tcp"]);
    site.shutdown();
}

#[test]
fn a_remote_nid_rule_is_shown_and_sends_all_traffic_to_its_nid_until_it_is_deleted() {
    let Some(site) = Site::direct_or_skip() else { return };
    site.add(["tcp1", "", ""], Some(0));
    site.add(["", &site.its("4@tcp1"), ""], Some(2));
    let shown = site.shown();
    assert!(shown.contains("nid priority: 2\n") && shown.contains("nid rule: 1\n"), "{shown}");
    site.assert_comes_to(&["4@tcp1"]);
    site.set_health(&site.its("4@tcp1"), 900);
    site.assert_comes_to(&["3@tcp1"]);
    site.set_health(&site.its("4@tcp1"), 1000);
    site.assert_comes_to(&["4@tcp1"]);
    site.delete(1);
    let shown = site.shown();
    assert!(!shown.contains("nid rule") && !shown.contains("nid priority: 2\n"), "{shown}");
    site.assert_comes_to(&TCP1);
    site.shutdown();
}

#[test]
fn a_rule_for_a_nid_that_does_not_exist_is_kept_and_does_nothing() {
    let Some(site) = Site::direct_or_skip() else { return };
    site.add(["10.99.0.1@tcp", "", ""], Some(0));
    site.add(["", "10.99.0.[1-9]@tcp", ""], Some(0));
    assert_eq!(site.rules(), 2);
    site.assert_leaves_by(&ALL);
    site.shutdown();
}

// ---- NID pair rules ----

#[test]
fn a_pair_rule_is_shown_with_the_remote_nid_and_traffic_goes_by_the_preferred_local_nid() {
    let Some(site) = Site::direct_or_skip() else { return };
    site.add(["tcp", "", ""], Some(0));
    site.add([&site.own("2@tcp"), &site.its("1@tcp"), ""], None);
    let shown = site.shown();
    let list = format!("Preferred source NIDs:\n                  NID-0: {}\n", site.own("2@tcp"));
    assert!(shown.contains(&list) && shown.contains("Preferred source rules: \"1\"\n"), "{shown}");
    let traffic = site.traffic();
    assert_all(&traffic.left_by, &["2@tcp"]);
    assert_all(&traffic.came_to, &["1@tcp"]);
    site.delete(1);
    assert!(!site.shown().contains("Preferred"));
    let traffic = site.traffic();
    assert_all(&traffic.left_by, &TCP);
    assert_all(&traffic.came_to, &TCP);
    site.shutdown();
}

#[test]
fn a_pair_rule_that_matches_no_local_nid_does_nothing() {
    let Some(site) = Site::direct_or_skip() else { return };
    site.add(["10.99.0.[1-9]@tcp", "tcp", ""], None);
    site.assert_leaves_by(&ALL);
    site.assert_comes_to(&ALL);
    site.shutdown();
}

#[test]
fn pair_rules_of_several_nids_on_either_side_send_by_those_and_to_those_only() {
    let Some(site) = Site::direct_or_skip() else { return };
    site.add(["tcp", "", ""], Some(0));
    let [own, its] = [[site.own("1@tcp"), site.own("2@tcp")], [site.its("1@tcp"), site.its("2@tcp")]];
    let table: [(&str, &str, &[&str], &[&str]); 4] = [
        ("10.78.[0-1].11@tcp", &its[0], &TCP, &["1@tcp"]),
        (&own[1], "10.78.[0-1].12@tcp", &["2@tcp"], &TCP),
        ("10.78.[0-1].11@tcp", "10.78.[0-1].12@tcp", &TCP, &TCP),
        (&own[0], &its[1], &["1@tcp"], &["2@tcp"]),
    ];
    for (src, dst, left_by, came_to) in table {
        site.add([src, dst, ""], None);
        let traffic = site.traffic();
        assert_all(&traffic.left_by, left_by);
        assert_all(&traffic.came_to, came_to);
        site.delete(1);
    }
    site.assert_leaves_by(&TCP);
    site.shutdown();
}

#[test]
fn traffic_leaves_a_preferred_pair_for_the_healthiest_nids_and_returns() {
    let Some(site) = Site::direct_or_skip() else { return };
    site.add(["tcp", "", ""], Some(0));
    site.add([&site.own("2@tcp"), &site.its("1@tcp"), ""], Some(0));
    site.set_health(&site.own("2@tcp"), 900);
    site.assert_leaves_by(&["1@tcp"]);
    site.set_health(&site.own("2@tcp"), 1000);
    site.set_health(&site.its("1@tcp"), 900);
    site.assert_comes_to(&["2@tcp"]);
    site.set_health(&site.its("1@tcp"), 1000);
    let traffic = site.traffic();
    assert_all(&traffic.left_by, &["2@tcp"]);
    assert_all(&traffic.came_to, &["1@tcp"]);
    site.shutdown();
}

// ---- router rules ----

#[test]
fn a_router_rule_is_shown_with_the_remote_nid_and_traffic_goes_by_the_preferred_router() {
    let Some(site) = Site::routed_or_skip() else { return };
    site.assert_routed_by(None);
    let preferred = nids(&site.routers[1])[0];
    site.add(["", "tcp[1-2]", &preferred.to_string()], None);
    let shown = site.shown();
    let list = format!("Preferred gateway NIDs:\n                  NID-0: {preferred}\n");
    assert!(shown.contains(&list) && shown.contains("Preferred gateway rules: \"0\"\n"), "{shown}");
    site.assert_routed_by(Some(1));
    site.delete(0);
    assert!(!site.shown().contains("Preferred"));
    site.assert_routed_by(None);
    site.shutdown();
}

#[test]
fn traffic_takes_another_router_while_the_preferred_one_is_ill() {
    let Some(site) = Site::routed_or_skip() else { return };
    let preferred = nids(&site.routers[0])[0].to_string();
    site.add(["", "*.*.*.*@tcp*", &preferred], Some(0));
    site.assert_routed_by(Some(0));
    site.set_health(&preferred, 500);
    site.assert_routed_by(Some(1));
    site.set_health(&preferred, 1000);
    site.assert_routed_by(Some(0));
    site.shutdown();
}

#[test]
fn a_router_rule_that_matches_no_router_does_nothing() {
    let Some(site) = Site::routed_or_skip() else { return };
    site.add(["", "tcp1", "10.99.0.[1-9]@tcp"], None);
    site.assert_routed_by(None);
    site.shutdown();
}

// ---- changes ----

#[test]
fn rules_wait_for_nets_nids_and_routes_and_stay_when_those_go() {
    let Some(site) = Site::routed_or_skip() else { return };
    let core = site.client().core();
    let (net, second): (NetId, _) = ("tcp1".parse().unwrap(), nids(&site.routers[1])[0]);
    let second_route =
        core.admin().routes().iter().find(|route| route.gateway == second && route.net == net).copied();
    core.admin().delete_routes(None, Some(second)).unwrap();
    site.add(["", "tcp1", &second.to_string()], None);
    site.add(["", "tcp1", ""], Some(0));
    site.add(["tcp5", "", ""], Some(0));
    site.add(["tcp5", "10.99.0.9@tcp5", ""], None);
    site.assert_routed_by(Some(0));
    core.admin().add_route(second_route.unwrap()).unwrap();
    site.assert_routed_by(Some(1));
    site.assert_comes_to(&["2@tcp1"]);
    let added = site.machines.on(0, || site.client().add_ni("tcp5".parse().unwrap(), Some("eth2")).unwrap());
    core.admin().make_peer("10.99.0.9@tcp5".parse().unwrap(), true, false).unwrap();
    let shown = site.shown();
    assert!(shown.contains("net rule: 2\n") && shown.contains("Preferred source rules: \"3\"\n"), "{shown}");
    site.client().remove_ni(added).unwrap();
    core.admin().delete_routes(None, Some(second)).unwrap();
    assert_eq!(site.rules(), 4);
    site.assert_routed_by(Some(0));
    site.shutdown();
}

#[test]
fn rules_that_are_added_under_load_change_the_traffic_one_after_the_other() {
    let Some(site) = Site::direct_or_skip() else { return };
    site.under_load(|| {
        site.assert_flows(&ALL, &ALL);
        site.add(["tcp1", "", ""], Some(1));
        site.assert_flows(&TCP1, &TCP1);
        site.add(["", "tcp", ""], Some(0));
        site.assert_flows(&TCP, &TCP);
        site.add([&site.own("2@tcp"), &site.its("1@tcp"), ""], None);
        site.assert_flows(&["2@tcp"], &["1@tcp"]);
        site.add([&site.own("1@tcp"), "", ""], Some(1));
        site.assert_flows(&["1@tcp"], &TCP);
        site.add(["", &site.its("2@tcp"), ""], Some(1));
        site.assert_flows(&["1@tcp"], &["2@tcp"]);
    });
    site.shutdown();
}

/// Fails if rules do not apply by their kind, nets before NIDs and NIDs before pairs, or if a deleted rule still applies.
#[test]
fn rules_of_all_kinds_apply_in_their_order_and_are_deleted_under_load_one_at_a_time() {
    let Some(site) = Site::direct_or_skip() else { return };
    site.add(["tcp1", "", ""], Some(0));
    site.add([&site.own("4@tcp1"), "", ""], Some(0));
    site.add(["", &site.its("3@tcp1"), ""], Some(0));
    site.add(["10.78.2.11@tcp1", "10.78.3.12@tcp1", ""], None);
    site.add(["10.78.0.11@tcp", "10.78.1.12@tcp", ""], None);
    site.under_load(|| {
        site.assert_flows(&["4@tcp1"], &["3@tcp1"]);
        // The rule about the local NID is deleted.
        site.delete(1);
        site.assert_flows(&TCP1, &["3@tcp1"]);
        // Without the rule about the server's NID the pair counts.
        site.delete(1);
        site.assert_flows(&["3@tcp1"], &["4@tcp1"]);
        // Without the rule about the net both pairs count, each on its net.
        site.delete(0);
        site.assert_flows(&["1@tcp", "3@tcp1"], &["2@tcp", "4@tcp1"]);
        site.delete(0);
        site.assert_flows(&["1@tcp", "3@tcp1", "4@tcp1"], &["2@tcp", "3@tcp1", "4@tcp1"]);
        site.delete(0);
        site.assert_flows(&ALL, &ALL);
    });
    site.shutdown();
}

#[test]
fn rules_of_remote_nets_and_routers_change_the_traffic_under_load_as_they_come_and_go() {
    let Some(site) = Site::routed_or_skip() else { return };
    let (both, client) = (["2@tcp1", "3@tcp2"], ["1@tcp"]);
    let second = nids(&site.routers[1])[0].to_string();
    site.under_load(|| {
        site.assert_flows(&client, &both);
        site.assert_flows_by(None);
        site.add(["", "tcp2", ""], Some(0));
        site.assert_flows(&client, &both[1..]);
        site.add(["", "tcp[1-2]", &second], None);
        site.assert_flows_by(Some(1));
        site.add(["", "tcp1", ""], Some(0));
        site.assert_flows(&client, &both);
        site.delete(0);
        site.assert_flows(&client, &both[..1]);
        site.delete(0);
        site.assert_flows_by(None);
        site.delete(0);
        site.assert_flows(&client, &both);
    });
    site.shutdown();
}

#[test]
fn traffic_goes_over_a_nid_that_a_waiting_rule_prefers_as_long_as_the_node_has_it() {
    let Some(site) = Site::direct_or_skip() else { return };
    let nid = site.nid(site.client(), "2@tcp");
    site.client().remove_ni(nid).unwrap();
    site.add(["tcp", "", ""], Some(0));
    site.add([&nid.to_string(), "", ""], Some(0));
    site.assert_leaves_by(&["1@tcp"]);
    let add = || site.client().add_ni("tcp".parse().unwrap(), Some("eth1")).unwrap();
    assert_eq!(site.machines.on(0, add), nid);
    wait_until("the card works", || !site.client().core().nets().ni(nid).unwrap().is_fatal());
    site.assert_leaves_by(&["2@tcp"]);
    site.client().remove_ni(nid).unwrap();
    site.assert_leaves_by(&["1@tcp"]);
    assert_eq!(site.rules(), 2);
    site.shutdown();
}

#[test]
fn traffic_goes_to_a_nid_that_a_waiting_rule_prefers_as_soon_as_the_peer_has_it() {
    let Some(site) = Site::direct_or_skip() else { return };
    let core = site.client().core();
    let [first, second] = ["1@tcp", "2@tcp"].map(|name| site.nid(&site.rails.far, name));
    core.admin().delete_peer(first, Some(second), false).unwrap();
    site.add(["", "tcp", ""], Some(0));
    site.add(["", &second.to_string(), ""], Some(0));
    site.assert_comes_to(&["1@tcp"]);
    core.admin().add_peer_nid(first, second, true).unwrap();
    site.assert_comes_to(&["2@tcp"]);
    core.admin().delete_peer(first, Some(second), false).unwrap();
    site.assert_comes_to(&["1@tcp"]);
    assert_eq!(site.rules(), 2);
    site.shutdown();
}

// ---- beyond the table ----

/// cfg-145: fails if weights of 3:1 do not divide the PUTs so.
#[test]
fn rules_that_count_messages_divide_the_traffic() {
    let Some(site) = Site::direct_or_skip() else { return };
    for (net, messages) in [("tcp", 3), ("tcp1", 1)] {
        let effect = RuleEffect { messages: Some(messages), ..RuleEffect::of(RuleAction::Suited) };
        site.add_with([net, "", ""], effect);
    }
    let counts = site.traffic().left_by;
    let on = |names: &[&str]| names.iter().map(|name| counts[*name]).sum::<u64>();
    assert_eq!((on(&TCP), on(&TCP1)), (PUTS / 4 * 3, PUTS / 4), "{counts:?}");
    site.shutdown();
}
