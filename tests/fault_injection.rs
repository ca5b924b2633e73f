//! Messages that are lost or delayed by fault rules, between two nodes that are not aware of the rules.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use lnet_core::fault::{DelayRule, DropRule, Filter, Kinds, Loss, Odds};
use lnet_core::stats::MessageOutcome;
use lnet_core::{
    Cause, Core, EqHandle, Errno, Event, EventKind, InsertPosition, MatchId, MdHandle, MdMemory, MdOptions,
    MdSpec, Target,
};
use lnet_node::Node;
use lnet_wire::{MessageType, Pid};
use std::num::NonZeroU32;
use std::time::Duration;
use support::rails::{Rails, nids};

const PORTAL: u32 = 5;
const ALL: Odds = Odds::OneIn(NonZeroU32::MIN);
const FOR_EVER: Duration = Duration::from_secs(60);

/// The near node asks, the far one has memory for it.
struct Pair {
    rails: Rails,
    eq: EqHandle,
    md: MdHandle,
    far_eq: EqHandle,
    _memory: Vec<Box<[u8]>>,
}

fn spec(memory: &mut [u8], options: MdOptions, eq: EqHandle) -> (MdSpec, MdMemory) {
    let (start, length) = (memory.as_mut_ptr() as usize, memory.len() as u32);
    let spec = MdSpec { start, length, threshold: -1, max_size: 0, options, user_ptr: 0, eq: Some(eq) };
    (spec, MdMemory::contiguous(start, length))
}

impl Pair {
    fn new(near: &str, far: &str) -> Self {
        let rails = Rails::on_loopback(near, far);
        let mut memory: Vec<Box<[u8]>> = (0..2).map(|_| vec![0; 64].into()).collect();
        let (here, there) = (rails.near.core(), rails.far.core());
        let far_eq = there.data_path().eq_alloc(1024, None).unwrap();
        let me =
            there.data_path().me_attach(PORTAL, MatchId::ANY, 1, 0, true, InsertPosition::After).unwrap();
        let options = MdOptions(MdOptions::OP_PUT.0 | MdOptions::OP_GET.0 | MdOptions::MANAGE_REMOTE.0);
        let (far_spec, far_memory) = spec(&mut memory[0], options, far_eq);
        there.data_path().md_attach(me, far_spec, far_memory, false, &mut |_| ()).unwrap();
        let eq = here.data_path().eq_alloc(1024, None).unwrap();
        let (near_spec, near_memory) = spec(&mut memory[1], MdOptions(0), eq);
        let md = here.data_path().md_bind(near_spec, near_memory, false).unwrap();
        Self { rails, eq, md, far_eq, _memory: memory }
    }

    fn near(&self) -> &Core {
        self.rails.near.core()
    }

    fn target(&self) -> Target {
        let nid = Some(nids(&self.rails.far)[0]);
        Target { nid, pid: Pid::LUSTRE, portal: PORTAL, match_bits: 1, offset: 0 }
    }

    fn get(&self) {
        self.near().data_path().get(None, self.md, self.target()).unwrap();
    }

    fn put(&self, hdr_data: u64) {
        self.near().data_path().put(None, self.md, true, self.target(), hdr_data).unwrap();
    }

    fn event(&self) -> Event {
        event(&self.rails.near, self.eq)
    }

    /// The next event of this kind.
    fn wait_for(&self, kind: EventKind) -> Event {
        std::iter::repeat_with(|| self.event()).find(|event| event.kind == kind).unwrap()
    }

    /// The header data of the far node's next PUT event.
    fn put_to(&self) -> u64 {
        event(&self.rails.far, self.far_eq).hdr_data
    }

    /// The header data of the far node's next three PUT events, in numerical order: messages of several connections may overtake each
    /// other.
    fn three_puts_to(&self) -> [u64; 3] {
        let mut numbers = [self.put_to(), self.put_to(), self.put_to()];
        numbers.sort_unstable();
        numbers
    }

    fn end(self) {
        self.rails.shutdown();
    }
}

fn event(node: &Node, eq: EqHandle) -> Event {
    let (_, polled) = node.eq_poll(&[eq], Some(FOR_EVER)).unwrap().expect("an event in time");
    polled.event
}

fn only(kind: MessageType, node: &Node) -> Filter {
    Filter { kinds: Kinds::from(kind), ..Filter::between(lnet_wire::NidPattern::Any, nids(node)[0]) }
}

