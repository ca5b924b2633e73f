//! Responses of a node to connecting peers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::EventKind;
use lnet_wire::{Body, NetId, NetType, Nid, Pid};
use socklnd::AcceptFrom;
use socklnd::proto::frame::{Cookies, Head};
use socklnd::proto::{ConnectionType, Hello, Version, acceptor};
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::time::Duration;
use support::*;

#[test]
fn odd_requests_are_answered_as_the_kernel_answers_them() {
    let (node, low, high, port) = node(|config| config.accept_timeout = Duration::from_millis(300));
    let request = acceptor::encode_request(tcp(high));
    let edit = |offset: usize, with: &[u8]| {
        let mut bytes = hello(low, high, Some(ConnectionType::Control)).encode().unwrap();
        bytes[offset..offset + with.len()].copy_from_slice(with);
        [&request[..], &bytes].concat()
    };
    let request_edit = |offset: usize, with: &[u8]| {
        let mut bytes = edit(0, &[]);
        bytes[offset..offset + with.len()].copy_from_slice(with);
        bytes
    };
    let refusal = acceptor::REFUSAL.to_vec();
    for (name, bytes, want) in [
        ("acceptor version 99", request_edit(4, &[99]), Some(refusal.clone())),
        ("a HELLO without a request", edit(0, &[])[16..].to_vec(), Some(refusal)),
        ("acceptor wrong magic", request_edit(0, &[1]), Some(vec![])),
        ("acceptor wrong NID", request_edit(8, &[9]), Some(vec![])),
        ("acceptor wrong net", request_edit(12, &[9]), Some(vec![])),
        ("acceptor version 2, too short", request_edit(4, &[2])[..16].to_vec(), Some(vec![])),
        ("nothing", vec![], Some(vec![])),
        ("request only", request.clone(), Some(vec![])),
        ("HELLO wrong magic", edit(0, &[0; 4]), Some(vec![])),
        ("HELLO type 7", edit(48, &[7]), Some(vec![])),
        ("HELLO type none", edit(48, &[0xff; 4]), Some(vec![])),
        ("HELLO source any", edit(8, &[0xff; 8]), Some(vec![])),
        ("HELLO with 17 IPs", edit(52, &[17]), Some(vec![])),
        ("HELLO version 4, too short", edit(4, &[4]), Some(vec![])),
        // An offer of version 3: type none, the node's own NID as the destination.
        ("HELLO version 99", edit(4, &[99]), None),
    ] {
        let mut raw = Raw::connect(low.into(), 0, high.into(), port);
        raw.send(&bytes);
        match want {
            Some(want) => assert_eq!(raw.read_to_end(), want, "{name}"),
            None => {
                let offer = raw.read_hello();
                assert_eq!((offer.version, offer.connection_type), (Version::V3, None), "{name}");
                assert_eq!((offer.src_nid, offer.dest_nid), (node.nid, Some(node.nid)), "{name}");
                assert_eq!(raw.read_to_end(), b"", "{name}");
            }
        }
    }
}

#[test]
fn good_requests_are_answered_in_kind() {
    let (node, low, high, port) = node(|_| {});
    let asked = |change: &dyn Fn(&mut Hello)| {
        let mut raw = Raw::connect(low.into(), 0, high.into(), port);
        let mut hello = hello(low, high, Some(ConnectionType::Control));
        change(&mut hello);
        raw.send(&[acceptor::encode_request(tcp(high)), hello.encode().unwrap()].concat());
        raw.read_hello()
    };
    let rows = [
        (Version::V3, ConnectionType::Control, ConnectionType::Control),
        (Version::V2, ConnectionType::BulkIn, ConnectionType::BulkOut),
        (Version::V1, ConnectionType::Any, ConnectionType::Any),
        (Version::V4, ConnectionType::BulkOut, ConnectionType::BulkIn),
    ];
    for ((version, kind, response), ended) in rows.into_iter().zip(1..) {
        let got = asked(&|hello| {
            hello.version = version;
            hello.connection_type = Some(kind);
            hello.dest_nid = (version != Version::V1).then_some(tcp(low));
            hello.ips = if version == Version::V3 { vec![1, 2] } else { vec![] };
        });
        assert_eq!((got.version, got.connection_type), (version, Some(response)));
        assert_eq!((got.src_nid, got.src_pid), (node.nid, Pid::LUSTRE));
        assert_eq!((got.dest_pid, got.dest_incarnation), (Pid(0), 0));
        wait_for("the end of the connection", || node.counters().closed_by_peer == ended);
    }
}

#[test]
fn a_secure_node_closes_on_an_unprivileged_port_without_reading() {
    let (node, low, high, port) = node(|config| config.accept = AcceptFrom::Secure);
    let mut raw = Raw::connect(low.into(), 0, high.into(), port);
    assert_eq!(raw.read_to_end(), b"");
    assert_eq!(node.counters().rejected, 1);
}

