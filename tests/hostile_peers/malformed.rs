//! Malformed handshakes and messages: the node closes the connection and counts it. Messages that are well-formed and
//! have no target are dropped, and the connection stays open.

use crate::hostile::{
    CLOSED_BY_PEER, PROTOCOL_ERROR, REFUSED, REJECTED, close, expect_ping_reply, handshake, patched, ping,
    send_until_closed,
};
use crate::support::netns::namespace_or_skip;
use crate::support::nodes::{buffer, fresh_bits, hello, message, pattern, put_header, wait_for};
use crate::support::scene::{Random, Scene};
use lnet_core::{Errno, EventKind, MdMemory};
use lnet_wire::{Body, Header, MAX_PAYLOAD, NetId, NetType, Nid, WireHandle};
use socklnd::SocklndCounters;
use socklnd::proto::checksum::Checksum;
use socklnd::proto::frame::{Cookies, FRAME_LEN, Head};
use socklnd::proto::{ConnectionType, Hello, Version, acceptor};

#[test]
fn a_connection_with_malformed_bytes_is_closed_and_counted() {
    let scene = Scene::new(|_| {});
    scene.with_other_traffic(|| {
        for bad in malformed_handshakes(&scene).iter().chain(&malformed_messages(&scene)) {
            expect_closed_and_counted(&scene, bad);
        }
        scene.serves_a_new_node();
    });
}

#[test]
fn a_peer_whose_connection_was_closed_may_reconnect_at_once() {
    let scene = Scene::new(|_| {});
    for _ in 0..3000 {
        let mut raw = handshake(&scene, Version::V3, ConnectionType::Control);
        expect_ping_reply(&scene, &mut raw);
        send_until_closed(&mut raw, &[0xff; FRAME_LEN]);
        raw.read_to_end();
    }
}

#[test]
fn in_secure_mode_malformed_bytes_from_privileged_ports_are_counted_and_other_ports_are_rejected() {
    let Some(_namespace) = namespace_or_skip() else { return };
    let mut scene = Scene::new(|config| config.accept = socklnd::AcceptFrom::Secure);
    scene.with_other_traffic(|| {
        let before = scene.node.counters();
        for _ in 0..20 {
            let mut raw = scene.connect();
            send_until_closed(&mut raw, &acceptor::encode_request(scene.node.nid));
            assert_eq!(raw.read_to_end(), [0_u8; 0]);
        }
        assert_eq!(scene.node.counters().rejected, before.rejected + 20);
    });
    scene.privileged = true;
    scene.with_other_traffic(|| {
        for bad in malformed_handshakes(&scene).iter().chain(&malformed_messages(&scene)) {
            expect_closed_and_counted(&scene, bad);
        }
        scene.serves_a_new_node();
    });
}

#[test]
fn a_message_without_a_target_is_dropped_and_its_connection_stays_open() {
    let scene = Scene::new(|_| {});
    let (us, them) = (scene.hostile_nid(), scene.node.nid);
    let long = |mut header: Header, body| {
        (header.body, header.payload_length) = (body, 20_000);
        message(Version::V3, &header, Cookies::default(), pattern(20_000, 1))
    };
    let put = || message(Version::V3, &put_header(us, them, 3000, true), Cookies::default(), &[7; 3000]);
    let loopback = Nid::LOOPBACK.to_u64().unwrap().to_le_bytes();
    let handle = WireHandle { interface_cookie: u64::MAX, object_cookie: 1 };
    let ack = Header {
        payload_length: 0,
        body: Body::Ack { handle, match_bits: 0, accepted: 0 },
        ..put_header(us, them, 0, false)
    };
    let get = Body::Get { reply: handle, match_bits: 1, portal: 1, offset: u32::MAX, sink_length: u32::MAX };
    let get = Header { body: get, ..ack };
    let rows = [
        ("PUT that matches nothing", put()),
        ("PUT to the reserved portal that is no push", patched(put(), at::PORTAL, &[0; 4])),
        ("PUT to a portal out of range", patched(put(), at::PORTAL, &[0xff; 4])),
        ("GET of everything", message(Version::V3, &get, Cookies::default(), &[])),
        ("ACK for an unknown handle", message(Version::V3, &ack, Cookies::default(), &[])),
        ("REPLY for an unknown handle", long(ack, Body::Reply { handle })),
        ("to a net that the node is not on", patched(put(), at::DEST_NID + 4, &[9])),
        ("from the loopback", patched(put(), at::SRC_NID, &loopback)),
        ("keep-alives", Head::noop(Cookies { request: 0, ack: 1 }).bytes().repeat(500)),
    ];
    scene.with_other_traffic(|| {
        let mut raw = handshake(&scene, Version::V3, ConnectionType::Control);
        for (name, bytes) in rows {
            println!("{name}");
            raw.send(&bytes);
            expect_ping_reply(&scene, &mut raw);
        }
    });
}

