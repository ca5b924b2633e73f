//! What ends an operation before its time, in every state that it may be in: its MD is unlinked, its interface is taken
//! away (another is there, or none), the node ends. `docs/shutdown-and-unlink.md` has the same as a table, with the states within a
//! driver, which are one here ([`State::WithDriver`]).
//!
//! Whatever the case: the operation ends once, the MD has one last event, and nothing is left of any message.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use lnet_core::fault::{DelayRule, Filter, Odds};
use lnet_core::health::NiKind;
use lnet_core::stats::MessageCounts;
use lnet_core::topology::PeerNi;
use lnet_core::{
    Cause, Delivery, EqHandle, Errno, Event, EventKind, MdHandle, MdOptions, MdSpec, SendFailure,
};
use lnet_wire::{Body, WireHandle};
use std::num::NonZeroU32;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use support::{BITS, COOKIE, FakeDriver, FakeNi, Heard, OnSend, PORTAL, header_from, put_body, tcp};

const ASKER: WireHandle = WireHandle { interface_cookie: 7, object_cookie: 7 };
const SECOND: Duration = Duration::from_secs(1);

/// This node's interfaces, and its peer.
const HERE: u32 = 1;
const OTHER: u32 = 9;
const PEER: u32 = 2;

/// Where a message of this node's, or one that arrives, may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Parked,
    WaitsForPeerCredit,
    WaitsForNiCredit,
    WithDriver(Delivery),
    SentAgainLater,
    LeavesLate,
    AwaitsAck,
    AwaitsReply,
    ArrivesLate,
    HeldAtLazyPortal,
    HalfArrived,
    ReplyHalfArrived,
    AckUnderWay,
    ReplyUnderWay,
    RecoveryPing,
}

use State::*;

const STATES: [State; 17] = [
    Parked,
    WaitsForPeerCredit,
    WaitsForNiCredit,
    WithDriver(Delivery::NotSent),
    WithDriver(Delivery::Deduplicated),
    WithDriver(Delivery::Unknown),
    SentAgainLater,
    LeavesLate,
    AwaitsAck,
    AwaitsReply,
    ArrivesLate,
    HeldAtLazyPortal,
    HalfArrived,
    ReplyHalfArrived,
    AckUnderWay,
    ReplyUnderWay,
    RecoveryPing,
];

/// What happens to it there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Its MD is unlinked; then everything goes its way.
    Unlinked,
    /// Its interface is taken away, and there is another.
    NiRemoved,
    /// Its interface is taken away, and there is no other.
    OnlyNiRemoved,
    /// `LNetNIFini`.
    Shutdown,
}

use End::*;

/// The events of the user's MD in each case; those that come before the call returns, then those after it.
fn expected(state: State, end: End) -> (Vec<Heard>, Vec<Heard>) {
    use EventKind::{Get, Put, Reply, Send, Unlink};
    let ok = |kind| vec![(kind, Ok(()), false)];
    let last = |kind| vec![(kind, Ok(()), true)];
    let failed = |kind, errno| vec![(kind, Err(errno), false)];
    let cancelled = vec![(Send, Err(Errno::Cancelled), true)];
    let gone = || failed(Send, Errno::Shutdown);
    let nothing = Vec::new;
    match (state, end) {
        (Parked, Unlinked) => (cancelled, nothing()),
        // It waits on, for what the other interface learns: here nothing.
        (Parked, NiRemoved) => (nothing(), failed(Send, Errno::TimedOut)),
        (Parked, OnlyNiRemoved) => (nothing(), failed(Send, Errno::HostUnreachable)),
        (Parked, Shutdown) => (gone(), nothing()),

        (WaitsForPeerCredit | WaitsForNiCredit | SentAgainLater | LeavesLate, Unlinked) => {
            (nothing(), cancelled)
        }
        (WaitsForPeerCredit | WaitsForNiCredit, NiRemoved) => (nothing(), ok(Send)),
        (SentAgainLater, NiRemoved) => (nothing(), ok(Send)),
        (LeavesLate, NiRemoved) => (nothing(), ok(Send)),
        (SentAgainLater, OnlyNiRemoved) => (nothing(), failed(Send, Errno::HostUnreachable)),
        (
            WaitsForPeerCredit | WaitsForNiCredit | SentAgainLater | LeavesLate | WithDriver(_),
            OnlyNiRemoved | Shutdown,
        ) => (gone(), nothing()),

        (WithDriver(_), Unlinked) => (nothing(), last(Send)),
        (WithDriver(Delivery::Unknown), NiRemoved) => (gone(), nothing()),
        (WithDriver(_), NiRemoved) => (nothing(), ok(Send)),

        (AwaitsAck | AwaitsReply | ArrivesLate | AckUnderWay, Unlinked) => (last(Unlink), nothing()),
        (AwaitsAck | AwaitsReply | ArrivesLate | AckUnderWay, _) => (nothing(), nothing()),

        // There is no MD.
        (HeldAtLazyPortal | RecoveryPing, _) => (nothing(), nothing()),

        (HalfArrived, Unlinked) => (nothing(), last(Put)),
        (HalfArrived, _) => (failed(Put, Errno::Shutdown), nothing()),
        (ReplyHalfArrived, Unlinked) => (nothing(), last(Reply)),
        (ReplyHalfArrived, _) => (failed(Reply, Errno::Shutdown), nothing()),
        (ReplyUnderWay, Unlinked) => (nothing(), last(Get)),
        (ReplyUnderWay, NiRemoved) => (nothing(), ok(Get)),
        (ReplyUnderWay, _) => (failed(Get, Errno::Shutdown), nothing()),
    }
}

