//! Exactly-once delivery through gateways of this library: which node keeps a message for how long, and which copies are dropped.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use lnet_core::lnd::{RxAction, Upcalls};
use lnet_core::topology::Route;
use lnet_core::{
    ArrivingMessage, CarriedOrigin, Cause, Confirmation, Delivery, Errno, EventKind, FatalReporter,
    MdOptions, MessageOrigin, OutgoingMessage, Provenance, SendFailure, Settings,
};
use lnet_wire::{Body, Header, Nid, WireHandle};
use std::num::NonZeroU64;
use std::time::Duration;
use support::routes::far;
use support::{BROKEN, FakeDriver, OnSend, Rig, THIS_NODE, header_from, nid, number, on_net, put_body, tcp};

const SENT: (EventKind, Result<(), Errno>, bool) = (EventKind::Send, Ok(()), true);
/// A node with routes to `tcp1` over these gateways of this library; its driver keeps the messages that it is to send.
fn sender(gateways: &[u32]) -> Rig {
    let rig = Rig::builder(FakeDriver::new(OnSend::Keep).naming()).build();
    for gateway in gateways {
        rig.core.admin().add_route(route(tcp(*gateway))).unwrap();
    }
    rig
}

/// A route to `tcp1`.
fn route(gateway: Nid) -> Route {
    Route { net: far(1).net(), gateway, hops: None, priority: 0, health_sensitivity: 1 }
}

/// The first hop, the id and the origin of each message that the driver keeps.
fn sent(rig: &Rig) -> Vec<(Nid, u64, Option<CarriedOrigin>)> {
    rig.driver.ni(0).map_kept(|message: &OutgoingMessage| {
        let id = message.message_id().map_or(0, NonZeroU64::get);
        (message.next_hop().nid, id, message.carried_origin())
    })
}

fn copy_of(id: u64) -> Option<CarriedOrigin> {
    let origin = MessageOrigin { node: THIS_NODE, id: number(id) };
    Some(CarriedOrigin { origin, may_have_arrived: true })
}

fn confirm(rig: &Rig, gateway: u32, id: u64, confirmation: Confirmation) {
    rig.driver.ni(0).confirmed(tcp(gateway), number(id), confirmation);
}

#[test]
fn a_message_counts_as_sent_when_its_gateway_has_confirmed_it() {
    let rig = sender(&[9]);
    rig.put(rig.bind(1), far(5));
    assert_eq!(sent(&rig), [(tcp(9), 1, None)]);
    rig.driver.finish();
    assert_eq!((rig.take_events(), rig.messages()), (vec![], 1));
    confirm(&rig, 9, 1, Confirmation::Delivered);
    assert_eq!((rig.take_events(), rig.messages()), (vec![SENT], 0));
    // A message to a neighbour needs only the delivery ACK.
    rig.put(rig.bind(1), tcp(5));
    rig.driver.finish();
    assert_eq!(rig.take_events(), [SENT]);
}

#[test]
fn a_confirmation_may_come_before_the_delivery_ack() {
    let rig = sender(&[9]);
    rig.put(rig.bind(1), far(5));
    confirm(&rig, 9, 1, Confirmation::Delivered);
    assert_eq!(rig.take_events(), []);
    rig.driver.finish();
    assert_eq!((rig.take_events(), rig.messages()), (vec![SENT], 0));
}

/// Fails if any neighbour can end a message by its id.
#[test]
fn only_the_gateway_that_a_message_went_to_confirms_it_by_any_of_its_nids() {
    for is_early in [false, true] {
        let rig = sender(&[]);
        rig.core.admin().make_peer(tcp(9), true, false).unwrap();
        rig.core.admin().add_peer_nid(tcp(9), tcp(10), true).unwrap();
        let net = far(1).net();
        let route = Route { net, gateway: tcp(9), hops: None, priority: 0, health_sensitivity: 1 };
        rig.core.admin().add_route(route).unwrap();
        let send = |id: u64, from: u32| {
            rig.put(rig.bind(1), far(5));
            if is_early {
                confirm(&rig, from, id, Confirmation::Delivered);
            }
            rig.driver.finish();
            if !is_early {
                confirm(&rig, from, id, Confirmation::Delivered);
            }
        };
        send(1, 8);
        assert_eq!((rig.take_events(), rig.messages()), (vec![], 1), "early: {is_early}");
        confirm(&rig, 9, 1, Confirmation::Delivered);
        assert_eq!(rig.take_events(), [SENT]);
        send(2, 10);
        assert_eq!((rig.take_events(), rig.messages()), (vec![SENT], 0), "early: {is_early}");
    }
}

