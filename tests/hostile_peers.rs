//! Strangers with bad manners call a node. The node closes their connections and counts them, and the other
//! nodes that talk to it notice nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::{Errno, EventKind, MdMemory, Target};
use lnet_wire::ping_info::PingInfo;
use lnet_wire::{
    Body, Header, MAX_PAYLOAD, MessageType, NetId, NetType, Nid, PING_MATCH_BITS, RESERVED_PORTAL, WireHandle,
};
use socket2::SockRef;
use socklnd::SocklndCounters;
use socklnd::proto::checksum::Checksum;
use socklnd::proto::frame::{Cookies, FRAME_LEN, Head, head_len};
use socklnd::proto::{ConnectionType, Hello, Version, acceptor};
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;
use support::conversation::{Content, said};
use support::netns::namespace_or_skip;
use support::nodes::{Raw, fresh_bits, hello, message, pattern, put_header, room, target, tcp, wait_for};
use support::pcap;
use support::scene::{Random, SHORT, Scene, raise_file_limit};
use support::streams::{self, Side};

/// Where the fields of a head are in versions 2 and 3, behind the frame.
mod at {
    use socklnd::proto::frame::FRAME_LEN;

    pub(super) const DEST_NID: usize = FRAME_LEN;
    pub(super) const SRC_NID: usize = FRAME_LEN + 8;
    pub(super) const TYPE: usize = FRAME_LEN + 24;
    pub(super) const PAYLOAD_LENGTH: usize = FRAME_LEN + 28;
    pub(super) const PORTAL: usize = FRAME_LEN + 64;
}

/// How far a stranger has got when it says something bad.
#[derive(Clone, Copy)]
enum Before {
    Request,
    Hello,
    Message(Version),
}

/// Bytes after which the node closes the connection.
struct Bad {
    name: String,
    before: Before,
    says: Vec<u8>,
    /// The node's answer; not looked at for HELLOs and on connections that stand.
    hears: &'static [u8],
    counted: fn(&SocklndCounters) -> u64,
}

const REJECTED: fn(&SocklndCounters) -> u64 = |counters| counters.rejected;
const REFUSED: fn(&SocklndCounters) -> u64 = |counters| counters.refused;
const BROKEN: fn(&SocklndCounters) -> u64 = |counters| counters.protocol_errors;
const CLOSED_BY_PEER: fn(&SocklndCounters) -> u64 = |counters| counters.closed_by_peer;

fn patched(mut bytes: Vec<u8>, at: usize, patch: &[u8]) -> Vec<u8> {
    bytes[at..at + patch.len()].copy_from_slice(patch);
    bytes
}

