//! NIs and peers whose NIDs are of different families: the request and the HELLO, and the address that a connection comes from.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::{Errno, EventKind};
use lnet_wire::{NetId, NetType, Nid};
use socklnd::proto::acceptor::{self, Decision};
use socklnd::proto::{ConnectionType, Hello, Version};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener};
use support::*;

const LONG: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

fn long() -> Nid {
    Nid::new_long(NetId::new(NetType::TCP, 0), Ipv6Addr::LOCALHOST.octets())
}

/// A peer that listens on `ip`; `None` on a machine without IPv6.
fn listener(ip: IpAddr, port: u16) -> Option<TcpListener> {
    match TcpListener::bind((ip, port)) {
        Ok(listener) => {
            limit_accepts(&listener);
            Some(listener)
        }
        Err(error) => {
            assert!(ip.is_ipv6(), "{error}");
            test_support::skip("this machine has no IPv6");
            None
        }
    }
}

/// Accepts the next connection; returns the version of its request, the NID that it asks for, its HELLO, and where it comes from.
fn accept(listener: &TcpListener) -> (Raw, u8, Nid, Hello, IpAddr) {
    let (stream, source) = listener.accept().unwrap();
    let mut raw = Raw::over(stream);
    let mut request = raw.read(8);
    loop {
        match acceptor::decide(&request, |_| true) {
            Decision::Need(len) => request.extend(raw.read(len - request.len())),
            Decision::Accept { target, .. } => {
                let hello = raw.read_hello();
                raw.version = hello.version;
                return (raw, request[4], target, hello, source.ip());
            }
            other => panic!("{other:?}"),
        }
    }
}

fn answer(asked: &Hello) -> Hello {
    Hello {
        src_nid: asked.dest_nid.unwrap(),
        dest_nid: Some(asked.src_nid),
        connection_type: asked.connection_type.map(ConnectionType::mirror),
        src_incarnation: 42,
        ..asked.clone()
    }
}

#[test]
fn the_request_follows_the_nid_connected_to_and_the_hello_both_nids() {
    let (low, high, port) = addresses();
    let short = |ip| (IpAddr::from(ip), tcp(ip));
    for (mine, peer, request, version) in
        [(short(high), short(low), 1, Version::V3), (short(high), (LONG, long()), 2, Version::V4)]
    {
        let Some(listener) = listener(peer.0, port) else { return };
        let node = Node::start(mine.1, config(port));
        node.put(node.bind_bytes(pattern(8, 1)), peer.1, false);
        let (mut raw, asked_by, target, hello, source) = accept(&listener);
        assert_eq!((asked_by, target, hello.version), (request, peer.1, version));
        assert_eq!((hello.src_nid, hello.dest_nid), (mine.1, Some(peer.1)));
        // An address of the peer NID's family: the NI's own, or another of its interface.
        assert_eq!(source.is_ipv4(), peer.0.is_ipv4());
        assert!(source == mine.0 || mine.0.is_ipv4() != peer.0.is_ipv4(), "{source}");
        raw.send(&answer(&hello).encode().unwrap());
        let (header, _, payload) = raw.read_lnet();
        assert_eq!((header.src_nid, header.dest_nid, payload.len()), (mine.1, peer.1, 8));
        assert_eq!(node.expect(EventKind::Send).status, Ok(()));
    }
}

#[test]
fn a_peer_with_a_short_nid_that_was_heard_with_version_4_is_spoken_to_in_version_4() {
    let (node, low, high, port) = node(|_| {});
    let listener = listener(low.into(), port).unwrap();
    node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
    let (mut control, _, _, asked, _) = accept(&listener);
    assert_eq!(asked.version, Version::V3);
    // The peer has the higher version, and says so as it would over IPv6.
    let offer = Hello { version: Version::V4, connection_type: None, ..answer(&asked) };
    control.send(&offer.encode().unwrap());
    let mut open = Vec::new();
    for kind in [ConnectionType::Control, ConnectionType::BulkIn, ConnectionType::BulkOut] {
        let (mut raw, request, _, asked, _) = accept(&listener);
        assert_eq!((request, asked.version, asked.connection_type), (1, Version::V4, Some(kind)));
        assert_eq!((asked.src_nid, asked.dest_nid), (tcp(high), Some(tcp(low))));
        raw.send(&answer(&asked).encode().unwrap());
        if kind == ConnectionType::Control {
            assert_eq!(raw.read_lnet().0.src_nid, tcp(high));
        }
        open.push(raw);
    }
}

