//! A node that forwards messages between its nets.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use lnet_core::lnd::{DeferredRx, RxAction, Upcalls};
use lnet_core::policy::{Action, Rule};
use lnet_core::router::{CutThroughCounts, Forwarded, Router};
use lnet_core::stats::MessageOutcome;
use lnet_core::topology::Route;
use lnet_core::{CarriedOrigin, Cause, Confirmation, Errno, MessageOrigin, OutgoingMessage, Provenance};
use lnet_wire::{Body, Header, Nid, WireHandle};
use log::{Level, LevelFilter};
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;
use std::time::Duration;
use support::{BITS, FakeDriver, OnSend, Rig, header_from, not_sent, on_net, put_body, tcp};
use test_support::log_recorder::{self, said};

/// A NID on `tcp1`, the net that the node is on beside `tcp`.
fn far(address: u32) -> Nid {
    on_net(1, address)
}

/// A router between `tcp` and `tcp1` whose driver keeps the messages that it is to send, with `buffers` of each size and
/// `share` for each peer.
fn router(buffers: [u32; 3], share: u32) -> Rig {
    let driver = FakeDriver::new(OnSend::Keep);
    let rig = Rig::builder(driver).credits(64, share).nids([tcp(1), far(1)]).build();
    rig.core.admin().change_router(|router| router.switched(true).with_buffers(buffers.map(Some))).unwrap();
    rig
}

/// A PUT from `tcp(FROM)` to `tcp1(TO)`.
fn put(from: u32, to: u32, length: u32) -> Header {
    Header { dest_nid: far(to), ..header_from(tcp(from), put_body(None), length) }
}

/// Delivers the message with this header and its payload to the router.
fn passes(rig: &Rig, header: &Header) {
    let RxAction::Deliver(message) = rig.arrives(header) else { panic!("{header:?} is not received") };
    assert_eq!(message.payload_len(), header.payload_length as usize);
    rig.core.data_path().received(message, Ok(()));
}

/// The next hop and the header of each message that the second interface keeps.
fn sent(rig: &Rig) -> Vec<(Nid, Header)> {
    rig.driver.ni(1).map_kept(|message: &OutgoingMessage| (message.next_hop().nid, *message.header()))
}

/// The buffer credits: tiny, small, large.
fn credits(rig: &Rig) -> [i32; 3] {
    rig.core.admin().router_buffers(0).unwrap().map(|pool| pool.credits)
}

#[test]
fn a_message_for_another_net_is_sent_on_with_its_header_unchanged() {
    let rig = router([8; 3], 8);
    let reply = WireHandle { interface_cookie: 3, object_cookie: 4 };
    let get = Body::Get { reply, match_bits: BITS, portal: 9, offset: 0, sink_length: 100 };
    let ack = Body::Ack { handle: reply, match_bits: BITS, accepted: 4 };
    let bodies = [
        (put_body(Some(reply)), 0),
        (put_body(None), 1 << 20),
        (get, 0),
        (ack, 0),
        (Body::Reply { handle: reply }, 4096),
    ];
    for (body, payload_length) in bodies {
        let header = Header { body, payload_length, ..put(2, 5, 0) };
        passes(&rig, &header);
        assert_eq!(sent(&rig), [(far(5), header)]);
        rig.driver.finish();
        assert_eq!(rig.messages(), 0);
    }
    assert_eq!(credits(&rig), [8; 3]);
    assert_eq!(rig.take_events(), []);
    assert_eq!(
        rig.core.admin().forwarded(),
        Forwarded { messages: 5, bytes: (1 << 20) + 4096, cut_through: CutThroughCounts::default() }
    );
    rig.core.reset_counters();
    assert_eq!(rig.core.admin().forwarded(), Forwarded::default());
}

#[test]
fn the_smallest_buffer_that_holds_the_payload_is_taken_and_given_back() {
    let rig = router([8; 3], 8);
    for (length, expected) in
        [(0, [7, 8, 8]), (1, [8, 7, 8]), (4096, [8, 7, 8]), (4097, [8, 8, 7]), (1 << 20, [8, 8, 7])]
    {
        passes(&rig, &put(2, 5, length));
        assert_eq!(credits(&rig), expected, "{length}");
        rig.driver.finish();
        assert_eq!(credits(&rig), [8; 3]);
    }
    assert_eq!(rig.core.admin().router_buffers(0).unwrap().map(|pool| pool.min_credits), [7; 3]);
}

