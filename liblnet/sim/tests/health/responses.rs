//! Responses whose path dies, and responses that do not come (core-behaviour 4.5).

use super::*;
use lnet_core::health::NiKind;

/// Makes a slow network, so that faults can happen between a request and its response.
fn slow(name: &str) -> World {
    Pair { latency: Duration::from_millis(100), ..Pair::default() }.meet(name)
}

/// Returns the pair of NIDs that A's last request used.
fn last_pair(world: &World) -> (Nid, Nid) {
    let requests = [Purpose::Put, Purpose::Get].map(|purpose| sent(world, A, purpose, Time::START));
    let last = requests.iter().filter_map(|sent| sent.last()).max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
    (last.1.header.src_nid, last.1.header.dest_nid)
}

/// snd-070: fails if a response is given up when the interface that the request came to, or the one that it
/// came from, is dead.
#[test]
fn a_response_lost_with_its_rail_is_resent_over_another() {
    type Break = fn(&mut World, Nid, Nid);
    let faults: [(&str, Break); 3] = [
        ("what the asker hears", |world, own, _| world.block_rx(own)),
        ("what the answerer says", |world, _, its| world.block_tx(its)),
        ("both interfaces", |world, own, its| {
            world.kill_interface(own);
            world.kill_interface(its);
        }),
    ];
    for ask in [OpKind::Get, OpKind::PutWithAck] {
        for (name, kill) in faults {
            let mut world = slow(name);
            let id = world.start_op(A, b(1), ask).unwrap();
            // The request has arrived, and its response is under way.
            pass(&mut world, 0.15);
            let (own, its) = last_pair(&world);
            kill(&mut world, own, its);
            pass(&mut world, 30.0);
            assert!(op(&world, id).succeeded(), "{name}, {ask:?}: {:?}", op(&world, id));
            assert!(took(&world, id) < 5.0, "{name}, {ask:?}: {} s", took(&world, id));
            finish(world);
        }
    }
}

/// The request arrives, its ACK does not: the request comes again, and is recognised.
#[test]
fn a_request_whose_delivery_ack_is_lost_is_served_once() {
    for ask in ASKS {
        let mut world = slow("an ACK is lost");
        let served = world.served();
        let id = world.start_op(A, b(1), ask).unwrap();
        pass(&mut world, 0.15);
        world.break_between(A, B);
        pass(&mut world, 30.0);
        assert!(op(&world, id).succeeded(), "{ask:?}: {:?}", op(&world, id));
        assert_eq!((world.served() - served, world.counts().deduplicated), (1, 1));
        finish(world);
    }
}

/// 4.2: a message that a kernel may have received is not sent again.
#[test]
fn a_request_that_may_have_reached_a_kernel_node_is_not_resent() {
    let pair = Pair { latency: Duration::from_millis(100), delivery: Delivery::Kernel, ..Pair::default() };
    let mut world = pair.meet("an ACK of a kernel's is lost");
    let served = world.served();
    let id = world.start_op(A, b(1), OpKind::Put).unwrap();
    pass(&mut world, 0.15);
    world.break_between(A, B);
    pass(&mut world, 30.0);
    assert_eq!(op(&world, id).sent, Some(Err(Errno::ConnectionReset)));
    assert_eq!((world.served() - served, world.core(A).unwrap().admin().health_totals().resends), (1, 0));
    finish(world);
}

/// HE-40 to HE-43. No MD matches on that portal: the request is accepted, and dropped.
#[test]
fn a_request_without_a_response_is_unlinked_after_1_to_1_5_times_the_timeout() {
    for ask in [OpKind::PutWithAck, OpKind::Get] {
        let mut world = two_rails("no answer");
        let id = world.start_op_with(A, b(1), OpSpec { ask, portal: 33, ..OpSpec::default() }).unwrap();
        pass(&mut world, 49.0);
        assert!(!op(&world, id).ended);
        let put = sent(&world, A, if ask == OpKind::Get { Purpose::Get } else { Purpose::Put }, Time::START);
        let asked = put.last().unwrap().1.header.dest_nid;
        assert_eq!(peer_health(&world, A, asked), 1000);
        while !op(&world, id).ended {
            pass(&mut world, 0.1);
            assert!(world.is_sound());
        }
        // HE-41: the NID that the request was sent to is blamed.
        assert_eq!(peer_health(&world, A, asked), 900);
        assert_eq!(world.core(A).unwrap().admin().recovery_queue(NiKind::Peer), [asked]);
        pass(&mut world, 30.0);
        let it = op(&world, id);
        assert_eq!((it.sent, it.answered, it.ended), (Some(Ok(())), None, true), "{ask:?}");
        let took = took(&world, id);
        assert!((50.0..=75.5).contains(&took), "{took} s");
        assert_eq!(world.core(A).unwrap().admin().health_totals().response_timeouts, 1);
        assert_eq!(peer_health(&world, A, asked), 1000);
        finish(world);
    }
}

/// HE-40: nothing tracks the response.
#[test]
fn a_request_without_response_tracking_never_times_out() {
    let settings = Settings { response_tracking: 0, ..Settings::default() };
    let mut world = Pair { settings, ..Pair::default() }.meet("not tracked");
    let id =
        world.start_op_with(A, b(1), OpSpec { ask: OpKind::Get, portal: 33, ..OpSpec::default() }).unwrap();
    pass(&mut world, 1000.0);
    assert!(!op(&world, id).ended);
    let now = world.now();
    world.give_up_ops(now);
    assert!(op(&world, id).ended);
    finish(world);
}

/// The response waits for the only credit, and the content of the ping block changes meanwhile.
#[test]
fn a_ping_is_answered_although_an_interface_fails_while_the_reply_is_queued() {
    let tunables = NiTunables { peer_credits: 1, ..NiTunables::default() };
    let mut world = Pair { rails_a: 1, tunables, ..Pair::default() }.meet("a ping during a change");
    world.cut_pair(b(1), a(1));
    let since = world.now();
    world.start_op_with(B, a(1), OpSpec { ask: OpKind::Put, source: Some(b(1)), ..OpSpec::default() });
    world.discover(A, b(1), false);
    pass(&mut world, 0.1);
    assert_eq!(sent(&world, A, Purpose::Ping, since).len(), 1);
    assert!(sent(&world, B, Purpose::PingReply, since).is_empty());
    world.set_link_state(B, b(2), false);
    world.heal();
    pass(&mut world, 5.0);
    let standing = world.standing(A, b(1)).unwrap();
    assert!(standing.up_to_date && standing.failure.is_none(), "{standing:?}");
    finish(world);
}