#[test]
fn a_wrong_checksum_ends_the_operation_with_an_error() {
    let scene = Scene::new(|_| {});
    let bits = fresh_bits();
    let sink = buffer(3000);
    scene.node.offer_with(MdMemory::contiguous(sink.as_ptr() as usize, 3000), bits, 0);
    let mut header = put_header(scene.hostile_nid(), scene.node.nid, 3000, true);
    if let Body::Put { match_bits, .. } = &mut header.body {
        *match_bits = bits;
    }
    let good = message(Version::V2, &header, Cookies::default(), pattern(3000, 1));
    let mut sum = Checksum::new();
    sum.update(&good);
    let good = patched(good, 4, &sum.value().to_le_bytes());
    let last = good.len() - 1;
    scene.with_other_traffic(|| {
        for (at, status) in [(None, Ok(())), (Some(4), Err(Errno::Io)), (Some(last), Err(Errno::Io))] {
            let mut raw = handshake(&scene, Version::V2, ConnectionType::Control);
            let mut bytes = good.clone();
            if let Some(at) = at {
                bytes[at] ^= 1;
            }
            raw.send(&bytes);
            let event = scene.event(bits);
            assert_eq!((event.kind, event.status), (EventKind::Put, status), "{at:?}: {event:?}");
            let before = CLOSED_BY_PEER(&scene.node.counters());
            close(raw, true);
            wait_for("the end of the connection", || {
                at.is_some() || CLOSED_BY_PEER(&scene.node.counters()) > before
            });
        }
    });
}

fn expect_closed_and_counted(scene: &Scene, bad: &Malformed) {
    println!("{}", bad.name);
    let before = (bad.counted)(&scene.node.counters());
    let mut raw = match bad.phase {
        Phase::Request | Phase::Hello => scene.connect(),
        Phase::Message(version) => handshake(scene, version, ConnectionType::Control),
    };
    if let Phase::Hello = bad.phase {
        raw.send(&acceptor::encode_request(scene.node.nid));
    }
    send_until_closed(&mut raw, &bad.bytes);
    let response = raw.read_to_end();
    if let Phase::Request = bad.phase {
        assert_eq!(response, bad.response, "{}", bad.name);
    }
    wait_for(&bad.name, || (bad.counted)(&scene.node.counters()) > before);
}

/// Bytes after which the node closes the connection.
struct Malformed {
    name: String,
    phase: Phase,
    bytes: Vec<u8>,
    /// The expected response of the node, which is checked for requests only.
    response: &'static [u8],
    counted: fn(&SocklndCounters) -> u64,
}

/// The progress of the connection before the hostile peer sends the malformed bytes.
#[derive(Clone, Copy)]
enum Phase {
    Request,
    Hello,
    Message(Version),
}

