//! A node that hostile peers connect to, and two other nodes whose traffic with it must not be disturbed.

use super::nodes::{
    Node, Raw, TIMEOUT, addresses, buffer, config, fresh_bits, pattern, target, tcp, wait_for,
};
use lnet_core::{Event, EventKind, MdMemory, NiTunables, Target};
use lnet_wire::Nid;
use socket2::{Domain, Socket, Type};
use socklnd::SocklndConfig;
use std::cell::Cell;
use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// The payloads of the two: a small message, and bulk.
const LENGTHS: [usize; 2] = [100, 70_000];

pub struct Scene {
    pub node: Node,
    pub ip: Ipv4Addr,
    pub port: u16,
    /// The address that the hostile peer connects from.
    pub hostile_ip: Ipv4Addr,
    /// Whether the hostile peer connects from privileged ports.
    pub privileged: bool,
    next_port: Cell<u16>,
    good_peers: [GoodPeer; 2],
    /// Events of the node for these match bits, as far as they have been read and not asked for.
    seen: Mutex<HashMap<u64, Vec<Event>>>,
}

/// A well-behaved node that PUTs to the scene's node and waits for its ACK, over and over.
struct GoodPeer {
    node: Node,
    bits: u64,
    sent: &'static [u8],
    sink: &'static [u8],
    rounds: AtomicU64,
}

impl Scene {
    /// `change` is applied to the configuration of all three nodes.
    pub fn new(change: impl Fn(&mut SocklndConfig)) -> Self {
        let (ip, other, port) = addresses();
        let start = |ip: Ipv4Addr| {
            let mut config = config(port);
            change(&mut config);
            Node::start(tcp(ip), config)
        };
        let node = start(ip);
        node.core.admin().add_ni(Nid::LOOPBACK, NiTunables::default(), &lolnd::Lolnd).unwrap();
        let after = |n: u32| Ipv4Addr::from(u32::from(other) + n);
        let good_peers = [(other, LENGTHS[0]), (after(1), LENGTHS[1])].map(|(ip, len)| {
            let (bits, sink) = (fresh_bits(), buffer(len));
            node.offer_with(MdMemory::contiguous(sink.as_ptr() as usize, len as u32), bits, 0);
            GoodPeer { node: start(ip), bits, sent: pattern(len, 5), sink, rounds: AtomicU64::new(0) }
        });
        let hostile_ip = after(2);
        let (next_port, seen) = (Cell::new(512), Mutex::default());
        Self { node, ip, port, hostile_ip, privileged: false, next_port, good_peers, seen }
    }

    /// Runs `body` while the two other nodes exchange messages with the node, before and after it too. Every one of their
    /// operations gets its events, on both sides, and none of their connections ends.
    pub fn with_other_traffic<R>(&self, body: impl FnOnce() -> R) -> R {
        let stop = AtomicBool::new(false);
        let result = thread::scope(|scope| {
            let _stop = StopAtEnd(&stop);
            let (to, stop) = (self.node.nid, &stop);
            for peer in &self.good_peers {
                scope.spawn(move || peer.exchange(to, stop));
            }
            self.wait_for_other_traffic();
            let result = body();
            self.wait_for_other_traffic();
            result
        });
        self.check_good_peers();
        result
    }

    /// Returns when both of the other nodes have completed an exchange that began after this call.
    pub fn wait_for_other_traffic(&self) {
        for peer in &self.good_peers {
            let before = peer.rounds.load(Ordering::SeqCst);
            wait_for("the other nodes' traffic", || peer.rounds.load(Ordering::SeqCst) >= before + 2);
        }
    }

    /// The node's next event for a message with these match bits.
    pub fn event(&self, bits: u64) -> Event {
        let mut seen = self.seen.lock().unwrap();
        loop {
            if let Some(events) = seen.get_mut(&bits)
                && !events.is_empty()
            {
                return events.remove(0);
            }
            let event = self.node.event();
            seen.entry(event.match_bits).or_default().push(event);
        }
    }