#[test]
fn what_a_gateway_has_taken_along_is_sent_over_another_as_a_copy() {
    type Loss = fn(&Rig, u32);
    let losses: [(&str, Loss); 4] = [
        ("its connection ends with the message on it", |rig, _| {
            rig.driver.ni(0).finish(Err(BROKEN));
        }),
        ("its connection ends later", |rig, gateway| {
            rig.driver.finish();
            rig.driver.ni(0).connections_ended(tcp(gateway));
        }),
        ("its connection ends just before the delivery ACK is looked at", |rig, gateway| {
            rig.driver.ni(0).connections_ended(tcp(gateway));
            rig.driver.finish();
        }),
        ("it becomes unresponsive", |rig, gateway| {
            rig.driver.finish();
            rig.core.data_path().path_is_unresponsive(rig.ni(), tcp(gateway));
        }),
    ];
    for (what, lose) in losses {
        let rig = sender(&[8, 9]);
        rig.put(rig.bind(1), far(5));
        let first = sent(&rig)[0].0;
        lose(&rig, if first == tcp(8) { 8 } else { 9 });
        let second = if first == tcp(8) { 9 } else { 8 };
        assert_eq!(sent(&rig), [(tcp(second), 2, copy_of(1))], "{what}");
        rig.driver.finish();
        assert_eq!(rig.take_events(), [], "{what}");
        // Id 1 is that of the attempt over the first gateway.
        confirm(&rig, second, 1, Confirmation::Delivered);
        assert_eq!(rig.take_events(), [], "{what}");
        confirm(&rig, second, 2, Confirmation::Delivered);
        assert_eq!((rig.take_events(), rig.messages()), (vec![SENT], 0), "{what}");
    }
}

#[test]
fn what_gateways_return_is_sent_over_others_until_its_deadline() {
    let rig = sender(&[8, 9]);
    rig.put(rig.bind(1), far(5));
    let first = sent(&rig)[0].0;
    rig.driver.finish();
    confirm(&rig, 8, 1, Confirmation::NotDelivered);
    let [(second, 2, Some(carried))] = sent(&rig)[..] else { panic!("{:?}", sent(&rig)) };
    assert!(second != first && !carried.may_have_arrived);
    rig.driver.finish();
    confirm(&rig, 9, 2, Confirmation::Unknown);
    let mut resends = 0;
    for _ in 0..1000 {
        rig.clock.advance(Duration::from_secs(1));
        rig.core.monitor().run();
        let events = rig.take_events();
        if !events.is_empty() {
            assert_eq!(events, [(EventKind::Send, Err(Errno::HostUnreachable), true)]);
            assert!(resends > 10, "{resends}");
            return;
        }
        // Pings of the gateways carry no origin, and are not answered.
        let again: Vec<_> = sent(&rig).into_iter().filter(|(.., carried)| carried.is_some()).collect();
        rig.driver.finish();
        for (gateway, id, carried) in again {
            assert_eq!(carried, copy_of(1));
            rig.driver.ni(0).confirmed(gateway, number(id), Confirmation::NotDelivered);
            resends += 1;
        }
    }
    panic!("it is tried for ever");
}

/// Fails if the only gateway that is left counts as one that never responds, when it has just returned the message.
#[test]
fn what_the_last_gateway_returns_is_sent_to_it_again() {
    let rig = sender(&[8, 9]);
    let unchecked = |settings: &mut Settings| {
        settings.alive_router_check_interval = 0;
        Ok::<(), Errno>(())
    };
    rig.core.admin().change_settings(unchecked).unwrap();
    rig.put(rig.bind(1), far(5));
    rig.driver.ni(0).finish(Err(BROKEN));
    let [(second, 2, _)] = sent(&rig)[..] else { panic!("{:?}", sent(&rig)) };
    assert_eq!(second, tcp(9));
    rig.driver.finish();
    confirm(&rig, 9, 2, Confirmation::Unknown);
    assert_eq!(rig.take_events(), []);
    rig.clock.advance(Duration::from_secs(1));
    rig.core.monitor().run();
    assert_eq!(sent(&rig).len(), 1);
}

