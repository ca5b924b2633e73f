//! Measures the time that configuration takes for an operator: whole `lnetctl` processes against a node's control socket.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use criterion::{Criterion, criterion_group, criterion_main};
use lnet_dlc::runtime_dir::{NodeName, RuntimeDir};
use lnet_node::{ControlConfig, ControlServer, Node, StartConfig};
use lnet_wire::Pid;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const PEERS: u32 = 1000;
const NIDS: u32 = 4;

/// `PEERS` peers of `NIDS` NIDs each, as `lnetctl export --backup` writes them.
fn peers() -> String {
    let mut text = String::from("peer:\n");
    for peer in 0..PEERS {
        let nid = |rail: u32| format!("10.{rail}.{}.{}@tcp{rail}", peer / 250, peer % 250 + 1);
        write!(text, "    - primary nid: {}\n      Multi-Rail: True\n      peer ni:\n", nid(1)).unwrap();
        for rail in 1..=NIDS {
            writeln!(text, "        - nid: {}", nid(rail)).unwrap();
        }
    }
    text
}

/// Runs `lnetctl` and returns how long it took, from its start to its end.
fn lnetctl(directory: &Path, words: &[&str]) -> Duration {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lnetctl"));
    command.args(words).env("LNET_RUNTIME_DIR", directory).stdin(Stdio::null()).stdout(Stdio::null());
    let start = Instant::now();
    let status = command.status().unwrap();
    let time = start.elapsed();
    assert!(status.success(), "lnetctl {words:?}: {status}");
    time
}

fn serve(directory: &Path) -> (Arc<Node>, ControlServer) {
    let mut config = StartConfig::default();
    config.drivers.get_mut::<socklnd::SocklndConfig>().unwrap().accept = socklnd::AcceptFrom::None;
    let node = Node::start(Pid::LUSTRE, config).unwrap();
    let name: NodeName = "bench".parse().unwrap();
    let server = ControlServer::start(
        ControlConfig::new(RuntimeDir::at(directory), name),
        Arc::clone(&node) as lnet_node::SharedBackend,
    );
    (node, server.unwrap())
}

fn configuration(criterion: &mut Criterion) {
    let directory = tempfile::tempdir().unwrap();
    let (node, server) = serve(directory.path());
    let file = directory.path().join("peers.yaml");
    fs::write(&file, peers()).unwrap();
    let file = file.to_str().unwrap();
    let run = |words: &[&str]| lnetctl(directory.path(), words);

    let mut group = criterion.benchmark_group("configuration");
    group.sample_size(10);
    group.bench_function("lnetctl starts and ends (--list-commands)", |bencher| {
        bencher.iter_custom(|times| (0..times).map(|_| run(&["--list-commands"])).sum());
    });
    group.bench_function("import a file of 1000 peers of 4 NIDs", |bencher| {
        bencher.iter_custom(|times| {
            let once = |_| {
                let time = run(&["import", file]);
                run(&["import", "--del", file]);
                time
            };
            (0..times).map(once).sum()
        });
    });
    run(&["import", file]);
    for words in [&["peer", "show"][..], &["peer", "show", "-v", "4"], &["export", "--backup"]] {
        group.bench_function(format!("{} of 1000 peers of 4 NIDs", words.join(" ")), |bencher| {
            bencher.iter_custom(|times| (0..times).map(|_| run(words)).sum());
        });
    }
    group.finish();
    node.shutdown();
    server.stop();
}

criterion_group!(benches, configuration);
criterion_main!(benches);
