//! Changes that operators make to the configuration while a node runs.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

mod support;

use lnet_core::policy::{Action, Rule};
use lnet_core::topology::{PeerState, Route};
use lnet_core::{Cause, Core, CoreConfig, CptTable, Errno, NiConfig, NiTunables, Setting};
use lnet_wire::{Nid, Pid};
use std::num::NonZeroUsize;
use std::sync::Arc;
use support::{FakeDriver, OnSend, nid, not_sent};

/// A driver that never sends a message.
fn idle() -> FakeDriver {
    FakeDriver::new(OnSend::Fail(not_sent(Errno::HostUnreachable, Cause::RemoteDropped)))
}

fn node(nids: &[&str]) -> Arc<Core> {
    let config = CoreConfig {
        cpts: CptTable::uniform(NonZeroUsize::new(2).unwrap()),
        ..CoreConfig::new(Pid::LUSTRE, 1)
    };
    let core = Core::new(config);
    for own in nids {
        core.admin().add_ni(nid(own), NiTunables::default(), &idle()).unwrap();
    }
    core
}

fn route(net: &str, gateway: &str) -> Route {
    Route { net: net.parse().unwrap(), gateway: nid(gateway), hops: None, priority: 0, health_sensitivity: 1 }
}

fn nids_of(core: &Core, peer: &str) -> Option<Vec<String>> {
    core.admin().peer(nid(peer)).map(|(peer, _)| peer.nids.iter().map(Nid::to_string).collect())
}

/// cfg-070: fails if a NID cannot be added to a peer, or taken from it.
/// cfg-075: fails if a peer cannot have NIDs on two nets.
#[test]
fn a_peer_gains_and_loses_nids_on_several_nets() {
    let core = node(&["10.0.0.1@tcp"]);
    core.admin().make_peer(nid("10.0.0.2@tcp"), true, false).unwrap();
    core.admin().add_peer_nid(nid("10.0.0.2@tcp"), nid("10.0.1.2@tcp1"), true).unwrap();
    core.admin().add_peer_nid(nid("10.0.0.2@tcp"), nid("10.0.1.2@tcp1"), true).unwrap();
    let both = Some(vec!["10.0.0.2@tcp".to_owned(), "10.0.1.2@tcp1".to_owned()]);
    assert_eq!(nids_of(&core, "10.0.1.2@tcp1"), both);
    assert_eq!(core.admin().primary_nid(nid("10.0.1.2@tcp1")), nid("10.0.0.2@tcp"));
    core.admin().delete_peer(nid("10.0.0.2@tcp"), Some(nid("10.0.1.2@tcp1")), false).unwrap();
    assert_eq!(nids_of(&core, "10.0.0.2@tcp"), Some(vec!["10.0.0.2@tcp".to_owned()]));
    assert_eq!(nids_of(&core, "10.0.1.2@tcp1"), None);
    core.admin().delete_peer(nid("10.0.0.2@tcp"), None, false).unwrap();
    assert_eq!(core.admin().peers().len(), 0);
}

/// cfg-080, snd-065: fails if one NID can be configured for two peers.
#[test]
fn a_nid_of_a_configured_peer_is_refused_to_another() {
    let core = node(&["10.0.0.1@tcp"]);
    core.admin().make_peer(nid("10.0.0.2@tcp"), true, false).unwrap();
    core.admin().make_peer(nid("10.0.0.3@tcp"), true, false).unwrap();
    let again = core.admin().add_peer_nid(nid("10.0.0.3@tcp"), nid("10.0.0.2@tcp"), true);
    assert_eq!(again, Err(Errno::Exists));
}

