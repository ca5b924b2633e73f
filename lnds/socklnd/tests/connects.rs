//! Connects of a node to a peer: their occasions and their order.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::{Errno, EventKind};
use socklnd::proto::frame::FRAME_LEN;
use socklnd::proto::{ConnectionType, Hello, Version, acceptor};
use std::net::{IpAddr, Ipv4Addr, Shutdown, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::*;

#[test]
fn the_connect_of_the_higher_nid_wins_a_race() {
    let (low, high, port) = addresses();
    for (mine, other, accepted) in [(low, high, true), (high, low, false)] {
        let node = Node::start(tcp(mine), config(port));
        let listener = Listening::on(other, port);
        node.put(node.bind_bytes(pattern(8, 1)), tcp(other), false);
        // The node's own connect is now in progress.
        let (mut theirs, asked) = listener.accept_handshake();
        let (_raw, response) = Raw::hello(other, mine, port, ConnectionType::Control);
        assert_eq!(response.connection_type.is_some(), accepted);
        if !accepted {
            // The node's own connect continues.
            let yes = Hello { connection_type: asked.connection_type, ..hello(other, mine, None) };
            theirs.send(&yes.encode().unwrap());
            theirs.read_lnet();
        }
        assert_eq!(node.expect(EventKind::Send).status, Ok(()));
    }
}

#[test]
fn a_node_connects_control_then_bulk_in_then_bulk_out_and_sends_on_control_meanwhile() {
    let (node, low, high, port) = node(|_| {});
    let listener = Listening::on(low, port);
    node.put(node.bind_bytes(pattern(20_000, 1)), tcp(low), false);
    let (mut control, kind) = listener.accept(low);
    assert_eq!(kind, ConnectionType::Control);
    let (header, cookies, payload) = control.read_lnet();
    assert_eq!((header.src_nid, header.dest_nid), (tcp(high), tcp(low)));
    assert_eq!((cookies, payload.len()), (NO_COOKIES, 20_000));
    let (_bulk_in, kind) = listener.accept(low);
    assert_eq!(kind, ConnectionType::BulkIn);
    let (mut bulk_out, kind) = listener.accept(low);
    assert_eq!(kind, ConnectionType::BulkOut);
    wait_for("the set", || node.counters().connected == 3);
    node.put(node.bind_bytes(pattern(20_000, 1)), tcp(low), false);
    assert_eq!(bulk_out.read_lnet().2.len(), 20_000);
    node.put(node.bind_bytes(pattern(50, 1)), tcp(low), false);
    assert_eq!(control.read_lnet().2.len(), 50);
}

#[test]
fn connects_use_privileged_ports_where_allowed() {
    let (node, low, high, port) = node(|_| {});
    let listener = Listening::on(low, port);
    node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
    let (raw, _) = listener.accept_handshake();
    let source = raw.stream.peer_addr().unwrap();
    assert_eq!(source.ip(), IpAddr::from(high));
    let allowed = TcpListener::bind((high, 1000)).is_ok();
    assert_eq!(source.port() <= 1023, allowed);
}

#[test]
fn a_peer_that_proposes_version_2_is_connected_to_in_version_2() {
    let (node, low, high, port) = node(|_| {});
    let listener = Listening::on(low, port);
    node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
    let (mut first, asked) = listener.accept_handshake();
    assert_eq!(asked.version, Version::V3);
    let no = Hello { version: Version::V2, ..hello(low, high, None) };
    first.send(&no.encode().unwrap());
    let (mut second, _) = listener.accept(low);
    assert_eq!(second.version, Version::V2);
    assert_eq!(second.read_lnet().2.len(), 8);
}

#[test]
fn a_connect_answered_with_type_none_is_retried() {
    let (node, low, high, port) = node(|_| {});
    let listener = Listening::on(low, port);
    node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
    let (mut first, _) = listener.accept_handshake();
    first.send(&hello(low, high, None).encode().unwrap());
    let (mut second, _) = listener.accept(low);
    assert_eq!(second.read_lnet().2.len(), 8);
}

#[test]
fn waiting_messages_make_a_node_connect_again_after_the_peer_closed() {
    let (node, low, high, port) = node(|config| config.typed_conns = false);
    let third = Ipv4Addr::from(u32::from(high) + 1);
    let mut other = Raw::open(third, high, port, ConnectionType::Control);
    let listener = Listening::on(low, port);
    for _ in 0..2 {
        node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
    }
    // The thread that sends the waiting messages is blocked in the handler of the first.
    let stuck = Arc::new(Mutex::new(()));
    let guard = stuck.lock().unwrap();
    node.block_on(Arc::clone(&stuck));
    let mut raw = listener.accept(low).0;
    raw.read_lnet();
    raw.stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(raw.read_to_end(), []);
    // An error that the same thread notices after that.
    other.send(&[0xff; FRAME_LEN]);
    wait_for("the end of that", || node.counters().protocol_errors == 1);
    drop(guard);
    assert_eq!(node.expect(EventKind::Send).status, Ok(()));
    wait_for("a call", || {
        node.no_event();
        listener.try_accept_handshake().is_some()
    });
}

#[test]
fn failed_connects_fail_the_message() {
    let privileged = {
        let (_, high, _) = addresses();
        TcpListener::bind((high, 1002)).is_ok()
    };
    let hung_up = if privileged { Errno::ConnectionReset } else { Errno::HostUnreachable };
    type Response = fn(Ipv4Addr, Ipv4Addr) -> Vec<u8>;
    let hangs_up: Response = |_, _| vec![];
    let somebody_else: Response = |low, high| {
        let hello = Hello { src_nid: tcp(high), ..hello(low, high, Some(ConnectionType::Control)) };
        hello.encode().unwrap()
    };
    let wrong_type: Response = |low, high| hello(low, high, Some(ConnectionType::BulkIn)).encode().unwrap();
    let refusal: Response = |_, _| acceptor::REFUSAL.to_vec();
    let no_hello: Response = |_, _| vec![0; 60];
    for (name, response, errno) in [
        ("nobody listens", None, Errno::ConnectionRefused),
        ("it hangs up", Some(hangs_up), hung_up),
        ("somebody else answers", Some(somebody_else), Errno::Protocol),
        ("another type of connection", Some(wrong_type), Errno::Protocol),
        ("a refusal", Some(refusal), Errno::Protocol),
        ("no hello", Some(no_hello), Errno::Protocol),
    ] {
        // Connects to a peer that has failed before may be delayed: each case has its own peer.
        let (node, low, high, port) = node(|_| {});
        let listener = response.map(|response| (Listening::on(low, port), response(low, high)));
        node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
        if let Some((listener, response)) = listener {
            let (mut raw, _) = listener.accept_handshake();
            raw.send(&response);
            if !response.is_empty() {
                assert_eq!(raw.read_to_end(), [], "{name}");
            }
        }
        assert_eq!(node.expect(EventKind::Send).status, Err(errno), "{name}");
    }
}

#[test]
fn an_unanswered_connect_times_out_and_fails_the_message() {
    // The peer's system accepts the connection, and no process reads from it.
    let clock = manual_clock();
    let (node, low, _, port) = node_with_clock(clock.clone(), |_| {});
    let listener = Listening::on(low, port);
    node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
    let mut inbound = listener.accept_without_response();
    node.no_event();
    let send = node.expect_as_time_passes(&clock, Duration::from_secs(1), EventKind::Send);
    assert_eq!(send.status, Err(Errno::TimedOut));
    // The node closes the connection.
    inbound.read_to_end();
    wait_for("the connect to fail", || node.counters().connects_failed > 0);
}

#[test]
fn no_connect_is_made_to_a_peer_that_has_connected_itself() {
    let (node, low, high, port) = node(|_| {});
    let mut raw = Raw::open(low, high, port, ConnectionType::Control);
    // The node sends its response before it uses the connection.
    wait_for("the connection", || node.counters().accepted == 1);
    node.put(node.bind_bytes(pattern(5000, 1)), tcp(low), false);
    assert_eq!(raw.read_lnet().2.len(), 5000);
    assert_eq!(node.expect(EventKind::Send).status, Ok(()));
    assert_eq!((node.counters().connected, node.counters().connects_failed), (0, 0));
    drop(raw);
    wait_for("the end", || node.counters().closed_by_peer == 1);
    node.put(node.bind_bytes(pattern(5000, 1)), tcp(low), false);
    assert_eq!(node.expect(EventKind::Send).status, Err(Errno::ConnectionRefused));
}

#[test]
fn messages_that_wait_for_an_inbound_peer_cause_a_connect_after_it_has_closed() {
    let (node, low, high, port) = node(|config| *config = same_implementation(config.clone(), 1));
    let listener = Listening::on(low, port);
    // A connection for bulk in the other direction.
    let bulk = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::BulkOut);
    node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
    node.no_event();
    assert!(listener.try_accept_handshake().is_none());
    drop(bulk);
    wait_for("a call", || listener.try_accept_handshake().is_some());
}

#[test]
fn a_connect_that_hangs_does_not_refuse_the_peers_connect_for_ever() {
    let clock = manual_clock();
    let (node, low, high, port) = node_with_clock(clock.clone(), |_| {});
    let listener = Listening::on(low, port);
    node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
    // The node, which has the higher NID, has begun to connect and gets no response.
    let (mut theirs, _) = listener.accept_handshake();
    for _ in 0..3 {
        let (_rejected, response) = Raw::hello(low, high, port, ConnectionType::Control);
        assert_eq!(response.connection_type, None);
    }
    // Longer than the node's connect goes first, and less than it may take.
    clock.advance(Duration::from_secs(3));
    let mut raw = Raw::open(low, high, port, ConnectionType::Control);
    assert_eq!(theirs.read_to_end(), []);
    assert_eq!(raw.read_lnet().0.payload_length, 8);
    assert_eq!(node.expect(EventKind::Send).status, Ok(()));
}