#[test]
fn what_a_kernel_node_may_have_got_fails_at_once() {
    let rig = sender(&[8, 9]);
    rig.put(rig.bind(1), far(5));
    rig.driver.finish();
    confirm(&rig, 8, 1, Confirmation::Withheld);
    assert_eq!(rig.take_events(), [(EventKind::Send, Err(Errno::HostUnreachable), true)]);
    assert_eq!((sent(&rig), rig.messages()), (vec![], 0));
}

/// A node with routes to `tcp1` over these gateways, the last of which is a kernel node: its driver fails messages to that
/// gateway that need their origin.
fn between_mixed_gateways(gateways: &[u32]) -> Rig {
    let kernel = tcp(gateways[gateways.len() - 1]);
    let refused = SendFailure {
        errno: Errno::HostUnreachable,
        cause: Cause::RemoteDropped,
        delivery: Delivery::NeedsOrigin,
    };
    let driver = FakeDriver::scripted(move |message| match message.next_hop().nid == kernel {
        true if message.needs_origin() => OnSend::Fail(refused),
        _ => OnSend::Keep,
    });
    let rig = Rig::builder(driver.naming().recording()).build();
    for gateway in gateways {
        let (net, gateway) = (far(1).net(), tcp(*gateway));
        rig.core
            .admin()
            .add_route(Route { net, gateway, hops: None, priority: 0, health_sensitivity: 1 })
            .unwrap();
    }
    rig
}

/// Fails if a message that a gateway of this library may have forwarded before it went down is resent to a kernel gateway,
/// which can only refuse it, and fails; or if the kernel gateway is chosen repeatedly.
#[test]
fn what_needs_its_origin_goes_by_gateways_that_take_it() {
    let rig = between_mixed_gateways(&[7, 8, 9]);
    let copies_to_kernel = || rig.core.admin().health_totals().failures.of(Cause::RemoteDropped);
    for round in 0..6 {
        rig.put(rig.bind(1), far(5));
        let first = sent(&rig).last().map(|(hop, ..)| *hop).unwrap();
        rig.driver.finish();
        if first == tcp(9) {
            confirm_all(&rig, 9);
            assert_eq!(rig.take_events(), [SENT], "{round}");
            continue;
        }
        rig.driver.ni(0).connections_ended(first);
        pass(&rig, 4);
        // Pings carry no origin.
        let again: Vec<_> = sent(&rig).into_iter().filter(|(.., carried)| carried.is_some()).collect();
        assert!(again.len() == 1 && again[0].0 != tcp(9), "{round}: {again:?}");
        let gateway = if again[0].0 == tcp(7) { 7 } else { 8 };
        rig.driver.finish();
        confirm_all(&rig, gateway);
        assert_eq!(rig.take_events(), [SENT], "{round}");
    }
    // Lacking support for origins is no failure of the gateway.
    assert_eq!(copies_to_kernel(), 0);
}

/// Confirms every message that this gateway may have.
fn confirm_all(rig: &Rig, gateway: u32) {
    (1..50).for_each(|id| confirm(rig, gateway, id, Confirmation::Delivered));
}

/// Fails if the caller gets the error of the last attempt, which had to fail, instead of that of the first failure.
#[test]
fn what_can_only_be_refused_ends_with_its_first_failure() {
    let rig = between_mixed_gateways(&[8, 9]);
    rig.put(rig.bind(1), far(5));
    assert_eq!(sent(&rig)[0].0, tcp(8));
    rig.driver.finish();
    rig.core.admin().delete_routes(None, Some(tcp(8))).unwrap();
    rig.driver.ni(0).connections_ended(tcp(8));
    assert_eq!(rig.take_events(), [(EventKind::Send, Err(Errno::ConnectionReset), true)]);
    let failures = rig.core.admin().health_totals().failures;
    assert_eq!((failures.of(Cause::RemoteDropped), failures.of(Cause::RemoteError)), (0, 1));
    assert_eq!(rig.messages(), 0);
}

