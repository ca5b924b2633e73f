//! Captured exchanges of kernel nodes with a live node in the place of one of them: the messages of the others are
//! sent to it byte for byte, and its own are compared with those of the kernel node.
//!
//! Permitted differences are listed in `support/difference.rs`, and captures that cannot be replayed yet in [`NOT_PLAYED`].
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::DiscoveryMode;
use lnet_node::{Forwarding, StartConfig};
use lnet_wire::Nid;
use socklnd::SocklndConfig;
use std::net::IpAddr;
use std::thread;
use std::time::Duration;
use support::live_node::LiveNode;
use support::netns::namespace_or_skip;
use support::player::Player;
use support::script::{address_of, script_until};

/// A capture, and the node in it that is replaced.
struct Replay {
    file: &'static str,
    /// The NIDs of the live node, in the order of the captured node's ping block.
    nids: &'static [&'static str],
    /// Applies the configuration by which the captured node differed from the others.
    set_up: fn(&mut StartConfig),
    /// All NIDs of the other node, if each is to know the other in the end.
    finds: &'static [&'static str],
    /// The net behind a gateway, and the gateway, of the route that is added.
    route: Option<(&'static str, &'static str)>,
    /// The time from the first packet on that is played.
    until: Duration,
}

const fn replay(file: &'static str, nids: &'static [&'static str]) -> Replay {
    Replay { file, nids, set_up: |_| (), finds: &[], route: None, until: Duration::MAX }
}

/// The captured node discovered.
const fn discovering(
    file: &'static str,
    nids: &'static [&'static str],
    finds: &'static [&'static str],
) -> Replay {
    Replay { set_up: |config| config.settings.discovery = DiscoveryMode::On, finds, ..replay(file, nids) }
}

/// The captured node is an end of a conversation that is routed, or the router.
const fn routed(nids: &'static [&'static str], route: Option<(&'static str, &'static str)>) -> Replay {
    Replay { route, ..discovering("k2158-h-routed-ping.pcap", nids, &[]) }
}

/// The same between an IPv4 and an IPv6 net, up to the first keepalive.
const fn routed_between_families(
    nids: &'static [&'static str],
    route: Option<(&'static str, &'static str)>,
) -> Replay {
    let until = Duration::from_secs(30);
    Replay { until, ..Replay { file: "k2170-v4-router-v6.pcap", ..routed(nids, route) } }
}

/// The first `milliseconds` of a capture, before a guest with both families gives itself a NID of the first bytes of its IPv6 address and then
/// resets the connection on which it gets an answer to that, or before it chooses another pair of NIs than this library does.
const fn first(milliseconds: u64, replay: Replay) -> Replay {
    Replay { until: Duration::from_millis(milliseconds), ..replay }
}

const fn with_bulk_port(replay: Replay) -> Replay {
    Replay { set_up: bulk_port, ..replay }
}

const GUEST1: &[&str] = &["10.99.0.11@tcp"];
const GUEST2: &[&str] = &["10.99.0.12@tcp"];
const GUEST1_RAILS: &[&str] = &["10.99.0.11@tcp", "10.99.1.11@tcp"];
const GUEST2_RAILS: &[&str] = &["10.99.0.12@tcp", "10.99.1.12@tcp"];
const GUEST1_BOTH: &[&str] = &["10.99.0.11@tcp", "fd99:1::11@tcp"];
const GUEST2_BOTH: &[&str] = &["10.99.0.12@tcp", "fd99:1::12@tcp"];
const GUEST1_IPV6: &[&str] = &["fd99::11@tcp", "fd99:1::11@tcp"];
const GUEST2_IPV6: &[&str] = &["fd99::12@tcp", "fd99:1::12@tcp"];

