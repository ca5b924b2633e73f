//! Traffic between two nodes while threads change all of the configuration: every accepted operation
//! ends, all credits return, and the remaining peers are consistent.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lnet_core::{Core, EqHandle, Errno, Event, InsertPosition, MatchId, MdMemory, MdOptions, MdSpec, Target};
use lnet_dlc::request::{
    AddLocalNi, AddPeerNi, AddRoute, DelLocalNi, DelPeerNi, DelRoute, LndTunables, NiTunables, Peer, Ping,
    SetHealth, SetHealthKind, SetPeerState, Setting,
};
use lnet_dlc::{Backend, Request};
use lnet_node::{Node, StartConfig};
use lnet_wire::{Nid, Pid, ProcessId};
use socklnd::AcceptFrom;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

const PORTAL: u32 = 9;
const BITS: u64 = 0x5e;
const ROUNDS: usize = 400;
/// The longest wait: far more than any step takes, so that a test that reaches it has failed.
const TIMEOUT: Duration = Duration::from_secs(100);

fn nid(text: &str) -> Nid {
    text.parse().unwrap()
}

fn node(port: u16, own: &str) -> Arc<Node> {
    let mut config = StartConfig::default();
    config.drivers.get_mut::<socklnd::SocklndConfig>().unwrap().accept = AcceptFrom::All;
    config.drivers.get_mut::<socklnd::SocklndConfig>().unwrap().accept_port = port;
    let node = Node::start(Pid::LUSTRE, config).unwrap();
    node.add_nid(nid(own)).unwrap();
    node
}

/// Memory that lives as long as the test's process: a message may outlast its node.
fn memory(length: usize) -> &'static [u8] {
    vec![7_u8; length].leak()
}

/// The results of a node's operations.
#[derive(Default)]
struct Account {
    accepted: AtomicU64,
    ended: AtomicU64,
}

struct Traffic {
    core: Arc<Core>,
    eq: EqHandle,
    account: Arc<Account>,
    memory: &'static [u8],
}

impl Traffic {
    fn new(core: &Arc<Core>) -> Self {
        let account = Arc::new(Account::default());
        let told = Arc::clone(&account);
        let handler = move |event: &Event| {
            told.ended.fetch_add(u64::from(event.unlinked), Ordering::SeqCst);
        };
        let eq = core.data_path().eq_alloc(0, Some(Box::new(handler))).unwrap();
        Self { core: Arc::clone(core), eq, account, memory: memory(8192) }
    }

    fn spec(&self, length: u32, threshold: i32, options: MdOptions) -> (MdSpec, MdMemory) {
        let (start, eq) = (self.memory.as_ptr() as usize, Some(self.eq));
        let spec = MdSpec { start, length, threshold, max_size: 0, options, user_ptr: 0, eq };
        (spec, MdMemory::contiguous(start, length))
    }

    /// Accepts any number of PUTs.
    fn take(&self) {
        let me = self
            .core
            .data_path()
            .me_attach(PORTAL, MatchId::ANY, BITS, 0, true, InsertPosition::After)
            .unwrap();
        let options = MdOptions(MdOptions::OP_PUT.0 | MdOptions::MANAGE_REMOTE.0);
        let (spec, memory) = self.spec(8192, -1, options);
        self.core.data_path().md_attach(me, spec, memory, true, &mut |_| ()).unwrap();
    }

    /// Sends one PUT with one event, which also reports the end of its descriptor.
    fn put(&self, to: Nid, length: u32) {
        let (spec, memory) = self.spec(length, 1, MdOptions(0));
        let md = self.core.data_path().md_bind(spec, memory, true).unwrap();
        let target = Target { nid: Some(to), pid: Pid::LUSTRE, portal: PORTAL, match_bits: BITS, offset: 0 };
        self.account.accepted.fetch_add(1, Ordering::SeqCst);
        // A refused PUT has no event except that of the descriptor's end.
        if self.core.data_path().put(None, md, false, target, 0).is_err() {
            self.core.data_path().md_unlink(md).unwrap();
        }
    }
}

fn add(net: &str, interface: &str) -> Request {
    Request::AddLocalNi(AddLocalNi {
        net: net.parse().unwrap(),
        interface: Some(interface.to_owned()),
        tunables: NiTunables { credits: Some(4), peer_credits: Some(2), ..NiTunables::default() },
        lnd: LndTunables::default(),
        cpts: None,
    })
}