/// Advances the clock in half seconds; nothing that is sent arrives meanwhile.
fn pass(rig: &Rig, halves: u32) {
    for _ in 0..halves {
        rig.clock.advance(Duration::from_millis(500));
        rig.core.monitor().run();
    }
}

fn is_ping(message: &OutgoingMessage) -> bool {
    matches!(message.header().body, Body::Get { portal: 0, .. })
}

#[test]
fn a_gateway_that_has_messages_and_says_nothing_is_pinged_and_then_left() {
    for has_delivery_ack in [true, false] {
        let rig = sender(&[8, 9]);
        rig.core.monitor().run();
        rig.put(rig.bind(1), far(5));
        let first = sent(&rig)[0].0;
        if has_delivery_ack {
            rig.driver.finish();
        }
        pass(&rig, 3);
        let pings = rig.driver.ni(0).map_kept(|message| (message.next_hop().nid, is_ping(message)));
        assert!(pings.contains(&(first, true)), "{pings:?}");
        assert_eq!(rig.driver.ni(0).aborted(), []);
        pass(&rig, 3);
        assert!(rig.driver.ni(0).aborted().contains(&first));
        if has_delivery_ack {
            let again = rig.driver.ni(0).map_kept(|message| (message.next_hop().nid, is_ping(message)));
            assert!(again.iter().any(|(to, is_ping)| *to != first && !is_ping), "{again:?}");
        }
    }
}

/// Fails if only the interfaces with NIDs of the gateway's own address family count as paths to it, of which none works.
#[test]
fn a_gateway_that_says_nothing_is_pinged_and_left_by_an_interface_of_the_other_address_family() {
    let gateways = ["fd99::8@tcp", "fd99::9@tcp"].map(nid);
    let driver = FakeDriver::new(OnSend::Keep).naming();
    let rig = Rig::builder(driver).nids([tcp(1), nid("fd99::1@tcp")]).build();
    let md = rig.attach(-1, MdOptions::OP_PUT.0);
    for gateway in gateways {
        rig.core.admin().add_route(route(gateway)).unwrap();
        // What has been heard on an interface is reached from it.
        let RxAction::Deliver(message) = rig.arrives(&header_from(gateway, put_body(None), 0)) else {
            panic!("the message of {gateway} was not accepted")
        };
        rig.core.data_path().received(message, Ok(()));
    }
    rig.core.data_path().md_unlink(md).unwrap();
    rig.core.admin().set_ni_fatal(nid("fd99::1@tcp"), FatalReporter::Host, Some("link down"));
    rig.core.monitor().run();
    rig.put(rig.bind(1), far(5));
    let first = sent(&rig)[0].0;
    assert!(gateways.contains(&first));
    pass(&rig, 3);
    let pings = rig.driver.ni(0).map_kept(|message| (message.next_hop().nid, is_ping(message)));
    assert!(pings.contains(&(first, true)), "{pings:?}");
    rig.driver.ni(0).aborted();
    pass(&rig, 3);
    assert!(rig.driver.ni(0).aborted().contains(&first));
}

#[test]
fn a_message_that_is_never_confirmed_ends_at_its_deadline() {
    let rig = sender(&[9]);
    rig.put(rig.bind(1), far(5));
    for _ in 0..400 {
        rig.driver.finish();
        pass(&rig, 1);
    }
    rig.driver.finish();
    let events = rig.take_events();
    assert!(matches!(events[..], [(EventKind::Send, Err(_), true)]), "{events:?}");
}

#[test]
fn messages_without_a_confirmation_end_when_their_md_is_unlinked_and_with_the_node() {
    let rig = sender(&[9]);
    let md = rig.bind(1);
    rig.put(md, far(5));
    rig.driver.finish();
    rig.core.monitor().run();
    let _ = rig.core.data_path().md_unlink(md);
    rig.clock.advance(Duration::from_secs(1));
    rig.core.monitor().run();
    assert_eq!(rig.take_events(), [(EventKind::Send, Err(Errno::Cancelled), true)]);
    rig.put(rig.bind(1), far(5));
    rig.driver.finish();
    rig.core.admin().shutdown();
    assert_eq!(rig.messages(), 0);
}

