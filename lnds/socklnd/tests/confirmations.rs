//! Origins and confirmations of messages that pass gateways, byte by byte (docs/delivery-acks.md).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::topology::Route;
use lnet_core::{CarriedOrigin, Confirmation, EventKind, MessageOrigin, NiTunables};
use lnet_wire::{Header, NetId, NetType, Nid};
use socklnd::implementation_id;
use socklnd::proto::frame::{Head, Incoming};
use socklnd::proto::{ConnectionType, Hello, Version};
use std::net::Ipv4Addr;
use std::num::NonZeroU64;
use support::*;

/// Size of a payload that is read without the bytes behind it: the head of the next message is longer than this one's.
const LARGE: usize = 100_000;

/// Returns a NID on `tcp1`.
fn far(ip: Ipv4Addr) -> Nid {
    Nid::new(NetId::new(NetType::TCP, 1), u32::from(ip))
}

/// Returns the name of message `number` of the node whose implementation ID has the number 2.
fn origin(number: u64) -> MessageOrigin {
    MessageOrigin {
        node: NonZeroU64::new(implementation_id(2)).unwrap(),
        id: NonZeroU64::new(message_id(7, number)).unwrap(),
    }
}

/// Accepts connections as a node of this implementation with that number, until one is for small messages. Returns that one.
fn accept_as(listener: &Listening, me: Nid, number: u64) -> Raw {
    let mut others = Vec::new();
    loop {
        let (raw, kind) = accept_one_as(listener, me, number);
        if kind == ConnectionType::Control {
            // The other connections stay open, and no thread reads from them.
            std::mem::forget(others);
            return raw;
        }
        others.push(raw);
    }
}

fn accept_one_as(listener: &Listening, me: Nid, number: u64) -> (Raw, ConnectionType) {
    let (mut raw, asked) = listener.accept_handshake();
    let kind = asked.connection_type.unwrap();
    let response = Hello {
        version: asked.version,
        src_nid: me,
        dest_nid: Some(asked.src_nid),
        src_incarnation: 1,
        ..hello_of_same_implementation(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST, number, kind.mirror())
    };
    raw.version = asked.version;
    raw.send(&response.encode().unwrap());
    (raw, kind)
}

#[test]
fn an_origin_or_a_confirmation_of_another_implementation_breaks_the_protocol() {
    let (_node, low, high, port) = node_of_same_implementation(|_| {});
    let header = put_header(tcp(low), tcp(high), 0, false);
    let carried = CarriedOrigin { origin: origin(1), may_have_arrived: false };
    let heads = [
        Head::message_with_origin(Version::V3, &header, NO_COOKIES, carried).unwrap(),
        Head::confirmation(Confirmation::Delivered, asks_for_ack(message_id(7, 1))),
    ];
    for head in heads {
        let mut raw = Raw::open(low, high, port, ConnectionType::Control);
        raw.send(head.bytes());
        assert_eq!(raw.read_to_end(), []);
    }
}

#[test]
fn a_gateway_sends_the_origin_on_and_confirms_when_the_next_node_has_the_message() {
    let (node, low, high, port) = node_of_same_implementation(|_| {});
    let [gateway_far, server] = [1, 2].map(|add| Ipv4Addr::from(u32::from(high) + add));
    node.core.admin().add_ni(far(gateway_far), NiTunables::default(), &*node.driver).unwrap();
    node.core.admin().change_router(|router| router.switched(true)).unwrap();
    let listener = Listening::on(server, port);
    let mut client = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    let header = |number: u8| Header {
        dest_nid: far(server),
        ..put_header(tcp(low), tcp(high), LARGE + usize::from(number), false)
    };
    client.put(&header(1), asks_for_ack(message_id(7, 1)), &[1; LARGE + 1]);
    let mut server = accept_as(&listener, far(server), 3);
    let copy = CarriedOrigin { origin: origin(9), may_have_arrived: true };
    let first = CarriedOrigin { origin: origin(1), may_have_arrived: false };
    for (number, sent_with) in [(1, first), (2, copy)] {
        if number == 2 {
            let cookies = asks_for_ack(message_id(7, 2));
            let head = Head::message_with_origin(client.version, &header(2), cookies, copy).unwrap();
            client.send(&[head.bytes(), &[2; LARGE + 2]].concat());
        }
        let (Incoming::Message { cookies, carried, header: got, .. }, payload) = server.read_message() else {
            panic!("no message")
        };
        assert_eq!((carried, got), (Some(sent_with), header(number)));
        assert_eq!(payload, vec![number; LARGE + usize::from(number)]);
        server.send(Head::noop(cookies_of(0, cookies.request)).bytes());
        // The delivery ACK goes before the confirmation, or with it.
        let confirmation = loop {
            match client.read_message().0 {
                Incoming::Noop { cookies, .. } => {
                    assert_eq!(cookies, cookies_of(0, message_id(7, number.into())))
                }
                other => break other,
            }
        };
        let Incoming::Confirmation { confirmation, cookies, .. } = confirmation else {
            panic!("{confirmation:?} in place of a confirmation")
        };
        assert_eq!(confirmation, Confirmation::Delivered);
        assert_eq!(cookies.request, message_id(7, number.into()));
    }
    drop(node);
}

