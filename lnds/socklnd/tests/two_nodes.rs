//! Two nodes with real cores and real sockets exchange messages.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::lnd::{Driver, Progress};
use lnet_core::memory::MemRange;
use lnet_core::{EventKind, MdMemory, MdOptions, Target};
use socklnd::proto::Version;
use socklnd::{DeliveryAcks, SocklndConfig};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use support::pair::pair;
use support::*;

const SIZES: [usize; 9] = [0, 1, 927, 928, 1023, 4096, 65_537, 1 << 19, 1 << 20];

/// Starts two nodes that take each other for kernel nodes.
fn nodes_that_hide_their_implementation(change: impl Fn(&mut SocklndConfig)) -> (Node, Node) {
    pair(|config| {
        config.implementation_id = 0;
        change(config);
    })
}

/// Runs PUTs with ACK and GETs of all sizes from `a` to `b`.
fn exchange_all_sizes(a: &Node, b: &Node) {
    for (seed, size) in SIZES.into_iter().enumerate() {
        let bits = fresh_bits();
        let there = Target { match_bits: bits, ..target(b.nid) };
        let sent = pattern(size, seed as u8);
        let landed = buffer(size);
        b.offer_with(MdMemory::contiguous(landed.as_ptr() as usize, size as u32), bits, 0);
        a.core.data_path().put(None, a.bind_bytes(sent), true, there, 77).unwrap();
        let put = b.expect(EventKind::Put);
        assert_eq!((put.mlength as usize, put.status, put.hdr_data), (size, Ok(()), 77));
        assert_eq!(put.initiator.nid, Some(a.nid));
        assert!(landed == sent, "{size} bytes");
        let kinds = [a.event().kind, a.event().kind];
        assert!(kinds.contains(&EventKind::Ack) && kinds.contains(&EventKind::Send), "{kinds:?}");

        let fetched = buffer(size);
        a.core.data_path().get(None, a.bind_bytes(fetched), there).unwrap();
        let events = [a.event(), a.event()];
        let reply = events.iter().find(|event| event.kind == EventKind::Reply).unwrap();
        assert_eq!((reply.mlength as usize, reply.status), (size, Ok(())));
        assert!(fetched == sent, "{size} bytes");
        assert_eq!(b.expect(EventKind::Get).status, Ok(()));
    }
}

#[test]
fn puts_and_gets_of_all_sizes_go_both_ways() {
    let (a, b) = pair(|_| {});
    exchange_all_sizes(&a, &b);
    exchange_all_sizes(&b, &a);
    wait_for("three connections", || a.counters().connected == 3 && b.counters().accepted == 3);
    assert_eq!(b.counters().connected, 0);
    assert_eq!((a.counters().protocol_errors, b.counters().protocol_errors), (0, 0));
}

#[test]
fn a_node_that_asks_for_no_delivery_acks_gives_them() {
    let (low, high, port) = addresses();
    let a = Node::start(tcp(low), same_implementation(config(port), 1));
    let b = Node::start(
        tcp(high),
        SocklndConfig { delivery_acks: DeliveryAcks::Large, ..same_implementation(config(port), 2) },
    );
    exchange_all_sizes(&a, &b);
    exchange_all_sizes(&b, &a);
    assert_eq!(a.counters().acks, 0);
    assert!(b.counters().acks > 0);
}

#[test]
fn nodes_that_hide_their_implementation_acknowledge_once_they_have_a_bulk_connection() {
    let (a, b) = nodes_that_hide_their_implementation(|_| {});
    exchange_all_sizes(&a, &b);
    wait_for("three connections", || a.counters().connected == 3);
    exchange_all_sizes(&b, &a);
    exchange_all_sizes(&a, &b);
    wait_for("delivery ACKs", || a.counters().acks > 0 && b.counters().acks > 0);
    assert_eq!((a.counters().protocol_errors, b.counters().protocol_errors), (0, 0));
}