/// CR-10: fails if a message that waits is passed over, or does not get the next free buffer.
#[test]
fn without_a_free_buffer_a_message_waits_for_one_and_others_wait_behind_it() {
    let rig = router([1, 1, 1], 8);
    passes(&rig, &put(2, 5, 10));
    assert!(matches!(rig.arrives(&put(3, 5, 20)), RxAction::Defer));
    assert!(matches!(rig.arrives(&put(4, 5, 30)), RxAction::Defer));
    assert_eq!(credits(&rig), [1, -2, 1]);
    // A buffer of another size is free.
    passes(&rig, &put(4, 5, 0));
    for length in [20, 30] {
        rig.driver.finish();
        let [RxAction::Deliver(message)] = <[RxAction; 1]>::try_from(rig.driver.resumed()).unwrap() else {
            panic!()
        };
        assert_eq!(message.header().payload_length, length);
        rig.core.data_path().received(message, Ok(()));
    }
    rig.driver.finish();
    assert_eq!((credits(&rig), rig.messages()), ([1; 3], 0));
}

#[test]
fn a_peer_whose_messages_stay_occupies_its_share_and_no_more() {
    let rig = router([100; 3], 2);
    passes(&rig, &put(2, 5, 10));
    passes(&rig, &put(2, 5, 10));
    assert!(matches!(rig.arrives(&put(2, 6, 10)), RxAction::Defer));
    // Another peer has its own share, though a message of the first one waits.
    passes(&rig, &put(3, 6, 10));
    assert_eq!(credits(&rig), [100, 97, 100]);
    rig.driver.finish();
    assert_eq!(rig.driver.resumed().len(), 1);
}

/// Fails if the credits reported for a peer are not those that the router counts.
#[test]
fn the_router_credits_of_a_peer_are_those_that_it_has_and_the_fewest_that_it_had() {
    let rig = router([100; 3], 3);
    let shown = |from: Nid| {
        let peer_ni = rig.core.peer_nis().into_iter().find(|peer_ni| peer_ni.nid() == from).unwrap();
        rig.core.admin().router_credits(&peer_ni)
    };
    passes(&rig, &put(2, 5, 10));
    assert_eq!(shown(tcp(2)), Some((2, 2)));
    passes(&rig, &put(2, 5, 10));
    passes(&rig, &put(2, 5, 10));
    assert!(matches!(rig.arrives(&put(2, 6, 10)), RxAction::Defer));
    passes(&rig, &put(3, 6, 10));
    assert_eq!([2, 3].map(|from| shown(tcp(from))), [Some((-1, -1)), Some((2, 2))]);
    while rig.driver.finish() > 0 {
        for action in rig.driver.resumed() {
            let RxAction::Deliver(message) = action else { panic!() };
            rig.core.data_path().received(message, Ok(()));
        }
    }
    assert_eq!([2, 3].map(|from| shown(tcp(from))), [Some((3, -1)), Some((3, 2))]);
    // That peer has forwarded nothing through the router.
    assert_eq!(shown(far(5)), Some((3, 3)));
}

/// PS-6: fails if a message to a NID that is down is not forwarded to another NID of that multi-rail node.
#[test]
fn a_message_to_a_nid_that_is_down_goes_to_another_of_that_node_if_both_ends_are_multi_rail() {
    for (sender, receiver, down, expected) in
        [(true, true, true, 6), (true, true, false, 5), (false, true, true, 5), (true, false, true, 5)]
    {
        let rig = router([8; 3], 8);
        rig.core.admin().make_peer(tcp(2), sender, false).unwrap();
        rig.core.admin().make_peer(far(5), receiver, false).unwrap();
        if receiver {
            rig.core.admin().add_peer_nid(far(5), far(6), true).unwrap();
            // The peer has a NID on the net that the message comes by, too.
            rig.core.admin().add_peer_nid(far(5), tcp(7), true).unwrap();
        }
        rig.core.admin().notify_peer_ni(far(5), !down);
        let header = put(2, 5, 100);
        passes(&rig, &header);
        let expected = far(expected);
        assert_eq!(sent(&rig), [(expected, Header { dest_nid: expected, ..header })]);
        rig.driver.finish();
    }
}