fn bad_openings(scene: &Scene) -> Vec<Bad> {
    let request = acceptor::encode_request(scene.node.nid);
    let opening =
        |version, kind| Hello { version, ..hello(scene.stranger, scene.ip, kind) }.encode().unwrap();
    let v3 = || opening(Version::V3, Some(ConnectionType::Control));
    let v1 = || opening(Version::V1, Some(ConnectionType::Control));
    let v4 = || opening(Version::V4, Some(ConnectionType::Control));
    let long = |at: usize, patch: &[u8]| {
        let nid = Nid::new_long(scene.node.nid.net(), [7; 16]);
        patched(acceptor::encode_request(nid), at, patch)
    };
    let mut random = Random(1);
    let mut rows = vec![
        ("magic of nobody", Before::Request, patched(request.clone(), 0, &[1, 2, 3, 4]), &[][..], REJECTED),
        (
            "request of version 99",
            Before::Request,
            patched(request.clone(), 4, &[99]),
            &acceptor::REFUSAL,
            REJECTED,
        ),
        ("HELLO without request", Before::Request, v3(), &acceptor::REFUSAL, REJECTED),
        (
            "request for another node",
            Before::Request,
            acceptor::encode_request(scene.stranger_nid()),
            &[],
            REJECTED,
        ),
        ("request for any node", Before::Request, patched(request.clone(), 8, &[0xff; 8]), &[], REJECTED),
        ("long request for any node", Before::Request, long(8, &[0xff; 20]), &[], REJECTED),
        ("long request, odd address size", Before::Request, long(8, &[9]), &[], REJECTED),
        ("request twice", Before::Hello, request.clone(), &[], REJECTED),
        ("HELLO of version 7", Before::Hello, patched(v3(), 4, &[7]), &[], REFUSED),
        ("HELLO of version 2^32-1", Before::Hello, patched(v3(), 4, &[0xff; 4]), &[], REFUSED),
        ("HELLO from any node", Before::Hello, patched(v3(), 8, &[0xff; 8]), &[], REJECTED),
        ("HELLO v4 from any node", Before::Hello, patched(v4(), 8, &[0xff; 20]), &[], REJECTED),
        ("HELLO of type 4", Before::Hello, patched(v3(), 48, &[4]), &[], REJECTED),
        ("HELLO of type none", Before::Hello, opening(Version::V3, None), &[], REJECTED),
        ("17 addresses", Before::Hello, patched(v3(), 52, &[17]), &[], REJECTED),
        ("2^32-1 addresses", Before::Hello, patched(v3(), 52, &[0xff; 4]), &[], REJECTED),
        ("address 0", Before::Hello, [patched(v3(), 52, &[1]), vec![0; 4]].concat(), &[], REJECTED),
        ("HELLO v1 that is a PUT", Before::Hello, patched(v1(), 24, &[1]), &[], REJECTED),
        ("HELLO v1 with half an address", Before::Hello, patched(v1(), 28, &[2]), &[], REJECTED),
        (
            "HELLO v1 with 2^32-4 bytes of addresses",
            Before::Hello,
            patched(v1(), 28, &[0xfc, 0xff, 0xff, 0xff]),
            &[],
            REJECTED,
        ),
    ]
    .into_iter()
    .map(|(name, before, says, hears, counted)| Bad { name: name.into(), before, says, hears, counted })
    .collect::<Vec<_>>();
    for number in 0..10 {
        let says = random.bytes(1 + number * 50);
        let (before, name) = match number % 2 {
            0 => (Before::Request, format!("random request {number}")),
            _ => (Before::Hello, format!("random HELLO {number}")),
        };
        // Fewer than four bytes would be waited for.
        let says = [says, vec![0; 4]].concat();
        rows.push(Bad { name, before, says, hears: &[], counted: REJECTED });
    }
    rows
}

