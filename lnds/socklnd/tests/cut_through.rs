//! A router that sends large messages on while they arrive, between scripted peers (docs/routing.md).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::lnd::MAX_CUT_THROUGH;
use lnet_core::{CarriedOrigin, Clock, Confirmation, MessageOrigin, NiTunables};
use lnet_wire::byte_order::ByteOrder;
use lnet_wire::{Header, NetId, NetType, Nid};
use socklnd::proto::frame::{self, Cookies, Head, Incoming};
use socklnd::proto::{ConnectionType, Hello};
use socklnd::{SocklndConfig, implementation_id};
use std::io::ErrorKind;
use std::net::Ipv4Addr;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;
use support::*;

const MIB: usize = 1 << 20;
/// A part of a message at which a router begins to send it on.
const PART: usize = MIB / 2;
/// The smallest such part.
const BEGIN: usize = 64 << 10;
/// The number of the client's connection.
const CLIENT_CONN: u64 = 7;

/// A NID on `tcp1`.
fn far(ip: Ipv4Addr) -> Nid {
    Nid::new(NetId::new(NetType::TCP, 1), u32::from(ip))
}

/// A router between a client on `tcp` and a server on `tcp1`.
struct Site {
    router: Node,
    client: Raw,
    listener: Listening,
    server: Ipv4Addr,
    /// The client's address and the router's, and the port of all.
    addresses: (Ipv4Addr, Ipv4Addr, u16),
    /// The number of the client's last message.
    sent: u64,
}

/// The server's end of its connections with the router.
struct Server {
    control: Raw,
    /// The connection on which the router sends large messages.
    bulk: Raw,
    _others: Vec<Raw>,
}

impl Site {
    fn new(clock: Arc<dyn Clock>, change: impl Fn(&mut SocklndConfig)) -> Self {
        let (low, high, port) = addresses();
        let mut config = same_implementation(config(port), 1);
        config.min_reconnect = Duration::from_millis(20);
        change(&mut config);
        let resends = |config: &mut lnet_core::CoreConfig| config.settings.retry_count = 2;
        let router = Node::start_with_monitor_and_clock(tcp(high), config, clock, resends);
        let [gateway_far, server] = [1, 2].map(|add| Ipv4Addr::from(u32::from(high) + add));
        router.core.admin().add_ni(far(gateway_far), NiTunables::default(), &*router.driver).unwrap();
        router.core.admin().change_router(|router| router.switched(true)).unwrap();
        let listener = Listening::on(server, port);
        let client = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
        Self { router, client, listener, server, addresses: (low, high, port), sent: 0 }
    }

    fn header(&self, length: usize) -> Header {
        let (low, high, _) = self.addresses;
        Header { dest_nid: far(self.server), ..put_header(tcp(low), tcp(high), length, false) }
    }

    /// The bytes of the client's next message.
    fn next_message(&mut self, payload: &[u8]) -> Vec<u8> {
        self.sent += 1;
        let cookies = asks_for_ack(message_id(CLIENT_CONN, self.sent));
        message(self.client.version, &self.header(payload.len()), cookies, payload)
    }

    /// Accepts the router's connections as a node with this number, or as one of another implementation.
    fn accept(&self, number: Option<u64>) -> Server {
        let (mut control, mut bulk, mut others) = (None, None, Vec::new());
        while control.is_none() || bulk.is_none() {
            let (mut raw, asked) = self.listener.accept_handshake();
            let kind = asked.connection_type.unwrap();
            let me = self.server;
            let response = Hello {
                version: asked.version,
                src_nid: far(me),
                dest_nid: Some(asked.src_nid),
                src_incarnation: 1,
                ..match number {
                    Some(number) => hello_of_same_implementation(me, me, number, kind.mirror()),
                    None => hello(me, me, Some(kind.mirror())),
                }
            };
            raw.version = asked.version;
            raw.send(&response.encode().unwrap());
            match kind {
                ConnectionType::Control => control = Some(raw),
                ConnectionType::BulkOut => bulk = Some(raw),
                _ => others.push(raw),
            }
        }
        Server { control: control.unwrap(), bulk: bulk.unwrap(), _others: others }
    }