fn malformed_handshakes(scene: &Scene) -> Vec<Malformed> {
    let request = acceptor::encode_request(scene.node.nid);
    let opening =
        |version, kind| Hello { version, ..hello(scene.hostile_ip, scene.ip, kind) }.encode().unwrap();
    let v3 = || opening(Version::V3, Some(ConnectionType::Control));
    let v1 = || opening(Version::V1, Some(ConnectionType::Control));
    let v4 = || opening(Version::V4, Some(ConnectionType::Control));
    let long = |at: usize, patch: &[u8]| {
        let nid = Nid::new_long(scene.node.nid.net(), [7; 16]);
        patched(acceptor::encode_request(nid), at, patch)
    };
    let mut random = Random(1);
    let mut rows = vec![
        ("unknown magic", Phase::Request, patched(request.clone(), 0, &[1, 2, 3, 4]), &[][..], REJECTED),
        (
            "request of version 99",
            Phase::Request,
            patched(request.clone(), 4, &[99]),
            &acceptor::REFUSAL,
            REJECTED,
        ),
        ("HELLO without request", Phase::Request, v3(), &acceptor::REFUSAL, REJECTED),
        (
            "request for another node",
            Phase::Request,
            acceptor::encode_request(scene.hostile_nid()),
            &[],
            REJECTED,
        ),
        ("request for any node", Phase::Request, patched(request.clone(), 8, &[0xff; 8]), &[], REJECTED),
        ("long request for any node", Phase::Request, long(8, &[0xff; 20]), &[], REJECTED),
        ("long request, odd address size", Phase::Request, long(8, &[9]), &[], REJECTED),
        ("request twice", Phase::Hello, request.clone(), &[], REJECTED),
        ("HELLO of version 7", Phase::Hello, patched(v3(), 4, &[7]), &[], REFUSED),
        ("HELLO of version 2^32-1", Phase::Hello, patched(v3(), 4, &[0xff; 4]), &[], REFUSED),
        ("HELLO from any node", Phase::Hello, patched(v3(), 8, &[0xff; 8]), &[], REJECTED),
        ("HELLO v4 from any node", Phase::Hello, patched(v4(), 8, &[0xff; 20]), &[], REJECTED),
        ("HELLO of type 4", Phase::Hello, patched(v3(), 48, &[4]), &[], REJECTED),
        ("HELLO of type none", Phase::Hello, opening(Version::V3, None), &[], REJECTED),
        ("17 addresses", Phase::Hello, patched(v3(), 52, &[17]), &[], REJECTED),
        ("2^32-1 addresses", Phase::Hello, patched(v3(), 52, &[0xff; 4]), &[], REJECTED),
        ("address 0", Phase::Hello, [patched(v3(), 52, &[1]), vec![0; 4]].concat(), &[], REJECTED),
        ("HELLO v1 that is a PUT", Phase::Hello, patched(v1(), 24, &[1]), &[], REJECTED),
        ("HELLO v1 with half an address", Phase::Hello, patched(v1(), 28, &[2]), &[], REJECTED),
        (
            "HELLO v1 with 2^32-4 bytes of addresses",
            Phase::Hello,
            patched(v1(), 28, &[0xfc, 0xff, 0xff, 0xff]),
            &[],
            REJECTED,
        ),
    ]
    .into_iter()
    .map(|(name, phase, bytes, response, counted)| Malformed {
        name: name.into(),
        phase,
        bytes,
        response,
        counted,
    })
    .collect::<Vec<_>>();
    for number in 0..10 {
        let bytes = random.bytes(1 + number * 50);
        let (phase, name) = match number % 2 {
            0 => (Phase::Request, format!("random request {number}")),
            _ => (Phase::Hello, format!("random HELLO {number}")),
        };
        // With fewer than four bytes the node would wait for more.
        let bytes = [bytes, vec![0; 4]].concat();
        rows.push(Malformed { name, phase, bytes, response: &[], counted: REJECTED });
    }
    rows
}