fn bad_messages(scene: &Scene) -> Vec<Bad> {
    let (us, them) = (scene.stranger_nid(), scene.node.nid);
    let get = || message(Version::V3, &ping(scene), Cookies::default(), &[]);
    let put = |version| message(version, &put_header(us, them, 4, false), Cookies::default(), &[1, 2, 3, 4]);
    let other_net = Nid::new(NetId::new(NetType::TCP, 9), 1);
    let other_net = other_net.to_u64().unwrap().to_le_bytes();
    let loopback = Nid::LOOPBACK.to_u64().unwrap().to_le_bytes();
    let noop = |request, ack| Head::noop(Cookies { request, ack }).bytes().to_vec();
    let too_long = (MAX_PAYLOAD + 1).to_le_bytes();
    let mut rows = vec![
        ("kind of frame unknown", Version::V3, patched(get(), 0, &[0xc2])),
        ("kind of frame 0", Version::V2, patched(get(), 0, &[0])),
        ("type of message unknown", Version::V3, patched(get(), at::TYPE, &[9])),
        ("HELLO as a message", Version::V3, patched(get(), at::TYPE, &[4])),
        ("GET with payload", Version::V3, patched(get(), at::PAYLOAD_LENGTH, &[1])),
        ("ACK with payload", Version::V3, patched(put(Version::V3), at::TYPE, &[0])),
        ("PUT of 1 MiB and a byte", Version::V3, patched(put(Version::V3), at::PAYLOAD_LENGTH, &too_long)),
        ("PUT of 4 GiB", Version::V3, patched(put(Version::V3), at::PAYLOAD_LENGTH, &[0xff; 4])),
        ("to any node", Version::V3, patched(put(Version::V3), at::DEST_NID, &[0xff; 8])),
        ("from any node", Version::V3, patched(put(Version::V3), at::SRC_NID, &[0xff; 8])),
        ("to another node of the net", Version::V3, patched(put(Version::V3), at::DEST_NID, &[99])),
        ("to the loopback", Version::V3, patched(put(Version::V3), at::DEST_NID, &loopback)),
        ("receipt that nobody asked for", Version::V3, noop(0, 99)),
        ("receipt 1 in version 2", Version::V2, noop(0, 1)),
        ("two receipts that nobody asked for", Version::V3, noop(9, 2)),
        ("all receipts there can be", Version::V3, noop(1, u64::MAX)),
        (
            "receipt with a message",
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
    // What is dropped in good order does not hide what comes behind it.
    let nowhere = patched(put(Version::V3), at::DEST_NID, &other_net);
    rows.push(("garbage behind a message", Version::V3, [nowhere, vec![0xff; 96]].concat()));
    rows.into_iter()
        .map(|(name, version, says)| {
            let before = Before::Message(version);
            Bad { name: name.into(), before, says, hears: &[], counted: BROKEN }
        })
        .collect()
}

/// A stranger's ping.
fn ping(scene: &Scene) -> Header {
    let reply = WireHandle { interface_cookie: 7, object_cookie: 8 };
    let (match_bits, portal) = (PING_MATCH_BITS, RESERVED_PORTAL);
    let body = Body::Get { reply, match_bits, portal, offset: 0, sink_length: 272 };
    Header { payload_length: 0, body, ..put_header(scene.stranger_nid(), scene.node.nid, 0, false) }
}

/// Connects and gets the HELLOs over with.
fn stranger(scene: &Scene, version: Version, kind: ConnectionType) -> Raw {
    let mut raw = scene.call();
    raw.version = version;
    let hello = Hello { version, ..hello(scene.stranger, scene.ip, Some(kind)) };
    raw.say(&[acceptor::encode_request(scene.node.nid), hello.encode().unwrap()].concat());
    assert_eq!(raw.read_hello().connection_type, Some(kind.mirror()));
    raw
}

/// What the node closes while it is said cannot be said to the end.
fn try_to_say(raw: &mut Raw, bytes: &[u8]) {
    if let Err(error) = raw.stream.write_all(bytes) {
        assert!(matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe), "{error}");
    }
}

fn play(scene: &Scene, bad: &Bad) {
    println!("{}", bad.name);
    let before = (bad.counted)(&scene.node.counters());
    let mut raw = match bad.before {
        Before::Request | Before::Hello => scene.call(),
        Before::Message(version) => stranger(scene, version, ConnectionType::Control),
    };
    if let Before::Hello = bad.before {
        raw.say(&acceptor::encode_request(scene.node.nid));
    }
    try_to_say(&mut raw, &bad.says);
    let heard = raw.read_to_end();
    if let Before::Request = bad.before {
        assert_eq!(heard, bad.hears, "{}", bad.name);
    }
    wait_for(&bad.name, || (bad.counted)(&scene.node.counters()) > before);
}

/// The stranger's connection answers a ping: nothing that came before it was misunderstood.
fn expect_pong(scene: &Scene, raw: &mut Raw) {
    raw.put(&ping(scene), Cookies::default(), &[]);
    let (header, _, payload) = raw.read_lnet();
    assert_eq!(header.body.kind(), MessageType::Reply);
    assert_eq!(PingInfo::decode(&payload, 16).unwrap().info.entries[0].nid, scene.node.nid);
}

/// Ends the stranger's connection in one of the two ways; returns when the node knows.
fn hang_up(mut raw: Raw, politely: bool) {
    if politely {
        // The node may have been faster.
        let _ = raw.stream.shutdown(Shutdown::Write);
        raw.read_to_end();
    } else {
        SockRef::from(&raw.stream).set_linger(Some(Duration::ZERO)).unwrap();
    }
}

#[test]
fn who_talks_nonsense_is_hung_up_on_and_counted() {
    let scene = Scene::set(|_| {});
    scene.while_others_talk(|| {
        for bad in bad_openings(&scene).iter().chain(&bad_messages(&scene)) {
            play(&scene, bad);
        }
        scene.answers_a_new_node();
    });
}

#[test]
fn who_was_hung_up_on_may_call_again_at_once() {
    let scene = Scene::set(|_| {});
    for _ in 0..3000 {
        let mut raw = stranger(&scene, Version::V3, ConnectionType::Control);
        expect_pong(&scene, &mut raw);
        try_to_say(&mut raw, &[0xff; FRAME_LEN]);
        raw.read_to_end();
    }
}

#[test]
fn in_secure_mode_nonsense_from_privileged_ports_is_treated_the_same_and_others_are_not_heard() {
    let Some(_namespace) = namespace_or_skip() else { return };
    let mut scene = Scene::set(|config| config.accept = socklnd::AcceptFrom::Secure);
    scene.while_others_talk(|| {
        let before = scene.node.counters();
        for _ in 0..20 {
            let mut raw = scene.call();
            try_to_say(&mut raw, &acceptor::encode_request(scene.node.nid));
            assert_eq!(raw.read_to_end(), [0_u8; 0]);
        }
        assert_eq!(scene.node.counters().rejected, before.rejected + 20);
    });
    scene.privileged = true;
    scene.while_others_talk(|| {
        for bad in bad_openings(&scene).iter().chain(&bad_messages(&scene)) {
            play(&scene, bad);
        }
        scene.answers_a_new_node();
    });
}

#[test]
fn an_opening_cut_anywhere_leaves_nothing_behind() {
    let scene = Scene::set(|config| config.accept_timeout = SHORT);
    let hello = hello(scene.stranger, scene.ip, Some(ConnectionType::Control)).encode().unwrap();
    let opening = [acceptor::encode_request(scene.node.nid), hello].concat();
    let before = scene.node.counters();
    scene.while_others_talk(|| {
        for cut in 0..opening.len() {
            for politely in [true, false] {
                let mut raw = scene.call();
                raw.say(&opening[..cut]);
                hang_up(raw, politely);
            }
        }
        // And now silence in place of an end, all at once.
        let mut silent: Vec<Raw> = (0..opening.len()).map(|_| scene.call()).collect();
        for (cut, raw) in silent.iter_mut().enumerate() {
            try_to_say(raw, &opening[..cut]);
        }
        for raw in &mut silent {
            assert_eq!(raw.read_to_end(), [0_u8; 0]);
        }
        wait_for("all to be counted", || {
            let counters = scene.node.counters();
            counters.handshakes_timed_out == before.handshakes_timed_out + opening.len() as u64
        });
        scene.answers_a_new_node();
    });
}

#[test]
fn a_message_cut_anywhere_ends_its_operation_with_an_error() {
    let scene = Scene::set(|_| {});
    let bits = fresh_bits();
    let landed = room(5000);
    scene.node.offer_with(MdMemory::contiguous(landed.as_ptr() as usize, 5000), bits, 0);
    let mut header = put_header(scene.stranger_nid(), scene.node.nid, 5000, true);
    if let Body::Put { match_bits, .. } = &mut header.body {
        *match_bits = bits;
    }
    let put = message(Version::V3, &header, Cookies { request: 4, ack: 0 }, pattern(5000, 1));
    let head = head_len(Version::V3);
    scene.while_others_talk(|| {
        let cuts = (0..=head).step_by(5).chain([head, head + 1, head + 1024, head + 1025, put.len() - 1]);
        for (number, cut) in cuts.enumerate() {
            println!("cut at {cut}");
            let kind = [ConnectionType::Control, ConnectionType::BulkOut][number % 2];
            for politely in [true, false] {
                let before = CLOSED_BY_PEER(&scene.node.counters());
                let mut raw = stranger(&scene, Version::V3, kind);
                raw.say(&put[..cut]);
                hang_up(raw, politely);
                wait_for("the end to be counted", || CLOSED_BY_PEER(&scene.node.counters()) > before);
                // A reset may overtake the message.
                if cut >= head && politely {
                    let event = scene.event(bits);
                    assert_eq!((event.kind, event.status), (EventKind::Put, Err(Errno::Io)), "{event:?}");
                }
            }
        }
    });
}

#[test]
fn a_reset_in_the_middle_of_a_payload_ends_its_operation_with_an_error() {
    let scene = Scene::set(|_| {});
    let bits = fresh_bits();
    // Never freed: the node writes to it to its very end.
    let landed: &[AtomicU8] = Box::leak((0..1 << 20).map(|_| AtomicU8::new(0)).collect());
    scene.node.offer_with(MdMemory::contiguous(landed.as_ptr() as usize, 1 << 20), bits, 0);
    let mut header = put_header(scene.stranger_nid(), scene.node.nid, 1 << 20, true);
    if let Body::Put { match_bits, .. } = &mut header.body {
        *match_bits = bits;
    }
    let head = Head::message(Version::V3, &header, Cookies::default()).unwrap();
    scene.while_others_talk(|| {
        for _ in 0..20 {
            let before = CLOSED_BY_PEER(&scene.node.counters());
            let mut raw = stranger(&scene, Version::V3, ConnectionType::Control);
            raw.say(head.bytes());
            let mark = before as u8 + 1;
            raw.say(&[mark; 1000]);
            wait_for("the beginning of the payload", || landed[999].load(Ordering::Relaxed) == mark);
            hang_up(raw, false);
            let event = scene.event(bits);
            assert_eq!((event.kind, event.status), (EventKind::Put, Err(Errno::Io)), "{event:?}");
            wait_for("the end to be counted", || CLOSED_BY_PEER(&scene.node.counters()) > before);
        }
    });
}

#[test]
fn a_wrong_checksum_ends_the_operation_with_an_error() {
    let scene = Scene::set(|_| {});
    let bits = fresh_bits();
    let landed = room(3000);
    scene.node.offer_with(MdMemory::contiguous(landed.as_ptr() as usize, 3000), bits, 0);
    let mut header = put_header(scene.stranger_nid(), scene.node.nid, 3000, true);
    if let Body::Put { match_bits, .. } = &mut header.body {
        *match_bits = bits;
    }
    let good = message(Version::V2, &header, Cookies::default(), pattern(3000, 1));
    let mut sum = Checksum::new();
    sum.update(&good);
    let good = patched(good, 4, &sum.value().to_le_bytes());
    let last = good.len() - 1;
    scene.while_others_talk(|| {
        for (at, status) in [(None, Ok(())), (Some(4), Err(Errno::Io)), (Some(last), Err(Errno::Io))] {
            let mut raw = stranger(&scene, Version::V2, ConnectionType::Control);
            let mut says = good.clone();
            if let Some(at) = at {
                says[at] ^= 1;
            }
            raw.say(&says);
            let event = scene.event(bits);
            assert_eq!((event.kind, event.status), (EventKind::Put, status), "{at:?}: {event:?}");
            let before = CLOSED_BY_PEER(&scene.node.counters());
            hang_up(raw, true);
            wait_for("the end", || at.is_some() || CLOSED_BY_PEER(&scene.node.counters()) > before);
        }
    });
}

#[test]
fn what_a_node_has_no_use_for_is_dropped_and_the_connection_lives() {
    let scene = Scene::set(|_| {});
    let (us, them) = (scene.stranger_nid(), scene.node.nid);
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
        ("PUT to the portal of pushes that is none", patched(put(), at::PORTAL, &[0; 4])),
        ("PUT to a portal that is none", patched(put(), at::PORTAL, &[0xff; 4])),
        ("GET of everything", message(Version::V3, &get, Cookies::default(), &[])),
        ("ACK to nobody", message(Version::V3, &ack, Cookies::default(), &[])),
        ("REPLY to nobody", long(ack, Body::Reply { handle })),
        ("to a net of others", patched(put(), at::DEST_NID + 4, &[9])),
        ("from the loopback", patched(put(), at::SRC_NID, &loopback)),
        ("keep-alives", Head::noop(Cookies { request: 0, ack: 1 }).bytes().repeat(500)),
    ];
    scene.while_others_talk(|| {
        let mut raw = stranger(&scene, Version::V3, ConnectionType::Control);
        for (name, bytes) in rows {
            println!("{name}");
            raw.say(&bytes);
            expect_pong(&scene, &mut raw);
        }
    });
}

