//! The cost of attacks on one of two honest nodes: the share of throughput and of round trips per second that the pair
//! keeps, compared with its figures just before and after. `cargo bench -p socklnd --bench hostile`.
//!
//! A second column shows the processor time that the process, without the attacker's threads, spends on one operation,
//! compared with the time without an attack. That figure holds on a busy machine, too.
//!
//! Attackers are limited to the rate that the table names: the benchmark does not measure how much of the processors and
//! of the loopback an attacker can use up. `HOSTILE_ROUNDS` sets the number of rounds; medians are printed.
//!
//! `HOSTILE_UNREAD=all` measures how long an honest pair waits while many peers send requests and read no replies, and the
//! memory that those take; `HOSTILE_UNREAD=34` measures the row of 34 peers only.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[allow(unused, clippy::pedantic)]
#[path = "../tests/support/mod.rs"]
mod support;

use lnet_core::lnd::Driver;
use lnet_core::{EventKind, MdHandle};
use lnet_wire::{Body, Header, Nid, PING_MATCH_BITS, WireHandle};
use socket2::{Domain, Socket, Type};
use socklnd::SocklndConfig;
use socklnd::proto::frame::{Cookies, Head};
use socklnd::proto::{ConnectionType, Version, acceptor};
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::{
    BITS, Node, Raw, addresses, buffer, config, hello, message, pattern, put_header, same_implementation, tcp,
};

const SLICE: Duration = Duration::from_millis(250);
const TICK: Duration = Duration::from_millis(10);
const MIB: usize = 1 << 20;
/// The name of an attacker's threads.
const ATTACKER: &str = "attacker";
const NONE: Cookies = Cookies { request: 0, ack: 0 };

struct Scene {
    node: Node,
    honest: Node,
    me: Ipv4Addr,
    port: u16,
    attacker: u32,
    large: MdHandle,
    small: [MdHandle; 2],
}

type Step = Box<dyn FnMut() + Send>;

struct Attack {
    name: &'static str,
    rate: &'static str,
    /// Starts the attack; the step that it returns runs every [`TICK`].
    begin: fn(&Scene) -> Step,
}

const ATTACKS: &[Attack] = &[
    Attack { name: "200 connections that send nothing", rate: "-", begin: idle_handshakes },
    Attack { name: "200 connections that send a HELLO and no more", rate: "-", begin: idle_peers },
    Attack {
        name: "a byte at a time, in 120 requests, HELLOs, heads, payloads",
        rate: "120 bytes/s",
        begin: slow,
    },
    Attack { name: "connect and reset", rate: "500/s", begin: connects },
    Attack {
        name: "NOOPs",
        rate: "50000/s",
        begin: |scene| repeat(scene, &Head::noop(Cookies { request: 0, ack: 1 }).bytes().repeat(500)),
    },
    Attack { name: "PUTs of 4 KiB that match nothing", rate: "2000/s", begin: unmatched },
    Attack { name: "ACKs that nobody asked for", rate: "20000/s", begin: unasked },
    Attack { name: "1 MiB GETs whose answers are not read", rate: "1000 and 100/s", begin: unread },
    Attack { name: "pings", rate: "2000/s", begin: pings },
];