// ---- the destination ----

/// A PUT of a node behind gateways arrives by this gateway, after that node has given up another one or before.
fn comes_again_by(rig: &Rig, gateway: u32, may_have_arrived: bool) -> RxAction {
    let header = Header { src_nid: far(7), ..header_from(far(7), put_body(None), 4) };
    let origin = MessageOrigin { node: number(7), id: number(70) };
    let carried = Some(CarriedOrigin { origin, may_have_arrived });
    rig.arrives_as(tcp(gateway), &header, &Provenance { hop: None, carried, ..Provenance::default() })
}

/// The same by the gateway that the node has tried first.
fn comes_by(rig: &Rig, gateway: u32) -> RxAction {
    comes_again_by(rig, gateway, false)
}

/// A node with routes over all gateways by which messages arrive.
fn destination() -> Rig {
    let rig = sender(&[8, 9, 10]);
    rig.attach(-1, MdOptions::OP_PUT.0);
    rig
}

fn delivered(action: RxAction) -> ArrivingMessage {
    let RxAction::Deliver(message) = action else { panic!("{action:?}") };
    message
}

/// The event of the one PUT that arrives.
const ARRIVED: (EventKind, Result<(), Errno>, bool) = (EventKind::Put, Ok(()), false);

#[test]
fn a_copy_of_what_has_arrived_is_dropped() {
    let rig = destination();
    let message = delivered(comes_by(&rig, 8));
    rig.core.data_path().received(message, Ok(()));
    assert!(matches!(comes_by(&rig, 9), RxAction::Discard));
    assert!(matches!(comes_by(&rig, 8), RxAction::Discard));
    assert_eq!((rig.take_events(), rig.messages()), (vec![ARRIVED], 0));
}

#[test]
fn a_copy_of_what_matched_nothing_is_dropped() {
    let rig = sender(&[8, 9]);
    assert!(matches!(comes_by(&rig, 8), RxAction::Discard));
    rig.attach(-1, MdOptions::OP_PUT.0);
    assert!(matches!(comes_by(&rig, 9), RxAction::Discard));
    assert_eq!((rig.take_events(), rig.messages()), (vec![], 0));
}

#[test]
fn copies_wait_for_what_is_still_arriving_from_a_gateway_that_is_given_up() {
    let rig = destination();
    let first = delivered(comes_by(&rig, 8));
    assert!(matches!(comes_again_by(&rig, 9, true), RxAction::Defer));
    assert_eq!(rig.driver.ni(0).aborted(), [tcp(8)]);
    assert!(matches!(comes_again_by(&rig, 10, true), RxAction::Defer));
    assert_eq!(rig.driver.resumed().len(), 0);
    rig.core.data_path().received(first, Ok(()));
    assert!(matches!(rig.driver.resumed()[..], [RxAction::Discard, RxAction::Discard]));
    assert_eq!((rig.take_events(), rig.messages()), (vec![ARRIVED], 0));
}

/// Fails if the late copy from a gateway that has died ends the connection by which the copy from the next gateway is arriving.
#[test]
fn the_oldest_copy_of_a_message_waits_and_ends_no_connection() {
    let rig = destination();
    let newer = delivered(comes_again_by(&rig, 9, true));
    assert!(matches!(comes_by(&rig, 8), RxAction::Defer));
    assert_eq!(rig.driver.ni(0).aborted(), []);
    rig.core.data_path().received(newer, Ok(()));
    assert!(matches!(rig.driver.resumed()[..], [RxAction::Discard]));
    assert_eq!((rig.take_events(), rig.messages()), (vec![ARRIVED], 0));
}

