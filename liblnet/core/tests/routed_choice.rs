//! The choice among several nets behind gateways, and among gateways on different nets.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use lnet_core::lnd::{RxAction, Upcalls};
use lnet_core::policy::{Action, Rule};
use lnet_core::topology::PeerState;
use lnet_core::{Cause, Errno, EventKind, MdOptions, OutgoingMessage, Setting};
use lnet_wire::{NetId, Nid};
use std::collections::BTreeSet;
use support::routes::{far, far_net, hops, route};
use support::{FakeDriver, OnSend, Rig, not_sent, on_net, put_body, tcp};

const FORWARDS: PeerState = PeerState::DISCOVERED.with(PeerState::ROUTER_ENABLED, true);

/// The NID of the first hop, and the destination NID.
type Hop = (Nid, Nid);

/// The net that the NIDs of `tcpNUMBER` are on.
fn net(number: u16) -> NetId {
    on_net(number, 1).net()
}

fn selector(text: &str) -> Option<lnet_wire::Selector> {
    (!text.is_empty()).then(|| text.parse().unwrap())
}

/// A rule as of `lnetctl udsp add` with `--src`, `--dst`, `--rte` where these are not empty.
fn rule(rig: &Rig, [src, dst, rte]: [&str; 3]) {
    let is_list = [src, dst, rte].iter().filter(|text| !text.is_empty()).count() > 1;
    let action = if is_list { Action::PreferredList } else { Action::Priority(0) };
    rig.core.admin().add_rule(Rule::new(selector(src), selector(dst), selector(rte), action), None).unwrap();
}

/// The hops of this number of messages to a NID.
fn each(rig: &Rig, to: Nid, puts: usize) -> Vec<Hop> {
    let md = rig.bind(-1);
    let one = |_| {
        rig.put(md, to);
        let hops = hops(rig);
        rig.driver.finish();
        let [hop] = hops[..] else { panic!("{hops:?}") };
        hop
    };
    (0..puts).map(one).collect()
}

fn used(rig: &Rig, to: Nid) -> BTreeSet<Hop> {
    each(rig, to, 8).into_iter().collect()
}

/// The NIDs of a server on `tcp1` and `tcp2`.
const ITS: [Nid; 2] = [on_net(1, 5), on_net(2, 5)];
/// The only path to `tcp1`, and that to `tcp2`.
const BY: [Hop; 2] = [(tcp(8), ITS[0]), (tcp(9), ITS[1])];

fn with_server(rig: Rig) -> Rig {
    rig.core.admin().make_peer(ITS[0], true, false).unwrap();
    rig.core.admin().add_peer_nid(ITS[0], ITS[1], true).unwrap();
    rig
}

/// A node on `tcp`, with gateways to the server's nets.
fn two_far_nets() -> Rig {
    with_server(support::routes::rig(&[route(net(1), tcp(8)), route(net(2), tcp(9))]))
}

/// A node on `tcp` and `tcp7`, with a gateway to `tcp1` on each.
fn two_near_nets() -> Rig {
    let rig = Rig::builder(FakeDriver::new(OnSend::Keep)).nids([tcp(1), on_net(7, 1)]).build();
    [tcp(8), on_net(7, 8)].iter().for_each(|by| rig.core.admin().add_route(route(far_net(), *by)).unwrap());
    // A peer that is not multi-rail would be sent to from one interface.
    [5, 6].iter().for_each(|its| rig.core.admin().make_peer(far(*its), true, false).unwrap());
    rig
}

/// A defect of a gateway or of the path to it.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    NoResponse,
    Unresponsive,
    ReportedDown,
    Ill,
}

fn troubles(rig: &Rig, gateway: Nid, trouble: Trouble) {
    match trouble {
        Trouble::NoResponse => {
            rig.core.admin().set_peer_state(gateway, FORWARDS).unwrap();
            rig.core.monitor().run_discovery();
            for message in rig.driver.ni(0).take_kept() {
                let failed = message.next_hop().nid == gateway;
                let failure = not_sent(Errno::ConnectionRefused, Cause::RemoteDropped);
                Upcalls::finalize(rig.core.data_path(), message, if failed { Err(failure) } else { Ok(()) });
            }
            rig.core.monitor().run_discovery();
            assert_eq!(
                rig.core.admin().gateway_responds(&rig.core.admin().peer(gateway).unwrap().0),
                Some(false)
            );
        }
        Trouble::Unresponsive => {
            rig.core.data_path().path_is_unresponsive(rig.ni(), gateway);
        }
        Trouble::ReportedDown => rig.core.admin().notify_peer_ni(gateway, false),
        Trouble::Ill => rig.core.admin().set_peer_ni_health(Some(gateway), 900),
    }
}

