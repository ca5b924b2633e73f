//! Selection rules that differ. Their order counts.

use super::change::Change;
use crate::import::adding::text;
use crate::ops;
use crate::ops::policy::{RuleText, described};
use crate::request::{AddUdsp, Request, Udsp};

/// The changes of rules.
#[derive(Debug, Default)]
pub(super) struct RulePlan {
    /// Removals, the last rule first, so that the indices of those before stay.
    pub(super) remove: Vec<Change>,
    pub(super) add: Vec<Change>,
}

/// Plans the changes: as many rules as possible stay, which are those of a longest common subsequence of both lists.
pub(super) fn plan(now: &[Udsp], wanted: Option<&[AddUdsp]>) -> RulePlan {
    let Some(wanted) = wanted else { return RulePlan::default() };
    let kept = common(now, wanted);
    let is_kept = |at: usize| kept.iter().any(|(old, _)| *old == at);
    let gone = now.iter().enumerate().rev().filter(|(at, _)| !is_kept(*at));
    let remove = gone.map(|(_, rule)| removal(rule)).collect();
    let add = (0_u32..).zip(wanted).enumerate().filter_map(|(at, (index, asked))| {
        match kept.iter().find(|(_, new)| *new == at).and_then(|(old, _)| now.get(*old)) {
            None => Some(addition(asked, index)),
            Some(rule) => setting(asked, rule),
        }
    });
    RulePlan { remove, add: add.collect() }
}

/// Whether the rule can stay, with another priority if need be.
fn stays(now: &Udsp, asked: &AddUdsp) -> bool {
    matches!(ops::policy::rehearse(asked, now), Some(Ok(_)))
}

/// The most comparisons for a longest common subsequence: beyond them only the rules at the beginning that both lists have stay.
const MAX_COMPARISONS: usize = 1 << 22;

/// The pairs of indices of the rules that stay: those at the beginning that both lists have, and of the rest a longest common
/// subsequence.
fn common(now: &[Udsp], wanted: &[AddUdsp]) -> Vec<(usize, usize)> {
    let same = now.iter().zip(wanted).take_while(|(rule, asked)| stays(rule, asked)).count();
    let mut pairs: Vec<_> = (0..same).map(|at| (at, at)).collect();
    let rest = (now.get(same..).unwrap_or_default(), wanted.get(same..).unwrap_or_default());
    if rest.0.len().saturating_mul(rest.1.len()) <= MAX_COMPARISONS {
        pairs.extend(subsequence(rest.0, rest.1).into_iter().map(|(old, new)| (same + old, same + new)));
    }
    pairs
}

/// The pairs of indices of a longest common subsequence.
fn subsequence(now: &[Udsp], wanted: &[AddUdsp]) -> Vec<(usize, usize)> {
    let width = wanted.len() + 1;
    // The length for the rest of both lists from each pair of indices on.
    let mut lengths = vec![0_u32; (now.len() + 1) * width];
    let at = |lengths: &[u32], old: usize, new: usize| lengths.get(old * width + new).copied().unwrap_or(0);
    for (old, rule) in now.iter().enumerate().rev() {
        for (new, asked) in wanted.iter().enumerate().rev() {
            let length = match stays(rule, asked) {
                true => at(&lengths, old + 1, new + 1) + 1,
                false => at(&lengths, old + 1, new).max(at(&lengths, old, new + 1)),
            };
            if let Some(place) = lengths.get_mut(old * width + new) {
                *place = length;
            }
        }
    }
    let (mut old, mut new, mut pairs) = (0, 0, Vec::new());
    while let (Some(rule), Some(asked)) = (now.get(old), wanted.get(new)) {
        if stays(rule, asked) {
            pairs.push((old, new));
            (old, new) = (old + 1, new + 1);
        } else if at(&lengths, old + 1, new) >= at(&lengths, old, new + 1) {
            old += 1;
        } else {
            new += 1;
        }
    }
    pairs
}

fn setting(asked: &AddUdsp, now: &Udsp) -> Option<Change> {
    if (asked.action, asked.messages) == (now.action, now.messages) {
        return None;
    }
    let said = described(&asked.action, asked.messages);
    let before = described(&now.action, now.messages);
    let what = format!("{}{said} (now{before})", named([&asked.src, &asked.dst, &asked.rte].map(text)));
    Some(Change::set(what, Request::AddUdsp(asked.clone())))
}

fn addition(asked: &AddUdsp, index: u32) -> Change {
    let said = described(&asked.action, asked.messages);
    let what = format!("{}{said}", named([&asked.src, &asked.dst, &asked.rte].map(text)));
    Change::add(what, Request::AddUdsp(AddUdsp { index: Some(index), ..asked.clone() }))
}

fn removal(rule: &Udsp) -> Change {
    let said = described(&rule.action, rule.messages);
    let what = format!("{}{said}", named([&rule.src, &rule.dst, &rule.rte].map(text)));
    Change::remove(what, Request::DelUdsp(Some(rule.index)))
}

fn named([src, dst, rte]: [Option<String>; 3]) -> String {
    format!("udsp {}", RuleText { src: src.as_deref(), dst: dst.as_deref(), rte: rte.as_deref() })
}
