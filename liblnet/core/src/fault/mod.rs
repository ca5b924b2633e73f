//! Fault injection: rules that drop, delay or fail messages, to test programs that use LNet (core-behaviour
//! 10.4).
//!
//! Rules apply when a message arrives, and when it is passed to its driver. Without any rule each of these costs one
//! load.

mod delay;
mod drop;
mod fail_nid;
mod odds;
mod rule;
mod rules;

pub use rule::{Causes, DelayRule, DropRule, Filter, Kinds, Loss, Odds};
pub use rules::FaultStats;

pub(crate) use fail_nid::FailRules;

pub(crate) use delay::{Delayed, DelayedMessage};

use self::delay::Late;
use self::rules::{Rule, Rules};
use crate::environment::time::Time;
use crate::sync::{Mutex, lock};
use lnet_wire::NidPattern;
use std::sync::atomic::{AtomicU8, Ordering};

/// The rules of a node, and the messages that they delay.
#[derive(Debug)]
pub(crate) struct FaultRules {
    /// The places where any rule may apply: a combination of the bits below.
    where_active: AtomicU8,
    rules: Mutex<Rules>,
    late: Mutex<Late>,
}

const ON_ARRIVAL: u8 = 1;
const ON_LEAVING: u8 = 2;

impl FaultRules {
    /// The empty list of rules. `seed` is that of the random numbers.
    pub(crate) fn new(seed: u64) -> Self {
        Self { where_active: AtomicU8::new(0), rules: Mutex::new(Rules::new(seed)), late: Mutex::default() }
    }

    /// Whether any rule may apply to messages that arrive.
    pub(crate) fn act_on_arrival(&self) -> bool {
        self.where_active.load(Ordering::Acquire) & ON_ARRIVAL != 0
    }

    /// Whether any rule may apply to messages that leave.
    pub(crate) fn act_on_leaving(&self) -> bool {
        self.where_active.load(Ordering::Acquire) & ON_LEAVING != 0
    }

    /// Runs `act` on the rules, and updates `where_active`.
    fn with<R>(&self, act: impl FnOnce(&mut Rules) -> R) -> R {
        let rules = &mut *lock(&self.rules);
        let done = act(rules);
        let on_arrival = if rules.any_on_arrival() { ON_ARRIVAL } else { 0 };
        let on_leaving = if rules.any_on_leaving() { ON_LEAVING } else { 0 };
        self.where_active.store(on_arrival | on_leaving, Ordering::Release);
        done
    }
}

/// Operations on the rules. The newest rule comes first, and the first one that hits a message applies.
impl FaultRules {
    /// Adds a drop rule. Equal rules may exist (ST-25).
    pub(crate) fn add_drop(&self, rule: DropRule, now: Time) {
        self.with(|rules| rules.add(Rule::Drop(rule), now));
    }

    /// Adds a delay rule. Equal rules may exist (ST-25).
    pub(crate) fn add_delay(&self, rule: DelayRule, now: Time) {
        self.with(|rules| rules.add(Rule::Delay(rule), now));
    }

    /// Deletes the drop rules with these patterns (`None`: any pattern); returns their number.
    pub(crate) fn delete_drops(&self, source: Option<NidPattern>, dest: Option<NidPattern>) -> usize {
        self.with(|rules| rules.drops.delete(source, dest)).len()
    }

    /// Deletes the delay rules with these patterns (`None`: any pattern); returns their number and the messages that
    /// they delayed, which are to continue.
    pub(crate) fn delete_delays(
        &self,
        source: Option<NidPattern>,
        dest: Option<NidPattern>,
    ) -> (usize, Vec<DelayedMessage>) {
        let deleted = self.with(|rules| rules.delays.delete(source, dest));
        (deleted.len(), self.take_of_rules(&deleted))
    }

    /// Drop rules and their statistics, the newest first.
    pub(crate) fn drops(&self) -> Vec<(DropRule, FaultStats)> {
        self.with(|rules| rules.drops.list())
    }

    /// Delay rules and their statistics, the newest first.
    pub(crate) fn delays(&self) -> Vec<(DelayRule, FaultStats)> {
        self.with(|rules| rules.delays.list())
    }

    /// Resets the statistics of all drop rules, and restarts their intervals.
    pub(crate) fn reset_drops(&self, now: Time) {
        self.with(|rules| rules.reset_drops(now));
    }

    /// Resets the statistics of all delay rules, and restarts their intervals.
    pub(crate) fn reset_delays(&self, now: Time) {
        self.with(|rules| rules.reset_delays(now));
    }
}