/// Fails if a copy that waits counts as delivered because another copy comes, and then neither is complete.
#[test]
fn a_message_is_received_from_any_of_the_copies_that_wait() {
    let rig = destination();
    let mut arriving = delivered(comes_by(&rig, 8));
    assert!(matches!(comes_again_by(&rig, 9, true), RxAction::Defer));
    assert!(matches!(comes_again_by(&rig, 10, true), RxAction::Defer));
    for gateway in [10, 9] {
        rig.core.data_path().received(arriving, Err(Errno::Io));
        let [action] = rig.driver.resumed().try_into().unwrap();
        arriving = delivered(action);
        assert_eq!(arriving.sender(), tcp(gateway));
    }
    assert_eq!(rig.take_events(), []);
    rig.core.data_path().received(arriving, Ok(()));
    assert_eq!((rig.take_events(), rig.messages()), (vec![ARRIVED], 0));
}

/// Fails if a copy with a longer payload is received into the memory of the first message.
#[test]
fn a_copy_of_another_length_is_dropped() {
    let rig = destination();
    let header = Header { src_nid: far(7), ..header_from(far(7), put_body(None), 400) };
    let origin = MessageOrigin { node: number(7), id: number(70) };
    let carried = Some(CarriedOrigin { origin, may_have_arrived: true });
    let provenance = Provenance { hop: None, carried, ..Provenance::default() };
    let first = delivered(comes_by(&rig, 8));
    assert!(matches!(rig.arrives_as(tcp(9), &header, &provenance), RxAction::Discard));
    rig.core.data_path().received(first, Err(Errno::Io));
    assert!(matches!(rig.arrives_as(tcp(9), &header, &provenance), RxAction::Discard));
    assert_eq!((rig.driver.resumed().len(), rig.take_events()), (0, vec![]));
}

#[test]
fn a_limited_number_of_copies_of_a_message_waits() {
    let rig = destination();
    let first = delivered(comes_by(&rig, 8));
    for copy in 0..20 {
        assert!(matches!(comes_again_by(&rig, 9, true), RxAction::Defer), "{copy}");
    }
    let dropped = rig.driver.resumed();
    assert!(dropped.len() == 12 && dropped.iter().all(|action| matches!(action, RxAction::Discard)));
    rig.core.data_path().received(first, Ok(()));
    assert_eq!((rig.driver.resumed().len(), rig.take_events(), rig.messages()), (8, vec![ARRIVED], 0));
}

#[test]
fn a_message_that_breaks_off_is_received_again_into_the_same_memory() {
    for copy_comes_first in [true, false] {
        let rig = destination();
        let first = delivered(comes_by(&rig, 8));
        let copy = if copy_comes_first {
            assert!(matches!(comes_by(&rig, 9), RxAction::Defer));
            rig.core.data_path().received(first, Err(Errno::Io));
            let mut resumed = rig.driver.resumed();
            delivered(resumed.remove(0))
        } else {
            rig.core.data_path().received(first, Err(Errno::Io));
            delivered(comes_by(&rig, 9))
        };
        assert_eq!(rig.take_events(), []);
        assert_eq!((copy.payload_len(), copy.sender()), (4, tcp(9)));
        rig.core.data_path().received(copy, Ok(()));
        assert_eq!((rig.take_events(), rig.messages()), (vec![ARRIVED], 0));
        assert!(matches!(comes_by(&rig, 8), RxAction::Discard));
    }
}

#[test]
fn a_message_that_breaks_off_fails_if_no_copy_comes() {
    let rig = destination();
    let first = delivered(comes_by(&rig, 8));
    rig.core.data_path().received(first, Err(Errno::Io));
    for _ in 0..200 {
        assert_eq!(rig.take_events(), []);
        rig.clock.advance(Duration::from_secs(1));
        rig.core.monitor().run();
        if rig.messages() == 0 {
            break;
        }
    }
    assert_eq!(rig.take_events(), [(EventKind::Put, Err(Errno::Io), false)]);
}

