//! Failures of messages, by the actions of the peer and of the system.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::{Cause, Clock, Delivery, Errno, SendFailure};
use lnet_wire::{NetId, NetType, Nid};
use socklnd::proto::ConnectionType;
use socklnd::{DeliveryAcks, SocklndConfig};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use support::spy::Spy;
use support::*;

struct Scene {
    node: Node,
    spy: Arc<Spy>,
    peer: Listening,
    low: Ipv4Addr,
}

/// Makes a node that asks for delivery ACKs, and a scripted peer.
fn scene(change: impl Fn(&mut SocklndConfig)) -> Scene {
    scene_with_clock(running_clock(), change)
}

fn scene_with_clock(clock: Arc<dyn Clock>, change: impl Fn(&mut SocklndConfig)) -> Scene {
    let (low, high, port) = addresses();
    let mut config = config(port);
    config.delivery_acks = DeliveryAcks::All;
    config.zc_min_payload = Some(0);
    config.min_reconnect = Duration::from_millis(20);
    change(&mut config);
    let spy = Arc::new(Spy::default());
    let node = spy.node_with_clock(tcp(high), config, clock);
    Scene { node, spy, peer: Listening::on(low, port), low }
}

impl Scene {
    /// Lets the peer accept the whole set of connections.
    fn connected(&self) -> Vec<Raw> {
        self.node.put(self.node.bind_bytes(pattern(8, 1)), tcp(self.low), false);
        let all: Vec<_> = (0..3).map(|_| self.peer.accept(self.low)).collect();
        wait_for("the set", || self.node.counters().connected == 3);
        assert_eq!(all[2].1, ConnectionType::BulkOut);
        all.into_iter().map(|(raw, _)| raw).collect()
    }

    /// Sends messages of which the first fills the socket and the last have not left when `then` runs. Returns their
    /// failures.
    fn fails_when(&self, then: impl FnOnce(Vec<Raw>)) -> Vec<SendFailure> {
        let connections = self.connected();
        // The first message may be complete before the others are sent.
        let long = self.node.bind_bytes(pattern(1 << 20, 2));
        for _ in 0..8 {
            self.node.put(long, tcp(self.low), false);
        }
        then(connections);
        wait_for("messages to come back", || self.spy.failures().len() >= 7);
        self.spy.failures()
    }
}

fn failure(errno: Errno, cause: Cause, delivery: Delivery) -> SendFailure {
    SendFailure { errno, cause, delivery }
}

/// Checks that messages that had left and messages that had not both came back, each with its cause.
fn assert_both(failures: &[SendFailure], errnos: &[Errno], left: Cause, not_left: Cause) {
    for (delivery, cause) in [(Delivery::Unknown, left), (Delivery::NotSent, not_left)] {
        let of: Vec<_> = failures.iter().filter(|it| it.delivery == delivery).collect();
        assert!(!of.is_empty(), "{delivery:?} in {failures:?}");
        assert!(of.iter().all(|it| it.cause == cause && errnos.contains(&it.errno)), "{failures:?}");
    }
}

const ENDED: [Errno; 2] = [Errno::ConnectionReset, Errno::Pipe];

#[test]
fn a_close_by_the_peer_is_a_remote_cause() {
    let scene = scene(|_| {});
    let failures = scene.fails_when(drop);
    assert_both(&failures, &ENDED, Cause::RemoteError, Cause::RemoteDropped);
}

#[test]
fn a_reset_by_the_peer_is_a_remote_cause() {
    let scene = scene(|_| {});
    let failures = scene.fails_when(|connections| {
        for raw in connections {
            socket2::SockRef::from(&raw.stream).set_linger(Some(Duration::ZERO)).unwrap();
        }
    });
    assert_both(&failures, &ENDED, Cause::RemoteError, Cause::RemoteDropped);
}

#[test]
fn a_protocol_violation_is_a_remote_cause() {
    let scene = scene(|_| {});
    let failures = scene.fails_when(|mut connections| {
        connections[0].send(&[0xff; 24]);
        connections[0].read_to_end();
    });
    assert_both(&failures, &[Errno::Protocol], Cause::RemoteError, Cause::RemoteDropped);
}

#[test]
fn a_message_that_is_not_received_or_not_acknowledged_in_time_has_a_timeout_cause() {
    let clock = manual_clock();
    let scene = scene_with_clock(clock.clone(), |_| {});
    let mut kept = Vec::new();
    let failures = scene.fails_when(|connections| {
        kept = connections;
        advance_until(&clock, Duration::from_secs(1), "the time-outs", || scene.spy.failures().len() >= 7);
    });
    assert_both(&failures, &[Errno::TimedOut], Cause::RemoteTimeout, Cause::LocalTimeout);
}