#[test]
fn what_cannot_be_forwarded_is_dropped_counted_and_logged() {
    log_recorder::listen(LevelFilter::Info);
    let rig = router([8; 3], 8);
    let is_discarded = |header: &Header| matches!(rig.arrives(header), RxAction::Discard);
    let elsewhere = |from: u32| Header { dest_nid: on_net(7, 7), ..put(from, 5, 0) };
    // The counters of the interface and of the peer NI that the message came by.
    let counted = |from: u32| {
        let of_peer = rig.core.peer_nis().into_iter().find(|peer_ni| peer_ni.nid() == tcp(from)).unwrap();
        [rig.ni().counters(), of_peer.counters()]
            .map(|counters| counters.read(MessageOutcome::Dropped).messages())
    };
    let logged = |from: u32, why: &str| said(Level::Warn, &[&format!("PUT {} -> ", tcp(from)), why]);
    assert!(is_discarded(&elsewhere(101)));
    assert_eq!((counted(101), logged(101, "(no route to the net of its destination)")), ([1, 1], 1));
    // The router has a route back to where the message came from.
    let route =
        Route { net: on_net(7, 7).net(), gateway: tcp(9), hops: None, priority: 0, health_sensitivity: 1 };
    rig.core.admin().add_route(route).unwrap();
    rig.driver.finish();
    passes(&rig, &elsewhere(102));
    assert_eq!((sent(&rig), rig.messages()), (vec![], 0));
    let line = format!("PUT {} -> ", tcp(102));
    let dropped = said(Level::Info, &[&line, "but for the net that it came by)"]);
    assert_eq!((counted(102), dropped), ([2, 1], 1));
    rig.core.admin().change_router(|router| router.switched(false).stopped()).unwrap();
    assert!(is_discarded(&put(103, 5, 0)), "switched off");
    assert_eq!((counted(103), logged(103, "and this one is no router)")), ([3, 1], 1));
}

/// RT-10: fails if a message goes where earlier ones went although a route, an interface or a peer has been removed since.
#[test]
fn messages_are_forwarded_by_the_routes_nets_and_peers_that_there_are_now() {
    let rig = router([8; 3], 8);
    let next_hops = || {
        let hops: Vec<Nid> = sent(&rig).into_iter().map(|(hop, _)| hop).collect();
        rig.driver.finish();
        hops
    };
    let elsewhere = Header { dest_nid: on_net(7, 7), ..put(2, 5, 0) };
    let route =
        |gateway| Route { net: on_net(7, 7).net(), gateway, hops: None, priority: 0, health_sensitivity: 1 };
    for gateway in [far(9), far(10)] {
        rig.core.admin().add_route(route(gateway)).unwrap();
        rig.driver.finish();
        (0..3).for_each(|_| passes(&rig, &elsewhere));
        assert_eq!(next_hops(), [gateway; 3]);
        rig.core.admin().delete_routes(None, None).unwrap();
        assert!(matches!(rig.arrives(&elsewhere), RxAction::Discard), "{gateway}");
    }

    (0..3).for_each(|_| passes(&rig, &put(2, 5, 0)));
    assert_eq!(next_hops(), [far(5); 3]);
    let RxAction::Deliver(message) = rig.arrives(&put(2, 5, 0)) else { panic!("not received") };
    rig.core.admin().make_peer(far(5), true, false).unwrap();
    rig.core.admin().delete_peer(far(5), None, false).unwrap();
    rig.core.data_path().received(message, Ok(()));
    assert_eq!(next_hops(), [far(5)]);
    let known = rig.core.peer_nis().into_iter().find(|peer_ni| peer_ni.nid() == far(5)).unwrap();
    assert_eq!(known.counters().read(MessageOutcome::Sent).messages(), 1, "of the peer that is known now");
    rig.core.admin().remove_ni(far(1)).unwrap();
    assert!(matches!(rig.arrives(&put(2, 5, 0)), RxAction::Discard));
}

