//! Peers that restart, as connections and requests show it, and the messages sent to them until they are discovered.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

mod support;

use lnet_core::lnd::Upcalls;
use lnet_core::topology::Route;
use lnet_core::{Errno, EventKind};
use lnet_wire::{Body, Nid, PING_MATCH_BITS, RESERVED_PORTAL, WireHandle};
use support::routes::{far, far_net};
use support::{FakeDriver, OnSend, Rig, header_from, tcp};

/// The NIDs of the peer: this one and [`OTHER`].
const PRIMARY: Nid = tcp(2);
const OTHER: Nid = tcp(3);

fn rig() -> Rig {
    let rig = Rig::builder(FakeDriver::new(OnSend::Keep)).with_discovery().build();
    assert!(rig.is_pushed(1, &[PRIMARY, OTHER]));
    rig
}

fn connect(rig: &Rig, peer: Nid, incarnation: u64) {
    rig.core.data_path().connected(rig.ni(), peer, incarnation);
    rig.core.monitor().run_discovery();
}

/// Whether a message goes only to the NID that its target names.
fn is_named_only(rig: &Rig, [first, second]: [Nid; 2]) -> bool {
    let destination = |named| rig.core.data_path().select_path(None, named).unwrap().destination();
    // Without a restart both NIDs mean the peer, and the same one is selected for both.
    (destination(first), destination(second)) == (first, second)
}

#[test]
fn only_another_incarnation_at_a_nid_that_was_met_before_is_a_restart() {
    // The connections made, each to a NID and an incarnation; and whether they show a restart.
    let table: [(&[(Nid, u64)], bool); 7] = [
        (&[(PRIMARY, 7)], false),
        (&[(PRIMARY, 7), (PRIMARY, 7)], false),
        (&[(PRIMARY, 7), (OTHER, 8)], false),
        (&[(PRIMARY, 7), (PRIMARY, 8)], true),
        (&[(OTHER, 7), (OTHER, 8)], true),
        (&[(OTHER, 7), (PRIMARY, 8), (OTHER, 7)], false),
        (&[(tcp(9), 7), (tcp(9), 8)], false),
    ];
    for (connections, restarted) in table {
        let rig = rig();
        connections.iter().for_each(|(peer, incarnation)| connect(&rig, *peer, *incarnation));
        assert_eq!(is_named_only(&rig, [PRIMARY, OTHER]), restarted, "{connections:?}");
        assert_eq!(
            rig.core.admin().discovery_of(PRIMARY).unwrap().peer_sequence == 0,
            restarted,
            "{connections:?}"
        );
    }
}

/// Fails if a restart counts twice because each NID of the peer shows it in turn.
#[test]
fn a_restart_that_another_nid_has_shown_is_not_noticed_again() {
    let rig = rig();
    connect(&rig, PRIMARY, 7);
    connect(&rig, OTHER, 8);
    connect(&rig, PRIMARY, 17);
    assert!(is_named_only(&rig, [PRIMARY, OTHER]));
    // The peer pushes its NIDs, which completes the purpose of the discovery.
    assert!(rig.is_pushed(1, &[PRIMARY, OTHER]));
    connect(&rig, OTHER, 18);
    assert_eq!(rig.core.admin().discovery_of(PRIMARY).unwrap().peer_sequence, 1);
}

#[test]
fn what_waits_for_a_connection_to_another_nid_than_the_named_one_comes_back() {
    let rig = rig();
    connect(&rig, PRIMARY, 7);
    let request = |named: Nid, portal: u32| {
        let target = lnet_core::Target {
            nid: Some(named),
            pid: lnet_wire::Pid::LUSTRE,
            portal,
            match_bits: PING_MATCH_BITS,
            offset: 0,
        };
        let md = rig.bind(1);
        // The node has one interface: no message waits for a discovery that sends nothing.
        rig.core.data_path().put(None, md, false, target, 0).unwrap();
    };
    request(OTHER, RESERVED_PORTAL);
    request(PRIMARY, RESERVED_PORTAL);
    connect(&rig, PRIMARY, 8);
    // Pings find out which node is there, and may go to any incarnation.
    let outdated =
        rig.driver.ni(0).map_kept(|message| rig.core.data_path().is_for_earlier_incarnation(message));
    assert!(!outdated.is_empty() && outdated.iter().all(|outdated| !outdated), "{outdated:?}");
}

/// A node behind a gateway has no connection to this one: its requests show the restart.
#[test]
fn a_request_with_another_cookie_shows_the_restart_of_a_node_behind_a_gateway() {
    let gateway = tcp(5);
    let request = |cookie| {
        let reply = WireHandle { interface_cookie: cookie, object_cookie: 1 };
        let (portal, match_bits) = (RESERVED_PORTAL, PING_MATCH_BITS);
        header_from(far(1), Body::Get { reply, match_bits, portal, offset: 0, sink_length: 16 }, 0)
    };
    for (cookies, restarted) in [(&[5][..], false), (&[5, 5], false), (&[5, 6], true), (&[5, 6, 6], true)] {
        let rig = Rig::builder(FakeDriver::new(OnSend::Keep)).with_discovery().build();
        let route = Route { net: far_net(), gateway, hops: None, priority: 0, health_sensitivity: 1 };
        rig.core.admin().add_route(route).unwrap();
        rig.core.admin().add_peer(&[far(1), far(2)]).unwrap();
        for cookie in cookies {
            drop(rig.arrives_from(gateway, &request(*cookie)));
        }
        assert_eq!(is_named_only(&rig, [far(1), far(2)]), restarted, "{cookies:?}");
    }
}

/// Without discovery no peer is pinged for its NIDs.
#[test]
fn a_node_that_does_not_discover_goes_on_with_the_nids_that_are_configured() {
    let rig = Rig::new(FakeDriver::new(OnSend::Complete));
    rig.core.admin().make_peer(PRIMARY, true, false).unwrap();
    rig.core.admin().add_peer_nid(PRIMARY, OTHER, true).unwrap();
    connect(&rig, PRIMARY, 7);
    connect(&rig, PRIMARY, 8);
    assert!(!is_named_only(&rig, [PRIMARY, OTHER]));
    let md = rig.bind(1);
    rig.put(md, PRIMARY);
    assert_eq!(rig.take_events(), [(EventKind::Send, Ok::<(), Errno>(()), true)]);
}
