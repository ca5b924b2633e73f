//! Hostile peers that hold resources: unfinished handshakes, unread messages, pings with thousands of source NIDs.

use crate::hostile::{close, expect_ping_reply, handshake, ping, send_until_closed};
use crate::support::netns::namespace_or_skip;
use crate::support::nodes::{Raw, fresh_bits, pattern, target, tcp, wait_for};
use crate::support::scene::{Scene, raise_file_limit};
use lnet_core::{EventKind, Target};
use lnet_wire::Header;
use socklnd::proto::frame::Cookies;
use socklnd::proto::{ConnectionType, Version, acceptor};
use std::io::{ErrorKind, Read};
use std::time::Duration;

#[test]
fn two_thousand_unfinished_handshakes_do_not_block_a_complete_one() {
    const CONNECTIONS: usize = 2000;
    // The limit of handshakes under way.
    const MAX_HANDSHAKES: usize = 1024;
    if raise_file_limit() < 5000 {
        test_support::skip("this process may not open enough files");
        return;
    }
    let scene = Scene::new(|config| {
        // No connection times out.
        config.accept_timeout = Duration::from_secs(600);
        // No connection has to be retried because the system's queue is full.
        config.accept_backlog = CONNECTIONS as i32;
    });
    scene.with_other_traffic(|| {
        let request = acceptor::encode_request(scene.node.nid);
        let mut connections = Vec::new();
        for number in 0..CONNECTIONS {
            let mut raw = scene.connect();
            send_until_closed(&mut raw, &request[..number % (request.len() + 1)]);
            connections.push(raw);
        }
        wait_for("the oldest handshakes to be dropped", || {
            scene.node.counters().handshakes_dropped >= (CONNECTIONS - MAX_HANDSHAKES) as u64
        });
        scene.serves_a_new_node();
        let is_open = |raw: &&Raw| {
            raw.stream.set_nonblocking(true).unwrap();
            matches!((&raw.stream).read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock)
        };
        let open = connections.iter().filter(is_open).count();
        assert!(open <= MAX_HANDSHAKES, "{open} handshakes are under way");
    });
}

#[test]
fn a_peer_that_stops_reading_delays_only_the_messages_to_itself() {
    const LENGTH: usize = 100_000;
    const MESSAGES: usize = 1000;
    for resumes_reading in [true, false] {
        // After the hostile peer has disconnected, the node reconnects for every few of its messages.
        let soon = Duration::from_millis(5);
        let scene = Scene::new(|config| (config.min_reconnect, config.max_reconnect) = (soon, soon));
        let sent = pattern(LENGTH, 3);
        let bits = fresh_bits();
        let there = Target { match_bits: bits, ..target(scene.hostile_nid()) };
        scene.with_other_traffic(|| {
            let mut raw = handshake(&scene, Version::V3, ConnectionType::Control);
            let md = scene.node.bind_bytes(sent);
            for _ in 0..MESSAGES {
                scene.node.core.data_path().put(None, md, false, there, 0).unwrap();
            }
            // The socket is full long before the last message.
            let before = scene.node.counters();
            scene.wait_for_other_traffic();
            scene.serves_a_new_node();
            assert_eq!(scene.node.counters().timed_out, before.timed_out);
            if resumes_reading {
                for _ in 0..MESSAGES {
                    assert!(raw.read_lnet().2 == sent);
                }
            } else {
                close(raw, false);
            }
            let failed = (0..MESSAGES).filter(|_| {
                let event = scene.event(bits);
                assert_eq!(event.kind, EventKind::Send, "{event:?}");
                event.status.is_err()
            });
            // Messages that the socket had taken before the reset do not fail.
            let failed = failed.count();
            assert_eq!(failed == 0, resumes_reading, "{failed} failed");
        });
    }
}

#[test]
fn pings_with_thousands_of_source_nids_do_not_block_other_peers() {
    let Some(_namespace) = namespace_or_skip() else { return };
    let scene = Scene::new(|_| {});
    scene.with_other_traffic(|| {
        let mut raw = handshake(&scene, Version::V3, ConnectionType::Control);
        for number in 0..3000_u32 {
            let source = tcp((0x7f70_0000 + number).into());
            raw.put(&Header { src_nid: source, ..ping(&scene) }, Cookies::default(), &[]);
        }
        expect_ping_reply(&scene, &mut raw);
        scene.serves_a_new_node();
    });
}
