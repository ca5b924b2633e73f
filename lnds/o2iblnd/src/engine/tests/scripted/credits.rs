//! Credits, NOOPs and time on a connection (wire-o2ib 9, 10). The peer itself counts, and panics when the engine breaks a rule.

use super::script::{Answer, PARAMS, PEER, Script};
use crate::conn::{ConnTunables, Ended, ViolationOf};
use crate::engine::EngineTunables;
use crate::engine::tests::rig::{KEEPALIVE, Policy, TIMEOUT, tunables};
use crate::proto::{Body, Completion, ConnParams, MessageKind as Kind, Version};
use lnet_core::{Cause, Delivery, Errno, SendFailure};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// A connection of this depth, which the peer has asked for.
fn of_depth(queue_depth: u16) -> Script {
    let mut script = Script::new();
    let params = ConnParams { queue_depth, ..PARAMS };
    assert_eq!(script.ask(|m| m.body = Body::ConnReq(params)), Answer::Accepted(Version::V2, params));
    script
}

/// A connection of the older version.
fn of_version_1() -> Script {
    let mut script = Script::new();
    script.version = Version::V1;
    script.connect();
    script
}

#[test]
fn a_peer_that_returns_no_credits_gets_as_many_messages_as_the_depth_and_then_loses_the_connection() {
    for depth in [1, 2, 3, 4, 8] {
        let mut script = of_depth(depth);
        let puts: Vec<_> = (0..12).map(|_| script.put(10)).collect();
        let (left, kept) = puts.split_at(depth.into());
        assert_eq!(script.hear_kinds(), vec![(Kind::Immediate, 0); depth.into()]);
        script.tick(TIMEOUT - SECOND);
        assert_eq!((script.hear().len(), script.closed), (0, 0));
        script.tick(SECOND);
        assert_eq!((script.closed, &script.rig.ends[0].lost[..]), (1, &[Ended::TimedOut(16)][..]));
        assert!(left.iter().all(|id| script.result(*id) == Some(Ok(()))));
        let failure =
            SendFailure { errno: Errno::TimedOut, cause: Cause::LocalTimeout, delivery: Delivery::NotSent };
        assert!(kept.iter().all(|id| script.result(*id) == Some(Err(failure))), "depth {depth}");
        // The next message connects again.
        let put = script.put(10);
        script.accept();
        assert_eq!(script.result(put), Some(Ok(())));
        script.end();
    }
}

#[test]
fn each_credit_that_comes_back_lets_one_message_out() {
    for depth in [1, 2, 3, 4, 8] {
        let mut script = of_depth(depth);
        let puts: Vec<_> = (0..20).map(|i| script.put(i * 900)).collect();
        let mut heard = script.hear();
        assert_eq!(heard.len(), usize::from(depth));
        for credits in [1, 1, depth.min(2) as u8].into_iter().cycle() {
            // A PUT_REQ that is refused does not wait for its payload.
            for request in heard.iter().filter(|heard| heard.kind() == Kind::PutReq) {
                script.say(Body::PutNak(Completion { cookie: request.cookie(), status: 0 }));
            }
            if puts.iter().all(|put| script.result(*put).is_some()) {
                break;
            }
            script.say_with(credits, &[], Body::Noop);
            heard = script.hear();
            assert!(heard.len() <= credits.into());
        }
        assert!(puts.iter().all(|put| script.result(*put) == Some(Ok(()))), "depth {depth}");
        script.end();
    }
}

