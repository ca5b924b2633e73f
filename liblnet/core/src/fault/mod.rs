//! Faults on purpose: rules that lose, delay or fail messages, for tests of what is built on LNet (core-behaviour
//! 10.4).
//!
//! Rules are looked at where a message arrives , and where it is given to its driver . Without any
//! rule that costs one load each.

mod delay;
mod drop;
mod fail_nid;
mod odds;
mod rule;
mod rules;

pub use rule::{Causes, DelayRule, DropRule, Filter, Kinds, Loss, Odds};
pub use rules::FaultStats;

pub(crate) use fail_nid::FailRules;

pub(crate) use delay::{Delayed, What};
pub(crate) use drop::Sent;

use self::delay::Late;
use self::rules::{Rule, Rules};
use crate::environment::time::Time;
use crate::sync::{Mutex, lock};
use lnet_wire::NidPattern;
use std::sync::atomic::{AtomicU8, Ordering};

/// The rules of a node, and the messages that they made late.
#[derive(Debug)]
pub(crate) struct FaultRules {
    /// Where there are rules: any of the bits below.
    where_active: AtomicU8,
    rules: Mutex<Rules>,
    late: Mutex<Late>,
}

const ON_ARRIVAL: u8 = 1;
const ON_LEAVING: u8 = 2;

impl FaultRules {
    /// Without rules. `seed`: what is by chance later follows from it.
    pub(crate) fn new(seed: u64) -> Self {
        Self { where_active: AtomicU8::new(0), rules: Mutex::new(Rules::new(seed)), late: Mutex::default() }
    }

    /// Whether any rule may act there.
    fn may_act(&self, place: u8) -> bool {
        self.where_active.load(Ordering::Acquire) & place != 0
    }

    /// Looks at the rules, or changes them.
    fn with<R>(&self, act: impl FnOnce(&mut Rules) -> R) -> R {
        let rules = &mut *lock(&self.rules);
        let done = act(rules);
        let on_arrival = if rules.any_on_arrival() { ON_ARRIVAL } else { 0 };
        let on_leaving = if rules.any_on_leaving() { ON_LEAVING } else { 0 };
        self.where_active.store(on_arrival | on_leaving, Ordering::Release);
        done
    }
}

/// What operators do with rules. The newest comes first, and of several that hit a message the first counts.
impl FaultRules {
    /// Adds a rule that loses messages. There may be others like it (ST-25).
    pub(crate) fn add_drop(&self, rule: DropRule, now: Time) {
        self.with(|rules| rules.add(Rule::Drop(rule), now));
    }

    /// Adds a rule that delays messages. There may be others like it (ST-25).
    pub(crate) fn add_delay(&self, rule: DelayRule, now: Time) {
        self.with(|rules| rules.add(Rule::Delay(rule), now));
    }

    /// Deletes the drop rules with these patterns, `None` being any pattern; how many they were.
    pub(crate) fn delete_drops(&self, source: Option<NidPattern>, dest: Option<NidPattern>) -> usize {
        self.with(|rules| rules.drops.delete(source, dest)).len()
    }

    /// Deletes the delay rules with these patterns, `None` being any pattern; how many they were, and the messages that they
    /// keep, which are to go on.
    pub(crate) fn delete_delays(
        &self,
        source: Option<NidPattern>,
        dest: Option<NidPattern>,
    ) -> (usize, Vec<What>) {
        let deleted = self.with(|rules| rules.delays.delete(source, dest));
        (deleted.len(), self.take_of_rules(&deleted))
    }

    /// Drop rules and what they have done, the newest first.
    pub(crate) fn drops(&self) -> Vec<(DropRule, FaultStats)> {
        self.with(|rules| rules.drops.list())
    }

    /// Delay rules and what they have done, the newest first.
    pub(crate) fn delays(&self) -> Vec<(DelayRule, FaultStats)> {
        self.with(|rules| rules.delays.list())
    }

    /// Sets the counts of all drop rules to 0, and begins their windows anew.
    pub(crate) fn reset_drops(&self, now: Time) {
        self.with(|rules| rules.reset_drops(now));
    }

    /// Sets the counts of all delay rules to 0, and begins their windows anew.
    pub(crate) fn reset_delays(&self, now: Time) {
        self.with(|rules| rules.reset_delays(now));
    }
}
