//! Messages with IPv6 NIDs between nodes that are connected over IPv4: connections of version 4 replace those of version 3.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::topology::Route;
use lnet_core::{Clock, Errno, Event, EventKind, NiTunables};
use lnet_wire::{NetId, NetType, Nid};
use log::LevelFilter;
use socket2::{Domain, Socket, Type};
use socklnd::proto::frame::{Head, Incoming};
use socklnd::proto::{ConnectionType, Hello, Version};
use socklnd::{SocklndConfig, SocklndCounters};
use std::io::Write;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use support::*;
use test_support::log_recorder;

/// A NID on `tcp1`, behind a gateway on `tcp`.
fn large() -> Nid {
    Nid::new_long(NetId::new(NetType::TCP, 1), Ipv6Addr::LOCALHOST.octets())
}

fn add_route(node: &Node, net: NetId, gateway: Ipv4Addr) {
    let route = Route { net, gateway: tcp(gateway), hops: None, priority: 0, health_sensitivity: 1 };
    node.core.admin().add_route(route).unwrap();
}

/// A node with a route by the scripted peer, which listens.
fn node_with_route(change: impl Fn(&mut SocklndConfig)) -> (Node, Listening, Ipv4Addr) {
    let (node, low, _, port) = node(change);
    add_route(&node, large().net(), low);
    (node, Listening::on(low, port), low)
}

/// Accepts the three connections of a node in this version, the first one for small messages.
fn accept_all(listener: &Listening, me: Ipv4Addr, version: Version) -> [Raw; 3] {
    use ConnectionType::{BulkIn, BulkOut, Control};
    [Control, BulkIn, BulkOut].map(|kind| {
        let (raw, asked) = listener.accept(me);
        assert_eq!((raw.version, asked), (version, kind));
        raw
    })
}

/// Answers a HELLO with type none, in this version.
fn refuse(raw: &mut Raw, asked: &Hello, version: Version, me: Ipv4Addr) {
    let answer = Hello { version, src_nid: tcp(me), dest_nid: Some(asked.src_nid), ..hello(me, me, None) };
    raw.send(&answer.encode().unwrap());
}

#[test]
fn a_peer_that_refuses_version_4_gets_the_other_messages_and_no_second_connect() {
    log_recorder::listen(LevelFilter::Info);
    log_recorder::take();
    for connected in [true, false] {
        let (node, listener, low) = node_with_route(|_| {});
        let md = node.bind_bytes(pattern(8, 1));
        let first = connected.then(|| {
            node.put(md, tcp(low), false);
            let mut all = accept_all(&listener, low, Version::V3);
            all[0].read_lnet();
            assert_eq!(node.expect(EventKind::Send).status, Ok(()));
            all
        });
        node.put(md, large(), false);
        let (mut raw, asked) = listener.accept_handshake();
        assert_eq!((asked.version, asked.connection_type), (Version::V4, Some(ConnectionType::Control)));
        node.put(md, tcp(low), false);
        if connected {
            assert_eq!(node.expect(EventKind::Send).status, Ok(()), "while the node connects");
        }
        refuse(&mut raw, &asked, Version::V3, low);
        assert_eq!(node.expect(EventKind::Send).status, Err(Errno::HostUnreachable));
        let mut all = match first {
            Some(all) => all,
            None => {
                let all = accept_all(&listener, low, Version::V3);
                assert_eq!(node.expect(EventKind::Send).status, Ok(()));
                all
            }
        };
        all[0].read_lnet();
        for _ in 0..3 {
            node.put(md, large(), false);
            assert_eq!(node.expect(EventKind::Send).status, Err(Errno::HostUnreachable));
            node.put(md, tcp(low), false);
            all[0].read_lnet();
            assert_eq!(node.expect(EventKind::Send).status, Ok(()));
        }
        assert!(listener.try_accept_handshake().is_none());
        node.stop();
        let said: Vec<_> = log_recorder::take()
            .into_iter()
            .map(|line| line.text)
            .filter(|line| line.contains("20-byte"))
            .collect();
        let line = format!(
            "{}: messages from or to ::1@tcp1 cannot be sent (it supports no 20-byte NIDs: HELLO version 3)",
            tcp(low)
        );
        assert_eq!(said, [line]);
    }
}

#[test]
fn messages_that_wait_for_version_4_fail_with_the_connect_and_the_others_go_on() {
    let (node, listener, low) = node_with_route(|_| {});
    let md = node.bind_bytes(pattern(8, 1));
    node.put(md, tcp(low), false);
    let mut all = accept_all(&listener, low, Version::V3);
    all[0].read_lnet();
    assert_eq!(node.expect(EventKind::Send).status, Ok(()));
    drop(listener);
    for _ in 0..4 {
        node.put(md, large(), false);
        assert_eq!(node.expect(EventKind::Send).status, Err(Errno::HostUnreachable));
        node.put(md, tcp(low), false);
        all[0].read_lnet();
        assert_eq!(node.expect(EventKind::Send).status, Ok(()));
    }
}

