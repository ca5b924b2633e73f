//! Callers and peers that mean harm: what they can take of a node, and that it goes on serving others meanwhile.
//! The limits are those of docs/security.md.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::{EventKind, MdOptions};
use lnet_wire::{Body, Header, WireHandle};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socklnd::proto::frame::{Cookies, Head};
use socklnd::proto::{ConnectionType, Hello, acceptor};
use socklnd::{SocklndConfig, SocklndCounters};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::{
    BITS, Node, Raw, TIMEOUT, addresses, buffer, config, hello, message, pattern, put_header,
    same_implementation,
};
use support::{tcp, wait_for};

const NONE: Cookies = Cookies { request: 0, ack: 0 };

/// A node that is attacked, and another one that talks to it all the time.
struct Scene {
    node: Node,
    honest: Node,
    me: Ipv4Addr,
    port: u16,
    /// Addresses from here on are the attacker's.
    attacker: u32,
}

impl Scene {
    fn set(change: impl FnOnce(&mut SocklndConfig)) -> Self {
        let (low, high, port) = addresses();
        let mut attacked = same_implementation(config(port), 1);
        change(&mut attacked);
        let node = Node::start(tcp(high), attacked);
        let honest = Node::start(tcp(low), same_implementation(config(port), 2));
        node.offer(buffer(4096));
        // Far from the addresses of other tests.
        let attacker = u32::from(Ipv4Addr::new(127, 240, 0, 0)) | (u32::from(high) & 0xffff) << 4;
        Self { node, honest, me: high, port, attacker }
    }

    /// The attacker's `n`th address.
    fn address(&self, n: u32) -> Ipv4Addr {
        (self.attacker + n).into()
    }

    fn counters(&self) -> SocklndCounters {
        self.node.counters()
    }

    /// One PUT with an ACK there and back.
    fn round_trip(&self) {
        let md = self.honest.bind_bytes(pattern(64, 1));
        self.honest.put(md, self.node.nid, true);
        let mut ends = [self.honest.event().kind, self.honest.event().kind];
        ends.sort_by_key(|kind| *kind == EventKind::Ack);
        assert_eq!(ends, [EventKind::Send, EventKind::Ack]);
        // What others have done to it is heard, too.
        while self.node.event().kind != EventKind::Put {}
    }

    /// A caller that has not said anything.
    fn call(&self, n: u32) -> Raw {
        Raw::connect(self.address(n).into(), 0, self.me.into(), self.port)
    }

    fn open(&self, n: u32, kind: ConnectionType) -> Raw {
        Raw::open(self.address(n), self.me, self.port, kind)
    }

    /// A PUT that asks for a delivery ACK and matches what the node offers.
    fn put(&self, n: u32, cookie: u64, payload: &[u8]) -> Vec<u8> {
        let header = put_header(tcp(self.address(n)), self.node.nid, payload.len(), false);
        message(socklnd::proto::Version::V3, &header, Cookies { request: cookie, ack: 0 }, payload)
    }
}

/// Whether the other side has not closed.
fn is_open(raw: &Raw) -> bool {
    raw.stream.set_nonblocking(true).unwrap();
    let open = matches!((&raw.stream).read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock);
    raw.stream.set_nonblocking(false).unwrap();
    open
}

/// Waits until the other side has closed, reading nothing that would make room.
fn wait_for_end(stream: &TcpStream, what: &str) {
    wait_for(what, || stream.take_error().unwrap().is_some() || !is_connected(stream));
}

fn is_connected(stream: &TcpStream) -> bool {
    stream.peer_addr().is_ok()
}

