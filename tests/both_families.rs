//! Nodes in a network namespace whose NIDs are of different families: each is reached from an address of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::{DiscoveryMode, Errno};
use lnet_node::{Node, PingRequest, StartConfig};
use lnet_wire::{Nid, Pid, ProcessId};
use socklnd::{DeliveryAcks, SocklndConfig};
use std::net::IpAddr;
use std::process::Command;
use std::sync::Arc;
use support::netns::{ip, namespace_or_skip};
use support::player::TIMEOUT;

fn nid(text: &str) -> Nid {
    text.parse().unwrap()
}

fn node(nids: &[&str]) -> Arc<Node> {
    let socklnd = SocklndConfig { delivery_acks: DeliveryAcks::All, ..SocklndConfig::default() };
    let drivers = lnet_node::DriverConfigs::default().with(socklnd);
    let mut config = StartConfig { drivers, ..StartConfig::default() };
    config.settings.discovery = DiscoveryMode::Off;
    config.settings.retry_count = 0;
    let node = Node::start(Pid::LUSTRE, config).unwrap();
    for nid in nids {
        node.add_nid(self::nid(nid)).unwrap();
    }
    node
}

/// Pings `to` from the node's NI `from`; returns the NIDs in the reply but for the loopback's.
fn ping(node: &Node, from: &str, to: &str) -> Result<Vec<Nid>, Errno> {
    let target = ProcessId { nid: nid(to), pid: Pid::LUSTRE };
    let request = PingRequest { target, source: Some(nid(from)), max_entries: 16, timeout: Some(TIMEOUT) };
    let info = node.ping(request)?.info;
    Ok(info.entries.iter().map(|entry| entry.nid).filter(|nid| !nid.is_loopback()).collect())
}

/// The local addresses of the established TCP connections to this one, in the namespace of the calling thread.
fn connected_from(remote: &str) -> Vec<IpAddr> {
    let output = Command::new("ss").args(["-Htn", "state", "established", "dst", remote]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let local = |line: &str| {
        let (address, _port) = line.split_whitespace().nth(2)?.rsplit_once(':')?;
        address.trim_matches(['[', ']']).parse::<IpAddr>().ok()
    };
    let mut all: Vec<IpAddr> = text.lines().filter_map(local).collect();
    all.sort();
    all.dedup();
    all
}

#[test]
fn a_node_reaches_the_other_family_from_the_address_that_its_interface_has_of_it() {
    let Some(_namespace) = namespace_or_skip() else { return };
    // The interfaces g1eth0 and g2eth0 of the namespace have addresses of both families.
    let (one, other) = (node(&["10.99.0.11@tcp"]), node(&["fd99::12@tcp"]));
    let (short, long) = (nid("10.99.0.11@tcp"), nid("fd99::12@tcp"));
    assert_eq!(ping(&one, "10.99.0.11@tcp", "fd99::12@tcp"), Ok(vec![long]));
    assert_eq!(connected_from("[fd99::12]:988"), ["fd99::11".parse::<IpAddr>().unwrap()]);
    // On the connections of the first, whose NID is not that of their address.
    assert_eq!(ping(&other, "fd99::12@tcp", "10.99.0.11@tcp"), Ok(vec![short]));
    assert_eq!(connected_from("10.99.0.11:988"), [] as [IpAddr; 0]);
    one.shutdown();
    other.shutdown();
    // The other way there is no path before the IPv4 NID has been heard.
    let (one, other) = (node(&["10.99.0.11@tcp"]), node(&["fd99::12@tcp"]));
    assert_eq!(ping(&other, "fd99::12@tcp", "10.99.0.11@tcp"), Err(Errno::HostUnreachable));
    assert_eq!(connected_from("10.99.0.11:988"), [] as [IpAddr; 0]);
    one.shutdown();
    other.shutdown();
}

#[test]
fn an_interface_without_an_address_of_the_peers_family_is_no_way_to_it() {
    let Some(_namespace) = namespace_or_skip() else { return };
    ip(&["link", "add", "only4", "type", "veth", "peer", "name", "only6"]);
    for (link, address) in [("only4", "10.99.0.14/32"), ("only6", "fd99::14/128")] {
        ip(&["link", "set", link, "up"]);
        ip(&["address", "add", address, "dev", link]);
    }
    let (one, other) = (node(&["10.99.0.14@tcp"]), node(&["fd99::12@tcp"]));
    let failed = ping(&one, "10.99.0.14@tcp", "fd99::12@tcp").unwrap_err();
    assert!(matches!(failed, Errno::NetworkUnreachable | Errno::HostUnreachable), "{failed:?}");
    assert_eq!(connected_from("[fd99::12]:988"), [] as [IpAddr; 0]);
    one.shutdown();
    other.shutdown();
}

#[test]
fn nodes_with_one_family_each_and_one_with_both_reach_each_other_by_their_own() {
    let Some(_namespace) = namespace_or_skip() else { return };
    let both = node(&["10.99.0.11@tcp", "fd99:1::11@tcp"]);
    let nids = vec![nid("10.99.0.11@tcp"), nid("fd99:1::11@tcp")];
    for (own, reached) in [("10.99.0.12@tcp", "10.99.0.11@tcp"), ("fd99:1::12@tcp", "fd99:1::11@tcp")] {
        let one = node(&[own]);
        assert_eq!(ping(&one, own, reached), Ok(nids.clone()));
        assert_eq!(ping(&both, reached, own), Ok(vec![nid(own)]));
        one.shutdown();
    }
    both.shutdown();
}