fn del(net: &str) -> Request {
    Request::DelLocalNi(DelLocalNi { net: net.parse().unwrap(), interface: None })
}

fn peer(primary: Nid, nid: Option<Nid>) -> Request {
    Request::AddPeerNi(AddPeerNi { primary, nid, multi_rail: true, lock_primary: false })
}

fn no_peer(primary: Nid, nid: Option<Nid>) -> Request {
    Request::DelPeerNi(DelPeerNi { primary, nid, force: true })
}

/// Asserts that a node's peers are consistent: each NID's peer has that NID, and each NID of a peer leads to that peer.
fn check_peers(core: &Core) {
    for peer_ni in core.peer_nis() {
        let peer = peer_ni.peer();
        assert!(peer.nids.contains(&peer_ni.nid()), "{peer:?} lacks {}", peer_ni.nid());
        for nid in &peer.nids {
            let (found, nis) = core.admin().peer(*nid).unwrap_or_else(|| panic!("{peer:?}: no {nid}"));
            assert_eq!(
                (found.primary, &found.nids, found.state()),
                (peer.primary, &peer.nids, peer.state()),
                "{nid}"
            );
            assert_eq!(nis.len(), peer.nids.len());
        }
        assert_eq!(peer_ni.credits().0, i32::try_from(peer_ni.max_credits()).unwrap(), "{}", peer_ni.nid());
    }
}

fn run(a: &Arc<Node>, b: &Arc<Node>, [a1, b1]: [&str; 2]) {
    let [b_tcp, b_tcp1] = ["tcp", "tcp1"].map(|net| {
        let core = b.core().nets();
        core.nis().map(|ni| ni.nid()).find(|nid| nid.net() == net.parse().unwrap()).unwrap()
    });
    assert_eq!(b_tcp1.to_string(), format!("{b1}@tcp1"));
    let (from, into) = (Traffic::new(a.core()), Traffic::new(b.core()));
    into.take();
    let over = AtomicBool::new(false);
    thread::scope(|threads| {
        for turn in 0..2_u32 {
            let (from, over) = (&from, &over);
            threads.spawn(move || {
                for i in 0_u32.. {
                    if over.load(Ordering::SeqCst) {
                        return;
                    }
                    from.put([b_tcp, b_tcp1, Nid::LOOPBACK][((i + turn) % 3) as usize], (i * 37) % 8192);
                }
            });
        }
        let looker = threads.spawn(|| {
            let node: &dyn Backend = &**a;
            while !over.load(Ordering::SeqCst) {
                for primary in node.ask::<Vec<Nid>>(Request::GetPeerList).unwrap() {
                    match node.ask::<Box<Peer>>(Request::GetPeerNi(primary)) {
                        Ok(_) | Err(Errno::NotFound) => {}
                        Err(errno) => panic!("{errno}"),
                    }
                }
                let _ = node.tell(Request::GetLocalNi(2));
                let target = ProcessId { nid: b_tcp, pid: Pid::LUSTRE };
                let ping = Ping { target, source: None, timeout_ms: Some(50), max_nids: 16 };
                let _ = node.tell(Request::PingPeer(ping));
            }
        });
        let interfaces = threads.spawn(|| {
            let node: &dyn Backend = &**a;
            for _ in 0..ROUNDS / 10 {
                node.tell(add("tcp1", a1)).unwrap();
                node.tell(del("tcp1")).unwrap();
            }
        });
        let peers = threads.spawn(|| {
            let node: &dyn Backend = &**a;
            for i in 0..ROUNDS {
                // Any of these requests may be refused, depending on the other threads.
                let _ = node.tell(peer(b_tcp, None));
                let _ = node.tell(peer(b_tcp, Some(b_tcp1)));
                let state = SetPeerState { nid: b_tcp, state: 9 + (i as u32 & 1) * 4 };
                let _ = node.tell(Request::SetPeer(state));
                let health = SetHealth { kind: SetHealthKind::PeerNi, nid: None, value: i as i32 };
                node.tell(Request::SetHealth(health)).unwrap();
                node.tell(Request::SetTunable(Setting::Discovery, i as i64 & 1)).unwrap();
                let (net, gateway) = ("tcp7".parse().unwrap(), b_tcp);
                let route = AddRoute { net, gateway, hops: None, priority: 0, health_sensitivity: 1 };
                let _ = node.tell(Request::AddRoute(route));
                let _ = node.tell(Request::DelRoute(DelRoute { net: None, gateway: None }));
                let _ = node.tell(no_peer(b_tcp, (i % 2 == 0).then_some(b_tcp1)));
                if i % 7 == 0 {
                    let _ = node.tell(peer(b_tcp1, None));
                    let _ = node.tell(peer(b_tcp1, Some(b_tcp)));
                    let _ = node.tell(no_peer(b_tcp1, None));
                }
            }
        });
        let ended = [interfaces, peers].map(thread::ScopedJoinHandle::join);
        over.store(true, Ordering::SeqCst);
        looker.join().unwrap();
        ended.into_iter().for_each(|ended| ended.unwrap());
    });
    let account = &from.account;
    let end = Instant::now() + TIMEOUT;
    while account.ended.load(Ordering::SeqCst) < account.accepted.load(Ordering::SeqCst) {
        assert!(Instant::now() < end, "{:?} of {:?} ended", account.ended, account.accepted);
        thread::yield_now();
    }
    // The request of a ping may still be with the driver.
    let busy = |core: &Core| {
        let spent =
            |ni: &lnet_core::topology::PeerNi| i64::from(ni.credits().0) != i64::from(ni.max_credits());
        core.peer_nis().iter().any(|ni| spent(ni))
    };
    while busy(a.core()) && Instant::now() < end {
        thread::yield_now();
    }
    check_peers(a.core());
}

