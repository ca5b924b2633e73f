//! Commands that ask other nodes have a node of their own where none runs.
#![allow(clippy::unwrap_used, missing_docs)]

use lnet_node::{Node, StartConfig};
use lnet_wire::Pid;
use std::net::TcpListener;
use std::process::{Command, Output};

/// A port that is free on all loopback addresses at this moment.
fn free_port() -> u16 {
    TcpListener::bind(("0.0.0.0", 0)).unwrap().local_addr().unwrap().port()
}

/// Runs `lnetctl` where no node runs, with these networks in its environment.
fn lnetctl(port: u16, networks: &str, words: &[&str]) -> Output {
    let directory = tempfile::tempdir().unwrap();
    Command::new(env!("CARGO_BIN_EXE_lnetctl"))
        .args(words)
        .env("LNET_RUNTIME_DIR", directory.path())
        .env("LNET_ACCEPT_PORT", port.to_string())
        .env("LNET_NETWORKS", networks)
        .env_remove("LNET_NODE")
        .output()
        .unwrap()
}

/// Fails if a command needs a daemon to ping, discover or explain, or if its node takes the port of a node of this host.
#[test]
fn a_ping_a_discovery_and_an_explanation_need_no_daemon() {
    let port = free_port();
    let config = StartConfig::from_lookup(|name| match name {
        "LNET_NETWORKS" => Some("tcp(127.0.94.1)".to_owned()),
        "LNET_ACCEPT" => Some("all".to_owned()),
        "LNET_ACCEPT_PORT" => Some(port.to_string()),
        _ => None,
    });
    let peer = Node::start(Pid::LUSTRE, config.unwrap()).unwrap();
    for words in [
        &["ping", "127.0.94.1@tcp"][..],
        &["discover", "127.0.94.1@tcp"],
        &["peer", "explain", "--to", "127.0.94.1@tcp"],
        &["ping", "127.0.94.1@tcp", "--networks", "tcp(127.0.94.3)"],
    ] {
        let Output { status, stdout, stderr } = lnetctl(port, "tcp(127.0.94.2)", words);
        let (shown, error) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
        assert!(
            status.success() && shown.contains("primary nid: 127.0.94.1@tcp"),
            "{words:?}: {shown}{error}"
        );
        assert_eq!(error, "", "{words:?}");
    }
    // What is wrong with this host, if anything, is another matter.
    let Output { stdout, .. } = lnetctl(port, "tcp(127.0.94.2)", &["doctor", "127.0.94.1@tcp"]);
    let shown = String::from_utf8(stdout).unwrap();
    for step in [
        "check: clock",
        "step: resolve",
        "step: lnet route",
        "step: accept",
        "127.0.94.1@tcp answers, with 127.0.94.1@tcp",
    ] {
        assert!(shown.contains(step), "{step}: {shown}");
    }
    peer.shutdown();
}

#[test]
fn the_way_to_a_node_ends_with_the_step_that_fails() {
    let Output { status, stdout, .. } =
        lnetctl(free_port(), "tcp(127.0.94.6)", &["doctor", "127.0.94.7@tcp"]);
    let shown = String::from_utf8(stdout).unwrap();
    assert!(!status.success() && shown.contains("nothing listens on the port"), "{shown}");
    assert!(!shown.contains("step: accept"), "{shown}");
}

#[test]
fn a_ping_that_is_refused_says_so() {
    let Output { status, stderr, .. } = lnetctl(free_port(), "tcp(127.0.94.4)", &["ping", "127.0.94.5@tcp"]);
    let error = String::from_utf8(stderr).unwrap();
    let expected = "cannot ping 127.0.94.5@tcp: Connection refused; LNet is not up there";
    assert!(!status.success() && error.contains(expected), "{error}");
}

#[test]
fn a_node_that_cannot_start_is_an_error() {
    let Output { status, stderr, .. } = lnetctl(free_port(), "tcp(nosuch0)", &["ping", "127.0.94.5@tcp"]);
    let error = String::from_utf8(stderr).unwrap();
    assert!(!status.success() && error.contains("cannot start a node for this command"), "{error}");
    assert!(error.contains("nosuch0"), "{error}");
}
