//! Faults on purpose, against a driver that sends at once what it is given.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use lnet_core::fault::{Causes, DelayRule, DropRule, Filter, Kinds, Loss, Odds};
use lnet_core::lnd::{DeferredRx, Driver, LndNi, RxAction, SendOutcome, Upcalls};
use lnet_core::stats::Outcome;
use lnet_core::topology::Ni;
use lnet_core::{
    Cause, Clock, Core, CoreConfig, EqHandle, Errno, Event, EventKind, InsertPosition, MatchId, MdHandle,
    MdMemory, MdOptions, MdSpec, Message, NiTunables, Target, Time,
};
use lnet_wire::{Body, Header, MessageType, NetId, NetType, Nid, NidPattern, Pid, WireHandle};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PORTAL: u32 = 9;
const COOKIE: u64 = 42;
const SECOND: Duration = Duration::from_secs(1);
const ALL: Odds = Odds::OneIn(NonZeroU32::MIN);

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

/// Sends at once, and remembers what; keeps the verdicts that come late.
#[derive(Clone, Default)]
struct Prompt {
    sent: Arc<Mutex<Vec<Header>>>,
    resumed: Arc<Mutex<Vec<RxAction>>>,
}

impl Driver for Prompt {
    fn net_type(&self) -> NetType {
        NetType::TCP
    }

    fn start_ni(&self, _: &Arc<Ni>, _: Arc<dyn Upcalls>) -> Result<Arc<dyn LndNi>, Errno> {
        Ok(Arc::new(self.clone()))
    }
}

impl LndNi for Prompt {
    fn send(&self, message: Box<Message>) -> SendOutcome {
        self.sent.lock().unwrap().push(*message.header());
        SendOutcome::Done(message, Ok(()))
    }

    fn shutdown(&self) {}
}

impl DeferredRx for Prompt {
    fn resume(&self, verdict: RxAction) {
        self.resumed.lock().unwrap().push(verdict);
    }
}

/// A node with one interface, `1@tcp`, and what its queue's handler was told.
struct Rig {
    core: Arc<Core>,
    ni: Arc<Ni>,
    driver: Prompt,
    clock: TestClock,
    heard: Arc<Mutex<Vec<Event>>>,
    eq: EqHandle,
}

fn rig() -> Rig {
    let clock = TestClock::default();
    let config = CoreConfig { clock: Arc::new(clock.clone()), ..CoreConfig::new(Pid::LUSTRE, COOKIE) };
    let core = Core::new(config.without_discovery());
    let driver = Prompt::default();
    let ni = core.add_ni(nid(1), NiTunables::default(), &driver).unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let tell = Arc::clone(&heard);
    let eq = core.eq_alloc(0, Some(Box::new(move |event| tell.lock().unwrap().push(*event)))).unwrap();
    Rig { core, ni, driver, clock, heard, eq }
}

static MEMORY: [u8; 64] = [0; 64];

impl Rig {
    fn spec(&self, threshold: i32, options: u32) -> (MdSpec, MdMemory) {
        let (start, length) = (MEMORY.as_ptr() as usize, 8);
        let options = MdOptions(options);
        let spec = MdSpec { start, length, threshold, max_size: 0, options, user_ptr: 0, eq: Some(self.eq) };
        (spec, MdMemory::contiguous(start, length))
    }

    fn bind(&self) -> MdHandle {
        let (spec, memory) = self.spec(-1, 0);
        self.core.md_bind(spec, memory, true).unwrap()
    }

    fn put(&self, md: MdHandle, to: u32, hdr_data: u64) {
        let target =
            Target { nid: Some(nid(to)), pid: Pid::LUSTRE, portal: PORTAL, match_bits: 0, offset: 0 };
        self.core.put(None, md, false, target, hdr_data).unwrap();
    }