/// Captures of the node that was connected to first.
const CALLED: [Replay; 25] = [
    replay("k2158-a-ping-1ni-nodisc.pcap", GUEST2),
    discovering("k2158-b-discover-2rail-mr.pcap", GUEST2_RAILS, GUEST1_RAILS),
    replay("k2158-c-lst-read-4k.pcap", GUEST2),
    replay("k2158-c-lst-read-full-4k.pcap", GUEST2),
    replay("k2158-c-lst-write-1m.pcap", GUEST2),
    replay("k2158-c-lst-write-4k.pcap", GUEST2),
    replay("k2158-c-lst-write-full-4k.pcap", GUEST2),
    replay("k2158-d-lst-ping.pcap", GUEST2),
    discovering("k2158-g-ping-disc-off-to-on.pcap", GUEST2_RAILS, &[]),
    Replay { set_up: four_connections, ..replay("k2158-j-conns-per-peer-4.pcap", GUEST2) },
    replay("k2158-k-accept-all-nonpriv.pcap", GUEST2),
    Replay { set_up: checksums, ..replay("k2158-k-checksum-on.pcap", GUEST2) },
    replay("k2158-k-ping-wrong-net.pcap", GUEST2),
    replay("k2158-k-simultaneous-connect.pcap", GUEST2),
    Replay { set_up: untyped, ..replay("k2158-k-untyped-conns.pcap", GUEST2) },
    replay("k2170-d-lst-ping.pcap", GUEST2),
    discovering("k2170-i-large-nid-ping.pcap", &["fd99::12@tcp"], &["fd99::11@tcp"]),
    with_bulk_port(discovering("k2170-accept-port-bulk-both.pcap", GUEST2, GUEST1)),
    discovering("k2170-accept-port-bulk-g1only.pcap", GUEST2, GUEST1),
    with_bulk_port(discovering("k2170-accept-port-bulk-g2only.pcap", GUEST2, GUEST1)),
    first(117, discovering("k2170-v6-2rail-discover.pcap", GUEST2_IPV6, &[])),
    first(216, discovering("k2170-v46-both-families.pcap", GUEST2_BOTH, &[])),
    first(244, discovering("k2170-v46-both-families-v6first.pcap", GUEST2_BOTH, &[])),
    first(20, discovering("k2170-v64-v6-added-first.pcap", &["fd99:1::12@tcp", "10.99.0.12@tcp"], &[])),
    first(85, discovering("k2170-v4only-peer.pcap", GUEST2, &[])),
];

/// Captures of the node that connected first.
const CALLING: [Replay; 20] = [
    replay("k2158-a-ping-1ni-nodisc.pcap", GUEST1),
    discovering("k2158-b-discover-2rail-mr.pcap", GUEST1_RAILS, GUEST2_RAILS),
    replay("k2158-c-lst-read-4k.pcap", GUEST1),
    replay("k2158-c-lst-read-full-4k.pcap", GUEST1),
    replay("k2158-c-lst-write-1m.pcap", GUEST1),
    replay("k2158-c-lst-write-4k.pcap", GUEST1),
    replay("k2158-c-lst-write-full-4k.pcap", GUEST1),
    replay("k2158-d-lst-ping.pcap", GUEST1),
    replay("k2158-g-ping-disc-off-to-on.pcap", GUEST1_RAILS),
    Replay { set_up: four_connections, ..replay("k2158-j-conns-per-peer-4.pcap", GUEST1) },
    // The router of an earlier scenario calls.
    replay("k2158-k-accept-all-nonpriv.pcap", GUEST1),
    Replay { set_up: checksums, ..replay("k2158-k-checksum-on.pcap", GUEST1) },
    replay("k2158-k-ping-wrong-net.pcap", &["10.99.0.11@tcp7"]),
    replay("k2170-d-lst-ping.pcap", GUEST1),
    discovering("k2170-i-large-nid-ping.pcap", &["fd99::11@tcp"], &["fd99::12@tcp"]),
    with_bulk_port(discovering("k2170-accept-port-bulk-both.pcap", GUEST1, GUEST2)),
    with_bulk_port(discovering("k2170-accept-port-bulk-g1only.pcap", GUEST1, GUEST2)),
    discovering("k2170-accept-port-bulk-g2only.pcap", GUEST1, GUEST2),
    first(4_000, discovering("k2170-v6-2rail-discover.pcap", GUEST1_IPV6, &["fd99::12@tcp"])),
    first(94, discovering("k2170-v4only-peer-rev.pcap", GUEST2, GUEST1_BOTH)),
];

/// Captures of a client, a server, and the router between them.
const ROUTED: [Replay; 6] = [
    routed(GUEST1, Some(("tcp1", "10.99.0.13@tcp"))),
    routed(&["10.99.1.12@tcp1"], Some(("tcp", "10.99.1.13@tcp1"))),
    Replay { set_up: forwarding, ..routed(&["10.99.0.13@tcp", "10.99.1.13@tcp1"], None) },
    routed_between_families(GUEST1, Some(("tcp1", "10.99.0.13@tcp"))),
    routed_between_families(&["fd99:1::12@tcp1"], Some(("tcp", "fd99:1::13@tcp1"))),
    // It did not forward: both ends take it for a gateway that is down.
    routed_between_families(&["10.99.0.13@tcp", "fd99:1::13@tcp1"], None),
];

