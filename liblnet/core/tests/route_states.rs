//! Routes that are not up: which of them are used nevertheless, and which messages wait for a route.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use lnet_core::FatalReporter;
use lnet_core::health::PeerNiState;
use lnet_core::lnd::{RxAction, Upcalls};
use lnet_core::topology::{PeerState, Route};
use lnet_core::{Cause, DiscoveryMode, Errno, EventKind, MdOptions, Settings};
use lnet_wire::Nid;
use std::time::Duration;
use support::routes::{far, far_net, gateways_of, hops, rig, route};
use support::{FakeDriver, OnSend, Rig, header_from, not_sent, put_body, tcp};

const FORWARDS: PeerState = PeerState::DISCOVERED.with(PeerState::ROUTER_ENABLED, true);

fn two_gateways() -> Rig {
    rig(&[route(far_net(), tcp(8)), route(far_net(), tcp(9))])
}

fn set_state(rig: &Rig, gateway: Nid, state: PeerState) {
    rig.core.admin().set_peer_state(gateway, state).unwrap();
}

/// The gateway does not respond to the ping that it is sent when its route is added.
fn does_not_respond(rig: &Rig, gateway: Nid) {
    rig.core.monitor().run_discovery();
    for message in rig.driver.ni(0).take_kept() {
        let refused = message.next_hop().nid == gateway;
        let failure = not_sent(Errno::ConnectionRefused, Cause::RemoteDropped);
        Upcalls::finalize(rig.core.data_path(), message, if refused { Err(failure) } else { Ok(()) });
    }
    rig.core.monitor().run_discovery();
    assert_eq!(rig.core.admin().gateway_responds(&rig.core.admin().peer(gateway).unwrap().0), Some(false));
}

fn up(rig: &Rig) -> Vec<bool> {
    rig.core.admin().routes().active().iter().map(|route| rig.core.admin().route_is_up(route)).collect()
}

/// RT-22: fails if a node that reports that it does not forward is used as a gateway.
#[test]
fn a_gateway_that_does_not_forward_is_not_used() {
    let rig = two_gateways();
    set_state(&rig, tcp(8), PeerState::DISCOVERED);
    set_state(&rig, tcp(9), FORWARDS);
    assert_eq!(gateways_of(&rig, 2), [tcp(9), tcp(9)]);
}

#[test]
fn a_message_that_no_gateway_forwards_waits_until_one_does_or_its_deadline() {
    let rig = rig(&[route(far_net(), tcp(9))]);
    set_state(&rig, tcp(9), PeerState::DISCOVERED);
    let md = rig.bind(-1);
    rig.put(md, far(5));
    rig.clock.advance(Duration::from_secs(2));
    rig.core.monitor().run();
    assert_eq!((rig.take_events(), hops(&rig)), (vec![], vec![]));
    set_state(&rig, tcp(9), FORWARDS);
    rig.core.monitor().run();
    assert_eq!(hops(&rig), [(tcp(9), far(5))], "as soon as the route is up");
    rig.driver.finish();
    assert_eq!(rig.take_events(), [(EventKind::Send, Ok(()), false)]);
    set_state(&rig, tcp(9), PeerState::DISCOVERED);
    rig.core.monitor().run();
    rig.put(md, far(5));
    rig.clock.advance(Duration::from_secs(200));
    rig.core.monitor().run();
    assert_eq!(rig.take_events(), [(EventKind::Send, Err(Errno::HostUnreachable), false)]);
    assert_eq!(rig.messages(), 0);
}

#[test]
fn a_message_whose_only_gateway_stops_forwarding_waits_too() {
    let rig = rig(&[route(far_net(), tcp(9))]);
    rig.put(rig.bind(1), far(5));
    assert_eq!(hops(&rig), [(tcp(9), far(5))]);
    set_state(&rig, tcp(9), PeerState::DISCOVERED);
    rig.driver.ni(0).finish(Err(not_sent(Errno::Io, Cause::LocalDropped)));
    rig.core.monitor().run();
    assert_eq!((rig.take_events(), hops(&rig)), (vec![], vec![]));
    set_state(&rig, tcp(9), FORWARDS);
    rig.core.monitor().run();
    assert_eq!(hops(&rig), [(tcp(9), far(5))]);
    rig.driver.finish();
    assert_eq!(rig.take_events(), [(EventKind::Send, Ok(()), true)]);
}

