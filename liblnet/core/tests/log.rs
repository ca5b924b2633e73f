//! The log lines about messages that are dropped or time out.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

mod support;

use lnet_core::FatalReporter;
use lnet_core::lnd::{RxAction, Upcalls};
use lnet_core::stats::MessageOutcome;
use lnet_core::{
    Cause, Errno, EventKind, InsertPosition, MatchId, MdMemory, MdOptions, MdSpec, Ni, Target, Time,
};
use lnet_wire::{Body, Header, Nid, Pid};
use log::{Level, LevelFilter};
use std::sync::Arc;
use std::time::Duration;
use support::{FakeDriver, OnSend, Rig, header_from, nid, not_sent, put_body};
use test_support::log_recorder::{self, said};

/// A node on which these NIDs fail, and a multi-rail peer.
fn node(own: &[&str], failing: &[&str], cause: Cause, peer: &str) -> Rig {
    log_recorder::listen(LevelFilter::Debug);
    let failing: Vec<Nid> = failing.iter().map(|own| nid(own)).collect();
    let driver = FakeDriver::scripted(move |message| match failing.contains(&message.header().src_nid) {
        true => OnSend::Fail(not_sent(Errno::TimedOut, cause)),
        false => OnSend::Complete,
    });
    let rig = Rig::builder(driver).nids(own.iter().map(|own| nid(own))).build();
    rig.core.admin().make_peer(nid(peer), true, false).unwrap();
    rig
}

fn put(rig: &Rig, peer: &str) {
    let md = rig.bind_without_eq(-1);
    rig.put(md, nid(peer));
    rig.core.data_path().md_unlink(md).unwrap();
}

fn counted(rig: &Rig, own: &str) -> Arc<Ni> {
    Arc::clone(rig.core.nets().ni(nid(own)).unwrap())
}

/// dbg-020: fails if a time-out is not logged, or not counted for its interface, or also counted for another.
#[test]
fn a_timeout_is_counted_for_its_interface_and_logged() {
    let (bad, good, peer) = ("10.1.0.1@tcp", "10.1.0.2@tcp", "10.1.0.9@tcp");
    for cause in [Cause::LocalTimeout, Cause::NetworkTimeout] {
        let rig = node(&[bad, good], &[bad], cause, peer);
        (0..2).for_each(|_| put(&rig, peer));
        let times = |own| counted(&rig, own).failures().read().of(cause);
        assert_eq!((times(bad), times(good)), (1, 0), "{cause:?}");
        assert_eq!(said(Level::Debug, &[bad, peer, "failed", cause.text()]), 1, "{cause:?}");
        rig.core.admin().shutdown();
    }
}

/// dbg-025: fails if a message that cannot be sent by any path is not counted as dropped, or not logged.
#[test]
fn a_message_that_fails_for_good_is_counted_as_dropped_and_logged() {
    let (own, peer) = ("10.2.0.1@tcp", "10.2.0.9@tcp");
    let rig = node(&[own], &[own], Cause::RemoteDropped, peer);
    put(&rig, peer);
    assert_eq!(counted(&rig, own).counters().read(MessageOutcome::Dropped).put, 1);
    let line = format!("PUT {own} -> {peer} failed (REMOTE_DROPPED, ETIMEDOUT); given up after 0 resends");
    assert_eq!(said(Level::Info, &[&line]), 1);
    rig.core.admin().shutdown();
}

/// dbg-025: fails if a message that arrives and matches nothing is not counted as dropped, or not logged; or if a flood
/// of them fills the log.
#[test]
fn a_message_that_matches_nothing_is_counted_as_dropped_and_logged() {
    let (own, peer) = ("10.3.0.1@tcp", "10.3.0.9@tcp");
    let rig = node(&[own], &[], Cause::LocalError, peer);
    let header = Header {
        dest_nid: nid(own),
        src_nid: nid(peer),
        dest_pid: Pid::LUSTRE,
        src_pid: Pid::LUSTRE,
        payload_length: 7,
        body: Body::Put { ack: None, match_bits: 5, hdr_data: 0, portal: 9, offset: 0 },
    };
    let ni = counted(&rig, own);
    let arrives = || matches!(rig.arrives(&header), RxAction::Discard);
    assert!(arrives());
    assert_eq!(ni.counters().read(MessageOutcome::Dropped).put, 1);
    let line = format!(
        "PUT {peer} -> {own} of 7 bytes dropped (no match); portal 9, match bits 0x5, offset 0; its sender gets no answer: \
         attach a match entry"
    );
    assert_eq!(said(Level::Warn, &[&line]), 1);
    assert!((0..1000).all(|_| arrives()));
    assert_eq!(ni.counters().read(MessageOutcome::Dropped).put, 1001);
    assert!(said(Level::Warn, &[&line]) <= 10);
    rig.core.admin().shutdown();
}