#[test]
fn connections_of_one_address_are_limited_and_others_are_accepted() {
    const MOST: usize = 5;
    let scene = Scene::set(|config| config.conns_per_address = MOST);
    scene.round_trip();
    let mut open = Vec::new();
    // Bulk connections of as many made-up processes: from unprivileged ports the kernel makes a peer of each.
    for number in 0..MOST as u32 {
        let said = Hello {
            src_nid: tcp(scene.address(1000 + number)),
            ..hello(scene.address(0), scene.me, Some(ConnectionType::Any))
        };
        let (raw, answer) = Raw::send_hello(scene.address(0), scene.me, scene.port, &said);
        assert_eq!(answer.connection_type, Some(ConnectionType::Any));
        open.push(raw);
    }
    for one_more in 1..=20 {
        let mut raw = scene.call(0);
        assert_eq!(raw.read_to_end(), [], "{one_more}");
    }
    assert_eq!(scene.counters().limit_rejected, 20);
    // Another address gets in, and so does this one when it gives up a place.
    drop(scene.open(1, ConnectionType::Control));
    drop(open.pop());
    wait_for("a place", || {
        let mut raw = scene.call(0);
        let opening = [
            acceptor::encode_request(scene.node.nid),
            hello(scene.address(0), scene.me, Some(ConnectionType::Control)).encode().unwrap(),
        ];
        raw.stream.write_all(&opening.concat()).is_ok() && raw.stream.read(&mut [0]).is_ok_and(|got| got > 0)
    });
    scene.round_trip();
}

#[test]
fn inbound_connections_leave_descriptors_to_the_process() {
    const DESCRIPTORS: u64 = 240;
    let had = getrlimit(Resource::Nofile);
    let few = Rlimit { current: Some(DESCRIPTORS), ..had };
    setrlimit(Resource::Nofile, few).unwrap();
    let scene = Scene::set(|config| {
        config.accept_backlog = 1000;
        config.accept_timeout = TIMEOUT;
    });
    // The attacker is in the same process. What matters is what the node was told at its start.
    setrlimit(Resource::Nofile, had).unwrap();
    scene.round_trip();
    let (mut open, mut refused, mut idle) = (Vec::new(), 0, Vec::new());
    for address in 0..20 {
        for number in 0..20 {
            // From ports that are not privileged, in others' names: each is a process, and a peer.
            let hello = hello(scene.address(1000 + number), scene.me, Some(ConnectionType::Any));
            let opening = [acceptor::encode_request(scene.node.nid), hello.encode().unwrap()].concat();
            let mut raw = scene.call(address);
            let answered =
                raw.stream.write_all(&opening).is_ok() && raw.stream.read(&mut [0]).is_ok_and(|got| got > 0);
            if answered {
                open.push(raw)
            } else {
                refused += 1
            }
            idle.push(scene.call(address));
        }
    }
    scene.round_trip();
    let idle = idle.iter().filter(|raw| is_open(raw)).count();
    let counters = scene.counters();
    println!("{} said hello, {idle} say nothing, {refused} were refused; {counters:?}", open.len());
    assert!((open.len() + idle) as u64 <= DESCRIPTORS / 4 * 3);
    assert!(idle as u64 <= DESCRIPTORS / 4);
    assert!(refused > 0 && counters.limit_rejected >= refused);
    drop(open);
    wait_for("room", || {
        let hello = hello(scene.address(3), scene.me, Some(ConnectionType::Any));
        let opening = [acceptor::encode_request(scene.node.nid), hello.encode().unwrap()].concat();
        let mut raw = scene.call(3);
        raw.stream.write_all(&opening).is_ok() && raw.stream.read(&mut [0]).is_ok_and(|got| got > 0)
    });
}

#[test]
fn idle_handshakes_of_one_address_evict_each_other_and_no_others() {
    const MOST: usize = 50;
    let scene = Scene::set(|config| {
        config.conns_per_address = MOST;
        config.accept_timeout = TIMEOUT;
        config.accept_backlog = 1000;
    });
    // Slow, but before all others.
    let mut slow = scene.call(7);
    let opening = [
        acceptor::encode_request(scene.node.nid),
        hello(scene.address(7), scene.me, Some(ConnectionType::Control)).encode().unwrap(),
    ]
    .concat();
    slow.send(&opening[..10]);
    let request = acceptor::encode_request(scene.node.nid);
    let mut idle = Vec::new();
    for number in 0..300 {
        let mut raw = scene.call(0);
        // Nothing, a part of the request, or all of it.
        let _ = raw.stream.write_all(&request[..number % (request.len() + 1)]);
        idle.push(raw);
    }
    wait_for("the others to be dropped", || scene.counters().handshakes_dropped >= 300 - MOST as u64);
    assert!(idle.iter().filter(|raw| is_open(raw)).count() <= MOST);
    scene.round_trip();
    slow.send(&opening[10..]);
    assert_eq!(slow.read_hello().connection_type, Some(ConnectionType::Control));
}

