//! Tests with one or two routers, and their faults.

use super::*;
use lnet_core::DiscoveryMode;
use lnet_core::policy::{Action, Rule};
use lnet_core::stats::MessageOutcome;

#[test]
fn operations_pass_a_router_both_ways() {
    for delivery in [Delivery::Socket, Delivery::Kernel, Delivery::Acked] {
        let mut world = site("a router", 1, NetworkConfig { delivery, ..network() });
        let ops = load(&mut world, 1.0);
        pass(&mut world, 5.0);
        all_succeeded(&mut world, &ops);
        finish(world);
    }
}

/// Fails if the nets of a gateway are not known without discovery: a route of one hop would be excluded (RT-24).
#[test]
fn operations_pass_a_router_by_routes_of_one_hop_without_discovery() {
    let config = WorldConfig { network: network(), trace: 10_000, check_every: 20, ..WorldConfig::default() };
    let mut world = World::new("one hop without discovery", config);
    for number in 0..2 {
        world.add_node(spec(&[router(0, number), router(1, number)]).router());
    }
    for (nid, to, on) in [(client(), net(1), 0), (server(), net(0), 1)] {
        let gateways = [0, 1].map(|number| router(on, number));
        let mut its = spec(&[nid]).with_routes(to, &gateways).with_discovery(DiscoveryMode::Off);
        its.routes.iter_mut().for_each(|route| route.hops = Some(1));
        world.add_node(its);
    }
    meet(&mut world);
    let ops = load(&mut world, 1.0);
    pass(&mut world, 5.0);
    all_succeeded(&mut world, &ops);
    // A router that says that it has no interface on the other net is not used.
    world.kill_interface(router(1, 0));
    world.set_link_state(ROUTERS[0], router(1, 0), false);
    pass(&mut world, 60.0);
    let mut ops = Vec::new();
    for _ in 0..20 {
        ops.extend(world.start_op(CLIENT, server(), OpKind::Get));
        pass(&mut world, 0.02);
    }
    pass(&mut world, 60.0);
    let failed = ops.iter().filter(|id| !world.op(**id).unwrap().succeeded()).count();
    assert_eq!(failed, 0, "of {}", ops.len());
    finish(world);
}

#[test]
fn operations_pass_two_routers_one_behind_the_other() {
    let config = WorldConfig { network: network(), trace: 10_000, check_every: 20, ..WorldConfig::default() };
    let mut world = World::new("two hops", config);
    world.add_node(spec(&[nid(0, 100), nid(1, 100)]).with_routes(net(2), &[nid(1, 101)]).router());
    world.add_node(spec(&[nid(1, 101), nid(2, 101)]).with_routes(net(0), &[nid(1, 100)]).router());
    world.add_node(spec(&[client()]).with_routes(net(2), &[nid(0, 100)]));
    world.add_node(spec(&[nid(2, 1)]).with_routes(net(0), &[nid(2, 101)]));
    meet(&mut world);
    let mut ops = Vec::new();
    for _ in 0..50 {
        for ask in ASKS {
            ops.extend(world.start_op(CLIENT, nid(2, 1), ask));
            ops.extend(world.start_op(SERVER, client(), ask));
        }
        pass(&mut world, 0.02);
    }
    pass(&mut world, 5.0);
    all_succeeded(&mut world, &ops);
    finish(world);
}

