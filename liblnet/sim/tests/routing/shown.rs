//! The shown state of gateways and of the nodes behind them.

use super::*;
use lnet_core::health::Reachability::{self, Degraded, Reachable, Unreachable};

/// Returns the state that the client shows: whether each route is up, and the reachability of the server.
fn shown(world: &World) -> (Vec<bool>, Reachability) {
    let core = world.core(CLIENT).unwrap();
    let up = core.admin().routes().active().iter().map(|route| core.admin().route_is_up(route)).collect();
    (up, core.admin().reachability(server()).unwrap().state)
}

/// Makes a site with rare checks of gateways, so that a state shown in time does not come from those.
fn rarely_checked(name: &str, routers: u32) -> World {
    let mut world = site(name, routers, network());
    for node in [CLIENT, SERVER] {
        let rarely = |settings: &mut Settings| {
            settings.alive_router_check_interval = 600;
            Ok(())
        };
        world.with_core(node, |core| core.admin().change_settings(rarely)).unwrap().unwrap();
    }
    let ops = load(&mut world, 0.5);
    pass(&mut world, 5.0);
    all_succeeded(&mut world, &ops);
    world
}

/// Fails if an idle gateway that was killed is shown as up until its next check, or the server behind it as anything but
/// unreachable; or if the gateway is not found again.
#[test]
fn a_gateway_that_was_killed_is_shown_as_down_at_once_though_nothing_is_sent() {
    let mut world = rarely_checked("an idle gateway is killed", 1);
    assert_eq!(shown(&world), (vec![true], Reachable));
    world.crash(ROUTERS[0]);
    pass(&mut world, 3.0);
    assert_eq!(shown(&world), (vec![false], Unreachable));
    world.start(ROUTERS[0]);
    pass(&mut world, 15.0);
    assert_eq!(shown(&world), (vec![true], Reachable));
    finish(world);
}

/// Fails if the route by a dead gateway is shown as up for longer than messages need to reveal the fault.
#[test]
fn a_gateway_that_is_cut_off_or_stands_still_under_traffic_is_shown_as_down_within_seconds() {
    type Fault = fn(&mut World);
    let table: [(&str, Fault, Fault); 2] = [
        ("stands still", |world| world.freeze(ROUTERS[0]), |world| world.thaw(ROUTERS[0])),
        (
            "is cut off",
            |world| world.kill_interface(router(0, 0)),
            |world| world.heal_interface(router(0, 0)),
        ),
    ];
    for (what, breaks, heals) in table {
        for routers in [1, 2] {
            let mut world = rarely_checked(what, routers);
            breaks(&mut world);
            for _ in 0..12 {
                world.start_op(CLIENT, server(), OpKind::PutWithAck);
                pass(&mut world, 0.5);
            }
            let expected =
                if routers == 1 { (vec![false], Unreachable) } else { (vec![false, true], Degraded) };
            assert_eq!(shown(&world), expected, "{what}, {routers}");
            heals(&mut world);
            pass(&mut world, 30.0);
            assert_eq!(shown(&world), (vec![true; routers as usize], Reachable), "{what}, {routers}");
            pass(&mut world, 200.0);
            finish(world);
        }
    }
}

/// Fails if the gateway is blamed for a fault behind it, or the peer behind it is shown as reachable for ever.
#[test]
fn a_server_that_dies_behind_a_gateway_is_unreachable_once_a_message_to_it_has_come_back() {
    let mut world = rarely_checked("a server dies", 1);
    world.crash(SERVER);
    world.start_op(CLIENT, server(), OpKind::PutWithAck);
    pass(&mut world, 20.0);
    assert_eq!(shown(&world), (vec![true], Unreachable));
    world.start(SERVER);
    pass(&mut world, 60.0);
    world.start_op(CLIENT, server(), OpKind::PutWithAck);
    pass(&mut world, 10.0);
    assert_eq!(shown(&world), (vec![true], Reachable));
    finish(world);
}