#[test]
fn a_hello_that_arrives_too_slowly_is_dropped() {
    let scene = Scene::set(|config| config.accept_timeout = Duration::from_millis(300));
    let opening = [
        acceptor::encode_request(scene.node.nid),
        hello(scene.address(0), scene.me, Some(ConnectionType::Control)).encode().unwrap(),
    ]
    .concat();
    // A byte each time that the node has something else to do: far less than one in its time for each piece.
    let mut raw = scene.call(0);
    let mut rest = opening.iter();
    wait_for("the end", || {
        scene.round_trip();
        std::thread::sleep(Duration::from_millis(100));
        rest.next().is_none_or(|byte| raw.stream.write_all(&[*byte]).is_err())
            || scene.counters().handshakes_timed_out > 0
    });
    assert_eq!(scene.counters().handshakes_timed_out, 1);
}

#[test]
fn a_message_sent_byte_by_byte_does_not_hold_its_memory_for_ever() {
    let scene = Scene::set(|config| config.sock_timeout = Duration::from_millis(400));
    for begun in [10, 96 + 10] {
        let mut raw = scene.open(begun, ConnectionType::Control);
        let put = scene.put(begun, 0, &[7; 4000]);
        raw.send(&put[..begun as usize]);
        let began = Instant::now();
        let mut rest = put[begun as usize..].iter();
        // Each byte is well within the time between two.
        wait_for("the end", || {
            std::thread::sleep(Duration::from_millis(40));
            let byte = rest.next().expect("the end before the last byte");
            raw.stream.write_all(&[*byte]).is_err()
        });
        println!("{begun} bytes at once, then bytes: closed after {:?}", began.elapsed());
        if begun > 96 {
            let event = scene.node.expect(EventKind::Put);
            assert!(event.status.is_err(), "{event:?}");
        }
        scene.round_trip();
    }
    assert_eq!(scene.counters().timed_out, 2);
}

#[test]
fn a_hostile_peer_that_does_not_read_its_acks_is_disconnected() {
    let scene = Scene::set(|_| {});
    let mut raw = scene.open(0, ConnectionType::Control);
    let puts: Vec<u8> = (2..2000).flat_map(|cookie| scene.put(0, cookie, b"")).collect();
    // What the sockets take, and a thousand more; each of them is an event, too.
    raw.stream.set_write_timeout(Some(TIMEOUT)).unwrap();
    wait_for("the end", || raw.stream.write_all(&puts).is_err());
    assert_eq!(scene.counters().timed_out, 1);
    while scene.node.event_within(Duration::from_millis(200)).is_some() {}
    scene.round_trip();
}

#[test]
fn a_flood_of_small_messages_does_not_starve_other_peers() {
    let noops = Head::noop(Cookies { request: 0, ack: 1 }).bytes().repeat(500);
    let scene = Scene::set(|_| {});
    let unmatched = |n| {
        let mut header = put_header(tcp(scene.address(n)), scene.node.nid, 100, false);
        if let Body::Put { match_bits, .. } = &mut header.body {
            *match_bits = !BITS;
        }
        message(socklnd::proto::Version::V3, &header, NONE, &[1; 100]).repeat(100)
    };
    let unasked = |n| {
        let handle = WireHandle { interface_cookie: 1, object_cookie: 2 };
        let header = Header {
            body: Body::Ack { handle, match_bits: 3, accepted: 4 },
            ..put_header(tcp(scene.address(n)), scene.node.nid, 0, false)
        };
        message(socklnd::proto::Version::V3, &header, NONE, &[]).repeat(200)
    };
    for (n, what, bytes) in [
        (0, "NOOPs", noops),
        (1, "PUTs that match nothing", unmatched(1)),
        (2, "ACKs nobody asked for", unasked(2)),
    ] {
        let mut raw = scene.open(n, ConnectionType::Control);
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let flood = scope.spawn(|| {
                let mut sent = 0_usize;
                while !over.load(Ordering::Relaxed) {
                    raw.stream.write_all(&bytes).unwrap();
                    sent += bytes.len();
                }
                sent
            });
            for _ in 0..50 {
                scene.round_trip();
            }
            over.store(true, Ordering::Relaxed);
            println!("{what}: {} bytes meanwhile", flood.join().unwrap());
        });
        drop(raw);
        wait_for("nothing to be left", || scene.node.core.message_counts().msgs_alloc == 0);
    }
    assert_eq!(scene.counters().protocol_errors, 0);
}

