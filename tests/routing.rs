//! Nodes on different nets, and the routers between them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use lnet_core::topology::Route;
use lnet_dlc::request::{LnetStats, Peer, PeerNi};
use lnet_dlc::{Backend, Request};
use lnet_node::Node;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use support::rails::{Discovery, Rails, Transfer, node_with, wait_until};

const SIZES: [usize; 5] = [0, 1, 4096, 4097, 1 << 20];

/// Nodes that listen on the same port.
struct Site {
    port: String,
    discovery: Discovery,
    others: &'static [(&'static str, &'static str)],
}

impl Site {
    fn new(discovery: Discovery) -> Self {
        let port = TcpListener::bind(("0.0.0.0", 0)).unwrap().local_addr().unwrap().port();
        Self { port: port.to_string(), discovery, others: &[] }
    }

    fn node(&self, networks: &str, routes: &str) -> Arc<Node> {
        node_with(networks, routes, &self.port, self.discovery, self.others)
    }

    /// A node on `tcp`, one on `tcp1`, and two routers between them: the third numbers of the nets' addresses.
    fn two_routers(&self, tcp: u8, tcp1: u8) -> (Rails, [Arc<Node>; 2]) {
        let router = |at| self.router(&format!("tcp(127.0.{tcp}.{at}),tcp1(127.0.{tcp1}.{at})"), "");
        let routers = [8, 9].map(router);
        let near = self.node(&format!("tcp(127.0.{tcp}.1)"), &format!("tcp1 127.0.{tcp}.[8-9]@tcp"));
        let far = self.node(&format!("tcp1(127.0.{tcp1}.1)"), &format!("tcp 127.0.{tcp1}.[8-9]@tcp1"));
        (Rails::between(near, far), routers)
    }

    /// A router that forwards from the start: the first ping must not be answered with the report that it does not forward.
    fn router(&self, networks: &str, routes: &str) -> Arc<Node> {
        node_with(
            networks,
            routes,
            &self.port,
            self.discovery,
            &[self.others, &[("LNET_FORWARDING", "enabled")]].concat(),
        )
    }
}

fn routes_up(node: &Node) -> usize {
    let routes = node.core().admin().routes();
    routes.active().iter().filter(|route| node.core().admin().route_is_up(route)).count()
}

fn forwarded(router: &Node) -> u64 {
    router.core().admin().forwarded().messages
}

/// Waits until all routes of these nodes are up: a gateway that started later than the first ping to it is pinged again.
fn wait_until_up(nodes: &[&Arc<Node>]) {
    wait_until("all routes are up", || {
        nodes.iter().all(|node| routes_up(node) == node.core().admin().routes().active().len())
    });
}

/// Transfers all sizes in both directions, one message at a time and several.
fn exchange(rails: &Rails) {
    for len in SIZES {
        for how in [Transfer::Put, Transfer::Get] {
            rails.transfer(how, 4, len, 1);
            rails.transfer(how, 40, len, 8);
        }
    }
}

/// Ends the nodes behind the routers first.
fn shutdown(rails: Rails, routers: &[Arc<Node>]) {
    rails.shutdown();
    routers.iter().for_each(|router| router.shutdown());
}

#[test]
fn two_nodes_exchange_messages_of_all_sizes_through_a_router() {
    for discovery in [Discovery::Off, Discovery::On] {
        let site = Site::new(discovery);
        let router = site.router("tcp(127.0.61.9),tcp1(127.0.62.9)", "");
        let near = site.node("tcp(127.0.61.1)", "tcp1 127.0.61.9@tcp");
        let far = site.node("tcp1(127.0.62.1)", "tcp 127.0.62.9@tcp1");
        let rails = Rails::between(near, far);
        exchange(&rails);
        exchange(&rails.turned());
        // Requests and responses; those of discovery are not included.
        let messages = 2 * 2 * 2 * 44 * SIZES.len() as u64;
        let bytes = 2 * 2 * 44 * SIZES.iter().sum::<usize>() as u64;
        let ask: &dyn Backend = &*router;
        wait_until("the router has counted them", || {
            let shown: Box<LnetStats> = ask.ask(Request::GetLnetStats).unwrap();
            shown.route_count >= messages && shown.route_length >= bytes
        });
        for sender in ["127.0.61.1@tcp", "127.0.62.1@tcp1"] {
            let peer: Box<Peer> = ask.ask(Request::GetPeerNi(sender.parse().unwrap())).unwrap();
            let credits = |ni: &PeerNi| (ni.rtr_credits, ni.min_rtr_credits < 8);
            assert_eq!(peer.nis.iter().map(credits).collect::<Vec<_>>(), [(8, true)], "{sender}");
        }
        shutdown(rails, &[router]);
    }
}

