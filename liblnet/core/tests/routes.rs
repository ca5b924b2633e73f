//! Messages to nets that this node is not on.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use lnet_core::lnd::{RxAction, Upcalls};
use lnet_core::policy::{Action, Rule};
use lnet_core::topology::Route;
use lnet_core::{Cause, Errno, EventKind, MdOptions};
use lnet_wire::{Body, Nid, PING_MATCH_BITS, RESERVED_PORTAL, WireHandle};
use std::time::Duration;
use support::routes::{far, far_net, gateways_of, hops, rig, route};
use support::{FakeDriver, OnSend, Rig, header_from, not_sent, on_net, put_body, tcp};

#[test]
fn a_message_to_another_net_goes_to_the_gateway_and_names_its_destination() {
    let rig = rig(&[route(far_net(), tcp(9))]);
    let md = rig.bind(1);
    rig.put(md, far(5));
    let sent = rig.driver.ni(0).map_kept(|message| (message.next_hop().nid, *message.header()));
    let [(next_hop, header)] = sent[..] else { panic!("{sent:?}") };
    assert_eq!((next_hop, header.dest_nid, header.src_nid), (tcp(9), far(5), tcp(1)));
    rig.driver.finish();
    assert_eq!(rig.take_events(), [(EventKind::Send, Ok(()), true)]);
}

#[test]
fn without_a_route_a_message_to_another_net_fails() {
    let rig = rig(&[route(on_net(2, 1).net(), tcp(9))]);
    rig.put(rig.bind(1), far(5));
    assert_eq!(rig.take_events(), [(EventKind::Send, Err(Errno::HostUnreachable), true)]);
}

#[test]
fn gateways_are_chosen_by_priority_then_hops_then_in_turns() {
    let to = |gateway, priority, hops| Route { priority, hops, ..route(far_net(), tcp(gateway)) };
    let table: [(&[Route], &[u32]); 5] = [
        (&[to(7, 0, None), to(8, 0, None), to(9, 0, None)], &[7, 8, 9, 7, 8, 9]),
        (&[to(7, 1, None), to(8, 0, None), to(9, 0, None)], &[8, 9, 8, 9]),
        // Priority takes precedence over hops.
        (&[to(7, 1, Some(1)), to(8, 0, Some(3))], &[8, 8]),
        (&[to(7, 0, Some(2)), to(8, 0, Some(3))], &[7, 7]),
        // A route without a number of hops counts as one hop.
        (&[to(7, 0, Some(2)), to(8, 0, None), to(9, 0, Some(1))], &[8, 9, 8]),
    ];
    for (routes, expected) in table {
        let expected: Vec<Nid> = expected.iter().map(|address| tcp(*address)).collect();
        assert_eq!(gateways_of(&rig(routes), expected.len()), expected, "{routes:?}");
    }
}

#[test]
fn a_gateway_with_queued_bytes_comes_after_an_idle_one() {
    let rig = rig(&[route(far_net(), tcp(8)), route(far_net(), tcp(9))]);
    let md = rig.bind(-1);
    // A message to the gateway itself.
    rig.put(md, tcp(8));
    rig.put(md, far(5));
    rig.put(md, far(6));
    assert_eq!(hops(&rig), [(tcp(8), tcp(8)), (tcp(9), far(5)), (tcp(8), far(6))]);
}

#[test]
fn a_multi_rail_gateway_is_sent_to_on_all_its_nids() {
    let rig = rig(&[]);
    rig.core.admin().make_peer(tcp(8), true, false).unwrap();
    rig.core.admin().add_peer_nid(tcp(8), tcp(9), true).unwrap();
    rig.core.admin().add_route(route(far_net(), tcp(8))).unwrap();
    assert_eq!(gateways_of(&rig, 4), [tcp(8), tcp(9), tcp(8), tcp(9)]);
    // Each NID of a gateway means the same gateway.
    assert_eq!(rig.core.admin().add_route(route(far_net(), tcp(9))), Err(Errno::Exists));
    rig.core.admin().delete_routes(None, Some(tcp(9))).unwrap();
    assert_eq!(rig.core.admin().routes().iter().count(), 0);
}