/// UD-41: fails if a net is used whose gateway has a defect, perhaps because a rule prefers the net, although the peer is
/// reached by another gateway.
#[test]
fn a_net_whose_gateway_is_in_trouble_comes_after_one_whose_gateway_is_well() {
    for trouble in [Trouble::NoResponse, Trouble::Unresponsive, Trouble::ReportedDown, Trouble::Ill] {
        for (bad, good) in [(0, 1), (1, 0)] {
            for preferred in [None, Some(ITS[bad].net().to_string())] {
                let rig = two_far_nets();
                preferred.iter().for_each(|net| rule(&rig, ["", net, ""]));
                let before = used(&rig, ITS[0]);
                assert!(before.contains(&BY[bad]), "{before:?}");
                troubles(&rig, BY[bad].0, trouble);
                assert_eq!(used(&rig, ITS[0]), [BY[good]].into(), "{trouble:?} {bad} {preferred:?}");
            }
        }
    }
}

/// Fails if a net on which the peer itself is down is used because the gateway to it is healthier.
#[test]
fn a_net_on_which_the_peer_is_down_comes_after_one_with_a_gateway_of_low_health() {
    let rig = two_far_nets();
    rig.core.admin().set_peer_ni_health(Some(ITS[1]), 0);
    rig.core.admin().set_peer_ni_health(Some(BY[0].0), 900);
    assert_eq!(used(&rig, ITS[0]), [BY[0]].into());
    rig.core.admin().set_peer_ni_health(Some(ITS[1]), 950);
    rig.core.admin().set_peer_ni_health(Some(BY[0].0), 0);
    assert_eq!(used(&rig, ITS[0]), [BY[1]].into());
}

/// UD-41: fails if a rule about a remote net outweighs the health of the interface by which it is reached.
#[test]
fn a_net_reached_by_an_ill_interface_comes_after_one_reached_by_a_healthy_one() {
    let rig = Rig::builder(FakeDriver::new(OnSend::Keep)).nids([tcp(1), on_net(7, 1)]).build();
    let by_seven = on_net(7, 9);
    [(net(1), tcp(8)), (net(2), by_seven)]
        .iter()
        .for_each(|(to, by)| rig.core.admin().add_route(route(*to, *by)).unwrap());
    let rig = with_server(rig);
    rule(&rig, ["", "tcp1", ""]);
    assert_eq!(used(&rig, ITS[0]), [BY[0]].into());
    rig.core.admin().set_ni_health(Some(tcp(1)), 999);
    assert_eq!(used(&rig, ITS[0]), [(by_seven, ITS[1])].into());
    rig.core.admin().set_ni_health(None, 1000);
    assert_eq!(used(&rig, ITS[0]), [BY[0]].into());
}

#[test]
fn a_rule_about_a_net_of_this_node_counts_among_the_nets_of_the_peer() {
    let rig = Rig::builder(FakeDriver::new(OnSend::Keep)).nids([tcp(1), on_net(7, 1)]).build();
    let by_seven = on_net(7, 9);
    [(net(1), tcp(8)), (net(2), by_seven)]
        .iter()
        .for_each(|(to, by)| rig.core.admin().add_route(route(*to, *by)).unwrap());
    let rig = with_server(rig);
    assert_eq!(used(&rig, ITS[0]).len(), 2);
    rule(&rig, ["tcp7", "", ""]);
    assert_eq!(used(&rig, ITS[0]), [(by_seven, ITS[1])].into());
}

/// Fails if a message is resent by the gateway at which it failed because a rule prefers the net behind it.
#[test]
fn a_message_that_failed_at_a_gateway_is_sent_to_another_net_of_the_peer() {
    let rig = two_far_nets();
    rule(&rig, ["", "tcp1", ""]);
    rig.put(rig.bind(1), ITS[0]);
    assert_eq!(hops(&rig), [BY[0]]);
    rig.driver.ni(0).finish(Err(not_sent(Errno::Io, Cause::LocalDropped)));
    assert_eq!(hops(&rig), [BY[1]]);
}