#[test]
fn an_idle_handshake_delays_no_other() {
    let (node, low, high, port) = node(|_| {});
    let _idle: Vec<_> = (0..50).map(|_| Raw::connect(low.into(), 0, high.into(), port)).collect();
    let _raw = Raw::open(low, high, port, ConnectionType::Control);
    assert_eq!(node.counters().handshakes_timed_out, 0);
}

#[test]
fn thousands_of_half_open_handshakes_do_not_block_others() {
    let (node, low, high, port) = node(|config| {
        config.accept_timeout = TIMEOUT;
        config.accept_backlog = 4096;
    });
    let mut idle = Vec::new();
    for _ in 0..1400 {
        let Ok(stream) = TcpStream::connect((high, port)) else {
            test_support::skip("this process may not have so many files open");
            return;
        };
        idle.push(stream);
    }
    let _raw = Raw::open(low, high, port, ConnectionType::Control);
    assert!(node.counters().handshakes_dropped >= 300, "{:?}", node.counters());
}

#[test]
fn a_handshake_and_a_message_may_come_byte_by_byte() {
    let (node, low, high, port) = node(|_| {});
    let landed = buffer(300);
    node.offer(landed);
    let mut raw = Raw::connect(low.into(), 0, high.into(), port);
    raw.send_slowly(&acceptor::encode_request(tcp(high)));
    raw.send_slowly(&hello(low, high, Some(ConnectionType::Control)).encode().unwrap());
    raw.read_hello();
    let sent = pattern(300, 4);
    let bytes = message(Version::V3, &put_header(tcp(low), tcp(high), 300, true), NO_COOKIES, sent);
    let noop = Head::noop(NO_COOKIES);
    for _ in 0..3 {
        raw.send_slowly(&bytes);
        raw.send_slowly(noop.bytes());
        assert_eq!(node.expect(EventKind::Put).status, Ok(()));
        assert!(matches!(raw.read_lnet().0.body, Body::Ack { accepted: 300, .. }));
    }
    assert!(landed == sent);
}

#[test]
fn a_surplus_connection_is_refused_and_a_missing_one_taken() {
    let (_node, low, high, port) = node(|config| config.conns_per_peer = 2);
    let (_one, first) = Raw::hello(low, high, port, ConnectionType::BulkIn);
    let (_two, second) = Raw::hello(low, high, port, ConnectionType::BulkIn);
    let (mut three, third) = Raw::hello(low, high, port, ConnectionType::BulkIn);
    let (_four, fourth) = Raw::hello(low, high, port, ConnectionType::BulkOut);
    let kinds = [first, second, third, fourth].map(|hello| hello.connection_type);
    let out = Some(ConnectionType::BulkOut);
    assert_eq!(kinds, [out, out, None, Some(ConnectionType::BulkIn)]);
    assert_eq!(three.read_to_end(), b"");
}

#[test]
fn a_new_incarnation_is_refused_once_and_ends_the_old_connections() {
    let (_node, low, high, port) = node(|_| {});
    let mut old = Raw::open(low, high, port, ConnectionType::Control);
    let call = |incarnation| {
        let mut raw = Raw::connect(low.into(), 0, high.into(), port);
        let hello = Hello { src_incarnation: incarnation, ..hello(low, high, Some(ConnectionType::Control)) };
        raw.send(&[acceptor::encode_request(tcp(high)), hello.encode().unwrap()].concat());
        let response = raw.read_hello();
        (raw, response)
    };
    let (_refused, response) = call(43);
    assert_eq!((response.connection_type, response.dest_nid), (None, Some(tcp(low))));
    assert_eq!(old.read_to_end(), b"");
    let (_accepted, response) = call(43);
    assert_eq!(response.connection_type, Some(ConnectionType::Control));
}

#[test]
fn a_big_endian_peer_has_its_right_nid() {
    let (node, low, high, port) = node(|_| {});
    let landed = buffer(100);
    node.offer(landed);
    let mut bytes = hello(low, high, Some(ConnectionType::Control)).encode().unwrap();
    for (offset, size) in
        [(0, 4), (4, 4), (8, 8), (16, 8), (24, 4), (28, 4), (32, 8), (40, 8), (48, 4), (52, 4)]
    {
        bytes[offset..offset + size].reverse();
    }
    let mut request = acceptor::encode_request(tcp(high));
    for (offset, size) in [(0, 4), (4, 4), (8, 8)] {
        request[offset..offset + size].reverse();
    }
    let mut raw = Raw::connect(low.into(), 0, high.into(), port);
    raw.send(&[request, bytes].concat());
    assert_eq!(raw.read_hello().dest_nid, Some(tcp(low)));
    let sent = pattern(100, 1);
    let mut put = message(
        Version::V3,
        &put_header(tcp(low), tcp(high), 100, true),
        Cookies { request: 5, ack: 0 },
        sent,
    );
    for (offset, size) in [(0, 4), (4, 4), (8, 8), (16, 8)] {
        put[offset..offset + size].reverse();
    }
    raw.send(&put);
    assert_eq!(node.expect(EventKind::Put).initiator.nid, Some(tcp(low)));
    assert_eq!(raw.read_noop(), Cookies { request: 0, ack: 5 });
    raw.read_lnet();
    assert!(landed == sent);
}