#[test]
fn a_waiting_message_ends_with_the_node() {
    let rig = rig(&[route(far_net(), tcp(9))]);
    set_state(&rig, tcp(9), PeerState::DISCOVERED);
    rig.put(rig.bind(1), far(5));
    rig.core.admin().shutdown();
    assert_eq!(rig.take_events(), [(EventKind::Send, Err(Errno::Shutdown), true)]);
}

#[test]
fn a_gateway_of_low_health_is_used_after_one_of_full_health_and_before_none() {
    let rig = two_gateways();
    rig.core.admin().set_peer_ni_health(Some(tcp(8)), 900);
    assert_eq!(up(&rig), [false, true]);
    assert_eq!(gateways_of(&rig, 2), [tcp(9), tcp(9)]);
    rig.core.admin().set_peer_ni_health(Some(tcp(9)), 800);
    assert_eq!(up(&rig), [false, false]);
    assert_eq!(gateways_of(&rig, 2), [tcp(8), tcp(8)]);
}

/// Fails if the priority of its route makes a gateway that is down preferable to one that is up.
#[test]
fn a_gateway_that_does_not_answer_comes_after_all_others_and_before_none() {
    let other = Route { priority: 5, ..route(far_net(), tcp(9)) };
    let rig = rig(&[route(far_net(), tcp(8)), other]);
    does_not_respond(&rig, tcp(8));
    rig.core.admin().set_peer_ni_health(Some(tcp(9)), 900);
    assert_eq!(up(&rig), [false, false]);
    assert_eq!(gateways_of(&rig, 2), [tcp(9), tcp(9)]);
    set_state(&rig, tcp(9), PeerState::DISCOVERED);
    assert_eq!(gateways_of(&rig, 2), [tcp(8), tcp(8)]);
}

/// RT-22 d, RT-23: fails if a gateway that has no interface on a net one hop away is used.
#[test]
fn a_gateway_that_is_not_on_a_net_one_hop_away_is_not_used() {
    // The hops of the first gateway's route, whether live interfaces on both nets are required, and whether the route is used.
    let table = [(None, true, true), (Some(1), true, false), (Some(1), false, true), (Some(2), true, true)];
    for (hops, avoid_asym, expected) in table {
        let rig = rig(&[Route { hops, ..route(far_net(), tcp(8)) }]);
        rig.core
            .admin()
            .change_settings(|settings| {
                settings.avoid_asym_router_failure = avoid_asym;
                Ok(())
            })
            .unwrap();
        assert_eq!(up(&rig), [true], "as long as it was not asked");
        set_state(&rig, tcp(8), FORWARDS);
        assert_eq!(up(&rig), [expected], "{hops:?}, {avoid_asym}");
    }
}

/// Fails if a ping to a node behind a router that does not forward for a while ends the messages that wait for its response.
#[test]
fn messages_for_a_node_that_is_not_yet_discovered_wait_for_a_route_too() {
    let rig = rig(&[route(far_net(), tcp(9))]);
    rig.core
        .admin()
        .change_settings(|settings| {
            settings.discovery = DiscoveryMode::On;
            Ok(())
        })
        .unwrap();
    set_state(&rig, tcp(9), PeerState::DISCOVERED);
    rig.put(rig.bind(1), far(5));
    let seconds = |seconds| {
        for _ in 0..seconds {
            rig.clock.advance(Duration::from_secs(1));
            rig.core.monitor().run();
            rig.core.monitor().run_discovery();
        }
    };
    seconds(20);
    assert_eq!(rig.take_events(), []);
    let _ = hops(&rig);
    set_state(&rig, tcp(9), FORWARDS);
    seconds(20);
    assert!(hops(&rig).contains(&(tcp(9), far(5))), "it is pinged, or sent the message");
    assert_eq!(rig.take_events(), []);
}

/// RT-33: fails if an operator cannot take a gateway out of use, or back into use.
#[test]
fn an_operator_can_take_a_gateway_out_of_use_and_back() {
    let rig = two_gateways();
    rig.core.admin().notify_peer_ni(tcp(77), false);
    rig.core.admin().set_peer_ni_health(Some(tcp(8)), 400);
    rig.core.admin().notify_peer_ni(tcp(8), true);
    assert_eq!(up(&rig), [true, true], "with full health");
    rig.core.admin().notify_peer_ni(tcp(8), false);
    assert_eq!(up(&rig), [false, true]);
    assert_eq!(gateways_of(&rig, 2), [tcp(9), tcp(9)]);
    rig.core.admin().notify_peer_ni(tcp(8), true);
    assert_eq!(up(&rig), [true, true]);
}