/// Fails if a confirmation that waits for the next message waits for ever.
#[test]
fn a_confirmation_goes_though_no_message_follows_those_under_way_to_its_node() {
    let (node, low, high, port) = node_of_same_implementation(|_| {});
    let [gateway_far, server_ip] = [1, 2].map(|add| Ipv4Addr::from(u32::from(high) + add));
    node.core.admin().add_ni(far(gateway_far), NiTunables::default(), &*node.driver).unwrap();
    node.core.admin().change_router(|router| router.switched(true)).unwrap();
    let listener = Listening::on(server_ip, port);
    let mut client = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    let there = Header { dest_nid: far(server_ip), ..put_header(tcp(low), tcp(high), 1, false) };
    client.put(&there, asks_for_ack(message_id(7, 1)), &[1]);
    let mut server = accept_as(&listener, far(server_ip), 3);
    let Incoming::Message { cookies, .. } = server.read_message().0 else { panic!("no message") };
    let back = Header { dest_nid: tcp(low), ..put_header(far(server_ip), tcp(high), 1, false) };
    server.put(&back, asks_for_ack(message_id(8, 1)), &[2]);
    // The client has the message, and does not say so.
    while !matches!(client.read_message().0, Incoming::Message { header, .. } if header == back) {}
    server.send(Head::noop(cookies_of(0, cookies.request)).bytes());
    let confirmation = loop {
        match client.read_message().0 {
            Incoming::Noop { .. } => {}
            other => break other,
        }
    };
    let Incoming::Confirmation { confirmation, cookies, .. } = confirmation else {
        panic!("{confirmation:?} in place of a confirmation")
    };
    assert_eq!((confirmation, cookies.request), (Confirmation::Delivered, message_id(7, 1)));
    drop(node);
}

#[test]
fn a_copy_is_not_sent_to_a_node_that_could_not_tell_it_from_the_first() {
    let (node, low, high, port) = node_of_same_implementation(|_| {});
    let [gateway_far, server] = [1, 2].map(|add| Ipv4Addr::from(u32::from(high) + add));
    node.core.admin().add_ni(far(gateway_far), NiTunables::default(), &*node.driver).unwrap();
    node.core.admin().change_router(|router| router.switched(true)).unwrap();
    let listener = Listening::on(server, port);
    let kernel = std::thread::spawn(move || {
        let (mut raw, asked) = listener.accept_handshake();
        let response = Hello {
            version: asked.version,
            src_nid: far(server),
            dest_nid: Some(asked.src_nid),
            connection_type: Some(asked.connection_type.unwrap().mirror()),
            ..hello(server, server, None)
        };
        raw.send(&response.encode().unwrap());
        raw
    });
    let mut client = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
    let header = Header { dest_nid: far(server), ..put_header(tcp(low), tcp(high), 1, false) };
    let copy = CarriedOrigin { origin: origin(9), may_have_arrived: true };
    let head =
        Head::message_with_origin(client.version, &header, asks_for_ack(message_id(7, 1)), copy).unwrap();
    client.send(&[head.bytes(), &[2]].concat());
    let confirmation = loop {
        match client.read_message().0 {
            Incoming::Noop { .. } => {}
            other => break other,
        }
    };
    assert!(
        matches!(confirmation, Incoming::Confirmation { confirmation: Confirmation::Withheld, .. }),
        "{confirmation:?}"
    );
    drop(kernel.join().unwrap());
}

#[test]
fn what_a_gateway_has_not_confirmed_goes_again_with_its_origin_when_its_connection_ends() {
    let (low, high, port) = addresses();
    let node = Node::start_with_monitor(tcp(high), same_implementation(config(port), 1), |config| {
        config.settings.retry_count = 2;
    });
    let listener = Listening::on(low, port);
    let route =
        Route { net: far(low).net(), gateway: tcp(low), hops: None, priority: 0, health_sensitivity: 1 };
    node.core.admin().add_route(route).unwrap();
    node.put(node.bind_bytes(pattern(8, 1)), far(low), false);
    let mut gateway = accept_as(&listener, tcp(low), 2);
    let (Incoming::Message { cookies, carried, .. }, _) = gateway.read_message() else {
        panic!("no message")
    };
    assert_eq!(carried, None);
    gateway.send(Head::noop(cookies_of(0, cookies.request)).bytes());
    drop(gateway);
    let mut again = accept_as(&listener, tcp(low), 3);
    let (Incoming::Message { cookies: second, carried, .. }, payload) = again.read_message() else {
        panic!("no message")
    };
    let first = MessageOrigin {
        node: NonZeroU64::new(implementation_id(1)).unwrap(),
        id: NonZeroU64::new(cookies.request).unwrap(),
    };
    assert_eq!(carried, Some(CarriedOrigin { origin: first, may_have_arrived: true }));
    assert_eq!(payload, pattern(8, 1));
    assert_ne!(second.request, cookies.request);
    node.no_event();
    let confirmation =
        Head::confirmation(Confirmation::Delivered, cookies_of(second.request, second.request));
    again.send(confirmation.bytes());
    assert_eq!(node.expect(EventKind::Send).status, Ok(()));
}