    /// Sends messages as the client until one has arrived by the server's connection for large messages: from then on the router knows
    /// the client as quick.
    fn warm_up(&mut self) -> Server {
        let bytes = self.next_message(&[0]);
        self.client.send(&bytes);
        let mut server = self.accept(Some(3));
        server.take(false, &[0]);
        let payload = vec![1; MIB];
        loop {
            let bytes = self.next_message(&payload);
            self.client.send(&bytes);
            let on_bulk = server.next_is_on_bulk();
            server.take(on_bulk, &payload);
            if on_bulk {
                self.wait_until_idle();
                return server;
            }
        }
    }

    /// Reads the router's next confirmation of a message of the client.
    fn next_confirmation(&mut self) -> (u64, Confirmation) {
        loop {
            if let Incoming::Confirmation { confirmation, cookies, .. } = self.client.read_message().0 {
                return (cookies.request, confirmation);
            }
        }
    }

    /// The number of messages that the router has begun before they had arrived.
    fn cut_through(&self) -> u64 {
        self.router.core.admin().forwarded().cut_through.begun
    }

    /// Waits until the router has no message, and all its buffers again.
    fn wait_until_idle(&self) {
        let core = &self.router.core;
        wait_for("the end of all messages", || core.message_counts().msgs_alloc == 0);
        let buffers = core.admin().router_buffers(0).unwrap();
        assert!(buffers.iter().all(|pool| pool.credits == pool.buffers as i32), "{buffers:?}");
    }
}

impl Server {
    /// Waits for the next message; returns whether it comes by the connection for large ones.
    fn next_is_on_bulk(&self) -> bool {
        let has_bytes = |raw: &Raw| {
            raw.stream.set_nonblocking(true).unwrap();
            let peeked = raw.stream.peek(&mut [0]);
            raw.stream.set_nonblocking(false).unwrap();
            match peeked {
                Ok(got) => got > 0,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::WouldBlock);
                    false
                }
            }
        };
        let mut on_bulk = false;
        wait_for("a message", || {
            on_bulk = has_bytes(&self.bulk);
            on_bulk || has_bytes(&self.control)
        });
        on_bulk
    }

    /// Reads a message with this payload, and acknowledges it.
    fn take(&mut self, on_bulk: bool, payload: &[u8]) {
        let raw = if on_bulk { &mut self.bulk } else { &mut self.control };
        let (_, cookies, got) = raw.read_lnet();
        assert!(got == payload);
        raw.send(Head::noop(cookies_of(0, cookies.request)).bytes());
    }
}

/// Reads the head of a message, and nothing behind it.
fn read_head(raw: &mut Raw) -> (Cookies, Option<CarriedOrigin>) {
    let mut bytes = Vec::new();
    loop {
        match frame::decode(raw.version, ByteOrder::Little, &bytes).unwrap() {
            Incoming::Need(n) => bytes.extend(raw.read(n - bytes.len())),
            Incoming::Message { cookies, carried, .. } => return (cookies, carried),
            other => panic!("{other:?} in place of a message"),
        }
    }
}

fn acknowledge(raw: &mut Raw, cookies: Cookies) {
    raw.send(Head::noop(cookies_of(0, cookies.request)).bytes());
}

/// Splits the bytes of a message in the middle of its payload.
fn halves(bytes: &[u8], payload: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (first, rest) = bytes.split_at(bytes.len() - payload.len() + PART);
    (first.to_vec(), rest.to_vec())
}

/// Fails if a router waits for the end of a large message before it sends its beginning on, or sends other bytes than have arrived.
#[test]
fn a_large_message_is_sent_on_before_its_end_has_arrived() {
    let mut site = Site::new(running_clock(), |_| {});
    let mut server = site.warm_up();
    let before = site.cut_through();
    for seed in 1..=3 {
        let payload = pattern(MIB, seed);
        let bytes = site.next_message(payload);
        let (first, rest) = halves(&bytes, payload);
        site.client.send(&first);
        let (cookies, carried) = read_head(&mut server.bulk);
        let id = NonZeroU64::new(message_id(CLIENT_CONN, site.sent)).unwrap();
        let node = NonZeroU64::new(implementation_id(2)).unwrap();
        let origin = MessageOrigin { node, id };
        assert_eq!(carried, Some(CarriedOrigin { origin, may_have_arrived: false }));
        // All that the router has, and nothing else, leaves before the rest arrives.
        let mut got = server.bulk.read(PART);
        site.client.send(&rest);
        got.extend(server.bulk.read(MIB - PART));
        assert!(got == payload);
        acknowledge(&mut server.bulk, cookies);
    }
    assert_eq!(site.cut_through() - before, 3);
    site.wait_until_idle();
}