/// The capture `host-variants`, `fill`: four one-way PUTs, a NOOP with four credits, two more PUTs, nothing.
#[test]
fn a_noop_returns_credits_from_the_high_water_mark_on() {
    // The depth, the tunable, the mark.
    for (depth, tunable, mark) in
        [(1, 0, 1), (2, 0, 1), (3, 0, 1), (4, 0, 2), (8, 0, 4), (8, 1, 1), (8, 7, 7), (8, 8, 7), (4, 8, 3)]
    {
        let conn = ConnTunables { high_water: tunable, ..tunables().conn };
        let mut script = Script::with(PEER, 8, EngineTunables { conn, ..tunables() });
        script.ask(|m| m.body = Body::ConnReq(ConnParams { queue_depth: depth, ..PARAMS }));
        for round in 0..3 {
            for put in 1..=mark {
                script.say_put(0, 10);
                let expected = if put == mark { vec![(Kind::Noop, mark)] } else { vec![] };
                assert_eq!(script.hear_kinds(), expected, "depth {depth}, mark {mark}, round {round}");
            }
        }
        script.end();
    }
}

#[test]
fn owed_credits_go_with_the_next_message_whatever_it_is() {
    let mut script = Script::connected();
    let memory = script.memory(vec![0; 10_000]);
    script.say_put(0, 10);
    script.put(10);
    script.say_put(0, 10);
    script.put(10_000);
    assert_eq!(script.hear().iter().map(|h| h.message().credits).collect::<Vec<_>>(), [1, 1]);
    // A PUT_ACK, a PUT_NAK and a PUT_DONE cost nothing, and carry credits.
    script.say_put(2, 10);
    script.say(Body::PutReq { header: script.put_header(5000), cookie: 7 });
    assert_eq!(script.hear_kinds(), [(Kind::PutAck, 1)]);
    script.rig.ends[0].policy = Policy::Discard;
    script.say_put(0, 10);
    script.say(Body::PutReq { header: script.put_header(5000), cookie: 8 });
    assert_eq!(script.hear_kinds(), [(Kind::PutNak, 2)]);
    script.say_put(0, 10);
    let put_req = 1;
    let descriptor = memory.descriptor(&[(0, 10_000)]);
    script.say(Body::PutAck { src_cookie: put_req, dst_cookie: 9, descriptor });
    assert_eq!(script.hear_kinds(), [(Kind::PutDone, 1)]);
    script.end();
}

#[test]
fn a_noop_without_credits_costs_nothing_and_is_not_answered() {
    let mut script = Script::connected();
    for _ in 0..50 {
        script.say(Body::Noop);
    }
    assert!(script.hear().is_empty());
    (0..9).for_each(|_| _ = script.put(10));
    assert_eq!(script.hear_kinds(), vec![(Kind::Immediate, 0); 8]);
    script.say_with(8, &[], Body::Noop);
    assert_eq!((script.hear_kinds(), script.closed), (vec![(Kind::Immediate, 0)], 0));
    script.end();
}

#[test]
fn responses_overtake_requests_that_wait_for_credits() {
    let mut script = Script::connected();
    (0..10).for_each(|_| _ = script.put(10));
    script.hear();
    let memory = script.memory(vec![0; 5000]);
    let (header, descriptor) = (script.get_header(1, 5000), memory.descriptor(&[(0, 5000)]));
    script.say(Body::GetReq { header, cookie: 7, descriptor });
    script.say(Body::PutReq { header: script.put_header(5000), cookie: 8 });
    assert_eq!(script.hear_kinds(), [(Kind::GetDone, 1), (Kind::PutAck, 0)]);
    script.end();
}

#[test]
fn a_reply_that_waits_for_a_credit_does_not_hold_back_a_noop() {
    let mut script = Script::connected();
    (0..9).for_each(|_| _ = script.put(10));
    script.hear();
    (0..3).for_each(|_| script.say_put(0, 10));
    assert_eq!(script.hear_kinds(), []);
    script.say_put(0, 10);
    assert_eq!(script.hear_kinds(), [(Kind::Noop, 4)]);
    script.say_with(1, &[], Body::Noop);
    assert_eq!(script.hear_kinds(), [(Kind::Immediate, 0)]);
    script.end();
}

