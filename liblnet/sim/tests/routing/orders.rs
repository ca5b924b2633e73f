//! Every order in which messages, delivery ACKs and confirmations can arrive, and in which a router can die between them.

use super::cut_through::{LARGE, in_parts, nothing_is_kept};
use super::*;
use lnet_core::DiscoveryMode;
use lnet_sim::explore::{Actor, Explored, Scenario, explore};
use lnet_sim::{OpSpec, Order, Parts};

/// Maximum number of orders; beyond it as many random ones are tried. `LNET_SIM_ORDERS` sets another number. Tests whose
/// names say "every order" fail if there are more.
const MAX_ORDERS: usize = 3000;

/// The same where an order takes long.
const FEW_ORDERS: usize = 60;

fn most() -> usize {
    let given = std::env::var("LNET_SIM_ORDERS").ok().and_then(|text| text.parse().ok());
    given.unwrap_or(MAX_ORDERS)
}

fn quiet(nids: &[Nid]) -> NodeSpec {
    let settings = Settings { alive_router_check_interval: 0, ..Settings::default() };
    let spec = NodeSpec::new(nids).with_discovery(DiscoveryMode::Off);
    NodeSpec { first_ping: false, settings, ..spec }
}

/// Makes the routers, the client and the server, which do not discover.
fn build(world: &mut World) {
    for number in 0..2 {
        world.add_node(quiet(&[router(0, number), router(1, number)]).router());
    }
    let gateways = |on: u16| [router(on, 0), router(on, 1)];
    world.add_node(quiet(&[client()]).with_routes(net(1), &gateways(0)));
    world.add_node(quiet(&[server()]).with_routes(net(0), &gateways(1)));
}

fn config() -> WorldConfig {
    let network = NetworkConfig { order: Order::Chosen, ..network() };
    WorldConfig { network, ..WorldConfig::default() }
}

/// The state of the first router during the exchange.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Router {
    Lives,
    Dies,
    DiesAndComesBack,
}

/// Explores one operation of the client for each of these, with this state of the router.
fn explore_ops(asks: &'static [OpKind], router: Router) -> Explored {
    explore(
        &Scenario {
            name: "operations, and perhaps a router that dies",
            config: config(),
            build: &|world| {
                build(world);
                let mut actors = vec![asks.iter().fold(Actor::on(CLIENT), |actor, ask| {
                    actor.then(move |world| {
                        world.start_op(CLIENT, server(), *ask);
                    })
                })];
                let dies = || Actor::anywhere().then(|world| world.crash(ROUTERS[0]));
                match router {
                    Router::Lives => {}
                    Router::Dies => actors.push(dies()),
                    Router::DiesAndComesBack => actors.push(dies().then(|world| world.start(ROUTERS[0]))),
                }
                actors
            },
            check: &|world| {
                let (open, served) = (world.open_ops(), world.served());
                let failed = world.ops().iter().filter(|op| !op.succeeded()).count();
                world.expect(open == 0 && failed == 0 && served == asks.len() as u64, || {
                    format!("{open} open, {failed} failed, {served} served")
                });
            },
        },
        most(),
    )
    .unwrap_or_else(|broken| panic!("{broken}"))
}

fn in_every_order(asks: &'static [OpKind], router: Router) {
    let explored = explore_ops(asks, router);
    println!("{asks:?}: {explored:?}");
    assert!(explored.all && explored.orders > 1, "{asks:?}: {explored:?}");
}

fn in_sampled_orders(asks: &'static [OpKind], router: Router) {
    let explored = explore_ops(asks, router);
    println!("{asks:?}: {explored:?}");
    assert!(explored.orders > 1, "{asks:?}: {explored:?}");
}

#[test]
fn operations_pass_routers_in_every_order() {
    for asks in [&[OpKind::Put, OpKind::Put][..], &[OpKind::PutWithAck], &[OpKind::Get]] {
        in_every_order(asks, Router::Lives);
    }
}

