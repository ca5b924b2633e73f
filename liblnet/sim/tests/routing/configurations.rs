//! The configurations and changes of configuration in the design of Multi-Rail ("Use Case scenarios"): nodes with
//! Multi-Rail among nodes of versions without it.

use super::*;
use lnet_core::stats::MessageOutcome;

/// The version of a node, which has Multi-Rail or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    /// A node with Multi-Rail, and with two interfaces.
    UpRev,
    /// A node without Multi-Rail, and with one interface.
    DownRev,
}
use Version::{DownRev, UpRev};

const NODES: u32 = 2;

struct Site {
    world: World,
    clients: Vec<(NodeId, Nid)>,
    servers: Vec<(NodeId, Nid)>,
    routers: Vec<NodeId>,
    ops: Vec<OpId>,
}

/// The NIDs of a node: its own number in tens.
fn nids(on: u16, node: u32, version: Version) -> Vec<Nid> {
    let rails = if version == UpRev { 2 } else { 1 };
    (0..rails).map(|rail| nid(on, 10 * (node + 1) + rail)).collect()
}

fn of_version(spec: NodeSpec, version: Version) -> NodeSpec {
    match version {
        UpRev => spec,
        DownRev => spec.down_rev(),
    }
}

fn router_spec(number: u32, version: Version) -> NodeSpec {
    of_version(spec(&[router(0, number), router(1, number)]).router(), version)
}

/// Makes the specification of an end, on the net of clients or servers.
fn end_spec(on: u16, node: u32, version: Version, routed: bool) -> NodeSpec {
    let end = spec(&nids(on, node, version));
    let gateways: Vec<Nid> = (0..2).map(|number| router(on, number)).collect();
    let end = if routed { end.with_routes(net(1 - on), &gateways) } else { end };
    of_version(end, version)
}

impl Site {
    /// Makes two clients and two servers, on one net, or on two with two routers between them.
    fn new(name: &str, clients: Version, servers: Version, routers: Option<Version>) -> Self {
        // Nodes without Multi-Rail are a kernel's: they send no delivery ACKs.
        let all_new = clients == UpRev && servers == UpRev && routers != Some(DownRev);
        let delivery = if all_new { Delivery::Acked } else { Delivery::Kernel };
        let network = NetworkConfig { delivery, ..network() };
        let config = WorldConfig { network, trace: 10_000, check_every: 20, ..WorldConfig::default() };
        let mut world = World::new(name, config);
        let routers: Vec<NodeId> = (0..if routers.is_some() { 2 } else { 0 })
            .map(|number| world.add_node(router_spec(number, routers.unwrap_or(UpRev))))
            .collect();
        let routed = !routers.is_empty();
        let server_net = u16::from(routed);
        // On one net the numbers of the servers follow those of the clients.
        let first = if routed { 0 } else { NODES };
        let mut ends = |on: u16, numbers: std::ops::Range<u32>, version: Version| -> Vec<(NodeId, Nid)> {
            let mut add =
                |node| (world.add_node(end_spec(on, node, version, routed)), nids(on, node, version)[0]);
            numbers.map(&mut add).collect()
        };
        let clients = ends(0, 0..NODES, clients);
        let servers = ends(server_net, first..first + NODES, servers);
        meet(&mut world);
        Self { world, clients, servers, routers, ops: Vec::new() }
    }

    /// Runs operations between every client and every server for a while.
    fn load(&mut self, seconds: f64) {
        let until = self.world.now() + Duration::from_secs_f64(seconds);
        while self.world.now() < until && self.world.is_sound() {
            for (client, client_nid) in &self.clients {
                for (server, server_nid) in &self.servers {
                    for ask in ASKS {
                        self.ops.extend(self.world.start_op(*client, *server_nid, ask));
                        self.ops.extend(self.world.start_op(*server, *client_nid, ask));
                    }
                }
            }
            pass(&mut self.world, 0.05);
        }
    }

    /// Replaces a node by another version of itself.
    fn replace(&mut self, node: NodeId, spec: NodeSpec) {
        self.world.crash(node);
        pass(&mut self.world, 1.0);
        self.world.set_spec(node, spec);
        self.world.start(node);
        // The node's peers need time to notice, and resent messages to arrive.
        pass(&mut self.world, 20.0);
    }

    fn succeeds(&mut self) {
        pass(&mut self.world, 60.0);
        all_succeeded(&mut self.world, &self.ops);
    }

    /// Whether `of` considers the peer with this NID multi-rail.
    fn is_multi_rail(&self, of: NodeId, peer: Nid) -> bool {
        let core = self.world.core(of).expect("a node that runs");
        core.admin().peer(peer).is_some_and(|(peer, _)| peer.is_multi_rail())
    }