/// A kernel node takes a HELLO of another version for that of another incarnation.
#[test]
fn a_peer_that_ends_its_connections_before_it_takes_version_4_gets_every_message() {
    let (node, listener, low) = node_with_route(|_| {});
    let md = node.bind_bytes(pattern(8, 1));
    node.put(md, tcp(low), false);
    let mut older = accept_all(&listener, low, Version::V3);
    older[0].read_lnet();
    assert_eq!(node.expect(EventKind::Send).status, Ok(()));
    node.put(md, large(), false);
    let (mut raw, asked) = listener.accept_handshake();
    assert_eq!(asked.version, Version::V4);
    drop(older);
    refuse(&mut raw, &asked, Version::V4, low);
    let mut all = accept_all(&listener, low, Version::V4);
    assert_eq!(all[0].read_lnet().0.dest_nid, large());
    assert_eq!(node.expect(EventKind::Send).status, Ok(()));
    node.put(md, tcp(low), false);
    assert_eq!(all[0].read_lnet().0.dest_nid, tcp(low));
    assert_eq!(node.expect(EventKind::Send).status, Ok(()));
}

#[test]
fn a_first_connection_has_version_4_if_a_message_needs_it() {
    let (node, listener, low) = node_with_route(|_| {});
    node.put(node.bind_bytes(pattern(8, 1)), large(), false);
    let mut all = accept_all(&listener, low, Version::V4);
    assert_eq!(all[0].read_lnet().0.dest_nid, large());
    assert_eq!(node.expect(EventKind::Send).status, Ok(()));
    wait_for("the connections", || node.counters().connected == 3);
}

#[test]
fn a_node_that_the_peer_has_connected_to_connects_with_version_4_itself() {
    let (node, low, high, port) = node(|_| {});
    add_route(&node, large().net(), low);
    let listener = Listening::on(low, port);
    let mut older = Raw::open(low, high, port, ConnectionType::Control);
    wait_for("the connection", || node.counters().accepted == 1);
    node.put(node.bind_bytes(pattern(8, 1)), large(), false);
    let mut all = accept_all(&listener, low, Version::V4);
    assert_eq!(all[0].read_lnet().0.dest_nid, large());
    assert_eq!(node.expect(EventKind::Send).status, Ok(()));
    assert_eq!(older.read_to_end(), Vec::<u8>::new());
}

/// The port for bulk on which the peer does not accept.
enum BulkPort {
    /// Connects to it have been refused, and the next is not due.
    Refused,
    /// A connect to it has no response when the message comes, and times out.
    NoResponse,
    /// A connect to it has no response when the message comes, and is refused then.
    RefusedLater,
}

/// Listens on a port with a full backlog, so that the system drops further connects to it.
fn full_listener(ip: Ipv4Addr, port: u16) -> (Socket, TcpStream) {
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    listener.bind(&SocketAddr::from((ip, port)).into()).unwrap();
    listener.listen(0).unwrap();
    (listener, TcpStream::connect((ip, port)).unwrap())
}

/// Whether the system of this process has a connect to this address without a response.
fn is_connecting(ip: Ipv4Addr, port: u16) -> bool {
    const SYN_SENT: &str = "02";
    let row = format!(" {:08X}:{port:04X} {SYN_SENT} ", u32::from(ip).swap_bytes());
    std::fs::read_to_string("/proc/net/tcp").unwrap().contains(&row)
}

/// Fails if what becomes of connects for bulk, to a port of their own, is taken for what becomes of connects of version 4.
#[test]
fn messages_that_need_version_4_get_out_although_the_peer_has_no_port_for_bulk() {
    for case in [BulkPort::Refused, BulkPort::NoResponse, BulkPort::RefusedLater] {
        let (low, high, port) = addresses();
        let bulk = std::iter::repeat_with(|| free_port(low, high)).find(|bulk| *bulk != port).unwrap();
        let full = (!matches!(case, BulkPort::Refused)).then(|| full_listener(low, bulk));
        let (clock, pause) = (manual_clock(), Duration::from_secs(1));
        let config = SocklndConfig { accept_port_bulk: bulk, min_reconnect: pause, ..config(port) };
        let node = Node::start_with_clock(tcp(high), config, Arc::clone(&clock) as Arc<dyn Clock>);
        add_route(&node, large().net(), low);
        let listener = Listening::on(low, port);
        let md = node.bind_bytes(pattern(8, 1));
        node.put(md, tcp(low), false);
        let (mut older, kind) = listener.accept(low);
        assert_eq!((older.version, kind), (Version::V3, ConnectionType::Control));
        older.read_lnet();
        assert_eq!(node.expect(EventKind::Send).status, Ok(()));
        match case {
            BulkPort::Refused => {
                wait_for("a refusal", || node.counters().connects_failed == 1);
                clock.advance(pause);
                wait_for("another refusal", || node.counters().connects_failed == 2);
                node.put(md, large(), false);
            }
            BulkPort::NoResponse | BulkPort::RefusedLater => {
                wait_for("the connect for bulk", || is_connecting(low, bulk));
                node.put(md, large(), false);
                match case {
                    BulkPort::NoResponse => clock.advance(Duration::from_secs(5)),
                    _ => drop(full),
                }
            }
        }
        let (mut raw, kind) = listener.accept(low);
        assert_eq!((raw.version, kind), (Version::V4, ConnectionType::Control));
        assert_eq!(raw.read_lnet().0.dest_nid, large());
        assert_eq!(node.expect(EventKind::Send).status, Ok(()));
    }
}

