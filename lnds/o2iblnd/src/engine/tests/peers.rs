//! Connections: how they come up, and what follows when they do not.

use super::rig::{Rig, TIMEOUT, tunables};
use crate::conn::Ended;
use lnet_core::{Cause, Delivery, Errno};
use std::time::Duration;

#[test]
fn the_smaller_queue_depth_wins_after_one_refusal() {
    let mut rig = Rig::with([16, 8], tunables());
    let put = rig.put(0, 1, 10);
    rig.settle();
    assert_eq!(rig.ends[0].ended[&put], Ok(()));
    assert_eq!((rig.counters(1).rejected, rig.counters(0).connected), (1, 1));
    rig.end();
}

#[test]
fn two_nodes_that_connect_at_once_use_one_connection() {
    let mut rig = Rig::new();
    let (there, back) = (rig.put(0, 1, 10), rig.put(1, 0, 10));
    rig.settle();
    assert_eq!((rig.ends[0].ended[&there], rig.ends[1].ended[&back]), (Ok(()), Ok(())));
    assert_eq!((rig.ends[0].connected, rig.ends[1].connected), (1, 1));
    // The higher NID refuses the lower one's request.
    assert_eq!((rig.counters(0).rejected, rig.counters(1).rejected), (0, 1));
    rig.end();
}

#[test]
fn several_connections_take_turns() {
    let mut rig = Rig::with([8, 8], crate::engine::EngineTunables { conns_per_peer: 4, ..tunables() });
    let all: Vec<_> = (0..40).map(|i| rig.put(0, 1, i * 1000)).collect();
    rig.settle();
    assert!(all.iter().all(|id| rig.ends[0].ended[id] == Ok(())));
    assert_eq!((rig.ends[0].connected, rig.ends[1].connected), (4, 4));
    rig.end();
}

#[test]
fn a_peer_that_does_not_exist_or_does_not_listen_is_not_connected_to() {
    let mut rig = Rig::new();
    rig.net.cut(rig.ends[1].address, true);
    let put = rig.put(0, 1, 10);
    rig.settle();
    let failure = rig.ends[0].ended[&put].unwrap_err();
    assert_eq!((failure.errno, failure.delivery), (Errno::TimedOut, Delivery::NotSent));
    assert_eq!(rig.ends[0].refused, ["it did not respond (Connection timed out)"]);
    rig.net.cut(rig.ends[1].address, false);
    let put = rig.put(0, 1, 10);
    rig.settle();
    assert_eq!(rig.ends[0].ended[&put], Ok(()));
    rig.end();
}

#[test]
fn a_cut_cable_returns_everything_and_new_messages_connect_again() {
    let mut rig = Rig::new();
    rig.ends[1].policy = super::rig::Policy::Defer;
    let small: Vec<_> = (0..12).map(|_| rig.put(0, 1, 10)).collect();
    let large = rig.put(0, 1, 100_000);
    rig.settle();
    rig.net.cut(rig.ends[1].address, true);
    rig.settle();
    // The device has acknowledged eight; the others never left.
    let failed: Vec<_> = small.iter().filter_map(|id| rig.ends[0].ended[id].err()).collect();
    assert_eq!(failed.len(), 4);
    assert!(failed.iter().all(|failure| failure.delivery == Delivery::NotSent));
    assert_eq!(rig.ends[0].ended[&large].unwrap_err().delivery, Delivery::NotSent);
    rig.ends[1].policy = super::rig::Policy::Deliver;
    rig.decide_all(1);
    assert_eq!(rig.ends[1].arrived.len(), 8);
    rig.net.cut(rig.ends[1].address, false);
    let again = rig.put(0, 1, 100_000);
    rig.settle();
    assert_eq!(rig.ends[0].ended[&again], Ok(()));
    rig.end();
}

#[test]
fn a_peer_that_has_restarted_gets_a_new_connection() {
    let mut rig = Rig::new();
    rig.put(0, 1, 10);
    rig.settle();
    rig.start(1, 8, tunables());
    rig.settle();
    assert_eq!(rig.ends[0].lost, [Ended::ByPeer]);
    let (there, back) = (rig.put(0, 1, 10), rig.put(1, 0, 10));
    rig.settle();
    assert_eq!((rig.ends[0].ended[&there], rig.ends[1].ended[&back]), (Ok(()), Ok(())));
    rig.end();
}