/// Fails if a message circulates between routers with wrong routes.
#[test]
fn a_message_that_comes_back_to_a_router_is_dropped_logged_and_returned() {
    log_recorder::listen(LevelFilter::Info);
    let sender = 104;
    let id = |id: u64| NonZeroU64::new(id).unwrap();
    let origin = MessageOrigin { node: id(70), id: id(7) };
    // The previous hop when the message comes again, whether it is a copy then, and whether it circulates.
    let table = [
        (tcp(8), false, true),
        (tcp(8), true, false),
        (far(9), false, true),
        (far(9), true, true),
        (tcp(sender), true, false),
    ];
    for (number, (again_from, may_have_arrived, is_in_circle)) in table.into_iter().enumerate() {
        let driver = FakeDriver::new(OnSend::Keep).naming();
        let rig = Rig::builder(driver).credits(64, 8).nids([tcp(1), far(1)]).build();
        rig.core.admin().change_router(|router| router.switched(true)).unwrap();
        for gateway in [far(9), tcp(9)] {
            let net = on_net(7, 7).net();
            let route = Route { net, gateway, hops: None, priority: 0, health_sensitivity: 1 };
            rig.core.admin().add_route(route).unwrap();
        }
        rig.driver.finish();
        let header = Header { dest_nid: on_net(7, 7), ..put(sender, 5, 10) };
        let first = Provenance { hop: Some(origin), carried: None, ..Provenance::default() };
        let RxAction::Deliver(message) = rig.arrives_as(tcp(sender), &header, &first) else { panic!() };
        rig.core.data_path().received(message, Ok(()));
        assert_eq!(rig.driver.ni(1).map_kept(|message| message.next_hop().nid), [far(9)]);
        // The other router has the message, and has not confirmed it.
        rig.driver.finish();
        let hop = MessageOrigin { node: id(80), id: id(8) };
        let again = Provenance {
            hop: Some(hop),
            carried: Some(CarriedOrigin { origin, may_have_arrived }),
            ..Provenance::default()
        };
        let by = usize::from(again_from.net() != tcp(1).net());
        let hold = || Arc::new(rig.driver.clone()) as Arc<dyn DeferredRx>;
        let action = rig.core.data_path().receive(&rig.nis[by], again_from, &header, &again, &hold);
        assert_eq!(matches!(action, RxAction::Discard), is_in_circle, "{number}: {action:?}");
        if is_in_circle {
            let confirmation =
                if may_have_arrived { Confirmation::Unknown } else { Confirmation::NotDelivered };
            assert_eq!(rig.driver.ni(by).confirmations(), [(again_from, hop, confirmation)], "{number}");
            assert_eq!(rig.nis[by].counters().read(MessageOutcome::Dropped).messages(), 1, "{number}");
        } else if let RxAction::Deliver(message) = action {
            rig.core.data_path().received(message, Err(Errno::Io));
        }
        // A confirmed message is not taken for a circulating one.
        rig.driver.ni(1).confirmed(far(9), id(1), Confirmation::Delivered);
        assert!(matches!(
            rig.core.data_path().receive(&rig.nis[by], again_from, &header, &again, &hold),
            RxAction::Deliver(_)
        ));
    }
    assert!(said(Level::Warn, &[&format!("PUT {} -> ", tcp(sender)), "(it goes in a circle"]) > 0);
}

/// Fails if messages to many NIDs fill a router's table of peers.
#[test]
fn messages_to_many_nids_make_a_limited_number_of_peers() {
    let driver = FakeDriver::new(OnSend::Keep);
    let builder =
        Rig::builder(driver).config(|config| config.max_peers = 8).credits(1000, 1000).nids([tcp(1), far(1)]);
    let rig = builder.build();
    rig.core.admin().change_router(|router| router.switched(true)).unwrap();
    for to in 5..100 {
        if let RxAction::Deliver(message) = rig.arrives(&put(2, to, 10)) {
            rig.core.data_path().received(message, Ok(()));
        }
    }
    assert!(rig.core.peer_nis().len() <= 9, "{}", rig.core.peer_nis().len());
    rig.driver.finish();
    assert_eq!(rig.messages(), 0);
}