#[test]
fn messages_take_turns_on_two_routers_and_leave_one_that_stops_forwarding() {
    let site = Site::new(Discovery::On);
    let (rails, routers) = site.two_routers(63, 64);
    rails.transfer(Transfer::Put, 100, 4096, 1);
    let counts = routers.each_ref().map(|router| forwarded(router));
    // Each PUT has an ACK.
    assert!(counts.iter().all(|count| (80..=125).contains(count)), "{counts:?}");
    routers[0].core().admin().change_router(|router| router.switched(false)).unwrap();
    wait_until("both nodes know that a router has stopped", || {
        [&rails.near, &rails.far].iter().all(|node| routes_up(node) == 1)
    });
    wait_until("what it had received is sent", || routers[0].core().message_counts().msgs_alloc == 0);
    let before = forwarded(&routers[0]);
    exchange(&rails);
    assert_eq!(forwarded(&routers[0]), before);
    shutdown(rails, &routers);
}

#[test]
fn messages_pass_two_routers_one_behind_the_other() {
    for discovery in [Discovery::Off, Discovery::On] {
        let site = Site::new(discovery);
        let first = site.router("tcp(127.0.65.8),tcp1(127.0.66.8)", "tcp2 127.0.66.9@tcp1");
        let second = site.router("tcp1(127.0.66.9),tcp2(127.0.67.9)", "tcp 127.0.66.8@tcp1");
        let near = site.node("tcp(127.0.65.1)", "tcp2 2 127.0.65.8@tcp");
        let far = site.node("tcp2(127.0.67.1)", "tcp 2 127.0.67.9@tcp2");
        wait_until_up(&[&first, &second, &near, &far]);
        let rails = Rails::between(near, far);
        exchange(&rails);
        shutdown(rails, &[first, second]);
    }
}

#[test]
fn a_router_of_several_nids_on_each_net_is_used_on_all_of_them() {
    let site = Site::new(Discovery::On);
    let router = site.router("tcp(127.0.68.8,127.0.68.9),tcp1(127.0.69.8,127.0.69.9)", "");
    let near = site.node("tcp(127.0.68.1)", "tcp1 127.0.68.8@tcp");
    let far = site.node("tcp1(127.0.69.1)", "tcp 127.0.69.9@tcp1");
    let rails = Rails::between(near, far);
    exchange(&rails);
    let received: Vec<u64> = {
        let nets = router.core().nets();
        let nis = nets.nis().filter(|ni| !ni.nid().is_loopback());
        nis.map(|ni| ni.counters().read(lnet_core::stats::MessageOutcome::Received).messages()).collect()
    };
    assert!(received.iter().all(|count| *count > 50), "{received:?}");
    shutdown(rails, &[router]);
}

/// Fails if the pushes that come by a router are ignored until the node has something to send to the client.
#[test]
fn a_server_learns_from_a_push_that_came_by_a_router_which_nids_are_one_clients() {
    let site = Site::new(Discovery::On);
    let router = site.router("tcp(127.0.76.8),tcp1(127.0.77.8)", "");
    let near = site.node("tcp(127.0.76.1,127.0.76.2)", "tcp1 127.0.76.8@tcp");
    let far = site.node("tcp1(127.0.77.1)", "tcp 127.0.77.8@tcp1");
    wait_until_up(&[&near, &far]);
    near.core().admin().discover("127.0.77.1@tcp1".parse().unwrap(), false).unwrap();
    wait_until("the server knows the client", || {
        let client = far.core().admin().peer("127.0.76.2@tcp".parse().unwrap());
        client.is_some_and(|(peer, _)| peer.is_multi_rail() && peer.nids.len() == 2)
    });
    near.shutdown();
    far.shutdown();
    router.shutdown();
}

/// RT-4: fails if a node keeps two routes over what it has found out to be one gateway.
#[test]
fn routes_by_two_nids_of_one_router_become_one() {
    let site = Site::new(Discovery::On);
    let router = site.router("tcp(127.0.78.8,127.0.78.9),tcp1(127.0.79.8)", "");
    let near = site.node("tcp(127.0.78.1)", "tcp1 127.0.78.[8-9]@tcp");
    let far = site.node("tcp1(127.0.79.1)", "tcp 127.0.79.8@tcp1");
    let rails = Rails::between(near, far);
    let routes = || rails.near.core().admin().routes().active().len();
    wait_until("one route is left", || routes() == 1);
    exchange(&rails);
    shutdown(rails, &[router]);
}