/// Fails if a rule makes a message leave a common net for a gateway that is less healthy.
#[test]
fn a_rule_does_not_prefer_a_gateway_in_worse_health_to_a_common_net() {
    let direct = (tcp(5), tcp(5));
    let by_gateway = (on_net(7, 9), far(5));
    let rig = || {
        let rig = Rig::builder(FakeDriver::new(OnSend::Keep)).nids([tcp(1), on_net(7, 1)]).build();
        rig.core.admin().add_route(route(far_net(), by_gateway.0)).unwrap();
        rig.core.admin().make_peer(tcp(5), true, false).unwrap();
        rig.core.admin().add_peer_nid(tcp(5), far(5), true).unwrap();
        rule(&rig, ["", "tcp1", ""]);
        assert_eq!(used(&rig, tcp(5)), [by_gateway].into());
        rig
    };
    let ill_gateway = rig();
    ill_gateway.core.admin().set_peer_ni_health(Some(by_gateway.0), 900);
    assert_eq!(used(&ill_gateway, tcp(5)), [direct].into());
    let ill_interface = rig();
    ill_interface.core.admin().set_ni_health(Some(on_net(7, 1)), 900);
    assert_eq!(used(&ill_interface, tcp(5)), [direct].into());
    ill_interface.core.admin().set_ni_health(Some(tcp(1)), 900);
    assert_eq!(used(&ill_interface, tcp(5)), [by_gateway].into());
}

/// Fails if messages that wait for credits of a gateway stay there although the destination is reached on another net.
#[test]
fn messages_that_wait_for_a_gateway_move_to_the_gateway_of_another_net_of_the_peer() {
    let rig = Rig::builder(FakeDriver::new(OnSend::Keep)).credits(8, 2).build();
    [(net(1), tcp(8)), (net(2), tcp(9))]
        .iter()
        .for_each(|(to, by)| rig.core.admin().add_route(route(*to, *by)).unwrap());
    let rig = with_server(rig);
    rule(&rig, ["", "tcp1", ""]);
    let md = rig.bind(-1);
    (0..4).for_each(|_| rig.put(md, ITS[0]));
    assert_eq!(hops(&rig), [BY[0], BY[0]]);
    let may_change =
        |rig: &Rig| rig.driver.ni(0).map_kept(|message| rig.core.data_path().may_change_path(message));
    assert_eq!(may_change(&rig), [true, true]);
    assert!(
        rig.core.data_path().path_is_unresponsive(rig.ni(), tcp(8)),
        "all messages to it could take another path"
    );
    assert_eq!(hops(&rig), [BY[0], BY[0], BY[1], BY[1]]);
}

/// The messages by the gateway to `tcp1` that could change their path, and whether all could.
#[test]
fn a_message_may_leave_a_gateway_if_any_net_of_its_peer_is_reached_without_it() {
    type Prepare = fn(&Rig);
    let to = |rig: &Rig, source: Option<Nid>, nid: Nid| {
        rig.core.data_path().put(source, rig.bind(1), false, support::target(nid), 0).unwrap();
    };
    let table: [(&str, Prepare, Option<Nid>, bool, bool); 5] = [
        ("as it is", |_| {}, None, true, true),
        ("of a given source", |_| {}, Some(tcp(1)), false, true),
        (
            "the other gateway is gone",
            |rig| rig.core.admin().delete_routes(None, Some(tcp(9))).unwrap(),
            None,
            false,
            false,
        ),
        (
            "the other gateway is not up",
            |rig| rig.core.admin().notify_peer_ni(tcp(9), false),
            None,
            false,
            false,
        ),
        (
            "another peer has only that net",
            |rig| rig.core.admin().make_peer(on_net(1, 6), true, false).unwrap(),
            None,
            true,
            false,
        ),
    ];
    for (what, prepare, source, one_may, all_may) in table {
        let rig = two_far_nets();
        rule(&rig, ["", "tcp1", ""]);
        prepare(&rig);
        to(&rig, source, ITS[0]);
        assert_eq!(hops(&rig), [BY[0]], "{what}");
        let may = |message: &OutgoingMessage| rig.core.data_path().may_change_path(message);
        assert_eq!(rig.driver.ni(0).map_kept(may), [one_may], "{what}");
        assert_eq!(rig.core.data_path().path_is_unresponsive(rig.ni(), tcp(8)), all_may, "{what}");
    }
}

