//! Two engines with each other, whatever happens.

use super::messages::{Memory, pattern};
use super::rig::{Policy, Rig, TIMEOUT, get_of};
use crate::conn::{ConnTunables, Ended, ViolationOf};
use crate::device::WorkError;
use crate::engine::EngineTunables;
use crate::memory::OnDemandPaging;
use lnet_core::{Delivery, SendFailure};
use lnet_wire::Body;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

/// What happens to one of the two nodes, or to both.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// The core sends a PUT of some length, from memory in some pieces, which is that of an MD or not.
    Put(usize, usize, usize, bool),
    /// The core sends a GET for memory like that.
    Get(usize, usize, usize, bool),
    /// The node takes what its device has.
    Work(usize),
    /// Both work until there is nothing left to do.
    Settle,
    /// What the core does with messages from now on.
    Decides(usize, Policy),
    /// The core decides on one of the messages that wait.
    Decide(usize, usize, Policy),
    /// The most that the core takes of a PUT and gives in a REPLY, and the pieces of that memory. A PUT of which nothing is taken is
    /// answered before its sender knows: without that answer it counts as not sent, and would arrive again.
    Sizes(usize, usize, usize),
    Cut(usize),
    Mend(usize),
    /// The nth call of the device, from now on, fails.
    Fail(usize, u32),
    Wait(u64),
    Abort(usize),
    /// The node ends, and starts again.
    Restart(usize),
    /// The node's machine loses power, and starts again.
    Crash(usize),
}

fn any_len() -> impl Strategy<Value = usize> {
    prop_oneof![
        4 => prop::sample::select(vec![0, 1, 3976, 3977, 8191, 8192]),
        3 => 0_usize..20_000,
        1 => Just(200_000)
    ]
}

