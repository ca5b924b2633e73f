//! Links and addresses that go and come back under a node: the node reports it, its peer is notified, and messages use the
//! interfaces that work.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use lnet_core::Setting;
use lnet_core::stats::MessageOutcome;
use lnet_dlc::request::{AddLocalNi, LndTunables, LocalNi, NiStatus, NiTunables, Peer};
use lnet_dlc::{Backend, Request};
use lnet_node::{Node, StartConfig};
use lnet_wire::{Nid, Pid};
use std::fs;
use std::sync::Arc;
use support::machines::port;
use support::netns::{empty_namespace_or_skip, ip};
use support::rails::{Discovery, Rails, Transfer, address, nid, nids, route, wait_until};

/// The status of an interface in `net show`.
fn status(node: &Node, nid: Nid) -> NiStatus {
    let backend: &dyn Backend = node;
    let nis: Vec<Box<LocalNi>> = backend.list(Request::GetLocalNi).unwrap();
    nis.iter().find(|ni| ni.nid == nid).expect("the interface").status
}

/// The status that a node has received for the second card of the other machine; `None` until it knows both of the other's
/// cards, and both nodes are up to date.
fn second_card_as_told(node: &Node, machine: usize) -> Option<NiStatus> {
    let backend: &dyn Backend = node;
    let peer: Box<Peer> = backend.ask(Request::GetPeerNi(nid(machine, 1))).ok()?;
    let is_settled = peer.discovery.is_some_and(|it| it.up_to_date) && peer.nis.len() == 2;
    let peer_nis = node.core().peer_nis();
    let peer_ni = peer_nis.iter().find(|peer_ni| peer_ni.nid() == nid(machine, 1)).filter(|_| is_settled)?;
    Some(if peer_ni.is_reported_down() { NiStatus::Down } else { NiStatus::Up })
}

/// PUTs that left the near node by each card, and that came in by each.
fn puts(rails: &Rails) -> [Vec<u64>; 2] {
    let nets = rails.near.core().nets();
    [MessageOutcome::Sent, MessageOutcome::Received].map(|outcome| {
        let counted = |nid: &Nid| nets.ni(*nid).unwrap().counters().read(outcome).put;
        nids(&rails.near).iter().map(counted).collect()
    })
}

/// Transfers messages from either node to the other. Returns which cards of the near node sent, and which received.
fn transfer(rails: &Rails) -> [[bool; 2]; 2] {
    let before = puts(rails);
    rails.transfer(Transfer::Put, 40, 4096, 1);
    rails.turned().transfer(Transfer::Put, 40, 4096, 1);
    let after = puts(rails);
    [0, 1].map(|way| [0, 1].map(|card| after[way][card] > before[way][card]))
}

/// Breaks the second rail of the near machine and restores it, and checks the reactions of both nodes.
fn both_nodes_follow(break_it: impl FnOnce(&Rails), mend_it: impl FnOnce(&Rails)) {
    let Some(rails) = Rails::undiscovered_or_skip(2, |_| None, Discovery::On) else { return };
    rails.transfer(Transfer::Put, 1, 64, 1);
    let far_is_told = || second_card_as_told(&rails.far, 0);
    wait_until("they know each other", || {
        far_is_told() == Some(NiStatus::Up) && second_card_as_told(&rails.near, 1) == Some(NiStatus::Up)
    });
    // Messages in flight by one card make selection prefer the other one until they end.
    let all_are_used = || transfer(&rails) == [[true, true], [true, true]];
    wait_until("both rails are used", all_are_used);

    break_it(&rails);
    wait_until("near sees it", || status(&rails.near, nid(0, 1)) == NiStatus::Down);
    wait_until("far is told", || far_is_told() == Some(NiStatus::Down));
    assert_eq!(status(&rails.near, nid(0, 0)), NiStatus::Up);
    assert_eq!(transfer(&rails), [[true, false], [true, false]]);

    mend_it(&rails);
    wait_until("near sees that it is mended", || status(&rails.near, nid(0, 1)) == NiStatus::Up);
    wait_until("far is told that, too", || far_is_told() == Some(NiStatus::Up));
    wait_until("both rails are used again", all_are_used);
    rails.shutdown();
}

/// hlt-005, hlt-010, hlt-025, snd-080, HE-4: fails if the node does not see that the interface has failed, or
/// does not show it as down.
/// dyn-050: fails if the peer is not told, or goes on using it; the same when it works again.
#[test]
fn a_link_that_is_set_down_is_not_used_by_either_node_until_it_is_up_again() {
    both_nodes_follow(
        |rails| rails.ip_on(0, &[&["link", "set", "eth1", "down"]]),
        |rails| rails.ip_on(0, &[&["link", "set", "eth1", "up"], &words(&route(1))]),
    );
}

/// hlt-005, hlt-010, hlt-025, snd-080, HE-4: fails if the node does not see that the interface has failed, or
/// does not show it as down.
/// dyn-050: fails if the peer is not told, or goes on using it; the same when it works again.
#[test]
fn an_address_that_is_removed_is_not_used_by_either_node_until_it_is_put_back() {
    let with_length = format!("{}/24", address(0, 1));
    both_nodes_follow(
        |rails| rails.ip_on(0, &[&["address", "delete", &with_length, "dev", "eth1"]]),
        |rails| rails.ip_on(0, &[&["address", "add", &with_length, "dev", "eth1"], &words(&route(1))]),
    );
}

/// hlt-005, hlt-010, hlt-025, snd-080, HE-4: fails if the node does not see that the interface has failed, or
/// does not show it as down.
/// dyn-050: fails if the peer is not told, or goes on using it; the same when it works again.
#[test]
fn a_link_without_carrier_is_not_used_by_either_node_until_it_has_one_again() {
    both_nodes_follow(
        |_| ip(&["link", "set", &port(0, 1), "down"]),
        |_| ip(&["link", "set", &port(0, 1), "up"]),
    );
}