#[test]
fn a_peer_with_a_long_nid_that_offers_version_3_is_not_spoken_to() {
    let (_, high, port) = addresses();
    let Some(listener) = listener(LONG, port) else { return };
    let node = Node::start(tcp(high), config(port));
    node.put(node.bind_bytes(pattern(8, 1)), long(), false);
    let (mut raw, _, _, asked, _) = accept(&listener);
    assert_eq!(asked.version, Version::V4);
    // Version 3 has no room for the peer's NID: the offer can only name another.
    let offer = Hello {
        version: Version::V3,
        src_nid: asked.src_nid,
        dest_nid: None,
        connection_type: None,
        ..answer(&asked)
    };
    raw.send(&offer.encode().unwrap());
    assert_eq!(node.expect(EventKind::Send).status, Err(Errno::Protocol));
}

#[test]
fn a_node_answers_in_the_version_of_the_hello_from_the_nid_that_was_asked_for() {
    let (low, high, port) = addresses();
    if listener(LONG, port).is_none() {
        return;
    }
    let other: Nid = "fd99::7@tcp".parse().unwrap();
    for (mine, at, claimed, version, answered) in [
        (tcp(high), IpAddr::from(high), tcp(low), Version::V3, Some(Version::V3)),
        (tcp(high), high.into(), tcp(low), Version::V4, Some(Version::V4)),
        (long(), LONG, long(), Version::V4, Some(Version::V4)),
        // The answer would have eight bytes for the NID, which has more: the version is offered that has the room for it.
        (long(), LONG, tcp(low), Version::V3, None),
        // Nothing but a privileged port proves these claims.
        (tcp(high), high.into(), other, Version::V4, None),
        (long(), LONG, tcp(low), Version::V4, None),
    ] {
        let node = Node::start(mine, config(port));
        let from = if at.is_ipv4() { low.into() } else { LONG };
        let mut raw = Raw::connect(from, 0, at, port);
        let hello = Hello {
            version,
            src_nid: claimed,
            dest_nid: mine.to_u64().map_or(Some(mine), Nid::from_u64).filter(|_| version == Version::V4),
            ..hello(low, high, Some(ConnectionType::Control))
        };
        raw.send(&[acceptor::encode_request(mine), hello.encode().unwrap()].concat());
        match (answered, version) {
            (Some(answered), _) => {
                let answer = raw.read_hello();
                assert_eq!(
                    (answer.version, answer.src_nid, answer.dest_nid),
                    (answered, mine, Some(claimed))
                );
                assert_eq!(answer.connection_type, Some(ConnectionType::Control));
            }
            (None, Version::V3) => {
                let offer = raw.read_hello();
                assert_eq!((offer.version, offer.src_nid, offer.connection_type), (Version::V4, mine, None));
                assert_eq!(raw.read_to_end(), Vec::<u8>::new());
            }
            (None, _) => assert_eq!(raw.read_to_end(), Vec::<u8>::new(), "{claimed} of {from}"),
        }
        node.stop();
    }
}

#[test]
fn each_address_of_a_node_has_its_own_socket_and_one_of_ipv6_takes_no_ipv4() {
    let (_, high, port) = addresses();
    if listener(LONG, port).is_none() {
        return;
    }
    let node = Node::start(tcp(high), config(port));
    // The same port on the other family is free, before and after it is taken.
    drop(TcpListener::bind(SocketAddr::new(LONG, port)).unwrap());
    node.core.admin().add_ni(long(), lnet_core::NiTunables::default(), &*node.driver).unwrap();
    for ip in [IpAddr::from(high), LONG] {
        assert!(TcpListener::bind((ip, port)).is_err(), "{ip}");
        drop(Raw::connect(ip, 0, ip, port));
    }
    let mapped: IpAddr = high.to_ipv6_mapped().into();
    assert!(std::net::TcpStream::connect((mapped, port)).is_ok(), "by the IPv4 socket");
    node.core.admin().remove_ni(tcp(high)).unwrap();
    assert!(std::net::TcpStream::connect((high, port)).is_err(), "the IPv6 socket takes no IPv4");
    drop(Raw::connect(LONG, 0, LONG, port));
}