/// Fails if a message on a replaced connection waits for its delivery ACK as long as the peer sends others there.
#[test]
fn a_message_on_a_replaced_connection_fails_without_its_delivery_ack_and_the_others_go_on() {
    const NUMBER: u64 = 2;
    let clock = manual_clock();
    let (node, low, high, port) =
        node_of_same_implementation_with_clock(Arc::clone(&clock) as Arc<dyn Clock>, |_| {});
    node.offer(buffer(100));
    let control = ConnectionType::Control;
    let mut older = Raw::open_as_same_implementation(low, high, port, NUMBER, control);
    wait_for("the connection", || node.counters().accepted == 1);
    let md = node.bind_bytes(pattern(8, 1));
    node.put(md, tcp(low), false);
    older.read_lnet();
    let asked = Hello { version: Version::V4, ..hello_of_same_implementation(low, high, NUMBER, control) };
    let (mut raw, answer) = Raw::send_hello(low, high, port, &asked);
    assert_eq!((answer.version, answer.connection_type), (Version::V4, Some(control)));
    wait_for("the connection", || node.counters().accepted == 2);
    let arriving = message(Version::V3, &put_header(tcp(low), tcp(high), 100, false), NO_COOKIES, &[1; 100]);
    let mut send = None;
    wait_for("the end of the message", || {
        // If that fails the node has closed the connection, and its core knows that already.
        let _ = older.stream.write_all(&arriving);
        send = Some(node.event()).filter(|event| event.kind == EventKind::Send);
        clock.advance(Duration::from_secs(1));
        send.is_some()
    });
    assert_eq!(send.unwrap().status, Err(Errno::TimedOut));
    older.read_to_end();
    node.put(md, tcp(low), false);
    let request = loop {
        if let Incoming::Message { cookies, .. } = raw.read_message().0 {
            break cookies.request;
        }
    };
    raw.send(Head::noop(cookies_of(0, request)).bytes());
    let mut events = std::iter::repeat_with(|| node.event());
    assert_eq!(events.find(|event| event.kind == EventKind::Send).unwrap().status, Ok(()));
}

#[test]
fn a_hello_of_version_4_replaces_the_connections_and_what_they_carry_still_arrives() {
    log_recorder::listen(LevelFilter::Debug);
    let (node, low, high, port) = node(|_| {});
    node.offer(buffer(100));
    let header = put_header(tcp(low), tcp(high), 100, false);
    let mut older = Raw::open(low, high, port, ConnectionType::Control);
    older.put(&header, NO_COOKIES, &[1; 100]);
    node.expect(EventKind::Put);
    // A message has arrived in part.
    let bytes = message(Version::V3, &header, NO_COOKIES, &[2; 100]);
    older.send(&bytes[..150]);
    let asked = Hello { version: Version::V4, ..hello(low, high, Some(ConnectionType::Control)) };
    let (mut raw, answer) = Raw::send_hello(low, high, port, &asked);
    assert_eq!((answer.version, answer.connection_type), (Version::V4, Some(ConnectionType::Control)));
    raw.put(&header, NO_COOKIES, &[3; 100]);
    node.expect(EventKind::Put);
    // Nothing is sent on it any more.
    assert_eq!(older.read_to_end(), Vec::<u8>::new());
    older.send(&bytes[150..]);
    older.put(&header, NO_COOKIES, &[4; 100]);
    assert_eq!(node.expect(EventKind::Put).status, Ok(()));
    assert_eq!(node.expect(EventKind::Put).status, Ok(()));
    node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
    assert_eq!(raw.read_lnet().2, pattern(8, 1));
    assert_eq!(node.expect(EventKind::Send).status, Ok(()));
    // A HELLO of version 3 that was under way does no harm.
    let late = Raw::hello(low, high, port, ConnectionType::BulkIn).1;
    assert_eq!((late.version, late.connection_type), (Version::V3, None));
    drop(older);
    raw.put(&header, NO_COOKIES, &[5; 100]);
    node.expect(EventKind::Put);
    let said = log_recorder::take();
    let of_peer = |text: &str| text.contains(&tcp(low).to_string()) && text.contains("restarted");
    assert!(!said.iter().any(|line| of_peer(&line.text)), "{said:?}");
}

