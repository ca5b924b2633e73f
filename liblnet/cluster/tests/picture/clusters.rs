//! Clusters for pictures.

use lnet_cluster::checks::{Finding, check};
use lnet_cluster::input;
use lnet_cluster::model::Cluster;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

pub(crate) fn tests() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// A cluster with its findings, from files by their names.
pub(crate) fn checked(files: &[(&str, &str)]) -> (Cluster, Vec<Finding>) {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(directory.path().join(name), text).unwrap();
    }
    let cluster = input::read(&[directory.path()]).unwrap_or_else(|problems| panic!("{problems:?}"));
    let findings = check(&cluster);
    (cluster, findings)
}

/// A cluster of the library: `broken/NAME` or `healthy/NAME`.
pub(crate) fn of_library(name: &str) -> (Cluster, Vec<Finding>) {
    let text = fs::read_to_string(tests().join(format!("{name}.txt"))).unwrap();
    let parts: Vec<(&str, &str)> =
        text.split("\n=== ").skip(1).map(|part| part.split_once('\n').unwrap()).collect();
    checked(&parts)
}

/// The cluster of the picture in the documentation.
pub(crate) fn example() -> (Cluster, Vec<Finding>) {
    let cluster =
        input::read(&[tests().join("picture/example")]).unwrap_or_else(|problems| panic!("{problems:?}"));
    let findings = check(&cluster);
    (cluster, findings)
}

/// The names of all clusters of the library.
pub(crate) fn library() -> Vec<String> {
    let mut names = Vec::new();
    for directory in ["broken", "healthy"] {
        for entry in fs::read_dir(tests().join(directory)).unwrap() {
            let name = entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned();
            names.push(format!("{directory}/{name}"));
        }
    }
    names.sort();
    names
}

/// Clients on many nets, each with two routers of its own to the servers, which know the way back to all but the last net.
pub(crate) fn many_nets(nets: u32) -> (Cluster, Vec<Finding>) {
    let mut topology = String::from("classes:\n");
    let mut files = Vec::new();
    let mut server =
        String::from("net:\n  - net type: tcp\n    local NI(s):\n      - {interfaces: {0: eth0}}\nroute:\n");
    writeln!(topology, "  servers: {{count: 20, class: server.yaml, addresses: {{tcp: 10.250.0.1}}}}")
        .unwrap();
    for net in 1..=nets {
        let mut client = format!(
            "net:\n  - net type: tcp{net}\n    local NI(s):\n      - {{interfaces: {{0: eth0}}}}\nroute:\n"
        );
        for router in 1..=2 {
            writeln!(client, "  - {{net: tcp, gateway: 10.{net}.255.{router}@tcp{net}}}").unwrap();
            if net < nets {
                writeln!(server, "  - {{net: tcp{net}, gateway: 10.251.{net}.{router}@tcp}}").unwrap();
            }
        }
        let router = format!(
            "net:\n  - net type: tcp\n    local NI(s):\n      - {{interfaces: {{0: eth0}}}}\n  - net type: tcp{net}\n    local NI(s):\n      - {{interfaces: {{0: eth1}}}}\nrouting: {{enable: 1}}\n"
        );
        writeln!(
            topology,
            "  clients{net}: {{count: 100, class: client{net}.yaml, addresses: {{tcp{net}: 10.{net}.0.1}}}}\n  \
               routers{net}: {{count: 2, class: router{net}.yaml, addresses: {{tcp: 10.251.{net}.1, tcp{net}: 10.{net}.255.1}}}}"
        )
        .unwrap();
        files.push((format!("client{net}.yaml"), client));
        files.push((format!("router{net}.yaml"), router));
    }
    files.push(("server.yaml".to_owned(), server));
    files.push(("topology.yaml".to_owned(), topology));
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    checked(&files)
}