/// DI-30: fails if messages to a gateway itself wait while it is checked.
#[test]
fn messages_to_a_gateway_do_not_wait_for_its_check() {
    let rig = Rig::builder(FakeDriver::new(OnSend::Keep)).with_discovery().build();
    let known = FORWARDS.with(PeerState::NIDS_UPTODATE, true).with(PeerState::MULTI_RAIL, true);
    // The reason why the gateway is not up to date, and whether messages to it wait.
    let table =
        [(PeerState::REDISCOVER, true), (PeerState::REDISCOVER.with(PeerState::RTR_DISCOVERY, true), false)];
    for (gateway, (cause, expected)) in [tcp(8), tcp(9)].into_iter().zip(table) {
        rig.core.admin().add_route(route(far_net(), gateway)).unwrap();
        set_state(&rig, gateway, known.with(cause, true));
        rig.put(rig.bind(1), gateway);
        assert_eq!(hops(&rig).is_empty(), expected, "{cause:?}");
        rig.driver.finish();
    }
}

/// RT-20: fails if an interface counts as alive because another one of the gateway is.
#[test]
fn an_interface_of_a_gateway_is_alive_if_that_answers_and_the_interface_is_up_and_healthy() {
    let rig = rig(&[]);
    rig.core.admin().make_peer(tcp(9), true, false).unwrap();
    rig.core.admin().add_peer_nid(tcp(9), tcp(10), true).unwrap();
    let alive = || {
        let (peer, nis) = rig.core.admin().peer(tcp(9)).unwrap();
        nis.iter().map(|ni| rig.core.admin().gateway_ni_is_alive(&peer, ni)).collect::<Vec<_>>()
    };
    // The gateway itself reports this; an operator's report would concern the whole gateway.
    rig.core.admin().notify_peer_ni(tcp(10), false);
    assert_eq!(alive(), [None, None], "no gateway");
    rig.core.admin().add_route(route(far_net(), tcp(9))).unwrap();
    assert_eq!(alive(), [Some(true), Some(false)]);
    rig.core.admin().notify_peer_ni(tcp(10), true);
    assert_eq!(alive(), [Some(true), Some(true)]);
    rig.core.admin().set_peer_ni_health(Some(tcp(9)), 999);
    assert_eq!(alive(), [Some(false), Some(true)]);
    let tolerate = |settings: &mut Settings| {
        settings.router_sensitivity = 90;
        Ok(())
    };
    rig.core.admin().change_settings(tolerate).unwrap();
    assert_eq!(alive(), [Some(true), Some(true)]);
    // An operator reports that the gateway does not respond.
    rig.core.admin().notify_peer_ni(tcp(9), false);
    assert_eq!(alive(), [Some(false), Some(false)]);
}

/// Fails if a route is shown as up although selection would take any other path first.
#[test]
fn a_route_is_down_while_no_path_to_its_gateway_gets_through() {
    let rig = two_gateways();
    let (peer, nis) = rig.core.admin().peer(tcp(8)).unwrap();
    let alive = || rig.core.admin().gateway_ni_is_alive(&peer, &nis[0]);
    rig.core.data_path().path_is_unresponsive(rig.ni(), tcp(8));
    assert_eq!((up(&rig), alive()), (vec![false, true], Some(false)));
    assert_eq!(gateways_of(&rig, 2), [tcp(9), tcp(9)]);
    rig.core.data_path().path_is_responsive(rig.ni(), tcp(8));
    assert_eq!((up(&rig), alive()), (vec![true, true], Some(true)));
    rig.core.admin().set_ni_fatal(tcp(1), FatalReporter::Host, Some("its link is down"));
    assert_eq!(up(&rig), [false, false]);
}

/// A node with a gateway that forwards, and that no check is under way for.
fn idle_gateway() -> Rig {
    let rig = rig(&[]);
    let checks_every = |seconds| {
        rig.core.admin().change_settings(|settings| {
            settings.alive_router_check_interval = seconds;
            Ok(())
        })
    };
    checks_every(0).unwrap();
    rig.core.admin().add_route(route(far_net(), tcp(9))).unwrap();
    checks_every(60).unwrap();
    set_state(&rig, tcp(9), FORWARDS.with(PeerState::NIDS_UPTODATE, true));
    rig.core.monitor().run();
    rig.core.monitor().run_discovery();
    assert_eq!((hops(&rig), up(&rig)), (vec![], vec![true]));
    rig
}