fn main() {
    if std::env::args().any(|argument| argument == "--list") {
        return;
    }
    if std::env::var_os("HOSTILE_UNREAD").is_some() {
        return unread_by_many();
    }
    let rounds = std::env::var("HOSTILE_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(5_usize);
    let mut ratios = vec![[const { Vec::new() }; 4]; ATTACKS.len()];
    for _ in 0..rounds {
        for (attack, ratios) in ATTACKS.iter().zip(&mut ratios) {
            let scene = Scene::set();
            scene.measure();
            let before = scene.measure();
            let under = scene.under(attack.begin, || scene.measure());
            let after = scene.measure();
            for (at, ratios) in ratios.iter_mut().enumerate() {
                ratios.push(under[at] / f64::midpoint(before[at], after[at]));
            }
        }
    }
    println!("Of an honest pair's throughput is left (medians of {rounds}, least and most):\n");
    println!(
        "| attack | rate | 1 MiB PUTs, 8 in flight | 8-byte round trips | processor time for a PUT | for a round trip |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    for (attack, ratios) in ATTACKS.iter().zip(&mut ratios) {
        let columns = ratios.each_mut().map(|ratios| spread(ratios)).join(" | ");
        println!("| {} | {} | {columns} |", attack.name, attack.rate);
    }
}

fn spread(ratios: &mut [f64]) -> String {
    ratios.sort_by(f64::total_cmp);
    let percent = |ratio: f64| format!("{:.0} %", ratio * 100.0);
    let (first, last) = (ratios[0], ratios[ratios.len() - 1]);
    format!("{} ({} to {})", percent(ratios[ratios.len() / 2]), percent(first), percent(last))
}

impl Scene {
    fn set() -> Self {
        Self::set_by(Node::start)
    }

    fn set_by(start: impl Fn(Nid, SocklndConfig) -> Node) -> Self {
        let (low, high, port) = addresses();
        let node = start(tcp(high), same_implementation(config(port), 1));
        let honest = start(tcp(low), same_implementation(config(port), 2));
        for one in [&node, &honest] {
            one.offer(buffer(MIB));
            one.offer_with(
                lnet_core::MdMemory::contiguous(buffer(MIB).as_ptr() as usize, MIB as u32),
                BITS + 1,
                0,
            );
        }
        let large = honest.bind_bytes(pattern(MIB, 1));
        let small = [honest.bind_bytes(pattern(8, 1)), node.bind_bytes(pattern(8, 2))];
        let attacker = u32::from(Ipv4Addr::new(127, 240, 0, 0)) | (u32::from(high) & 0xffff) << 4;
        Self { node, honest, me: high, port, attacker, large, small }
    }

    fn address(&self, n: u32) -> Ipv4Addr {
        (self.attacker + n).into()
    }

    fn opening(&self, n: u32) -> Vec<u8> {
        let hello = hello(self.address(n), self.me, Some(ConnectionType::Control)).encode().unwrap();
        [acceptor::encode_request(self.node.nid), hello].concat()
    }

    fn open(&self, n: u32) -> Raw {
        Raw::open(self.address(n), self.me, self.port, ConnectionType::Control)
    }

    /// Opens a connection with segments as small as on an Ethernet: with the segments of the loopback the system copies megabytes
    /// for each connection before it is full, and the benchmark would measure that.
    fn open_as_by_ethernet(&self, n: u32) -> Raw {
        const SEGMENT: u32 = 1448;
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.set_tcp_mss(SEGMENT).unwrap();
        socket.set_reuse_address(true).unwrap();
        socket.bind(&SocketAddr::from((self.address(n), 0)).into()).unwrap();
        socket.connect(&SocketAddr::from((self.me, self.port)).into()).unwrap();
        let mut raw = Raw::over(socket.into());
        raw.send(&self.opening(n));
        raw.read_hello();
        raw
    }

    fn put(&self, n: u32, bits: u64, len: usize) -> Vec<u8> {
        let mut header = put_header(tcp(self.address(n)), self.node.nid, len, false);
        if let Body::Put { match_bits, .. } = &mut header.body {
            *match_bits = bits;
        }
        message(Version::V3, &header, NONE, &vec![1; len])
    }

    fn get(&self, n: u32, portal: u32, match_bits: u64, sink_length: u32) -> Vec<u8> {
        let reply = WireHandle { interface_cookie: 5, object_cookie: 6 };
        let body = Body::Get { reply, match_bits, portal, offset: 0, sink_length };
        let header = Header { body, ..put_header(tcp(self.address(n)), self.node.nid, 0, false) };
        message(Version::V3, &header, NONE, &[])
    }

    /// Runs `measure` during the attack.
    fn under<R>(&self, begin: impl Fn(&Self) -> Step, measure: impl FnOnce() -> R) -> R {
        let mut step = begin(self);
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let attacker = std::thread::Builder::new().name(ATTACKER.into());
            let _ = attacker.spawn_scoped(scope, || {
                while !over.load(Ordering::Relaxed) {
                    step();
                    std::thread::sleep(TICK);
                }
            });
            let measured = measure();
            over.store(true, Ordering::Relaxed);
            measured
        })
    }

    /// Returns the 1 MiB PUTs and the 8-byte round trips in a second, and the processor time for one of each.
    fn measure(&self) -> [f64; 4] {
        let (bulk, small) = (self.throughput(), self.round_trips());
        [bulk.0, small.0, bulk.1, small.1]
    }

    fn throughput(&self) -> (f64, f64) {
        let (began, time) = (Instant::now(), processor_time());
        let (mut started, mut ended) = (0_u64, 0_u64);
        while began.elapsed() < SLICE || ended < started {
            while started < ended + 8 && began.elapsed() < SLICE {
                self.honest.put(self.large, self.node.nid, true);
                started += 1;
            }
            ended += u64::from(wait(&self.honest).kind == EventKind::Ack);
            while self.node.event_within(Duration::ZERO).is_some() {}
        }
        while self.node.event_within(Duration::ZERO).is_some() {}
        rates(ended, began, processor_time() - time)
    }

    fn round_trips(&self) -> (f64, f64) {
        let (began, time) = (Instant::now(), processor_time());
        let mut trips = 0_u64;
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    if let Some(event) = try_wait(&self.node)
                        && event.kind == EventKind::Put
                        && event.initiator.nid == Some(self.honest.nid)
                    {
                        self.node.put(self.small[1], self.honest.nid, false);
                    }
                }
            });
            while began.elapsed() < SLICE {
                self.honest.put(self.small[0], self.node.nid, false);
                while wait(&self.honest).kind != EventKind::Put {}
                trips += 1;
            }
            // The rates are computed before the other thread ends, while its processor time can be read.
            let rates = rates(trips, began, processor_time() - time);
            over.store(true, Ordering::Relaxed);
            rates
        })
    }
}

