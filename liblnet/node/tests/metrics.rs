//! Metrics of a program's own node.
#![allow(clippy::unwrap_used)]

use lnet_metrics::MetricsConfig;
use lnet_node::{DriverConfigs, Node, StartConfig};
use lnet_wire::Pid;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

fn node(address: &str) -> Arc<Node> {
    let variable = |name: &str| (name == "LNET_METRICS").then(|| address.to_owned());
    let metrics = MetricsConfig::from_lookup(variable).unwrap();
    Node::start(
        Pid::LUSTRE,
        StartConfig { drivers: DriverConfigs::none(), metrics, ..StartConfig::default() },
    )
    .unwrap()
}

fn health(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /healthz HTTP/1.0\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_program_serves_metrics_and_runs_without_them_where_the_address_is_in_use() {
    let one = node("127.0.0.1:0");
    let server = one.serve_metrics().unwrap();
    assert!(health(server.address()).ends_with("\r\n\r\nok\n"));
    let second = node(&server.address().to_string());
    assert!(second.serve_metrics().is_none());
    assert!(node("").serve_metrics().is_none());
    second.shutdown();
    one.shutdown();
    drop(server);
}