/// Fails if a gateway with a failure is pinged only when its turn comes.
#[test]
fn whatever_speaks_against_a_gateway_has_it_asked_at_once() {
    let fails = |failure| {
        move |rig: &Rig| {
            rig.put(rig.bind(1), far(5));
            rig.driver.ni(0).finish(Err(failure));
        }
    };
    let (timeout, reset) = (Cause::NetworkTimeout, Cause::RemoteError);
    type Evidence = Box<dyn Fn(&Rig)>;
    let table: [(&str, Evidence, bool); 6] = [
        (
            "a refused message",
            Box::new(fails(not_sent(Errno::ConnectionRefused, Cause::RemoteDropped))),
            true,
        ),
        ("a message that timed out", Box::new(fails(not_sent(Errno::TimedOut, timeout))), true),
        ("a connection that broke", Box::new(fails(not_sent(Errno::ConnectionReset, reset))), true),
        ("a lack of memory here", Box::new(fails(not_sent(Errno::NoMemory, Cause::LocalDropped))), false),
        (
            "an unresponsive path",
            Box::new(|rig| _ = rig.core.data_path().path_is_unresponsive(rig.ni(), tcp(9))),
            true,
        ),
        ("the end of its connections", Box::new(|rig| rig.driver.ni(0).connections_ended(tcp(9))), true),
    ];
    for (what, happens, expected) in table {
        let rig = idle_gateway();
        happens(&rig);
        rig.clock.advance(Duration::from_millis(10));
        rig.core.monitor().run();
        rig.core.monitor().run_discovery();
        let is_asked = hops(&rig).contains(&(tcp(9), tcp(9)));
        assert_eq!(is_asked, expected, "{what}");
    }
}

/// Fails if a gateway that does not respond to its check counts as up until the transaction timeout.
#[test]
fn a_check_that_is_not_answered_in_six_seconds_has_failed() {
    let rig = idle_gateway();
    rig.driver.ni(0).connections_ended(tcp(9));
    for (seconds, expected) in [(0, true), (5, true), (2, false)] {
        rig.clock.advance(Duration::from_secs(seconds));
        rig.core.monitor().run();
        rig.core.monitor().run_discovery();
        assert_eq!(up(&rig), [expected], "after {seconds} s more");
    }
}

/// Fails if the reported state of a node behind gateways follows neither from the gateways nor from the node's own responses.
#[test]
fn a_peer_behind_gateways_is_as_reachable_as_they_are_and_as_its_responses_say() {
    use lnet_core::health::Reachability::{Degraded, Reachable, Unknown, Unreachable};
    let rig = two_gateways();
    let shown = || rig.core.admin().reachability(far(5)).map(|its| its.state);
    assert_eq!(shown(), None);
    rig.put(rig.bind(1), far(5));
    rig.driver.finish();
    assert_eq!(shown(), Some(Unknown), "nothing has come from it");
    rig.core.data_path().path_is_unresponsive(rig.ni(), tcp(8));
    assert_eq!(shown(), Some(Unknown));
    rig.core.data_path().path_is_unresponsive(rig.ni(), tcp(9));
    assert_eq!(shown(), Some(Unreachable));
    rig.core.data_path().path_is_responsive(rig.ni(), tcp(8));
    rig.attach(-1, MdOptions::OP_PUT.0 | MdOptions::MANAGE_REMOTE.0);
    let arrives = || {
        let action = rig.arrives_from(tcp(8), &header_from(far(5), put_body(None), 8));
        let RxAction::Deliver(message) = action else { panic!() };
        rig.core.data_path().received(message, Ok(()));
    };
    arrives();
    assert_eq!(shown(), Some(Degraded), "by one of two gateways");
    rig.core.data_path().path_is_responsive(rig.ni(), tcp(9));
    assert_eq!(shown(), Some(Reachable));
    // The node does not respond, although a gateway works.
    rig.get(rig.bind(-1), far(5));
    rig.driver.finish();
    rig.core.monitor().run();
    rig.clock.advance(Duration::from_secs(200));
    rig.core.monitor().run();
    assert_eq!(shown(), Some(Unreachable));
    let nis = rig.core.admin().peer(far(5)).unwrap().1;
    assert_eq!(rig.core.admin().peer_ni_state(&nis[0]), PeerNiState::Failed);
    arrives();
    assert_eq!(shown(), Some(Reachable));
    assert_eq!(rig.core.admin().peer_ni_state(&nis[0]), PeerNiState::Connected);
}
