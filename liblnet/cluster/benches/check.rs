//! The check of 10 000 clients and 20 servers with two rails each, and 32 routers between them: as files, one a node, and as a topology file.
//!
//! With `LNET_CLUSTER_DIR` the files are written there and stay, under `files` and `topology`.
#![allow(clippy::unwrap_used, missing_docs)]

use criterion::{Criterion, criterion_group, criterion_main};
use lnet_cluster::{checks, input};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

const CLIENTS: u32 = 10_000;
const SERVERS: u32 = 20;
const ROUTERS: u32 = 32;

/// A class of nodes: its nets, each with the second octet of its addresses.
struct Kind {
    name: &'static str,
    count: u32,
    nets: &'static [(&'static str, u8)],
    /// The nets that it has routes to: by the routers on its own net at the same place.
    to: &'static [&'static str],
}

const KINDS: [Kind; 3] = [
    Kind { name: "client", count: CLIENTS, nets: &[("tcp", 0), ("tcp1", 64)], to: &["tcp2", "tcp3"] },
    Kind { name: "server", count: SERVERS, nets: &[("tcp2", 128), ("tcp3", 192)], to: &["tcp", "tcp1"] },
    Kind {
        name: "router",
        count: ROUTERS,
        nets: &[("tcp", 63), ("tcp1", 127), ("tcp2", 191), ("tcp3", 255)],
        to: &[],
    },
];

/// The second octet of the addresses of the routers on a net.
fn routers_on(net: &str) -> u8 {
    KINDS[2].nets.iter().find(|(its, _)| *its == net).map_or(0, |(_, octet)| *octet)
}

/// The address of the node with this number, from 1.
fn address(octet: u8, number: u32) -> String {
    format!("10.{octet}.{}.{}", number >> 8, number & 0xff)
}

/// The routers in an order of its own for each node, as nodes keep routes.
fn shuffled(seed: u32) -> Vec<u32> {
    let mut routers: Vec<u32> = (1..=ROUTERS).collect();
    fastrand::Rng::with_seed(seed.into()).shuffle(&mut routers);
    routers
}

/// A configuration in the form of an export; without a number, without addresses.
fn configuration(kind: &Kind, number: Option<u32>) -> String {
    let mut text = "net:\n".to_owned();
    for (index, (net, octet)) in kind.nets.iter().enumerate() {
        let nid = number
            .map_or_else(String::new, |number| format!("nid: {}@{net}\n          ", address(*octet, number)));
        write!(
            text,
            "    - net type: {net}\n      local NI(s):\n        - {nid}interfaces:\n              0: eth{index}\n          tunables:\n              \
             peer_timeout: 180\n              peer_credits: 8\n              peer_buffer_credits: 0\n              credits: 2048\n"
        )
        .unwrap();
    }
    for ((own, _), far) in kind.nets.iter().zip(kind.to) {
        text.push_str(if text.contains("route:") { "" } else { "route:\n" });
        for router in shuffled(number.unwrap_or(0)) {
            let gateway = address(routers_on(own), router);
            writeln!(
                text,
                "    - net: {far}\n      gateway: {gateway}@{own}\n      hop: -1\n      priority: 0"
            )
            .unwrap();
        }
    }
    writeln!(text, "routing:\n    - enable: {}", u8::from(kind.to.is_empty())).unwrap();
    text.push_str("global:\n    discovery: 1\n    retry_count: 2\n    transaction_timeout: 50\n    health_sensitivity: 100\n");
    text
}

/// Writes the cluster in both forms.
fn write_all(directory: &Path) -> [PathBuf; 2] {
    let paths = ["files", "topology"].map(|name| directory.join(name));
    paths.iter().for_each(|path| fs::create_dir_all(path).unwrap());
    let mut topology = "classes:\n".to_owned();
    for kind in &KINDS {
        for number in 1..=kind.count {
            fs::write(
                paths[0].join(format!("{}{number}.yaml", kind.name)),
                configuration(kind, Some(number)),
            )
            .unwrap();
        }
        fs::write(paths[1].join(format!("{}.yaml", kind.name)), configuration(kind, None)).unwrap();
        let addresses: Vec<_> =
            kind.nets.iter().map(|(net, octet)| format!("{net}: {}", address(*octet, 1))).collect();
        let (name, count) = (kind.name, kind.count);
        writeln!(
            topology,
            "  {name}s: {{count: {count}, class: {name}.yaml, addresses: {{{}}}}}",
            addresses.join(", ")
        )
        .unwrap();
    }
    fs::write(paths[1].join("topology.yaml"), topology).unwrap();
    paths
}

fn check(c: &mut Criterion) {
    let kept = std::env::var_os("LNET_CLUSTER_DIR").map(PathBuf::from);
    let temporary = tempfile::tempdir().unwrap();
    let [files, topology] = write_all(kept.as_deref().unwrap_or_else(|| temporary.path()));
    let mut group = c.benchmark_group("cluster check");
    group.sample_size(10);
    for (name, path) in [("10052 files", &files), ("topology", &topology)] {
        group.bench_function(format!("{name}: read"), |b| b.iter(|| input::read(&[path]).unwrap()));
        let cluster = input::read(&[path]).unwrap();
        group.bench_function(format!("{name}: check"), |b| b.iter(|| checks::check(&cluster)));
    }
}

criterion_group!(benches, check);
criterion_main!(benches);
