//! Limits on the connections of a hostile peer, and the access of other peers meanwhile. The limits are those of
//! docs/security.md.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socklnd::proto::{ConnectionType, Hello, acceptor};
use std::io::{ErrorKind, Read, Write};
use std::time::Duration;
use support::attack::*;
use support::*;

/// Whether the other side has left the connection open.
fn is_open(raw: &Raw) -> bool {
    raw.stream.set_nonblocking(true).unwrap();
    let open = matches!((&raw.stream).read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock);
    raw.stream.set_nonblocking(false).unwrap();
    open
}

#[test]
fn connections_of_one_address_are_limited_and_others_are_accepted() {
    const MAX_CONNS: usize = 5;
    let attack = Attack::start(|config| config.conns_per_address = MAX_CONNS);
    attack.round_trip();
    let mut open = Vec::new();
    // Bulk connections of as many made-up processes: from unprivileged ports the kernel makes a peer of each.
    for number in 0..MAX_CONNS as u32 {
        let said = Hello {
            src_nid: tcp(attack.address(1000 + number)),
            ..hello(attack.address(0), attack.me, Some(ConnectionType::Any))
        };
        let (raw, response) = Raw::send_hello(attack.address(0), attack.me, attack.port, &said);
        assert_eq!(response.connection_type, Some(ConnectionType::Any));
        open.push(raw);
    }
    for one_more in 1..=20 {
        let mut raw = attack.call(0);
        assert_eq!(raw.read_to_end(), [], "{one_more}");
    }
    assert_eq!(attack.counters().limit_rejected, 20);
    // Another address is accepted, and so is this one after it has closed a connection.
    drop(attack.open(1, ConnectionType::Control));
    drop(open.pop());
    wait_for("a place", || {
        let mut raw = attack.call(0);
        let opening = [
            acceptor::encode_request(attack.node.nid),
            hello(attack.address(0), attack.me, Some(ConnectionType::Control)).encode().unwrap(),
        ];
        raw.stream.write_all(&opening.concat()).is_ok() && raw.stream.read(&mut [0]).is_ok_and(|got| got > 0)
    });
    attack.round_trip();
}

#[test]
fn inbound_connections_leave_descriptors_to_the_process() {
    const DESCRIPTORS: u64 = 240;
    let had = getrlimit(Resource::Nofile);
    let few = Rlimit { current: Some(DESCRIPTORS), ..had };
    setrlimit(Resource::Nofile, few).unwrap();
    let attack = Attack::start(|config| {
        config.accept_backlog = 1000;
        config.accept_timeout = TIMEOUT;
    });
    // The attacker is in the same process. Only the limit at the node's start matters.
    setrlimit(Resource::Nofile, had).unwrap();
    attack.round_trip();
    let (mut open, mut refused, mut idle) = (Vec::new(), 0, Vec::new());
    for address in 0..20 {
        for number in 0..20 {
            // The connections come from unprivileged ports, with NIDs of others: each is a process, and a peer.
            let hello = hello(attack.address(1000 + number), attack.me, Some(ConnectionType::Any));
            let opening = [acceptor::encode_request(attack.node.nid), hello.encode().unwrap()].concat();
            let mut raw = attack.call(address);
            let answered =
                raw.stream.write_all(&opening).is_ok() && raw.stream.read(&mut [0]).is_ok_and(|got| got > 0);
            if answered {
                open.push(raw)
            } else {
                refused += 1
            }
            idle.push(attack.call(address));
        }
    }
    attack.round_trip();
    let idle = idle.iter().filter(|raw| is_open(raw)).count();
    let counters = attack.counters();
    println!("{} said hello, {idle} say nothing, {refused} were refused; {counters:?}", open.len());
    assert!((open.len() + idle) as u64 <= DESCRIPTORS / 4 * 3);
    assert!(idle as u64 <= DESCRIPTORS / 4);
    assert!(refused > 0 && counters.limit_rejected >= refused);
    drop(open);
    wait_for("room", || {
        let hello = hello(attack.address(3), attack.me, Some(ConnectionType::Any));
        let opening = [acceptor::encode_request(attack.node.nid), hello.encode().unwrap()].concat();
        let mut raw = attack.call(3);
        raw.stream.write_all(&opening).is_ok() && raw.stream.read(&mut [0]).is_ok_and(|got| got > 0)
    });
}

#[test]
fn idle_handshakes_of_one_address_evict_each_other_and_no_others() {
    const MAX_CONNS: usize = 50;
    let attack = Attack::start(|config| {
        config.conns_per_address = MAX_CONNS;
        config.accept_timeout = TIMEOUT;
        config.accept_backlog = 1000;
    });
    // Slow, but before all others.
    let mut slow = attack.call(7);
    let opening = [
        acceptor::encode_request(attack.node.nid),
        hello(attack.address(7), attack.me, Some(ConnectionType::Control)).encode().unwrap(),
    ]
    .concat();
    slow.send(&opening[..10]);
    let request = acceptor::encode_request(attack.node.nid);
    let mut idle = Vec::new();
    for number in 0..300 {
        let mut raw = attack.call(0);
        // The peer sends nothing, a part of the request, or all of it.
        let _ = raw.stream.write_all(&request[..number % (request.len() + 1)]);
        idle.push(raw);
    }
    wait_for("the others to be dropped", || attack.counters().handshakes_dropped >= 300 - MAX_CONNS as u64);
    assert!(idle.iter().filter(|raw| is_open(raw)).count() <= MAX_CONNS);
    attack.round_trip();
    slow.send(&opening[10..]);
    assert_eq!(slow.read_hello().connection_type, Some(ConnectionType::Control));
}

#[test]
fn a_thousand_connections_leave_no_resources_behind() {
    let attack = Attack::start(|config| config.accept_backlog = 1000);
    for number in 0..1000_u32 {
        let raw = attack.call(number % 7);
        if number % 3 == 0 {
            // A reset in place of an end.
            socket2::SockRef::from(&raw.stream).set_linger(Some(Duration::ZERO)).unwrap();
        }
        drop(raw);
        if number % 100 == 0 {
            // Each is another peer: the last one's end may not have been noticed yet.
            drop(attack.open(10 + number / 100, ConnectionType::Control));
            attack.round_trip();
        }
    }
    attack.round_trip();
    assert_eq!(attack.counters().limit_rejected, 0);
}