    fn accept_puts(&self) {
        let me = self.core.me_attach(PORTAL, MatchId::ANY, 0, 0, true, InsertPosition::After).unwrap();
        let (spec, memory) = self.spec(-1, MdOptions::OP_PUT.0 | MdOptions::MANAGE_REMOTE.0);
        self.core.md_attach(me, spec, memory, true, &mut |_| ()).unwrap();
    }

    fn arrives(&self, header: &Header) -> RxAction {
        let hold = || Arc::new(self.driver.clone()) as Arc<dyn DeferredRx>;
        self.core.receive(&self.ni, header.src_nid, header, &hold)
    }

    fn pass(&self, time: Duration) {
        let now = self.clock.now() + time;
        *self.clock.0.lock().unwrap() = now;
    }

    /// The `hdr_data` of the PUTs sent since the last call.
    fn sent(&self) -> Vec<u64> {
        let data = |header: Header| match header.body {
            Body::Put { hdr_data, .. } => hdr_data,
            _ => panic!("{header:?}"),
        };
        std::mem::take(&mut *self.driver.sent.lock().unwrap()).into_iter().map(data).collect()
    }

    fn resumed(&self) -> Vec<RxAction> {
        std::mem::take(&mut *self.driver.resumed.lock().unwrap())
    }

    /// Events since the last call.
    fn heard(&self) -> Vec<(EventKind, Result<(), Errno>)> {
        std::mem::take(&mut *self.heard.lock().unwrap()).into_iter().map(|e| (e.kind, e.status)).collect()
    }

    /// Nothing of a message is left anywhere.
    fn is_idle(&self) -> bool {
        self.core.message_counts().msgs_alloc == 0
    }
}

fn header(source: u32, body: Body, payload_length: u32) -> Header {
    let pid = Pid::LUSTRE;
    Header { dest_nid: nid(1), src_nid: nid(source), dest_pid: pid, src_pid: pid, payload_length, body }
}

fn put_from(source: u32) -> Header {
    let body = Body::Put { ack: None, match_bits: 0, hdr_data: 0, portal: PORTAL, offset: 0 };
    header(source, body, 8)
}

fn one_in(count: u32) -> Odds {
    Odds::OneIn(NonZeroU32::new(count).unwrap())
}

fn delay(filter: Filter, latency: Duration) -> DelayRule {
    DelayRule { filter, odds: ALL, latency }
}

#[test]
fn one_of_three_messages_is_lost_on_arrival_and_only_counted() {
    let rig = rig();
    rig.accept_puts();
    rig.core.add_drop_rule(DropRule::arriving(Filter::between(nid(2), nid(1)), one_in(3)));
    let verdicts: Vec<_> = (0..30).map(|_| rig.arrives(&put_from(2))).collect();
    let lost = verdicts.iter().filter(|verdict| matches!(verdict, RxAction::Discard)).count();
    assert_eq!(lost, 10);
    assert_eq!(rig.ni.counters().read(Outcome::Dropped).put, 10);
    let [(_, stats)] = rig.core.drop_rules()[..] else { panic!() };
    assert_eq!((stats.matched, stats.hit, stats.put, stats.get), (30, 10, 10, 0));
    rig.core.reset_drop_rules();
    assert_eq!(rig.core.drop_rules()[0].1, Default::default());
    assert!(matches!(rig.arrives(&put_from(3)), RxAction::Deliver(_)), "the rule is about another");
}

#[test]
fn who_is_lost_is_not_met() {
    let rig = rig();
    rig.core.add_drop_rule(DropRule::arriving(Filter::default(), ALL));
    assert!(matches!(rig.arrives(&put_from(2)), RxAction::Discard));
    assert!(rig.core.peer_nis().is_empty());
    assert!(rig.is_idle());
}

