//! No path is left: each operation reports that in time, and the log reports it once.

use super::*;
use crate::logged::{Line, listen, take};
use lnet_core::Errno;

/// Maximum duration of an operation in seconds: one and a half times the transaction timeout, because a driver may have
/// just begun with it at its deadline.
const BOUND: f64 = 75.0;

/// A permanent fault of the routers: its name, and the function that causes it.
type End = (&'static str, fn(&mut World));

const ENDS: [End; 4] = [
    ("both routers die", |world| ROUTERS.into_iter().for_each(|router| world.crash(router))),
    ("both routers stand still", |world| ROUTERS.into_iter().for_each(|router| world.freeze(router))),
    ("nothing reaches the routers", |world| {
        (0..2).for_each(|number| {
            world.kill_interface(router(0, number));
            world.kill_interface(router(1, number));
        });
    }),
    ("both routers drop what they should forward", |world| {
        for router in ROUTERS {
            world.with_core(router, |core| {
                core.admin().change_router(|router| router.switched(false).stopped())
            });
        }
    }),
];

/// Returns the lines of this class about `net`.
fn lines(class: &str, net: NetId) -> Vec<String> {
    let (target, subject) = (format!("lnet::{class}"), format!("net {net}:"));
    let is_one = |line: &Line| line.target == target && line.text.starts_with(&subject);
    take().into_iter().filter(is_one).map(|line| line.text).collect()
}

/// Checks that the operations ended within the bound; returns the results in their SEND events.
fn sent_in_time(world: &World, ops: &[OpId]) -> Vec<Result<(), Errno>> {
    let of_one = |id: &OpId| {
        let op = world.op(*id).unwrap();
        let took = op.left.unwrap_or_else(|| panic!("{op:?} has not left")).since(op.started).as_secs_f64();
        assert!(op.ended && took < BOUND, "{op:?} took {took} s");
        op.sent.unwrap()
    };
    ops.iter().map(of_one).collect()
}

#[test]
fn without_any_router_each_operation_ends_with_ehostunreach_in_time_and_the_log_says_so_once() {
    for routers in 1..=2 {
        for delivery in [Delivery::Acked, Delivery::Kernel] {
            for (name, end) in ENDS {
                let name = &format!("{name} ({routers} gateways, {delivery:?})");
                listen();
                let mut world = site(name, routers, NetworkConfig { delivery, ..network() });
                let before = load(&mut world, 0.5);
                pass(&mut world, 2.0);
                take();
                // Operations under way when the fault begins.
                let mut ops: Vec<OpId> =
                    ASKS.iter().filter_map(|ask| world.start_op(CLIENT, server(), *ask)).collect();
                end(&mut world);
                for _ in 0..5 {
                    ops.extend(ASKS.iter().filter_map(|ask| world.start_op(CLIENT, server(), *ask)));
                    pass(&mut world, 2.0);
                }
                pass(&mut world, 120.0);
                let sent = sent_in_time(&world, &ops);
                // A message that the socket of a router has taken counts as sent there, until the router reports that it
                // does not forward; a message under way when its connection ended fails at once.
                let is_right = |(place, sent): (usize, &Result<(), Errno>)| match sent {
                    Err(Errno::HostUnreachable) => true,
                    Err(Errno::ConnectionReset) => delivery == Delivery::Kernel && place < ASKS.len(),
                    Err(_) => false,
                    Ok(()) => delivery == Delivery::Kernel,
                };
                assert!(sent.iter().enumerate().all(is_right), "{name}: {sent:?}");
                let last = sent.iter().skip(sent.len() / 2);
                assert!(last.copied().all(|sent| sent == Err(Errno::HostUnreachable)), "{name}: {sent:?}");
                let said = lines("net_unreachable", net(1));
                assert_eq!(said.len(), 1, "{name}: {said:?}");
                assert!(before.iter().all(|op| world.op(*op).unwrap().succeeded()), "{name}");
                finish(world);
            }
        }
    }
}

/// An operation that fails while a router works is not reported as unroutable.
#[test]
fn an_operation_to_a_dead_server_behind_a_router_that_works_is_not_for_want_of_a_way() {
    listen();
    let mut world = site("a dead server", 1, network());
    // The router hears another node on that net.
    world.add_node(spec(&[nid(1, 2)]).with_routes(net(0), &[router(1, 0)]));
    meet(&mut world);
    world.crash(SERVER);
    take();
    let ops: Vec<OpId> = ASKS.iter().filter_map(|ask| world.start_op(CLIENT, server(), *ask)).collect();
    pass(&mut world, 120.0);
    let sent = sent_in_time(&world, &ops);
    assert!(sent.iter().all(|sent| *sent == Err(Errno::TimedOut)), "{sent:?}");
    assert_eq!(lines("net_unreachable", net(1)), Vec::<String>::new());
    finish(world);
}