fn any_policy() -> impl Strategy<Value = Policy> {
    prop_oneof![
        4 => Just(Policy::Deliver),
        3 => Just(Policy::Defer),
        2 => Just(Policy::Discard),
        1 => Just(Policy::Reject)
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    let pieces = || prop_oneof![3 => Just(1_usize), 1 => 2_usize..20];
    let message = || (0_usize..2, any_len(), pieces(), any::<bool>());
    let decided =
        any_policy().prop_map(|policy| if policy == Policy::Defer { Policy::Deliver } else { policy });
    prop_oneof![
        12 => message().prop_map(|(end, len, pieces, of_md)| Step::Put(end, len, pieces, of_md)),
        8 => message().prop_map(|(end, len, pieces, of_md)| Step::Get(end, len, pieces, of_md)),
        16 => (0_usize..2).prop_map(Step::Work),
        6 => Just(Step::Settle),
        4 => (0_usize..2, any_policy()).prop_map(|(end, policy)| Step::Decides(end, policy)),
        6 => (0_usize..2, 0_usize..9, decided).prop_map(|(end, nth, policy)| Step::Decide(end, nth, policy)),
        2 => (0_usize..2, any_len(), pieces()).prop_map(|(end, len, pieces)| Step::Sizes(end, len.max(1), pieces)),
        1 => (0_usize..2).prop_map(Step::Cut),
        2 => (0_usize..2).prop_map(Step::Mend),
        2 => (0_usize..2, 1_u32..40).prop_map(|(end, nth)| Step::Fail(end, nth)),
        3 => prop_oneof![Just(0), Just(1), Just(5), Just(16), Just(100)].prop_map(Step::Wait),
        1 => (0_usize..2).prop_map(Step::Abort),
        1 => (0_usize..2).prop_map(Step::Restart),
        1 => (0_usize..2).prop_map(Step::Crash),
    ]
}

prop_compose! {
    fn any_tunables()(
        high_water in 0_u16..10, concurrent_sends in 0_u16..20, pieces in 1_usize..3, checksum: bool,
        conns_per_peer in 1_u16..4, keepalive in 0_u64..20, bounce_below in prop::sample::select(vec![0, 8192, 1 << 20]),
        cached_registrations in 0_usize..4,
        on_demand_paging in prop::sample::select(vec![OnDemandPaging::Never, OnDemandPaging::Fallback, OnDemandPaging::Always]),
    ) -> EngineTunables {
        EngineTunables {
            conn: ConnTunables { high_water, concurrent_sends, pieces, checksum },
            conns_per_peer,
            unresponsive: Duration::from_millis(600),
            keepalive: Duration::from_secs(keepalive),
            bounce_below,
            cached_registrations,
            on_demand_paging,
        }
    }
}

/// The two nodes, and the results of all messages that nodes which have ended since had sent.
struct World {
    rig: Rig,
    depths: [u16; 2],
    tunables: EngineTunables,
    sent: u64,
    /// The PUTs of each node, by the number of the message: its match bits.
    puts: [BTreeMap<u64, u64>; 2],
    has_crashed: bool,
}

impl World {
    fn step(&mut self, step: Step) {
        let rig = &mut self.rig;
        match step {
            Step::Put(end, len, pieces, of_md) => {
                self.sent += 1;
                let (match_bits, number) = (self.sent, of_md.then_some(self.sent));
                let body = Body::Put { ack: None, match_bits, hdr_data: 0, portal: 0, offset: 0 };
                let memory = Memory::scattered(&pattern(len), pieces, number);
                let id = rig.send(end, rig.ends[1 - end].nid, body, memory);
                self.puts[end].insert(id, match_bits);
            }
            Step::Get(end, len, pieces, of_md) => {
                self.sent += 1;
                let memory = Memory::scattered(&vec![0; len], pieces, of_md.then_some(self.sent));
                rig.send(end, rig.ends[1 - end].nid, get_of(self.sent, len), memory);
            }
            Step::Work(end) => _ = rig.step_one(end),
            Step::Settle => rig.settle(),
            Step::Decides(end, policy) => rig.ends[end].policy = policy,
            Step::Decide(end, nth, policy) => {
                if nth < rig.ends[end].waiting.len() {
                    let (rx, header) = rig.ends[end].waiting.remove(nth);
                    let now = rig.now;
                    rig.ends[end].decide(rx, header, policy, now);
                }
            }
            Step::Sizes(end, len, pieces) => {
                let end = &mut rig.ends[end];
                (end.takes, end.gives, end.pieces) = (len, len, pieces);
            }
            Step::Cut(end) => rig.net.cut(rig.ends[end].address, true),
            Step::Mend(end) => rig.net.cut(rig.ends[end].address, false),
            Step::Fail(end, nth) => rig.net.fail_call(rig.ends[end].address, nth),
            Step::Wait(seconds) => rig.tick(Duration::from_secs(seconds)),
            Step::Abort(end) => rig.abort(end),
            Step::Restart(end) => {
                self.check_results(end);
                self.rig.shut_down(end);
                self.check_results(end);
                self.start(end);
            }
            Step::Crash(end) => {
                self.has_crashed = true;
                self.check_results(end);
                self.rig.net.forget_conns(self.rig.ends[end].address);
                self.start(end);
            }
        }
    }

    fn start(&mut self, end: usize) {
        self.puts[end].clear();
        self.rig.net.fail_call(self.rig.ends[end].address, u32::MAX);
        self.rig.start(end, self.depths[end], self.tunables);
    }

    /// No PUT has arrived twice, and none that was said not to have been sent.
    fn check_results(&self, end: usize) {
        let arrived = &self.rig.ends[1 - end].arrived_puts;
        for (id, match_bits) in &self.puts[end] {
            let times = arrived.iter().filter(|its| *its == match_bits).count();
            assert!(times <= 1, "PUT {id} has arrived {times} times");
            let result = self.rig.ends[end].ended.get(id);
            let is_unsent = matches!(result, Some(Err(SendFailure { delivery: Delivery::NotSent, .. })));
            assert!(!is_unsent || times == 0, "PUT {id} has arrived, and ended with {result:?}");
        }
        for lost in &self.rig.ends[end].lost {
            let is_expected = match lost {
                Ended::Violation(violation) => matches!(violation, ViolationOf::Lnet(_)),
                Ended::Work(WorkError::NoResponse) => true,
                Ended::Work(_) => self.has_crashed,
                _ => true,
            };
            assert!(is_expected, "{lost:?}");
        }
    }

    /// Each node sends the other something.
    fn exchange(&mut self) -> [Option<Result<(), SendFailure>>; 2] {
        let (there, back) = (self.rig.put(0, 1, 10_000), self.rig.get(1, 0, 10_000));
        self.rig.settle();
        [(0, there), (1, back)].map(|(end, id)| self.rig.ends[end].ended.get(&id).copied())
    }

    /// Nothing stands in the way any more: everything ends in time, and messages pass.
    fn end(mut self) {
        for end in [0, 1] {
            self.rig.net.cut(self.rig.ends[end].address, false);
            self.rig.net.fail_call(self.rig.ends[end].address, u32::MAX);
            let end = &mut self.rig.ends[end];
            (end.policy, end.takes, end.gives) = (Policy::Deliver, usize::MAX, usize::MAX);
        }
        self.rig.settle();
        (0..4).for_each(|_| self.rig.tick(TIMEOUT / 2));
        (0..2).for_each(|end| self.rig.decide_all(end));
        (0..4).for_each(|_| self.rig.tick(TIMEOUT / 2));
        for end in [0, 1] {
            self.check_results(end);
            assert_eq!(self.rig.ends[end].held, [0, 0], "messages and memory that node {end} still has");
        }
        // A node does not know that its peer lost power before one of them sends something.
        self.exchange();
        assert_eq!(self.exchange(), [Some(Ok(())); 2]);
        self.rig.end();
    }
}

/// The number of cases: few, unless the environment asks for more.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(100)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_every_message_ends_and_nothing_is_left(
        depths in [1_u16..10, 1_u16..10], tunables in any_tunables(), steps in prop::collection::vec(any_step(), 1..120),
    ) {
        let rig = Rig::with(depths, tunables);
        let mut world =
            World { rig, depths, tunables, sent: 0, puts: [BTreeMap::new(), BTreeMap::new()], has_crashed: false };
        steps.into_iter().for_each(|step| world.step(step));
        world.end();
    }
}
