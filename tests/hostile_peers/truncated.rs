//! Handshakes and messages that end too early, or that come one byte at a time.

use crate::hostile::{CLOSED_BY_PEER, close, handshake, send_until_closed};
use crate::support::nodes::{Raw, buffer, fresh_bits, hello, message, pattern, put_header, wait_for};
use crate::support::scene::{SHORT, Scene};
use lnet_core::{Errno, EventKind, MdMemory};
use lnet_wire::{Body, MessageType};
use socklnd::proto::frame::{Cookies, Head, head_len};
use socklnd::proto::{ConnectionType, Hello, Version, acceptor};
use std::sync::atomic::{AtomicU8, Ordering};

#[test]
fn a_handshake_truncated_at_any_byte_is_closed_or_times_out() {
    let scene = Scene::new(|config| config.accept_timeout = SHORT);
    let hello = hello(scene.hostile_ip, scene.ip, Some(ConnectionType::Control)).encode().unwrap();
    let opening = [acceptor::encode_request(scene.node.nid), hello].concat();
    let before = scene.node.counters();
    scene.with_other_traffic(|| {
        for cut in 0..opening.len() {
            for gracefully in [true, false] {
                let mut raw = scene.connect();
                raw.send(&opening[..cut]);
                close(raw, gracefully);
            }
        }
        // The same beginnings on connections that stay open, all at once: each times out.
        let mut stalled: Vec<Raw> = (0..opening.len()).map(|_| scene.connect()).collect();
        for (cut, raw) in stalled.iter_mut().enumerate() {
            send_until_closed(raw, &opening[..cut]);
        }
        for raw in &mut stalled {
            assert_eq!(raw.read_to_end(), [0_u8; 0]);
        }
        wait_for("all to be counted", || {
            let counters = scene.node.counters();
            counters.handshakes_timed_out == before.handshakes_timed_out + opening.len() as u64
        });
        scene.serves_a_new_node();
    });
}

#[test]
fn a_message_truncated_at_any_byte_ends_its_operation_with_an_error() {
    let scene = Scene::new(|_| {});
    let bits = fresh_bits();
    let sink = buffer(5000);
    scene.node.offer_with(MdMemory::contiguous(sink.as_ptr() as usize, 5000), bits, 0);
    let mut header = put_header(scene.hostile_nid(), scene.node.nid, 5000, true);
    if let Body::Put { match_bits, .. } = &mut header.body {
        *match_bits = bits;
    }
    let put = message(Version::V3, &header, Cookies { request: 4, ack: 0 }, pattern(5000, 1));
    let head = head_len(Version::V3);
    scene.with_other_traffic(|| {
        let cuts = (0..=head).step_by(5).chain([head, head + 1, head + 1024, head + 1025, put.len() - 1]);
        for (number, cut) in cuts.enumerate() {
            println!("cut at {cut}");
            let kind = [ConnectionType::Control, ConnectionType::BulkOut][number % 2];
            for gracefully in [true, false] {
                let before = CLOSED_BY_PEER(&scene.node.counters());
                let mut raw = handshake(&scene, Version::V3, kind);
                raw.send(&put[..cut]);
                close(raw, gracefully);
                wait_for("the end of the connection to be counted", || {
                    CLOSED_BY_PEER(&scene.node.counters()) > before
                });
                // A reset may discard bytes that were received before it.
                if cut >= head && gracefully {
                    let event = scene.event(bits);
                    assert_eq!((event.kind, event.status), (EventKind::Put, Err(Errno::Io)), "{event:?}");
                }
            }
        }
    });
}

#[test]
fn a_reset_within_a_payload_ends_its_operation_with_an_error() {
    let scene = Scene::new(|_| {});
    let bits = fresh_bits();
    // Never freed: the node may write to it as long as it runs.
    let sink: &[AtomicU8] = Box::leak((0..1 << 20).map(|_| AtomicU8::new(0)).collect());
    scene.node.offer_with(MdMemory::contiguous(sink.as_ptr() as usize, 1 << 20), bits, 0);
    let mut header = put_header(scene.hostile_nid(), scene.node.nid, 1 << 20, true);
    if let Body::Put { match_bits, .. } = &mut header.body {
        *match_bits = bits;
    }
    let head = Head::message(Version::V3, &header, Cookies::default()).unwrap();
    scene.with_other_traffic(|| {
        for _ in 0..20 {
            let before = CLOSED_BY_PEER(&scene.node.counters());
            let mut raw = handshake(&scene, Version::V3, ConnectionType::Control);
            raw.send(head.bytes());
            let mark = before as u8 + 1;
            raw.send(&[mark; 1000]);
            wait_for("the beginning of the payload", || sink[999].load(Ordering::Relaxed) == mark);
            close(raw, false);
            let event = scene.event(bits);
            assert_eq!((event.kind, event.status), (EventKind::Put, Err(Errno::Io)), "{event:?}");
            wait_for("the end of the connection to be counted", || {
                CLOSED_BY_PEER(&scene.node.counters()) > before
            });
        }
    });
}

#[test]
fn a_peer_that_sends_one_byte_at_a_time_is_served() {
    let scene = Scene::new(|_| {});
    let bits = fresh_bits();
    let sink = buffer(300);
    scene.node.offer_with(MdMemory::contiguous(sink.as_ptr() as usize, 300), bits, 0);
    let mut header = put_header(scene.hostile_nid(), scene.node.nid, 300, true);
    if let Body::Put { match_bits, .. } = &mut header.body {
        *match_bits = bits;
    }
    let sent = pattern(300, 8);
    scene.with_other_traffic(|| {
        for version in [Version::V1, Version::V2, Version::V3, Version::V4] {
            for kind in [ConnectionType::Control, ConnectionType::BulkOut] {
                let mut raw = scene.connect();
                raw.version = version;
                let hello = Hello { version, ..hello(scene.hostile_ip, scene.ip, Some(kind)) };
                raw.send_slowly(&acceptor::encode_request(scene.node.nid));
                raw.send_slowly(&hello.encode().unwrap());
                assert_eq!(raw.read_hello().connection_type, Some(kind.mirror()));
                raw.send_slowly(&message(version, &header, Cookies::default(), sent));
                let event = scene.event(bits);
                assert_eq!((event.kind, event.status, event.mlength), (EventKind::Put, Ok(()), 300));
                assert!(sink == sent);
                // On a bulk connection towards the node no ACK comes back.
                if kind == ConnectionType::Control {
                    assert_eq!(raw.read_lnet().0.body.kind(), MessageType::Ack);
                }
                let before = CLOSED_BY_PEER(&scene.node.counters());
                close(raw, true);
                wait_for("the end of the connection", || CLOSED_BY_PEER(&scene.node.counters()) > before);
            }
        }
    });
}
