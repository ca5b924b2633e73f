//! The actions of the hostile peer of these tests: complete a handshake, send, ping, close.

use crate::support::nodes::{Raw, hello, put_header};
use crate::support::scene::Scene;
use lnet_wire::ping_info::PingInfo;
use lnet_wire::{Body, Header, MessageType, PING_MATCH_BITS, RESERVED_PORTAL, WireHandle};
use socket2::SockRef;
use socklnd::SocklndCounters;
use socklnd::proto::frame::Cookies;
use socklnd::proto::{ConnectionType, Hello, Version, acceptor};
use std::io::{ErrorKind, Write};
use std::net::Shutdown;
use std::time::Duration;

// The counter that a kind of misbehaviour raises.
pub(crate) const REJECTED: fn(&SocklndCounters) -> u64 = |counters| counters.rejected;
pub(crate) const REFUSED: fn(&SocklndCounters) -> u64 = |counters| counters.refused;
pub(crate) const PROTOCOL_ERROR: fn(&SocklndCounters) -> u64 = |counters| counters.protocol_errors;
pub(crate) const CLOSED_BY_PEER: fn(&SocklndCounters) -> u64 = |counters| counters.closed_by_peer;

/// A connection of the hostile peer after a complete handshake.
pub(crate) fn handshake(scene: &Scene, version: Version, kind: ConnectionType) -> Raw {
    let mut raw = scene.connect();
    raw.version = version;
    let hello = Hello { version, ..hello(scene.hostile_ip, scene.ip, Some(kind)) };
    raw.send(&[acceptor::encode_request(scene.node.nid), hello.encode().unwrap()].concat());
    assert_eq!(raw.read_hello().connection_type, Some(kind.mirror()));
    raw
}

/// Closes the hostile peer's connection: with a FIN, waiting for the node's, or with a reset.
pub(crate) fn close(mut raw: Raw, gracefully: bool) {
    if gracefully {
        // The node may have closed the connection already.
        let _ = raw.stream.shutdown(Shutdown::Write);
        raw.read_to_end();
    } else {
        SockRef::from(&raw.stream).set_linger(Some(Duration::ZERO)).unwrap();
    }
}

/// Sends `bytes`, or as much of them as the node takes before it closes the connection.
pub(crate) fn send_until_closed(raw: &mut Raw, bytes: &[u8]) {
    if let Err(error) = raw.stream.write_all(bytes) {
        assert!(matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe), "{error}");
    }
}

/// Fails if the node does not reply to a ping on this connection, so that it has lost the position in the stream.
pub(crate) fn expect_ping_reply(scene: &Scene, raw: &mut Raw) {
    raw.put(&ping(scene), Cookies::default(), &[]);
    let (header, _, payload) = raw.read_lnet();
    assert_eq!(header.body.kind(), MessageType::Reply);
    assert_eq!(PingInfo::decode(&payload, 16).unwrap().info.entries[0].nid, scene.node.nid);
}

/// A ping from the hostile peer.
pub(crate) fn ping(scene: &Scene) -> Header {
    let reply = WireHandle { interface_cookie: 7, object_cookie: 8 };
    let (match_bits, portal) = (PING_MATCH_BITS, RESERVED_PORTAL);
    let body = Body::Get { reply, match_bits, portal, offset: 0, sink_length: 272 };
    Header { payload_length: 0, body, ..put_header(scene.hostile_nid(), scene.node.nid, 0, false) }
}

/// `bytes` with `patch` in them from the offset `at` on.
pub(crate) fn patched(mut bytes: Vec<u8>, at: usize, patch: &[u8]) -> Vec<u8> {
    bytes[at..at + patch.len()].copy_from_slice(patch);
    bytes
}
