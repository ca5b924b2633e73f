//! The delays that a node measures, with a driver and a clock of the test.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

mod support;

use lnet_core::MdHandle;
use lnet_core::topology::PeerNi;
use lnet_wire::latency::{Delay, bucket_of};
use lnet_wire::{Body, Nid, WireHandle};
use std::sync::Arc;
use std::time::Duration;
use support::{BITS, COOKIE, FakeDriver, OnSend, Rig, header_from, tcp};

const PEER: Nid = tcp(2);

/// A node whose driver keeps all messages until they are finished, with this number of credits for each peer NI.
fn node(peer_credits: u32) -> Rig {
    let driver = FakeDriver::scripted(|_| OnSend::Keep);
    Rig::builder(driver).credits(256, peer_credits).build()
}

fn peer_ni(rig: &Rig) -> Arc<PeerNi> {
    rig.core.peer_nis().into_iter().find(|peer_ni| peer_ni.nid() == PEER).unwrap()
}

/// The delays measured for the peer NI, each with its number and its bucket. Asserts that the interface has the same.
fn measured(rig: &Rig) -> Vec<(Delay, u64, usize)> {
    let of_peer = peer_ni(rig).latencies().read();
    assert_eq!(rig.ni().latencies().read(), of_peer);
    of_peer.iter().map(|its| (its.delay, its.count(), its.counts.len() - 1)).collect()
}

const fn handle(md: MdHandle) -> WireHandle {
    WireHandle { interface_cookie: COOKIE, object_cookie: md.cookie() }
}

const fn ack(md: MdHandle) -> Body {
    Body::Ack { handle: handle(md), match_bits: BITS, accepted: 8 }
}

/// A response arrives from the peer.
fn respond(rig: &Rig, body: Body) {
    let ni = rig.driver.ni(0);
    ni.arrives(&header_from(PEER, body, 0));
    assert_eq!(ni.finish_arriving(Ok(())), 1);
}

const fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

#[test]
fn a_put_is_measured_until_it_is_sent_and_until_its_ack_has_arrived() {
    let rig = node(8);
    let md = rig.bind(-1);
    rig.put_with_ack(md, PEER);
    rig.clock.advance(us(10));
    assert!(rig.driver.ni(0).finish_one());
    rig.clock.advance(us(90));
    respond(&rig, ack(md));
    assert_eq!(
        measured(&rig),
        [(Delay::PutSent, 1, bucket_of(us(10))), (Delay::PutAck, 1, bucket_of(us(100)))]
    );
    rig.core.reset_counters();
    assert_eq!(measured(&rig), []);
}

#[test]
fn a_get_is_measured_until_its_reply_has_arrived() {
    let rig = node(8);
    let md = rig.bind(-1);
    rig.get(md, PEER);
    assert!(rig.driver.ni(0).finish_one());
    rig.clock.advance(us(50));
    respond(&rig, Body::Reply { handle: handle(md) });
    assert_eq!(measured(&rig), [(Delay::GetReply, 1, bucket_of(us(50)))]);
}

#[test]
fn the_response_of_an_md_with_several_requests_is_not_measured_as_it_may_answer_any_of_them() {
    let rig = node(8);
    let md = rig.bind(-1);
    for _ in 0..2 {
        rig.put_with_ack(md, PEER);
        rig.clock.advance(us(10));
    }
    respond(&rig, ack(md));
    assert_eq!(measured(&rig), []);
}

#[test]
fn a_message_that_waits_for_a_credit_of_its_peer_is_measured_until_it_has_one() {
    let rig = node(1);
    let md = rig.bind(-1);
    for _ in 0..2 {
        rig.put(md, PEER);
    }
    rig.clock.advance(us(10));
    assert!(rig.driver.ni(0).finish_one());
    let sent_after = |us_| (Delay::PutSent, 1, bucket_of(us(us_)));
    assert_eq!(measured(&rig), [sent_after(10), (Delay::CreditWait, 1, bucket_of(us(10)))]);
}