#[test]
fn two_thousand_silent_callers_do_not_keep_a_good_one_out() {
    const CALLERS: usize = 2000;
    // As many handshakes as may be under way at a time.
    const ROOM: usize = 1024;
    if raise_file_limit() < 5000 {
        test_support::skip("this process may not open enough files");
        return;
    }
    let scene = Scene::set(|config| {
        // None is dropped for its silence.
        config.accept_timeout = Duration::from_secs(600);
        // None has to call twice because the system has no room for it.
        config.accept_backlog = CALLERS as i32;
    });
    scene.while_others_talk(|| {
        let request = acceptor::encode_request(scene.node.nid);
        let mut callers = Vec::new();
        for number in 0..CALLERS {
            let mut raw = scene.call();
            try_to_say(&mut raw, &request[..number % (request.len() + 1)]);
            callers.push(raw);
        }
        wait_for("the oldest callers to be dropped", || {
            scene.node.counters().handshakes_dropped >= (CALLERS - ROOM) as u64
        });
        scene.answers_a_new_node();
        let is_open = |raw: &&Raw| {
            raw.stream.set_nonblocking(true).unwrap();
            matches!((&raw.stream).read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock)
        };
        let open = callers.iter().filter(is_open).count();
        assert!(open <= ROOM, "{open} handshakes are under way");
    });
}

