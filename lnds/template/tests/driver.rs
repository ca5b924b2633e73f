//! Nodes with the driver of this crate: docs/add-a-driver.md quotes these tests.
#![allow(clippy::unwrap_used)]

use lnd_template::TemplateConfig;
use lnd_template::wire::Wire;
use lnet_dlc::request::{
    AddLocalNi, AddPeerNi, LndTunables, LocalNi, NiTunables, Peer, PeerHealth, PeerNiState, SettingState,
};
use lnet_dlc::{Backend, Reply, Request};
use lnet_node::{DriverConfigs, Node, PingRequest, StartConfig};
use lnet_wire::{Errno, Nid, Pid, ProcessId};
use std::sync::Arc;
use std::time::Duration;

/// A node whose only driver is the template, with these interfaces on the wire.
fn node(wire: &Arc<Wire>, interfaces: &[&str]) -> Arc<Node> {
    let driver = TemplateConfig { credits: 64, wire: Arc::clone(wire) };
    let mut config = StartConfig { drivers: DriverConfigs::none().with(driver), ..StartConfig::default() };
    // A ping over a dead link ends at once, not after resends.
    config.settings.retry_count = 0;
    let node = Node::start(Pid::LUSTRE, config).unwrap();
    interfaces.iter().for_each(|interface| drop(add(&*node, interface).unwrap()));
    node
}

fn add(node: &dyn Backend, interface: &str) -> Result<Reply, lnet_dlc::RequestError> {
    let (tunables, lnd) = (NiTunables::default(), LndTunables::default());
    let (net, interface) = ("ptlf".parse().unwrap(), Some(interface.to_owned()));
    node.call(Request::AddLocalNi(AddLocalNi { net, interface, tunables, lnd, cpts: None }))
}

fn nid(text: &str) -> Nid {
    text.parse().unwrap()
}

fn ping(node: &Node, to: &str) -> Result<(), Errno> {
    let target = ProcessId { nid: nid(to), pid: Pid::LUSTRE };
    let timeout = Some(Duration::from_secs(60));
    node.ping(PingRequest { target, source: None, max_entries: 16, timeout }).map(drop)
}

/// What the node says of the health of a peer's interface.
fn health(node: &dyn Backend, its: &str) -> PeerHealth {
    let peer: Box<Peer> = node.ask(Request::GetPeerNi(nid(its))).unwrap();
    peer.nis.iter().find(|ni| ni.nid == nid(its)).unwrap().health.clone()
}

#[test]
fn two_nodes_ping_each_other_until_the_link_is_cut() {
    let wire = Arc::new(Wire::default());
    let (a, b) = (node(&wire, &["1"]), node(&wire, &["2"]));
    assert_eq!((ping(&a, "2@ptlf"), ping(&b, "1@ptlf")), (Ok(()), Ok(())));
    wire.cut(nid("2@ptlf"), true);
    assert!(ping(&a, "2@ptlf").is_err());
    assert_eq!(health(&*a, "2@ptlf").state, Some(PeerNiState::Failed));
    wire.cut(nid("2@ptlf"), false);
    assert_eq!(ping(&a, "2@ptlf"), Ok(()));
}

#[test]
fn a_ping_takes_the_other_path_if_one_link_is_cut() {
    let wire = Arc::new(Wire::default());
    let (a, _b) = (node(&wire, &["1"]), node(&wire, &["2", "3"]));
    let backend: &dyn Backend = &*a;
    for its in [None, Some(nid("3@ptlf"))] {
        let add = AddPeerNi { primary: nid("2@ptlf"), nid: its, multi_rail: true, lock_primary: false };
        backend.tell(Request::AddPeerNi(add)).unwrap();
    }
    wire.cut(nid("2@ptlf"), true);
    // Until a ping has failed the two paths take turns; then the health of one is lower, and all go the other way.
    let failed = (0..4).filter(|_| ping(&a, "2@ptlf").is_err()).count();
    assert!(failed < 2, "{failed}");
    assert_eq!(health(&*a, "3@ptlf").value, 1000);
    assert!(health(&*a, "2@ptlf").value < 1000);
    assert_eq!([ping(&a, "2@ptlf"), ping(&a, "2@ptlf")], [Ok(()), Ok(())]);
}

#[test]
fn the_drivers_words_and_tunables_are_shown() {
    let wire = Arc::new(Wire::default());
    let (a, b) = (node(&wire, &["1"]), node(&wire, &[]));
    let text = |node: &Node, interface| add(node, interface).unwrap_err().text().to_owned();
    assert_eq!(text(&b, "eth0"), "interface eth0: not usable (it is no number)");
    assert_eq!(text(&b, "1"), "1@ptlf: not started (another node has this NID)");
    let backend: &dyn Backend = &*a;
    let all: Vec<SettingState> = backend.ask(Request::GetSettings).unwrap();
    let its: Vec<_> = all.iter().filter(|state| state.module == "template").collect();
    assert_eq!((its.len(), &*its[0].name), (1, "credits"));
    let ni: Box<LocalNi> = backend.ask(Request::GetLocalNi(1)).unwrap();
    assert_eq!((ni.nid, ni.tunables.credits), (nid("1@ptlf"), Some(64)));
}

#[test]
fn a_node_that_has_ended_leaves_its_nid_to_the_next() {
    let wire = Arc::new(Wire::default());
    let a = node(&wire, &["1"]);
    for _ in 0..2 {
        let b = node(&wire, &["2"]);
        assert_eq!(ping(&a, "2@ptlf"), Ok(()));
        b.shutdown();
        assert!(ping(&a, "2@ptlf").is_err());
    }
}