    /// Returns the number of interfaces of this node that have received more than a few messages.
    fn rails_used(&self, node: NodeId) -> usize {
        let core = self.world.core(node).expect("a node that runs");
        let nets = core.nets();
        let nis = nets.nis().filter(|ni| !ni.nid().is_loopback());
        nis.filter(|ni| ni.counters().read(MessageOutcome::Received).messages() > 20).count()
    }

    /// Checks that the ends know each other's properties, and use their interfaces.
    fn check(&self, clients: Version, servers: Version) {
        let all = clients == UpRev && servers == UpRev;
        for (client, client_nid) in &self.clients {
            for (server, server_nid) in &self.servers {
                let what = format!("{client_nid} and {server_nid}");
                // A node of an older version does not support Multi-Rail.
                assert_eq!(self.is_multi_rail(*client, *server_nid), all, "client of {what}");
                assert_eq!(self.is_multi_rail(*server, *client_nid), all, "server of {what}");
            }
        }
        for (node, _) in self.clients.iter().chain(&self.servers) {
            let rails = self.world.core(*node).map_or(0, |core| core.nets().nis().count() - 1);
            let used = self.rails_used(*node);
            assert!(if all { used == rails } else { used >= 1 }, "{node} uses {used} of {rails}");
        }
    }
}

/// Checks one of the static configurations.
fn works(name: &str, clients: Version, servers: Version, routers: Option<Version>) {
    let mut site = Site::new(name, clients, servers, routers);
    site.load(2.0);
    site.succeeds();
    site.check(clients, servers);
    finish(site.world);
}

#[test]
fn multi_rail_clients_work_with_down_rev_servers() {
    works("static 1", UpRev, DownRev, None);
}

#[test]
fn down_rev_clients_work_with_multi_rail_servers() {
    works("static 2", DownRev, UpRev, None);
}

#[test]
fn multi_rail_clients_and_servers_use_all_their_rails() {
    works("static 3", UpRev, UpRev, None);
}

#[test]
fn multi_rail_clients_and_servers_use_all_their_rails_through_routers() {
    works("static 4", UpRev, UpRev, Some(UpRev));
}

#[test]
fn multi_rail_clients_and_servers_use_all_their_rails_through_down_rev_routers() {
    works("static 5", UpRev, UpRev, Some(DownRev));
}

#[test]
fn multi_rail_clients_reach_down_rev_servers_through_down_rev_routers() {
    works("static 6", UpRev, DownRev, Some(DownRev));
}

/// Replaces a client by another version of itself, and checks.
fn client_changes(name: &str, from: Version, to: Version) {
    let mut site = Site::new(name, from, UpRev, None);
    site.load(1.0);
    site.succeeds();
    let client = site.clients[0].0;
    site.replace(client, end_spec(0, 0, to, false));
    site.load(2.0);
    site.succeeds();
    let client_nid = site.clients[0].1;
    for (server, _) in site.servers.clone() {
        // A node of an older version reports it only in response to a ping, and pushes nothing: `lnetctl discover`.
        site.world.with_core(server, |core| core.admin().discover(client_nid, true));
    }
    pass(&mut site.world, 5.0);
    site.load(2.0);
    site.succeeds();
    for (server, server_nid) in &site.servers {
        assert_eq!(site.is_multi_rail(*server, site.clients[0].1), to == UpRev);
        assert_eq!(site.is_multi_rail(client, *server_nid), to == UpRev);
    }
    finish(site.world);
}

#[test]
fn a_down_rev_client_that_is_upgraded_becomes_multi_rail() {
    client_changes("upgrade of a client", DownRev, UpRev);
}

#[test]
fn a_multi_rail_client_that_is_downgraded_is_reached_on_its_one_nid() {
    client_changes("downgrade of a client", UpRev, DownRev);
}

/// Replaces routers by another version of themselves, one after the other, and checks.
fn routers_change(name: &str, from: Version, to: Version) {
    let mut site = Site::new(name, UpRev, UpRev, Some(from));
    site.load(1.0);
    site.succeeds();
    for (number, router) in site.routers.clone().into_iter().enumerate() {
        site.replace(router, router_spec(number as u32, to));
        site.load(1.0);
        site.succeeds();
    }
    site.check(UpRev, UpRev);
    finish(site.world);
}

#[test]
fn down_rev_routers_can_be_upgraded_one_after_the_other() {
    routers_change("upgrade of routers", DownRev, UpRev);
}

#[test]
fn routers_can_be_downgraded_one_after_the_other() {
    routers_change("downgrade of routers", UpRev, DownRev);
}
