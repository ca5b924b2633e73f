//! Pings that are refused end with that error, and not with that of their timeout.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod live;

use live::{free_port, node};
use lnet_core::{DiscoveryMode, Errno};
use lnet_node::PingRequest;
use lnet_wire::{Nid, Pid, ProcessId};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

/// The error of a ping from a node with these addresses to `127.0.96.1`, on which no node listens.
fn refused_with(port: u16, addresses: &[&str], mode: DiscoveryMode) -> Errno {
    let node = node(port, addresses, mode);
    let nid: Nid = "127.0.96.1@tcp".parse().unwrap();
    let target = ProcessId { nid, pid: Pid::LUSTRE };
    let timeout = Some(Duration::from_secs(100));
    let error =
        node.ping(PingRequest { target, source: None, max_entries: 16, timeout }).map(|_| ()).unwrap_err();
    node.shutdown();
    error
}

#[test]
fn a_ping_of_a_host_on_which_nothing_listens_is_refused() {
    for mode in [DiscoveryMode::On, DiscoveryMode::Off] {
        for addresses in [&["127.0.96.2"][..], &["127.0.96.3", "127.0.96.4"]] {
            let error = refused_with(free_port(), addresses, mode);
            assert_eq!(error, Errno::ConnectionRefused, "{mode:?} {addresses:?}");
        }
    }
}

#[test]
fn a_ping_of_a_host_that_closes_connections_before_its_hello_is_reset() {
    let port = free_port();
    let listener = TcpListener::bind(("127.0.96.1", port)).unwrap();
    thread::spawn(move || listener.incoming().for_each(drop));
    let error = refused_with(port, &["127.0.96.5"], DiscoveryMode::On);
    assert_eq!(error, Errno::ConnectionReset);
}

/// Fails if a node with more interfaces than the first reply has memory for is not asked again, or if others are left out than
/// those beyond the number that is asked for.
#[test]
fn a_node_with_many_interfaces_is_pinged_again_with_more_memory() {
    let port = free_port();
    let addresses: Vec<String> =
        (0..300).map(|number| format!("127.0.{}.{}", 97 + number / 200, 1 + number % 200)).collect();
    let many = node(port, &addresses.iter().map(String::as_str).collect::<Vec<_>>(), DiscoveryMode::Off);
    let one = node(port, &["127.0.99.1"], DiscoveryMode::Off);
    let target = ProcessId { nid: "127.0.97.1@tcp".parse().unwrap(), pid: Pid::LUSTRE };
    for (max_entries, expected) in [(16, 15), (257, 256), (4097, 300)] {
        let request =
            PingRequest { target, source: None, max_entries, timeout: Some(Duration::from_secs(100)) };
        let received = one.ping(request).unwrap();
        let nids: Vec<Nid> = received.info.entries.iter().map(|entry| entry.nid).collect();
        let all: Vec<Nid> =
            addresses.iter().map(|address| format!("{address}@tcp").parse().unwrap()).collect();
        assert_eq!((nids, received.truncated), (all[..expected].to_vec(), false), "{max_entries}");
    }
    one.shutdown();
    many.shutdown();
}