/// HE-4: fails if an interface that is added at run time is not watched, or a removed one still is.
#[test]
fn interfaces_added_at_run_time_are_watched_and_removed_ones_are_not() {
    let Some(_namespace) = empty_namespace_or_skip() else { return };
    ip(&["link", "set", "lo", "up"]);
    let node = listening_to_nobody();
    let backend: &dyn Backend = &*node;
    let add = |net: &str, interface: &str| {
        let (tunables, lnd) = (NiTunables::default(), LndTunables::default());
        let (net, interface) = (net.parse().unwrap(), Some(interface.to_owned()));
        backend
            .ask::<Nid>(Request::AddLocalNi(AddLocalNi { net, interface, tunables, lnd, cpts: None }))
            .unwrap()
    };

    ip(&["link", "add", "eth0", "type", "veth", "peer", "name", "cable"]);
    ip(&["address", "add", "10.77.1.1/24", "dev", "eth0"]);
    ip(&["link", "set", "eth0", "up"]);
    // There is no peer at the other end.
    let by_name = add("tcp", "eth0");
    assert_eq!(status(&node, by_name), NiStatus::Down);
    let by_address = add("tcp1", "10.77.1.1");
    assert_eq!(status(&node, by_address), NiStatus::Down);
    let on_loopback = ["127.0.0.1", "127.3.2.1"].map(|address| add("tcp2", address));
    assert_eq!(on_loopback.map(|nid| status(&node, nid)), [NiStatus::Up; 2]);

    ip(&["link", "set", "cable", "up"]);
    wait_until("eth0 has a carrier", || {
        [by_name, by_address].map(|nid| status(&node, nid)) == [NiStatus::Up; 2]
    });
    ip(&["link", "set", "lo", "down"]);
    wait_until("lo is down", || on_loopback.map(|nid| status(&node, nid)) == [NiStatus::Down; 2]);
    ip(&["link", "set", "lo", "up"]);
    wait_until("lo is up", || on_loopback.map(|nid| status(&node, nid)) == [NiStatus::Up; 2]);

    node.remove_ni(by_name).unwrap();
    ip(&["link", "delete", "eth0"]);
    wait_until("eth0 is gone", || status(&node, by_address) == NiStatus::Down);
    assert_eq!(on_loopback.map(|nid| status(&node, nid)), [NiStatus::Up; 2]);
    node.shutdown();
}

/// Fails if the node misses the last change when there are more notifications at once than the kernel keeps for a listener.
#[test]
fn the_last_of_a_flood_of_link_changes_is_applied() {
    let Some(_namespace) = empty_namespace_or_skip() else { return };
    ip(&["link", "add", "eth0", "type", "veth", "peer", "name", "cable"]);
    ip(&["address", "add", "10.77.1.1/24", "dev", "eth0"]);
    ip(&["link", "set", "eth0", "up"]);
    ip(&["link", "set", "cable", "up"]);
    let node = listening_to_nobody();
    let nid = node.add_ni("tcp".parse().unwrap(), Some("eth0")).unwrap();
    wait_until("eth0 has a carrier", || status(&node, nid) == NiStatus::Up);
    for (what, last, result) in [("add", "down", NiStatus::Down), ("delete", "up", NiStatus::Up)] {
        let addresses = (0..2000).map(|host| format!("10.78.{}.{}/32", host / 250, host % 250));
        let mut flood: String = addresses.map(|it| format!("address {what} {it} dev cable\n")).collect();
        flood.push_str(&format!("link set eth0 {last}\n"));
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), flood).unwrap();
        ip(&["-batch", file.path().to_str().unwrap()]);
        wait_until(last, || status(&node, nid) == result);
    }
    node.shutdown();
}

/// A node on no net yet.
fn listening_to_nobody() -> Arc<Node> {
    let mut config = StartConfig::default();
    config.drivers.get_mut::<socklnd::SocklndConfig>().unwrap().accept = socklnd::AcceptFrom::None;
    Node::start(Pid::LUSTRE, config).unwrap()
}

fn words(command: &[String]) -> Vec<&str> {
    command.iter().map(String::as_str).collect()
}

/// Fails if a push lost on an unresponsive rail is not resent over another rail before its transaction timeout.
#[test]
fn a_push_lost_on_an_unresponsive_rail_is_resent_over_another() {
    let Some(rails) = Rails::undiscovered_or_skip(2, |_| None, Discovery::On) else { return };
    rails.transfer(Transfer::Put, 1, 64, 1);
    wait_until("they know each other", || {
        second_card_as_told(&rails.far, 0).is_some() && second_card_as_told(&rails.near, 1).is_some()
    });
    let core = rails.near.core();
    core.admin().change_settings(|settings| settings.set(Setting::TransactionTimeout, 3)).unwrap();
    ip(&["link", "set", &port(1, 1), "nomaster"]);
    for news in ["127.0.77.1@tcp7", "127.0.77.2@tcp7", "127.0.77.3@tcp7", "127.0.77.4@tcp7"] {
        let news: Nid = news.parse().unwrap();
        rails.near.add_nid(news).unwrap();
        wait_until("far is told", || {
            rails.far.core().admin().peer(nid(0, 0)).is_some_and(|(peer, _)| peer.nids.contains(&news))
        });
        assert_eq!(core.admin().discovery_of(nid(1, 0)).unwrap().failure, None);
    }
    ip(&["link", "set", &port(1, 1), "master", "switch"]);
    rails.shutdown();
}