/// Fails if a flood of one kind of line hides a line of another kind, or if the number of suppressed lines is not logged,
/// or only when there is another line to log.
#[test]
fn a_flood_of_response_timeouts_hides_no_change_of_state_and_is_counted() {
    log_recorder::listen(LevelFilter::Info);
    let (own, peer) = ("10.4.0.1@tcp", "10.4.0.9@tcp");
    let rig = Rig::builder(FakeDriver::new(OnSend::Complete)).nids([nid(own)]).build();
    let Rig { core, clock, .. } = &rig;
    for _ in 0..25 {
        let options = MdOptions(MdOptions::TRACK_RESPONSE.0);
        let spec = MdSpec { start: 0, length: 0, threshold: 2, max_size: 0, options, user_ptr: 0, eq: None };
        let md = core.data_path().md_bind(spec, MdMemory::contiguous(0, 0), true).unwrap();
        let target = Target { nid: Some(nid(peer)), pid: Pid::LUSTRE, portal: 9, match_bits: 0, offset: 0 };
        core.data_path().put(None, md, true, target, 0).unwrap();
    }
    core.monitor().run();
    clock.advance_to(Duration::from_secs(3600));
    core.monitor().run();
    let hint = "portal 9, match bits 0x0, offset 0: the request was sent; if nothing matched it there";
    assert_eq!(said(Level::Warn, &["no response from", peer, hint]), 10);

    core.admin().set_ni_fatal(nid(own), FatalReporter::Host, Some("link down"));
    assert_eq!(said(Level::Error, &[&format!("NI {own}: "), "-> FAILED (link down)"]), 1);
    assert_eq!(said(Level::Error, &["suppressed"]), 0);

    // Nothing else happens; the monitor was asked to run again when the minute is over.
    let next = core.monitor().run().unwrap();
    assert!(next <= Time(Duration::from_secs(3660)), "{next:?}");
    clock.advance_to(Duration::from_secs(3660));
    core.monitor().run();
    assert_eq!(said(Level::Warn, &[&format!("{peer}: 15 lines suppressed (response_timeout)")]), 1);
    rig.core.admin().shutdown();
}

/// Fails if unconfigured peers fill the log with the states of ever new NIDs, whether they have responded or not; if the number
/// of suppressed lines is not logged; or if they hide a change of a peer that an operator has configured.
#[test]
fn states_of_ever_new_nids_are_logged_within_limits_and_hide_no_configured_peer() {
    let (own, configured) = ("10.5.0.1@tcp", "10.5.0.9@tcp");
    for responds in [false, true] {
        let rig = node(&[own], &[], Cause::LocalError, configured);
        let dies = |peer: Nid| {
            Upcalls::path_is_unresponsive(rig.core.data_path(), rig.ni(), peer);
            rig.core.monitor().run();
        };
        let before = said(Level::Error, &["peer 10.5.1", "-> unreachable"]);
        if responds {
            rig.attach(-1, MdOptions::OP_PUT.0);
        }
        for number in 0..500_u32 {
            let peer = nid(&format!("10.5.1{}.{}@tcp", number / 250, 1 + number % 250));
            let header = Header { dest_nid: nid(own), ..header_from(peer, put_body(None), 0) };
            match rig.arrives(&header) {
                RxAction::Deliver(message) => rig.core.data_path().received(message, Ok(())),
                action => assert!(matches!(action, RxAction::Discard) && !responds),
            }
            dies(peer);
        }
        let lines = said(Level::Error, &["peer 10.5.1", "-> unreachable"]) - before;
        assert!((10..=40).contains(&lines), "responds: {responds}: {lines} lines");
        let before = said(Level::Error, &[&format!("peer {configured}: "), "-> unreachable"]);
        dies(nid(configured));
        let after = said(Level::Error, &[&format!("peer {configured}: "), "-> unreachable"]);
        assert_eq!(after, before + 1, "responds: {responds}");
        rig.clock.advance_to(Duration::from_secs(61));
        let before = said(Level::Error, &["lines suppressed (peer_unreachable)"]);
        rig.core.monitor().run();
        assert_eq!(said(Level::Error, &["lines suppressed (peer_unreachable)"]), before + 1);
        rig.core.admin().shutdown();
    }
}

