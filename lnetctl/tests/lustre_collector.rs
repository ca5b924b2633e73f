//! What `lnetctl` writes, read by `lustre_collector`, by which lustrefs-exporter reads the kernel's `lnetctl`.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use lnet_dlc::request::{AddLocalNi, LndTunables, NiTunables};
use lnet_dlc::runtime_dir::{NodeName, RuntimeDir};
use lnet_dlc::{Backend, Request};
use lnet_node::{ControlConfig, ControlServer, Node, SharedBackend, StartConfig};
use lnet_wire::Pid;
use lustre_collector::{LNetStats, Record, parse_lnetctl_output, parse_lnetctl_stats};
use std::process::Command;

/// Fails if a Lustre exporter beside this library finds no counters in its YAML.
#[test]
fn lustre_collector_reads_nets_and_statistics() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = StartConfig::default();
    config.drivers.get_mut::<socklnd::SocklndConfig>().unwrap().accept = socklnd::AcceptFrom::None;
    let node = Node::start(Pid::LUSTRE, config).unwrap();
    let add = AddLocalNi {
        net: "tcp7".parse().unwrap(),
        interface: Some("127.0.7.2".to_owned()),
        tunables: NiTunables::default(),
        lnd: LndTunables::default(),
        cpts: None,
    };
    let backend: &dyn Backend = &*node;
    backend.tell(Request::AddLocalNi(add)).unwrap();
    let name: NodeName = "collected".parse().unwrap();
    let config = ControlConfig::new(RuntimeDir::at(directory.path()), name);
    let _server = ControlServer::start(config, node as SharedBackend).unwrap();
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lnetctl"));
        command.args(words).env("LNET_RUNTIME_DIR", directory.path()).output().unwrap().stdout
    };

    let output = run(&["net", "show", "-v", "4"]);
    let nids: Vec<String> = parse_lnetctl_output(&output)
        .unwrap()
        .into_iter()
        .filter_map(|record| match record {
            Record::LNetStat(LNetStats::SendCount(count)) => Some(count.nid),
            _ => None,
        })
        .collect();
    assert_eq!(nids, ["0@lo", "127.0.7.2@tcp7"]);
    let records = parse_lnetctl_stats(&run(&["stats", "show"])).unwrap();
    assert!(matches!(records[..], [Record::LNetStat(LNetStats::SendLength(_)), _, _]), "{records:?}");
}