/// Fails if a router waits for more than the first 64 KiB before it begins, or keeps what arrives later until more is there.
#[test]
fn each_part_of_a_large_message_leaves_as_it_arrives() {
    let mut site = Site::new(running_clock(), |_| {});
    let mut server = site.warm_up();
    let payload = pattern(MIB, 4);
    let bytes = site.next_message(payload);
    let (head, mut rest) = bytes.split_at(bytes.len() - MIB);
    let mut part = |length: usize| {
        let (part, others) = rest.split_at(length);
        rest = others;
        part
    };
    site.client.send(&[head, part(BEGIN)].concat());
    let (cookies, _) = read_head(&mut server.bulk);
    let mut got = server.bulk.read(BEGIN);
    for length in [1, 100_000, 300_000, 2] {
        site.client.send(part(length));
        got.extend(server.bulk.read(length));
    }
    let left = MIB - got.len();
    site.client.send(part(left));
    got.extend(server.bulk.read(left));
    assert!(got == payload);
    acknowledge(&mut server.bulk, cookies);
    site.wait_until_idle();
}

/// Fails if bytes are mixed up when the next hop takes them more slowly than they come.
#[test]
fn messages_arrive_whole_and_in_order_at_a_server_that_reads_late() {
    const MESSAGES: u8 = 8;
    let mut site = Site::new(running_clock(), |_| {});
    let mut server = site.warm_up();
    let mut stream = Vec::new();
    for seed in 1..=MESSAGES {
        stream.extend(site.next_message(pattern(MIB - usize::from(seed), seed)));
    }
    let mut client = Raw::over(site.client.stream.try_clone().unwrap());
    let writer = std::thread::spawn(move || stream.chunks(100_000).for_each(|chunk| client.send(chunk)));
    for seed in 1..=MESSAGES {
        assert!(server.next_is_on_bulk());
        server.take(true, pattern(MIB - usize::from(seed), seed));
    }
    writer.join().unwrap();
    site.wait_until_idle();
}

/// Fails if a sender that stalls keeps the connection to another node: it is ended in its time, and small messages do not wait for that.
#[test]
fn a_sender_that_stalls_keeps_no_connection_for_long_and_its_message_arrives_whole_by_another() {
    let clock = manual_clock();
    let mut site = Site::new(clock.clone(), |config| {
        // Nothing else ends a connection as the time passes.
        (config.sock_timeout, config.keepalive) = (Duration::from_secs(1_000_000), Duration::ZERO);
    });
    let mut server = site.warm_up();
    let payload = pattern(MIB, 5);
    let bytes = site.next_message(payload);
    let (first, rest) = halves(&bytes, payload);
    site.client.send(&first);
    let (first_cookies, _) = read_head(&mut server.bulk);
    assert!(server.bulk.read(PART) == payload[..PART]);
    // Another node's small message to the same server.
    let (low, high, port) = site.addresses;
    let mut other = Raw::open_as_same_implementation(
        Ipv4Addr::from(u32::from(low) + 3),
        high,
        port,
        4,
        ConnectionType::Control,
    );
    let from = tcp(Ipv4Addr::from(u32::from(low) + 3));
    let small = Header { dest_nid: far(site.server), ..put_header(from, tcp(high), 3, false) };
    other.put(&small, asks_for_ack(message_id(9, 1)), &[1, 2, 3]);
    server.take(false, &[1, 2, 3]);
    // The time passes.
    let mut ended = Vec::new();
    let reader = std::thread::spawn(move || {
        ended.extend(server.bulk.read_to_end());
        (ended, server)
    });
    advance_until(&clock, MAX_CUT_THROUGH / 500, "the end of the connection", || reader.is_finished());
    let (more, server) = reader.join().unwrap();
    assert_eq!(more, [], "nothing was made up");
    drop(server);
    // The rest of the message arrives after all.
    site.client.send(&rest);
    let mut server = site.accept(Some(3));
    let on_bulk = server.next_is_on_bulk();
    let raw = if on_bulk { &mut server.bulk } else { &mut server.control };
    let (cookies, carried) = read_head(raw);
    assert_eq!(cookies.request, first_cookies.request | RESEND);
    assert!(carried.is_some_and(|carried| carried.may_have_arrived));
    assert!(raw.read(MIB) == payload);
    acknowledge(raw, cookies);
    site.wait_until_idle();
    // From now on the router receives the client's messages as a whole.
    let before = site.cut_through();
    for seed in 1..=2 {
        let payload = pattern(MIB, seed);
        let bytes = site.next_message(payload);
        let (first, rest) = halves(&bytes, payload);
        site.client.send(&first);
        site.client.send(&rest);
        let on_bulk = server.next_is_on_bulk();
        server.take(on_bulk, payload);
    }
    assert_eq!(site.cut_through(), before);
    site.wait_until_idle();
}