/// Fails if a multi-rail gateway counts as an alternative to itself.
#[test]
fn a_message_by_the_only_gateway_has_no_other_way() {
    let rig = support::routes::rig(&[]);
    rig.core.admin().make_peer(tcp(8), true, false).unwrap();
    rig.core.admin().add_peer_nid(tcp(8), far(8), true).unwrap();
    rig.core.admin().add_route(route(far_net(), tcp(8))).unwrap();
    rig.put(rig.bind(1), far(5));
    assert_eq!(rig.driver.ni(0).map_kept(|message| rig.core.data_path().may_change_path(message)), [false]);
    assert!(!rig.core.data_path().path_is_unresponsive(rig.ni(), tcp(8)));
}

/// Fails if a message that waits for a gateway may not return to a common net that works again.
#[test]
fn a_message_may_leave_a_gateway_for_a_common_net() {
    let rig = support::routes::rig(&[route(far_net(), tcp(9))]);
    rig.core.admin().make_peer(tcp(5), true, false).unwrap();
    rig.core.admin().add_peer_nid(tcp(5), far(5), true).unwrap();
    let may = |rig: &Rig| rig.driver.ni(0).map_kept(|message| rig.core.data_path().may_change_path(message));
    rig.core.data_path().path_is_unresponsive(rig.ni(), tcp(5));
    rig.put(rig.bind(1), tcp(5));
    assert_eq!((hops(&rig), may(&rig)), (vec![(tcp(9), far(5))], vec![false]));
    rig.core.data_path().path_is_responsive(rig.ni(), tcp(5));
    assert_eq!(may(&rig), [true]);
}

/// UD-41: fails if a rule about routers outweighs the health of the interface by which a router is reached.
#[test]
fn a_gateway_reached_by_an_ill_interface_comes_after_one_reached_by_a_healthy_one() {
    let rig = two_near_nets();
    rule(&rig, ["", "tcp1", "0.0.0.8@tcp"]);
    assert_eq!(used(&rig, far(5)), [(tcp(8), far(5))].into());
    rig.core.admin().set_ni_health(Some(tcp(1)), 900);
    assert_eq!(used(&rig, far(5)), [(on_net(7, 8), far(5))].into());
    rig.core.admin().set_ni_health(None, 1000);
    assert_eq!(used(&rig, far(5)), [(tcp(8), far(5))].into());
}

/// Fails if rules about local nets, interfaces and pairs have no effect on which gateway is selected.
#[test]
fn rules_about_local_nets_interfaces_and_pairs_choose_among_gateways_on_different_nets() {
    let rules = [["tcp7", "", ""], ["0.0.0.1@tcp7", "", ""], ["0.0.0.1@tcp7", "0.0.0.5@tcp1", ""]];
    for its in rules {
        let rig = two_near_nets();
        assert_eq!(used(&rig, far(5)).len(), 2);
        rule(&rig, its);
        assert_eq!(used(&rig, far(5)), [(on_net(7, 8), far(5))].into(), "{its:?}");
        // Rules about routers take precedence.
        rule(&rig, ["", "tcp1", "0.0.0.8@tcp"]);
        assert_eq!(used(&rig, far(5)), [(tcp(8), far(5))].into(), "{its:?}");
    }
}