#[test]
fn what_is_to_fail_is_not_sent_and_its_owner_is_told() {
    let rig = rig();
    let md = rig.bind();
    let only_puts =
        Filter { kinds: Kinds::from(MessageType::Put), ..Filter::between(NidPattern::Any, nid(2)) };
    rig.core.add_drop_rule(DropRule::failing(only_puts, ALL, Cause::LocalError));
    rig.put(md, 2, 0);
    assert_eq!(rig.heard(), [(EventKind::Send, Err(Errno::Io))]);
    assert_eq!(rig.ni.failures().read().of(Cause::LocalError), 1);
    rig.put(md, 3, 7);
    assert_eq!(rig.heard(), [(EventKind::Send, Ok(()))]);
    assert_eq!(rig.sent(), [7]);
    assert!(matches!(rig.arrives(&put_from(2)), RxAction::Discard), "nothing is attached");
    assert_eq!(rig.core.drop_rules()[0].1.matched, 1, "the rule acts on leaving alone");
    assert!(rig.is_idle());
}

#[test]
fn a_rule_for_everything_acts_both_ways() {
    let lost = Loss::Everything(None);
    let failing = Loss::Everything(Some(Causes::from(Cause::RemoteError)));
    for (loss, status) in [(lost, Ok(())), (failing, Err(Errno::ConnectionReset))] {
        let rig = rig();
        rig.accept_puts();
        let md = rig.bind();
        rig.core.add_drop_rule(DropRule { filter: Filter::default(), loss });
        rig.put(md, 2, 0);
        assert_eq!(rig.heard(), [(EventKind::Send, status)]);
        assert!(rig.sent().is_empty());
        assert!(matches!(rig.arrives(&put_from(2)), RxAction::Discard));
        assert_eq!(rig.core.drop_rules()[0].1.hit, 2);
    }
}

#[test]
fn what_leaves_late_leaves_in_the_order_in_which_it_is_due() {
    let rig = rig();
    let md = rig.bind();
    rig.core.add_delay_rule(delay(Filter::between(nid(1), nid(2)), 3 * SECOND));
    rig.core.add_delay_rule(delay(Filter::between(nid(1), nid(3)), SECOND));
    for (to, hdr_data) in [(2, 1), (3, 2), (4, 3), (2, 4), (3, 5)] {
        rig.put(md, to, hdr_data);
    }
    assert_eq!(rig.sent(), [3]);
    assert_eq!(rig.core.run_monitor(), Some(Time(SECOND)));
    rig.pass(SECOND);
    assert_eq!(rig.core.run_monitor(), Some(Time(3 * SECOND)));
    assert_eq!(rig.sent(), [2, 5]);
    rig.pass(2 * SECOND);
    assert_eq!(rig.core.run_monitor(), None);
    assert_eq!(rig.sent(), [1, 4]);
    assert_eq!(rig.heard(), [(EventKind::Send, Ok(())); 5]);
    assert!(rig.is_idle());
}

#[test]
fn what_arrives_late_finds_the_memory_that_is_there_then() {
    let rig = rig();
    rig.core.add_delay_rule(delay(Filter::between(nid(2), nid(1)), SECOND));
    assert!(matches!(rig.arrives(&put_from(2)), RxAction::Defer));
    rig.accept_puts();
    rig.core.run_monitor();
    assert!(rig.resumed().is_empty());
    rig.pass(SECOND);
    rig.core.run_monitor();
    let [RxAction::Deliver(message)] = <[RxAction; 1]>::try_from(rig.resumed()).unwrap() else { panic!() };
    rig.core.received(message, Ok(()));
    assert_eq!(rig.heard(), [(EventKind::Put, Ok(()))]);
    assert!(rig.is_idle());
}

#[test]
fn what_arrives_late_waits_on_at_a_lazy_portal() {
    let rig = rig();
    rig.core.set_lazy_portal(PORTAL).unwrap();
    rig.core.add_delay_rule(delay(Filter::default(), SECOND));
    assert!(matches!(rig.arrives(&put_from(2)), RxAction::Defer));
    rig.pass(SECOND);
    rig.core.run_monitor();
    assert!(rig.resumed().is_empty());
    rig.accept_puts();
    assert!(matches!(rig.resumed()[..], [RxAction::Deliver(_)]));
}

