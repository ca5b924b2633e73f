//! An accepted operation fails only if no path was alive in its time, or its peer was gone. Each of these cases was found
//! in a random world (`tests/chaos.rs`), and reduced.

use super::*;

fn with_timeout(transaction_timeout: u32) -> Settings {
    Settings { transaction_timeout, ..Settings::default() }
}

/// The connection on the healthy path is reset, and the other path is dead. The message has failed on both: that the peer
/// has one NID must not end it.
#[test]
fn a_message_to_a_peer_with_one_nid_is_resent_over_the_healthy_path() {
    let mut world = Pair { rails_b: 1, ..Pair::default() }.meet("one NID, two paths");
    world.kill_interface(a(2));
    let ops: Vec<OpId> =
        ASKS.iter().cycle().take(12).filter_map(|ask| world.start_op(A, b(1), *ask)).collect();
    world.break_between(A, B);
    pass(&mut world, 30.0);
    all_succeeded(&world, &ops);
    finish(world);
}

/// The same for a message that had not left yet when the connection ended, and for the only path.
#[test]
fn a_message_on_the_only_path_survives_a_connection_that_breaks_before_the_send() {
    let tunables = NiTunables { credits: 64, peer_credits: 64, ..NiTunables::default() };
    let mut world = Pair { rails_a: 1, rails_b: 1, tunables, ..Pair::default() }.meet("one path");
    world.freeze(B);
    let ops: Vec<OpId> =
        ASKS.iter().cycle().take(48).filter_map(|ask| world.start_op(A, b(1), *ask)).collect();
    pass(&mut world, 0.1);
    world.break_between(A, B);
    world.thaw(B);
    pass(&mut world, 30.0);
    all_succeeded(&world, &ops);
    finish(world);
}

/// Every path is dead for longer than all retries take.
#[test]
fn an_operation_survives_an_outage_of_all_paths_shorter_than_its_timeout() {
    let mut world = two_rails("all rails are dead for 40 seconds");
    world.kill_rail(rail(1));
    world.kill_rail(rail(2));
    let ops = load(&mut world, 0.5);
    pass(&mut world, 40.0);
    world.heal();
    pass(&mut world, 10.0);
    all_succeeded(&world, &ops);
    finish(world);
}

/// Three of four paths were dead and have recovered, which no node has noticed yet, when the fourth dies: it is given up
/// like any other.
#[test]
fn the_last_path_is_marked_unresponsive_even_if_all_others_are() {
    let mut world = two_rails("the last path dies");
    world.kill_rail(rail(1));
    load(&mut world, 9.0);
    world.heal_rail(rail(1));
    world.kill_rail(rail(2));
    let ops = load(&mut world, 0.02);
    pass(&mut world, 30.0);
    let longest = all_succeeded(&world, &ops);
    assert!(longest < 3.0, "{longest} s");
    finish(world);
}

/// Messages without another path hold all credits of the peer's interface.
#[test]
fn a_ping_of_a_path_does_not_wait_for_messages_stalled_on_another_path() {
    let tunables = NiTunables { peer_credits: 2, ..NiTunables::default() };
    let mut world = Pair { rails_b: 1, tunables, ..Pair::default() }.meet("no credits for pings");
    world.kill_interface(a(1));
    load(&mut world, 0.5);
    pass(&mut world, 1.5);
    world.kill_interface(a(2));
    let since = world.now();
    for _ in 0..8 {
        ask_by(&mut world, a(2), b(1), OpKind::Put);
    }
    pass(&mut world, 10.0);
    let pings = sent(&world, A, Purpose::Ping, since);
    let tries = pings.iter().filter(|(_, ping)| (ping.header.src_nid, ping.header.dest_nid) == (a(1), b(1)));
    let tries: Vec<f64> = tries.map(|(at, _)| *at).collect();
    // The second is due after two seconds; behind stalled messages it would leave after five.
    assert!(tries.len() >= 2 && tries[1] - tries[0] < 3.0, "{tries:?}");
    world.heal();
    pass(&mut world, 60.0);
    finish(world);
}