#[test]
fn who_stops_reading_keeps_only_its_own_messages_waiting() {
    const LENGTH: usize = 100_000;
    const MESSAGES: usize = 1000;
    for reads_in_the_end in [true, false] {
        // Once it is gone it is called for every few of its messages.
        let soon = Duration::from_millis(5);
        let scene = Scene::set(|config| (config.min_reconnect, config.max_reconnect) = (soon, soon));
        let sent = pattern(LENGTH, 3);
        let bits = fresh_bits();
        let there = Target { match_bits: bits, ..target(scene.stranger_nid()) };
        scene.while_others_talk(|| {
            let mut raw = stranger(&scene, Version::V3, ConnectionType::Control);
            let md = scene.node.bind_bytes(sent);
            for _ in 0..MESSAGES {
                scene.node.core.put(None, md, false, there, 0).unwrap();
            }
            // The socket is full long before the last.
            let sent_before = scene.node.counters();
            scene.hear_more_rounds();
            scene.answers_a_new_node();
            assert_eq!(scene.node.counters().timed_out, sent_before.timed_out);
            if reads_in_the_end {
                for _ in 0..MESSAGES {
                    assert!(raw.read_lnet().2 == sent);
                }
            } else {
                hang_up(raw, false);
            }
            let failed = (0..MESSAGES).filter(|_| {
                let event = scene.event(bits);
                assert_eq!(event.kind, EventKind::Send, "{event:?}");
                event.status.is_err()
            });
            // Eight at most are in the driver; what has left has left.
            let failed = failed.count();
            assert_eq!(failed == 0, reads_in_the_end, "{failed} failed");
        });
    }
}

