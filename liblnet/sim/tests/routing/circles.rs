//! Routers whose routes lead to each other.

use super::*;
use crate::logged::{listen, take};
use lnet_core::stats::MessageOutcome;

/// Fails if messages circulate between the two routers until they hold all credits, so that no other message passes.
#[test]
fn messages_that_two_routers_send_to_each_other_are_dropped_and_do_not_stop_others() {
    listen();
    let config = WorldConfig { network: network(), trace: 10_000, check_every: 20, ..WorldConfig::default() };
    let mut world = World::new("a circle", config);
    let routers = [0, 1].map(|number| spec(&[router(0, number), router(1, number)]));
    let [one, other] = routers;
    // Each believes that the other leads on.
    world.add_node(one.with_routes(net(2), &[router(1, 1)]).router());
    world.add_node(other.with_routes(net(2), &[router(0, 0)]).router());
    let both = [net(1), net(2)].map(|to| spec(&[]).with_routes(to, &[router(0, 0)]).routes[0]);
    world.add_node(NodeSpec { routes: both.to_vec(), ..spec(&[client()]) });
    world.add_node(spec(&[server()]).with_routes(net(0), &[router(1, 0)]));
    meet(&mut world);
    take();
    let nobody = nid(2, 1);
    let lost: Vec<OpId> = (0..40).filter_map(|at| world.start_op(CLIENT, nobody, ASKS[at % 3])).collect();
    pass(&mut world, 5.0);
    // Meanwhile.
    let ops: Vec<OpId> = (0..30).filter_map(|at| world.start_op(CLIENT, server(), ASKS[at % 3])).collect();
    pass(&mut world, 5.0);
    assert!(ops.iter().all(|op| world.op(*op).unwrap().succeeded()));
    pass(&mut world, 80.0);
    for op in lost.iter().map(|op| world.op(*op).unwrap()) {
        assert!(op.ended && op.sent.is_some_and(|sent| sent.is_err()), "{op:?}");
    }
    for router in ROUTERS {
        let core = world.core(router).unwrap();
        let forwarded = core.admin().forwarded().messages;
        println!("{router}: forwarded {forwarded}");
        assert!(forwarded < lost.len() as u64 * 200, "{forwarded} messages were forwarded");
        let buffers = core.admin().router_buffers(0).unwrap();
        assert!(buffers.iter().all(|pool| pool.credits == pool.buffers as i32), "{buffers:?}");
    }
    let dropped = |router| {
        let nets = world.core(router).unwrap().nets();
        nets.nis().map(|ni| ni.counters().read(MessageOutcome::Dropped).messages()).sum::<u64>()
    };
    assert!(dropped(ROUTERS[0]) >= lost.len() as u64);
    let said = take();
    let lines: Vec<_> = said.iter().filter(|line| line.text.contains("it goes in a circle")).collect();
    assert!(!lines.is_empty() && lines.iter().all(|line| line.target == "lnet::message_dropped"));
    finish(world);
}
