//! Messages between two engines.

use super::rig::{KEEPALIVE, Policy, Rig, TIMEOUT, tunables};
use crate::conn::Ended;
use lnet_core::Cause;
use std::time::Duration;

const LENGTHS: [usize; 9] = [0, 1, 3976, 3977, 4096, 8191, 8192, 100_000, 1 << 20];

#[test]
fn messages_of_all_lengths_arrive_in_both_directions() {
    let mut rig = Rig::new();
    for len in LENGTHS {
        let (there, back) = (rig.put(0, 1, len), rig.put(1, 0, len));
        rig.settle();
        assert_eq!((rig.ends[1].arrived.pop(), rig.ends[0].arrived.pop()), (Some(Ok(len)), Some(Ok(len))));
        assert_eq!((rig.ends[0].ended[&there], rig.ends[1].ended[&back]), (Ok(()), Ok(())));
    }
    assert_eq!((rig.ends[0].connected, rig.ends[1].connected), (1, 1));
    rig.end();
}

#[test]
fn gets_of_all_lengths_bring_their_data() {
    let mut rig = Rig::new();
    for len in LENGTHS {
        let get = rig.get(0, 1, len);
        rig.settle();
        assert_eq!((rig.ends[0].arrived.pop(), rig.ends[0].ended[&get]), (Some(Ok(len)), Ok(())), "{len}");
    }
    // All large ones but none of the small ones by RDMA.
    let by_rdma = LENGTHS.into_iter().filter(|len| *len > 3976).count() as u64;
    assert_eq!(rig.counters(1).writes, by_rdma);
    rig.end();
}

#[test]
fn two_hundred_messages_each_way_pass_through_eight_credits() {
    let mut rig = Rig::new();
    let all: Vec<_> = (0..200).map(|i| (rig.put(0, 1, i * 43), rig.put(1, 0, i * 61))).collect();
    rig.settle();
    for (there, back) in all {
        assert_eq!((rig.ends[0].ended[&there], rig.ends[1].ended[&back]), (Ok(()), Ok(())));
    }
    assert_eq!((rig.ends[0].arrived.len(), rig.ends[1].arrived.len()), (200, 200));
    rig.end();
}

#[test]
fn one_way_traffic_is_kept_going_by_noops() {
    let mut rig = Rig::new();
    (0..100).for_each(|_| _ = rig.put(0, 1, 10));
    rig.settle();
    assert_eq!(rig.ends[1].arrived.len(), 100);
    // Four credits each, from the high-water mark on.
    assert_eq!(rig.counters(1).noops, 25);
    rig.end();
}

#[test]
fn a_receiver_that_does_not_decide_holds_the_sender_up_until_it_does() {
    let mut rig = Rig::new();
    rig.ends[1].policy = Policy::Defer;
    (0..20).for_each(|_| _ = rig.put(0, 1, 10));
    rig.settle();
    assert_eq!(rig.ends[0].ended.len(), 8);
    rig.ends[1].policy = Policy::Deliver;
    rig.decide_all(1);
    assert_eq!((rig.ends[0].ended.len(), rig.ends[1].arrived.len()), (20, 20));
    rig.end();
}

#[test]
fn what_nobody_wants_is_refused_without_an_error() {
    let mut rig = Rig::new();
    rig.ends[1].policy = Policy::Discard;
    let all = [rig.put(0, 1, 10), rig.put(0, 1, 100_000), rig.get(0, 1, 10), rig.get(0, 1, 100_000)];
    rig.settle();
    assert_eq!(all.map(|id| rig.ends[0].ended[&id]), [Ok(()); 4]);
    assert!(rig.ends[0].arrived.is_empty() && rig.ends[1].arrived.is_empty());
    let after = rig.put(0, 1, 10);
    rig.settle();
    assert_eq!(rig.ends[0].ended[&after], Ok(()));
    rig.end();
}

#[test]
fn a_message_against_lnets_rules_ends_the_connection() {
    for len in [10, 100_000] {
        let mut rig = Rig::new();
        rig.ends[1].policy = Policy::Reject;
        rig.put(0, 1, len);
        rig.settle();
        assert!(matches!(rig.ends[1].lost[..], [Ended::Violation(_)]), "{:?}", rig.ends[1].lost);
        assert_eq!(rig.ends[0].lost, [Ended::ByPeer]);
        rig.end();
    }
}

#[test]
fn an_idle_connection_is_kept_alive_from_both_ends() {
    let mut rig = Rig::new();
    rig.put(0, 1, 10);
    rig.settle();
    rig.tick(KEEPALIVE - Duration::from_secs(1));
    assert_eq!((rig.counters(0).noops, rig.counters(1).noops), (0, 0));
    rig.tick(Duration::from_secs(1));
    assert_eq!((rig.counters(0).noops, rig.counters(1).noops), (1, 1));
    rig.end();
}

#[test]
fn a_peer_that_decides_on_nothing_loses_the_connection_in_time() {
    let mut rig = Rig::new();
    rig.ends[1].policy = Policy::Defer;
    let put = rig.put(0, 1, 100_000);
    rig.settle();
    rig.tick(TIMEOUT - Duration::from_secs(1));
    assert!(rig.ends[0].ended.is_empty());
    rig.tick(Duration::from_secs(1));
    let failure = rig.ends[0].ended[&put].unwrap_err();
    assert_eq!(failure.cause, Cause::LocalTimeout);
    assert_eq!(rig.ends[0].lost, [Ended::TimedOut(16)]);
    rig.decide_all(1);
    rig.end();
}

#[test]
fn a_message_that_has_arrived_is_delivered_though_the_connection_has_ended() {
    let mut rig = Rig::new();
    rig.ends[1].policy = Policy::Defer;
    let (small, large) = (rig.put(0, 1, 1000), rig.put(0, 1, 100_000));
    rig.settle();
    rig.abort(0);
    rig.settle();
    assert_eq!(rig.ends[0].ended[&small], Ok(()));
    assert!(rig.ends[0].ended[&large].is_err());
    rig.decide_all(1);
    let mut arrived = std::mem::take(&mut rig.ends[1].arrived);
    arrived.sort_by_key(Result::is_err);
    assert_eq!(arrived, [Ok(1000), Err(lnet_core::Errno::ConnectionReset)]);
    rig.end();
}

#[test]
fn messages_with_checksums_arrive() {
    let mut tunables = tunables();
    tunables.conn.checksum = true;
    let mut rig = Rig::with([8, 8], tunables);
    for len in LENGTHS {
        rig.put(0, 1, len);
    }
    rig.settle();
    assert_eq!(rig.ends[1].arrived.len(), LENGTHS.len());
    rig.end();
}
