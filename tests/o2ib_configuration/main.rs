//! Configurations with o2ib and tcp interfaces, in YAML, on nodes whose RDMA devices are a model.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod examples;
mod exports;
#[path = "../support/mod.rs"]
mod support;

use lnet_dlc::import::{Source, import};
use lnet_dlc::ops::service_id::service_id;
use lnet_dlc::yaml::Purpose;
use lnet_dlc::{Report, ReturnCode, export::export};
use lnet_node::{Node, StartConfig};
use lnet_wire::Pid;
use o2iblnd::O2iblndConfig;
use o2iblnd::device::model::ModelNet;
use std::net::TcpListener;
use std::sync::Arc;

/// The port of all nodes of one test.
fn free_port() -> String {
    TcpListener::bind(("0.0.0.0", 0)).unwrap().local_addr().unwrap().port().to_string()
}

/// A node without nets, whose o2ib interfaces are devices of `net`. Its own messages are those of the test alone.
fn node(net: &ModelNet, port: &str) -> Arc<Node> {
    let config = StartConfig::from_lookup(|variable| {
        let value = match variable {
            "LNET_ACCEPT" => "all",
            "LNET_ACCEPT_PORT" => port,
            "LNET_DISCOVERY" | "LNET_FIRST_PING" => "0",
            "LNET_CPU_NPARTITIONS" => "2",
            _ => return None,
        };
        Some(value.to_owned())
    });
    let mut config = config.unwrap();
    config.drivers.get_mut::<O2iblndConfig>().unwrap().devices = Arc::new(net.clone());
    Node::start(Pid::LUSTRE, config).unwrap()
}

/// Imports a file; every item must succeed.
fn take(node: &Node, text: &str) {
    let mut report = Report::new();
    let rc = import(node, Source { name: "the file", text }, Purpose::Add, &mut report);
    assert_eq!(rc, ReturnCode::OK, "{text}\n{}", report.errors_to_yaml());
}

/// What the node exports.
fn exported(node: &Node, backup: bool) -> String {
    let mut report = Report::new();
    assert_eq!(export(node, backup, &mut report), ReturnCode::OK);
    report.shown.to_yaml()
}

#[test]
fn a_node_with_an_o2ib_interface_has_a_service_id() {
    let node = node(&ModelNet::default(), &free_port());
    let on = |net: &str, address: &str| {
        format!("net:\n    - {{net type: {net}, local NI(s): [{{interfaces: {{0: {address}}}}}]}}\n")
    };
    take(&node, &on("tcp", "127.0.16.1"));
    let reason = service_id(&*node).unwrap_err();
    assert!(reason.contains("no o2ib interface"), "{reason}");
    take(&node, &on("o2ib", "127.0.16.2"));
    // wire-o2ib 2.
    assert_eq!(service_id(&*node), Ok(0x0000_0000_0106_03db));
    node.shutdown();
}
