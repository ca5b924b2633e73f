//! Worlds with NIDs of both address families: nodes with both, nodes with IPv4 NIDs that reach IPv6 NIDs, that know of them, or that do
//! not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use lnet_core::health::NiKind;
use lnet_core::stats::MessageOutcome;
use lnet_core::{DiscoveryMode, MAX_HEALTH, Time};
use lnet_sim::{
    Delivery, NetworkConfig, NodeId, NodeSpec, OpKind, Rail, World, WorldConfig, invariants, nid, nid6,
};
use lnet_wire::{NetId, Nid};
use std::time::Duration;

const A: NodeId = NodeId(0);
const B: NodeId = NodeId(1);
const C: NodeId = NodeId(2);

/// A kind of node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// IPv4 NIDs, of a version that does not know IPv6 NIDs.
    Old,
    /// IPv4 NIDs.
    V4,
    /// IPv4 NIDs, and interfaces that reach IPv6 NIDs.
    V4Reaching,
    /// An IPv4 NID, then an IPv6 NID.
    Both,
    /// An IPv6 NID, then an IPv4 NID.
    BothV6First,
    /// Both, and interfaces with IPv4 NIDs that reach IPv6 NIDs.
    BothReaching,
    V6,
}

use Kind::{Both, BothReaching, BothV6First, Old, V4, V4Reaching, V6};

const KINDS: [Kind; 7] = [Old, V4, V4Reaching, Both, BothV6First, BothReaching, V6];

fn spec(kind: Kind, host: u32) -> NodeSpec {
    let (v4, v6) = (nid(0, host), nid6(0, host));
    match kind {
        Old => NodeSpec::new(&[v4]).without_large_nids(),
        V4 => NodeSpec::new(&[v4]),
        V4Reaching => NodeSpec::new(&[v4]).reaching_ipv6(),
        Both => NodeSpec::new(&[v4, v6]),
        BothV6First => NodeSpec::new(&[v6, v4]),
        BothReaching => NodeSpec::new(&[v4, v6]).reaching_ipv6(),
        V6 => NodeSpec::new(&[v6]),
    }
}

fn world(name: &str, specs: &[NodeSpec]) -> World {
    let network = NetworkConfig { delivery: Delivery::Acked, ..NetworkConfig::default() };
    let mut world = World::new(name, WorldConfig { network, trace: 2000, ..WorldConfig::default() });
    for spec in specs {
        world.add_node(spec.clone());
    }
    world
}

fn pass(world: &mut World, millis: u64) {
    let then = Time(world.now().0 + Duration::from_millis(millis));
    world.run_until(then);
}

fn finish(mut world: World) {
    world.check_quiet();
    if let Err(broken) = world.finish() {
        panic!("{broken}");
    }
}

/// Each outcome of messages, and of health, that a path between families would leave behind.
fn nothing_was_paid(world: &World) {
    assert_eq!(world.counts().failed, 0, "messages came back");
    for node in world.node_ids() {
        let core = world.core(node).unwrap();
        invariants::healthy(&core).unwrap();
        for side in [NiKind::Local, NiKind::Peer] {
            assert_eq!(core.admin().recovery_queue(side).len(), 0, "{node}");
        }
        assert!(core.peer_nis().iter().all(|its| its.health() == MAX_HEALTH));
    }
}

fn sent_by(world: &World, node: NodeId, own: Nid) -> u64 {
    world.core(node).unwrap().nets().ni(own).unwrap().counters().read(MessageOutcome::Sent).messages()
}