/// Fails if a pair rule about a node behind a gateway has no effect where the gateway is on several nets of this node.
#[test]
fn a_pair_rule_about_a_node_behind_a_gateway_of_several_nets_chooses_the_net_that_its_interface_is_on() {
    let rig = Rig::builder(FakeDriver::new(OnSend::Keep)).nids([tcp(1), on_net(7, 1)]).build();
    rig.core.admin().make_peer(tcp(8), true, false).unwrap();
    rig.core.admin().add_peer_nid(tcp(8), on_net(7, 8), true).unwrap();
    rig.core.admin().add_route(route(far_net(), tcp(8))).unwrap();
    [5, 6].iter().for_each(|its| rig.core.admin().make_peer(far(*its), true, false).unwrap());
    assert_eq!(used(&rig, far(5)).len(), 2);
    rule(&rig, ["0.0.0.1@tcp7", "0.0.0.5@tcp1", ""]);
    assert_eq!(used(&rig, far(5)), [(on_net(7, 8), far(5))].into());
    assert_eq!(used(&rig, far(6)).len(), 2);
    rig.core.admin().set_ni_health(Some(on_net(7, 1)), 900);
    assert_eq!(used(&rig, far(5)), [(tcp(8), far(5))].into());
}

/// The interface by which each of some messages leaves.
fn sources(rig: &Rig, to: Nid) -> Vec<Nid> {
    let md = rig.bind(-1);
    let one = |_| {
        rig.put(md, to);
        let kept = |message: &OutgoingMessage| message.header().src_nid;
        let sources: Vec<Nid> = rig.driver.nis().iter().flat_map(|ni| ni.map_kept(kept)).collect();
        rig.driver.finish();
        sources[0]
    };
    (0..8).map(one).collect()
}

/// Fails if a rule about routers disables those about pairs with a router.
#[test]
fn pair_rules_about_a_gateway_are_obeyed_beside_router_rules() {
    let rig = Rig::builder(FakeDriver::new(OnSend::Keep)).nids([1, 2, 3].map(tcp)).build();
    rig.core.admin().add_route(route(far_net(), tcp(8))).unwrap();
    let pair = |src: &str, dst: &str| rule(&rig, [src, dst, ""]);
    pair("0.0.0.2@tcp", "0.0.0.8@tcp");
    assert_eq!(sources(&rig, far(5)), [tcp(2); 8]);
    rule(&rig, ["", "tcp1", "0.0.0.8@tcp"]);
    assert_eq!(sources(&rig, far(5)), [tcp(2); 8]);
    rig.core.admin().make_peer(far(6), true, false).unwrap();
    assert_eq!(sources(&rig, far(6)), [tcp(2); 8]);
    pair("0.0.0.3@tcp", "0.0.0.[5-6]@tcp1");
    for its in [5, 6] {
        assert_eq!(sources(&rig, far(its)), [tcp(3); 8], "the destination's pairs come before the gateway's");
    }
}

/// PS-30, UD-14: fails if messages to a single-rail node behind a gateway leave by several interfaces, or by one that no rule
/// names.
#[test]
fn a_single_rail_node_behind_a_gateway_is_sent_to_from_one_interface_of_its_pair_rule() {
    let rig = Rig::builder(FakeDriver::new(OnSend::Keep)).nids([1, 2, 3, 4].map(tcp)).build();
    rig.core.admin().add_route(route(far_net(), tcp(8))).unwrap();
    let one_of = |sources: Vec<Nid>| {
        assert_eq!(sources, [sources[0]; 8]);
        sources[0]
    };
    let bound = one_of(sources(&rig, far(5)));
    rule(&rig, ["0.0.0.[2-3]@tcp", "0.0.0.5@tcp1", ""]);
    let first = one_of(sources(&rig, far(5)));
    rig.core.admin().set_ni_health(Some(first), 900);
    let next = one_of(sources(&rig, far(5)));
    assert_eq!(BTreeSet::from([first, next]), [2, 3].map(tcp).into());
    // Health takes precedence over the rule.
    rig.core.admin().set_ni_health(Some(next), 900);
    let unnamed = one_of(sources(&rig, far(5)));
    assert!([1, 4].map(tcp).contains(&unnamed), "{unnamed}");
    rig.core.admin().set_ni_health(None, 1000);
    assert_eq!(one_of(sources(&rig, far(5))), first);
    rig.core.admin().delete_rule(None).unwrap();
    assert_eq!(one_of(sources(&rig, far(5))), bound);
}