#[test]
fn messages_that_wait_for_a_buffer_are_dropped_when_routing_is_switched_off() {
    let rig = router([1; 3], 1);
    passes(&rig, &put(2, 5, 10));
    // One message waits for its peer's share, one for a buffer.
    assert!(matches!(rig.arrives(&put(2, 5, 10)), RxAction::Defer));
    assert!(matches!(rig.arrives(&put(3, 5, 10)), RxAction::Defer));
    rig.core.admin().change_router(|router| router.switched(false).stopped()).unwrap();
    let resumed = rig.driver.resumed();
    assert!(matches!(resumed[..], [RxAction::Discard, RxAction::Discard]), "{resumed:?}");
    // A message that has a buffer is still forwarded.
    assert_eq!(rig.driver.finish(), 1);
    assert_eq!((credits(&rig), rig.messages()), ([0; 3], 0));
}

/// RT-43: fails if messages are lost that peers send before they know that routing is off.
#[test]
fn routing_that_is_switched_off_ends_when_peers_have_had_the_time_to_learn_it() {
    let rig = router([8; 3], 8);
    let pass_time = |seconds| {
        rig.clock.advance(Duration::from_secs(seconds));
        rig.core.monitor().run();
    };
    rig.core.admin().change_router(|router| router.switched(false)).unwrap();
    rig.core.monitor().run();
    pass_time(100);
    passes(&rig, &put(2, 5, 10));
    rig.driver.finish();
    pass_time(1);
    pass_time(109);
    passes(&rig, &put(2, 5, 10));
    rig.driver.finish();
    pass_time(1);
    pass_time(110);
    assert_eq!((rig.core.admin().router(), credits(&rig)), (Router::Disabled, [0; 3]));
    assert!(matches!(rig.arrives(&put(2, 5, 10)), RxAction::Discard));
    rig.core.admin().change_router(|router| router.switched(true).switched(false).switched(true)).unwrap();
    pass_time(500);
    passes(&rig, &put(2, 5, 10));
    rig.driver.finish();
    assert!(rig.core.admin().router().is_on());
}

/// RT-32: fails if a router does not report its interfaces on a net as down from which nothing arrives.
#[test]
fn a_router_reports_its_interfaces_on_a_net_from_which_nothing_arrives_as_down() {
    let rig = router([8; 3], 8);
    let up = || [0, 1].map(|ni: usize| rig.nis[ni].is_reported_up());
    let pass_time = |seconds| {
        rig.clock.advance(Duration::from_secs(seconds));
        rig.core.monitor().run();
        rig.core.monitor().run_discovery();
    };
    rig.core.monitor().run();
    let before = rig.core.admin().node_sequence();
    pass_time(60);
    passes(&rig, &put(2, 5, 10));
    rig.driver.finish();
    pass_time(1);
    pass_time(50);
    assert_eq!(up(), [true, false]);
    assert!(rig.core.admin().node_sequence() > before, "peers are pushed to");
    rig.driver.ni(1).arrives(&Header { dest_nid: tcp(5), ..header_from(far(3), put_body(None), 10) });
    rig.driver.finish();
    pass_time(1);
    assert_eq!(up(), [true; 2]);
    pass_time(500);
    assert_eq!(up(), [false; 2]);
    rig.core.admin().change_router(|router| router.switched(false)).unwrap();
    pass_time(1);
    assert_eq!(up(), [true; 2], "no router");
}

#[test]
fn a_message_that_waits_for_a_buffer_is_dropped_with_its_interface() {
    let rig = router([1; 3], 8);
    passes(&rig, &put(2, 5, 10));
    assert!(matches!(rig.arrives(&put(3, 5, 10)), RxAction::Defer));
    rig.core.admin().remove_ni(tcp(1)).unwrap();
    assert!(matches!(rig.driver.resumed()[..], [RxAction::Discard]));
    rig.driver.finish();
    assert_eq!((credits(&rig), rig.messages()), ([1; 3], 0));
}

