//! A router that sends large messages on while they arrive.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use lnet_core::lnd::{Arrived, CutThrough, RxAction, Upcalls};
use lnet_core::router::{CutThroughCounts, Forwarded};
use lnet_core::topology::Route;
use lnet_core::{
    ArrivingMessage, Cause, Confirmation, Delivery, Errno, MessageOrigin, OutgoingMessage, Pooled,
    Provenance, SendFailure, Settings,
};
use lnet_wire::{Header, Nid};
use std::num::NonZeroU64;
use std::time::Duration;
use support::{FakeDriver, OnSend, Rig, header_from, not_sent, on_net, put_body, tcp};

const MIB: u32 = 1 << 20;
/// A part of a payload with which a message may be begun.
const PART: usize = 100_000;

/// A router between `tcp` and `tcp1` with `credits` for each peer, whose driver keeps what it is to send and takes messages that are
/// still arriving.
fn router(credits: u32) -> Rig {
    let driver = FakeDriver::new(OnSend::Keep);
    driver.take_arriving(true);
    let rig = Rig::builder(driver).credits(64, credits).nids([tcp(1), on_net(1, 1)]).build();
    rig.core.admin().change_router(|router| router.switched(true)).unwrap();
    rig
}

/// A router that knows `tcp(2)` as quick.
fn router_that_knows_the_sender(credits: u32) -> Rig {
    let rig = router(credits);
    let mut message = arrives(&rig, MIB, Some(name()));
    assert!(matches!(part(&rig, &mut message, PART), CutThrough::Never), "nothing is known");
    rig.core.data_path().received(message, Ok(()));
    rig.driver.finish();
    rig.driver.ni(0).confirmations();
    rig
}

/// The name of the sender's message.
fn name() -> MessageOrigin {
    MessageOrigin { node: NonZeroU64::MIN, id: NonZeroU64::MIN }
}

fn header(length: u32) -> Header {
    Header { dest_nid: on_net(1, 5), ..header_from(tcp(2), put_body(None), length) }
}

fn arrives(rig: &Rig, length: u32, hop: Option<MessageOrigin>) -> ArrivingMessage {
    let provenance = Provenance { hop, carried: None, ..Provenance::default() };
    match rig.arrives_as(tcp(2), &header(length), &provenance) {
        RxAction::Deliver(message) => message,
        other => panic!("{other:?}"),
    }
}

fn part(rig: &Rig, message: &mut ArrivingMessage, arrived: usize) -> CutThrough {
    rig.core.data_path().cut_through(message, arrived)
}

/// Begins to send the message on, of which a part has arrived.
fn begin(rig: &Rig, message: &mut ArrivingMessage) {
    rig.core.data_path().send_cut_through(begun(rig, message));
}

fn begun(rig: &Rig, message: &mut ArrivingMessage) -> Pooled<OutgoingMessage> {
    match part(rig, message, PART) {
        CutThrough::Begin(outgoing) => outgoing,
        other => panic!("{other:?}"),
    }
}

/// The next hop of each message that the second interface keeps, and how much of it has arrived.
fn sent(rig: &Rig) -> Vec<(Nid, Arrived)> {
    rig.driver.ni(1).map_kept(|message| {
        let arrived = message.arrival().map_or(Arrived::Whole, |arrival| arrival.arrived());
        (message.next_hop().nid, arrived)
    })
}

/// Checks that nothing of any message is left.
fn assert_idle(rig: &Rig) {
    let buffers = rig.core.admin().router_buffers(0).unwrap();
    assert!(buffers.iter().all(|pool| pool.credits == pool.buffers as i32), "{buffers:?}");
    assert_eq!(rig.messages(), 0);
}

#[test]
fn a_large_message_of_a_quick_sender_is_sent_on_while_it_arrives() {
    let rig = router_that_knows_the_sender(8);
    let mut message = arrives(&rig, MIB, Some(name()));
    assert!(
        matches!(part(&rig, &mut message, 100), CutThrough::NotYet(at) if at > 100 && at as usize <= PART)
    );
    assert!(message.arrival().is_none());
    begin(&rig, &mut message);
    assert_eq!(sent(&rig), [(on_net(1, 5), Arrived::Part(PART))]);
    message.arrival().unwrap().advance(2 * PART);
    assert_eq!(sent(&rig), [(on_net(1, 5), Arrived::Part(2 * PART))]);
    // Both have the same memory.
    let receives = message.payload().next().unwrap().address;
    let sends = rig.driver.ni(1).map_kept(|outgoing| outgoing.payload().next().unwrap().address);
    assert_eq!((sends, message.payload_len()), (vec![receives], MIB as usize));
    rig.core.data_path().received(message, Ok(()));
    assert_eq!(sent(&rig), [(on_net(1, 5), Arrived::Whole)]);
    assert_eq!(rig.driver.ni(0).confirmations(), [], "the next node does not have it yet");
    rig.driver.finish();
    assert_eq!(rig.driver.ni(0).confirmations(), [(tcp(2), name(), Confirmation::Delivered)]);
    assert_idle(&rig);
    let cut_through = CutThroughCounts { begun: 1, bytes: MIB.into(), abandoned: 0 };
    let forwarded = Forwarded { messages: 2, bytes: 2 * u64::from(MIB), cut_through };
    assert_eq!(rig.core.admin().forwarded(), forwarded);
}

