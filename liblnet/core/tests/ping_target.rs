//! The REPLY to a ping: the node's interfaces, their state, its features and a sequence number that grows with each change.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use lnet_core::FatalReporter;
use lnet_core::lnd::{RxAction, Upcalls};
use lnet_core::{DiscoveryMode, Errno, NiTunables};
use lnet_wire::ping_info::{Features, NiStatus, PingInfo};
use lnet_wire::{Body, Nid, PING_MATCH_BITS, RESERVED_PORTAL, WireHandle};
use std::time::Duration;
use support::{FakeDriver, OnSend, Rig, header_from, tcp};

fn rig() -> Rig {
    Rig::builder(FakeDriver::new(OnSend::Keep)).with_discovery().build()
}

/// The REPLY to a ping that arrives now.
fn ping(rig: &Rig) -> PingInfo {
    let reply = WireHandle { interface_cookie: 1, object_cookie: 2 };
    let (match_bits, portal) = (PING_MATCH_BITS, RESERVED_PORTAL);
    let body = Body::Get { reply, match_bits, portal, offset: 0, sink_length: 272 };
    let RxAction::Deliver(request) = rig.arrives(&header_from(tcp(2), body, 0)) else { panic!() };
    rig.core.data_path().received(request, Ok(()));
    let sent = rig.driver.ni(0).take_kept();
    let reply = sent.iter().find(|message| matches!(message.header().body, Body::Reply { .. })).unwrap();
    let mut bytes = Vec::new();
    for run in reply.payload() {
        // SAFETY: the message keeps its payload alive, and nothing writes to a ping buffer.
        bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(run.address as *const u8, run.len) });
    }
    sent.into_iter().for_each(|message| rig.core.data_path().finalize(message, Ok(())));
    let received = PingInfo::decode(&bytes, 16).unwrap();
    // The loopback is encoded once, before the entries, and not decoded.
    assert_eq!(received.claimed_count as usize, 1 + received.info.entries.len());
    received.info
}

fn entries(info: &PingInfo) -> Vec<(Nid, NiStatus)> {
    info.entries.iter().map(|entry| (entry.nid, entry.status)).collect()
}

#[test]
fn a_ping_reply_lists_the_interfaces_with_their_state_and_not_the_loopback() {
    let rig = rig();
    rig.core.admin().add_ni(Nid::LOOPBACK, NiTunables::default(), &rig.driver).unwrap();
    assert_eq!(entries(&ping(&rig)), [(tcp(1), NiStatus::Up)]);
    rig.core.admin().add_ni(tcp(3), NiTunables::default(), &rig.driver).unwrap();
    rig.core.admin().set_ni_fatal(tcp(3), FatalReporter::Host, Some("link down"));
    rig.core.monitor().run_discovery();
    assert_eq!(entries(&ping(&rig)), [(tcp(1), NiStatus::Up), (tcp(3), NiStatus::Down)]);
    rig.core.admin().set_ni_fatal(tcp(3), FatalReporter::Host, None);
    rig.core.admin().remove_ni(tcp(3)).unwrap();
    assert_eq!(entries(&ping(&rig)), [(tcp(1), NiStatus::Up)]);
}

#[test]
fn the_sequence_of_ping_replies_grows_with_each_change_of_an_interface() {
    let rig = rig();
    let first = ping(&rig).sequence;
    assert_eq!(ping(&rig).sequence, first);
    rig.core.admin().add_ni(tcp(3), NiTunables::default(), &rig.driver).unwrap();
    let added = ping(&rig).sequence;
    assert!(added > first, "{added} after {first}");
    rig.core.admin().set_ni_fatal(tcp(3), FatalReporter::Host, Some("link down"));
    rig.core.monitor().run_discovery();
    let failed = ping(&rig).sequence;
    assert!(failed > added, "{failed} after {added}");
    rig.core.admin().remove_ni(tcp(3)).unwrap();
    assert!(ping(&rig).sequence > failed);
}