    fn check_good_peers(&self) {
        for GoodPeer { node, bits, sent, sink, rounds } in &self.good_peers {
            for _ in 0..rounds.swap(0, Ordering::SeqCst) {
                let put = self.event(*bits);
                assert_eq!((put.kind, put.status), (EventKind::Put, Ok(())), "{put:?}");
                assert_eq!((put.initiator.nid, put.mlength as usize), (Some(node.nid), sent.len()));
            }
            assert!(sink == sent, "other bytes than were sent");
            let counters = node.counters();
            let bad = [counters.protocol_errors, counters.timed_out, counters.closed_by_peer];
            assert_eq!((bad, counters.connects_failed), ([0; 3], 0), "{counters:?}");
        }
    }

    /// A connection of the hostile peer on which nothing has been sent.
    pub fn connect(&self) -> Raw {
        let remote = SocketAddr::new(self.ip.into(), self.port);
        if !self.privileged {
            return Raw::connect(self.hostile_ip.into(), 0, remote.ip(), remote.port());
        }
        // The ports are used in turn, as the last ones are in TIME_WAIT.
        loop {
            let port = self.next_port.get();
            self.next_port.set(if port == 1023 { 512 } else { port + 1 });
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            socket.set_reuse_address(true).unwrap();
            socket.bind(&SocketAddr::new(self.hostile_ip.into(), port).into()).unwrap();
            match socket.connect(&remote.into()) {
                Ok(()) => return Raw::over(socket.into()),
                Err(error) if error.kind() == ErrorKind::AddrNotAvailable => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    pub fn hostile_nid(&self) -> Nid {
        tcp(self.hostile_ip)
    }

    /// Fails if the node does not respond to the ping of a new node, which has its own address.
    pub fn serves_a_new_node(&self) {
        let socklnd = SocklndConfig { sock_timeout: TIMEOUT, ..config(self.port) };
        let start = lnet_node::StartConfig {
            drivers: lnet_node::DriverConfigs::default().with(socklnd),
            ..lnet_node::StartConfig::default()
        };
        let new_node = lnet_node::Node::start(lnet_wire::Pid::LUSTRE, start).unwrap();
        new_node.add_nid(tcp(addresses().0)).unwrap();
        let target = lnet_wire::ProcessId { nid: self.node.nid, pid: lnet_wire::Pid::LUSTRE };
        let request =
            lnet_node::PingRequest { target, source: None, max_entries: 16, timeout: Some(TIMEOUT) };
        let response = new_node.ping(request).unwrap().info;
        assert!(response.entries.iter().any(|entry| entry.nid == self.node.nid));
        new_node.shutdown();
    }
}

impl GoodPeer {
    fn exchange(&self, to: Nid, stop: &AtomicBool) {
        let md = self.node.bind_bytes(self.sent);
        let there = Target { match_bits: self.bits, ..target(to) };
        while !stop.load(Ordering::SeqCst) {
            self.node.core.data_path().put(None, md, true, there, 0).unwrap();
            for _ in [EventKind::Send, EventKind::Ack] {
                let event = self.node.event();
                assert_eq!(event.status, Ok(()), "{event:?}");
            }
            self.rounds.fetch_add(1, Ordering::SeqCst);
        }
        self.node.core.data_path().md_unlink(md).unwrap();
        self.node.expect(EventKind::Unlink);
    }
}

/// Ends the exchanges also when the test fails.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Random numbers, the same in every run (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % end as u64) as usize
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.number() as u8).collect()
    }
}

/// The handshake timeout of nodes whose inbound handshakes should time out soon.
pub const SHORT: Duration = Duration::from_millis(200);

/// Lets the process open as many files as its hard limit allows. How many that are.
pub fn raise_file_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls are given a valid rlimit, and keep no pointer to it.
    unsafe {
        assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit), 0);
        limit.rlim_cur = limit.rlim_max;
        assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &limit), 0);
    }
    limit.rlim_cur
}