#[test]
fn a_reply_that_breaks_off_is_completed_by_its_copy() {
    let rig = sender(&[8, 9]);
    rig.get(rig.bind(-1), far(5));
    let handles = rig.driver.ni(0).map_kept(|message| match message.header().body {
        Body::Get { reply, .. } => reply,
        _ => panic!("no GET"),
    });
    rig.driver.finish();
    confirm(&rig, 8, 1, Confirmation::Delivered);
    let reply = |gateway, handle: WireHandle| {
        let header = Header { src_nid: far(5), ..header_from(far(5), Body::Reply { handle }, 4) };
        let origin = MessageOrigin { node: number(7), id: number(70) };
        let carried = Some(CarriedOrigin { origin, may_have_arrived: false });
        rig.arrives_as(tcp(gateway), &header, &Provenance { hop: None, carried, ..Provenance::default() })
    };
    rig.core.data_path().received(delivered(reply(8, handles[0])), Err(Errno::Io));
    let copy = delivered(reply(9, handles[0]));
    rig.core.data_path().received(copy, Ok(()));
    assert!(matches!(reply(8, handles[0]), RxAction::Discard));
    let events = rig.take_events();
    assert_eq!(events, [(EventKind::Send, Ok(()), false), (EventKind::Reply, Ok(()), false)]);
}

// ---- origins that a node cannot speak for ----

/// A PUT from `source` arrives from the node `from`, which names `node` and `id` as its origin. `from` has implementation_id 90.
fn brought(rig: &Rig, from: Nid, source: Nid, node: u64, id: u64) -> RxAction {
    let header = header_from(source, put_body(None), 0);
    let origin = MessageOrigin { node: number(node), id: number(id) };
    let carried = Some(CarriedOrigin { origin, may_have_arrived: false });
    let hop = Some(MessageOrigin { node: number(90), id: number(id) });
    rig.arrives_as(from, &header, &Provenance { hop, carried, ..Provenance::default() })
}

/// Fails if the origin that a node names is believed although the node is on no path from there: later messages with the same
/// ids would be dropped as copies. Fails also if a gateway's is not believed, if a message with a refused origin is lost, or if
/// the refusal is not counted.
#[test]
fn an_origin_is_believed_only_from_itself_and_from_gateways_on_the_way() {
    let two_nets = far(6);
    // The previous hop, the source, the node named as origin, and whether the origin is believed.
    let table = [
        ("a gateway of its net", tcp(8), far(5), 7, true),
        ("a gateway, by another of its NIDs", tcp(18), far(5), 7, true),
        ("a gateway of another net", tcp(9), far(5), 7, false),
        ("a gateway of another net of the node", tcp(9), two_nets, 7, true),
        ("a gateway of any net, of a source that is near", tcp(9), tcp(5), 7, true),
        ("no gateway", tcp(20), far(5), 7, false),
        ("no gateway, of a source that is near", tcp(20), tcp(5), 7, false),
        ("the node of the source, in the name of another", far(5), far(5), 7, false),
        ("no gateway, as a message of its own", tcp(20), tcp(20), 90, true),
        ("a gateway of its net, which refuses it", tcp(8), far(5), 7 | 1 << 63, false),
    ];
    for (what, from, source, node, is_believed) in table {
        let rig = sender(&[]);
        for (primary, other) in [(tcp(8), tcp(18)), (two_nets, on_net(2, 6))] {
            rig.core.admin().make_peer(primary, true, false).unwrap();
            rig.core.admin().add_peer_nid(primary, other, true).unwrap();
        }
        for (net, gateway) in [(far(1).net(), tcp(8)), (on_net(2, 1).net(), tcp(9))] {
            let route = Route { net, gateway, hops: None, priority: 0, health_sensitivity: 1 };
            rig.core.admin().add_route(route).unwrap();
        }
        rig.attach(-1, MdOptions::OP_PUT.0);
        for _ in 0..2 {
            if let RxAction::Deliver(message) = brought(&rig, from, source, node, 70) {
                rig.core.data_path().received(message, Ok(()));
            }
        }
        let counts = rig.core.message_counts();
        // A copy is recognised only if the origin was believed.
        let delivered = if is_believed { 1 } else { 2 };
        let is_refused = node > 1 << 62;
        assert_eq!(rig.take_events().len(), delivered, "{what}");
        assert_eq!(counts.origins_refused, if is_believed || is_refused { 0 } else { 2 }, "{what}");
        // A message with the named origin arrives by its gateway.
        let comes_first = brought(&rig, tcp(8), far(5), node, 70);
        assert_eq!(matches!(comes_first, RxAction::Deliver(_)), !is_believed, "{what}");
    }
}

