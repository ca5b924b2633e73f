//! What the log says of messages that are dropped or time out.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::panic)]

use lnet_core::lnd::{DeferredRx, Driver, LndNi, RxAction, SendOutcome, Upcalls};
use lnet_core::stats::Outcome;
use lnet_core::{
    Cause, Clock, Core, CoreConfig, Delivery, Errno, MdMemory, MdOptions, MdSpec, Message, Ni, NiTunables,
    SendFailure, Target, Time,
};
use lnet_wire::{Body, Header, NetType, Nid, Pid};
use log::{Level, LevelFilter, Log, Metadata, Record};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;

/// What has been said, by all tests of this file: each has NIDs of its own.
struct Said(Mutex<Vec<(Level, String)>>);

static SAID: Said = Said(Mutex::new(Vec::new()));
static LISTEN: Once = Once::new();

impl Log for Said {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        self.0.lock().unwrap().push((record.level(), record.args().to_string()));
    }

    fn flush(&self) {}
}

/// The lines at this level that have all these words.
fn said(level: Level, words: &[&str]) -> usize {
    let said = SAID.0.lock().unwrap();
    let is_one = |line: &str| words.iter().all(|word| line.contains(word));
    said.iter().filter(|(of, line)| *of == level && is_one(line)).count()
}

/// Fails to send from some NIDs, for a reason.
#[derive(Clone)]
struct Failing(Vec<Nid>, SendFailure);

impl Driver for Failing {
    fn net_type(&self) -> NetType {
        NetType::TCP
    }

    fn start_ni(&self, _: &Arc<Ni>, _: Arc<dyn Upcalls>) -> Result<Arc<dyn LndNi>, Errno> {
        Ok(Arc::new(self.clone()))
    }
}

impl LndNi for Failing {
    fn send(&self, message: Box<Message>) -> SendOutcome {
        let fails = self.0.contains(&message.header().src_nid);
        SendOutcome::Done(message, if fails { Err(self.1) } else { Ok(()) })
    }

    fn shutdown(&self) {}
}

fn listen() {
    LISTEN.call_once(|| {
        log::set_logger(&SAID).unwrap();
        log::set_max_level(LevelFilter::Info);
    });
}

fn nid(text: &str) -> Nid {
    text.parse().unwrap()
}

/// A node on which these NIDs fail, and a multi-rail peer.
fn node(own: &[&str], failing: &[&str], cause: Cause, peer: &str) -> Arc<Core> {
    listen();
    let core = Core::new(CoreConfig::new(Pid::LUSTRE, 1).without_discovery());
    let failure = SendFailure { errno: Errno::TimedOut, cause, delivery: Delivery::NotSent };
    let driver = Failing(failing.iter().map(|own| nid(own)).collect(), failure);
    for own in own {
        core.add_ni(nid(own), NiTunables::default(), &driver).unwrap();
    }
    core.make_peer(nid(peer), true, false).unwrap();
    core
}

fn put(core: &Core, peer: &str) {
    let options = MdOptions(0);
    let spec = MdSpec { start: 0, length: 0, threshold: -1, max_size: 0, options, user_ptr: 0, eq: None };
    let md = core.md_bind(spec, MdMemory::contiguous(0, 0), true).unwrap();
    let target = Target { nid: Some(nid(peer)), pid: Pid::LUSTRE, portal: 9, match_bits: 0, offset: 0 };
    core.put(None, md, false, target, 0).unwrap();
    core.md_unlink(md).unwrap();
}

fn counted(core: &Core, own: &str) -> Arc<Ni> {
    Arc::clone(core.nets().ni(nid(own)).unwrap())
}

/// dbg-020: fails if a time-out is not counted for the interface that it happened to, or for another as well, or not
/// logged.
#[test]
fn a_time_out_is_counted_for_its_interface_and_logged() {
    let (bad, good, peer) = ("10.1.0.1@tcp", "10.1.0.2@tcp", "10.1.0.9@tcp");
    for cause in [Cause::LocalTimeout, Cause::NetworkTimeout] {
        let core = node(&[bad, good], &[bad], cause, peer);
        (0..2).for_each(|_| put(&core, peer));
        let times = |own| counted(&core, own).failures().read().of(cause);
        assert_eq!((times(bad), times(good)), (1, 0), "{cause:?}");
        assert_eq!(said(Level::Error, &[bad, peer, "failed", cause.text()]), 1, "{cause:?}");
        core.shutdown();
    }
}

