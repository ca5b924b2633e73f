//! DISC-1, DISC-10: one node meets another, or each the other.

use super::*;
use lnet_sim::Purpose;

/// snd-045: fails if a response leaves from, or goes to, another NID than the request did.
/// dyn-055: fails if a contacted node pings back, before or after it got the push of the other's NIDs. DISC-1.
#[test]
fn a_pinged_node_replies_to_the_source_and_learns_only_that_nid() {
    for rails in 1..=3 {
        let mut world = chosen("T1");
        add(&mut world, rails);
        add(&mut world, 3);
        world.start_op(A, b(2), OpKind::PutWithAck);
        let [ping] = world.ready()[..] else { panic!("{:?}", world.ready()) };
        world.deliver(ping);
        let known = world.core(B).unwrap().admin().peers();
        let [peer] = &known[..] else { panic!("{known:?}") };
        assert_eq!(peer.nids.len(), 1);
        assert!(!peer.is_multi_rail());
        assert_eq!(world.owner(peer.primary), Some(A));
        assert_eq!((world.counts().of(Purpose::Ping), world.counts().of(Purpose::PingReply)), (1, 1));
        let [reply] = world.ready()[..] else { panic!("{:?}", world.ready()) };
        world.deliver(reply);
        // B sent no ping until it got A's push.
        assert_eq!(world.counts().between(B, A).pings, 0);
        assert_eq!(world.believed(A, b(1)), [b(1), b(2), b(3)]);
        world.run_in_order();
        world.check_agreement(A, B);
        all_succeeded(&mut world);
        assert_eq!((world.counts().between(B, A).pings, world.counts().between(A, B).pings), (0, 1));
        finish(world);
    }
}

/// DISC-10 a to d: the cases in the table are all orders of the same messages.
#[test]
fn two_nodes_that_discover_each_other_at_once_both_complete() {
    for (rails_a, rails_b) in [(1, 1), (2, 2), (1, 3)] {
        let explored = in_all_orders(
            "T10",
            1500,
            |world| {
                add(world, rails_a);
                add(world, rails_b);
                vec![Actor::on(A).then(ask(A, b(1))), Actor::on(B).then(ask(B, a(1)))]
            },
            |world| {
                all_succeeded(world);
                world.check_agreement(A, B);
                for (from, to) in [(A, B), (B, A)] {
                    let cost = world.counts().between(from, to);
                    world.expect(cost.pings <= 1 && cost.pushes <= 1, || format!("{from} {cost:?}"));
                }
            },
        );
        assert!(explored.orders > 1);
    }
}

/// DISC-10 with messages that wait for it.
#[test]
fn messages_that_wait_for_a_discovery_are_all_sent_in_order() {
    in_all_orders(
        "T10, many requests",
        300,
        |world| {
            add(world, 2);
            add(world, 2);
            let asks = |node, to| (0..3).fold(Actor::on(node), |actor, _| actor.then(ask(node, to)));
            vec![asks(A, b(2)), asks(B, a(2))]
        },
        |world| {
            all_succeeded(world);
            world.check_agreement(A, B);
        },
    );
}