/// cfg-145: fails if messages of pairs with a gateway are not divided as their rules count them.
#[test]
fn pair_rules_about_a_gateway_that_count_messages_divide_them() {
    let rig = Rig::builder(FakeDriver::new(OnSend::Keep)).nids([1, 2].map(tcp)).build();
    rig.core.admin().add_route(route(far_net(), tcp(8))).unwrap();
    for (src, messages) in [("0.0.0.1@tcp", 3), ("0.0.0.2@tcp", 1)] {
        let rule = Rule::new(selector(src), selector("0.0.0.8@tcp"), None, Action::Priority(0));
        let rule = Rule { messages: std::num::NonZeroU32::new(messages), ..rule };
        rig.core.admin().add_rule(rule, None).unwrap();
    }
    rig.core.admin().make_peer(far(5), true, false).unwrap();
    assert_eq!(sources(&rig, far(5)), [1, 1, 1, 2, 1, 1, 1, 2].map(tcp));
}

fn count_messages(rig: &Rig, src: &str, messages: u32) {
    let rule = Rule::new(selector(src), None, None, Action::Priority(0));
    let rule = Rule { messages: std::num::NonZeroU32::new(messages), ..rule };
    rig.core.admin().add_rule(rule, None).unwrap();
}

/// cfg-145: fails if the nets by which gateways are reached do not take turns because direct messages have used some.
#[test]
fn rules_that_count_messages_of_local_nets_divide_those_to_gateways_on_different_nets() {
    let rig = two_near_nets();
    rig.core.admin().make_peer(tcp(20), true, false).unwrap();
    rig.core.admin().add_peer_nid(tcp(20), on_net(7, 20), true).unwrap();
    count_messages(&rig, "tcp", 3);
    count_messages(&rig, "tcp7", 1);
    let gateways = |messages| each(&rig, far(5), messages).into_iter().map(|(gateway, _)| gateway);
    let turns = [tcp(8), tcp(8), tcp(8), on_net(7, 8)];
    assert!(gateways(8).eq([turns, turns].concat()));
    // These messages end in the middle of a turn.
    each(&rig, tcp(20), 6);
    assert_eq!(gateways(8).filter(|gateway| *gateway == tcp(8)).count(), 6);
}

/// cfg-145: fails if an interface whose messages are counted always loses against those of another net.
#[test]
fn the_turns_of_an_interface_say_nothing_of_gateways_on_another_net() {
    let rig = two_near_nets();
    count_messages(&rig, "0.0.0.1@tcp", 2);
    rule(&rig, ["0.0.0.1@tcp7", "", ""]);
    assert_eq!(
        each(&rig, far(5), 8).into_iter().map(|(source, ..)| source).collect::<BTreeSet<_>>().len(),
        2
    );
}

/// Fails if the event of a message that came by a gateway does not name it as sender and the node behind it as initiator.
#[test]
fn the_sender_of_an_event_is_the_gateway_that_the_message_came_by() {
    let rig = support::routes::rig(&[route(far_net(), tcp(9))]);
    rig.attach(-1, MdOptions::OP_PUT.0 | MdOptions::MANAGE_REMOTE.0);
    for (neighbour, source) in [(tcp(9), far(5)), (tcp(7), tcp(7))] {
        let header = support::header_from(source, put_body(None), 8);
        let RxAction::Deliver(message) = rig.arrives_from(neighbour, &header) else { panic!() };
        Upcalls::received(rig.core.data_path(), message, Ok(()));
        let event = rig.events.lock().unwrap().pop().unwrap();
        let from = (event.kind, event.initiator.nid, event.source.nid, event.sender);
        assert_eq!(from, (EventKind::Put, Some(source), Some(source), Some(neighbour)));
    }
}

/// RT-20: fails if a route is up with a gateway below the configured health, or down with one above it.
#[test]
fn router_sensitivity_says_from_which_health_on_a_route_is_up() {
    let table = [(100, 1000, true), (100, 600, false), (50, 600, true), (50, 499, false), (0, 0, true)];
    for (sensitivity, health, expected) in table {
        let rig = support::routes::rig(&[route(far_net(), tcp(9))]);
        rig.core
            .admin()
            .change_settings(|settings| settings.set(Setting::RouterSensitivity, sensitivity))
            .unwrap();
        rig.core.admin().set_peer_ni_health(Some(tcp(9)), health);
        let up = rig.core.admin().route_is_up(&rig.core.admin().routes().active()[0]);
        assert_eq!(up, expected, "{sensitivity} %, {health}");
    }
}
