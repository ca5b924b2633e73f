//! Tests of unacked messages.

#![allow(clippy::unwrap_used)]
use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn conn_seq() -> ConnSeq {
    ConnSeq::nth(6)
}

fn message_id(sequence: u64) -> MessageId {
    MessageId::new(conn_seq(), sequence).unwrap()
}

fn written(n: u64) -> Unacked<u64> {
    let mut unacked = Unacked::new(conn_seq());
    for sequence in 1..=n {
        assert_eq!(unacked.open(), Some(message_id(sequence)));
        assert_eq!(unacked.written(message_id(sequence), sequence), AfterWrite::Waits);
    }
    unacked
}

#[test]
fn a_written_message_waits_for_its_delivery_ack() {
    let mut unacked = written(3);
    assert_eq!(unacked.acknowledge(message_id(2)), Ok(Some(2)));
    assert_eq!(unacked.acknowledge(message_id(2)), Err(NotOutstanding));
    assert_eq!(unacked.acknowledge(message_id(4)), Err(NotOutstanding));
    assert_eq!(unacked.acknowledge(MessageId::new(ConnSeq::nth(7), 1).unwrap()), Err(NotOutstanding));
    assert_eq!(unacked.acknowledge(message_id(1).resent()), Err(NotOutstanding));
    assert_eq!(unacked.acknowledge(message_id(1)), Ok(Some(1)));
    assert_eq!(unacked.acknowledge(message_id(1)), Err(NotOutstanding));
    assert_eq!(unacked.acknowledge(message_id(3)), Ok(Some(3)));
    assert!(unacked.is_empty());
    assert_eq!(unacked.open(), Some(message_id(4)));
}

#[test]
fn a_delivery_ack_may_arrive_before_the_write_returns() {
    let mut unacked = Unacked::new(conn_seq());
    let id = unacked.open().unwrap();
    assert_eq!(unacked.acknowledge(id), Ok(None));
    assert_eq!(unacked.acknowledge(id), Err(NotOutstanding));
    assert_eq!(unacked.written(id, "message"), AfterWrite::Done("message"));
    assert!(unacked.is_empty());
}

#[test]
fn a_resent_message_keeps_its_id() {
    let mut unacked = written(1);
    let elsewhere = MessageId::new(ConnSeq::nth(1), 99).unwrap();
    let id = unacked.open_resend(elsewhere);
    assert_eq!(id, elsewhere.resent());
    assert!(unacked.contains(id) && !unacked.contains(elsewhere));
    assert_eq!(unacked.written(id, 9), AfterWrite::Waits);
    assert_eq!(unacked.acknowledge(elsewhere), Err(NotOutstanding));
    assert_eq!(unacked.acknowledge(id), Ok(Some(9)));
    assert_eq!(unacked.acknowledge(id), Err(NotOutstanding));
    assert!(unacked.resent.is_empty());
}

#[test]
fn messages_that_will_not_be_acknowledged_are_given_back_once() {
    let mut unacked = written(2);
    let (writing, acknowledged) = (unacked.open().unwrap(), unacked.open().unwrap());
    let resent = unacked.open_resend(MessageId::new(ConnSeq::nth(1), 1).unwrap());
    assert_eq!(unacked.written(resent, 5), AfterWrite::Waits);
    assert_eq!(unacked.acknowledge(acknowledged), Ok(None));
    assert_eq!(unacked.give_up(), [1, 2, 5]);
    assert_eq!(unacked.give_up(), []);
    assert_eq!(unacked.written(writing, 3), AfterWrite::Lost(3));
    assert_eq!(unacked.written(acknowledged, 4), AfterWrite::Done(4));
    // A delivery ACK that was under way is no protocol error of the peer's.
    assert_eq!(unacked.acknowledge(message_id(1)), Ok(None));
}

#[test]
fn a_range_of_acks_must_be_outstanding_in_full() {
    let mut unacked = written(6);
    assert_eq!(unacked.acknowledge(message_id(2)), Ok(Some(2)));
    for (from, to, want) in [
        (3, 6, true),
        (1, 1, true),
        (6, 6, true),
        (1, 2, false),
        (2, 3, false),
        (3, 7, false),
        (6, (1 << 40) - 1, false),
        (7, 7, false),
    ] {
        assert_eq!(unacked.awaits_all(message_id(from), message_id(to)), want, "{from} {to}");
    }
    assert_eq!(unacked.acknowledge(message_id(1)), Ok(Some(1)));
    assert!(!unacked.awaits_all(message_id(1), message_id(6)));
    assert!(unacked.awaits_all(message_id(3), message_id(6)));
    assert!(!unacked.awaits_all(message_id(3).resent(), message_id(6)));
    assert!(!unacked.awaits_all(message_id(3), MessageId::new(ConnSeq::nth(7), 6).unwrap()));
}