#[test]
fn what_the_core_has_not_decided_on_returns_no_credit() {
    let mut script = Script::connected();
    script.rig.ends[0].policy = Policy::Defer;
    (0..8).for_each(|_| script.say_put(0, 10));
    script.put(10);
    assert_eq!(script.hear_kinds(), [(Kind::Immediate, 0)]);
    script.rig.decide_all(0);
    script.settle();
    assert_eq!(script.hear_kinds(), [(Kind::Noop, 4), (Kind::Noop, 4)]);
    script.end();
}

#[test]
fn a_peer_that_sends_without_a_credit_loses_the_connection() {
    for kind in [Kind::PutReq, Kind::GetReq, Kind::Immediate] {
        let mut script = Script::connected();
        script.rig.ends[0].policy = Policy::Defer;
        let memory = script.memory(vec![0; 5000]);
        for nth in 1..=9 {
            assert_eq!((script.closed, script.counters().violations), (0, 0), "{kind} {nth}");
            let (header, descriptor) = (script.get_header(nth, 5000), memory.descriptor(&[(0, 5000)]));
            match kind {
                Kind::PutReq => script.say(Body::PutReq { header: script.put_header(5000), cookie: nth }),
                Kind::GetReq => script.say(Body::GetReq { header, cookie: nth, descriptor }),
                _ => script.say_put(0, 10),
            }
        }
        assert_eq!(script.rig.ends[0].lost, [Ended::Violation(ViolationOf::NoCredit(kind))]);
        script.end();
    }
}

#[test]
fn an_idle_connection_is_kept_alive_with_what_is_owed() {
    let mut script = Script::connected();
    script.say_put(0, 10);
    script.tick(KEEPALIVE - SECOND);
    assert_eq!(script.hear_kinds(), []);
    script.tick(SECOND);
    assert_eq!(script.hear_kinds(), [(Kind::Noop, 1)]);
    script.tick(KEEPALIVE);
    assert_eq!(script.hear_kinds(), [(Kind::Noop, 0)]);
    // The clock is that of what the engine sends, not of what it hears.
    script.tick(KEEPALIVE - SECOND);
    script.say(Body::Noop);
    script.tick(SECOND);
    assert_eq!((script.hear_kinds(), script.closed), (vec![(Kind::Noop, 0)], 0));
    script.end();
}

#[test]
fn every_kind_of_transfer_that_the_peer_does_not_finish_ends_the_connection_in_time() {
    for kind in [Kind::PutReq, Kind::GetReq, Kind::PutAck] {
        let mut script = Script::connected();
        let id = match kind {
            Kind::PutReq => Some(script.put(100_000)),
            Kind::GetReq => Some(script.get(1, 100_000)),
            _ => {
                script.say(Body::PutReq { header: script.put_header(100_000), cookie: 7 });
                None
            }
        };
        script.hear_one(kind);
        script.tick(TIMEOUT - SECOND);
        // What else happens on the connection does not count.
        script.say_put(0, 10);
        let other = script.put(10);
        assert_eq!((script.result(other), script.closed), (Some(Ok(())), 0));
        script.tick(SECOND);
        assert_eq!(
            (&script.rig.ends[0].lost[..], script.counters().timed_out),
            (&[Ended::TimedOut(16)][..], 1)
        );
        if let Some(id) = id {
            assert_eq!(script.result(id).unwrap().unwrap_err().errno, Errno::TimedOut, "{kind}");
        } else {
            assert_eq!(script.rig.ends[0].arrived, [Ok(10), Err(Errno::ConnectionReset)]);
        }
        script.end();
    }
}

