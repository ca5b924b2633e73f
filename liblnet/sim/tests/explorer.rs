//! The explorer tries all orders that differ, and can repeat each.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use lnet_core::DiscoveryMode;
use lnet_sim::explore::{Actor, Explored, Scenario, again, explore};
use lnet_sim::{NodeId, NodeSpec, OpKind, World, WorldConfig, nid};
use std::cell::RefCell;
use std::collections::BTreeSet;

fn plain(world: &mut World, nids: &[u32]) -> NodeId {
    let nids: Vec<_> = nids.iter().map(|address| nid(0, *address)).collect();
    let spec = NodeSpec::new(&nids).with_discovery(DiscoveryMode::Off);
    world.add_node(NodeSpec { first_ping: false, ..spec })
}

/// A third node serves the requests of two; only the order differs.
#[test]
fn both_orders_of_two_messages_to_one_node_are_tried_and_no_order_twice() {
    let seen = RefCell::new(Vec::new());
    let explored = explore(
        &Scenario {
            name: "two to one",
            config: WorldConfig::default(),
            build: &|world| {
                let c = plain(world, &[3]);
                let askers = [plain(world, &[1]), plain(world, &[2])];
                assert_eq!(c, NodeId(0));
                let actor = |node| {
                    Actor::on(node).then(move |world| {
                        world.start_op(node, nid(0, 3), OpKind::Put);
                    })
                };
                askers.map(actor).into()
            },
            check: &|world| {
                world.expect(false, String::new);
                let served = world.finish().unwrap_err().trace.into_iter();
                let order: Vec<String> = served.filter(|line| line.contains("gets     ")).collect();
                let order: Vec<String> = order.iter().map(|line| line[26..].to_owned()).collect();
                seen.borrow_mut().push(order);
            },
        },
        1000,
    )
    .unwrap();
    let seen = seen.into_inner();
    assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), 2, "{seen:#?}");
    assert_eq!((explored.orders, explored.all), (2, true));
}

#[test]
fn a_failure_in_some_orders_only_is_found_and_reproduced() {
    let scenario = Scenario {
        name: "overtaking",
        config: WorldConfig::default(),
        build: &|world| {
            let (a, b) = (plain(world, &[1]), plain(world, &[2]));
            // Messages take turns on the two.
            world.double_connections(a, b);
            vec![Actor::on(a).then(move |world| {
                for ask in [OpKind::Put, OpKind::Get] {
                    world.start_op(a, nid(0, 2), ask);
                }
            })]
        },
        check: &|world| {
            world.expect(false, String::new);
            let broken = world.finish().unwrap_err();
            let first = broken.trace.iter().find(|line| line.contains("gets     ")).unwrap();
            let overtaken = first.contains("GET");
            world.expect(!overtaken, || "overtaken".to_owned());
        },
    };
    let broken = explore(&scenario, 1000).unwrap_err();
    assert_eq!(broken.what, "overtaken");
    let path = broken.path.clone().unwrap();
    assert_eq!(again(&scenario, &path).unwrap_err(), broken);
    assert_eq!(again(&scenario, "0,1"), Ok(()));
}

#[test]
fn too_many_orders_are_sampled_at_random() {
    let explored = explore(
        &Scenario {
            name: "all to all",
            config: WorldConfig::default(),
            build: &|world| {
                let nodes: Vec<NodeId> = (1..=4).map(|address| plain(world, &[address])).collect();
                let actor = |node: NodeId| {
                    (1..=4).filter(|to| *to != node.0 + 1).fold(Actor::on(node), |actor, to| {
                        actor.then(move |world| {
                            world.start_op(node, nid(0, to), OpKind::PutWithAck);
                        })
                    })
                };
                nodes.into_iter().map(actor).collect()
            },
            check: &|world| {
                let (open, served) = (world.open_ops(), world.served());
                world.expect(open == 0 && served == 12, || format!("{open} open, {served} served"));
            },
        },
        50,
    )
    .unwrap();
    assert_eq!(explored, Explored { orders: 100, pruned: explored.pruned, all: false });
}