#[test]
fn the_oldest_unacknowledged_message_is_timed() {
    let start = Time(Duration::from_secs(1000));
    let at = |seconds| start + Duration::from_secs(seconds);
    let waits =
        |unacked: &mut Unacked<u64>, seconds| unacked.oldest_waits(at(seconds)).map(|waits| waits.as_secs());
    let mut unacked = written(2);
    assert_eq!(waits(&mut unacked, 10), Some(0));
    assert_eq!(waits(&mut unacked, 15), Some(5));
    let _ = unacked.acknowledge(message_id(2));
    assert_eq!(waits(&mut unacked, 16), Some(6));
    let resent = unacked.open_resend(MessageId::new(ConnSeq::nth(1), 1).unwrap());
    let _ = unacked.written(resent, 9);
    let _ = unacked.acknowledge(message_id(1));
    assert_eq!(waits(&mut unacked, 17), Some(0));
    assert_eq!(waits(&mut unacked, 18), Some(1));
    let _ = unacked.acknowledge(resent);
    assert_eq!(waits(&mut unacked, 19), None);
    let _ = unacked.open();
    assert_eq!(waits(&mut unacked, 20), None);
}

#[derive(Clone, Debug)]
enum RxStep {
    Open,
    Resend(u64),
    Written(usize),
    Acknowledge(usize),
    GiveUp,
}

fn step() -> impl Strategy<Value = RxStep> {
    prop_oneof![
        4 => Just(RxStep::Open),
        1 => (1_u64..5).prop_map(RxStep::Resend),
        5 => (0_usize..20).prop_map(RxStep::Written),
        5 => (0_usize..20).prop_map(RxStep::Acknowledge),
        1 => Just(RxStep::GiveUp),
    ]
}

proptest! {
    /// The model: for each ID, whether it is written and whether its delivery ACK has been received; it ends when both are.
    #[test]
    fn each_unacknowledged_message_is_given_back_exactly_once(steps in prop::collection::vec(step(), 0..60)) {
        let mut unacked = Unacked::new(conn_seq());
        let mut model: BTreeMap<MessageId, (bool, bool)> = BTreeMap::new();
        let mut message_ids = Vec::new();
        let mut given_up = false;
        for step in steps {
            match step {
                RxStep::Open => {
                    let id = unacked.open().unwrap();
                    message_ids.push(id);
                    model.insert(id, (false, false));
                }
                RxStep::Resend(sequence) => {
                    let first = MessageId::new(ConnSeq::nth(1), sequence).unwrap();
                    if let std::collections::btree_map::Entry::Vacant(vacant) = model.entry(first.resent()) {
                        message_ids.push(unacked.open_resend(first));
                        vacant.insert((false, false));
                    }
                }
                RxStep::Written(at) => {
                    let Some(id) = message_ids.get(at).copied() else { continue };
                    let Some((written, acknowledged)) = model.get_mut(&id) else { continue };
                    if std::mem::replace(written, true) {
                        continue;
                    }
                    let want = match (*acknowledged, given_up) {
                        (true, _) => AfterWrite::Done(id),
                        (false, true) => AfterWrite::Lost(id),
                        (false, false) => AfterWrite::Waits,
                    };
                    if want != AfterWrite::Waits {
                        model.remove(&id);
                    }
                    prop_assert_eq!(unacked.written(id, id), want);
                }
                RxStep::Acknowledge(at) => {
                    let Some(id) = message_ids.get(at).copied() else { continue };
                    let nothing = if given_up { Ok(None) } else { Err(NotOutstanding) };
                    let want = match model.get_mut(&id) {
                        Some((true, false)) => {
                            model.remove(&id);
                            Ok(Some(id))
                        }
                        Some((false, acknowledged @ false)) => {
                            *acknowledged = true;
                            Ok(None)
                        }
                        _ => nothing,
                    };
                    prop_assert_eq!(unacked.acknowledge(id), want);
                }
                RxStep::GiveUp => {
                    given_up = true;
                    let mut want: Vec<MessageId> =
                        model.iter().filter(|(_, (written, _))| *written).map(|(id, _)| *id).collect();
                    model.retain(|_, (written, _)| !*written);
                    let mut got = unacked.give_up();
                    got.sort();
                    want.sort();
                    prop_assert_eq!(got, want);
                }
            }
        }
    }
}