#[test]
fn a_message_is_received_as_a_whole_if_it_is_not_confirmed_or_the_settings_say_so() {
    let rig = router_that_knows_the_sender(8);
    let mut message = arrives(&rig, MIB, None);
    assert!(matches!(part(&rig, &mut message, PART), CutThrough::Never));
    rig.core.data_path().received(message, Ok(()));
    let switch_off = |settings: &mut Settings| {
        settings.cut_through = false;
        Ok(())
    };
    rig.core.admin().change_settings(switch_off).unwrap();
    let mut message = arrives(&rig, MIB, Some(name()));
    assert!(matches!(part(&rig, &mut message, PART), CutThrough::Never));
    rig.core.data_path().received(message, Ok(()));
    rig.driver.finish();
    assert_idle(&rig);
}

/// Fails if a message that is not begun at once is lost, or sent before its end.
#[test]
fn a_message_that_its_next_hop_does_not_take_at_once_is_sent_when_it_has_arrived() {
    for (what, takes, credits) in [("busy", false, 8), ("no credit", true, 1)] {
        let rig = router_that_knows_the_sender(credits);
        if credits == 1 {
            let other = Header { src_nid: tcp(3), ..header(0) };
            let RxAction::Deliver(message) = rig.arrives(&other) else { panic!() };
            rig.core.data_path().received(message, Ok(()));
        }
        let before = sent(&rig).len();
        let mut message = arrives(&rig, MIB, Some(name()));
        rig.driver.take_arriving(takes);
        begin(&rig, &mut message);
        assert_eq!(sent(&rig).len(), before, "{what}");
        rig.core.data_path().received(message, Ok(()));
        rig.driver.finish();
        if credits == 1 {
            assert_eq!(sent(&rig), [(on_net(1, 5), Arrived::Whole)], "{what}");
            rig.driver.finish();
        }
        assert_eq!(rig.driver.ni(0).confirmations(), [(tcp(2), name(), Confirmation::Delivered)], "{what}");
        assert_eq!(rig.core.admin().forwarded().cut_through.begun, 0, "{what}");
        assert_idle(&rig);
    }
}

#[test]
fn a_message_that_arrives_before_it_is_begun_is_sent_like_any_other() {
    let rig = router_that_knows_the_sender(8);
    let mut message = arrives(&rig, MIB, Some(name()));
    let outgoing = begun(&rig, &mut message);
    rig.core.data_path().received(message, Ok(()));
    rig.core.data_path().send_cut_through(outgoing);
    assert_eq!(sent(&rig), [(on_net(1, 5), Arrived::Whole)]);
    rig.driver.finish();
    assert_idle(&rig);
}

/// Fails if a message is sent again, of which only a part is there, or not at all.
#[test]
fn a_message_that_fails_before_it_has_arrived_is_sent_again_when_it_has() {
    let rig = router_that_knows_the_sender(8);
    let further = on_net(2, 5);
    for gateway in [on_net(1, 8), on_net(1, 9)] {
        let route = Route { net: further.net(), gateway, hops: None, priority: 0, health_sensitivity: 1 };
        rig.core.admin().add_route(route).unwrap();
    }
    rig.driver.finish();
    let provenance = Provenance { hop: Some(name()), carried: None, ..Provenance::default() };
    let onwards = Header { dest_nid: further, ..header(MIB) };
    let RxAction::Deliver(mut message) = rig.arrives_as(tcp(2), &onwards, &provenance) else { panic!() };
    begin(&rig, &mut message);
    assert_eq!(sent(&rig), [(on_net(1, 8), Arrived::Part(PART))]);
    rig.driver.ni(1).finish(Err(not_sent(Errno::Io, Cause::LocalDropped)));
    assert_eq!(sent(&rig), []);
    message.arrival().unwrap().advance(2 * PART);
    assert_eq!(sent(&rig), []);
    rig.core.data_path().received(message, Ok(()));
    assert_eq!(sent(&rig), [(on_net(1, 9), Arrived::Whole)]);
    rig.driver.finish();
    assert_eq!(rig.driver.ni(0).confirmations(), [(tcp(2), name(), Confirmation::Delivered)]);
    assert_idle(&rig);
}

