//! The whole node while a rail is dead: the delay of new operations, whatever happens to those that were in flight.

use super::*;

/// Interval in seconds at which another operation begins, whether or not one of those under way has ended.
const INTERVAL: f64 = 0.05;
/// Interval in seconds at which the load checks for ended operations.
const TURN: f64 = 0.004;

/// Keeps `rpcs` operations of each node in flight, and begins one more each [`INTERVAL`]. Returns the operations of A and
/// those of B.
fn closed_loops(world: &mut World, rpcs: usize, seconds: f64) -> [Vec<OpId>; 2] {
    let (mut all, mut under_way) = ([Vec::new(), Vec::new()], [Vec::<OpId>::new(), Vec::new()]);
    let until = world.now() + Duration::from_secs_f64(seconds);
    let mut next = world.now();
    while world.now() < until && world.is_sound() {
        let is_due = world.now() >= next;
        for (node, to) in [(A, b(1)), (B, a(1))] {
            let (all, under_way) = (&mut all[node.0 as usize], &mut under_way[node.0 as usize]);
            under_way.retain(|id| op(world, *id).end.is_none());
            let begins = rpcs.saturating_sub(under_way.len()) + usize::from(is_due);
            for _ in 0..begins {
                let ask = [OpKind::PutWithAck, OpKind::Get][all.len() % 2];
                let id = world.start_op(node, to, ask).unwrap();
                all.push(id);
                if under_way.len() < rpcs {
                    under_way.push(id);
                }
            }
        }
        if is_due {
            next = world.now() + Duration::from_secs_f64(INTERVAL);
        }
        pass(world, TURN);
    }
    all
}

/// Returns the longest time, in seconds, from the beginning of an operation until one has succeeded that began later.
fn longest_until_new_success(world: &World, ops: &[OpId]) -> f64 {
    let (mut next_success, mut longest) = (f64::INFINITY, 0.0_f64);
    let last = op(world, ops[ops.len() - 1]).started;
    for id in ops.iter().rev() {
        let op = op(world, *id);
        if op.started < last && next_success < f64::INFINITY {
            longest = longest.max(next_success - op.started.0.as_secs_f64());
        }
        if let Some(end) = op.end.filter(|_| op.succeeded()) {
            next_success = next_success.min(end.0.as_secs_f64());
        }
    }
    longest
}

/// Returns the longest time, in seconds, without any success.
fn longest_gap(world: &World, ops: &[OpId]) -> f64 {
    let succeeded = ops.iter().map(|id| op(world, *id)).filter(Op::succeeded);
    let mut ends: Vec<f64> = succeeded.filter_map(|op| Some(op.end?.0.as_secs_f64())).collect();
    ends.sort_by(f64::total_cmp);
    ends.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max)
}

/// Cuts all paths to the second of two subnets, each with one rail. Of the paths between the subnets, two then work in one
/// direction only.
fn cut_subnet(world: &mut World) {
    for (from, to) in [(a(2), b(2)), (b(2), a(2)), (a(1), b(2)), (b(1), a(2))] {
        world.cut_pair(from, to);
    }
}

/// A kernel peer keeps messages that it may have received: soon all messages in flight to it are on dead paths. If more are
/// in flight than the peer has credits, messages on a dead path must not keep the credits from those that wait.
#[test]
fn new_operations_do_not_wait_until_a_dead_path_is_found_unresponsive() {
    type Fault = fn(&mut World);
    // (fault, operations of each node under way at once, seconds that it lasts)
    let table: [(&str, Fault, usize, f64); 6] = [
        ("a dead rail", |world| world.kill_rail(rail(2)), 8, 20.0),
        ("a dead rail", |world| world.kill_rail(rail(2)), 24, 2.0),
        ("a dead subnet", cut_subnet, 24, 2.0),
        ("an interface that receives nothing", |world| world.block_rx(b(2)), 24, 2.0),
        ("an interface that sends nothing", |world| world.block_tx(b(2)), 8, 2.0),
        ("an interface that sends nothing", |world| world.block_tx(b(2)), 24, 2.0),
    ];
    for (delivery, row) in
        [Delivery::Acked, Delivery::Kernel].iter().flat_map(|it| table.map(|row| (*it, row)))
    {
        let (fault, breaks, rpcs, seconds) = row;
        let what = format!("{delivery:?}, {fault}, {rpcs} RPCs");
        let latency = Duration::from_micros(1500);
        let mut world = Pair { delivery, latency, ..Pair::default() }.meet(&what);
        let before = closed_loops(&mut world, rpcs, 0.1);
        breaks(&mut world);
        let after = closed_loops(&mut world, rpcs, seconds);
        world.heal();
        pass(&mut world, 60.0);
        for (mut ops, later) in before.into_iter().zip(after) {
            ops.extend(later);
            let (gap, new) = (longest_gap(&world, &ops), longest_until_new_success(&world, &ops));
            println!("{what}: {} operations, the node {gap:.3} s, new ones {new:.3} s", ops.len());
            // A path is checked every 250 ms, and found unresponsive after a second.
            assert!(new < 0.6 && gap < 0.6, "{what}: {new} s, {gap} s");
        }
        finish(world);
    }
}

/// A late response affects the choice between paths only.
#[test]
fn a_late_path_costs_no_message_and_no_health() {
    for delivery in [Delivery::Acked, Delivery::Kernel] {
        let mut world = Pair { delivery, ..Pair::default() }.meet("a rail that is late for a moment");
        let mut ops = load(&mut world, 0.5);
        world.kill_rail(rail(2));
        // The load lasts for less time than it takes to find the path unresponsive.
        ops.extend(load(&mut world, 0.6));
        world.heal();
        ops.extend(load(&mut world, 1.0));
        pass(&mut world, 10.0);
        all_succeeded(&world, &ops);
        let core = world.core(A).unwrap();
        assert_eq!(core.admin().health_totals().resends, 0, "{delivery:?}");
        assert!([a(1), a(2)].iter().all(|nid| own_health(&world, A, *nid) == 1000));
        assert!([b(1), b(2)].iter().all(|nid| peer_health(&world, A, *nid) == 1000));
        assert_eq!(core.admin().unresponsive_paths(b(1)), []);
        finish(world);
    }
}

/// The lines are those about the first resend, the degraded peer, and, if the fault lasts, the state of the NI.
#[test]
fn one_dead_rail_writes_at_most_three_lines_on_each_node_at_the_default_level() {
    for delivery in [Delivery::Acked, Delivery::Kernel] {
        let mut world = Pair { delivery, ..Pair::default() }.meet("the lines of one incident");
        load(&mut world, 0.5);
        logged::listen();
        world.kill_rail(rail(2));
        load(&mut world, 20.0);
        let lines = logged::take();
        let shown: Vec<&str> = lines
            .iter()
            .filter(|line| line.level <= log::Level::Warn)
            .map(|line| line.text.as_str())
            .collect();
        // Three lines for each of two nodes.
        assert!(shown.len() <= 6, "{delivery:?}:\n{}", shown.join("\n"));
        assert!(shown.iter().any(|line| line.contains("reachable -> degraded")), "{shown:?}");
        world.heal();
        pass(&mut world, 60.0);
        finish(world);
    }
}
