//! Comparing candidates: by one criterion after the other, and remembering which one decided.

use std::cmp::Ordering;

/// What two candidates can differ in, under the names of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Criterion {
    /// The driver says that the interface is broken: used only if all are.
    Fatal,
    /// Nothing gets through over it: used only if there is nothing else.
    Unresponsive,
    /// It has not shown yet that it works, and there is reason to ask: used only if no other has.
    Unproven,
    /// Health value: higher is better.
    Health,
    /// Its node says that it does not work: it counts as of no health.
    ReportedDown,
    /// Priority from selection rules: lower is better.
    Priority,
    /// NUMA distance from the memory to the device: lower is better.
    Distance,
    /// A selection rule prefers the path.
    Preferred,
    /// Bytes that wait or are under way: fewer is better.
    QueuedBytes,
    /// Send credits: more is better.
    Credits,
    /// Who was used least recently.
    RoundRobin,
    /// The first in order, when nothing else differs.
    Order,
    /// Health of the local net: that of its best interface.
    LocalNetHealth,
    /// Priority of the local net.
    LocalNetPriority,
    /// Which local net was used least recently.
    LocalNetRoundRobin,
}

impl Criterion {
    /// In a few words, for `explain`.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Fatal => "the driver reports it as broken",
            Self::Unresponsive => "nothing gets through over it",
            Self::Unproven => "nothing heard on it since other paths failed",
            Self::Health => "lower health",
            Self::ReportedDown => "its node says that it is down",
            Self::Priority => "lower priority by selection rules",
            Self::Distance => "farther from the memory",
            Self::Preferred => "not preferred by a selection rule",
            Self::QueuedBytes => "more bytes queued",
            Self::Credits => "fewer credits",
            Self::RoundRobin => "used more recently",
            Self::Order => "later in the configuration",
            Self::LocalNetHealth => "its local net has lower health",
            Self::LocalNetPriority => "its local net has lower priority",
            Self::LocalNetRoundRobin => "its local net was used more recently",
        }
    }
}

/// Something to be chosen from.
pub trait Candidate {
    /// Whether this one beats the best so far, and the criterion that decided. A tie in everything is
    /// [`Criterion::Order`] and no victory: the earlier one stays.
    fn beats(&self, best: &Self) -> (bool, Criterion);
}

/// The best candidate: the first, unless a later one beats it, and so on.
pub fn best<C: Candidate, T>(candidates: impl IntoIterator<Item = (C, T)>) -> Option<(C, T)> {
    let mut candidates = candidates.into_iter();
    let first = candidates.next()?;
    Some(candidates.fold(first, |best, next| if next.0.beats(&best.0).0 { next } else { best }))
}

/// The same choice with, for every candidate but the chosen one, the criterion by which it lost to that.
pub fn explained<C: Candidate, T>(candidates: Vec<(C, T)>) -> Option<Explained<C, T>> {
    let chosen = (1..candidates.len())
        .fold(0, |best, next| if candidates[next].0.beats(&candidates[best].0).0 { next } else { best });
    let mut others = Vec::new();
    let mut winner = None;
    let why: Vec<Criterion> = candidates
        .iter()
        .map(|(candidate, _)| match candidates.get(chosen) {
            Some((best, _)) => candidate.beats(best).1,
            None => Criterion::Order,
        })
        .collect();
    for (i, ((candidate, it), why)) in candidates.into_iter().zip(why).enumerate() {
        match i == chosen {
            true => winner = Some((candidate, it)),
            false => others.push((candidate, it, why)),
        }
    }
    winner.map(|chosen| Explained { chosen, others })
}

/// A choice with its reasons.
#[derive(Clone, Debug)]
pub struct Explained<C, T> {
    /// Who was chosen.
    pub chosen: (C, T),
    /// Who was not, in order, each with the criterion by which it lost to the chosen one.
    pub others: Vec<(C, T, Criterion)>,
}

/// Compares by criteria in order. Each is an [`Ordering`] in which `Greater` is better.
pub(super) fn first_difference<const N: usize>(criteria: [(Ordering, Criterion); N]) -> (bool, Criterion) {
    for (ordering, criterion) in criteria {
        match ordering {
            Ordering::Equal => {}
            Ordering::Greater => return (true, criterion),
            Ordering::Less => return (false, criterion),
        }
    }
    (false, Criterion::Order)
}