/// Fails if a message that does not arrive is sent, confirmed or kept; or if its sender is trusted again at once.
#[test]
fn a_message_that_does_not_arrive_ends_at_both_sides_and_its_sender_is_not_trusted_for_a_minute() {
    const ABANDONED: SendFailure = SendFailure {
        errno: Errno::ConnectionAborted,
        cause: Cause::LocalAborted,
        delivery: Delivery::Abandoned,
    };
    for driver_first in [true, false] {
        let rig = router_that_knows_the_sender(8);
        let mut message = arrives(&rig, MIB, Some(name()));
        begin(&rig, &mut message);
        if driver_first {
            rig.driver.ni(1).finish(Err(ABANDONED));
        }
        rig.core.data_path().received(message, Err(Errno::Io));
        if !driver_first {
            assert_eq!(sent(&rig), [(on_net(1, 5), Arrived::Failed)]);
            rig.driver.ni(1).finish(Err(ABANDONED));
        }
        rig.core.monitor().run();
        assert_eq!((sent(&rig), rig.driver.ni(0).confirmations()), (vec![], vec![]), "{driver_first}");
        let CutThroughCounts { begun, bytes, abandoned } = rig.core.admin().forwarded().cut_through;
        assert_eq!((begun, bytes, abandoned), (1, MIB.into(), 1), "{driver_first}");
        assert_idle(&rig);
        for (seconds, trusted) in [(0, false), (59, false), (1, true)] {
            rig.clock.advance(Duration::from_secs(seconds));
            let mut message = arrives(&rig, MIB, Some(name()));
            let decision = part(&rig, &mut message, PART);
            assert_eq!(matches!(decision, CutThrough::Begin(_)), trusted, "{seconds}: {decision:?}");
            if let CutThrough::Begin(outgoing) = decision {
                rig.core.data_path().send_cut_through(outgoing);
            }
            rig.core.data_path().received(message, Ok(()));
            rig.driver.finish();
        }
        assert_idle(&rig);
    }
}

#[test]
fn a_slow_sender_is_not_trusted_until_a_message_has_come_quickly() {
    let rig = router_that_knows_the_sender(8);
    for (takes_ms, trusted) in [(10, true), (51, true), (10, false), (0, true)] {
        let mut message = arrives(&rig, MIB, Some(name()));
        let decision = part(&rig, &mut message, PART);
        assert_eq!(matches!(decision, CutThrough::Begin(_)), trusted, "{takes_ms}: {decision:?}");
        if let CutThrough::Begin(outgoing) = decision {
            rig.core.data_path().send_cut_through(outgoing);
        }
        rig.clock.advance(Duration::from_millis(takes_ms));
        rig.core.data_path().received(message, Ok(()));
        rig.driver.finish();
    }
    assert_idle(&rig);
}

/// Fails if the failure of a connection that had to be ended because of a sender lowers the health of the way to the next hop.
#[test]
fn no_end_of_the_way_to_the_next_hop_is_blamed_for_a_connection_that_a_stalled_sender_costs() {
    let nids = [tcp(1), on_net(1, 1), on_net(1, 2)];
    let rig = Rig::builder(FakeDriver::new(OnSend::Keep)).credits(64, 8).nids(nids).build();
    rig.core.admin().change_router(|router| router.switched(true)).unwrap();
    let kept_by = || rig.driver.nis().into_iter().find(|ni| ni.kept() > 0);
    for (delivery, blames) in [(Delivery::Abandoned, false), (Delivery::Deduplicated, true)] {
        let RxAction::Deliver(message) = rig.arrives(&header(10)) else { panic!() };
        rig.core.data_path().received(message, Ok(()));
        let failure = SendFailure { errno: Errno::ConnectionAborted, cause: Cause::LocalAborted, delivery };
        kept_by().unwrap().finish(Err(failure));
        let healthy = rig.nis.iter().all(|ni| ni.health() == 1000);
        assert_eq!(healthy, !blames, "{delivery:?}");
        rig.clock.advance(Duration::from_secs(1));
        rig.core.monitor().run();
        assert!(kept_by().is_some(), "it is sent again");
        rig.driver.finish();
        assert_idle(&rig);
    }
}
