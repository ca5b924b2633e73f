//! The parts of a drill's time, and the counts of operations in them: pure functions of the records.

use super::load::{Outcome, Pair, Record};
use super::report::{Operations, Phase, PhaseReport, Slice};
use super::units::{ms, per_second};
use lnet_core::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The duration beyond which an operation counts as delayed, and one in flight as stalled.
pub(super) const DELAYED: Duration = Duration::from_secs(1);

/// The records of a drill and what is needed to judge them.
pub(super) struct Records<'a> {
    pub(super) pairs: &'a [Pair],
    pub(super) records: &'a [Record],
    /// The nodes that were lost, each with the time.
    pub(super) lost_nodes: &'a BTreeMap<usize, Time>,
    /// The start of the drill.
    pub(super) start: Time,
    /// The end of the time in which operations began.
    pub(super) end: Time,
    /// The time of the first loss; the end without one.
    pub(super) first_loss: Time,
}

/// The class of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Done,
    Failed,
    Lost,
    ToLostNode,
    OfLostNode,
}

impl Records<'_> {
    fn class(&self, record: &Record) -> Class {
        let is_target_lost = self.lost_nodes.contains_key(&self.pairs[record.pair].target);
        match record.outcome {
            Outcome::Done => Class::Done,
            Outcome::Orphaned => Class::OfLostNode,
            Outcome::Failed | Outcome::Open if is_target_lost => Class::ToLostNode,
            Outcome::Failed => Class::Failed,
            Outcome::Open => Class::Lost,
        }
    }

    /// Whether the operation was in flight at the first loss, ended late, or not well, though both of its nodes were there.
    fn is_affected(&self, record: &Record) -> bool {
        match self.class(record) {
            Class::Done => {
                record.started <= self.first_loss
                    || record.ended.is_some_and(|ended| ended.since(record.started) > DELAYED)
            }
            Class::Failed | Class::Lost => true,
            Class::ToLostNode | Class::OfLostNode => false,
        }
    }

    /// The counts of the operations for which `wanted` returns true.
    pub(super) fn operations(&self, wanted: impl Fn(&Pair) -> bool) -> Operations {
        let mut counts = Operations::default();
        let of = |record: &&Record| wanted(&self.pairs[record.pair]);
        for record in self.records.iter().filter(of) {
            let took = record.ended.map(|ended| ended.since(record.started));
            let took_ms = took.map_or(0, ms);
            counts.begun += 1;
            match self.class(record) {
                Class::Done => {
                    counts.done += 1;
                    counts.longest_done_ms = counts.longest_done_ms.max(took_ms);
                    counts.delayed += u64::from(took.is_some_and(|took| took > DELAYED));
                }
                Class::Failed => {
                    counts.failed += 1;
                    counts.longest_failed_ms = counts.longest_failed_ms.max(took_ms);
                    counts.delayed += u64::from(took.is_some_and(|took| took > DELAYED));
                }
                Class::Lost => {
                    counts.lost += 1;
                    counts.delayed += 1;
                }
                Class::ToLostNode => counts.to_lost_node += 1,
                Class::OfLostNode => counts.of_lost_node += 1,
            }
        }
        (counts.longest_without_success_ms, counts.without_success_until_end) =
            self.longest_without_success(&wanted);
        counts
    }

    /// The longest time without success of any node that was not lost, of the operations to nodes that were not lost; and whether
    /// the end of the drill cut it off, as no later operation succeeded.
    fn longest_without_success(&self, wanted: impl Fn(&Pair) -> bool) -> (u64, bool) {
        let mut ends: BTreeMap<usize, BTreeSet<Time>> = BTreeMap::new();
        for record in self.records {
            let pair = &self.pairs[record.pair];
            let is_lost = [pair.client, pair.target].iter().any(|node| self.lost_nodes.contains_key(node));
            if is_lost || !wanted(pair) {
                continue;
            }
            let its = ends.entry(pair.client).or_insert_with(|| BTreeSet::from([self.start]));
            if let Some(ended) = record.ended.filter(|_| record.outcome == Outcome::Done) {
                its.insert(ended);
            }
        }
        let longest = |ends: &BTreeSet<Time>| {
            let next = ends.iter().skip(1).copied().chain([self.end]);
            let gaps = ends.iter().zip(next).filter(|(_, next)| *next > self.first_loss);
            let last = ends.last().copied();
            gaps.map(|(from, next)| (ms(next.since(*from)), Some(*from) == last)).max().unwrap_or_default()
        };
        ends.values().map(longest).max().unwrap_or_default()
    }

    /// The time at which the last operation had ended that was affected by a loss, at the end of a slice.
    pub(super) fn recovered(&self, slice: Duration) -> Time {
        if self.first_loss >= self.end {
            return self.end;
        }
        // What had ended before the loss does not count.
        let affected = self.records.iter().filter(|record| {
            record.ended.is_none_or(|ended| ended > self.first_loss) && self.is_affected(record)
        });
        let last = affected.map(|record| record.ended.unwrap_or(self.end).min(self.end)).max();
        let last = last.unwrap_or(self.first_loss);
        let slices = last.since(self.start).as_millis() / slice.as_millis().max(1) + 1;
        let slices = u32::try_from(slices).unwrap_or(u32::MAX);
        (self.start + slice.saturating_mul(slices)).min(self.end)
    }

    /// The part of the time that a moment belongs to.
    pub(super) fn phase_of(&self, at: Time, recovered: Time) -> Phase {
        match at {
            at if at < self.first_loss => Phase::Before,
            at if at < recovered => Phase::During,
            _ => Phase::After,
        }
    }

    /// The parts of the time. `size` is the length of an operation.
    pub(super) fn phases(&self, recovered: Time, size: u32) -> Vec<PhaseReport> {
        let first_loss = self.first_loss.min(self.end);
        let bounds = [(self.start, first_loss), (first_loss, recovered), (recovered, self.end)];
        let part = |(phase, (from, until)): (Phase, (Time, Time))| {
            let is_in = |record: &&Record| {
                record.ended.is_some_and(|at| at >= from && at < until)
                    && self.phase_of(record.ended.unwrap_or(self.end), recovered) == phase
            };
            let count =
                |class| self.records.iter().filter(is_in).filter(|it| self.class(it) == class).count() as u64;
            let done = count(Class::Done);
            PhaseReport {
                phase,
                from_ms: ms(from.since(self.start)),
                until_ms: ms(until.since(self.start)),
                done,
                failed: count(Class::Failed),
                bytes_per_second: per_second(done * u64::from(size), until.since(from)),
            }
        };
        Phase::ALL.into_iter().zip(bounds).map(part).collect()
    }

    /// Fills in the operations that ended in each slice of this length.
    pub(super) fn fill_series(&self, series: &mut [Slice], slice: Duration, size: u32) {
        for record in self.records {
            let Some(ended) = record.ended else { continue };
            let number = ended.since(self.start).as_nanos() / slice.as_nanos().max(1);
            let Some(its) = usize::try_from(number).ok().and_then(|number| series.get_mut(number)) else {
                continue;
            };
            match record.outcome {
                Outcome::Done => its.done += 1,
                Outcome::Failed => its.failed += 1,
                Outcome::Open | Outcome::Orphaned => {}
            }
        }
        for its in series {
            its.bytes_per_second = per_second(its.done * u64::from(size), slice);
        }
    }
}
