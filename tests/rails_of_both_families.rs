//! Nodes on machines of their own whose rails, nets and routers have addresses of both families, or of IPv6 only.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use lnet_core::stats::MessageOutcome;
use lnet_node::Node;
use lnet_settings::MAX_HEALTH;
use lnet_wire::Nid;
use lnet_wire::nid::Address;
use std::sync::Arc;
use support::machines::{Machines, Wiring, port};
use support::netns::ip;
use support::rails::{Discovery, Rails, Transfer, nids, node_with, wait_until};

const SIZES: [usize; 4] = [0, 1, 4097, 1 << 20];
const HOW: [Transfer; 2] = [Transfer::Put, Transfer::Get];

fn machines_or_skip(count: usize, cards: usize) -> Option<Machines> {
    Some(Machines::or_skip(count, cards, Wiring::SwitchPerCard, |_| None)?.with_v6())
}

/// A node on a machine, with networks and routes in the form of `LNET_NETWORKS` and `LNET_ROUTES`.
fn node(machines: &Machines, machine: usize, networks: &str, routes: &str) -> Arc<Node> {
    let forwarding: &[(&str, &str)] = &[("LNET_FORWARDING", "enabled")];
    let others = if networks.contains("tcp1") && networks.contains("tcp(") { forwarding } else { &[] };
    let node = machines.on(machine, || node_with(networks, routes, "988", Discovery::On, others));
    // The kernel needs some time to report that a link has a carrier.
    wait_until("all cards work", || node.core().nets().nis().all(|ni| !ni.is_fatal()));
    node
}

/// Discovers a peer and waits until both of its NIDs are known.
fn discover(node: &Node, nid: Nid) {
    let admin = node.core().admin();
    admin.discover(nid, false).unwrap();
    wait_until("both NIDs are known", || admin.peer(nid).is_some_and(|(_, peer_nis)| peer_nis.len() == 2));
}

/// Messages that each NI of a node has sent.
fn sent(node: &Node) -> Vec<u64> {
    let nets = node.core().nets();
    nids(node)
        .iter()
        .map(|nid| nets.ni(*nid).unwrap().counters().read(MessageOutcome::Sent).messages())
        .collect()
}

fn exchange(rails: &Rails) {
    for len in SIZES {
        for how in HOW {
            rails.transfer(how, 20, len, 4);
        }
    }
}

/// Fails if a message was sent where it could not arrive, or failed.
fn nothing_was_paid(node: &Node, peer: Nid) {
    let (_, peer_nis) = node.core().admin().peer(peer).unwrap();
    let peers: Vec<u32> = peer_nis.iter().map(|it| it.health()).collect();
    let own: Vec<u32> = node.core().nets().nis().map(|ni| ni.health()).collect();
    assert!(peers.iter().chain(&own).all(|health| *health == MAX_HEALTH), "{own:?}, {peers:?}");
}

fn is_large(nid: Nid) -> bool {
    matches!(nid.address(), Address::Long(_))
}

/// Transfers by both operations until each NI of the near node has sent some of it.
fn uses_all_rails(rails: &Rails) {
    wait_until("all rails are used", || {
        let before = sent(&rails.near);
        HOW.iter().for_each(|how| rails.transfer(*how, 20, 4096, 1));
        sent(&rails.near).iter().zip(before).all(|(after, before)| *after > before + 5)
    });
}

#[test]
fn a_peer_with_a_rail_of_each_family_is_one_peer_and_is_sent_to_over_both() {
    let Some(machines) = machines_or_skip(2, 2) else { return };
    let networks = "tcp(eth0,eth1[large])";
    let rails = Rails::between(node(&machines, 0, networks, ""), node(&machines, 1, networks, ""));
    let far = nids(&rails.far);
    assert_eq!(far.iter().map(|nid| is_large(*nid)).collect::<Vec<_>>(), [false, true]);
    discover(&rails.near, far[1]);
    uses_all_rails(&rails);
    uses_all_rails(&rails.turned());
    exchange(&rails);
    nothing_was_paid(&rails.near, far[0]);
    nothing_was_paid(&rails.far, nids(&rails.near)[0]);
    rails.shutdown();
}

#[test]
fn nodes_with_ipv6_alone_use_all_their_rails() {
    let Some(machines) = machines_or_skip(2, 2) else { return };
    // No interface has an IPv4 address.
    for machine in [0, 1] {
        machines.ip_on(
            machine,
            &[&["-4", "address", "flush", "dev", "eth0"], &["-4", "address", "flush", "dev", "eth1"]],
        );
    }
    let networks = "tcp(eth0,eth1)[large]";
    let rails = Rails::between(node(&machines, 0, networks, ""), node(&machines, 1, networks, ""));
    discover(&rails.near, nids(&rails.far)[1]);
    uses_all_rails(&rails);
    uses_all_rails(&rails.turned());
    exchange(&rails);
    rails.shutdown();
}

/// Fails if messages are lost, or go on trying a rail that is down, or do not come back to it.
#[test]
fn messages_go_on_over_the_other_family_while_the_rail_of_one_is_down() {
    for (card, command) in [(0, "eth0"), (1, "eth1")] {
        let Some(machines) = machines_or_skip(2, 2) else { return };
        let networks = "tcp(eth0,eth1[large])";
        let rails = Rails::between(node(&machines, 0, networks, ""), node(&machines, 1, networks, ""));
        discover(&rails.near, nids(&rails.far)[0]);
        uses_all_rails(&rails);
        let ni_is_down = |down: bool| {
            wait_until("the node sees the link", || {
                rails.near.core().nets().ni(nids(&rails.near)[card]).unwrap().is_fatal() == down
            });
        };
        machines.in_the_middle(|| ip(&["link", "set", &port(0, card), "down"]));
        ni_is_down(true);
        let before = sent(&rails.near);
        exchange(&rails);
        exchange(&rails.turned());
        let after = sent(&rails.near);
        assert!(after[1 - card] > before[1 - card] + 100, "{command}: {before:?} {after:?}");
        machines.in_the_middle(|| ip(&["link", "set", &port(0, card), "up"]));
        ni_is_down(false);
        uses_all_rails(&rails);
        rails.shutdown();
    }
}

/// The client and the router have IPv4 on `tcp`, the router and the server IPv6 on `tcp1`.
#[test]
fn a_router_connects_an_ipv4_net_and_an_ipv6_net() {
    let Some(machines) = machines_or_skip(3, 2) else { return };
    let wiring = machines.wiring();
    let router = node(&machines, 2, "tcp(eth0),tcp1(eth1[large])", "");
    let near_route = format!("tcp1 {}@tcp", wiring.address(2, 0));
    let far_route = format!("tcp {}@tcp1", wiring.v6_address(2, 1));
    let near = node(&machines, 0, "tcp(eth0)", &near_route);
    let far = node(&machines, 1, "tcp1(eth1[large])", &far_route);
    assert_eq!(nids(&router).iter().map(|nid| is_large(*nid)).collect::<Vec<_>>(), [false, true]);
    wait_until("both routes are up", || {
        [&near, &far].iter().all(|node| {
            let routes = node.core().admin().routes();
            routes.active().iter().all(|route| node.core().admin().route_is_up(route))
        })
    });
    let rails = Rails::between(near, far);
    exchange(&rails);
    exchange(&rails.turned());
    assert!(router.core().admin().forwarded().messages >= 2 * 2 * 2 * 20 * SIZES.len() as u64);
    rails.shutdown();
    router.shutdown();
}