/// Returns the operations in a second, and the processor time for one.
fn rates(count: u64, began: Instant, time: f64) -> (f64, f64) {
    (count as f64 / began.elapsed().as_secs_f64(), time / count.max(1) as f64)
}

/// Processor time in nanoseconds that the threads of this process have used, without the attackers' threads.
fn processor_time() -> f64 {
    let mut sum = 0.0;
    for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
        let read = |file| std::fs::read_to_string(task.path().join(file)).unwrap_or_default();
        if read("comm").trim() != ATTACKER {
            let time = read("schedstat").split(' ').next().and_then(|time| time.parse::<f64>().ok());
            sum += time.unwrap_or_default();
        }
    }
    sum
}

/// Waits for the next event, while this thread itself reads for the node.
fn wait(node: &Node) -> lnet_core::Event {
    let end = Instant::now() + support::TIMEOUT;
    loop {
        if let Some(event) = try_wait(node) {
            return event;
        }
        assert!(Instant::now() < end, "nothing happens");
    }
}

fn try_wait(node: &Node) -> Option<lnet_core::Event> {
    node.event_within(Duration::ZERO).or_else(|| {
        let _ = node.driver.progress(Duration::from_millis(1));
        node.event_within(Duration::ZERO)
    })
}

fn idle_handshakes(scene: &Scene) -> Step {
    let all: Vec<_> =
        (0..200).map(|n| Raw::connect(scene.address(n % 4).into(), 0, scene.me.into(), scene.port)).collect();
    Box::new(move || {
        let _ = all.len();
    })
}

fn idle_peers(scene: &Scene) -> Step {
    let all: Vec<_> = (0..200).map(|n| scene.open(n)).collect();
    Box::new(move || {
        let _ = all.len();
    })
}

fn slow(scene: &Scene) -> Step {
    let begun = |n: u32| {
        let opening = scene.opening(n);
        let put = scene.put(n, BITS, 4000);
        match n % 4 {
            0 => (Raw::connect(scene.address(n).into(), 0, scene.me.into(), scene.port), opening),
            1 => {
                let mut raw = Raw::connect(scene.address(n).into(), 0, scene.me.into(), scene.port);
                raw.send(&opening[..16]);
                (raw, opening[16..].to_vec())
            }
            2 => (scene.open(n), put),
            _ => {
                let mut raw = scene.open(n);
                raw.send(&put[..100]);
                (raw, put[100..].to_vec())
            }
        }
    };
    let mut all: Vec<_> = (0..120).map(|n| (begun(n), 0)).collect();
    let mut tick = 0;
    Box::new(move || {
        // Each once a second, 100 ticks.
        let count = all.len();
        for ((raw, bytes), at) in all.iter_mut().skip(tick % 100).step_by(100).take(count) {
            if let Some(byte) = bytes.get(*at) {
                let _ = raw.stream.write_all(&[*byte]);
                *at += 1;
            }
        }
        tick += 1;
    })
}

fn connects(scene: &Scene) -> Step {
    let (from, me, port) = (scene.address(0), scene.me, scene.port);
    Box::new(move || {
        for _ in 0..5 {
            let raw = Raw::connect(from.into(), 0, me.into(), port);
            let _ = socket2::SockRef::from(&raw.stream).set_linger(Some(Duration::ZERO));
        }
    })
}

fn repeat(scene: &Scene, bytes: &[u8]) -> Step {
    let mut raw = scene.open(0);
    let bytes = bytes.to_vec();
    Box::new(move || {
        let _ = raw.stream.write_all(&bytes);
    })
}

fn unmatched(scene: &Scene) -> Step {
    repeat(scene, &scene.put(0, !BITS, 4096).repeat(20))
}