#[test]
fn a_late_answer_for_an_md_that_is_gone_is_dropped() {
    let rig = rig();
    let md = rig.bind();
    let ack = Body::Ack {
        handle: WireHandle { interface_cookie: COOKIE, object_cookie: md.cookie() },
        match_bits: 0,
        accepted: 8,
    };
    rig.core.add_delay_rule(delay(Filter::default(), SECOND));
    assert!(matches!(rig.arrives(&header(2, ack, 0)), RxAction::Defer));
    rig.core.md_unlink(md).unwrap();
    rig.pass(SECOND);
    rig.core.run_monitor();
    assert!(matches!(rig.resumed()[..], [RxAction::Discard]));
    assert!(rig.is_idle());
}

#[test]
fn what_is_late_and_whose_md_is_unlinked_is_cancelled() {
    let rig = rig();
    let md = rig.bind();
    rig.core.add_delay_rule(delay(Filter::default(), SECOND));
    rig.put(md, 2, 0);
    rig.core.md_unlink(md).unwrap();
    rig.pass(SECOND);
    rig.core.run_monitor();
    assert_eq!(rig.heard(), [(EventKind::Send, Err(Errno::Cancelled))]);
    assert!(rig.sent().is_empty() && rig.is_idle());
}

#[test]
fn what_is_late_ends_with_its_interface() {
    let ends: [fn(&Rig); 2] = [|rig| rig.core.remove_ni(nid(1)).unwrap(), |rig| rig.core.shutdown()];
    for end in ends {
        let rig = rig();
        rig.accept_puts();
        let md = rig.bind();
        rig.core.add_delay_rule(delay(Filter::default(), SECOND));
        rig.put(md, 2, 0);
        assert!(matches!(rig.arrives(&put_from(2)), RxAction::Defer));
        end(&rig);
        assert_eq!(rig.heard(), [(EventKind::Send, Err(Errno::Shutdown))]);
        assert!(matches!(rig.resumed()[..], [RxAction::Discard]));
        assert!(rig.is_idle());
    }
}

#[test]
fn deleting_a_delay_lets_go_what_it_held_and_nothing_else() {
    let rig = rig();
    let md = rig.bind();
    let (there, elsewhere) = (Filter::between(nid(1), nid(2)), Filter::between(nid(1), nid(3)));
    rig.core.add_delay_rule(delay(there, SECOND));
    rig.core.add_delay_rule(delay(elsewhere, SECOND));
    rig.put(md, 2, 2);
    rig.put(md, 3, 3);
    assert_eq!(rig.core.delete_delay_rules(None, Some(nid(9).into())), 0);
    assert_eq!(rig.core.delete_delay_rules(Some(nid(1).into()), Some(nid(3).into())), 1);
    assert_eq!(rig.sent(), [3]);
    assert_eq!(rig.core.delete_delay_rules(None, None), 1);
    assert_eq!(rig.sent(), [2]);
    assert!(rig.core.delay_rules().is_empty() && rig.is_idle());
}

#[test]
fn rules_are_listed_newest_first_and_may_be_alike() {
    let rig = rig();
    let [first, second] = [nid(2), nid(3)].map(|dest| DropRule::arriving(Filter::between(nid(1), dest), ALL));
    [first, second, second].into_iter().for_each(|rule| rig.core.add_drop_rule(rule));
    let listed: Vec<_> = rig.core.drop_rules().into_iter().map(|(rule, _)| rule).collect();
    assert_eq!(listed, [second, second, first]);
    assert_eq!(rig.core.delete_drop_rules(None, Some(nid(3).into())), 2);
    assert_eq!(rig.core.delete_drop_rules(Some(NidPattern::Any), None), 0, "a pattern is a pattern");
    assert_eq!(rig.core.delete_drop_rules(None, None), 1);
}
