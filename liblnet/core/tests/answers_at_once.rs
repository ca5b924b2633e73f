//! A driver that has the answer to a ping arrive before it has given the ping back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use lnet_core::health::PeerNiState;
use lnet_core::lnd::{DeferredRx, Driver, LndNi, RxAction, SendOutcome, Upcalls};
use lnet_core::topology::Ni;
use lnet_core::{Clock, Core, CoreConfig, Errno, Message, NiTunables, Time};
use lnet_wire::{Body, Header, NetId, NetType, Nid, Pid};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn nid(address: u32) -> Nid {
    Nid::new(NetId::new(NetType::TCP, 0), address)
}

/// A clock that the test sets.
#[derive(Clone, Debug, Default)]
struct TestClock(Arc<Mutex<Time>>);

impl Clock for TestClock {
    fn now(&self) -> Time {
        *self.0.lock().unwrap()
    }
}

/// Answers every GET with nothing while it sends it, if it is to; loses everything else.
#[derive(Clone, Default)]
struct Prompt {
    answers: Arc<AtomicBool>,
}

struct PromptNi {
    answers: Arc<AtomicBool>,
    ni: Arc<Ni>,
    upcalls: Arc<dyn Upcalls>,
}

struct NeverHeld;

impl DeferredRx for NeverHeld {
    fn resume(&self, _: RxAction) {}
}

impl Driver for Prompt {
    fn net_type(&self) -> NetType {
        NetType::TCP
    }

    fn start_ni(&self, ni: &Arc<Ni>, upcalls: Arc<dyn Upcalls>) -> Result<Arc<dyn LndNi>, Errno> {
        Ok(Arc::new(PromptNi { answers: Arc::clone(&self.answers), ni: Arc::clone(ni), upcalls }))
    }
}

impl LndNi for PromptNi {
    fn send(&self, message: Box<Message>) -> SendOutcome {
        let asked = *message.header();
        if let (Body::Get { reply, .. }, true) = (asked.body, self.answers.load(Ordering::Relaxed)) {
            let body = Body::Reply { handle: reply };
            let (dest_nid, src_nid) = (asked.src_nid, asked.dest_nid);
            let answer = Header { dest_nid, src_nid, body, payload_length: 0, ..asked };
            let hold = || Arc::new(NeverHeld) as Arc<dyn DeferredRx>;
            if let RxAction::Deliver(got) = self.upcalls.receive(&self.ni, src_nid, &answer, &hold) {
                self.upcalls.received(got, Ok(()));
            }
        }
        SendOutcome::Done(message, Ok(()))
    }

    fn shutdown(&self) {}
}

fn node(clock: &TestClock, driver: &Prompt) -> Arc<Core> {
    let config = CoreConfig { clock: Arc::new(clock.clone()), ..CoreConfig::new(Pid::LUSTRE, 42) };
    let core = Core::new(config);
    core.add_ni(nid(1), NiTunables::default(), driver).unwrap();
    core
}

/// HE-52: fails if the ping is noted as not answered after its answer has come.
#[test]
fn a_recovery_ping_that_is_answered_before_it_has_left_does_not_make_the_next_one_wait_longer() {
    let (clock, driver) = (TestClock::default(), Prompt::default());
    driver.answers.store(true, Ordering::Relaxed);
    let core = node(&clock, &driver);
    core.set_ni_health(Some(nid(1)), 100);
    let recovery = || core.nets().ni(nid(1)).unwrap().recovery();
    for second in 1..=3 {
        *clock.0.lock().unwrap() = Time(Duration::from_secs(second));
        let next = core.run_monitor();
        let due = Some(Time(Duration::from_secs(second + 1)));
        assert_eq!((recovery().ping_count, recovery().next_ping), (0, due), "after ping {second}");
        assert!(next <= due, "{next:?}");
    }
    driver.answers.store(false, Ordering::Relaxed);
    *clock.0.lock().unwrap() = Time(Duration::from_secs(4));
    core.run_monitor();
    assert_eq!((recovery().ping_count, recovery().next_ping), (1, Some(Time(Duration::from_secs(6)))));
}

/// dbg-030, dbg-120: fails if the state is found from counters, which are 0 then.
#[test]
fn the_state_of_a_peer_ni_is_what_it_was_after_statistics_are_reset() {
    let (clock, driver) = (TestClock::default(), Prompt::default());
    let core = node(&clock, &driver);
    let its = nid(9);
    let state = || {
        let (_, peer_nis) = core.peer(its).unwrap();
        let before = PeerNiState::of(&peer_nis[0]);
        core.reset_counters();
        assert_eq!(PeerNiState::of(&peer_nis[0]), before);
        before
    };
    core.make_peer(its, false, false).unwrap();
    assert_eq!(state(), PeerNiState::Created);
    let ask = || {
        core.discover(its, false).unwrap();
        core.run_discovery();
    };
    ask();
    assert_eq!(state(), PeerNiState::Activating);
    driver.answers.store(true, Ordering::Relaxed);
    *clock.0.lock().unwrap() = Time(Duration::from_secs(100));
    core.run_discovery();
    ask();
    assert_eq!(state(), PeerNiState::Connected);
    core.set_peer_ni_health(Some(its), 500);
    assert_eq!(state(), PeerNiState::Failed);
    core.set_peer_ni_health(Some(its), 1000);
    assert_eq!(state(), PeerNiState::Connected);
}