fn unasked(scene: &Scene) -> Step {
    let handle = WireHandle { interface_cookie: 1, object_cookie: 2 };
    let body = Body::Ack { handle, match_bits: 3, accepted: 4 };
    let header = Header { body, ..put_header(tcp(scene.address(0)), scene.node.nid, 0, false) };
    repeat(scene, &message(Version::V3, &header, NONE, &[]).repeat(200))
}

fn unread(scene: &Scene) -> Step {
    let get = scene.get(0, support::PORTAL, BITS + 1, MIB as u32);
    let mut raw = scene.open(0);
    raw.send(&get.repeat(1000));
    Box::new(move || {
        let _ = raw.stream.write_all(&get);
    })
}

/// Pairs of a number of peers that request 1 MiB again and again and never read, and of the requests per second in all.
const UNREAD: &[(u32, u32)] = &[(0, 0), (30, 2000), (34, 2000), (100, 2000), (1000, 2000), (1000, 50_000)];
const UNREAD_TIME: Duration = Duration::from_secs(30);
/// Pause between two round trips of the honest pair.
const UNREAD_PAUSE: Duration = Duration::from_millis(5);

fn unread_by_many() {
    let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
    let limit = rustix::process::Rlimit { current: most, maximum: most };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).unwrap();
    println!(
        "A PUT of 8 bytes and its ACK, beside peers that ask for 1 MiB each time and do not read, for 30 s each:\n"
    );
    println!(
        "| peers | GETs/s in all | median | 99 % | longest | messages kept, at most | resident memory beyond that before |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    let only = std::env::var("HOSTILE_UNREAD").ok().and_then(|text| text.parse::<u32>().ok());
    for (peers, rate) in UNREAD.iter().filter(|(peers, _)| only.is_none_or(|only| only == *peers)) {
        let scene = Scene::set_by(|nid, config| Node::start_with_monitor(nid, config, |_| ()));
        let mut trips = Vec::new();
        let resident = resident_memory();
        let mut most = 0;
        scene.under(
            |scene| unread_by(scene, *peers, *rate),
            || {
                let began = Instant::now();
                while began.elapsed() < UNREAD_TIME {
                    let start = Instant::now();
                    scene.honest.put(scene.small[0], scene.node.nid, true);
                    while wait(&scene.honest).kind != EventKind::Ack {}
                    trips.push(start.elapsed());
                    while scene.node.event_within(Duration::ZERO).is_some() {}
                    most = most.max(resident_memory().saturating_sub(resident));
                    std::thread::sleep(UNREAD_PAUSE);
                }
            },
        );
        trips.sort();
        let at = |share: f64| trips[((trips.len() - 1) as f64 * share) as usize].as_secs_f64() * 1000.0;
        let [median, most_of_them, longest] = [0.5, 0.99, 1.0].map(at);
        println!(
            "| {peers} | {rate} | {median:.2} ms | {most_of_them:.1} ms | {longest:.0} ms | {} | {} MB |",
            scene.node.core.message_counts().msgs_max,
            most / 1_000_000
        );
    }
}

/// Opens the connections of all peers, and sends the first requests, as fast as one thread can.
fn unread_by(scene: &Scene, peers: u32, rate: u32) -> Step {
    let get = |n| scene.get(n, support::PORTAL, BITS + 1, MIB as u32);
    let mut all: Vec<_> = (0..peers).map(|n| (scene.open_as_by_ethernet(n), get(n))).collect();
    for (raw, get) in &mut all {
        raw.stream.set_nonblocking(true).unwrap();
        let _ = raw.stream.write_all(&get.repeat(8));
    }
    let mut next = 0;
    Box::new(move || {
        for _ in 0..rate / 100 {
            let count = all.len();
            let (raw, get) = &mut all[next % count];
            // A peer that was disconnected does not return.
            let _ = raw.stream.write_all(get);
            next += 1;
        }
    })
}

fn resident_memory() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * rustix::param::page_size() as u64
}

fn pings(scene: &Scene) -> Step {
    let pings = scene.get(0, 0, PING_MATCH_BITS, 272).repeat(20);
    let raw = scene.open(0);
    let mut reader = raw.stream.try_clone().unwrap();
    let attacker = std::thread::Builder::new().name(ATTACKER.into());
    let _ = attacker.spawn(move || {
        let _ = std::io::copy(&mut reader, &mut std::io::sink());
    });
    let mut writer = Closing(raw);
    Box::new(move || {
        let _ = writer.0.stream.write_all(&pings);
    })
}

/// A connection that is shut down when dropped, which ends the thread that reads.
struct Closing(Raw);

impl Drop for Closing {
    fn drop(&mut self) {
        let _ = self.0.stream.shutdown(std::net::Shutdown::Both);
    }
}