#[test]
fn version_2_works_with_checksums_and_without() {
    for enable_csum in [false, true] {
        let (a, b) = pair(|config| {
            config.use_protocol = Version::V2;
            config.enable_csum = enable_csum;
        });
        exchange_all_sizes(&a, &b);
        exchange_all_sizes(&b, &a);
        assert_eq!((a.counters().protocol_errors, b.counters().protocol_errors), (0, 0));
    }
}

#[test]
fn delivery_acks_are_requested_and_given() {
    let (a, b) = nodes_that_hide_their_implementation(|config| {
        config.delivery_acks = DeliveryAcks::Large;
        config.zc_min_payload = Some(928);
    });
    exchange_all_sizes(&a, &b);
    wait_for("three connections", || a.counters().connected == 3);
    exchange_all_sizes(&b, &a);
    exchange_all_sizes(&a, &b);
    assert!(a.counters().acks > 0 && b.counters().acks > 0);
    assert_eq!((a.counters().protocol_errors, b.counters().protocol_errors), (0, 0));
}

#[test]
fn several_connections_of_each_bulk_type_are_opened() {
    let (a, b) = pair(|config| config.conns_per_peer = 3);
    exchange_all_sizes(&a, &b);
    wait_for("seven connections", || a.counters().connected == 7);
    assert_eq!(b.counters().accepted, 7);
}

#[test]
fn untyped_connections_and_several_schedulers_work() {
    let (a, b) = pair(|config| {
        config.typed_conns = false;
        config.schedulers = 3;
    });
    exchange_all_sizes(&a, &b);
    exchange_all_sizes(&b, &a);
    assert_eq!(a.counters().connected, 1);
}

#[test]
fn a_node_sends_to_itself() {
    let (low, _, port) = addresses();
    let node = Node::start(tcp(low), config(port));
    let landed = buffer(5000);
    let sent = pattern(5000, 1);
    node.offer(landed);
    node.put(node.bind_bytes(sent), node.nid, true);
    let kinds = [node.event().kind, node.event().kind, node.event().kind];
    for kind in [EventKind::Put, EventKind::Ack, EventKind::Send] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    assert!(landed == sent);
    wait_for("the whole set", || node.counters().connected == node.counters().accepted);
}

#[test]
fn memory_in_many_pieces_is_sent_and_filled() {
    let (a, b) = pair(|_| {});
    let sent = pattern(1 << 20, 9);
    let landed = buffer(1 << 20);
    // The memory has more pieces than one system call takes.
    let pieces = |bytes: &[u8], size: usize| {
        let runs: Vec<_> = bytes
            .chunks(size)
            .map(|chunk| MemRange { address: chunk.as_ptr() as usize, len: chunk.len() })
            .collect();
        MdMemory::scattered(&runs).unwrap()
    };
    b.offer_with(pieces(landed, 700), BITS, 0);
    a.put(a.bind(pieces(sent, 1100)), b.nid, true);
    assert_eq!(b.expect(EventKind::Put).mlength, 1 << 20);
    assert!(landed == sent);
}

#[test]
fn a_payload_beyond_the_md_is_dropped_and_the_next_message_is_received() {
    let (a, b) = pair(|_| {});
    let sent = pattern(1 << 20, 3);
    let landed = buffer(10_000);
    let memory = MdMemory::contiguous(landed.as_ptr() as usize, 10_000);
    b.offer_with(memory, BITS, MdOptions::TRUNCATE.0);
    let md = a.bind_bytes(sent);
    for _ in 0..5 {
        a.put(md, b.nid, true);
        let put = b.expect(EventKind::Put);
        assert_eq!((put.mlength, put.rlength), (10_000, 1 << 20));
        let _ = (a.event(), a.event());
        // Nothing at the target matches this request.
        let nowhere = Target { match_bits: 0, ..target(b.nid) };
        a.core.data_path().put(None, md, false, nowhere, 0).unwrap();
        a.expect(EventKind::Send);
    }
    assert!(*landed == sent[..10_000]);
}