/// The captures that are not played, each with the reason.
const NOT_PLAYED: [(&str, &str); 10] = [
    (
        "k2158-k-simultaneous-connect.pcap for 10.99.0.11",
        "the loser of this race began to connect before the winner's call came in, which the capture shows too late",
    ),
    (
        "k2158-k-untyped-conns.pcap for 10.99.0.11",
        "the kernel sends nothing on an untyped connection, so that its ping failed; ours is sent",
    ),
    ("k2158-c2-lst-read-1m-run.pcap, k2158-m-failover-*.pcap", "the payloads were not captured"),
    (
        "k2158-host-hello-variants.pcap, k2170-v6-hello-variants.pcap",
        "tests/hello_variants.rs asks their questions one by one",
    ),
    (
        "k2170-v46-*, k2170-v64-*, k2170-v4only-peer.pcap for the guest that connects",
        "2.17.0 takes an NI of IPv6 to an IPv4 NID, and one of IPv4 to an IPv6 NID where there is one of IPv6; ours does not",
    ),
    (
        "the rest of these, and of k2170-v4only-peer-rev.pcap, for the guest that is connected to",
        "where the guest with both families has reset one connection, the kernel keeps the others and refuses it for a while; ours ends all and \
         accepts, so that the capture goes on differently",
    ),
    (
        "k2170-v6-2rail-discover.pcap after the second ping, for the guest that is connected to",
        "the push comes from a NID that is pinged before its peer is merged with that of the first ping, by ours and not by the kernel; then an \
         operator deletes one of the captured node's interfaces",
    ),
    (
        "k2170-v6-2rail-discover.pcap after 4 s, for the guest that connects",
        "the interface that was deleted is there again, in another incarnation, which ours discovers anew and the kernel does not",
    ),
    (
        "k2170-v4-router-v6.pcap after 30 s",
        "the rest are keepalives, and a check of the router a minute later",
    ),
    ("k2170-v6-dlc.pcap", "what the tools were asked to do, and when, is not in the traffic"),
];

fn forwarding(config: &mut StartConfig) {
    config.settings.discovery = DiscoveryMode::On;
    config.forwarding = Forwarding::Enabled;
}

fn bulk_port(config: &mut StartConfig) {
    config.settings.discovery = DiscoveryMode::On;
    config.drivers.get_mut::<socklnd::SocklndConfig>().unwrap().accept_port_bulk = 989;
}

fn four_connections(config: &mut StartConfig) {
    config.drivers.get_mut::<socklnd::SocklndConfig>().unwrap().conns_per_peer = 4;
}

fn checksums(config: &mut StartConfig) {
    config.drivers.get_mut::<socklnd::SocklndConfig>().unwrap().enable_csum = true;
}

fn untyped(config: &mut StartConfig) {
    config.drivers.get_mut::<socklnd::SocklndConfig>().unwrap().typed_conns = false;
}

/// dyn-005, dyn-035: fails if a byte of the pushes and pings differs from what kernel nodes said.
#[test]
fn with_an_inbound_connection_from_a_kernel_node_we_send_what_a_kernel_node_sends() {
    play_all(&CALLED);
}

/// dyn-005, dyn-035: fails if a byte of the pushes and pings differs from what kernel nodes said.
#[test]
fn with_a_connection_to_a_kernel_node_we_send_what_a_kernel_node_sends() {
    play_all(&CALLING);
}

/// RT-10, RT-43: fails if a byte that a client, a server or a router says differs from what kernel nodes said: the router's
/// features, or the header of what it forwards.
#[test]
fn through_a_kernel_router_and_as_a_router_we_send_what_a_kernel_node_sends() {
    play_all(&ROUTED);
}

fn play_all(replays: &'static [Replay]) {
    let mut failed = Vec::new();
    for replay in replays {
        let Some(_namespace) = namespace_or_skip() else { return };
        println!("{}, ours is {}", replay.file, replay.nids[0]);
        if thread::spawn(|| play(replay)).join().is_err() {
            failed.push(replay.file);
        }
    }
    for (what, why) in NOT_PLAYED {
        println!("not played: {what}: {why}");
    }
    assert!(failed.is_empty(), "these went differently: {failed:#?}");
}

fn play(replay: &Replay) {
    let nids = nids_of(replay.nids);
    let addresses: Vec<IpAddr> = nids.iter().copied().map(address_of).collect();
    let script = script_until(replay.file, &addresses, replay.until);
    // The captured nodes asked for delivery ACKs from 16 KiB on, sent by bulk connections from 1 KiB on, and most did not
    // discover.
    // They do not ping a peer that is unresponsive for 0.3 s, as a player on a busy machine may be.
    let socklnd = SocklndConfig {
        zc_min_payload: Some(16 << 10),
        min_bulk: 1 << 10,
        unresponsive_timeout: Duration::ZERO,
        ..SocklndConfig::default()
    };
    let mut config =
        StartConfig { drivers: lnet_node::DriverConfigs::default().with(socklnd), ..StartConfig::default() };
    config.settings.discovery = DiscoveryMode::Off;
    (replay.set_up)(&mut config);
    let player = Player::new(&script).without_repeated_pushes();
    let mut node = LiveNode::start(&nids, config);
    if let Some((net, gateway)) = replay.route {
        node.will_add_route(net.parse().unwrap(), gateway.parse().unwrap());
    }
    player.play(&mut node);
    if !replay.finds.is_empty() {
        node.wait_until_it_knows(&nids_of(replay.finds));
    }
    node.finish();
}

fn nids_of(nids: &[&str]) -> Vec<Nid> {
    nids.iter().map(|nid| nid.parse().unwrap()).collect()
}