#[test]
fn one_byte_at_a_time_is_understood() {
    let scene = Scene::set(|_| {});
    let bits = fresh_bits();
    let landed = room(300);
    scene.node.offer_with(MdMemory::contiguous(landed.as_ptr() as usize, 300), bits, 0);
    let mut header = put_header(scene.stranger_nid(), scene.node.nid, 300, true);
    if let Body::Put { match_bits, .. } = &mut header.body {
        *match_bits = bits;
    }
    let sent = pattern(300, 8);
    scene.while_others_talk(|| {
        for version in [Version::V1, Version::V2, Version::V3, Version::V4] {
            for kind in [ConnectionType::Control, ConnectionType::BulkOut] {
                let mut raw = scene.call();
                raw.version = version;
                let hello = Hello { version, ..hello(scene.stranger, scene.ip, Some(kind)) };
                raw.say_slowly(&acceptor::encode_request(scene.node.nid));
                raw.say_slowly(&hello.encode().unwrap());
                assert_eq!(raw.read_hello().connection_type, Some(kind.mirror()));
                raw.say_slowly(&message(version, &header, Cookies::default(), sent));
                let event = scene.event(bits);
                assert_eq!((event.kind, event.status, event.mlength), (EventKind::Put, Ok(()), 300));
                assert!(landed == sent);
                // On a connection for bulk towards the node nothing comes back.
                if kind == ConnectionType::Control {
                    assert_eq!(raw.read_lnet().0.body.kind(), MessageType::Ack);
                }
                let before = CLOSED_BY_PEER(&scene.node.counters());
                hang_up(raw, true);
                wait_for("the end", || CLOSED_BY_PEER(&scene.node.counters()) > before);
            }
        }
    });
}

