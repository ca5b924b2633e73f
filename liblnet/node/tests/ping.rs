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
