//! Commands that ask other nodes have a node of their own where none runs.
#![allow(clippy::unwrap_used, missing_docs)]

use lnet_dlc::Backend;
use lnet_node::{MisroutedAddress, Node, StartConfig};
use lnet_wire::{Errno, Pid};
use lnetctl::doctor::host::Host;
use lnetctl::doctor::{self, State};
use socklnd::proto::{Hello, Version, acceptor};
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener};
use std::process::{Command, Output};
use std::thread;

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
        "127.0.94.1@tcp answers, and speaks version 3",
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

/// What listens in place of a node: it reads the beginning of a HELLO, answers with these bytes, and closes.
fn listen(address: &str, answer: Vec<u8>) -> (u16, thread::JoinHandle<()>) {
    let listener = TcpListener::bind((address, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = thread::spawn(move || {
        let mut question = [0; acceptor::REQUEST_LEN + 8];
        // The first connection is closed without a word: that is the step before.
        loop {
            let (mut stream, _) = listener.accept().unwrap();
            if stream.read_exact(&mut question).is_ok() {
                return stream.write_all(&answer).unwrap();
            }
        }
    });
    (port, thread)
}

/// Fails if what is no node, or one of another version or place, is not told at the HELLO.
#[test]
fn each_wrong_answer_to_a_hello_ends_the_way_with_what_it_is() {
    let hello = |version: u32, source: &str| {
        let nid = |text: &str| text.parse().unwrap();
        let hello = Hello {
            version: Version::V3,
            src_nid: nid(source),
            dest_nid: Some(nid(source)),
            src_pid: Pid::LUSTRE,
            dest_pid: Pid(0),
            src_incarnation: 1,
            dest_incarnation: 0,
            connection_type: None,
            ips: Vec::new(),
        };
        let mut bytes = hello.encode().unwrap();
        bytes[4..8].copy_from_slice(&version.to_le_bytes());
        bytes
    };
    let table = [
        (Vec::new(), "closes the connection when it is asked for 127.0.94.9@tcp"),
        (b"SSH-2.0-x\r\n".to_vec(), "answers with what is no HELLO: 'SSH-2.0-x..'"),
        (hello(9, "127.0.94.9@tcp"), "speaks version 9, which this library does not"),
        (acceptor::REFUSAL.to_vec(), "refuses the connection request"),
        (hello(3, "127.0.94.10@tcp"), "says that it is 127.0.94.10@tcp, and not 127.0.94.9@tcp"),
    ];
    for (answer, expected) in table {
        let (port, thread) = listen("127.0.94.9", answer);
        let Output { status, stdout, .. } = lnetctl(port, "tcp(127.0.94.8)", &["doctor", "127.0.94.9@tcp"]);
        let shown = String::from_utf8(stdout).unwrap();
        assert!(!status.success() && shown.contains("step: hello") && shown.contains(expected), "{shown}");
        assert!(!shown.contains("step: ping"), "{shown}");
        thread.join().unwrap();
    }
}

/// Fails if only the host is looked at, and not what the node has of it.
#[test]
fn the_nodes_own_interfaces_are_checked() {
    let port = free_port();
    let start = |accept: &'static str| {
        let config = StartConfig::from_lookup(|name| match name {
            "LNET_NETWORKS" => Some("tcp(127.0.94.11)".to_owned()),
            "LNET_ACCEPT" => Some(accept.to_owned()),
            "LNET_ACCEPT_PORT" => Some(port.to_string()),
            _ => None,
        });
        Node::start(Pid::LUSTRE, config.unwrap()).unwrap()
    };
    let found = |host: &Host, node: &dyn Backend| {
        let all = doctor::findings(host, node).into_iter();
        let of_node = all.filter(|(name, _)| name.contains("node"));
        of_node.map(|(_, finding)| (finding.state, finding.seen)).collect::<Vec<_>>()
    };
    let misrouted = MisroutedAddress {
        address: IpAddr::from([127, 0, 94, 11]),
        device: "eth1".to_owned(),
        egress: "eth0".to_owned(),
        subnet: "127.0.94.0/24".parse().unwrap(),
    };
    let host = || Host { misrouted: Vec::new(), ..Host::here() };
    let node = start("all");
    let table = [
        (
            host(),
            [
                (State::Fine, "up: 127.0.94.11@tcp"),
                (State::Fine, "no interface"),
                (State::Fine, "is open on all"),
            ],
        ),
        (
            Host { misrouted: vec![misrouted], sockets: String::new(), ..host() },
            [
                (State::Fine, "up: 127.0.94.11@tcp"),
                (State::Warning, "what 127.0.94.11 sends leaves by eth0, not eth1"),
                (State::Warning, "for 127.0.94.11@tcp: other nodes cannot connect to it"),
            ],
        ),
    ];
    for (host, expected) in table {
        let found = found(&host, &*node);
        let is_so = |(found, expected): (&(State, String), &(State, &str))| {
            found.0 == expected.0 && found.1.contains(expected.1)
        };
        assert!(found.len() == expected.len() && found.iter().zip(&expected).all(is_so), "{found:?}");
    }
    node.shutdown();

    let node = start("none");
    assert_eq!(found(&host(), &*node)[2].0, State::Fine);
    node.shutdown();
    let no_node = |_| Err(Errno::NetworkDown.into());
    assert_eq!(found(&host(), &no_node), [(State::Unknown, "no node runs here".to_owned())]);
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
