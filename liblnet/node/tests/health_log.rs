//! The log lines about interfaces and messages that fail.
#![allow(clippy::unwrap_used)]

use lnet_core::FatalReporter;
use lnet_dlc::request::{AddLocalNi, AddPeerNi, LndTunables, NiTunables, Ping, PingResponse, Setting};
use lnet_dlc::{Backend, Request};
use lnet_node::{Node, StartConfig};
use lnet_wire::{Nid, Pid, ProcessId};
use log::{Level, LevelFilter};
use std::sync::Arc;
use test_support::log_recorder;

/// Whether a line with all these words was logged at this level.
fn was_said(level: Level, words: &[&str]) -> bool {
    log_recorder::said(level, words) > 0
}

fn nid(text: &str) -> Nid {
    text.parse().unwrap()
}

/// A node with these interfaces of the loopback, on which no other node listens.
fn node(interfaces: [&str; 2]) -> Arc<Node> {
    log_recorder::listen(LevelFilter::Debug);
    let mut config = StartConfig::default();
    config.drivers.get_mut::<socklnd::SocklndConfig>().unwrap().accept = socklnd::AcceptFrom::None;
    let node = Node::start(Pid::LUSTRE, config).unwrap();
    let backend: &dyn Backend = &*node;
    for interface in interfaces {
        let add = AddLocalNi {
            net: "tcp".parse().unwrap(),
            interface: Some(interface.to_owned()),
            tunables: NiTunables::default(),
            lnd: LndTunables::default(),
            cpts: None,
        };
        backend.tell(Request::AddLocalNi(add)).unwrap();
    }
    node
}

/// dbg-110: fails if a change of state is not logged, a failure not as an error, or a recovery as one.
#[test]
fn an_interface_failure_is_logged_as_an_error_with_its_states_and_the_cause() {
    let node = node(["127.0.1.1", "127.0.1.2"]);
    node.core().admin().set_ni_fatal(nid("127.0.1.2@tcp"), FatalReporter::Host, Some("its cable is cut"));
    assert!(was_said(Level::Error, &["127.0.1.2@tcp", "ACTIVE -> FAILED", "its cable is cut"]));
    node.core().admin().set_ni_fatal(nid("127.0.1.2@tcp"), FatalReporter::Host, None);
    assert!(was_said(Level::Warn, &["127.0.1.2@tcp", "FAILED -> ACTIVE"]));
}

/// dbg-115: fails if a message is resent without a line that has the pair of NIDs on which it failed and the pair that it takes
/// instead.
#[test]
fn a_resend_over_another_path_is_logged_with_both_paths() {
    let node = node(["127.0.2.1", "127.0.2.2"]);
    let backend: &dyn Backend = &*node;
    backend.tell(Request::SetTunable(Setting::Discovery, 0)).unwrap();
    // No node has these NIDs, which the machine reports at once.
    let (primary, other) = (nid("127.0.98.1@tcp"), nid("127.0.98.2@tcp"));
    for nid in [None, Some(other)] {
        let add = AddPeerNi { primary, nid, multi_rail: true, lock_primary: false };
        backend.tell(Request::AddPeerNi(add)).unwrap();
    }
    let target = ProcessId { nid: primary, pid: Pid::LUSTRE };
    let ping = Ping { target, source: None, timeout_ms: Some(60_000), max_nids: 16 };
    assert!(backend.ask::<PingResponse>(Request::PingPeer(ping)).is_err());
    let said = log_recorder::lines();
    let lines = said.iter().filter(|line| line.level == Level::Debug).map(|line| line.text.as_str());
    let pairs: Vec<_> = lines
        .filter_map(failed_and_new_path)
        .filter(|(failed, ..)| [primary, other].contains(&failed.1))
        .collect();
    assert!(!pairs.is_empty(), "{said:?}");
    for (failed, new, resend) in pairs {
        // A message that has failed on all paths takes any of them.
        assert!(failed != new || resend >= PATHS, "{said:#?}");
        for (local, remote) in [failed, new] {
            assert!([nid("127.0.2.1@tcp"), nid("127.0.2.2@tcp")].contains(&local), "{local}");
            assert!([primary, other].contains(&remote), "{remote}");
        }
    }
}

/// A local NID and one of the peer.
type Path = (Nid, Nid);

/// The number of paths between two interfaces and two.
const PATHS: u32 = 4;

/// The path on which a message failed, the one that it takes instead, and the number of the resend, in a line about that.
fn failed_and_new_path(line: &str) -> Option<(Path, Path, u32)> {
    let (failed, new) = line.split_once(" failed (REMOTE_DROPPED")?;
    let (_, new) = new.split_once("resending via ")?;
    let path = |text: &str| {
        let (local, remote) = text.split_once(" -> ")?;
        Some((local.rsplit(' ').next()?.parse().ok()?, remote.split(',').next()?.parse().ok()?))
    };
    let resend = new.split_once("resend ")?.1.parse().ok()?;
    Some((path(failed)?, path(new)?, resend))
}