#[test]
fn captured_streams_with_wrong_bits_do_no_harm() {
    const STREAMS: usize = 300;
    // A reply goes to whoever the wrong bits name: here nothing leaves.
    let Some(_namespace) = namespace_or_skip() else { return };
    let mut scene = Scene::set(|_| {});
    let streams = captured_streams(&scene);
    assert!(streams.len() >= 10, "{}", streams.len());
    let mut random = Random(3);
    for part in 0..3 {
        scene.privileged = part == 1;
        scene.while_others_talk(|| {
            for _ in 0..STREAMS / 3 {
                let mut says = streams[random.below(streams.len())].clone();
                says.truncate(1 + random.below(says.len()));
                for _ in 0..1 + random.below(8) {
                    // Most where the codecs look.
                    let within = if random.below(2) == 0 { says.len().min(200) } else { says.len() };
                    says[random.below(within)] ^= 1 << random.below(8);
                }
                let mut raw = scene.call();
                try_to_say(&mut raw, &says);
                hang_up(raw, random.below(2) == 0);
            }
            scene.answers_a_new_node();
        });
    }
}

/// What the opening sides of captured connections said, up to the first hole, with the NIDs of the node and
/// the stranger in place of the captured ones.
fn captured_streams(scene: &Scene) -> Vec<Vec<u8>> {
    const LONGEST: usize = 20_000;
    let files = [
        "k2158-k-checksum-on.pcap",
        "k2158-d-lst-ping.pcap",
        "k2158-h-routed-ping.pcap",
        "k2158-c-lst-write-full-4k.pcap",
        "k2158-c-lst-read-full-4k.pcap",
        "k2158-host-hello-variants.pcap",
    ];
    let connections = files.iter().flat_map(|file| streams::connections(&pcap::segments(file)));
    let as_ours = |connection: &streams::Connection| {
        let stream = connection.stream(Side::Opener);
        let bytes = stream.read(0..stream.next_hole(0).min(LONGEST)).bytes;
        let hello = said(connection, Side::Opener).into_iter().find_map(|item| match item.content {
            Content::Hello { hello, .. } => hello.dest_nid.map(|dest| (hello.src_nid, dest)),
            _ => None,
        });
        let Some((src, dest)) = hello else { return bytes };
        let eight = |nid: Nid| nid.to_u64().unwrap_or_default().to_le_bytes();
        let ours = replaced(&bytes, eight(dest), eight(scene.node.nid));
        replaced(&ours, eight(src), eight(scene.stranger_nid()))
    };
    connections.map(|connection| as_ours(&connection)).filter(|bytes| !bytes.is_empty()).collect()
}

fn replaced(bytes: &[u8], from: [u8; 8], to: [u8; 8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let mut start = 0;
    while let Some(found) = bytes[start..].windows(8).position(|window| window == from) {
        bytes[start + found..start + found + 8].copy_from_slice(&to);
        start += found + 8;
    }
    bytes
}

#[test]
fn pings_in_the_names_of_thousands_do_not_keep_the_node_from_others() {
    let Some(_namespace) = namespace_or_skip() else { return };
    let scene = Scene::set(|_| {});
    scene.while_others_talk(|| {
        let mut raw = stranger(&scene, Version::V3, ConnectionType::Control);
        for number in 0..3000_u32 {
            let somebody = tcp((0x7f70_0000 + number).into());
            raw.put(&Header { src_nid: somebody, ..ping(&scene) }, Cookies::default(), &[]);
        }
        expect_pong(&scene, &mut raw);
        scene.answers_a_new_node();
    });
}