#[test]
fn a_lazy_portal_defers_a_message_until_an_md_is_attached() {
    let (a, b) = pair(|_| {});
    b.core.data_path().set_lazy_portal(PORTAL).unwrap();
    let sent = pattern(300_000, 5);
    let landed = buffer(300_000);
    a.put(a.bind_bytes(sent), b.nid, true);
    a.expect(EventKind::Send);
    wait_for("the whole set", || a.counters().connected == 3);
    b.no_event();
    b.offer(landed);
    assert_eq!(b.expect(EventKind::Put).mlength, 300_000);
    assert!(landed == sent);
    a.expect(EventKind::Ack);
}

#[test]
fn an_md_attached_in_a_handler_resumes_a_deferred_message() {
    let (a, b) = pair(|_| {});
    b.core.data_path().set_lazy_portal(PORTAL).unwrap();
    let sent = pattern(2000, 5);
    for _ in 0..2 {
        a.put(a.bind_bytes(sent), b.nid, true);
        a.expect(EventKind::Send);
    }
    let landed = buffer(2000);
    b.offer(landed);
    for _ in 0..2 {
        assert_eq!(b.expect(EventKind::Put).mlength, 2000);
        a.expect(EventKind::Ack);
    }
}

#[test]
fn an_application_thread_can_receive() {
    let (a, b) = pair(|_| {});
    let landed = buffer(100);
    let sent = pattern(100, 2);
    b.offer(landed);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                assert_ne!(b.driver.progress(Duration::from_millis(50)), Progress::NotOffered);
            }
        });
        for _ in 0..1000 {
            a.put(a.bind_bytes(sent), b.nid, true);
            b.expect(EventKind::Put);
            let _ = (a.event(), a.event());
        }
        stop.store(true, Ordering::Relaxed);
        b.driver.interrupt_progress();
    });
}

#[test]
fn only_one_application_thread_at_a_time_polls() {
    let (low, _, port) = addresses();
    let node = Node::start(tcp(low), config(port));
    let turned_away = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !turned_away.load(Ordering::SeqCst) {
                    if node.driver.progress(Duration::from_millis(50)) == Progress::NotOffered {
                        turned_away.store(true, Ordering::SeqCst);
                        node.driver.interrupt_progress();
                    }
                }
            });
        }
    });
}

#[test]
fn many_threads_send_in_both_directions_and_nothing_is_lost() {
    const THREADS: u64 = 4;
    const EACH: u64 = 300;
    let (a, b) = pair(|config| config.zc_min_payload = Some(20_000));
    std::thread::scope(|scope| {
        for (from, to, first) in [(&a, &b, 0), (&b, &a, THREADS)] {
            for thread in first..first + THREADS {
                let size = 1 + (thread as usize) * 7919;
                let landed = buffer(size);
                let bits = 500 + thread;
                to.offer_with(MdMemory::contiguous(landed.as_ptr() as usize, size as u32), bits, 0);
                let sent = pattern(size, thread as u8);
                let md = from.bind_bytes(sent);
                scope.spawn(move || {
                    for _ in 0..EACH {
                        let there = Target { match_bits: bits, ..target(to.nid) };
                        from.core.data_path().put(None, md, true, there, 0).unwrap();
                    }
                });
            }
        }
        // Each node gets PUT events of the other's messages, and SEND and ACK events of its own.
        for node in [&a, &b] {
            let mut seen = [0; 3];
            for _ in 0..3 * THREADS * EACH {
                let event = node.event();
                assert_eq!(event.status, Ok(()));
                match event.kind {
                    EventKind::Put => seen[0] += 1,
                    EventKind::Send => seen[1] += 1,
                    EventKind::Ack => seen[2] += 1,
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(seen, [THREADS * EACH; 3]);
        }
    });
}
