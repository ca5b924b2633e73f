//! Every order in which messages, delivery ACKs and confirmations can arrive, and a router can die between them.

use super::*;
use lnet_core::DiscoveryMode;
use lnet_sim::Order;
use lnet_sim::explore::{Actor, Explored, Scenario, explore};

/// Orders beyond these are sampled at random, as many again; `LNET_SIM_ORDERS` has another number.
const MOST: usize = 3000;

fn most() -> usize {
    let given = std::env::var("LNET_SIM_ORDERS").ok().and_then(|text| text.parse().ok());
    given.unwrap_or(MOST)
}

fn quiet(nids: &[Nid]) -> NodeSpec {
    let settings = Settings { alive_router_check_interval: 0, ..Settings::default() };
    let spec = NodeSpec::new(nids).with_discovery(DiscoveryMode::Off);
    NodeSpec { first_ping: false, settings, ..spec }
}

/// The routers, the client and the server, who discover nobody.
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

/// One operation of the client for each of these, and perhaps a router that dies and comes back.
fn explore_ops(name: &'static str, asks: &'static [OpKind], dies: bool) -> Explored {
    explore(
        &Scenario {
            name,
            config: config(),
            build: &|world| {
                build(world);
                let mut actors = vec![asks.iter().fold(Actor::on(CLIENT), |actor, ask| {
                    actor.then(move |world| {
                        world.start_op(CLIENT, server(), *ask);
                    })
                })];
                if dies {
                    actors.push(
                        Actor::anywhere()
                            .then(|world| world.crash(ROUTERS[0]))
                            .then(|world| world.start(ROUTERS[0])),
                    );
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

#[test]
fn a_put_and_a_get_pass_routers_in_every_order() {
    let explored = explore_ops("two operations", &[OpKind::PutWithAck, OpKind::Get], false);
    println!("{explored:?}");
    assert!(explored.orders > 1);
}

#[test]
fn one_operation_succeeds_wherever_a_router_dies_between_arriving_messages() {
    for asks in [&[OpKind::Put][..], &[OpKind::PutWithAck], &[OpKind::Get]] {
        let explored = explore_ops("an operation, and a router that dies", asks, true);
        println!("{asks:?}: {explored:?}");
        assert!(explored.orders > 1);
    }
}
