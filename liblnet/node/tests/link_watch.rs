//! Counts the threads that watch the machine's links, in a process, and a test, of its own.
#![allow(clippy::unwrap_used, clippy::panic)]

use lnet_node::{Node, StartConfig};
use lnet_wire::Pid;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// The longest wait: far more than any step takes, so that a test that reaches it has failed.
const TIMEOUT: Duration = Duration::from_secs(100);

fn watching() -> usize {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    // A thread that ends meanwhile has no name any more.
    let names = tasks.filter_map(|task| fs::read_to_string(task.unwrap().path().join("comm")).ok());
    names.filter(|name| name.trim_end() == "lnet_links").count()
}

fn wait_until_watching(threads: usize, when: &str) {
    let deadline = Instant::now() + TIMEOUT;
    while watching() != threads {
        assert!(Instant::now() < deadline, "{when}: {} threads, not {threads}", watching());
        thread::yield_now();
    }
}

#[test]
fn a_node_watches_links_from_its_first_interface_to_its_end() {
    let mut config = StartConfig::default();
    config.drivers.get_mut::<socklnd::SocklndConfig>().unwrap().accept = socklnd::AcceptFrom::None;
    let nodes = [(); 2].map(|()| Node::start(Pid::LUSTRE, config.clone()).unwrap());
    assert_eq!(watching(), 0);
    for (number, node) in nodes.iter().enumerate() {
        for net in ["tcp", "tcp1"] {
            node.add_ni(net.parse().unwrap(), Some("127.0.70.1")).unwrap();
            wait_until_watching(number + 1, net);
        }
    }
    for (left, node) in nodes.iter().enumerate().rev() {
        node.shutdown();
        wait_until_watching(left, "after the end");
        node.shutdown();
    }
}
