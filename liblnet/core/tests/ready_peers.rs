//! Requests to a peer that has been sent to before, after what they depend on has changed.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

mod support;

use lnet_core::{DiscoveryMode, Errno, EventKind, NiTunables, Settings};
use lnet_wire::Nid;
use std::collections::BTreeSet;
use support::{FakeDriver, OnSend, Rig, tcp};

const PEER: u32 = 9;

/// A node whose peer with one NID has been sent to.
fn rig(nids: &[Nid]) -> Rig {
    let rig = Rig::builder(FakeDriver::new(OnSend::Keep)).nids(nids.iter().copied()).build();
    rig.core.admin().make_peer(tcp(PEER), true, false).unwrap();
    rig.put(rig.bind(-1), tcp(PEER));
    rig.put(rig.bind(-1), tcp(PEER));
    rig
}

/// The paths of four more requests.
fn paths(rig: &Rig) -> BTreeSet<(Nid, Nid)> {
    let nis = || (0..rig.nis.len()).map(|index| (rig.nis[index].nid(), rig.driver.ni(index)));
    rig.driver.finish();
    (0..4).for_each(|_| rig.put(rig.bind(-1), tcp(PEER)));
    nis().flat_map(|(own, ni)| ni.map_kept(move |message| (own, message.next_hop().nid))).collect()
}

/// DI-30: fails if requests to a peer are sent without discovery because earlier ones were.
#[test]
fn a_peer_that_was_sent_to_is_discovered_once_discovery_is_switched_on() {
    let switch_on = |settings: &mut Settings| {
        settings.discovery = DiscoveryMode::On;
        Ok(())
    };
    let rig = rig(&[tcp(1)]);
    let parked = || rig.core.admin().discovery_of(tcp(PEER)).map(|discovery| discovery.parked);
    assert_eq!((paths(&rig).len(), parked()), (1, Some(0)));
    rig.core.admin().change_settings(switch_on).unwrap();
    rig.put(rig.bind(-1), tcp(PEER));
    assert_eq!(parked(), Some(1));
}

/// PS-31, cfg-075: fails if requests to a peer that was sent to keep to the only path that there was.
#[test]
fn a_path_that_is_added_later_is_used() {
    let rig_of_one = rig(&[tcp(1)]);
    assert_eq!(paths(&rig_of_one), BTreeSet::from([(tcp(1), tcp(PEER))]));
    rig_of_one.core.admin().add_peer_nid(tcp(PEER), tcp(PEER + 1), true).unwrap();
    assert_eq!(paths(&rig_of_one), BTreeSet::from([(tcp(1), tcp(PEER)), (tcp(1), tcp(PEER + 1))]));

    let mut rig_of_two = rig(&[tcp(1)]);
    let ni = rig_of_two.core.admin().add_ni(tcp(2), NiTunables::default(), &rig_of_two.driver).unwrap();
    rig_of_two.nis.push(ni);
    assert_eq!(paths(&rig_of_two), BTreeSet::from([(tcp(1), tcp(PEER)), (tcp(2), tcp(PEER))]));
}

/// Fails if a request leaves by an interface that is no more.
#[test]
fn the_only_interface_that_is_removed_is_not_used() {
    let rig = rig(&[tcp(1)]);
    rig.driver.finish();
    rig.core.admin().remove_ni(tcp(1)).unwrap();
    rig.take_events();
    rig.put(rig.bind(-1), tcp(PEER));
    assert_eq!(rig.take_events(), [(EventKind::Send, Err(Errno::HostUnreachable), false)]);
}