/// Fails if an origin is believed from a node that was a gateway of its net, or not from one that has become one.
#[test]
fn an_origin_is_believed_from_gateways_as_they_are_now() {
    let rig = sender(&[]);
    rig.attach(-1, MdOptions::OP_PUT.0);
    let route = Route { net: far(1).net(), gateway: tcp(8), hops: None, priority: 0, health_sensitivity: 1 };
    let mut id = 70;
    let mut refuses = || {
        id += 1;
        let before = rig.core.message_counts().origins_refused;
        if let RxAction::Deliver(message) = brought(&rig, tcp(8), far(5), 7, id) {
            rig.core.data_path().received(message, Ok(()));
        }
        rig.core.message_counts().origins_refused > before
    };
    assert_eq!([refuses(), refuses()], [true, true]);
    rig.core.admin().add_route(route).unwrap();
    assert_eq!([refuses(), refuses()], [false, false]);
    rig.core.admin().delete_routes(None, Some(tcp(8))).unwrap();
    // What was under way when the route was deleted is believed for some time.
    rig.clock.advance(Duration::from_secs(400));
    assert_eq!([refuses(), refuses()], [true, true]);
    let other = Route { net: on_net(2, 1).net(), ..route };
    rig.core.admin().add_route(other).unwrap();
    assert!(refuses(), "its routes lead elsewhere");
}

/// Fails if partial messages from gateways are kept without a limit, or if those of one gateway replace those of others.
#[test]
fn of_one_gateway_a_limited_number_of_messages_that_arrived_in_part_is_kept() {
    let rig = sender(&[8, 9]);
    rig.attach(-1, MdOptions::OP_PUT.0 | MdOptions::MANAGE_REMOTE.0);
    let breaks_off = |gateway: u32, id: u64| {
        let header = header_from(far(5), put_body(None), 4);
        let origin = MessageOrigin { node: number(7), id: number(id) };
        let carried = Some(CarriedOrigin { origin, may_have_arrived: false });
        let action = rig.arrives_as(
            tcp(gateway),
            &header,
            &Provenance { hop: None, carried, ..Provenance::default() },
        );
        rig.core.data_path().received(delivered(action), Err(Errno::Io));
    };
    breaks_off(9, 1);
    (100..200).for_each(|id| breaks_off(8, id));
    let failed = rig.take_events();
    assert!(failed.iter().all(|event| *event == (EventKind::Put, Err(Errno::Io), false)));
    let counts = rig.core.message_counts();
    assert_eq!((counts.partial, counts.partial_dropped, failed.len()), (33, 68, 68));
    // The oldest was given up; a copy of a message that is kept completes it.
    let copy = |gateway: u32, id: u64| {
        let header = header_from(far(5), put_body(None), 4);
        let origin = MessageOrigin { node: number(7), id: number(id) };
        let carried = Some(CarriedOrigin { origin, may_have_arrived: true });
        rig.core.data_path().received(
            delivered(rig.arrives_as(
                tcp(gateway),
                &header,
                &Provenance { hop: None, carried, ..Provenance::default() },
            )),
            Ok(()),
        );
    };
    copy(8, 1);
    copy(9, 199);
    assert_eq!(rig.take_events(), [ARRIVED, ARRIVED]);
    assert_eq!(rig.core.message_counts().partial, 31);
}

/// Fails if a message that arrives in part repeatedly is kept longer than a message that does so once.
#[test]
fn a_message_that_breaks_off_again_is_kept_no_longer() {
    let rig = destination();
    let first = delivered(comes_by(&rig, 8));
    rig.core.data_path().received(first, Err(Errno::Io));
    let timeout = u64::from(rig.core.settings().transaction_timeout);
    for gateway in [9, 8] {
        rig.clock.advance(Duration::from_secs(timeout / 2 - 1));
        rig.core.monitor().run();
        assert_eq!(rig.take_events(), []);
        let again = delivered(comes_by(&rig, gateway));
        rig.core.data_path().received(again, Err(Errno::Io));
    }
    rig.clock.advance(Duration::from_secs(3));
    rig.core.monitor().run();
    assert_eq!(rig.take_events(), [(EventKind::Put, Err(Errno::Io), false)]);
}