/// dbg-025: fails if a message that cannot be sent by any path is not counted as dropped, or not logged.
#[test]
fn a_message_that_is_given_up_is_counted_as_dropped_and_logged() {
    let (own, peer) = ("10.2.0.1@tcp", "10.2.0.9@tcp");
    let core = node(&[own], &[own], Cause::RemoteDropped, peer);
    put(&core, peer);
    assert_eq!(counted(&core, own).counters().read(Outcome::Dropped).put, 1);
    let line = format!("PUT {own} -> {peer} failed (REMOTE_DROPPED, ETIMEDOUT); given up after 0 resends");
    assert_eq!(said(Level::Error, &[&line]), 1);
    core.shutdown();
}

struct NeverHeld;

impl DeferredRx for NeverHeld {
    fn resume(&self, _: RxAction) {
        panic!("nothing is held");
    }
}

/// dbg-025: fails if a message that arrives and matches nothing is not counted as dropped, or not logged; or if a flood
/// of them fills the log.
#[test]
fn a_message_that_matches_nothing_is_counted_as_dropped_and_logged() {
    let (own, peer) = ("10.3.0.1@tcp", "10.3.0.9@tcp");
    let core = node(&[own], &[], Cause::LocalError, peer);
    let header = Header {
        dest_nid: nid(own),
        src_nid: nid(peer),
        dest_pid: Pid::LUSTRE,
        src_pid: Pid::LUSTRE,
        payload_length: 7,
        body: Body::Put { ack: None, match_bits: 5, hdr_data: 0, portal: 9, offset: 0 },
    };
    let ni = counted(&core, own);
    let hold = || Arc::new(NeverHeld) as Arc<dyn DeferredRx>;
    let arrives = || matches!(core.receive(&ni, nid(peer), &header, &hold), RxAction::Discard);
    assert!(arrives());
    assert_eq!(ni.counters().read(Outcome::Dropped).put, 1);
    let line = format!("PUT {peer} -> {own} of 7 bytes dropped (no match)");
    assert_eq!(said(Level::Warn, &[&line]), 1);
    assert!((0..1000).all(|_| arrives()));
    assert_eq!(ni.counters().read(Outcome::Dropped).put, 1001);
    assert!(said(Level::Warn, &[&line]) <= 10);
    core.shutdown();
}

/// Shows the time that it is set to.
#[derive(Clone, Debug, Default)]
struct ManualClock(Arc<AtomicU64>);

impl Clock for ManualClock {
    fn now(&self) -> Time {
        Time(Duration::from_secs(self.0.load(Ordering::Relaxed)))
    }
}

/// Fails if a flood of one kind of line hides a line of another kind, or if nobody says how much of the flood is missing,
/// or only when there is something else to say.
#[test]
fn a_flood_of_response_timeouts_hides_no_change_of_state_and_is_counted() {
    listen();
    let (own, peer) = ("10.4.0.1@tcp", "10.4.0.9@tcp");
    let clock = ManualClock::default();
    let mut config = CoreConfig::new(Pid::LUSTRE, 1).without_discovery();
    config.clock = Arc::new(clock.clone());
    let core = Core::new(config);
    let never_fails =
        SendFailure { errno: Errno::TimedOut, cause: Cause::LocalError, delivery: Delivery::NotSent };
    core.add_ni(nid(own), NiTunables::default(), &Failing(Vec::new(), never_fails)).unwrap();
    for _ in 0..25 {
        let options = MdOptions(MdOptions::TRACK_RESPONSE.0);
        let spec = MdSpec { start: 0, length: 0, threshold: 2, max_size: 0, options, user_ptr: 0, eq: None };
        let md = core.md_bind(spec, MdMemory::contiguous(0, 0), true).unwrap();
        let target = Target { nid: Some(nid(peer)), pid: Pid::LUSTRE, portal: 9, match_bits: 0, offset: 0 };
        core.put(None, md, true, target, 0).unwrap();
    }
    core.run_monitor();
    clock.0.store(3600, Ordering::Relaxed);
    core.run_monitor();
    assert_eq!(said(Level::Error, &["no response from", peer]), 10);

    core.set_ni_fatal(nid(own), Some("link down"));
    assert_eq!(said(Level::Error, &[&format!("NI {own}: "), "-> FAILED (link down)"]), 1);
    assert_eq!(said(Level::Error, &["suppressed"]), 0);

    // Nothing else happens; the monitor was asked to come back when the minute is over.
    let next = core.run_monitor().unwrap();
    assert!(next <= Time(Duration::from_secs(3660)), "{next:?}");
    clock.0.store(3660, Ordering::Relaxed);
    core.run_monitor();
    assert_eq!(said(Level::Error, &[&format!("{peer}: 15 lines suppressed (response_timeout)")]), 1);
    core.shutdown();
}