/// A fault of a router: its name, and the functions that cause and end it.
pub(super) type Fault = (&'static str, fn(&mut World), fn(&mut World));

pub(super) const FAULTS: [Fault; 7] = [
    ("a router dies", |world| world.crash(ROUTERS[0]), |world| world.start(ROUTERS[0])),
    ("a router stands still", |world| world.freeze(ROUTERS[0]), |world| world.thaw(ROUTERS[0])),
    (
        "nothing reaches a router",
        |world| (0..2).for_each(|net| world.kill_interface(router(net, 0))),
        |world| (0..2).for_each(|net| world.heal_interface(router(net, 0))),
    ),
    (
        "nothing reaches a router from the client",
        |world| world.kill_interface(router(0, 0)),
        |world| world.heal_interface(router(0, 0)),
    ),
    (
        "a router has no link to the server",
        |world| {
            world.kill_interface(router(1, 0));
            world.set_link_state(ROUTERS[0], router(1, 0), false);
        },
        |world| {
            world.heal_interface(router(1, 0));
            world.set_link_state(ROUTERS[0], router(1, 0), true);
        },
    ),
    (
        "a router drops what it should forward",
        |world| {
            world.with_core(ROUTERS[0], |core| {
                core.admin().change_router(|router| router.switched(false).stopped())
            });
        },
        |world| {
            world.with_core(ROUTERS[0], |core| core.admin().change_router(|router| router.switched(true)));
        },
    ),
    (
        "a router forwards no more",
        |world| {
            world.with_core(ROUTERS[0], |core| core.admin().change_router(|router| router.switched(false)));
        },
        |world| {
            world.with_core(ROUTERS[0], |core| core.admin().change_router(|router| router.switched(true)));
        },
    ),
];

/// Fails if an operation is lost, comes twice, or fails though another router lives.
#[test]
fn nothing_is_lost_doubled_or_failed_while_one_router_works() {
    for (name, fault, end) in FAULTS {
        let mut world = site(name, 2, network());
        let mut ops = load(&mut world, 0.5);
        fault(&mut world);
        ops.extend(load(&mut world, 5.0));
        end(&mut world);
        ops.extend(load(&mut world, 5.0));
        pass(&mut world, 60.0);
        let longest = all_succeeded(&mut world, &ops);
        println!("{name}: {} operations, the longest took {longest:.3} s", ops.len());
        assert!(longest < 5.0, "{name}: {longest} s");
        finish(world);
    }
}

#[test]
fn routers_that_die_one_after_the_other_cost_nothing() {
    let mut world = site("routers in turn", 2, network());
    let mut ops = load(&mut world, 0.5);
    for turn in 0..6 {
        world.crash(ROUTERS[turn % 2]);
        ops.extend(load(&mut world, 1.0));
        world.start(ROUTERS[turn % 2]);
        ops.extend(load(&mut world, 8.0));
    }
    pass(&mut world, 60.0);
    all_succeeded(&mut world, &ops);
    finish(world);
}

/// There is a single router: messages in flight when it fails wait for it.
#[test]
fn operations_wait_for_the_only_router_to_come_back() {
    let mut world = site("the only router", 1, network());
    let mut ops = load(&mut world, 0.5);
    world.crash(ROUTERS[0]);
    pass(&mut world, 2.0);
    world.start(ROUTERS[0]);
    pass(&mut world, 20.0);
    ops.extend(load(&mut world, 0.5));
    pass(&mut world, 60.0);
    all_succeeded(&mut world, &ops);
    finish(world);
}

#[test]
fn messages_wait_for_buffers_of_a_router_that_has_few() {
    let config = WorldConfig { network: network(), trace: 10_000, check_every: 20, ..WorldConfig::default() };
    let mut world = World::new("few buffers", config);
    let few = NodeSpec { forwards: Some([1; 3]), ..spec(&[router(0, 0), router(1, 0)]) };
    world.add_node(few.clone());
    world.add_node(NodeSpec { nids: vec![router(0, 1), router(1, 1)], ..few });
    world.add_node(spec(&[client()]).with_routes(net(1), &[router(0, 0)]));
    world.add_node(spec(&[server()]).with_routes(net(0), &[router(1, 0)]));
    meet(&mut world);
    let mut ops = Vec::new();
    for _ in 0..100 {
        ops.extend(world.start_op(CLIENT, server(), OpKind::PutWithAck));
        ops.extend(world.start_op(SERVER, client(), OpKind::Get));
    }
    pass(&mut world, 10.0);
    all_succeeded(&mut world, &ops);
    assert!(world.counts().holds > 0, "no message had to wait");
    finish(world);
}

#[test]
fn routes_come_and_go_under_traffic() {
    let mut world = site("routes come and go", 2, network());
    let mut ops = load(&mut world, 0.5);
    for turn in 0..20 {
        let gateway = router(0, turn % 2);
        world.with_core(CLIENT, |core| core.admin().delete_routes(Some(net(1)), Some(gateway)));
        ops.extend(load(&mut world, 0.1));
        let route = spec(&[client()]).with_routes(net(1), &[gateway]).routes[0];
        world.with_core(CLIENT, |core| core.admin().add_route(route));
        ops.extend(load(&mut world, 0.1));
    }
    pass(&mut world, 30.0);
    all_succeeded(&mut world, &ops);
    finish(world);
}

/// RT-30: fails if a gateway is only pinged on the net that messages take, which a rule prefers.
#[test]
fn a_gateway_is_checked_on_each_net_that_it_shares_with_the_client() {
    let config = WorldConfig { network: network(), trace: 10_000, check_every: 20, ..WorldConfig::default() };
    let mut world = World::new("a gateway on two nets", config);
    let gateway = [router(0, 0), router(1, 0), router(2, 0)];
    world.add_node(spec(&gateway).router());
    let on_both = spec(&[client(), nid(2, 1)]).with_routes(net(1), &gateway[..1]);
    let client = world.add_node(on_both);
    pass(&mut world, 5.0);
    let (src, action) = (Some("tcp".parse().unwrap()), Action::Priority(0));
    let prefer = Rule::new(src, None, None, action);
    world.with_core(client, |core| core.admin().add_rule(prefer, None).unwrap());
    let received = |world: &World| {
        let core = world.core(client).unwrap();
        let peer_ni = core.peer_nis().into_iter().find(|its| its.nid() == gateway[2]).unwrap();
        peer_ni.counters().read(MessageOutcome::Received).messages()
    };
    let before = received(&world);
    pass(&mut world, 50.0);
    let count = received(&world) - before;
    // The REPLY to a ping, and the ACK to a push.
    assert!((18..=22).contains(&count), "{count} messages in ten intervals");
    finish(world);
}
