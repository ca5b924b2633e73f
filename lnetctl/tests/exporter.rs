//! `lnetctl exporter` over running nodes.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use lnet_dlc::runtime_dir::{NodeName, RuntimeDir};
use lnet_node::{ControlConfig, ControlServer, DriverConfigs, Node, SharedBackend, StartConfig};
use lnet_wire::Pid;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};

fn page(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text.split_once("\r\n\r\n").unwrap().1.to_owned()
}

#[test]
fn the_exporter_serves_all_nodes_of_the_host_in_one_page() {
    let temporary = tempfile::tempdir().unwrap();
    let directory = RuntimeDir::at(temporary.path());
    let start = |name: &str| {
        let name: NodeName = name.parse().unwrap();
        let config =
            StartConfig { name: name.clone(), drivers: DriverConfigs::none(), ..StartConfig::default() };
        let node = Node::start(Pid::LUSTRE, config).unwrap();
        let config = ControlConfig::new(directory.clone(), name);
        ControlServer::start(config, node as SharedBackend).unwrap()
    };
    let (_one, two) = (start("one"), start("two"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_lnetctl"));
    command.args(["exporter", "0"]).env("LNET_RUNTIME_DIR", temporary.path()).stderr(Stdio::piped());
    let mut exporter = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(exporter.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let address =
        line.trim().strip_prefix("lnetctl: metrics: http://").unwrap().strip_suffix("/metrics").unwrap();

    let text = page(address, "/metrics");
    let up = "# TYPE lnet_node_up gauge\nlnet_node_up{node=\"one\"} 1\nlnet_node_up{node=\"two\"} 1\n";
    assert!(text.contains(up), "{text}");
    assert_eq!(text.matches("# TYPE lnet_ni_up gauge").count(), 1);
    assert_eq!(page(address, "/healthz"), "ok\n");
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /events HTTP/1.1\r\n\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let data = lines.find_map(|line| line.strip_prefix("data: ").map(str::to_owned)).unwrap();
    let nodes: serde_json::Value = serde_json::from_str(&data).unwrap();
    assert_eq!((&nodes[0]["name"], &nodes[1]["name"]), (&"one".into(), &"two".into()));
    assert_eq!(nodes[1]["net"][0]["local NI(s)"][0]["nid"], "0@lo");

    // A node that has ended is no longer there; of one that was killed the socket is.
    two.stop();
    drop(UnixListener::bind(directory.socket(&"dead".parse().unwrap())).unwrap());
    let text = page(address, "/metrics");
    assert!(text.contains("lnet_node_up{node=\"dead\"} 0\nlnet_node_up{node=\"one\"} 1\n"), "{text}");
    assert!(!text.contains("node=\"two\""), "{text}");
    assert!(page(address, "/healthz").starts_with("dead: node: does not answer"));

    let mut again = Command::new(env!("CARGO_BIN_EXE_lnetctl"));
    let output = again.args(["exporter", address]).output().unwrap();
    assert_eq!(output.status.code(), Some(256 - 98));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains(&format!("cannot serve metrics: {address}: Address already in use")), "{text}");
    exporter.kill().unwrap();
    exporter.wait().unwrap();
}