#[test]
fn whatever_state_an_operation_is_in_and_whatever_ends_it_it_ends_once_and_leaves_nothing() {
    for state in STATES {
        for end in [Unlinked, NiRemoved, OnlyNiRemoved, Shutdown] {
            let _watchdog = Watchdog::new(format!("{state:?}, {end:?}"));
            check(state, end);
        }
    }
}

fn check(state: State, end: End) {
    let case = format!("{state:?}, {end:?}");
    let rig = Rig::new(state, end);
    let md = rig.enter(state);
    assert_eq!(rig.heard(), [], "{case}: not there yet");
    let peer_nis = rig.core.peer_nis();
    match end {
        Unlinked => {
            if let Some(md) = md {
                rig.core.md_unlink(md).unwrap();
            }
        }
        NiRemoved | OnlyNiRemoved => rig.core.remove_ni(tcp(HERE)).unwrap(),
        Shutdown => rig.core.shutdown(),
    }
    let (at_once, afterwards) = expected(state, end);
    assert_eq!(rig.heard(), at_once, "{case}: before the return");
    if end != Shutdown {
        rig.run();
        assert_eq!(rig.heard(), afterwards, "{case}: after the return");
        if let (Some(md), false) = (md, end == Unlinked) {
            rig.core.md_unlink(md).unwrap();
            assert_eq!(rig.heard(), [(EventKind::Unlink, Ok(()), true)], "{case}");
        }
        rig.core.clear_lazy_portal(PORTAL).unwrap();
        assert_eq!(rig.core.eq_free(rig.eq), Ok(()), "{case}: no MD is left that reports there");
        assert_eq!(rig.core.message_counts().msgs_alloc, 0, "{case}");
    }
    rig.core.shutdown();
    rig.leaves_nothing(&peer_nis, &case);
}

/// A message that fails for good goes into the queue of those that are sent again later. If the node ends in the moment
/// before, nobody looks there any more.
#[test]
fn what_fails_while_the_node_ends_is_not_put_off_for_ever() {
    let _watchdog = Watchdog::new("the node ends while a message fails");
    let rig = Rig::new(SentAgainLater, Shutdown);
    let md = rig.bind(-1);
    rig.fail_next();
    let core = Arc::clone(&rig.core);
    // The log looks at the time when the message is to be sent again and has not been put there.
    rig.clock.at_read(6, move || thread::spawn(move || core.shutdown()).join().unwrap());
    rig.put(md, tcp(PEER));
    assert!(!rig.clock.has_hook(), "nothing was decided");
    assert_eq!(rig.heard(), [(EventKind::Send, Err(Errno::Shutdown), false)]);
    rig.leaves_nothing(&[], "the node ends while a message fails");
}

