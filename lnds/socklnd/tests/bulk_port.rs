//! A port of its own for bulk (`accept_port_bulk`), on one side or on both.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::lnd::Upcalls;
use lnet_core::{Errno, EventKind};
use lnet_wire::Nid;
use log::LevelFilter;
use socklnd::SocklndConfig;
use socklnd::proto::ConnectionType::{BulkIn, BulkOut, Control};
use socklnd::proto::frame::Head;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use support::forwarding::{Hooks, node_with};
use support::*;
use test_support::log_recorder;

/// Bytes of bulk.
const BULK: usize = 20_000;

/// Two addresses, and two ports that are free on both.
fn addresses_and_ports() -> (Ipv4Addr, Ipv4Addr, [u16; 2]) {
    let (low, high, port) = addresses();
    loop {
        let bulk = free_port(low, high);
        if bulk != port {
            return (low, high, [port, bulk]);
        }
    }
}

fn with_bulk_port([port, bulk]: [u16; 2]) -> SocklndConfig {
    SocklndConfig { accept_port_bulk: bulk, ..config(port) }
}

/// Returns the lines about a peer with this text.
fn lines_of(peer: Ipv4Addr, text: &str) -> Vec<String> {
    let about = |line: &String| line.contains(&format!("{peer}@tcp")) && line.contains(text);
    log_recorder::lines().into_iter().map(|line| line.text).filter(about).collect()
}

/// As in the captures k2170-accept-port-bulk-both and -g2only.
#[test]
fn a_node_connects_for_bulk_to_the_port_for_bulk_and_for_the_rest_to_the_other() {
    let (low, high, [port, bulk]) = addresses_and_ports();
    for (own, bulk_at) in [(bulk, bulk), (0, port), (port, port)] {
        let node = Node::start(tcp(high), with_bulk_port([port, own]));
        let listener = Listening::on(low, port);
        let listener_for_bulk = (bulk_at != port).then(|| Listening::on(low, bulk_at));
        let at_bulk = listener_for_bulk.as_ref().unwrap_or(&listener);
        node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
        let kinds = [&listener, at_bulk, at_bulk].map(|listener| listener.accept(low));
        assert_eq!(kinds.each_ref().map(|(_, kind)| *kind), [Control, BulkIn, BulkOut], "{own}");
        node.stop();
    }
}

/// As in the captures k2170-accept-port-bulk-both and -g2only.
#[test]
fn a_node_with_a_port_for_bulk_listens_on_both_ports_until_it_ends() {
    let (low, high, ports) = addresses_and_ports();
    let node = Node::start(tcp(high), with_bulk_port(ports));
    for port in ports {
        for kind in [Control, BulkIn, BulkOut] {
            let from = Ipv4Addr::from(u32::from(low) - u32::from(port == ports[0]));
            Raw::open(from, high, port, kind);
        }
    }
    wait_for("all connections", || node.counters().accepted == 6);
    node.stop();
    for port in ports {
        assert!(TcpStream::connect((high, port)).is_err(), "{port}");
        drop(TcpListener::bind((high, port)).unwrap());
    }
}

#[test]
fn an_ni_that_cannot_listen_on_one_of_its_ports_listens_on_none() {
    let (_, high, ports) = addresses_and_ports();
    let taken = TcpListener::bind((high, ports[1])).unwrap();
    let driver = socklnd::Socklnd::new(with_bulk_port(ports), running_clock());
    let mut core = lnet_core::CoreConfig::new(lnet_wire::Pid::LUSTRE, fresh_bits()).without_discovery();
    core.settings.retry_count = 0;
    let core = lnet_core::Core::new(core);
    let add = || core.admin().add_ni(tcp(high), lnet_core::NiTunables::default(), &*driver);
    let error = add().unwrap_err();
    assert!(error.text.contains(&format!("cannot listen on {high}:{}", ports[1])), "{error}");
    drop(TcpListener::bind((high, ports[0])).unwrap());
    drop(taken);
    add().unwrap();
}

/// As in the capture k2170-accept-port-bulk-g1only.
#[test]
fn where_the_peer_does_not_listen_on_the_port_for_bulk_one_line_says_so_and_bulk_goes_by_control() {
    log_recorder::listen(LevelFilter::Debug);
    let (low, high, ports) = addresses_and_ports();
    let node = Node::start(tcp(high), with_bulk_port(ports));
    let listener = Listening::on(low, ports[0]);
    node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
    let (mut control, kind) = listener.accept(low);
    assert_eq!((kind, control.read_lnet().2.len()), (Control, 8));
    // The connect for bulk fails once, and again after a pause.
    wait_for("refusals", || node.counters().connects_failed >= 2);
    for _ in 0..3 {
        node.put(node.bind_bytes(pattern(BULK, 1)), tcp(low), false);
        assert_eq!(control.read_lnet().2.len(), BULK);
    }
    for _ in 0..4 {
        assert_eq!(node.expect(EventKind::Send).status, Ok(()));
    }
    assert_eq!(lines_of(low, "cannot connect"), [""; 0]);
    let said = lines_of(low, "no connection for bulk");
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains(&format!("port {}, this node's accept_port_bulk", ports[1])), "{said:?}");
    assert!(listener.try_accept_handshake().is_none());
}

