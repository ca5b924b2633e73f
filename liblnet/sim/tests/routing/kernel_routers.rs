//! Routers that confirm nothing, like the kernel's: messages that they had accepted when they died are lost, and no others.

use super::routers::{FAULTS, Fault};
use super::*;

/// Seconds after which both ends know the state of a router: they ping it every five seconds.
const KNOWN: f64 = 7.0;

/// Makes two ends and two routers, perhaps of a version without Multi-Rail.
fn kernel_site(name: &str, down_rev: bool) -> World {
    let network = NetworkConfig { delivery: Delivery::Kernel, ..network() };
    let config = WorldConfig { network, trace: 10_000, check_every: 20, ..WorldConfig::default() };
    let mut world = World::new(name, config);
    for number in 0..2 {
        let spec = spec(&[router(0, number), router(1, number)]).router();
        world.add_node(if down_rev { spec.down_rev() } else { spec });
    }
    let gateways = |on: u16| [router(on, 0), router(on, 1)];
    world.add_node(spec(&[client()]).with_routes(net(1), &gateways(0)));
    world.add_node(spec(&[server()]).with_routes(net(0), &gateways(1)));
    meet(&mut world);
    world
}

/// Whether both ends notice the fault: a fault on one side of a router, or in its forwarding alone, is hidden from the
/// other end.
fn is_seen_by_both_ends(fault: &Fault) -> bool {
    let of_one = ["nothing reaches a router from the client", "a router drops what it should forward"];
    !of_one.contains(&fault.0)
}

#[test]
fn nothing_comes_twice_and_nothing_fails_but_what_was_under_way_when_a_kernel_router_fails() {
    for (name, fault, end) in FAULTS.into_iter().filter(is_seen_by_both_ends) {
        for down_rev in [false, true] {
            let name = &format!("{name}, down-rev: {down_rev}");
            let mut world = kernel_site(name, down_rev);
            let before = load(&mut world, 0.5);
            pass(&mut world, 1.0);
            let under_way = load(&mut world, 0.1);
            fault(&mut world);
            let unknown = load(&mut world, KNOWN);
            let known = load(&mut world, 3.0);
            end(&mut world);
            let after = load(&mut world, 8.0);
            pass(&mut world, 120.0);
            if !world.is_sound() {
                world.finish().unwrap_or_else(|broken| panic!("{broken}"));
            }
            let failed = |ops: &[OpId]| -> Vec<Op> {
                ops.iter().map(|id| world.op(*id).unwrap()).filter(|op| !op.succeeded()).collect()
            };
            let counts = [&under_way, &unknown].map(|ops| failed(ops).len());
            println!("{name}: {counts:?} fail of {} and {}", under_way.len(), unknown.len());
            assert_eq!(world.doubled(), 0, "{name}");
            for (when, ops) in [("before", before), ("when it was known", known), ("after", after)] {
                let failed = failed(&ops);
                assert!(failed.is_empty(), "{name}: {} fail {when}, first {:?}", failed.len(), failed[0]);
            }
            finish(world);
        }
    }
}