#[test]
fn nodes_of_all_kinds_discover_each_other_at_once_and_pay_no_health_for_it() {
    for (one, other) in KINDS.into_iter().flat_map(|one| KINDS.map(|other| (one, other))) {
        let name = format!("{one:?} discovers {other:?}");
        let mut world = world(&name, &[spec(one, 1), spec(other, 2)]);
        let Some(to) = world.nids_reached(A, B).first().copied() else {
            let target = world.spec(B).unwrap().nids[0];
            let op = world.start_op(A, target, OpKind::PutWithAck).unwrap();
            pass(&mut world, 0);
            let outcome = world.op(op).unwrap().outcome();
            assert_eq!(outcome, Err(lnet_core::Errno::HostUnreachable), "{name}");
            assert_eq!(world.counts().messages(), 0, "{name}");
            continue;
        };
        let op = world.start_op(A, to, OpKind::PutWithAck).unwrap();
        pass(&mut world, 100);
        assert!(world.op(op).unwrap().succeeded(), "{name}: {:?}", world.op(op));
        world.check_agreement(A, B);
        for (node, peer) in [(A, B), (B, A)] {
            let (own, its) = (world.spec(node).unwrap().clone(), world.spec(peer).unwrap().clone());
            let known: Vec<Nid> = its
                .nids
                .iter()
                .copied()
                .filter(|nid| !own.lacks_large_nids() || nid.to_u64().is_some())
                .collect();
            // The primary NID is the first that is configured, whatever its family.
            assert_eq!(world.believed(node, known[0]), known, "{name}: {node}");
            assert_eq!(world.core(node).unwrap().admin().peers().len(), 1, "{name}: {node}");
        }
        // Both ways, by every NID: requests to a NID of a known peer go by the best path, whichever was named.
        let mut ops = Vec::new();
        for (node, peer) in [(A, B), (B, A)] {
            let nids = world.believed(node, world.nids_reached(peer, node).first().copied().unwrap_or(to));
            let nids = if nids.is_empty() { world.spec(peer).unwrap().nids.clone() } else { nids };
            let known = nids.into_iter().filter(|nid| !world.believed(node, *nid).is_empty());
            for nid in known.collect::<Vec<_>>() {
                for ask in [OpKind::PutWithAck, OpKind::Get, OpKind::Put, OpKind::PutWithAck] {
                    ops.extend(world.start_op(node, nid, ask));
                    pass(&mut world, 5);
                }
            }
        }
        pass(&mut world, 100);
        assert!(ops.iter().all(|op| world.op(*op).unwrap().succeeded()), "{name}");
        nothing_was_paid(&world);
        finish(world);
    }
}

#[test]
fn a_peer_discovered_by_its_ipv6_nid_is_renamed_to_its_primary_ipv4_nid() {
    let mut world = world("v6 first", &[spec(Both, 1), spec(Both, 2)]);
    let first = world.believed(A, nid6(0, 2));
    assert!(first.is_empty());
    world.discover(A, nid6(0, 2), false);
    pass(&mut world, 100);
    assert_eq!(world.believed(A, nid6(0, 2)), [nid(0, 2), nid6(0, 2)]);
    assert_eq!(world.believed(B, nid6(0, 1)), [nid(0, 1), nid6(0, 1)]);
    finish(world);
}

#[test]
fn a_node_that_gains_and_loses_a_family_tells_its_peers() {
    let mut world = world("a family comes and goes", &[spec(V4Reaching, 1), spec(V4, 2)]);
    world.start_op(A, nid(0, 2), OpKind::PutWithAck);
    pass(&mut world, 100);
    world.add_ni(B, nid6(0, 2));
    pass(&mut world, 100);
    assert_eq!(world.believed(A, nid(0, 2)), [nid(0, 2), nid6(0, 2)]);
    world.add_ni(A, nid6(0, 1));
    pass(&mut world, 100);
    let before = sent_by(&world, A, nid6(0, 1));
    for _ in 0..10 {
        world.start_op(A, nid(0, 2), OpKind::Get);
        pass(&mut world, 5);
    }
    assert_eq!(sent_by(&world, A, nid6(0, 1)) - before, 5, "rails of both families take turns");
    world.remove_ni(B, nid(0, 2));
    pass(&mut world, 100);
    assert_eq!(world.believed(A, nid6(0, 2)), [nid6(0, 2)]);
    let op = world.start_op(A, nid6(0, 2), OpKind::PutWithAck).unwrap();
    pass(&mut world, 100);
    assert!(world.op(op).unwrap().succeeded());
    nothing_was_paid(&world);
    finish(world);
}