#[test]
fn an_ipv6_peer_speaks_version_4() {
    let localhost = Ipv6Addr::LOCALHOST;
    let on = |octets| Nid::new_long(NetId::new(NetType::TCP, 0), octets);
    let mine = on(localhost.octets());
    let Ok(free) = TcpListener::bind((localhost, 0)) else {
        test_support::skip("this machine has no IPv6");
        return;
    };
    let port = free.local_addr().unwrap().port();
    drop(free);
    let node = Node::start(mine, config(port));
    node.offer(buffer(100));
    // From a privileged port any claimed NID is believed.
    if TcpListener::bind((localhost, 1001)).is_err() {
        test_support::skip("this process may not bind ports below 1024");
        return;
    }
    let other = on([0xfd, 0x99, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    let mut raw = Raw::connect(localhost.into(), 1001, localhost.into(), port);
    raw.version = Version::V4;
    let lan = Ipv4Addr::LOCALHOST;
    let hello = Hello {
        version: Version::V4,
        src_nid: other,
        dest_nid: Some(mine),
        ..hello(lan, lan, Some(ConnectionType::Control))
    };
    raw.send(&[acceptor::encode_request(mine), hello.encode().unwrap()].concat());
    let response = raw.read_hello();
    assert_eq!((response.version, response.src_nid, response.dest_nid), (Version::V4, mine, Some(other)));
    raw.put(&put_header(other, mine, 100, true), NO_COOKIES, &[1; 100]);
    assert_eq!(node.expect(EventKind::Put).initiator.nid, Some(other));
    assert_eq!(raw.read_lnet().0.dest_nid, other);
}

#[test]
fn an_unproved_peer_on_an_unprivileged_port_gets_a_synthetic_id() {
    let (node, low, high, port) = node(|_| {});
    node.offer(buffer(100));
    let mut raw = Raw::connect(low.into(), 0, high.into(), port);
    let source = raw.stream.local_addr().unwrap().port();
    let pretended = Ipv4Addr::new(10, 1, 2, 3);
    let hello = hello(pretended, high, Some(ConnectionType::Control));
    raw.send(&[acceptor::encode_request(tcp(high)), hello.encode().unwrap()].concat());
    assert_eq!(raw.read_hello().dest_nid, Some(tcp(low)));
    raw.put(&put_header(tcp(pretended), tcp(high), 100, true), NO_COOKIES, &[1; 100]);
    let put = node.expect(EventKind::Put);
    let pid = Pid(Pid::USER_FLAG | u32::from(source));
    assert_eq!((put.initiator.nid, put.initiator.pid), (Some(tcp(low)), pid));
    // The response reaches the peer under its synthetic NID.
    let (ack, _, _) = raw.read_lnet();
    assert_eq!((ack.dest_nid, ack.dest_pid), (tcp(low), pid));
}

#[test]
fn a_peer_that_only_claims_a_nid_does_not_end_the_connections_of_a_privileged_process() {
    let (node, low, high, port) = node(|_| {});
    let Some(from_port) = (600..1000).rev().find(|port| TcpListener::bind((low, *port)).is_ok()) else {
        test_support::skip("no privileged port to be had; run as root");
        return;
    };
    let call = |from_port, incarnation| {
        let mut raw = Raw::connect(low.into(), from_port, high.into(), port);
        let hello = Hello { src_incarnation: incarnation, ..hello(low, high, Some(ConnectionType::Control)) };
        raw.send(&[acceptor::encode_request(tcp(high)), hello.encode().unwrap()].concat());
        let response = raw.read_hello().connection_type;
        (raw, response)
    };
    let (mut privileged, response) = call(from_port, 7);
    assert_eq!(response, Some(ConnectionType::Control));
    // If the first of these had ended the connection, the second would be accepted.
    assert_eq!((call(0, 8).1, call(0, 8).1), (None, None));
    node.offer(buffer(8));
    privileged.put(&put_header(tcp(low), tcp(high), 8, false), NO_COOKIES, &[1; 8]);
    assert_eq!(node.expect(EventKind::Put).mlength, 8);
}
