//! Live nodes on the loopback interface, and their knowledge of each other. Each test file uses a part of this.
#![allow(dead_code, unreachable_pub)]

use lnet_core::{
    DiscoveryMode, EqHandle, Errno, Event, EventKind, InsertPosition, MatchId, MdHandle, MdMemory, MdOptions,
    MdSpec, Target,
};
use lnet_dlc::request::Peer;
use lnet_dlc::{Backend, Request};
use lnet_node::{Node, StartConfig};
use lnet_wire::{Nid, Pid};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// The longest wait: far more than any step takes, so that a test that reaches it has failed.
pub const TIMEOUT: Duration = Duration::from_secs(100);

const PORTAL: u32 = 9;
const LENGTH: u32 = 4096;

/// A port that is free on all loopback addresses at this moment.
pub fn free_port() -> u16 {
    TcpListener::bind(("0.0.0.0", 0)).unwrap().local_addr().unwrap().port()
}

/// A node on these addresses in this mode.
pub fn node(port: u16, addresses: &[&str], mode: DiscoveryMode) -> Arc<Node> {
    node_on(port, &format!("tcp({})", addresses.join(",")), mode)
}

/// A node on these networks, in the form of `LNET_NETWORKS`, in this mode.
pub fn node_on(port: u16, networks: &str, mode: DiscoveryMode) -> Arc<Node> {
    node_with(port, networks, mode, &[])
}

/// Like [`node_on`], with further environment variables.
pub fn node_with(port: u16, networks: &str, mode: DiscoveryMode, variables: &[(&str, &str)]) -> Arc<Node> {
    let config = StartConfig::from_lookup(|variable| match variable {
        "LNET_NETWORKS" => Some(networks.to_owned()),
        "LNET_ACCEPT" => Some("all".to_owned()),
        "LNET_ACCEPT_PORT" => Some(port.to_string()),
        _ => variables.iter().find(|(name, _)| *name == variable).map(|(_, value)| (*value).to_owned()),
    });
    let mut config = config.unwrap();
    config.settings.discovery = mode;
    Node::start(Pid::LUSTRE, config).unwrap()
}

pub fn nids(addresses: &[&str]) -> Vec<Nid> {
    addresses.iter().map(|address| format!("{address}@tcp").parse().unwrap()).collect()
}

/// The node's NIDs except the loopback.
pub fn own_nids(node: &Node) -> Vec<Nid> {
    node.core().nets().nis().map(|ni| ni.nid()).filter(|nid| !nid.is_loopback()).collect()
}

/// The node's information about the peer with this NID.
pub fn peer(node: &Node, nid: Nid) -> Option<Peer> {
    let backend: &dyn Backend = node;
    match backend.ask::<Box<Peer>>(Request::GetPeerNi(nid)) {
        Ok(peer) => Some(*peer),
        Err(Errno::NotFound) => None,
        Err(errno) => panic!("{errno}"),
    }
}

/// The NIDs that the node knows of the peer with this NID, the primary one first.
pub fn peer_nids(node: &Node, nid: Nid) -> Vec<Nid> {
    peer(node, nid).map_or_else(Vec::new, |peer| peer.nis.iter().map(|ni| ni.nid).collect())
}

/// Whether the node knows the peer with these NIDs, the primary one first, and the peer, as far as it has acknowledged that,
/// knows the node; and no discovery is in progress between them.
pub fn knows(node: &Node, nids: &[Nid]) -> bool {
    nids.iter().all(|nid| {
        peer(node, *nid).is_some_and(|peer| {
            let its = peer.discovery.unwrap();
            let all = peer.nis.len() == nids.len() && peer.nis.iter().all(|ni| nids.contains(&ni.nid));
            all && peer.primary == nids[0] && peer.multi_rail && its.up_to_date && its.parked == 0
        })
    })
}

/// Waits until `is_so` holds; the test fails after [`TIMEOUT`].
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !is_so() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        thread::yield_now();
    }
}

/// A node with a program that accepts all PUTs to it, and sends PUTs.
pub struct Talker {
    pub node: Arc<Node>,
    inbox: EqHandle,
    outbox: EqHandle,
    source: MdHandle,
}

impl Talker {
    pub fn new(node: Arc<Node>) -> Self {
        let core = node.core();
        let [inbox, outbox] = [(); 2].map(|()| core.data_path().eq_alloc(4096, None).unwrap());
        let me = core.data_path().me_attach(PORTAL, MatchId::ANY, 1, 0, true, InsertPosition::After).unwrap();
        let (sink, memory) = spec(MdOptions(MdOptions::OP_PUT.0 | MdOptions::MANAGE_REMOTE.0), inbox);
        core.data_path().md_attach(me, sink, memory, false, &mut |_| ()).unwrap();
        let (source, memory) = spec(MdOptions(0), outbox);
        let source = core.data_path().md_bind(source, memory, false).unwrap();
        Self { node, inbox, outbox, source }
    }

    /// Begins a PUT to the node with this NID.
    pub fn put(&self, to: Nid) {
        let target = Target { nid: Some(to), pid: Pid::LUSTRE, portal: PORTAL, match_bits: 1, offset: 0 };
        self.node.core().data_path().put(None, self.source, true, target, 0).unwrap();
    }

    /// Waits until `count` PUTs have been sent and acknowledged: either event may be the first.
    pub fn await_acks(&self, count: usize) {
        for _ in 0..2 * count {
            let event = self.next(self.outbox);
            assert_eq!(event.status, Ok(()), "{event:?}");
            assert!(matches!(event.kind, EventKind::Send | EventKind::Ack), "{event:?}");
        }
    }

    /// Waits for the failure of a PUT, and returns its error.
    pub fn await_failure(&self) -> Errno {
        let event = self.next(self.outbox);
        event.status.expect_err("a PUT that fails")
    }

    /// Waits for the next PUT to arrive.
    pub fn arrival(&self) -> Event {
        let event = self.next(self.inbox);
        assert_eq!((event.kind, event.status, event.mlength), (EventKind::Put, Ok(()), LENGTH), "{event:?}");
        event
    }

    /// The number of PUTs that have arrived and were not returned by [`Talker::arrival`].
    pub fn arrivals_so_far(&self) -> usize {
        let next = || self.node.eq_poll(&[self.inbox], Some(Duration::ZERO)).unwrap();
        std::iter::from_fn(next).count()
    }

    fn next(&self, eq: EqHandle) -> Event {
        let (_, polled) = self.node.eq_poll(&[eq], Some(TIMEOUT)).unwrap().expect("an event in time");
        assert!(!polled.lost);
        polled.event
    }
}

/// The spec and the memory of an MD, in memory that lives as long as the process.
fn spec(options: MdOptions, eq: EqHandle) -> (MdSpec, MdMemory) {
    let memory: &'static [u8] = vec![7; LENGTH as usize].leak();
    let start = memory.as_ptr() as usize;
    let spec =
        MdSpec { start, length: LENGTH, threshold: -1, max_size: 0, options, user_ptr: 0, eq: Some(eq) };
    (spec, MdMemory::contiguous(start, LENGTH))
}

/// Sends one PUT to a NID of a peer, and waits until it has arrived.
pub fn put(from: &Arc<Node>, to: &Arc<Node>, nid: Nid) {
    let [from, to] = [from, to].map(|node| Talker::new(Arc::clone(node)));
    from.put(nid);
    from.await_acks(1);
    to.arrival();
}