/// The wait for the discovery counts for the operation's time.
#[test]
fn an_operation_that_waited_for_a_discovery_completes_within_its_timeout() {
    let settings = with_timeout(10);
    let mut world = Pair { rails_a: 1, rails_b: 1, settings, ..Pair::default() }.meet("a late discovery");
    world.crash(A);
    world.start(A);
    world.kill_rail(rail(1));
    let id = world.start_op(A, b(1), OpKind::Get).unwrap();
    pass(&mut world, 6.0);
    world.heal_rail(rail(1));
    while !world.standing(A, b(1)).unwrap().up_to_date && world.step() {}
    world.kill_rail(rail(1));
    pass(&mut world, 30.0);
    assert!(op(&world, id).outcome().is_err());
    let took = took(&world, id);
    // HE-41: the monitor may look half a time-out late.
    assert!((9.0..15.5).contains(&took), "{took} s");
    finish(world);
}

/// The peer must get a push about an interface, and is down until the pushes have failed: the operations that wait for
/// them have time left.
#[test]
fn an_operation_that_waits_for_a_discovery_survives_its_failure() {
    let mut world = two_rails("the peer comes back during the discovery");
    world.crash(B);
    world.add_ni(A, a(3));
    let ops: Vec<OpId> = ASKS.iter().filter_map(|ask| world.start_op(A, b(1), *ask)).collect();
    assert_eq!(world.standing(A, b(1)).unwrap().parked, ops.len());
    let standing = |world: &World| world.standing(A, b(1)).unwrap();
    while standing(&world).failure.is_none() && world.step() {}
    assert!(standing(&world).failure.is_some());
    world.start(B);
    pass(&mut world, 5.0);
    all_succeeded(&world, &ops);
    finish(world);
}

/// The peer has never been heard.
#[test]
fn an_operation_to_an_unknown_peer_that_refuses_connections_fails_with_the_discovery() {
    let mut world = two_rails("a stranger");
    let id = world.start_op(A, nid(0, 0x909), OpKind::Put).unwrap();
    pass(&mut world, 5.0);
    assert_eq!(op(&world, id).sent, Some(Err(Errno::ConnectionRefused)));
    finish(world);
}

/// Delivery ACKs do not come, and the source is fixed: the response has come by another path and proves the delivery.
#[test]
fn a_request_with_a_response_counts_as_sent_even_if_its_send_has_failed() {
    for ask in [OpKind::PutWithAck, OpKind::Get] {
        let mut world = two_rails("an answer without an ACK");
        let since = world.now();
        let id = ask_by(&mut world, a(1), b(1), ask);
        world.cut_pair(b(1), a(1));
        pass(&mut world, 60.0);
        assert!(op(&world, id).succeeded(), "{:?}", op(&world, id));
        let purpose = if ask == OpKind::Get { Purpose::Get } else { Purpose::Put };
        assert!(sent(&world, A, purpose, since).len() <= 2);
        finish(world);
    }
}

/// A push that its receiver has confirmed, but whose ACK is lost, would otherwise reach the receiver's next incarnation as
/// news.
#[test]
fn an_answered_request_is_not_resent_to_the_next_incarnation_of_the_peer() {
    let mut world = two_rails("answered in an earlier incarnation");
    let since = world.now();
    world.cut_pair(b(1), a(1));
    world.cut_pair(b(2), a(1));
    let id = ask_by(&mut world, a(1), b(1), OpKind::PutWithAck);
    while op(&world, id).answered.is_none() && world.step() {}
    world.crash(B);
    world.start(B);
    world.heal();
    let served = world.served();
    pass(&mut world, 60.0);
    assert!(op(&world, id).succeeded(), "{:?}", op(&world, id));
    assert_eq!(world.served(), served, "{:?}", sent(&world, A, Purpose::Put, since));
    finish(world);
}

/// One path of nine is healthy, the one whose connection was reset: something has been heard on it since, and it is tried
/// again before all dead ones. Two of those take a second each; a pause before the return would be a third.
#[test]
fn a_message_is_resent_over_a_path_with_a_broken_connection_before_all_dead_paths_are_tried() {
    let settings = with_timeout(10);
    let mut world =
        Pair { rails_a: 3, rails_b: 3, settings, ..Pair::default() }.meet("one path of nine is well");
    world.kill_rail(rail(2));
    world.kill_rail(rail(3));
    let ops: Vec<OpId> = (0..6).map(|_| ask_by(&mut world, a(1), b(1), OpKind::Put)).collect();
    let free: Vec<OpId> =
        ASKS.iter().cycle().take(6).filter_map(|ask| world.start_op(A, b(1), *ask)).collect();
    world.break_between(A, B);
    pass(&mut world, 15.0);
    let longest = all_succeeded(&world, &[ops, free].concat());
    assert!(longest < 2.5, "{longest} s");
    finish(world);
}