#[test]
fn one_of_three_gets_is_dropped_by_the_target_and_counted() {
    let pair = Pair::new("tcp(127.0.61.1)", "tcp(127.0.61.2)");
    let far = pair.rails.far.core();
    far.admin().add_drop_rule(DropRule::arriving(
        only(MessageType::Get, &pair.rails.far),
        Odds::OneIn(NonZeroU32::new(3).unwrap()),
    ));
    (0..30).for_each(|_| pair.get());
    (0..20).for_each(|_| assert_eq!(pair.wait_for(EventKind::Reply).status, Ok(())));
    // The last replies may arrive before the rule has counted the last GET.
    while far.admin().drop_rules()[0].1.matched < 30 {
        std::thread::yield_now();
    }
    let (rule, stats) = far.admin().drop_rules()[0];
    assert!(matches!(rule.loss, Loss::Arriving(_)));
    assert_eq!((stats.hit, stats.get, stats.put), (10, 10, 0));
    let ni = far.nets().ni(nids(&pair.rails.far)[0]).cloned().unwrap();
    assert_eq!(ni.counters().read(MessageOutcome::Dropped).get, 10);
    assert_eq!(far.admin().delete_drop_rules(None, None), 1);
    pair.get();
    pair.wait_for(EventKind::Reply);
    pair.end();
}

#[test]
fn a_put_with_a_simulated_timeout_is_resent_over_the_other_rail_and_lowers_health() {
    let pair = Pair::new("tcp(127.0.62.1,127.0.62.3)", "tcp(127.0.62.2,127.0.62.4)");
    let bad = nids(&pair.rails.near)[0];
    let rule = Filter { local: bad.into(), ..Filter::default() };
    pair.near().admin().add_drop_rule(DropRule::failing(rule, ALL, Cause::LocalTimeout));
    for number in 0..8 {
        pair.put(number);
        assert_eq!(pair.wait_for(EventKind::Ack).status, Ok(()));
        assert_eq!(pair.put_to(), number);
    }
    let nets = pair.near().nets();
    let failures = nets.ni(bad).unwrap().failures().read();
    assert!(failures.of(Cause::LocalTimeout) >= 1, "{failures:?}");
    assert!(pair.near().admin().drop_rules()[0].1.hit >= failures.of(Cause::LocalTimeout));
    assert!(pair.near().admin().health_totals().resends >= 1);
    pair.end();
}

#[test]
fn a_put_without_another_rail_fails_with_the_simulated_error() {
    let pair = Pair::new("tcp(127.0.63.1)", "tcp(127.0.63.2)");
    let rule = only(MessageType::Put, &pair.rails.far);
    pair.near().admin().add_drop_rule(DropRule::failing(rule, ALL, Cause::RemoteError));
    pair.put(0);
    let event = pair.event();
    assert_eq!((event.kind, event.status), (EventKind::Send, Err(Errno::ConnectionReset)));
    pair.get();
    assert_eq!(pair.wait_for(EventKind::Reply).status, Ok(()));
    pair.end();
}

#[test]
fn a_delayed_send_is_overtaken_and_released_when_its_rule_is_deleted() {
    let pair = Pair::new("tcp(127.0.64.1)", "tcp(127.0.64.2)");
    let latency = Duration::from_secs(3600);
    let rule = DelayRule { filter: only(MessageType::Put, &pair.rails.far), odds: ALL, latency };
    pair.near().admin().add_delay_rule(rule);
    (1..=3).for_each(|number| pair.put(number));
    pair.get();
    assert_eq!(pair.wait_for(EventKind::Reply).status, Ok(()));
    assert_eq!(event(&pair.rails.far, pair.far_eq).kind, EventKind::Get);
    assert_eq!(pair.near().admin().delay_rules()[0].1.hit, 3);
    assert_eq!(pair.near().admin().delete_delay_rules(None, None), 1);
    assert_eq!(pair.three_puts_to(), [1, 2, 3]);
    (0..3).for_each(|_| assert_eq!(pair.wait_for(EventKind::Ack).status, Ok(())));
    pair.end();
}

#[test]
fn a_delayed_send_is_released_after_its_delay() {
    let pair = Pair::new("tcp(127.0.66.1)", "tcp(127.0.66.2)");
    let latency = Duration::from_millis(20);
    pair.near().admin().add_delay_rule(DelayRule { filter: Filter::default(), odds: ALL, latency });
    for number in 1..=3 {
        pair.put(number);
        assert_eq!(pair.put_to(), number);
        assert_eq!(pair.wait_for(EventKind::Ack).status, Ok(()));
    }
    pair.end();
}

#[test]
fn a_delayed_receive_is_delivered() {
    let pair = Pair::new("tcp(127.0.65.1)", "tcp(127.0.65.2)");
    let latency = Duration::from_millis(50);
    let far = pair.rails.far.core();
    far.admin().add_delay_rule(DelayRule {
        filter: only(MessageType::Put, &pair.rails.far),
        odds: ALL,
        latency,
    });
    (1..=3).for_each(|number| pair.put(number));
    assert_eq!(pair.three_puts_to(), [1, 2, 3]);
    (0..3).for_each(|_| assert_eq!(pair.wait_for(EventKind::Ack).status, Ok(())));
    assert_eq!(far.admin().delay_rules()[0].1.put, 3);
    pair.end();
}
