//! Nodes of two processes, one of which is killed.
//!
//! This program starts itself again for the other process.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod hosts;

use hosts::{Host, Memory, own_net};
use lnet_core::MdOptions;
use lnet_node::StartConfig;
use lnet_wire::Nid;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

/// The net of the other process.
const NET: &str = "SHMLND_TEST_NET";
const LEN: usize = 20_000;
/// The PUTs that the other process takes.
const OFFERED: u64 = 50;

/// The other process: it tells its NID, and takes PUTs until its input ends.
#[test]
fn other_process() {
    let Ok(net) = std::env::var(NET) else { return };
    let host = Host::with(&StartConfig::default(), &[(&net, None)]);
    let sinks: Vec<_> = (0..OFFERED).map(|_| Memory::empty(LEN)).collect();
    for (bits, sink) in sinks.iter().enumerate() {
        host.offer(bits as u64, sink, MdOptions::OP_PUT);
    }
    println!("NID {}", host.nid);
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

fn start(net: &str) -> (Child, Nid) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "other_process", "--nocapture"])
        .env(NET, net)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let nid = lines.map(Result::unwrap).find_map(|line| line.split_once("NID ")?.1.parse().ok());
    (child, nid.unwrap())
}

#[test]
fn a_node_of_another_process_is_reached_until_it_is_killed_and_its_successor_afterwards() {
    let net = own_net();
    let a = Host::with(&StartConfig::default(), &[(&net, None)]);
    let mut last = None;
    for _ in 0..3 {
        let (mut child, nid) = start(&net);
        assert_eq!(last.replace(nid).unwrap_or(nid), nid, "the successor has another NID");
        assert_eq!(a.ping(nid), Ok(()));
        let source = Memory::pattern(LEN, 1);
        for bits in 0..OFFERED / 2 {
            a.put(nid, bits, &source);
            assert_eq!(a.wait_for_end().status, Ok(()));
        }
        for bits in OFFERED / 2..OFFERED {
            a.put_without_ack(nid, bits, &source);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // Some have arrived; each ends.
        for _ in OFFERED / 2..OFFERED {
            a.wait_for_end();
        }
        assert!(a.ping(nid).is_err());
    }
}