#[test]
fn a_peer_created_by_traffic_is_replaced_by_a_configured_one() {
    let core = node(&["10.0.0.1@tcp"]);
    assert_eq!(core.admin().primary_nid(nid("10.0.0.3@tcp")), nid("10.0.0.3@tcp"));
    core.admin().make_peer(nid("10.0.0.2@tcp"), true, true).unwrap();
    core.admin().add_peer_nid(nid("10.0.0.2@tcp"), nid("10.0.0.3@tcp"), true).unwrap();
    assert_eq!(core.admin().primary_nid(nid("10.0.0.3@tcp")), nid("10.0.0.2@tcp"));
    assert_eq!(core.admin().peers().len(), 1);
    // The primary NID of the configured peer is locked: the peer stays, with that NID alone.
    core.admin().delete_peer(nid("10.0.0.2@tcp"), None, false).unwrap();
    assert_eq!(nids_of(&core, "10.0.0.2@tcp"), Some(vec!["10.0.0.2@tcp".to_owned()]));
    core.admin().delete_peer(nid("10.0.0.2@tcp"), None, true).unwrap();
    assert_eq!(core.admin().peers().len(), 0);
}

#[test]
fn peers_are_listed_in_the_order_of_their_creation() {
    let core = node(&["10.0.0.1@tcp"]);
    let order = ["10.0.0.9@tcp", "10.0.0.2@tcp", "10.0.0.7@tcp1", "10.0.0.5@tcp"];
    for peer in order {
        core.admin().make_peer(nid(peer), false, false).unwrap();
    }
    assert_eq!(core.admin().peers().iter().map(|peer| peer.primary.to_string()).collect::<Vec<_>>(), order);
}

#[test]
fn a_gateway_can_neither_be_created_nor_deleted_while_routes_use_it() {
    let core = node(&["10.0.0.1@tcp"]);
    core.admin().add_route(route("tcp1", "10.0.0.2@tcp")).unwrap();
    assert_eq!(core.admin().make_peer(nid("10.0.0.2@tcp"), true, false), Err(Errno::Busy));
    assert_eq!(core.admin().delete_peer(nid("10.0.0.2@tcp"), None, true), Err(Errno::Busy));
    core.admin().delete_routes(None, Some(nid("10.0.0.2@tcp"))).unwrap();
    core.admin().delete_peer(nid("10.0.0.2@tcp"), None, false).unwrap();
}

/// OM-33: fails if a configured peer does not lose its NIDs with their net, or if one without another NID stays, or a route by
/// that net.
#[test]
fn a_configured_peer_on_several_nets_outlives_each_of_them() {
    let (own, own1) = ("10.0.0.1@tcp", "10.0.1.1@tcp1");
    for removed in [&[own][..], &[own1], &[own, own1], &[own1, own]] {
        let core = node(&[own, own1]);
        core.admin().make_peer(nid("10.0.0.2@tcp"), true, false).unwrap();
        core.admin().add_peer_nid(nid("10.0.0.2@tcp"), nid("10.0.1.2@tcp1"), true).unwrap();
        core.admin().make_peer(nid("10.0.1.3@tcp1"), false, false).unwrap();
        core.admin().add_peer_nid(nid("10.0.1.3@tcp1"), nid("10.0.0.3@tcp"), false).unwrap();
        core.admin().make_peer(nid("10.0.0.4@tcp"), true, false).unwrap();
        core.admin().make_peer(nid("10.0.1.4@tcp1"), true, false).unwrap();
        core.admin().add_route(route("tcp5", "10.0.1.9@tcp1")).unwrap();
        removed.iter().for_each(|own| core.admin().remove_ni(nid(own)).unwrap());
        let nids = |nids: [&str; 2]| Some(nids.map(str::to_owned).to_vec());
        assert_eq!(nids_of(&core, "10.0.1.2@tcp1"), nids(["10.0.0.2@tcp", "10.0.1.2@tcp1"]), "{removed:?}");
        assert_eq!(nids_of(&core, "10.0.0.3@tcp"), nids(["10.0.1.3@tcp1", "10.0.0.3@tcp"]), "{removed:?}");
        let is_left = |own: &str| removed.contains(&own);
        assert_eq!(nids_of(&core, "10.0.0.4@tcp").is_none(), is_left(own), "{removed:?}");
        assert_eq!(nids_of(&core, "10.0.1.4@tcp1").is_none(), is_left(own1), "{removed:?}");
        assert_eq!(core.admin().routes().iter().count() == 0, is_left(own1), "{removed:?}");
        let destination =
            || core.data_path().select_path(None, nid("10.0.0.2@tcp")).map(|chosen| chosen.destination());
        let expected = match removed {
            [one] if *one == own => Ok(nid("10.0.1.2@tcp1")),
            [_] => Ok(nid("10.0.0.2@tcp")),
            _ => Err(Errno::HostUnreachable),
        };
        assert_eq!(destination(), expected, "{removed:?}");
        for own in removed {
            core.admin().add_ni(nid(own), NiTunables::default(), &idle()).unwrap();
        }
        assert_eq!(destination(), Ok(nid("10.0.0.2@tcp")), "{removed:?}");
    }
}

