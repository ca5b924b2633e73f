//! Two cards of a machine in one subnet without source routes: messages of both NIs leave by the first card, and the node
//! logs that; with SOCKLND_BIND_TO_DEVICE each NI sends by its own card.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use lnet_dlc::request::{AddLocalNi, Configure, DelLocalNi, LndTunables, NiTunables};
use lnet_dlc::{Backend, Request};
use lnet_node::{MisroutedAddress, Node, misrouted_addresses};
use std::fs;
use std::sync::Arc;
use support::machines::{Machines, Wiring};
use support::netns::ip;
use support::rails::{Discovery, Rails, Transfer, node_with, wait_until};
use test_support::log_recorder;

const NETWORKS: &str = "tcp(eth0,eth1)";
const MESSAGES: usize = 64;
const LENGTH: usize = 64 * 1024;

/// Returns the lines about shared subnets since the last call.
fn said() -> Vec<String> {
    let lines = log_recorder::take().into_iter().filter(|line| line.target == "lnet::subnet_shared");
    lines.map(|line| line.text).collect()
}

fn node(machines: &Machines, machine: usize, bind: &str) -> Arc<Node> {
    let others = [("SOCKLND_BIND_TO_DEVICE", bind)];
    let node = machines.on(machine, || node_with(NETWORKS, "", "988", Discovery::On, &others));
    // The kernel needs some time to report that a link has a carrier.
    wait_until("all cards work", || node.core().nets().nis().all(|ni| !ni.is_fatal()));
    node
}

/// The bytes that have left a machine by each card.
fn sent(machines: &Machines, machine: usize) -> [u64; 2] {
    machines.on(machine, || {
        // The file system of the namespace that the thread is in.
        let text = fs::read_to_string("/proc/thread-self/net/dev").unwrap();
        [0, 1].map(|card| {
            let name = format!("eth{card}:");
            let line = text.lines().find_map(|line| line.trim_start().strip_prefix(name.as_str())).unwrap();
            line.split_whitespace().nth(8).unwrap().parse().unwrap()
        })
    })
}

/// Transfers by both NIs of the near node; returns the bytes that each card of the near machine carried.
fn carried(machines: &Machines, near: Arc<Node>, far: Arc<Node>) -> [u64; 2] {
    let rails = Rails::between(near, far);
    // Both nodes know each other, and all connections are established.
    rails.transfer(Transfer::Put, 8, 64, 1);
    let before = sent(machines, 0);
    // The NIs take turns: with more in flight that with more credits gets more, which a busy machine changes.
    rails.transfer(Transfer::Put, MESSAGES, LENGTH, 1);
    let after = sent(machines, 0);
    rails.shutdown();
    [0, 1].map(|card| after[card] - before[card])
}

/// The warnings that clients get from a node on the first machine: two for adding its second card once more, on another net, and one
/// for configuring the node when that is gone.
fn warned(machines: &Machines, node: &Arc<Node>) -> Vec<String> {
    let net = "tcp7".parse().unwrap();
    let add = AddLocalNi {
        net,
        interface: Some("eth1".to_owned()),
        cpts: None,
        tunables: NiTunables::default(),
        lnd: LndTunables::default(),
    };
    let mut warnings = Vec::new();
    machines.on(0, || {
        let mut call = |request| node.call_with_warnings(request, &mut warnings).unwrap();
        call(Request::AddLocalNi(add));
        call(Request::DelLocalNi(DelLocalNi { net, interface: None }));
        call(Request::Configure(Configure { nets: true, large_nids: false }));
    });
    // The new interface is named by its own NID.
    warnings.iter_mut().for_each(|text| *text = text.replace("@tcp7", "@tcp"));
    warnings
}

#[test]
fn cards_in_one_subnet_are_told_of_and_each_sends_by_itself_if_bound() {
    let Some(machines) = Machines::or_skip(2, 2, Wiring::OneSwitch, |_| None) else { return };
    log_recorder::listen(log::LevelFilter::Info);
    // With source routes the node logs nothing.
    let [near, far] = [0, 1].map(|machine| node(&machines, machine, "0"));
    assert_eq!(said(), [""; 0]);
    assert_eq!(machines.on(0, misrouted_addresses), []);
    let all = (MESSAGES * LENGTH) as u64;
    let [first, second] = carried(&machines, near, far);
    assert!(first > all / 4 && second > all / 4, "{first} {second}");

    machines.on(0, || {
        for card in 0..2 {
            let address = Wiring::OneSwitch.address(0, card);
            ip(&["rule", "del", "from", &address, "lookup", &(100 + card).to_string()]);
        }
    });
    let misrouted = MisroutedAddress {
        address: Wiring::OneSwitch.address(0, 1).parse().unwrap(),
        device: "eth1".to_owned(),
        egress: "eth0".to_owned(),
        subnet: "10.77.0.0/24".parse().unwrap(),
    };
    assert_eq!(machines.on(0, misrouted_addresses), [misrouted]);
    let [near, far] = [0, 1].map(|machine| node(&machines, machine, "0"));
    let warnings = said();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].starts_with("NI 10.77.0.2@tcp: ") && warnings[0].contains("leaves by eth0, not eth1"),
        "{warnings:?}"
    );
    assert_eq!(warned(&machines, &near), [0; 3].map(|_| warnings[0].clone()));
    said();
    let [first, second] = carried(&machines, near, far);
    assert!(first > all && second < all / 8, "{first} {second}");

    let near = node(&machines, 0, "1");
    let far = node(&machines, 1, "0");
    assert_eq!(said(), [""; 0]);
    let [first, second] = carried(&machines, near, far);
    assert!(first > all / 4 && second > all / 4, "{first} {second}");
}
