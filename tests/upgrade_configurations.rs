//! The six configurations that the design of Multi-Rail names ("Use Case scenarios"): nodes with Multi-Rail among nodes
//! without it, as real nodes on separate machines. Those without it have `LNET_MULTI_RAIL=0`; each configuration is also run
//! with nodes in their place that have Multi-Rail and do not discover.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use lnet_core::stats::MessageOutcome;
use lnet_node::Node;
use lnet_wire::Nid;
use std::sync::Arc;
use support::machines::{Machines, Wiring};
use support::rails::{Discovery, Rails, Transfer, nids, node_with, wait_until};

/// The version of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    /// The node has Multi-Rail, and two interfaces on each net.
    UpRev,
    /// The node has one interface, and no Multi-Rail.
    DownRev,
    /// The node has Multi-Rail without discovery, and one interface.
    Undiscovering,
}
use Version::{DownRev, Undiscovering, UpRev};

const SIZES: [usize; 3] = [0, 4097, 1 << 20];

/// The two nodes at the ends, and the router between them.
struct Site {
    rails: Rails,
    router: Option<Arc<Node>>,
    _machines: Machines,
}

/// Returns the interfaces of a node on a net, in the form of `LNET_NETWORKS`; the first one has the number `first`.
fn interfaces(net: &str, first: usize, version: Version) -> String {
    match version {
        UpRev => format!("{net}(eth{first},eth{})", first + 1),
        DownRev | Undiscovering => format!("{net}(eth{first})"),
    }
}

fn start(networks: &str, routes: &str, version: Version, forwards: bool) -> Arc<Node> {
    let discovery = if version == Undiscovering { Discovery::Off } else { Discovery::On };
    let multi_rail = ("LNET_MULTI_RAIL", if version == DownRev { "0" } else { "1" });
    let forwarding = ("LNET_FORWARDING", if forwards { "enabled" } else { "disabled" });
    node_with(networks, routes, "988", discovery, &[multi_rail, forwarding])
}

impl Site {
    /// Starts the nodes on one net, or on `tcp` and `tcp1` with a router between them.
    fn or_skip(client: Version, server: Version, router: Option<Version>) -> Option<Self> {
        let machines = Machines::or_skip(3, 4, Wiring::SwitchPerCard, |_| None)?;
        let Some(version) = router else {
            let near = machines.on(0, || start(&interfaces("tcp", 0, client), "", client, false));
            let far = machines.on(1, || start(&interfaces("tcp", 0, server), "", server, false));
            return Some(Self { rails: Rails::between(near, far), router: None, _machines: machines });
        };
        let both = format!("{},{}", interfaces("tcp", 0, version), interfaces("tcp1", 2, version));
        let router = machines.on(2, || start(&both, "", version, true));
        let gateway =
            |net: usize, card| format!("tcp{} {}", ["1", ""][net], Wiring::SwitchPerCard.nid(2, card));
        let there = gateway(0, 0);
        let back = gateway(1, 2).replace("@tcp", "@tcp1");
        let near = machines.on(0, || start(&interfaces("tcp", 0, client), &there, client, false));
        let far = machines.on(1, || start(&interfaces("tcp1", 2, server), &back, server, false));
        let site = Self { rails: Rails::between(near, far), router: Some(router), _machines: machines };
        wait_until("the routes are up", || {
            let up = |node: &Arc<Node>| {
                let core = node.core();
                core.admin().routes().active().iter().all(|route| core.admin().route_is_up(route))
            };
            up(&site.rails.near) && up(&site.rails.far)
        });
        Some(site)
    }

    /// Transfers in both directions, by PUT and by GET.
    fn exchange(&self) {
        let (there, back) = (&self.rails, self.rails.turned());
        for (len, how) in SIZES.into_iter().flat_map(|len| [(len, Transfer::Put), (len, Transfer::Get)]) {
            there.transfer(how, 20, len, 4);
            back.transfer(how, 20, len, 4);
        }
    }

    fn shutdown(self) {
        self.rails.shutdown();
        if let Some(router) = self.router {
            router.shutdown();
        }
    }
}

/// Whether a node knows the other as one multi-rail peer with all its NIDs, or its first NID as a peer of one NID.
fn knows(node: &Node, its: &[Nid], as_multi_rail: bool) -> bool {
    node.core().admin().peer(its[0]).is_some_and(|(peer, _)| {
        let nids = if as_multi_rail { its.len() } else { 1 };
        (peer.is_multi_rail(), peer.nids.len()) == (as_multi_rail, nids)
    })
}

fn run(client: Version, server: Version, router: Option<Version>) {
    let name = format!("{client:?}, {server:?}, {router:?}");
    let Some(site) = Site::or_skip(client, server, router) else { return };
    let (near, far) = (&site.rails.near, &site.rails.far);
    site.exchange();
    let both = client == UpRev && server == UpRev;
    for (node, other) in [(near, far), (far, near)] {
        let its = nids(other);
        wait_until(&format!("{name}: they know each other"), || knows(node, &its, both));
    }
    site.exchange();
    if both {
        for node in [near, far] {
            let sent = |nid: Nid| {
                let nets = node.core().nets();
                nets.ni(nid).unwrap().counters().read(MessageOutcome::Sent).messages()
            };
            let idle: Vec<Nid> = nids(node).into_iter().filter(|nid| sent(*nid) == 0).collect();
            assert_eq!(idle, [], "{name}: each interface is used");
        }
    }
    site.shutdown();
}

/// bck-025: fails if nodes with and without Multi-Rail do not reach each other, or take each other for what they are not.
#[test]
fn multi_rail_clients_work_with_down_rev_servers() {
    [DownRev, Undiscovering].into_iter().for_each(|old| run(UpRev, old, None));
}

#[test]
fn multi_rail_servers_work_with_down_rev_clients() {
    [DownRev, Undiscovering].into_iter().for_each(|old| run(old, UpRev, None));
}

#[test]
fn multi_rail_clients_and_servers_use_all_their_interfaces() {
    run(UpRev, UpRev, None);
}

#[test]
fn multi_rail_clients_and_servers_use_all_their_interfaces_through_a_multi_rail_router() {
    run(UpRev, UpRev, Some(UpRev));
}

#[test]
fn multi_rail_clients_and_servers_use_all_their_interfaces_through_a_down_rev_router() {
    [DownRev, Undiscovering].into_iter().for_each(|old| run(UpRev, UpRev, Some(old)));
}

#[test]
fn multi_rail_clients_reach_down_rev_servers_through_a_down_rev_router() {
    [DownRev, Undiscovering].into_iter().for_each(|old| run(UpRev, old, Some(old)));
}