/// OM-6: fails if a net that is added does not give credits to the peer NIs on it that are known already.
#[test]
fn adding_a_net_gives_its_known_peer_nis_their_credits() {
    let core = node(&["10.0.0.1@tcp"]);
    core.admin().make_peer(nid("10.0.0.2@tcp"), true, false).unwrap();
    core.admin().add_peer_nid(nid("10.0.0.2@tcp"), nid("10.0.1.2@tcp1"), true).unwrap();
    core.admin().primary_nid(nid("10.0.1.3@tcp1"));
    let credits = || {
        let mut credits: Vec<_> = core
            .peer_nis()
            .iter()
            .map(|ni| (ni.nid().to_string(), ni.max_credits(), ni.credits().0, ni.min_credits().0))
            .collect();
        credits.sort_unstable();
        credits
    };
    let join = |own: &str, peer_credits| {
        let tunables = NiTunables { peer_credits, ..NiTunables::default() };
        core.admin().add_ni(nid(own), tunables, &idle()).unwrap();
    };
    join("10.0.1.1@tcp1", 32);
    let expected = [("10.0.0.2@tcp", 8), ("10.0.1.2@tcp1", 32), ("10.0.1.3@tcp1", 32)];
    let of = |(peer_ni, credits): (&str, u32)| (peer_ni.to_owned(), credits, credits as i32, credits as i32);
    assert_eq!(credits(), expected.map(of));
    // Another interface of the same net does not change the credits.
    join("10.0.1.4@tcp1", 4);
    assert_eq!(credits(), expected.map(of));
}

#[test]
fn an_interface_cannot_be_added_to_a_net_that_has_routes() {
    let core = node(&["10.0.0.1@tcp"]);
    core.admin().add_route(route("tcp1", "10.0.0.2@tcp")).unwrap();
    let joined = core.admin().add_ni(nid("10.0.1.1@tcp1"), NiTunables::default(), &idle());
    assert_eq!(joined.err().map(Errno::from), Some(Errno::TooManyUsers));
}

/// cfg-025: fails if a CPU partition that does not exist is accepted.
/// cfg-040: fails if one interface is twice on one net.
#[test]
fn an_interface_is_on_a_net_once_and_bound_to_partitions_that_there_are() {
    let core = node(&[]);
    let on = |interface: &str, cpts: &[u32]| NiConfig {
        interface: Some(interface.to_owned()),
        cpts: cpts.to_vec(),
        ..NiConfig::default()
    };
    let table = [
        ("10.0.0.1@tcp", on("eth0", &[1]), None),
        ("10.0.0.2@tcp", on("eth0", &[]), Some(Errno::Exists)),
        ("10.0.0.1@tcp1", on("eth0", &[]), None),
        ("10.0.0.2@tcp", on("eth1", &[2]), Some(Errno::Invalid)),
        ("10.0.0.2@tcp", on("eth10", &[0, 1]), None),
        // The beginning of a name is another name.
        ("10.0.0.3@tcp", on("eth1", &[]), None),
    ];
    for (own, config, expected) in table {
        assert_eq!(core.admin().add_ni(nid(own), config, &idle()).err().map(Errno::from), expected, "{own}");
    }
}