/// Fails if a message whose sender has gone is completed with other bytes, or keeps its buffer.
#[test]
fn a_message_whose_sender_breaks_off_is_broken_off_at_the_next_hop_too() {
    let mut site = Site::new(running_clock(), |_| {});
    let mut server = site.warm_up();
    let payload = pattern(MIB, 6);
    let bytes = site.next_message(payload);
    let (first, rest) = halves(&bytes, payload);
    site.client.send(&first);
    read_head(&mut server.bulk);
    assert!(server.bulk.read(PART) == payload[..PART]);
    site.client.stream.shutdown(std::net::Shutdown::Both).unwrap();
    assert_eq!(server.bulk.read_to_end(), []);
    drop(server);
    site.wait_until_idle();
    // The client connects again, and sends the message again.
    let (low, high, port) = site.addresses;
    site.client = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    let mut again = first;
    again.extend(rest);
    let cookies = asks_for_ack(message_id(CLIENT_CONN, site.sent) | RESEND);
    let head = Head::message(site.client.version, &site.header(MIB), cookies).unwrap();
    again[..head.bytes().len()].copy_from_slice(head.bytes());
    site.client.send(&again);
    let mut server = site.accept(Some(3));
    let on_bulk = server.next_is_on_bulk();
    server.take(on_bulk, payload);
    site.wait_until_idle();
}

/// Fails if a message of which a part has left is lost when its next hop breaks off, or given back before all of it has arrived.
#[test]
fn a_message_whose_next_hop_breaks_off_is_returned_as_any_other_when_all_of_it_has_arrived() {
    let mut site = Site::new(running_clock(), |_| {});
    let mut server = site.warm_up();
    for number in 1..site.sent + 1 {
        assert_eq!(site.next_confirmation(), (message_id(CLIENT_CONN, number), Confirmation::Delivered));
    }
    let payload = pattern(MIB, 7);
    let bytes = site.next_message(payload);
    let (first, rest) = halves(&bytes, payload);
    site.client.send(&first);
    let (cookies, _) = read_head(&mut server.bulk);
    assert_ne!(cookies.request, 0);
    assert!(server.bulk.read(PART) == payload[..PART]);
    drop(server);
    site.client.send(&rest);
    // Its delivery ACK goes first, or with the confirmation: the router has read all of it.
    assert_eq!(site.next_confirmation(), (message_id(CLIENT_CONN, site.sent), Confirmation::Unknown));
    site.wait_until_idle();
}

/// Fails if a message is begun early where that could not be undone.
#[test]
fn a_message_is_received_as_a_whole_where_its_next_hop_would_not_recognise_a_copy_or_nothing_ends_connections()
 {
    type Change = fn(&mut SocklndConfig);
    let never_ended: Change = |config| config.unresponsive_timeout = Duration::ZERO;
    for (what, change, number) in [
        ("no checks of connections", never_ended, Some(3)),
        ("a server of another implementation", |_: &mut SocklndConfig| {}, None),
    ] {
        let mut site = Site::new(running_clock(), change);
        let bytes = site.next_message(&[0]);
        site.client.send(&bytes);
        let mut server = site.accept(number);
        server.take(false, &[0]);
        let mut on_bulk = 0;
        while on_bulk < 3 {
            let payload = pattern(MIB, on_bulk);
            let bytes = site.next_message(payload);
            site.client.send(&bytes);
            let is_on_bulk = server.next_is_on_bulk();
            server.take(is_on_bulk, payload);
            on_bulk += u8::from(is_on_bulk);
        }
        assert_eq!(site.cut_through(), 0, "{what}");
    }
}
