//! The fault rules of a node in their order, with their statistics.

use super::odds::{Dice, Random};
use super::rule::{DelayRule, DropRule, Filter, Loss, failure};
use crate::environment::time::Time;
use crate::health::SendFailure;
use lnet_wire::{Header, MessageType, Nid, NidPattern};
use std::time::Duration;

/// The statistics of a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultStats {
    /// The number of messages that matched.
    pub matched: u64,
    /// The number of messages that the rule hit: dropped, or delayed.
    pub hit: u64,
    /// The number of PUTs among those hit.
    pub put: u64,
    /// The number of ACKs among those hit.
    pub ack: u64,
    /// The number of GETs among those hit.
    pub get: u64,
    /// The number of REPLYs among those hit.
    pub reply: u64,
}

/// A rule of either kind.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    Drop(DropRule),
    Delay(DelayRule),
}

/// The rules of a node.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) drops: List<DropRule>,
    pub(super) delays: List<DelayRule>,
    random: Random,
    next_id: u64,
}

/// The id of a rule, unique within the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RuleId(u64);

/// The effect of the rules on a message that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaving {
    /// The message is sent.
    Goes,
    /// The message is dropped, and reported as sent.
    Lost,
    /// The message fails.
    Fails(SendFailure),
    /// The message is delayed by a rule.
    Late(Duration, RuleId),
}

/// Rules of one kind, the newest first, as the kernel lists them.
#[derive(Debug)]
pub(super) struct List<T>(Vec<RuleEntry<T>>);

#[derive(Debug)]
struct RuleEntry<T> {
    id: RuleId,
    rule: T,
    /// The generator of hits; `None`: all matching messages are hit.
    dice: Option<Dice>,
    stats: FaultStats,
}

impl Rules {
    pub(super) fn new(seed: u64) -> Self {
        Self { drops: List(Vec::new()), delays: List(Vec::new()), random: Random(seed), next_id: 0 }
    }

    pub(super) fn add(&mut self, rule: Rule, now: Time) {
        let id = RuleId(self.next_id);
        self.next_id += 1;
        let random = self.random.next();
        let dice = |odds| Dice::new(odds, now, random);
        match rule {
            Rule::Drop(rule) => self.drops.add(id, rule, rule.loss.odds().map(dice)),
            Rule::Delay(rule) => self.delays.add(id, rule, Some(dice(rule.odds))),
        }
    }

    pub(super) fn any_on_arrival(&self) -> bool {
        !self.delays.0.is_empty() || self.drops.0.iter().any(|entry| entry.rule.loss.acts_on_arrival())
    }

    pub(super) fn any_on_leaving(&self) -> bool {
        !self.delays.0.is_empty() || self.drops.0.iter().any(|entry| entry.rule.loss.acts_on_leaving())
    }

    /// Whether a message that arrives on `local` is dropped.
    pub(super) fn loses(&mut self, header: &Header, local: Nid, now: Time) -> bool {
        let acts = |rule: &DropRule| rule.loss.acts_on_arrival() && rule.filter.matches(header, local);
        self.drops.first_to_hit(acts, header.body.kind(), now, &mut self.random).is_some()
    }

    /// The delay of a message that arrives on `local`, and the rule that hits it.
    pub(super) fn delays(&mut self, header: &Header, local: Nid, now: Time) -> Option<(Duration, RuleId)> {
        let acts = |rule: &DelayRule| rule.filter.matches(header, local);
        let (rule, id) = self.delays.first_to_hit(acts, header.body.kind(), now, &mut self.random)?;
        Some((rule.latency, id))
    }

    /// The effect of the rules on a message that is sent from `local`.
    pub(super) fn leaving(&mut self, header: &Header, local: Nid, now: Time) -> Leaving {
        let acts = |rule: &DropRule| rule.loss.acts_on_leaving() && rule.filter.matches(header, local);
        match self.drops.first_to_hit(acts, header.body.kind(), now, &mut self.random) {
            Some((DropRule { loss: Loss::Failing(_, causes) | Loss::Everything(Some(causes)), .. }, _)) => {
                Leaving::Fails(failure(causes.pick(self.random.next())))
            }
            Some(_) => Leaving::Lost,
            None => match self.delays(header, local, now) {
                Some((latency, id)) => Leaving::Late(latency, id),
                None => Leaving::Goes,
            },
        }
    }

    pub(super) fn reset_drops(&mut self, now: Time) {
        self.drops.reset(now, &mut self.random);
    }

    pub(super) fn reset_delays(&mut self, now: Time) {
        self.delays.reset(now, &mut self.random);
    }
}

/// The property that rules of both kinds have: a filter.
pub(super) trait Filtered: Copy {
    fn filter(&self) -> &Filter;
}

impl Filtered for DropRule {
    fn filter(&self) -> &Filter {
        &self.filter
    }
}

impl Filtered for DelayRule {
    fn filter(&self) -> &Filter {
        &self.filter
    }
}

impl<T: Filtered> List<T> {
    fn add(&mut self, id: RuleId, rule: T, dice: Option<Dice>) {
        self.0.insert(0, RuleEntry { id, rule, dice, stats: FaultStats::default() });
    }

    /// Removes the rules with these patterns (`None`: any pattern, ST-25), and returns their ids.
    pub(super) fn delete(&mut self, source: Option<NidPattern>, dest: Option<NidPattern>) -> Vec<RuleId> {
        let mut deleted = Vec::new();
        self.0.retain(|entry| {
            let filter = entry.rule.filter();
            let meant = source.is_none_or(|source| source == filter.source)
                && dest.is_none_or(|dest| dest == filter.dest);
            if meant {
                deleted.push(entry.id);
            }
            !meant
        });
        deleted
    }

    pub(super) fn list(&self) -> Vec<(T, FaultStats)> {
        self.0.iter().map(|entry| (entry.rule, entry.stats)).collect()
    }

    /// The first rule that matches and hits. The message counts as matched also for the rules before it.
    fn first_to_hit(
        &mut self,
        acts: impl Fn(&T) -> bool,
        kind: MessageType,
        now: Time,
        random: &mut Random,
    ) -> Option<(T, RuleId)> {
        for entry in self.0.iter_mut().filter(|entry| acts(&entry.rule)) {
            let hits = entry.dice.as_mut().is_none_or(|dice| dice.hits(now, random.next()));
            entry.stats.count(kind, hits);
            if hits {
                return Some((entry.rule, entry.id));
            }
        }
        None
    }

    fn reset(&mut self, now: Time, random: &mut Random) {
        for entry in &mut self.0 {
            entry.stats = FaultStats::default();
            entry.dice = entry.dice.map(|dice| Dice::new(dice.odds(), now, random.next()));
        }
    }
}

impl FaultStats {
    fn count(&mut self, kind: MessageType, hit: bool) {
        self.matched += 1;
        if !hit {
            return;
        }
        self.hit += 1;
        match kind {
            MessageType::Put => self.put += 1,
            MessageType::Ack => self.ack += 1,
            MessageType::Get => self.get += 1,
            MessageType::Reply => self.reply += 1,
            MessageType::Hello => {}
        }
    }
}