/// Fails if a node continues to use a router that does not respond, or does not return to it.
#[test]
fn messages_leave_a_router_that_is_gone_and_return_when_it_is_back() {
    let site = Site { others: &[("LNET_ALIVE_ROUTER_CHECK_INTERVAL", "1")], ..Site::new(Discovery::On) };
    let (rails, [gone, stays]) = site.two_routers(72, 73);
    exchange(&rails);
    gone.shutdown();
    wait_until("both nodes know that a router is gone", || {
        [&rails.near, &rails.far].iter().all(|node| routes_up(node) == 1)
    });
    exchange(&rails);
    let back = site.router("tcp(127.0.72.8),tcp1(127.0.73.8)", "");
    wait_until_up(&[&rails.near, &rails.far]);
    exchange(&rails);
    assert!(forwarded(&back) > 100 && forwarded(&stays) > 100);
    shutdown(rails, &[back, stays]);
}

/// Fails if a large message is lost, or arrives with other bytes, whose connection to a router ends while the router sends its beginning on.
#[test]
fn nothing_is_lost_while_connections_to_routers_end_in_the_middle_of_large_messages() {
    for round in 0..3 {
        // A connection that a message occupies must be ended in its time.
        let site = Site { others: &[("SOCKLND_UNRESPONSIVE_MS", "600")], ..Site::new(Discovery::On) };
        let (rails, routers) = site.two_routers(80, 81);
        let cut_through =
            || routers.iter().map(|it| it.core().admin().forwarded().cut_through.begun).sum::<u64>();
        wait_until("routers send large messages on while they arrive", || {
            rails.transfer(Transfer::Put, 10, 1 << 20, 1);
            cut_through() > 0
        });
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::SeqCst) {
                    for gateway in ["127.0.80.8@tcp", "127.0.80.9@tcp"].map(|text| text.parse().unwrap()) {
                        for alive in [false, true] {
                            rails.near.core().admin().notify_peer_ni(gateway, alive);
                        }
                    }
                }
            });
            rails.transfer(Transfer::Put, 100, 1 << 20, 8);
            rails.transfer(Transfer::Get, 100, 1 << 20, 8);
            done.store(true, Ordering::SeqCst);
        });
        wait_until(&format!("routers have no message, round {round}"), || {
            routers.iter().all(|router| router.core().message_counts().msgs_alloc == 0)
        });
        shutdown(rails, &routers);
    }
}

#[test]
fn nothing_is_lost_while_routes_come_and_go() {
    let site = Site::new(Discovery::On);
    let (rails, routers) = site.two_routers(70, 71);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                for (node, net, gateways) in [
                    (&rails.near, "tcp1", ["127.0.70.8@tcp", "127.0.70.9@tcp"]),
                    (&rails.far, "tcp", ["127.0.71.8@tcp1", "127.0.71.9@tcp1"]),
                ] {
                    for gateway in gateways.map(|text| text.parse().unwrap()) {
                        let net = net.parse().unwrap();
                        node.core().admin().delete_routes(Some(net), Some(gateway)).unwrap();
                        let route = Route { net, gateway, hops: None, priority: 0, health_sensitivity: 1 };
                        node.core().admin().add_route(route).unwrap();
                    }
                }
            }
        });
        exchange(&rails);
        done.store(true, Ordering::SeqCst);
    });
    shutdown(rails, &routers);
}

/// Fails if a message that was in a router is lost, or fails though another router lives.
#[test]
fn nothing_is_lost_and_nothing_fails_while_routers_are_restarted_one_after_the_other() {
    let site = Site { others: &[("LNET_ALIVE_ROUTER_CHECK_INTERVAL", "1")], ..Site::new(Discovery::On) };
    let (rails, routers) = site.two_routers(74, 75);
    let done = AtomicBool::new(false);
    let routers = std::thread::scope(|scope| {
        let restarter = scope.spawn(|| {
            let mut routers = routers.map(Some);
            for at in [8_usize, 9, 8, 9, 8, 9] {
                let router = &mut routers[at - 8];
                let before = forwarded(router.as_ref().unwrap());
                wait_until("messages go over it", || forwarded(router.as_ref().unwrap()) > before + 100);
                router.take().unwrap().shutdown();
                *router = Some(site.router(&format!("tcp(127.0.74.{at}),tcp1(127.0.75.{at})"), ""));
                wait_until_up(&[&rails.near, &rails.far]);
            }
            done.store(true, Ordering::SeqCst);
            routers.map(|router| router.unwrap())
        });
        while !done.load(Ordering::SeqCst) {
            exchange(&rails);
        }
        restarter.join().unwrap()
    });
    shutdown(rails, &routers);
}