#[test]
fn configuration_changes_under_traffic_leave_messages_and_peers_consistent() {
    let base = 0x7f40_0000 | ((std::process::id() & 0xff) << 12);
    let ip = move |i: u32| std::net::Ipv4Addr::from(base + i).to_string();
    let port = TcpListener::bind((ip(2), 0)).unwrap().local_addr().unwrap().port();
    let (tell, told) = channel();
    thread::spawn(move || {
        let a = node(port, &format!("{}@tcp", ip(1)));
        let b = node(port, &format!("{}@tcp", ip(2)));
        b.add_nid(nid(&format!("{}@tcp1", ip(4)))).unwrap();
        run(&a, &b, [&ip(3), &ip(4)]);
        a.shutdown();
        b.shutdown();
        tell.send(()).unwrap();
    });
    told.recv_timeout(2 * TIMEOUT).expect("a thread failed, or they wait for each other");
}

#[test]
fn a_node_under_control_requests_shuts_down() {
    let (tell, told) = channel();
    thread::spawn(move || {
        for round in 0..20_u32 {
            let mut config = StartConfig::default();
            config.drivers.get_mut::<socklnd::SocklndConfig>().unwrap().accept = AcceptFrom::None;
            let node = Node::start(Pid::LUSTRE, config).unwrap();
            let (down, turns) = (AtomicBool::new(false), AtomicU32::new(0));
            thread::scope(|threads| {
                for _ in 0..3 {
                    threads.spawn(|| {
                        let backend: &dyn Backend = &*node;
                        let far = nid("127.0.1.99@tcp");
                        while !down.load(Ordering::SeqCst) {
                            let _ = backend.tell(add("tcp", "127.0.1.1"));
                            let _ = backend.tell(peer(far, None));
                            let target = ProcessId { nid: Nid::LOOPBACK, pid: Pid::LUSTRE };
                            let ping = Ping { target, source: None, timeout_ms: None, max_nids: 16 };
                            let _ = backend.tell(Request::PingPeer(ping));
                            let _ = backend.tell(no_peer(far, None));
                            let _ = backend.tell(del("tcp"));
                            turns.fetch_add(1, Ordering::SeqCst);
                        }
                    });
                }
                // The end comes at another moment in each round.
                while turns.load(Ordering::SeqCst) < round {
                    thread::yield_now();
                }
                node.shutdown();
                down.store(true, Ordering::SeqCst);
            });
            assert_eq!(node.core().nets().nis().count(), 0);
        }
        tell.send(()).unwrap();
    });
    told.recv_timeout(TIMEOUT).expect("a request or the shutdown waits for ever");
}