/// Who ends the node because of the event must find it owed.
#[test]
fn an_ack_is_owed_from_before_its_put_is_told_until_it_has_arrived() {
    let rig = Rig::new(AckUnderWay, Shutdown);
    let was_owed = Arc::new(AtomicBool::new(false));
    let (core, tell) = (Arc::downgrade(&rig.core), Arc::clone(&was_owed));
    let look = move |_: &Event| tell.store(core.upgrade().unwrap().owes_answers(), Ordering::SeqCst);
    rig.attach_for(rig.core.eq_alloc(0, Some(Box::new(look))).unwrap());
    assert!(!rig.core.owes_answers());
    rig.arrives(put_body(Some(ASKER)), 8);
    rig.here().finish_arriving(Ok(()));
    assert!(was_owed.load(Ordering::SeqCst));
    assert!(rig.core.owes_answers());
    rig.work();
    assert!(!rig.core.owes_answers());
    rig.core.shutdown();
}

/// A driver asks about a message, and the answer, that it has to wait, comes when the interfaces have ended already.
#[test]
fn what_is_made_to_wait_while_the_node_ends_does_not_wait_for_ever() {
    let _watchdog = Watchdog::new("the node ends while a message arrives");
    let rig = Rig::new(HeldAtLazyPortal, Shutdown);
    rig.core.set_lazy_portal(PORTAL).unwrap();
    // It is for the look at the time alone.
    rig.core.add_delay_rule(DelayRule { filter: Filter::between(tcp(77), tcp(78)), ..late() });
    let (asked, is_asked) = channel();
    let (go_on, may_go_on) = channel();
    let (waits, does_wait) = channel();
    let does_wait = Mutex::new(does_wait);
    // Its event comes between the end of the interfaces and that of the portals.
    let handler = move |_: &Event| {
        go_on.send(()).unwrap();
        does_wait.lock().unwrap().recv().unwrap();
    };
    let eq = rig.core.eq_alloc(0, Some(Box::new(handler))).unwrap();
    let (spec, memory) = rig.spec(-1, 0);
    let md = rig.core.md_bind(MdSpec { eq: Some(eq), ..spec }, memory, false).unwrap();
    rig.fail_next();
    rig.put(md, tcp(PEER));
    rig.clock.at_read(1, move || {
        asked.send(()).unwrap();
        may_go_on.recv().unwrap();
    });
    thread::scope(|scope| {
        let rig = &rig;
        scope.spawn(move || {
            rig.arrives(put_body(None), 8);
            assert_eq!(rig.here().deferred(), 1);
            waits.send(()).unwrap();
        });
        is_asked.recv().unwrap();
        rig.core.shutdown();
    });
    rig.leaves_nothing(&[], "the node ends while a message arrives");
}

/// Puts, unlinks and removals by several threads at once, and the end in the middle of it.
#[test]
fn every_accepted_operation_of_many_threads_ends_once_when_the_node_ends_among_them() {
    for round in 0..20 {
        let _watchdog = Watchdog::new("many threads");
        let rig = Rig::new(WaitsForPeerCredit, NiRemoved);
        let accepted = AtomicUsize::new(0);
        let sent = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while sent.fetch_add(1, Ordering::SeqCst) < 400 {
                        let Ok(md) = rig.try_bind(-1) else { continue };
                        accepted.fetch_add(usize::from(rig.try_put(md, tcp(PEER)).is_ok()), Ordering::SeqCst);
                        let _ = rig.core.md_unlink(md);
                    }
                });
            }
            scope.spawn(|| {
                while sent.load(Ordering::SeqCst) < 400 {
                    rig.work();
                    thread::yield_now();
                }
            });
            scope.spawn(|| {
                while sent.load(Ordering::SeqCst) < 100 + round * 5 {
                    thread::yield_now();
                }
                rig.core.remove_ni(tcp(HERE)).unwrap();
                while sent.load(Ordering::SeqCst) < 200 + round * 5 {
                    thread::yield_now();
                }
                rig.core.shutdown();
            });
        });
        let heard = rig.heard();
        let sends = heard.iter().filter(|(kind, ..)| *kind == EventKind::Send).count();
        assert_eq!(sends, accepted.into_inner());
        rig.leaves_nothing(&[], "many threads");
    }
}

// ---- the node ----

struct Rig {
    node: support::Rig,
    here: Arc<FakeNi>,
}

impl Deref for Rig {
    type Target = support::Rig;

    fn deref(&self) -> &support::Rig {
        &self.node
    }
}