#[test]
fn a_payload_that_does_not_arrive_is_not_sent_on() {
    let rig = router([8; 3], 8);
    let RxAction::Deliver(message) = rig.arrives(&put(2, 5, 10)) else { panic!() };
    rig.core.data_path().received(message, Err(Errno::Io));
    assert_eq!((sent(&rig), credits(&rig), rig.messages()), (vec![], [8; 3], 0));
    assert_eq!(rig.core.admin().forwarded(), Forwarded::default());
}

#[test]
fn what_could_not_be_sent_to_one_gateway_is_forwarded_to_another() {
    let rig = router([8; 3], 8);
    let further = on_net(2, 5);
    let over =
        |gateway| Route { net: further.net(), gateway, hops: None, priority: 0, health_sensitivity: 1 };
    rig.core.admin().add_route(over(far(8))).unwrap();
    rig.core.admin().add_route(over(far(9))).unwrap();
    rig.driver.finish();
    let header = Header { dest_nid: further, ..put(2, 5, 10) };
    passes(&rig, &header);
    assert_eq!(sent(&rig), [(far(8), header)]);
    rig.driver.ni(1).finish(Err(not_sent(Errno::Io, Cause::LocalDropped)));
    assert_eq!(sent(&rig), [(far(9), header)]);
    rig.driver.finish();
    assert_eq!((credits(&rig), rig.messages()), ([8; 3], 0));
}

/// Fails if routers that wait for each other's buffers wait without end.
#[test]
fn a_message_that_waits_long_for_a_buffer_to_another_router_is_returned() {
    let rig = router([1; 3], 8);
    let behind = on_net(2, 5);
    let route = Route { net: behind.net(), gateway: far(9), hops: None, priority: 0, health_sensitivity: 1 };
    rig.core.admin().add_route(route).unwrap();
    rig.driver.finish();
    let onwards = Header { dest_nid: behind, ..put(2, 5, 10) };
    let name = MessageOrigin { node: NonZeroU64::MIN, id: NonZeroU64::MIN };
    let hop = Some(name);
    passes(&rig, &onwards);
    let pass_time = || {
        rig.clock.advance(Duration::from_secs(3));
        rig.core.monitor().run();
        rig.driver.resumed().len()
    };
    let arrives = |header: &Header, hop| {
        rig.arrives_as(header.src_nid, header, &Provenance { hop, carried: None, ..Provenance::default() })
    };
    assert!(matches!(arrives(&onwards, hop), RxAction::Defer));
    assert!(matches!(arrives(&onwards, None), RxAction::Defer), "of one that is not told");
    // The buffer that messages to their destinations have alone.
    passes(&rig, &put(2, 5, 10));
    assert!(matches!(arrives(&put(2, 5, 10), hop), RxAction::Defer), "to its destination");
    let resumed = [pass_time(), pass_time(), pass_time(), pass_time()];
    assert_eq!(resumed.iter().sum::<usize>(), 1, "{resumed:?}");
    assert_eq!(rig.driver.ni(0).confirmations(), [(tcp(2), name, Confirmation::NotDelivered)]);
    while rig.driver.finish() > 0 {
        for action in rig.driver.resumed() {
            if let RxAction::Deliver(message) = action {
                rig.core.data_path().received(message, Ok(()));
            }
        }
    }
}

/// cfg-145: fails if a rule that counts messages makes a router send all to a node that is not multi-rail by one interface.
#[test]
fn rules_that_count_messages_of_interfaces_divide_what_is_forwarded() {
    let rig =
        Rig::builder(FakeDriver::new(OnSend::Keep)).credits(64, 64).nids([tcp(1), far(1), far(2)]).build();
    rig.core.admin().change_router(|router| router.switched(true)).unwrap();
    for (src, messages) in [("0.0.0.1@tcp1", 3), ("0.0.0.2@tcp1", 1)] {
        let rule = Rule::new(Some(src.parse().unwrap()), None, None, Action::Priority(0));
        rig.core.admin().add_rule(Rule { messages: NonZeroU32::new(messages), ..rule }, None).unwrap();
    }
    (0..8).for_each(|_| passes(&rig, &put(2, 5, 0)));
    let by = |ni: usize| rig.driver.ni(ni).map_kept(|message: &OutgoingMessage| message.next_hop().nid);
    assert_eq!((by(1), by(2)), (vec![far(5); 6], vec![far(5); 2]));
}