/// PS-10: fails if the gateway of a message with a source is not on the net of the source.
#[test]
fn a_message_with_a_source_leaves_from_there() {
    let other = on_net(2, 1);
    let rig = Rig::builder(FakeDriver::new(OnSend::Keep)).nids([tcp(1), other]).build();
    rig.core.admin().add_route(route(far_net(), tcp(9))).unwrap();
    let md = rig.bind(-1);
    rig.core.data_path().put(Some(tcp(1)), md, false, support::target(far(5)), 0).unwrap();
    assert_eq!(hops(&rig), [(tcp(9), far(5))]);
    rig.driver.finish();
    rig.take_events();
    rig.core.data_path().put(Some(other), md, false, support::target(far(5)), 0).unwrap();
    assert_eq!(rig.take_events(), [(EventKind::Send, Err(Errno::HostUnreachable), false)]);
}

/// PS-7: fails if a response does not leave by the gateway that its request came by.
#[test]
fn a_response_goes_back_by_the_gateway_that_the_request_came_by() {
    let rig = rig(&[route(far_net(), tcp(8)), route(far_net(), tcp(9))]);
    rig.attach(-1, MdOptions::OP_PUT.0 | MdOptions::MANAGE_REMOTE.0);
    let ack = WireHandle { interface_cookie: 7, object_cookie: 8 };
    for gateway in [tcp(9), tcp(9), tcp(8), tcp(9)] {
        let header = header_from(far(5), put_body(Some(ack)), 8);
        let RxAction::Deliver(message) = rig.arrives_from(gateway, &header) else { panic!() };
        lnet_core::lnd::Upcalls::received(rig.core.data_path(), message, Ok(()));
        assert_eq!(hops(&rig), [(gateway, far(5))]);
        rig.driver.finish();
    }
}

#[test]
fn what_was_not_sent_to_one_gateway_is_sent_to_another() {
    let rig = rig(&[route(far_net(), tcp(8)), route(far_net(), tcp(9))]);
    rig.put(rig.bind(1), far(5));
    assert_eq!(hops(&rig), [(tcp(8), far(5))]);
    rig.driver.ni(0).finish(Err(not_sent(Errno::Io, Cause::LocalDropped)));
    assert_eq!(hops(&rig), [(tcp(9), far(5))]);
    rig.driver.finish();
    assert_eq!(rig.take_events(), [(EventKind::Send, Ok(()), true)]);
}

/// Fails if a node behind a gateway that does not respond brings the route down for other nodes.
#[test]
fn a_missing_answer_from_behind_a_gateway_leaves_its_route_up() {
    let rig = rig(&[route(far_net(), tcp(9))]);
    rig.get(rig.bind(-1), far(5));
    rig.driver.finish();
    rig.core.monitor().run();
    rig.clock.advance(Duration::from_secs(200));
    rig.core.monitor().run();
    assert_eq!(rig.core.admin().health_totals().response_timeouts, 1);
    assert!(rig.core.admin().route_is_up(&rig.core.admin().routes().active()[0]));
    rig.driver.finish();
    assert_eq!(gateways_of(&rig, 1), [tcp(9)]);
}

/// `LNetDist`: fails if the distance of a routed NID is not one more than the hops of the shortest route.
#[test]
fn the_distance_of_a_routed_nid_is_one_more_than_the_hops_of_the_shortest_route() {
    let to = |gateway, hops| Route { hops, ..route(far_net(), tcp(gateway)) };
    let rig = rig(&[route(on_net(2, 1).net(), tcp(9)), to(8, Some(4)), to(9, Some(3))]);
    let distance = rig.core.dist(far(5)).unwrap();
    assert_eq!((distance.hops, distance.source, distance.order), (4, tcp(1), 4));
    assert_eq!(rig.core.dist(on_net(2, 5)).map(|distance| (distance.hops, distance.order)), Ok((2, 3)));
    assert_eq!(rig.core.dist(on_net(3, 5)), Err(Errno::HostUnreachable));
}