fn malformed_messages(scene: &Scene) -> Vec<Malformed> {
    let (us, them) = (scene.hostile_nid(), scene.node.nid);
    let get = || message(Version::V3, &ping(scene), Cookies::default(), &[]);
    let put = |version| message(version, &put_header(us, them, 4, false), Cookies::default(), &[1, 2, 3, 4]);
    let other_net = Nid::new(NetId::new(NetType::TCP, 9), 1);
    let other_net = other_net.to_u64().unwrap().to_le_bytes();
    let loopback = Nid::LOOPBACK.to_u64().unwrap().to_le_bytes();
    let noop = |request, ack| Head::noop(Cookies { request, ack }).bytes().to_vec();
    let too_long = (MAX_PAYLOAD + 1).to_le_bytes();
    let mut rows = vec![
        ("unknown kind of frame", Version::V3, patched(get(), 0, &[0xc2])),
        ("kind of frame 0", Version::V2, patched(get(), 0, &[0])),
        ("unknown message type", Version::V3, patched(get(), at::TYPE, &[9])),
        ("HELLO as a message", Version::V3, patched(get(), at::TYPE, &[4])),
        ("GET with payload", Version::V3, patched(get(), at::PAYLOAD_LENGTH, &[1])),
        ("ACK with payload", Version::V3, patched(put(Version::V3), at::TYPE, &[0])),
        ("PUT of 1 MiB and a byte", Version::V3, patched(put(Version::V3), at::PAYLOAD_LENGTH, &too_long)),
        ("PUT of 4 GiB", Version::V3, patched(put(Version::V3), at::PAYLOAD_LENGTH, &[0xff; 4])),
        ("to any node", Version::V3, patched(put(Version::V3), at::DEST_NID, &[0xff; 8])),
        ("from any node", Version::V3, patched(put(Version::V3), at::SRC_NID, &[0xff; 8])),
        ("to another node of the net", Version::V3, patched(put(Version::V3), at::DEST_NID, &[99])),
        ("to the loopback", Version::V3, patched(put(Version::V3), at::DEST_NID, &loopback)),
        ("delivery ACK of nothing", Version::V3, noop(0, 99)),
        ("delivery ACK 1 in version 2", Version::V2, noop(0, 1)),
        ("two delivery ACKs of nothing", Version::V3, noop(9, 2)),
        ("delivery ACK of everything", Version::V3, noop(1, u64::MAX)),
        (
            "delivery ACK with a message",
            Version::V3,
            message(Version::V3, &ping(scene), Cookies { request: 0, ack: 77 }, &[]),
        ),
        ("NOOP with a wrong checksum", Version::V2, patched(noop(0, 0), 4, &[1])),
        ("version 1: garbage", Version::V1, vec![0xff; 72]),
        ("version 1: type unknown", Version::V1, patched(get()[FRAME_LEN..].to_vec(), 24, &[9])),
        ("version 4: garbage", Version::V4, vec![0xff; 120]),
    ];
    let mut random = Random(2);
    rows.extend((0..5).map(|_| ("random", Version::V3, random.bytes(500))));
    // A message that is dropped does not hide the malformed bytes behind it.
    let nowhere = patched(put(Version::V3), at::DEST_NID, &other_net);
    rows.push(("garbage behind a message", Version::V3, [nowhere, vec![0xff; 96]].concat()));
    rows.into_iter()
        .map(|(name, version, bytes)| {
            let phase = Phase::Message(version);
            Malformed { name: name.into(), phase, bytes, response: &[], counted: PROTOCOL_ERROR }
        })
        .collect()
}

/// Offsets of the fields of a head in versions 2 and 3, behind the frame.
mod at {
    use socklnd::proto::frame::FRAME_LEN;

    pub(super) const DEST_NID: usize = FRAME_LEN;
    pub(super) const SRC_NID: usize = FRAME_LEN + 8;
    pub(super) const TYPE: usize = FRAME_LEN + 24;
    pub(super) const PAYLOAD_LENGTH: usize = FRAME_LEN + 28;
    pub(super) const PORTAL: usize = FRAME_LEN + 64;
}