/// Sends messages of all sizes in both directions, of which one begins the change to version 4 in the middle, or one from each end. Each
/// arrives once, and none comes back to the core but those, for which the other node, as a gateway, has no way.
#[test]
fn nothing_is_lost_or_doubled_when_connections_are_replaced_under_load() {
    const COUNT: usize = 240;
    let table = [
        [Some(0), None],
        [None, Some(1)],
        [Some(7), Some(7)],
        [Some(60), Some(50)],
        [None, Some(120)],
        [Some(239), None],
        [Some(3), Some(239)],
        [Some(100), Some(100)],
    ];
    for (round, triggers) in table.into_iter().enumerate() {
        let (low, high, port) = addresses();
        let ends = [(low, 1_u16), (high, 2)];
        let nodes = ends.map(|(ip, number)| {
            let config = same_implementation(config(port), number.into());
            let config = SocklndConfig { min_reconnect: Duration::from_millis(20), ..config };
            let node = Node::start(tcp(ip), config);
            let behind = Nid::new(NetId::new(NetType::TCP, number), u32::from(ip) + 2);
            node.core.admin().add_ni(behind, NiTunables::default(), &*node.driver).unwrap();
            node.core.admin().change_router(|router| router.switched(true)).unwrap();
            node.offer(buffer(1 << 20));
            node
        });
        for (at, node) in nodes.iter().enumerate() {
            add_route(node, NetId::new(NetType::TCP, ends[1 - at].1), ends[1 - at].0);
        }
        let memory = pattern(1 << 20, 1);
        let lengths = [0, 8, 900, 4097, 70_000, 1 << 20];
        let mds = [0, 1].map(|at: usize| lengths.map(|length| nodes[at].bind_bytes(&memory[..length])));
        // The connections that are to be replaced.
        let first = round % 2;
        nodes[first].put(mds[first][0], nodes[1 - first].nid, true);
        let mut got = [EventCounts::default(), EventCounts::default()];
        got[first].take(&nodes[first], 2);
        got[1 - first].take(&nodes[1 - first], 1);
        std::thread::scope(|scope| {
            for (at, got) in got.iter_mut().enumerate() {
                let (node, other, mds) = (&nodes[at], nodes[1 - at].nid, mds[at]);
                let nobody: Nid = format!("fd99::7@tcp{}", ends[1 - at].1).parse().unwrap();
                let trigger = triggers[at];
                scope.spawn(move || {
                    for number in 0..COUNT {
                        node.put(mds[number % mds.len()], other, true);
                        if Some(number) == trigger {
                            node.put(mds[0], nobody, false);
                        }
                    }
                });
                scope.spawn(move || got.take(node, 3 * COUNT + usize::from(trigger.is_some())));
            }
        });
        for (at, node) in nodes.iter().enumerate() {
            let (sent, arrived) = if at == first { (COUNT + 1, COUNT) } else { (COUNT, COUNT + 1) };
            let returned = usize::from(triggers[at].is_some());
            let expected = EventCounts { sent, acknowledged: sent, arrived, returned };
            assert_eq!(got[at], expected, "{triggers:?}, node {at}");
            node.no_event();
            let SocklndCounters { accepted, connected, duplicates, protocol_errors, .. } = node.counters();
            assert!(accepted + connected >= 4, "there are no others than the first");
            assert_eq!(duplicates + protocol_errors, 0);
        }
        nodes.iter().for_each(Node::stop);
    }
}

/// The events of a node.
#[derive(Debug, Default, PartialEq, Eq)]
struct EventCounts {
    sent: usize,
    acknowledged: usize,
    arrived: usize,
    /// Messages that were sent and came back, because a gateway could not reach their destination.
    returned: usize,
}

impl EventCounts {
    fn take(&mut self, node: &Node, events: usize) {
        for _ in 0..events {
            let Event { kind, status, .. } = node.event();
            match (kind, status) {
                (EventKind::Send, Ok(())) => self.sent += 1,
                (EventKind::Send, Err(Errno::HostUnreachable)) => self.returned += 1,
                (EventKind::Ack, Ok(())) => self.acknowledged += 1,
                (EventKind::Put, Ok(())) => self.arrived += 1,
                other => panic!("{other:?} at {}", node.nid),
            }
        }
    }
}