impl Rig {
    fn new(state: State, end: End) -> Self {
        let driver = FakeDriver::new(OnSend::Keep);
        if let WithDriver(delivery) = state {
            driver.set_delivery_at_shutdown(delivery);
        }
        let builder = support::Rig::builder(driver);
        let builder = if state == Parked { builder.with_discovery() } else { builder };
        let (credits, peer_credits) = match state {
            WaitsForPeerCredit => (8, 1),
            WaitsForNiCredit => (1, 8),
            _ => (8, 8),
        };
        let own = if end == NiRemoved { &[HERE, OTHER][..] } else { &[HERE] };
        let node = builder.credits(credits, peer_credits).nids(own.iter().map(|own| tcp(*own))).build();
        node.core.make_peer(tcp(PEER), true, false).unwrap();
        let here = node.driver.ni(0);
        Self { node, here }
    }

    fn here(&self) -> &Arc<FakeNi> {
        &self.here
    }

    fn fail_next(&self) {
        let (errno, cause, delivery) = (Errno::ConnectionReset, Cause::RemoteDropped, Delivery::Deduplicated);
        self.driver.fail_next(SendFailure { errno, cause, delivery });
    }

    /// Brings a message into that state by [`HERE`]; the MD of it that is the user's.
    fn enter(&self, state: State) -> Option<MdHandle> {
        // Until then nothing goes by the other interface.
        self.core.set_ni_health(Some(tcp(OTHER)), 0);
        let md = self.enter_by_the_only_way(state);
        self.core.set_ni_health(Some(tcp(OTHER)), 1000);
        md
    }

    fn enter_by_the_only_way(&self, state: State) -> Option<MdHandle> {
        let put = |to| {
            let md = self.bind(-1);
            self.put(md, tcp(to));
            md
        };
        match state {
            Parked => {
                let md = put(PEER);
                assert!(self.core.discovery_of(tcp(PEER)).is_some_and(|standing| standing.parked == 1));
                Some(md)
            }
            WaitsForPeerCredit | WaitsForNiCredit => {
                let filler = self.bind_without_eq(-1);
                self.put(filler, tcp(if state == WaitsForPeerCredit { PEER } else { PEER + 1 }));
                let md = put(PEER);
                assert_eq!(self.here().kept(), 1);
                Some(md)
            }
            WithDriver(_) => {
                let md = put(PEER);
                assert_eq!(self.here().kept(), 1);
                Some(md)
            }
            SentAgainLater => {
                self.fail_next();
                let md = put(PEER);
                assert_eq!((self.here().kept(), self.core.message_counts().msgs_alloc), (0, 1));
                Some(md)
            }
            LeavesLate => {
                self.core.add_delay_rule(late());
                let md = put(PEER);
                assert_eq!((self.here().kept(), self.core.message_counts().msgs_alloc), (0, 1));
                Some(md)
            }
            AwaitsAck | AwaitsReply | ReplyHalfArrived => {
                let md = self.bind(-1);
                if state == AwaitsAck {
                    self.put_with_ack(md, tcp(PEER))
                } else {
                    self.get(md, tcp(PEER))
                }
                self.work();
                assert_eq!(self.heard(), [(EventKind::Send, Ok(()), false)]);
                if state == ReplyHalfArrived {
                    let handle = WireHandle { interface_cookie: COOKIE, object_cookie: md.cookie() };
                    self.arrives(Body::Reply { handle }, 8);
                    assert_eq!(self.here().arriving(), 1);
                }
                Some(md)
            }
            ArrivesLate => {
                self.core.add_delay_rule(late());
                let md = self.attach();
                self.arrives(put_body(None), 8);
                assert_eq!((self.here().arriving(), self.core.message_counts().msgs_alloc), (0, 1));
                Some(md)
            }
            HeldAtLazyPortal => {
                self.core.set_lazy_portal(PORTAL).unwrap();
                self.arrives(put_body(None), 8);
                assert_eq!((self.here().arriving(), self.core.message_counts().msgs_alloc), (0, 1));
                None
            }
            HalfArrived => {
                let md = self.attach();
                self.arrives(put_body(None), 8);
                assert_eq!(self.here().arriving(), 1);
                Some(md)
            }
            AckUnderWay => {
                let md = self.attach();
                self.arrives(put_body(Some(ASKER)), 8);
                self.here().finish_arriving(Ok(()));
                assert_eq!(self.heard(), [(EventKind::Put, Ok(()), false)]);
                assert_eq!(self.here().kept(), 1);
                Some(md)
            }
            ReplyUnderWay => {
                let md = self.attach();
                let reply = WireHandle { interface_cookie: 7, object_cookie: 7 };
                let get = Body::Get { reply, match_bits: BITS, portal: PORTAL, offset: 0, sink_length: 8 };
                self.arrives(get, 0);
                self.here().finish_arriving(Ok(()));
                assert_eq!(self.here().kept(), 1);
                Some(md)
            }
            RecoveryPing => {
                self.core.set_ni_health(Some(tcp(HERE)), 500);
                self.clock.advance(2 * SECOND);
                self.core.run_monitor();
                assert_eq!(self.here().kept(), 1);
                assert!(self.core.recovery_queue(NiKind::Local).contains(&tcp(HERE)));
                None
            }
        }
    }

