//! Ten nodes in one process: a node is a value, and each finds the others.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use lnet_core::{EqHandle, Errno, EventKind, InsertPosition, MatchId, MdMemory, MdOptions, MdSpec, Target};
use lnet_node::{Node, PingRequest, StartConfig};
use lnet_wire::{Nid, Pid, ProcessId};
use std::collections::HashMap;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

const NODES: usize = 10;
const PORTAL: u32 = 7;
/// The timeout of every wait: far beyond the time of a step, so that only a hang reaches it.
const FOR_EVER: Duration = Duration::from_secs(60);

/// A port that is free on all loopback addresses at this moment.
fn free_port() -> u16 {
    TcpListener::bind(("0.0.0.0", 0)).unwrap().local_addr().unwrap().port()
}

fn start(port: u16) -> Vec<Arc<Node>> {
    (1..=NODES)
        .map(|n| {
            let (port, address) = (port.to_string(), format!("tcp(127.0.77.{n})"));
            let variables: HashMap<&str, &str> = HashMap::from([
                ("LNET_NETWORKS", address.as_str()),
                ("LNET_ACCEPT", "all"),
                ("LNET_ACCEPT_PORT", port.as_str()),
            ]);
            let config =
                StartConfig::from_lookup(|name| variables.get(name).map(|v| (*v).to_owned())).unwrap();
            Node::start(Pid::LUSTRE, config).unwrap()
        })
        .collect()
}

fn nid(node: &Node) -> Nid {
    node.core().ni_by_index(1).unwrap().nid
}

fn spec(memory: &[u8], options: u32, threshold: i32, eq: EqHandle) -> (MdSpec, MdMemory) {
    let (start, length) = (memory.as_ptr() as usize, memory.len() as u32);
    let options = MdOptions(options);
    let spec = MdSpec { start, length, threshold, max_size: 0, options, user_ptr: 0, eq: Some(eq) };
    (spec, MdMemory::contiguous(start, length))
}

#[test]
fn every_node_pings_every_node() {
    let nodes = start(free_port());
    for node in &nodes {
        for other in &nodes {
            let target = ProcessId { nid: nid(other), pid: Pid::LUSTRE };
            let request = PingRequest { target, source: None, max_entries: 16, timeout: Some(FOR_EVER) };
            let response = node.ping(request).unwrap().info;
            assert_eq!(response.entries.iter().map(|entry| entry.nid).collect::<Vec<_>>(), [nid(other)]);
            assert_eq!(response.features.0, 0x1e);
        }
    }
}

#[test]
fn every_node_puts_to_every_node_and_gets_the_events() {
    let nodes = start(free_port());
    let sinks: Vec<Vec<u8>> = nodes.iter().map(|_| vec![0; NODES * 4096]).collect();
    let sources: Vec<Vec<u8>> = (0..NODES).map(|n| vec![n as u8 + 1; 4096]).collect();
    let eqs: Vec<EqHandle> =
        nodes.iter().map(|node| node.core().data_path().eq_alloc(256, None).unwrap()).collect();
    for ((node, sink), eq) in nodes.iter().zip(&sinks).zip(&eqs) {
        let me = node
            .core()
            .data_path()
            .me_attach(PORTAL, MatchId::ANY, 1, 0, true, InsertPosition::After)
            .unwrap();
        let options = MdOptions::OP_PUT.0 | MdOptions::MANAGE_REMOTE.0;
        let (spec, memory) = spec(sink, options, -1, *eq);
        node.core().data_path().md_attach(me, spec, memory, false, &mut |_| ()).unwrap();
    }
    for (at, node) in nodes.iter().enumerate() {
        for other in &nodes {
            let (spec, memory) = spec(&sources[at], 0, 2, eqs[at]);
            let md = node.core().data_path().md_bind(spec, memory, true).unwrap();
            let offset = (at * 4096) as u32;
            let target =
                Target { nid: Some(nid(other)), pid: Pid::LUSTRE, portal: PORTAL, match_bits: 1, offset };
            node.core().data_path().put(None, md, true, target, at as u64).unwrap();
        }
    }
    for (at, node) in nodes.iter().enumerate() {
        let mut heard: HashMap<EventKind, usize> = HashMap::new();
        while heard.values().sum::<usize>() < 3 * NODES {
            let (_, polled) = node.eq_poll(&[eqs[at]], Some(FOR_EVER)).unwrap().expect("an event in time");
            assert_eq!(polled.event.status, Ok(()));
            *heard.entry(polled.event.kind).or_default() += 1;
        }
        let want = [EventKind::Put, EventKind::Send, EventKind::Ack].map(|kind| (kind, NODES));
        assert_eq!(heard, HashMap::from(want));
    }
    for node in &nodes {
        node.shutdown();
    }
    for sink in &sinks {
        for (n, part) in sink.chunks(4096).enumerate() {
            assert!(part.iter().all(|byte| *byte == n as u8 + 1));
        }
    }
}

#[test]
fn a_node_that_cannot_start_reports_the_cause_and_leaves_nothing_behind() {
    let port = free_port();
    let one = start(port);
    let start_again = |networks: &str| {
        let port = port.to_string();
        let variables = HashMap::from([("LNET_NETWORKS", networks), ("LNET_ACCEPT_PORT", port.as_str())]);
        let config = StartConfig::from_lookup(|name| variables.get(name).map(|v| (*v).to_owned()))?;
        Node::start(Pid::LUSTRE, config).map(drop)
    };
    assert_eq!(start_again("tcp(127.0.77.1)"), Err(Errno::AddressInUse));
    // The first address is given up again when the second fails.
    assert_eq!(start_again("tcp(127.0.78.1,127.0.77.1)"), Err(Errno::AddressInUse));
    assert_eq!(start_again("tcp(127.0.78.1)"), Ok(()));
    assert_eq!(start_again("tcp(no-such-interface)"), Err(Errno::NoDevice));
    assert_eq!(start_again("tcp(192.0.2.7)"), Err(Errno::AddressNotAvailable));
    assert_eq!(start_again("kfi(cxi0)"), Err(Errno::ProtocolNotSupported));
    drop(one);
    assert_eq!(start_again("tcp(127.0.77.1)"), Ok(()));
}