/// Rail 0 has the IPv4 NIDs, rail 1 the IPv6 NIDs.
#[test]
fn operations_move_to_the_other_family_when_the_rail_of_one_fails_and_back_when_it_recovers() {
    for failing in [0, 1] {
        let mut world = world("a rail of one family fails", &[spec(Both, 1), spec(Both, 2)]);
        for host in [1, 2] {
            world.attach(nid(0, host), Rail(0));
            world.attach(nid6(0, host), Rail(1));
        }
        world.start_op(A, nid(0, 2), OpKind::PutWithAck);
        pass(&mut world, 100);
        world.kill_rail(Rail(failing));
        let mut ops = Vec::new();
        for _ in 0..40 {
            for (node, to) in [(A, nid(0, 2)), (A, nid6(0, 2)), (B, nid(0, 1)), (B, nid6(0, 1))] {
                ops.extend(world.start_op(node, to, OpKind::PutWithAck));
            }
            pass(&mut world, 100);
        }
        pass(&mut world, 20_000);
        assert!(ops.iter().all(|op| world.op(*op).unwrap().succeeded()), "rail {failing}");
        world.heal_rail(Rail(failing));
        pass(&mut world, 120_000);
        let own = [nid(0, 1), nid6(0, 1)][usize::from(failing)];
        let before = sent_by(&world, A, own);
        for _ in 0..20 {
            world.start_op(A, nid(0, 2), OpKind::PutWithAck);
            pass(&mut world, 10);
        }
        assert!(sent_by(&world, A, own) > before, "rail {failing} is used again");
        finish(world);
    }
}

/// B is on `tcp` with IPv4, C on `tcp1` with IPv6, A the router between them, which is there first.
#[test]
fn a_router_forwards_between_an_ipv4_net_and_an_ipv6_net() {
    let net = |number| -> NetId { nid(number, 1).net() };
    let (client, server) = (nid(0, 1), nid6(1, 3));
    let (router_v4, router_v6) = (nid(0, 2), nid6(1, 2));
    for (discovery, second_nids) in
        [(DiscoveryMode::On, false), (DiscoveryMode::Off, false), (DiscoveryMode::On, true)]
    {
        let mut nids = vec![router_v4, router_v6];
        // A router with both families on both nets.
        nids.extend(second_nids.then_some([nid6(0, 2), nid(1, 2)]).into_iter().flatten());
        let mut world = world(
            "a router between families",
            &[
                NodeSpec::new(&nids).router().with_discovery(discovery),
                NodeSpec::new(&[client]).with_routes(net(1), &[router_v4]).with_discovery(discovery),
                NodeSpec::new(&[server]).with_routes(net(0), &[router_v6]).with_discovery(discovery),
            ],
        );
        pass(&mut world, 2000);
        let mut ops = Vec::new();
        for _ in 0..20 {
            for ask in [OpKind::Put, OpKind::PutWithAck, OpKind::Get] {
                ops.extend(world.start_op(B, server, ask));
                ops.extend(world.start_op(C, client, ask));
            }
            pass(&mut world, 20);
        }
        pass(&mut world, 2000);
        assert!(ops.iter().all(|op| world.op(*op).unwrap().succeeded()), "{discovery:?}");
        nothing_was_paid(&world);
        if let Err(broken) = world.finish() {
            panic!("{broken}");
        }
    }
}

#[test]
fn a_mixed_cluster_talks_all_to_all_and_pays_no_health() {
    let kinds = [Old, V4, V4Reaching, Both, BothV6First, BothReaching, Old, Both];
    let specs: Vec<NodeSpec> = kinds.into_iter().zip(1..).map(|(kind, host)| spec(kind, host)).collect();
    let mut world = world("a mixed cluster", &specs);
    let nodes: Vec<NodeId> = world.node_ids().collect();
    let mut ops = Vec::new();
    for round in 0..6 {
        for (node, other) in nodes.iter().flat_map(|node| nodes.iter().map(move |other| (*node, *other))) {
            let reached = world.nids_reached(node, other);
            if let Some(to) = reached.get(round % reached.len().max(1)).copied().filter(|_| node != other) {
                ops.extend(world.start_op(node, to, [OpKind::PutWithAck, OpKind::Get][round % 2]));
            }
        }
        pass(&mut world, 200);
    }
    pass(&mut world, 1000);
    let failed = ops.iter().find(|op| !world.op(**op).unwrap().succeeded());
    assert!(failed.is_none(), "{:?}", failed.map(|op| world.op(*op)));
    for (a, b) in nodes.iter().flat_map(|a| nodes.iter().map(move |b| (*a, *b))).filter(|(a, b)| a < b) {
        world.check_agreement(a, b);
    }
    nothing_was_paid(&world);
    finish(world);
}