/// The one healthy path of nine breaks each time that the message comes back to it.
#[test]
fn a_message_is_resent_over_the_healthy_path_although_its_connection_breaks_again() {
    let settings = with_timeout(10);
    let mut world =
        Pair { rails_a: 3, rails_b: 3, settings, ..Pair::default() }.meet("the path that is well breaks");
    world.kill_rail(rail(2));
    world.kill_rail(rail(3));
    let since = world.now();
    let id = world.start_op(A, b(1), OpKind::PutWithAck).unwrap();
    let mut others = Vec::new();
    for returns in 0..4 {
        let on_it = |world: &World| {
            let puts = sent(world, A, Purpose::Put, since);
            puts.iter().filter(|(_, put)| (put.header.src_nid, put.header.dest_nid) == (a(1), b(1))).count()
        };
        while on_it(&world) <= others.len() + returns && !op(&world, id).ended && world.step() {}
        world.break_between(A, B);
        pass(&mut world, 0.1);
        others.push(ask_by(&mut world, a(1), b(1), OpKind::PutWithAck));
        pass(&mut world, 0.1);
    }
    pass(&mut world, 15.0);
    all_succeeded(&world, &[&[id], &others[..]].concat());
    assert!(took(&world, id) < 6.0, "{} s", took(&world, id));
    finish(world);
}

/// The node knows the sender of the request by one NID, has heard it on two paths, and the path of the request dies before
/// the response has left.
#[test]
fn a_node_just_started_responds_over_another_path_on_which_it_received_from_the_peer() {
    let mut world = Pair { rails_b: 1, ..Pair::default() }.meet("a node that was just started answers");
    let settings = Settings { discovery: DiscoveryMode::Off, ..Settings::default() };
    world.respecify(A, NodeSpec { settings, ..NodeSpec::new(&[a(1), a(2)]) });
    world.crash(A);
    world.start(A);
    for number in 1..=2 {
        let spec = OpSpec { ask: OpKind::PutWithAck, source: Some(b(1)), ..OpSpec::default() };
        world.start_op_with(B, a(number), spec);
    }
    pass(&mut world, 5.0);
    world.cut_pair(a(1), b(1));
    let ops: Vec<OpId> = (0..4).filter_map(|_| world.start_op(B, a(1), OpKind::Get)).collect();
    pass(&mut world, 10.0);
    all_succeeded(&world, &ops);
    finish(world);
}

/// The peer's node was down, and the rail was dead, when messages began to wait for a connection: they held all credits of
/// the interface, and the peer's requests were answered after their timeout.
#[test]
fn messages_that_wait_for_a_connection_leave_when_their_path_is_repaired_whatever_was_down() {
    type Change = fn(&mut World);
    // The fault, what else is broken beside the rail, and the repair.
    let table: [(&str, Change, Change); 3] = [
        ("the node comes back first", |world| world.crash(B), |world| world.start(B)),
        ("the interface was away", |world| world.remove_ni(B, b(2)), |world| world.add_ni(B, b(2))),
        ("only the rail", |_| {}, |_| {}),
    ];
    for (what, breaks, repairs) in table {
        let mut world = two_rails(what);
        world.kill_rail(rail(2));
        breaks(&mut world);
        // Tried on all paths, at last on dead ones.
        let ops: Vec<OpId> = (0..40).filter_map(|_| world.start_op(A, b(1), OpKind::PutWithAck)).collect();
        pass(&mut world, 1.9);
        repairs(&mut world);
        world.heal();
        let asked: Vec<OpId> = (0..8).filter_map(|_| world.start_op(B, a(1), OpKind::Get)).collect();
        pass(&mut world, 60.0);
        let longest = all_succeeded(&world, &asked);
        assert!(longest < 1.0, "{what}: {longest} s");
        assert!(ops.iter().all(|id| op(&world, *id).ended), "{what}");
        finish(world);
    }
}