#[test]
fn a_get_req_on_which_the_core_does_not_decide_is_given_up_and_the_connection_stays() {
    let mut script = Script::connected();
    script.rig.ends[0].policy = Policy::Defer;
    let memory = script.memory(vec![0; 5000]);
    let (header, descriptor) = (script.get_header(1, 5000), memory.descriptor(&[(0, 5000)]));
    script.say(Body::GetReq { header, cookie: 7, descriptor });
    script.tick(TIMEOUT);
    assert_eq!(script.hear_one(Kind::GetDone).completion(), (Kind::GetDone, 7, -61));
    script.tick(SECOND);
    // A REPLY that is late leaves by itself.
    script.rig.decide_all(0);
    script.settle();
    script.hear_one(Kind::PutReq);
    assert_eq!(script.closed, 0);
    script.end();
}

#[test]
fn in_version_1_the_last_credit_is_kept_for_a_noop_which_costs_one() {
    let mut script = of_version_1();
    let puts: Vec<_> = (0..8).map(|_| script.put(10)).collect();
    assert_eq!(script.hear_kinds(), vec![(Kind::Immediate, 0); 7]);
    // The mark is 7, or what a NOOP of the peer adds to that.
    (0..6).for_each(|_| script.say_put(0, 10));
    assert_eq!(script.hear_kinds(), []);
    script.say(Body::Noop);
    assert_eq!(script.hear_kinds(), [(Kind::Noop, 7)]);
    assert_eq!(script.result(puts[7]), None);
    // Two more: one that must stay, and one for the message.
    script.say_with(1, &[], Body::Noop);
    assert_eq!(script.hear_kinds(), []);
    script.say_with(1, &[], Body::Noop);
    assert_eq!(script.hear_kinds(), [(Kind::Immediate, 2)]);
    assert_eq!((script.result(puts[7]), script.closed), (Some(Ok(())), 0));
    script.end();
}

#[test]
fn in_version_1_responses_leave_though_the_keepalive_has_no_credit() {
    let mut script = of_version_1();
    (0..7).for_each(|_| _ = script.put(10));
    script.tick(KEEPALIVE);
    assert_eq!(script.hear_kinds().last(), Some(&(Kind::Noop, 0)));
    script.tick(KEEPALIVE);
    script.tick(TIMEOUT);
    assert_eq!((script.hear_kinds(), script.closed), (vec![], 0));
    script.say(Body::PutReq { header: script.put_header(5000), cookie: 7 });
    assert_eq!(script.hear_kinds(), [(Kind::PutAck, 0)]);
    script.end();
}

#[test]
fn more_chains_are_never_posted_than_the_device_has_room_for() {
    for (depth, concurrent_sends) in [(1, 0), (1, 255), (2, 3), (4, 255), (8, 1), (8, 16), (8, 255)] {
        let conn = ConnTunables { concurrent_sends, ..tunables().conn };
        let mut script = Script::with(PEER, 8, EngineTunables { conn, ..tunables() });
        script.ask(|m| m.body = Body::ConnReq(ConnParams { queue_depth: depth, ..PARAMS }));
        let puts: Vec<_> = (0..depth).map(|_| script.put(10_000)).collect();
        let memory = script.memory(vec![0; 10_000]);
        // All at once: what the engine writes to the peer, and what the peer is to write.
        for request in script.hear() {
            let descriptor = memory.descriptor(&[(0, 10_000)]);
            let ack = Body::PutAck { src_cookie: request.cookie(), dst_cookie: 7, descriptor };
            script.post(&[], &script.encoded(&script.message(0, ack)));
        }
        for cookie in 0..depth.into() {
            let request = Body::PutReq { header: script.put_header(5000), cookie };
            script.post(&[], &script.encoded(&script.message(0, request)));
        }
        script.settle();
        let count = |kind| script.heard_so_far().filter(|heard| heard.kind() == kind).count();
        let counts = (count(Kind::PutDone), count(Kind::PutAck), script.closed);
        assert_eq!(counts, (depth.into(), depth.into(), 0), "depth {depth}, {concurrent_sends} at once");
        assert!(puts.iter().all(|put| script.result(*put) == Some(Ok(()))));
        script.end();
    }
}