/// dbg-025: fails if a message is refused to a program and the log does not tell the operator why and what to
/// do; or if such lines can fill the log.
#[test]
fn what_the_node_refuses_to_send_is_logged_with_its_target_and_what_to_do() {
    let (own, peer, other, elsewhere) = ("10.15.0.1@tcp", "10.15.0.9@tcp", "10.15.0.8@tcp", "10.15.9.9@tcp9");
    let rig = node(&[own], &[], Cause::LocalError, peer);
    let put = |source: Option<&str>, target: Option<&str>, length| {
        let (spec, _) = rig.spec(1, 0);
        let memory = MdMemory::contiguous(spec.start, length);
        let md = rig.core.data_path().md_bind(MdSpec { length, ..spec }, memory, true).unwrap();
        let target = Target { nid: target.map(nid), pid: Pid::LUSTRE, portal: 9, match_bits: 5, offset: 0 };
        rig.core.data_path().put(source.map(nid), md, false, target, 0).unwrap();
    };
    for (what, source, target, length, errno, words) in [
        ("no target", None, None, 8, Errno::Invalid, ["to any node", "EINVAL", "name one node"]),
        (
            "a source that is not its own",
            Some("10.15.0.7@tcp"),
            Some(peer),
            8,
            Errno::Invalid,
            [peer, "its source 10.15.0.7@tcp is not a NID of this node, EINVAL", "LNET_NID_ANY"],
        ),
        (
            "too long",
            None,
            Some(other),
            (1 << 20) + 1,
            Errno::MessageSize,
            ["PUT of 1048577 bytes", "more than the 1048576 bytes of LNET_MTU, EMSGSIZE", "divide it"],
        ),
        (
            "a net that nothing leads to",
            None,
            Some(elsewhere),
            8,
            Errno::HostUnreachable,
            [
                elsewhere,
                "portal 9, match bits 0x5, offset 0: not sent (this node is not on tcp9, and has no route there, EHOSTUNREACH)",
                "route add",
            ],
        ),
    ] {
        put(source, target, length);
        let ended = rig.take_events();
        assert_eq!(ended, [(EventKind::Send, Err(errno), true)], "{what}");
        assert_eq!(said(Level::Error, &words), 1, "{what}");
        (0..100).for_each(|_| put(source, target, length));
        assert!(said(Level::Error, &words) <= 10, "{what}");
        rig.take_events();
    }
    rig.core.admin().shutdown();
}

/// Fails if a portal number out of range is accepted, as a target or for a match entry; or if that is not logged.
#[test]
fn portals_that_no_node_has_are_refused_and_logged() {
    let (own, peer) = ("10.6.0.1@tcp", "10.6.0.9@tcp");
    let rig = node(&[own], &[], Cause::LocalError, peer);
    let md = rig.bind_without_eq(-1);
    for portal in [64, 9999, 1 << 31, u32::MAX] {
        let target = Target { nid: Some(nid(peer)), pid: Pid::LUSTRE, portal, match_bits: 0, offset: 0 };
        assert_eq!(rig.core.data_path().put(None, md, true, target, 0), Err(Errno::Invalid));
        assert_eq!(rig.core.data_path().get(None, md, target), Err(Errno::Invalid));
        let entry = rig.core.data_path().me_attach(portal, MatchId::ANY, 0, 0, true, InsertPosition::After);
        assert_eq!(entry.err(), Some(Errno::Invalid));
        for what in [format!("PUT to {peer}"), format!("GET to {peer}"), "match entry".to_owned()] {
            let line =
                format!("{what}: refused (portal {portal}, EINVAL); portals are numbered from 0 to 63");
            assert_eq!(said(Level::Error, &[&line]), 1, "{line}");
        }
    }
    // The MD is unchanged by the refused calls.
    rig.core
        .data_path()
        .put(
            None,
            md,
            false,
            Target { nid: Some(nid(peer)), pid: Pid::LUSTRE, portal: 63, match_bits: 0, offset: 0 },
            0,
        )
        .unwrap();
    rig.core.admin().shutdown();
}

/// Fails if a node drops messages in its shutdown and does not log how many.
#[test]
fn a_shutdown_says_how_many_messages_of_programs_were_lost() {
    log_recorder::listen(LevelFilter::Info);
    let (own, peer) = ("10.7.0.1@tcp", "10.7.0.9@tcp");
    let rig = Rig::builder(FakeDriver::new(OnSend::Keep)).nids([nid(own)]).build();
    assert_eq!(rig.core.data_path().unsent_requests(), 0);
    for _ in 0..10 {
        let md = rig.bind(1);
        rig.put(md, nid(peer));
    }
    assert_eq!(rig.core.data_path().unsent_requests(), 10);
    rig.core.admin().shutdown();
    let line = format!("shutdown: 10 PUTs and GETs are not known to have arrived, the first to {peer}");
    assert_eq!(said(Level::Error, &[&line]), 1);
    assert_eq!(rig.take_events().len(), 10);
}