#[test]
fn an_unrequested_delivery_ack_ends_a_kernels_connections() {
    let scene = Scene::set(|_| {});
    let mut raw = scene.open(0, ConnectionType::Control);
    raw.send(Head::noop(Cookies { request: 0, ack: 77 }).bytes());
    assert_eq!(raw.read_to_end(), []);
    assert_eq!(scene.counters().protocol_errors, 1);
    scene.round_trip();
}

#[test]
fn replies_to_a_peer_that_does_not_read_are_limited() {
    const GETS: usize = 100_000;
    let scene = Scene::set(|_| {});
    scene.node.offer_with(
        lnet_core::MdMemory::contiguous(pattern(100_000, 5).as_ptr() as usize, 100_000),
        BITS + 1,
        MdOptions::TRUNCATE.0,
    );
    let mut raw = scene.open(0, ConnectionType::Control);
    let header = Header {
        body: Body::Get {
            reply: WireHandle { interface_cookie: 5, object_cookie: 6 },
            match_bits: BITS + 1,
            portal: support::PORTAL,
            offset: 0,
            sink_length: 100_000,
        },
        ..put_header(tcp(scene.address(0)), scene.node.nid, 0, false)
    };
    let gets = message(socklnd::proto::Version::V3, &header, NONE, &[]).repeat(1000);
    for _ in 0..GETS / 1000 {
        raw.send(&gets);
    }
    scene.round_trip();
    let most = scene.node.core.message_counts().msgs_max;
    println!("{GETS} questions, {most} messages at most");
    // What waits, and what is just being looked at.
    assert!(most <= 16_384 + 16, "{most} messages");
    raw.stream.shutdown(std::net::Shutdown::Both).unwrap();
    drop(raw);
    wait_for("the answers to be given up", || scene.node.core.message_counts().msgs_alloc == 0);
}

#[test]
fn a_thousand_connections_leave_no_resources_behind() {
    let scene = Scene::set(|config| config.accept_backlog = 1000);
    for number in 0..1000_u32 {
        let raw = scene.call(number % 7);
        if number % 3 == 0 {
            // A reset in place of an end.
            socket2::SockRef::from(&raw.stream).set_linger(Some(Duration::ZERO)).unwrap();
        }
        drop(raw);
        if number % 100 == 0 {
            // Each is another peer: the last one's end may not have been noticed yet.
            drop(scene.open(10 + number / 100, ConnectionType::Control));
            scene.round_trip();
        }
    }
    scene.round_trip();
    assert_eq!(scene.counters().limit_rejected, 0);
}

#[test]
fn a_peer_that_does_not_read_is_given_up_in_time() {
    let scene = Scene::set(|config| config.sock_timeout = Duration::from_millis(500));
    let raw = scene.open(0, ConnectionType::Control);
    let md = scene.node.bind_bytes(pattern(1 << 20, 3));
    for _ in 0..16 {
        scene.node.put(md, tcp(scene.address(0)), false);
    }
    scene.round_trip_beside_sends();
    wait_for_end(&raw.stream, "the end");
}

impl Scene {
    /// What was sent to the attacker ends in error; the honest one notices nothing.
    fn round_trip_beside_sends(&self) {
        let mut failed = 0;
        let md = self.honest.bind_bytes(pattern(64, 1));
        self.honest.put(md, self.node.nid, true);
        let mut arrived = false;
        while failed < 1 || !arrived {
            let event = self.node.event();
            match event.kind {
                EventKind::Put => arrived = true,
                _ => failed += usize::from(event.status.is_err()),
            }
        }
    }
}