/// dyn-050: fails if an interface without health is not told as down, or not as up when it works again; if that is told for a
/// moment's failure; or if the sequence number does not grow.
#[test]
fn a_ping_reply_tells_an_interface_without_health_as_down_until_it_works_for_a_while() {
    let rig = rig();
    rig.core.admin().add_ni(tcp(3), NiTunables::default(), &rig.driver).unwrap();
    let mut sequence = ping(&rig).sequence;
    let up = [(tcp(1), NiStatus::Up), (tcp(3), NiStatus::Up)];
    let down = [(tcp(1), NiStatus::Up), (tcp(3), NiStatus::Down)];
    // The health value, the seconds for which it lasts, what is told, and whether that is new.
    let table = [
        (100, 5, up, false),
        (0, 1, up, false),
        (1000, 5, up, false),
        (0, 1, up, false),
        (100, 2, down, true),
        (200, 5, down, false),
        (0, 5, down, false),
        (100, 4, down, false),
        (100, 2, up, true),
        (1000, 20, up, false),
    ];
    for (health, seconds, told, is_new) in table {
        rig.core.admin().set_ni_health(Some(tcp(3)), health);
        rig.clock.advance(Duration::from_secs(seconds));
        rig.core.monitor().run();
        rig.core.monitor().run_discovery();
        let reply = ping(&rig);
        assert_eq!(entries(&reply), told, "{health} for {seconds} s");
        assert_eq!(reply.sequence > sequence, is_new, "{health} for {seconds} s");
        sequence = reply.sequence;
    }
}

#[test]
fn ping_replies_have_the_discovery_feature_unless_discovery_is_off() {
    let rig = rig();
    for (mode, discovers) in
        [(DiscoveryMode::On, true), (DiscoveryMode::Off, false), (DiscoveryMode::Verify, true)]
    {
        rig.core
            .admin()
            .change_settings(|settings| {
                settings.discovery = mode;
                Ok(())
            })
            .unwrap();
        let features = ping(&rig).features;
        assert_eq!(features.contains(Features::DISCOVERY), discovers, "{mode:?}");
        assert!(features.contains(Features::MULTI_RAIL), "{mode:?}");
    }
}

/// bck-015: fails if a node configured without Multi-Rail reports that it has it, uses what such a node does not have, or refuses
/// a configuration without it.
#[test]
fn a_node_without_multi_rail_says_so_and_neither_discovers_nor_takes_pushes_nor_has_multi_rail_peers() {
    let driver = FakeDriver::new(OnSend::Keep);
    let without = |config: &mut lnet_core::CoreConfig| config.multi_rail = false;
    let rig = Rig::builder(driver).with_discovery().config(without).build();
    rig.core.monitor().run_discovery();
    let features = ping(&rig).features;
    assert!(
        !features.contains(Features::MULTI_RAIL) && !features.contains(Features::DISCOVERY),
        "{features:?}"
    );
    assert!(features.contains(Features::NI_STATUS));
    assert!(!rig.is_pushed(5, &[tcp(2), tcp(3)]), "it knows no pushes");
    rig.put(rig.bind(1), tcp(9));
    let sent = rig.driver.ni(0).map_kept(|message| message.header().body.kind());
    assert_eq!(sent.len(), 1, "no ping before the first message: {sent:?}");
    let discovers = |settings: &mut lnet_core::Settings| {
        settings.discovery = DiscoveryMode::On;
        Ok(())
    };
    assert_eq!(rig.core.admin().change_settings(discovers), Err(Errno::NotSupported));
    assert_eq!(rig.core.admin().make_peer(tcp(8), true, false), Err(Errno::NotSupported));
    assert_eq!(rig.core.admin().make_peer(tcp(8), false, false), Ok(()));
    assert_eq!(rig.core.admin().add_peer_nid(tcp(8), tcp(7), true), Err(Errno::NotSupported));
}