    /// An MD at the portal, for PUTs and GETs.
    fn attach(&self) -> MdHandle {
        self.attach_for(self.eq)
    }

    fn attach_for(&self, eq: EqHandle) -> MdHandle {
        let options = MdOptions::OP_PUT.0 | MdOptions::OP_GET.0 | MdOptions::MANAGE_REMOTE.0;
        self.node.attach_for(eq, -1, options)
    }

    /// A message arrives from the peer on the first interface.
    fn arrives(&self, body: Body, payload_length: u32) {
        self.here().arrives(&header_from(tcp(PEER), body, payload_length));
    }

    /// Drivers finish what they have; how much that was.
    fn work(&self) -> usize {
        self.driver.finish()
    }

    /// All goes on until nothing happens any more, for less than a transaction time-out, or the discovery that is
    /// waited for.
    fn run(&self) {
        for _ in 0..8 {
            self.core.run_discovery();
            self.core.run_monitor();
            while self.work() > 0 {}
            self.clock.advance(SECOND);
        }
        // Who is asked who it is says nothing.
        while self.core.discovery_of(tcp(PEER)).is_some_and(|standing| standing.parked > 0) {
            self.clock.advance(20 * SECOND);
            self.core.run_discovery();
            while self.work() > 0 {}
        }
    }

    /// After the node's end.
    fn leaves_nothing(self, peer_nis: &[Arc<PeerNi>], case: &str) {
        let MessageCounts { msgs_alloc: alive, .. } = self.core.message_counts();
        assert_eq!(alive, 0, "{case}: messages");
        for ni in &self.nis {
            assert_eq!(ni.credits().0, ni.tunables().credits as i32, "{case}: credits of {}", ni.nid());
        }
        for peer_ni in peer_nis.iter().chain(&self.core.peer_nis()) {
            assert_eq!(peer_ni.credits().0, peer_ni.max_credits() as i32, "{case}: credits of a peer");
            assert_eq!(peer_ni.queued_bytes(), 0, "{case}");
        }
        assert_eq!(self.core.run_monitor(), None, "{case}: the monitor waits for something");
        for ni in self.driver.nis() {
            assert_eq!((ni.kept(), ni.arriving()), (0, 0), "{case}: with the driver");
            assert_eq!(ni.deferred(), 0, "{case}: deferred");
        }
        assert_eq!(self.heard(), [], "{case}: nothing comes after the end");
        let (core, nis) =
            (Arc::downgrade(&self.core), self.nis.iter().map(Arc::downgrade).collect::<Vec<_>>());
        drop(self);
        assert_eq!(core.strong_count(), 0, "{case}: something refers to the node");
        assert!(nis.iter().all(|ni| ni.strong_count() == 0), "{case}: something refers to an interface");
    }
}

fn late() -> DelayRule {
    DelayRule { filter: Filter::default(), odds: Odds::OneIn(NonZeroU32::MIN), latency: SECOND }
}

/// A test that hangs is a test that fails, and says where.
struct Watchdog(Sender<()>);

impl Watchdog {
    fn new(case: impl Into<String>) -> Self {
        let (alive, gone) = channel::<()>();
        let case = case.into();
        thread::spawn(move || {
            if gone.recv_timeout(30 * SECOND) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                eprintln!("{case}: hangs");
                std::process::abort();
            }
        });
        Self(alive)
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}