#[test]
fn a_restarted_peer_that_connects_first_ends_the_old_connections() {
    let mut rig = Rig::new();
    rig.put(0, 1, 10);
    rig.settle();
    // The cable is cut while the peer restarts: the first node does not hear of it.
    rig.net.forget_conns(rig.ends[1].address);
    rig.start(1, 8, tunables());
    let put = rig.put(1, 0, 10);
    rig.settle();
    assert_eq!((rig.ends[0].lost.len(), rig.ends[1].ended[&put]), (1, Ok(())));
    assert_eq!(rig.ends[0].lost, [Ended::Restarted]);
    assert_eq!(rig.counters(0).rejected, 1);
    rig.end();
}

#[test]
fn aborted_messages_come_back_with_the_cores_cause() {
    let mut rig = Rig::new();
    rig.ends[1].policy = super::rig::Policy::Defer;
    let all = [rig.put(0, 1, 100_000), rig.get(0, 1, 100_000)];
    rig.settle();
    rig.abort(0);
    rig.settle();
    for id in all {
        assert_eq!(rig.ends[0].ended[&id].unwrap_err().cause, Cause::NetworkTimeout);
    }
    rig.decide_all(1);
    rig.end();
}

#[test]
fn a_request_that_is_never_answered_ends_in_time() {
    let mut rig = Rig::new();
    let put = rig.put(0, 1, 10);
    // Nobody works off the second node's events.
    rig.now = lnet_core::Time(rig.now.0 + TIMEOUT + Duration::from_secs(1));
    let end = &mut rig.ends[0];
    end.engine.tick(&mut end.device, rig.now);
    rig.settle();
    assert_eq!(rig.ends[0].ended[&put].unwrap_err().cause, Cause::LocalTimeout);
    rig.end();
}

/// Nodes report a peer as unresponsive after this time.
const LIMIT: Duration = Duration::from_millis(600);

#[test]
fn an_unresponsive_peer_is_reported_until_it_responds() {
    let mut rig = Rig::with([8, 8], crate::engine::EngineTunables { unresponsive: LIMIT, ..tunables() });
    rig.put(0, 1, 10);
    rig.settle();
    rig.net.hold_back(rig.ends[1].address, true);
    let put = rig.put(0, 1, 10);
    rig.tick(LIMIT / 2);
    assert_eq!(rig.ends[0].unresponsive, 0);
    rig.tick(LIMIT);
    rig.tick(LIMIT);
    assert_eq!(rig.ends[0].unresponsive, 2);
    rig.net.hold_back(rig.ends[1].address, false);
    rig.settle();
    assert_eq!((rig.ends[0].unresponsive, rig.ends[0].ended[&put]), (0, Ok(())));
    rig.end();
}

#[test]
fn a_large_transfer_has_the_time_that_it_takes_on_a_slow_network() {
    let mut rig = Rig::with([8, 8], crate::engine::EngineTunables { unresponsive: LIMIT, ..tunables() });
    rig.put(0, 1, 10);
    rig.settle();
    rig.net.hold_back(rig.ends[0].address, true);
    rig.put(0, 1, 1 << 20);
    rig.net.hold_back(rig.ends[0].address, false);
    // The PUT_ACK has arrived, and the WRITE of 1 MiB is under way.
    while rig.counters(0).writes == 0 {
        rig.net.hold_back(rig.ends[0].address, rig.counters(1).messages > 1);
        rig.step();
    }
    rig.tick(LIMIT * 2);
    assert_eq!(rig.ends[0].unresponsive, 0);
    rig.tick(LIMIT * 2);
    assert_eq!(rig.ends[0].unresponsive, 1);
    rig.net.hold_back(rig.ends[0].address, false);
    rig.settle();
    rig.end();
}

#[test]
fn messages_that_the_peer_may_have_stay_when_a_path_is_aborted_and_others_move() {
    let mut rig = Rig::new();
    rig.put(0, 1, 10);
    rig.settle();
    rig.net.hold_back(rig.ends[1].address, true);
    let small: Vec<_> = (0..12).map(|_| rig.put(0, 1, 10)).collect();
    rig.abort(0);
    rig.settle();
    let ended: Vec<_> = small.iter().filter_map(|id| rig.ends[0].ended.get(id)).collect();
    // Seven credits are left after the first message.
    assert_eq!(ended.len(), 5);
    assert!(ended.iter().all(|result| result.is_err_and(|failure| failure.delivery == Delivery::NotSent)));
    assert!(rig.ends[0].lost.is_empty());
    rig.net.hold_back(rig.ends[1].address, false);
    rig.settle();
    assert_eq!(small.iter().filter(|id| rig.ends[0].ended[id] == Ok(())).count(), 7);
    rig.end();
}