/// PS-11: fails if a message takes a gateway although it gets through without, or waits on a dead path although a gateway is up.
#[test]
fn a_peer_on_a_common_net_and_behind_a_gateway_is_reached_by_the_gateway_where_the_net_is_dead_or_a_rule_says_so()
 {
    let rig = rig(&[route(far_net(), tcp(9))]);
    let core = &rig.core;
    core.admin().make_peer(tcp(5), true, false).unwrap();
    core.admin().add_peer_nid(tcp(5), far(5), true).unwrap();
    let md = rig.bind(-1);
    let goes = || {
        rig.put(md, tcp(5));
        let hops = hops(&rig);
        rig.driver.finish();
        hops
    };
    assert_eq!(goes(), [(tcp(5), tcp(5))]);
    core.data_path().path_is_unresponsive(rig.ni(), tcp(5));
    assert_eq!(goes(), [(tcp(9), far(5))]);
    core.data_path().path_is_responsive(rig.ni(), tcp(5));
    core.admin().set_peer_ni_health(None, 1000);
    assert_eq!(goes(), [(tcp(5), tcp(5))]);
    let dst = Some("tcp1".parse().unwrap());
    core.admin().add_rule(Rule::new(None, dst, None, Action::Priority(0)), None).unwrap();
    assert_eq!(goes(), [(tcp(9), far(5))]);
    rig.driver.ni(0).finish(Ok(()));
    assert_eq!(core.data_path().explain(None, tcp(5)).unwrap().chosen.next_hop(), tcp(9));
}

/// Fails if a message for an interface of a gateway is sent to another of its interfaces, which refuses it.
#[test]
fn a_gateway_is_not_reached_by_itself() {
    let rig = rig(&[]);
    rig.core.admin().make_peer(tcp(9), true, false).unwrap();
    rig.core.admin().add_peer_nid(tcp(9), far(9), true).unwrap();
    [8, 9].iter().for_each(|gateway| rig.core.admin().add_route(route(far_net(), tcp(*gateway))).unwrap());
    rig.core.data_path().path_is_unresponsive(rig.ni(), tcp(9));
    for _ in 0..2 {
        rig.put(rig.bind(1), far(9));
        assert_eq!(hops(&rig), [(tcp(8), far(9))]);
        rig.driver.finish();
    }
}

/// 3.7: fails if a message is dropped although a route to its source names a NID of the gateway that it came by.
#[test]
fn with_drop_asym_route_a_message_that_came_by_a_gateway_of_no_route_to_its_source_is_dropped() {
    // The routes to the net of the source, the neighbour that the message came by, and whether it is received.
    let there = route(far_net(), tcp(8));
    let table: [(bool, &[Route], Nid, bool); 6] = [
        (true, &[there], tcp(8), true),
        (true, &[there], tcp(9), true),
        (true, &[there], tcp(7), false),
        (true, &[route(on_net(2, 1).net(), tcp(7)), there], tcp(7), false),
        (true, &[], tcp(7), false),
        (false, &[], tcp(7), true),
    ];
    for (drops, routes, neighbour, expected) in table {
        let rig = rig(&[]);
        rig.core.admin().make_peer(tcp(8), true, false).unwrap();
        rig.core.admin().add_peer_nid(tcp(8), tcp(9), true).unwrap();
        routes.iter().for_each(|route| rig.core.admin().add_route(*route).unwrap());
        rig.core
            .admin()
            .change_settings(|settings| {
                settings.drop_asym_route = drops;
                Ok(())
            })
            .unwrap();
        let ping = Body::Get {
            reply: WireHandle { interface_cookie: 3, object_cookie: 4 },
            match_bits: PING_MATCH_BITS,
            portal: RESERVED_PORTAL,
            offset: 0,
            sink_length: 100,
        };
        let action = rig.arrives_from(neighbour, &header_from(far(5), ping, 0));
        assert_eq!(matches!(action, RxAction::Deliver(_)), expected, "{drops}, {routes:?}, {neighbour}");
        let direct = rig.arrives_from(tcp(7), &header_from(tcp(7), ping, 0));
        assert!(matches!(direct, RxAction::Deliver(_)));
    }
}