#[test]
fn a_put_succeeds_wherever_a_router_dies_in_every_order() {
    in_every_order(&[OpKind::Put], Router::Dies);
}

#[test]
#[ignore = "takes minutes: make soak-routing"]
fn a_put_succeeds_wherever_a_router_dies_and_comes_back_in_every_order() {
    in_every_order(&[OpKind::Put], Router::DiesAndComesBack);
}

#[test]
fn a_put_and_a_get_pass_routers_in_sampled_orders() {
    in_sampled_orders(&[OpKind::PutWithAck, OpKind::Get], Router::Lives);
}

#[test]
fn an_operation_succeeds_wherever_a_router_dies_and_comes_back_in_sampled_orders() {
    for asks in [&[OpKind::Put][..], &[OpKind::PutWithAck], &[OpKind::Get]] {
        in_sampled_orders(asks, Router::DiesAndComesBack);
    }
}

/// Explores a large PUT that comes in two parts to a router, which sends it on meanwhile, and a fault of the client or of that router.
fn explore_large(fault: Option<NodeId>) -> Explored {
    let parts = Parts { size: LARGE as usize / 2, ..in_parts(0).parts.unwrap() };
    let network = NetworkConfig { order: Order::Chosen, parts: Some(parts), ..network() };
    let put = |world: &mut World, ask: OpKind| {
        world.start_op_with(CLIENT, server(), OpSpec { ask, bytes: LARGE, ..OpSpec::default() });
    };
    let explored = explore(
        &Scenario {
            name: "a large message, and perhaps the death of a node",
            config: WorldConfig { network, ..WorldConfig::default() },
            build: &|world| {
                for number in 0..2 {
                    world.add_node(quiet(&[router(0, number), router(1, number)]).router());
                }
                let gateways = |on: u16| [router(on, 0), router(on, 1)];
                let end = |nid: Nid, to: u16, on: u16| {
                    let spec = quiet(&[nid]).with_routes(net(to), &gateways(on));
                    NodeSpec { serves: LARGE, ..spec }
                };
                world.add_node(end(client(), 1, 0));
                world.add_node(end(server(), 0, 1));
                // The routers learn that the client is quick. The client receives no message from them, only confirmations.
                for _ in 0..2 {
                    put(world, OpKind::Put);
                    world.run_in_order();
                }
                let mut actors = vec![Actor::on(CLIENT).then(move |world| put(world, OpKind::Put))];
                actors.extend(fault.map(|node| Actor::anywhere().then(move |world| world.crash(node))));
                actors
            },
            check: &|world| {
                let (open, served) = (world.open_ops(), world.served());
                let failed = world.ops().iter().filter(|op| op.ended && !op.succeeded()).count();
                let arrives = fault != Some(CLIENT);
                world.expect(open == 0 && failed == 0 && (served == 3 || !arrives && served == 2), || {
                    format!("{open} open, {failed} failed, {served} served")
                });
                let begun = world.counts().begun_early;
                world.expect(fault.is_some() || begun == 1, || {
                    format!("{begun} are sent on while they arrive")
                });
                let kept = nothing_is_kept(world);
                world.expect(kept.is_ok(), || kept.err().unwrap_or_default());
            },
        },
        most().min(FEW_ORDERS),
    );
    explored.unwrap_or_else(|broken| panic!("{broken}"))
}

#[test]
fn a_large_message_that_is_sent_on_while_it_arrives_arrives_once_wherever_a_router_dies_in_sampled_orders() {
    for fault in [None, Some(ROUTERS[0])] {
        let explored = explore_large(fault);
        println!("{fault:?}: {explored:?}");
        assert!(explored.orders > usize::from(fault.is_some()), "{explored:?}");
    }
}

#[test]
fn a_large_message_whose_sender_dies_leaves_nothing_behind_in_sampled_orders() {
    let explored = explore_large(Some(CLIENT));
    println!("{explored:?}");
    assert!(explored.orders > 1, "{explored:?}");
}