#[test]
fn an_overwritten_state_is_kept_with_the_peer() {
    let core = node(&["10.0.0.1@tcp"]);
    core.admin().make_peer(nid("10.0.0.2@tcp"), true, false).unwrap();
    core.admin().set_peer_state(nid("10.0.0.2@tcp"), PeerState(5)).unwrap();
    assert_eq!(core.admin().peer(nid("10.0.0.2@tcp")).unwrap().0.state(), PeerState(5));
    assert_eq!(core.admin().set_peer_state(nid("10.0.0.3@tcp"), PeerState(5)), Err(Errno::NotFound));
}

#[test]
fn a_change_of_settings_happens_whole_or_not_at_all() {
    let core = node(&[]);
    let before = core.settings();
    let failed = core.admin().change_settings(|settings| {
        settings.numa_range = 7;
        settings.set(Setting::RetryCount, -1)
    });
    assert_eq!(failed, Err(Errno::Invalid));
    assert_eq!(core.settings(), before);
}

/// cfg-115, UD-12: fails if the interface with the highest priority is not used, or only if it came before
/// the rule, or only after.
#[test]
fn selection_rules_apply_to_interfaces_and_peers_added_before_and_after_them() {
    let core = node(&["10.0.0.1@tcp", "10.0.0.2@tcp"]);
    let multi_rail = |last: u8| {
        core.admin().make_peer(nid(&format!("10.0.0.{last}@tcp")), true, false).unwrap();
        nid(&format!("10.0.0.{last}@tcp"))
    };
    let early = multi_rail(8);
    let by =
        |destination: Nid| core.data_path().explain(None, destination).unwrap().chosen.ni.nid().to_string();
    assert_eq!(by(early), "10.0.0.1@tcp");
    let rule = |src: &str, dst: Option<&str>, action| {
        Rule::new(Some(src.parse().unwrap()), dst.map(|dst| dst.parse().unwrap()), None, action)
    };
    core.admin().add_rule(rule("10.0.0.2@tcp", None, Action::Priority(0)), None).unwrap();
    let late = multi_rail(9);
    assert_eq!((by(early), by(late)), ("10.0.0.2@tcp".into(), "10.0.0.2@tcp".into()));
    core.admin().add_rule(rule("10.0.0.3@tcp", None, Action::Priority(0)), Some(0)).unwrap();
    core.admin().set_ni_health(Some(nid("10.0.0.2@tcp")), 10);
    core.admin().add_ni(nid("10.0.0.3@tcp"), NiTunables::default(), &idle()).unwrap();
    assert_eq!(by(late), "10.0.0.3@tcp");
    core.admin().delete_rule(None).unwrap();
    assert_eq!(by(late), "10.0.0.1@tcp");

    let pair = rule("10.0.0.1@tcp", Some("10.0.0.[8-9]@tcp"), Action::PreferredList);
    core.admin().add_peer_nid(early, nid("10.0.0.18@tcp"), true).unwrap();
    core.admin().add_rule(pair, None).unwrap();
    let preferred = |destination: Nid| {
        let partners = core.admin().peer(destination).unwrap().1[0].partners();
        partners.map(|partners| partners.nids.iter().map(|partner| partner.nid).collect::<Vec<_>>())
    };
    assert_eq!(preferred(early), Some(vec![nid("10.0.0.1@tcp")]));
    core.admin().delete_rule(None).unwrap();
    assert_eq!(preferred(early), None);
}

/// Fails if a rule for which there is nothing to choose keeps a peer from being added, or from being reached.
#[test]
fn a_peer_can_be_added_while_a_rule_names_a_router_to_a_net_without_a_route() {
    let core = node(&["10.0.0.1@tcp"]);
    let rule = Rule::new(
        None,
        Some("tcp1".parse().unwrap()),
        Some("10.0.0.12@tcp".parse().unwrap()),
        Action::PreferredList,
    );
    core.admin().add_rule(rule, None).unwrap();
    core.admin().make_peer(nid("10.0.0.8@tcp"), true, false).unwrap();
    core.admin().add_peer_nid(nid("10.0.0.8@tcp"), nid("10.0.1.8@tcp1"), true).unwrap();
    let chosen = core.data_path().explain(None, nid("10.0.0.8@tcp")).unwrap().chosen;
    assert_eq!(chosen.destination(), nid("10.0.0.8@tcp"));
}
