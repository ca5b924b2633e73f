//! Two nodes with shared memory and TCP between them: which of the two carries messages, and what becomes of these when a path ends.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod hosts;

use hosts::{Host, Memory, own_net};
use lnet_core::stats::MessageOutcome;
use lnet_core::{DiscoveryMode, EventKind, MdOptions};
use lnet_dlc::request::{AddUdsp, DelLocalNi, UdspAction};
use lnet_dlc::{Backend, Request};
use lnet_node::{DriverConfigs, StartConfig};
use lnet_wire::{NetType, Nid};
use shmlnd::ShmlndConfig;
use socklnd::SocklndConfig;
use std::net::TcpListener;

/// The rule that operators add.
const SHM_FIRST: &str = "shm[0-65535]";
/// The messages that are under way at once, at most.
const IN_FLIGHT: usize = 20;

/// Two nodes, each of which knows the other as one peer with two NIDs.
struct Pair {
    net: String,
    a: Host,
    b: Host,
}

impl Pair {
    /// The addresses of loopback are those of the nodes on TCP.
    fn new(addresses: [&str; 2]) -> Self {
        let port = TcpListener::bind(("0.0.0.0", 0)).unwrap().local_addr().unwrap().port();
        let tcp = SocklndConfig { accept_port: port, ..SocklndConfig::default() };
        let shm = ShmlndConfig { ring: 32, ..ShmlndConfig::default() };
        let mut config =
            StartConfig { drivers: DriverConfigs::none().with(tcp).with(shm), ..StartConfig::default() };
        // A node that learns that a NID of its peer is gone has no path for the ACKs that are due to that NID.
        config.settings.discovery = DiscoveryMode::Off;
        let net = own_net();
        let [a, b] = addresses.map(|address| Host::with(&config, &[("tcp", Some(address)), (&net, None)]));
        for (one, other) in [(&a, &b), (&b, &a)] {
            let backend = &*one.node as &dyn Backend;
            let (src, action) = (Some(SHM_FIRST.parse().unwrap()), UdspAction::Priority(0));
            let rule = AddUdsp { src, dst: None, rte: None, action, messages: None, index: None };
            backend.tell(Request::AddUdsp(rule)).unwrap();
            let nets = other.node.core().nets();
            let nids: Vec<Nid> = nets.nis().map(|ni| ni.nid()).filter(|nid| !nid.is_loopback()).collect();
            let admin = one.node.core().admin();
            admin.make_peer(nids[0], true, false).unwrap();
            admin.add_peer_nid(nids[0], nids[1], true).unwrap();
        }
        Self { net, a, b }
    }

    /// Removes the interface of one node on shared memory.
    fn end_shm(&self, of: &Host) {
        let net = self.net.parse().unwrap();
        (&*of.node as &dyn Backend).tell(Request::DelLocalNi(DelLocalNi { net, interface: None })).unwrap();
    }
}

/// PUTs that a node has sent, by the kind of net.
fn sent_by(host: &Host, kind: NetType) -> u64 {
    let nets = host.node.core().nets();
    let nids: Vec<Nid> = nets.nis().map(|ni| ni.nid()).filter(|nid| nid.net().kind() == kind).collect();
    nids.iter().map(|nid| nets.ni(*nid).unwrap().counters().read(MessageOutcome::Sent).put).sum()
}

/// Sends PUTs, and calls `disturb` when a quarter of them has arrived. All arrive, each once.
fn put_all(pair: &Pair, count: usize, len: usize, disturb: impl FnOnce()) {
    let sources: Vec<_> = (0..count).map(|seed| Memory::pattern(len, seed)).collect();
    let sinks: Vec<_> = (0..count).map(|_| Memory::empty(len)).collect();
    for (bits, sink) in sinks.iter().enumerate() {
        pair.b.offer(bits as u64, sink, MdOptions::OP_PUT);
    }
    let mut disturb = Some(disturb);
    let mut sent = 0;
    for arrived in 0..count {
        while sent < count && sent < arrived + IN_FLIGHT {
            pair.a.put(pair.b.nid, sent as u64, &sources[sent]);
            sent += 1;
        }
        if arrived == count / 4 {
            disturb.take().unwrap()();
        }
        assert_eq!(pair.a.wait_for(EventKind::Ack).status, Ok(()), "{arrived}");
    }
    for _ in 0..count {
        assert_eq!(pair.b.wait_for(EventKind::Put).status, Ok(()));
    }
    for (source, sink) in sources.iter().zip(&sinks) {
        assert_eq!(source.bytes(), sink.bytes());
    }
}

#[test]
fn a_rule_has_all_messages_go_by_shared_memory() {
    let pair = Pair::new(["127.0.81.1", "127.0.81.2"]);
    put_all(&pair, 400, 5000, || ());
    assert_eq!((sent_by(&pair.a, NetType::SHM), sent_by(&pair.a, NetType::TCP)), (400, 0));
}

/// The connection ends with messages in every state: in the queue, in the ring as a whole or in part, read by the receiver.
#[test]
fn messages_go_by_tcp_when_the_receivers_interface_ends_and_none_is_lost() {
    for len in [1, 5000, 100_000] {
        let pair = Pair::new(["127.0.82.1", "127.0.82.2"]);
        put_all(&pair, 200, len, || pair.end_shm(&pair.b));
        assert!(sent_by(&pair.a, NetType::TCP) > 0, "{len}");
    }
}

#[test]
fn messages_go_by_tcp_when_the_senders_interface_ends_and_none_is_lost() {
    for len in [1, 5000, 100_000] {
        let pair = Pair::new(["127.0.83.1", "127.0.83.2"]);
        put_all(&pair, 200, len, || pair.end_shm(&pair.a));
        assert!(sent_by(&pair.a, NetType::TCP) > 0, "{len}");
    }
}
