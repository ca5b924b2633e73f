//! Nodes that start, connect, stop and restart while others exchange messages with them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::lnd::Driver;
use lnet_core::{Core, CoreConfig, EventKind, NiTunables};
use lnet_wire::{NetId, NetType, Nid, Pid};
use socklnd::{AcceptFrom, Socklnd, SocklndConfig};
use std::net::TcpListener;
use std::time::Duration;
use support::pair::pair;
use support::*;

#[test]
fn every_message_completes_when_a_node_ends_under_load() {
    for round in 0..10 {
        let (a, b) = pair(|config| config.zc_min_payload = (round % 2 == 0).then_some(1000));
        let landed = buffer(1 << 20);
        a.offer(landed);
        b.offer(landed);
        let sent = pattern(1 << 20, 1);
        let sends = 40;
        for _ in 0..sends {
            a.put(a.bind_bytes(sent), b.nid, true);
            b.put(b.bind_bytes(sent), a.nid, true);
        }
        while b.event().kind != EventKind::Put {}
        // Either end may end first.
        if round % 3 == 0 {
            b.stop()
        } else {
            a.core.admin().remove_ni(a.nid).unwrap()
        }
        let mut ended = 0;
        while ended < sends {
            let event = a.event();
            ended += usize::from(event.kind == EventKind::Send);
        }
    }
}

#[test]
fn a_message_sent_just_before_the_end_still_arrives() {
    for size in [8, 200_000] {
        let (a, b) = pair(|_| {});
        let landed = buffer(size);
        let sent = pattern(size, 1);
        b.offer(landed);
        a.put(a.bind_bytes(sent), b.nid, false);
        assert_eq!(a.expect(EventKind::Send).status, Ok(()));
        a.stop();
        assert_eq!(b.expect(EventKind::Put).status, Ok(()));
        assert!(landed == sent);
    }
}

#[test]
fn a_restarted_node_is_connected_to_again() {
    let (low, high, port) = addresses();
    let fast = SocklndConfig { min_reconnect: Duration::from_millis(20), ..config(port) };
    let a = Node::start(tcp(low), fast.clone());
    let landed = buffer(8);
    let sent = pattern(8, 1);
    for _ in 0..3 {
        let b = Node::start(tcp(high), fast.clone());
        b.offer(landed);
        let md = a.bind_bytes(sent);
        // Messages may be lost until the loss of the old connections has been noticed.
        loop {
            a.put(md, b.nid, false);
            if a.event().status.is_ok() {
                break;
            }
        }
        wait_for("a new life", || b.counters().accepted > 0);
        b.stop();
        wait_for("the end to be noticed", || {
            a.put(md, b.nid, false);
            a.event().status.is_err()
        });
    }
}

#[test]
fn an_ni_needs_its_address_and_port() {
    let (low, _, port) = addresses();
    let taken = TcpListener::bind((low, port)).unwrap();
    let start = |nid, accept| {
        let config = SocklndConfig { accept, ..config(port) };
        let driver = socklnd::Socklnd::new(config, running_clock());
        let core =
            lnet_core::Core::new(lnet_core::CoreConfig::new(lnet_wire::Pid::LUSTRE, 1).without_discovery());
        let result = core.admin().add_ni(nid, lnet_core::NiTunables::default(), &*driver).map(|_| ());
        core.admin().shutdown();
        result.map_err(|error| (error.errno, error.text))
    };
    use lnet_core::Errno;
    let foreign = Nid::new(NetId::new(NetType::TCP, 0), 0x0808_0808);
    let table = [
        (tcp(low), Errno::AddressInUse, "another program, perhaps another LNet node, has it"),
        (foreign, Errno::AddressNotAvailable, "this machine has no such address"),
    ];
    for (nid, errno, remedy) in table {
        let (found, text) = start(nid, AcceptFrom::All).unwrap_err();
        assert_eq!(found, errno, "{text}");
        assert!(text.starts_with(&format!("{nid}: cannot listen on ")) && text.contains(remedy), "{text}");
    }
    assert_eq!(start(tcp(low), AcceptFrom::None), Ok(()));
    drop(taken);
    assert_eq!(start(tcp(low), AcceptFrom::All), Ok(()));
    // The port is free again at once.
    assert_eq!(start(tcp(low), AcceptFrom::All), Ok(()));
}

#[test]
fn two_nets_share_one_address() {
    let (low, high, port) = addresses();
    let on = |net, ip: std::net::Ipv4Addr| Nid::new(NetId::new(NetType::TCP, net), ip.into());
    let a = Node::start(on(0, low), config(port));
    let b = Node::start(on(0, high), config(port));
    for node in [(&a, on(7, low)), (&b, on(7, high))] {
        node.0.core.admin().add_ni(node.1, lnet_core::NiTunables::default(), &*node.0.driver).unwrap();
    }
    let landed = buffer(8);
    let sent = pattern(8, 1);
    b.offer(landed);
    for net in [0, 7] {
        a.put(a.bind_bytes(sent), on(net, high), true);
        let put = b.expect(EventKind::Put);
        assert_eq!(put.sender, Some(on(net, low)));
        let _ = (a.event(), a.event());
    }
    a.core.admin().remove_ni(on(0, low)).unwrap();
    b.put(b.bind_bytes(sent), on(7, low), false);
    assert_eq!(b.expect(EventKind::Send).status, Ok(()));
}

#[test]
fn nodes_that_connect_to_each_other_at_once_are_connected() {
    for _ in 0..20 {
        let (a, b) = pair(|config| config.min_reconnect = Duration::from_millis(20));
        let landed = buffer(8);
        a.offer(landed);
        b.offer(landed);
        let sent = pattern(8, 1);
        std::thread::scope(|scope| {
            scope.spawn(|| a.put(a.bind_bytes(sent), b.nid, true));
            scope.spawn(|| b.put(b.bind_bytes(sent), a.nid, true));
        });
        for node in [&a, &b] {
            let kinds = [node.event(), node.event(), node.event()].map(|event| {
                assert_eq!(event.status, Ok(()));
                event.kind
            });
            for kind in [EventKind::Put, EventKind::Ack, EventKind::Send] {
                assert!(kinds.contains(&kind), "{kinds:?}");
            }
        }
    }
}

#[test]
fn an_ni_with_an_unknown_congestion_control_does_not_start() {
    let (low, _, port) = addresses();
    for (congestion, starts) in [("reno", true), ("none such", false)] {
        let config = SocklndConfig { congestion: Some(congestion.to_owned()), ..config(port) };
        let driver = Socklnd::new(config, running_clock());
        let core = Core::new(CoreConfig::new(Pid::LUSTRE, 1).without_discovery());
        let started = core.admin().add_ni(tcp(low), NiTunables::default(), &*driver);
        assert_eq!(started.is_ok(), starts, "{congestion}");
        core.admin().shutdown();
        Driver::shutdown(&*driver);
    }
}