#[test]
fn messages_to_a_port_that_does_not_listen_have_the_cause_remote_dropped() {
    let scene = scene(|_| {});
    let Scene { node, spy, peer, low } = scene;
    drop(peer);
    for count in 1..4 {
        node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
        wait_for("the message to come back", || spy.failures().len() == count);
    }
    let refused = failure(Errno::ConnectionRefused, Cause::RemoteDropped, Delivery::NotSent);
    assert_eq!(spy.failures(), [refused; 3]);
}

#[test]
fn an_unanswered_connect_fails_messages_at_their_timeout() {
    let clock = manual_clock();
    let scene = scene_with_clock(clock.clone(), |_| {});
    // The peer accepts the connection, and sends nothing.
    scene.node.put(scene.node.bind_bytes(pattern(8, 1)), tcp(scene.low), false);
    let _idle = scene.peer.accept_handshake();
    advance_until(&clock, Duration::from_secs(1), "the time-out", || !scene.spy.failures().is_empty());
    assert_eq!(scene.spy.failures(), [failure(Errno::TimedOut, Cause::LocalTimeout, Delivery::NotSent)]);
}

#[test]
fn an_ni_that_ends_gives_its_messages_back() {
    let scene = scene(|_| {});
    scene.node.put(scene.node.bind_bytes(pattern(8, 1)), tcp(scene.low), false);
    let _called = scene.peer.accept_handshake();
    scene.node.stop();
    assert_eq!(scene.spy.failures(), [failure(Errno::Shutdown, Cause::LocalAborted, Delivery::NotSent)]);
}

#[test]
fn an_aborted_message_has_the_cores_cause_if_nothing_of_it_has_left() {
    let scene = scene(|_| {});
    scene.spy.other_path.store(true, Ordering::SeqCst);
    let ni_handle = scene.spy.ni.lock().unwrap().clone().unwrap();
    let mut connections = scene.connected();
    let long = pattern(1 << 20, 2);
    let memory = scene.node.bind_bytes(long);
    (0..8).for_each(|_| scene.node.put(memory, tcp(scene.low), false));
    ni_handle.abort_tx(Some(tcp(scene.low)), Cause::NetworkTimeout);
    let failures = scene.spy.failures();
    let unsent = failure(Errno::TimedOut, Cause::NetworkTimeout, Delivery::NotSent);
    assert!(!failures.is_empty() && failures.iter().all(|it| *it == unsent), "{failures:?}");
    // The peer would not recognise a duplicate, so the message that had begun to leave stays on its connection.
    assert_eq!(connections[2].read_lnet().2, long);
}

#[test]
fn abort_tx_aborts_a_connect_under_way() {
    let scene = scene(|_| {});
    let ni_handle = scene.spy.ni.lock().unwrap().clone().unwrap();
    scene.node.put(scene.node.bind_bytes(pattern(8, 1)), tcp(scene.low), false);
    let (mut called, _) = scene.peer.accept_handshake();
    ni_handle.abort_tx(None, Cause::LocalDropped);
    assert_eq!(scene.spy.failures(), [failure(Errno::NetworkDown, Cause::LocalDropped, Delivery::NotSent)]);
    assert_eq!(called.read_to_end(), []);
    scene.node.put(scene.node.bind_bytes(pattern(8, 1)), tcp(scene.low), false);
    let (mut raw, _) = scene.peer.accept(scene.low);
    assert_eq!(raw.read_lnet().0.payload_length, 8);
}

#[test]
fn no_connect_is_made_to_a_peer_with_a_synthetic_id() {
    let scene = scene(|_| {});
    let elsewhere = Nid::new(NetId::new(NetType::TCP, 0), u32::from(scene.low));
    let target = lnet_core::Target { pid: lnet_wire::Pid(0x8000_1234), ..target(elsewhere) };
    scene.node.core.data_path().put(None, scene.node.bind_bytes(pattern(8, 1)), false, target, 0).unwrap();
    wait_for("the message to come back", || !scene.spy.failures().is_empty());
    assert_eq!(
        scene.spy.failures(),
        [failure(Errno::HostUnreachable, Cause::RemoteError, Delivery::NotSent)]
    );
}