/// The other side of the same capture.
#[test]
fn where_the_peer_has_a_port_for_bulk_and_this_node_does_not_bulk_goes_by_control_and_one_line_says_why() {
    log_recorder::listen(LevelFilter::Debug);
    let (low, high, port) = addresses();
    let clock = manual_clock();
    let node =
        Node::start_with_clock(tcp(high), config(port), Arc::clone(&clock) as Arc<dyn lnet_core::Clock>);
    let mut control = Raw::open(low, high, port, Control);
    wait_for("the connection", || node.counters().accepted == 1);
    let mut bulk_arrives = || {
        node.put(node.bind_bytes(pattern(BULK, 1)), tcp(low), false);
        assert_eq!(control.read_lnet().2.len(), BULK);
        assert_eq!(node.expect(EventKind::Send).status, Ok(()));
    };
    bulk_arrives();
    let said = || lines_of(low, "no connection for bulk");
    assert_eq!(said(), [""; 0]);
    advance_until(&clock, Duration::from_secs(1), "the line", || !said().is_empty());
    bulk_arrives();
    assert_eq!(said().len(), 1);
    assert!(said()[0].contains(&format!("a port other than {port}")), "{:?}", said());
}

/// A core that takes no peer's NID for that of a node.
struct NoNode;

impl Hooks for NoNode {
    fn is_of_node(&self, _: &dyn Upcalls, _: Nid) -> bool {
        false
    }
}

/// Fails if the connections of a shortened NID, of which the core has said what it is, have lines of their own.
#[test]
fn nothing_is_said_of_the_connections_of_a_nid_that_no_node_has() {
    log_recorder::listen(LevelFilter::Debug);
    let (low, high, port) = addresses();
    let clock = manual_clock();
    let its_clock = Arc::clone(&clock) as Arc<dyn lnet_core::Clock>;
    let config = same_implementation(config(port), 1);
    let node = node_with(&Arc::new(NoNode), tcp(high), config, its_clock);
    let mut control = Raw::open_as_same_implementation(low, high, port, 2, Control);
    wait_for("the connection", || node.counters().accepted == 1);
    node.put(node.bind_bytes(pattern(BULK, 1)), tcp(low), false);
    let (_, cookies, payload) = control.read_lnet();
    assert_eq!(payload.len(), BULK);
    control.send(Head::noop(cookies_of(0, cookies.request)).bytes());
    assert_eq!(node.expect(EventKind::Send).status, Ok(()));
    // The line about bulk would be due before the message fails.
    node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
    let send = node.expect_as_time_passes(&clock, Duration::from_secs(1), EventKind::Send);
    assert_eq!(send.status, Err(Errno::TimedOut));
    assert_eq!(lines_of(low, "no connection for bulk"), [""; 0]);
    let mut control = Raw::open_as_same_implementation(low, high, port, 2, Control);
    wait_for("the connection", || node.counters().accepted == 2);
    node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
    control.read_lnet();
    drop(control);
    assert!(node.expect(EventKind::Send).status.is_err());
    assert_eq!(node.counters().closed_by_peer, 1);
    // The line would be written by the thread that ends the connection, after the event.
    drop(node);
    assert_eq!(lines_of(low, "closed its connections"), [""; 0]);
}

#[test]
fn a_peer_that_connects_for_bulk_later_is_no_reason_for_a_line() {
    log_recorder::listen(LevelFilter::Debug);
    let (low, high, port) = addresses();
    let clock = manual_clock();
    let node =
        Node::start_with_clock(tcp(high), config(port), Arc::clone(&clock) as Arc<dyn lnet_core::Clock>);
    let mut control = Raw::open(low, high, port, Control);
    wait_for("the connection", || node.counters().accepted == 1);
    node.put(node.bind_bytes(pattern(BULK, 1)), tcp(low), false);
    assert_eq!(control.read_lnet().2.len(), BULK);
    assert_eq!(node.expect(EventKind::Send).status, Ok(()));
    let mut bulk = Raw::open(low, high, port, BulkIn);
    wait_for("the connection", || node.counters().accepted == 2);
    for _ in 0..30 {
        clock.advance(Duration::from_secs(1));
        node.put(node.bind_bytes(pattern(BULK, 1)), tcp(low), false);
        assert_eq!(bulk.read_lnet().2.len(), BULK);
        node.expect(EventKind::Send);
    }
    assert_eq!(lines_of(low, "no connection for bulk"), [""; 0]);
}
