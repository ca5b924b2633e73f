//! One node, and peers that say exactly what the test wants: refusals, races, restarts, odd bytes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::{Errno, EventKind};
use lnet_wire::{Body, NetId, NetType, Nid, Pid};
use socket2::{SockFilter, SockRef};
use socklnd::proto::frame::{Cookies, FRAME_LEN, Head};
use socklnd::proto::{ConnectionType, Hello, Version, acceptor};
use socklnd::{AcceptFrom, DeliveryAcks};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::*;

/// `BPF_RET | BPF_K`: what comes is cut to so many bytes; 0 drops it.
const RETURN: u16 = 6;

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
        // An offer of version 3: type none, our own NID as the destination.
        ("HELLO version 99", edit(4, &[99]), None),
    ] {
        let mut raw = Raw::connect(low.into(), 0, high.into(), port);
        raw.say(&bytes);
        match want {
            Some(want) => assert_eq!(raw.read_to_end(), want, "{name}"),
            None => {
                let offer = raw.read_hello();
                assert_eq!((offer.version, offer.connection_type), (Version::V3, None), "{name}");
                assert_eq!((offer.src_nid, offer.dest_nid), (node.nid, Some(node.nid)), "{name}");
                assert_eq!(raw.read_to_end(), [], "{name}");
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
        raw.say(&[acceptor::encode_request(tcp(high)), hello.encode().unwrap()].concat());
        raw.read_hello()
    };
    let rows = [
        (Version::V3, ConnectionType::Control, ConnectionType::Control),
        (Version::V2, ConnectionType::BulkIn, ConnectionType::BulkOut),
        (Version::V1, ConnectionType::Any, ConnectionType::Any),
        (Version::V4, ConnectionType::BulkOut, ConnectionType::BulkIn),
    ];
    for ((version, kind, answer), ended) in rows.into_iter().zip(1..) {
        let got = asked(&|hello| {
            hello.version = version;
            hello.connection_type = Some(kind);
            hello.dest_nid = (version != Version::V1).then_some(tcp(low));
            hello.ips = if version == Version::V3 { vec![1, 2] } else { vec![] };
        });
        assert_eq!((got.version, got.connection_type), (version, Some(answer)));
        assert_eq!((got.src_nid, got.src_pid), (node.nid, Pid::LUSTRE));
        assert_eq!((got.dest_pid, got.dest_incarnation), (Pid(0), 0));
        wait_for("the end of the connection", || node.counters().closed_by_peer == ended);
    }
}

#[test]
fn a_secure_node_closes_on_an_unprivileged_port_without_reading() {
    let (node, low, high, port) = node(|config| config.accept = AcceptFrom::Secure);
    let mut raw = Raw::connect(low.into(), 0, high.into(), port);
    assert_eq!(raw.read_to_end(), []);
    assert_eq!(node.counters().rejected, 1);
}

#[test]
fn a_silent_caller_delays_nobody() {
    let (node, low, high, port) = node(|_| {});
    let _silent: Vec<_> = (0..50).map(|_| Raw::connect(low.into(), 0, high.into(), port)).collect();
    let _raw = Raw::open(low, high, port, ConnectionType::Control);
    assert_eq!(node.counters().handshakes_timed_out, 0);
}

#[test]
fn thousands_of_half_open_handshakes_are_survived() {
    let (node, low, high, port) = node(|config| {
        config.accept_timeout = PATIENCE;
        config.accept_backlog = 4096;
    });
    let mut silent = Vec::new();
    for _ in 0..1400 {
        let Ok(stream) = TcpStream::connect((high, port)) else {
            test_support::skip("this process may not have so many files open");
            return;
        };
        silent.push(stream);
    }
    let _raw = Raw::open(low, high, port, ConnectionType::Control);
    assert!(node.counters().handshakes_dropped >= 300, "{:?}", node.counters());
}

#[test]
fn a_handshake_and_a_message_may_come_byte_by_byte() {
    let (node, low, high, port) = node(|_| {});
    let landed = room(300);
    node.offer(landed);
    let mut raw = Raw::connect(low.into(), 0, high.into(), port);
    raw.say_slowly(&acceptor::encode_request(tcp(high)));
    raw.say_slowly(&hello(low, high, Some(ConnectionType::Control)).encode().unwrap());
    raw.read_hello();
    let sent = pattern(300, 4);
    let bytes = message(Version::V3, &put_header(tcp(low), tcp(high), 300, true), NO_COOKIES, sent);
    let noop = Head::noop(NO_COOKIES);
    for _ in 0..3 {
        raw.say_slowly(&bytes);
        raw.say_slowly(noop.bytes());
        assert_eq!(node.expect(EventKind::Put).status, Ok(()));
        assert!(matches!(raw.read_lnet().0.body, Body::Ack { accepted: 300, .. }));
    }
    assert!(landed == sent);
}

#[test]
fn many_messages_may_come_in_one_piece() {
    let (node, low, high, port) = node(|_| {});
    node.offer(room(3000));
    let mut raw = Raw::open(low, high, port, ConnectionType::Control);
    let mut all = Vec::new();
    for size in 0..500 {
        all.extend(Head::noop(NO_COOKIES).bytes());
        let header = put_header(tcp(low), tcp(high), size * 5, false);
        all.extend(message(Version::V3, &header, NO_COOKIES, pattern(size * 5, 1)));
    }
    raw.say(&all);
    for size in 0..500 {
        let put = node.expect(EventKind::Put);
        assert_eq!((put.mlength, put.status), (size * 5, Ok(())));
    }
}

#[test]
fn a_message_cut_off_by_the_end_of_its_connection_fails() {
    let (node, low, high, port) = node(|_| {});
    node.offer(room(5000));
    let mut raw = Raw::open(low, high, port, ConnectionType::BulkOut);
    let header = put_header(tcp(low), tcp(high), 5000, false);
    raw.say(&message(Version::V3, &header, NO_COOKIES, &[0; 4000]));
    drop(raw);
    assert_eq!(node.expect(EventKind::Put).status, Err(Errno::Io));
}

#[test]
fn breaking_the_protocol_ends_all_connections_of_that_peer_and_no_other() {
    let (node, low, high, port) = node(|_| {});
    let third = Ipv4Addr::from(u32::from(high) + 1);
    let mut other = Raw::open(third, high, port, ConnectionType::Control);
    node.offer(room(8));
    let good = put_header(tcp(low), tcp(high), 8, false);
    let mut unknown_kind = message(Version::V3, &good, NO_COOKIES, &[0; 8]);
    unknown_kind[0] = 0xc2;
    let mut unknown_type = message(Version::V3, &good, NO_COOKIES, &[0; 8]);
    unknown_type[24 + 24] = 9;
    let mut wrong_checksum = message(Version::V3, &good, NO_COOKIES, &[0; 8]);
    wrong_checksum[4] = 9;
    let too_long = put_header(tcp(low), tcp(high), (1 << 20) + 1, false);
    let for_another = put_header(tcp(low), tcp(low), 8, false);
    for (name, bytes) in [
        ("an unknown kind", unknown_kind),
        ("an unknown type", unknown_type),
        ("a wrong checksum", wrong_checksum),
        ("too much payload", message(Version::V3, &too_long, NO_COOKIES, &[])),
        ("for another node", message(Version::V3, &for_another, NO_COOKIES, &[0; 8])),
        ("a receipt for nothing", Head::noop(Cookies { request: 0, ack: 9 }).bytes().to_vec()),
        ("a pair with the keep-alive", Head::noop(Cookies { request: 9, ack: 1 }).bytes().to_vec()),
        ("a range of everything", Head::noop(Cookies { request: 1, ack: u64::MAX }).bytes().to_vec()),
    ] {
        let before = node.counters().protocol_errors;
        let mut control = Raw::open(low, high, port, ConnectionType::Control);
        let mut bulk = Raw::open(low, high, port, ConnectionType::BulkOut);
        bulk.say(&bytes);
        assert_eq!(bulk.read_to_end(), [], "{name}");
        assert_eq!(control.read_to_end(), [], "{name}");
        assert_eq!(node.counters().protocol_errors, before + 1, "{name}");
    }
    while node.counters().protocol_errors < 8 {}
    other.put(&put_header(tcp(third), tcp(high), 8, true), NO_COOKIES, &[1; 8]);
    loop {
        let put = node.expect(EventKind::Put);
        if put.initiator.nid == Some(tcp(third)) {
            break;
        }
    }
    other.read_lnet();
}

#[test]
fn who_ends_one_connection_is_told_that_the_others_have_ended_and_what_it_still_sends_there_is_taken() {
    let (node, low, high, port) = node(|config| config.sock_timeout = Duration::from_secs(600));
    node.offer(room(8));
    let control = Raw::open(low, high, port, ConnectionType::Control);
    let mut bulk = Raw::open(low, high, port, ConnectionType::BulkOut);
    let header = put_header(tcp(low), tcp(high), 8, false);
    // Until this is there it may not have been noted that the connection is.
    bulk.put(&header, NO_COOKIES, &[1; 8]);
    assert_eq!(node.expect(EventKind::Put).mlength, 8);
    drop(control);
    assert_eq!(bulk.read_to_end(), []);
    bulk.put(&header, NO_COOKIES, &[1; 8]);
    assert_eq!(node.expect(EventKind::Put).mlength, 8);
    assert_eq!(node.counters().closed_by_peer, 1);
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
    assert_eq!(three.read_to_end(), []);
}

#[test]
fn a_new_incarnation_is_refused_once_and_ends_the_old_connections() {
    let (_node, low, high, port) = node(|_| {});
    let mut old = Raw::open(low, high, port, ConnectionType::Control);
    let call = |incarnation| {
        let mut raw = Raw::connect(low.into(), 0, high.into(), port);
        let hello = Hello { src_incarnation: incarnation, ..hello(low, high, Some(ConnectionType::Control)) };
        raw.say(&[acceptor::encode_request(tcp(high)), hello.encode().unwrap()].concat());
        let answer = raw.read_hello();
        (raw, answer)
    };
    let (_refused, answer) = call(43);
    assert_eq!((answer.connection_type, answer.dest_nid), (None, Some(tcp(low))));
    assert_eq!(old.read_to_end(), []);
    let (_accepted, answer) = call(43);
    assert_eq!(answer.connection_type, Some(ConnectionType::Control));
}

#[test]
fn the_call_of_the_higher_nid_wins_a_race() {
    let (low, high, port) = addresses();
    for (mine, other, accepted) in [(low, high, true), (high, low, false)] {
        let node = Node::start(tcp(mine), config(port));
        let listener = Listening::on(other, port);
        node.put(node.bind_bytes(pattern(8, 1)), tcp(other), false);
        // The node is now in the middle of calling.
        let (mut theirs, asked) = listener.called();
        let (_raw, answer) = Raw::hello(other, mine, port, ConnectionType::Control);
        assert_eq!(answer.connection_type.is_some(), accepted);
        if !accepted {
            // Its own call goes on.
            let yes = Hello { connection_type: asked.connection_type, ..hello(other, mine, None) };
            theirs.say(&yes.encode().unwrap());
            theirs.read_lnet();
        }
        assert_eq!(node.expect(EventKind::Send).status, Ok(()));
    }
}

#[test]
fn a_call_that_hangs_does_not_turn_the_peers_call_down_for_ever() {
    let (node, low, high, port) = node(|_| {});
    let listener = Listening::on(low, port);
    node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
    // The node, which has the higher NID, is now in the middle of calling, and stays there.
    let (mut theirs, _) = listener.called();
    let mut refused = 0;
    let mut raw = loop {
        let (raw, answer) = Raw::hello(low, high, port, ConnectionType::Control);
        if answer.connection_type.is_some() {
            break raw;
        }
        refused += 1;
        std::thread::sleep(Duration::from_millis(10));
    };
    assert!(refused > 0);
    assert_eq!(theirs.read_to_end(), []);
    assert_eq!(raw.read_lnet().0.payload_length, 8);
    assert_eq!(node.expect(EventKind::Send).status, Ok(()));
}

#[test]
fn who_calls_for_what_he_has_is_probed_because_he_may_have_lost_it() {
    let (_node, low, high, port) = node(|_| {});
    let mut control = Raw::open(low, high, port, ConnectionType::Control);
    let (_again, answer) = Raw::hello(low, high, port, ConnectionType::Control);
    assert_eq!(answer.connection_type, None);
    assert_eq!(control.read_noop(), Cookies { request: 0, ack: 1 });
}

#[test]
fn who_wants_more_bulk_connections_than_there_may_be_is_turned_down_and_nothing_is_probed_for_that() {
    use ConnectionType::{BulkIn, BulkOut, Control};
    let (node, low, high, port) = node(|_| {});
    let mut set = [Control, BulkIn, BulkOut].map(|kind| Raw::open(low, high, port, kind));
    for kind in [BulkIn, BulkOut, BulkIn] {
        let (mut surplus, answer) = Raw::hello(low, high, port, kind);
        assert_eq!(answer.connection_type, None);
        assert_eq!(surplus.read_to_end(), []);
    }
    // What would have been sent for that is before this.
    let memory = node.bind_bytes(pattern(8, 1));
    node.put(memory, tcp(low), false);
    assert_eq!(set[0].read_lnet().0.payload_length, 8);
    let mut bulk = [0; 1];
    for raw in &mut set[1..] {
        raw.stream.set_nonblocking(true).unwrap();
        assert!(raw.stream.peek(&mut bulk).is_err(), "nothing was sent there");
    }
}

#[test]
fn who_calls_for_what_answers_nothing_any_more_is_let_in_long_before_that_is_late() {
    let (node, low, high, port) = node(|config| config.sock_timeout = Duration::from_secs(600));
    let lost = Raw::open(low, high, port, ConnectionType::Control);
    // From now on the system drops what comes for it, as a machine between the two might.
    SockRef::from(&lost.stream).attach_filter(&[SockFilter::new(RETURN, 0, 0, 0)]).unwrap();
    wait_for("a call to be accepted", || {
        std::thread::sleep(Duration::from_millis(10));
        Raw::hello(low, high, port, ConnectionType::Control).1.connection_type.is_some()
    });
    assert_eq!((node.counters().timed_out, node.counters().unresponsive), (1, 0));
}

#[test]
fn who_calls_for_what_he_has_again_and_again_does_not_end_it_as_long_as_it_answers() {
    let (node, low, high, port) = node(|_| {});
    node.offer(room(8));
    let mut control = Raw::open(low, high, port, ConnectionType::Control);
    // Nothing is read until the end: it is the system that answers.
    wait_for("three probes", || {
        std::thread::sleep(Duration::from_millis(10));
        assert_eq!(Raw::hello(low, high, port, ConnectionType::Control).1.connection_type, None);
        control.stream.peek(&mut [0; 3 * FRAME_LEN]).unwrap() == 3 * FRAME_LEN
    });
    control.put(&put_header(tcp(low), tcp(high), 8, false), NO_COOKIES, &[1; 8]);
    assert_eq!(node.expect(EventKind::Put).mlength, 8);
}

#[test]
fn who_gives_no_receipt_is_probed_long_before_it_is_late() {
    let (node, low, _, port) = node(|config| {
        config.delivery_acks = DeliveryAcks::All;
        config.zc_min_payload = Some(0);
    });
    let listener = Listening::on(low, port);
    node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
    let mut all: Vec<_> = (0..3).map(|_| listener.accept(low).0).collect();
    all[0].read_lnet();
    wait_for("the set", || node.counters().connected == 3);
    node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
    let (_, cookies, _) = all[0].read_lnet();
    assert!(cookies.request > 1);
    assert_eq!(all[0].read_noop(), Cookies { request: 0, ack: 1 });
    assert_eq!(all[0].read_noop(), Cookies { request: 0, ack: 1 });
    all[0].say(Head::noop(Cookies { request: 0, ack: cookies.request }).bytes());
    for _ in 0..2 {
        assert_eq!(node.expect(EventKind::Send).status, Ok(()));
    }
    assert_eq!(node.counters().timed_out, 0);
}

#[test]
fn a_node_calls_for_control_then_bulk_in_then_bulk_out_and_sends_on_control_meanwhile() {
    let (node, low, high, port) = node(|_| {});
    let listener = Listening::on(low, port);
    node.put(node.bind_bytes(pattern(5000, 1)), tcp(low), false);
    let (mut control, kind) = listener.accept(low);
    assert_eq!(kind, ConnectionType::Control);
    let (header, cookies, payload) = control.read_lnet();
    assert_eq!((header.src_nid, header.dest_nid), (tcp(high), tcp(low)));
    assert_eq!((cookies, payload.len()), (NO_COOKIES, 5000));
    let (_bulk_in, kind) = listener.accept(low);
    assert_eq!(kind, ConnectionType::BulkIn);
    let (mut bulk_out, kind) = listener.accept(low);
    assert_eq!(kind, ConnectionType::BulkOut);
    wait_for("the set", || node.counters().connected == 3);
    node.put(node.bind_bytes(pattern(5000, 1)), tcp(low), false);
    assert_eq!(bulk_out.read_lnet().2.len(), 5000);
    node.put(node.bind_bytes(pattern(50, 1)), tcp(low), false);
    assert_eq!(control.read_lnet().2.len(), 50);
}

#[test]
fn calls_come_from_privileged_ports_where_that_is_allowed() {
    let (node, low, high, port) = node(|_| {});
    let listener = Listening::on(low, port);
    node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
    let (raw, _) = listener.called();
    let source = raw.stream.peer_addr().unwrap();
    assert_eq!(source.ip(), IpAddr::from(high));
    let allowed = TcpListener::bind((high, 1000)).is_ok();
    assert_eq!(source.port() <= 1023, allowed);
}

#[test]
fn a_peer_that_proposes_version_2_is_called_again_in_version_2() {
    let (node, low, high, port) = node(|_| {});
    let listener = Listening::on(low, port);
    node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
    let (mut first, asked) = listener.called();
    assert_eq!(asked.version, Version::V3);
    let no = Hello { version: Version::V2, ..hello(low, high, None) };
    first.say(&no.encode().unwrap());
    let (mut second, _) = listener.accept(low);
    assert_eq!(second.version, Version::V2);
    assert_eq!(second.read_lnet().2.len(), 8);
}

#[test]
fn a_call_answered_with_none_is_tried_again() {
    let (node, low, high, port) = node(|_| {});
    let listener = Listening::on(low, port);
    node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
    let (mut first, _) = listener.called();
    first.say(&hello(low, high, None).encode().unwrap());
    let (mut second, _) = listener.accept(low);
    assert_eq!(second.read_lnet().2.len(), 8);
}

#[test]
fn a_peer_that_hangs_up_before_all_that_waited_is_sent_is_called_again_for_the_rest() {
    let (node, low, high, port) = node(|config| config.typed_conns = false);
    let third = Ipv4Addr::from(u32::from(high) + 1);
    let mut other = Raw::open(third, high, port, ConnectionType::Control);
    let listener = Listening::on(low, port);
    for _ in 0..2 {
        node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
    }
    // The thread that sends what has waited is kept in the handler of the first.
    let stuck = Arc::new(Mutex::new(()));
    let guard = stuck.lock().unwrap();
    node.block_on(Arc::clone(&stuck));
    let mut raw = listener.accept(low).0;
    raw.read_lnet();
    raw.stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(raw.read_to_end(), []);
    // What the same thread notices after that.
    other.say(&[0xff; FRAME_LEN]);
    wait_for("the end of that", || node.counters().protocol_errors == 1);
    drop(guard);
    assert_eq!(node.expect(EventKind::Send).status, Ok(()));
    wait_for("a call", || {
        node.no_event();
        listener.called_already().is_some()
    });
}

#[test]
fn calls_that_fail_fail_the_message() {
    let privileged = {
        let (_, high, _) = addresses();
        TcpListener::bind((high, 1002)).is_ok()
    };
    let hung_up = if privileged { Errno::ConnectionReset } else { Errno::HostUnreachable };
    type Answer = fn(Ipv4Addr, Ipv4Addr) -> Vec<u8>;
    let hangs_up: Answer = |_, _| vec![];
    let somebody_else: Answer = |low, high| {
        let hello = Hello { src_nid: tcp(high), ..hello(low, high, Some(ConnectionType::Control)) };
        hello.encode().unwrap()
    };
    let wrong_type: Answer = |low, high| hello(low, high, Some(ConnectionType::BulkIn)).encode().unwrap();
    let refusal: Answer = |_, _| acceptor::REFUSAL.to_vec();
    let no_hello: Answer = |_, _| vec![0; 60];
    for (name, answer, errno) in [
        ("nobody listens", None, Errno::ConnectionRefused),
        ("it hangs up", Some(hangs_up), hung_up),
        ("somebody else answers", Some(somebody_else), Errno::Protocol),
        ("another type of connection", Some(wrong_type), Errno::Protocol),
        ("a refusal", Some(refusal), Errno::Protocol),
        ("no hello", Some(no_hello), Errno::Protocol),
    ] {
        // A peer that has failed before may be known as hopeless: each case has its own.
        let (node, low, high, port) = node(|_| {});
        let listener = answer.map(|answer| (Listening::on(low, port), answer(low, high)));
        node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
        if let Some((listener, answer)) = listener {
            let (mut raw, _) = listener.called();
            raw.say(&answer);
            if !answer.is_empty() {
                assert_eq!(raw.read_to_end(), [], "{name}");
            }
        }
        assert_eq!(node.expect(EventKind::Send).status, Err(errno), "{name}");
    }
}

#[test]
fn a_call_that_nobody_answers_times_out_and_so_does_the_message() {
    // The peer's system accepts the call, and nobody reads it. However slow the machine is, time can only run out.
    let (node, low, _, port) = node(|config| config.sock_timeout = Duration::from_millis(50));
    let listener = Listening::on(low, port);
    node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
    assert_eq!(node.expect(EventKind::Send).status, Err(Errno::TimedOut));
    // The caller hangs up.
    listener.unheard().read_to_end();
    wait_for("the end of the call", || node.counters().connects_failed > 0);
}

#[test]
fn a_big_endian_peer_is_known_by_its_right_name() {
    let (node, low, high, port) = node(|_| {});
    let landed = room(100);
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
    raw.say(&[request, bytes].concat());
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
    raw.say(&put);
    assert_eq!(node.expect(EventKind::Put).initiator.nid, Some(tcp(low)));
    assert_eq!(raw.read_noop(), Cookies { request: 0, ack: 5 });
    raw.read_lnet();
    assert!(landed == sent);
}

#[test]
fn version_1_messages_have_no_frame() {
    let (node, low, high, port) = node(|_| {});
    node.offer(room(100));
    let mut raw = Raw::connect(low.into(), 0, high.into(), port);
    raw.version = Version::V1;
    let hello = Hello { version: Version::V1, dest_nid: None, ..hello(low, high, Some(ConnectionType::Any)) };
    raw.say(&[acceptor::encode_request(tcp(high)), hello.encode().unwrap()].concat());
    assert_eq!(raw.read_hello().version, Version::V1);
    raw.put(&put_header(tcp(low), tcp(high), 100, true), NO_COOKIES, &[1; 100]);
    node.expect(EventKind::Put);
    assert!(matches!(raw.read_lnet().0.body, Body::Ack { accepted: 100, .. }));
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
    node.offer(room(100));
    // From a privileged port anybody is believed to be anybody.
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
    raw.say(&[acceptor::encode_request(mine), hello.encode().unwrap()].concat());
    let answer = raw.read_hello();
    assert_eq!((answer.version, answer.src_nid, answer.dest_nid), (Version::V4, mine, Some(other)));
    raw.put(&put_header(other, mine, 100, true), NO_COOKIES, &[1; 100]);
    assert_eq!(node.expect(EventKind::Put).initiator.nid, Some(other));
    assert_eq!(raw.read_lnet().0.dest_nid, other);
}

#[test]
fn a_stranger_from_an_unprivileged_port_gets_a_name_of_our_making() {
    let (node, low, high, port) = node(|_| {});
    node.offer(room(100));
    let mut raw = Raw::connect(low.into(), 0, high.into(), port);
    let source = raw.stream.local_addr().unwrap().port();
    let pretended = Ipv4Addr::new(10, 1, 2, 3);
    let hello = hello(pretended, high, Some(ConnectionType::Control));
    raw.say(&[acceptor::encode_request(tcp(high)), hello.encode().unwrap()].concat());
    assert_eq!(raw.read_hello().dest_nid, Some(tcp(low)));
    raw.put(&put_header(tcp(pretended), tcp(high), 100, true), NO_COOKIES, &[1; 100]);
    let put = node.expect(EventKind::Put);
    let pid = Pid(Pid::USER_FLAG | u32::from(source));
    assert_eq!((put.initiator.nid, put.initiator.pid), (Some(tcp(low)), pid));
    // The answer finds it, under that name.
    let (ack, _, _) = raw.read_lnet();
    assert_eq!((ack.dest_nid, ack.dest_pid), (tcp(low), pid));
}

#[test]
fn a_peer_known_by_its_own_call_is_not_called_while_that_lasts() {
    let (node, low, high, port) = node(|_| {});
    let mut raw = Raw::open(low, high, port, ConnectionType::Control);
    // The answer is said before the connection is used.
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
fn what_waits_for_a_caller_to_complete_its_connections_goes_by_a_call_when_it_has_ended_them() {
    let (node, low, high, port) = node(|config| *config = ours(config.clone(), 1));
    let listener = Listening::on(low, port);
    // For what goes the other way.
    let bulk = Raw::open_as_ours(low, high, port, 2, ConnectionType::BulkOut);
    node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
    node.no_event();
    assert!(listener.called_already().is_none());
    drop(bulk);
    wait_for("a call", || listener.called_already().is_some());
}

#[test]
fn a_held_message_outlives_its_connection() {
    let (node, low, high, port) = node(|_| {});
    node.core.set_lazy_portal(PORTAL).unwrap();
    let mut raw = Raw::open(low, high, port, ConnectionType::Control);
    let header = put_header(tcp(low), tcp(high), 5000, false);
    raw.put(&header, NO_COOKIES, &[1; 5000]);
    raw.stream.shutdown(std::net::Shutdown::Write).unwrap();
    // Its payload had arrived before the end.
    node.offer(room(5000));
    assert_eq!(node.expect(EventKind::Put).mlength, 5000);
    assert_eq!(raw.read_to_end(), []);
}

#[test]
fn a_peer_whose_message_is_held_may_hang_up_and_call_again() {
    let (node, low, high, port) = node(|_| {});
    node.core.set_lazy_portal(PORTAL).unwrap();
    for round in 1..=3 {
        let mut raw = Raw::open(low, high, port, ConnectionType::Control);
        raw.put(&put_header(tcp(low), tcp(high), 100, false), NO_COOKIES, &[1; 100]);
        drop(raw);
        wait_for("the end", || node.counters().closed_by_peer == round);
    }
    // What they sent is still there to be had.
    for _ in 0..3 {
        node.offer(room(100));
        assert_eq!(node.expect(EventKind::Put).mlength, 100);
    }
}

#[test]
fn who_only_claims_a_nid_does_not_end_what_a_privileged_process_of_that_host_began() {
    let (node, low, high, port) = node(|_| {});
    let Some(from_port) = (600..1000).rev().find(|port| TcpListener::bind((low, *port)).is_ok()) else {
        test_support::skip("no privileged port to be had; run as root");
        return;
    };
    let call = |from_port, incarnation| {
        let mut raw = Raw::connect(low.into(), from_port, high.into(), port);
        let hello = Hello { src_incarnation: incarnation, ..hello(low, high, Some(ConnectionType::Control)) };
        raw.say(&[acceptor::encode_request(tcp(high)), hello.encode().unwrap()].concat());
        let answer = raw.read_hello().connection_type;
        (raw, answer)
    };
    let (mut privileged, answer) = call(from_port, 7);
    assert_eq!(answer, Some(ConnectionType::Control));
    // Had the first of these ended it, the second would be let in.
    assert_eq!((call(0, 8).1, call(0, 8).1), (None, None));
    node.offer(room(8));
    privileged.put(&put_header(tcp(low), tcp(high), 8, false), NO_COOKIES, &[1; 8]);
    assert_eq!(node.expect(EventKind::Put).mlength, 8);
}
