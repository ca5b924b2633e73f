//! Pairs of classes that do not reach each other. Classes that only pass messages on are no ends: they need not reach
//! all that they connect.

use super::{Facts, Finding, FindingKind, gateways};
use crate::model::Class;
use crate::reach::Passage;
use crate::text::listed;
use lnet_dlc::model::Place;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn check(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    let classes = &facts.cluster.classes;
    let ends: Vec<usize> = (0..classes.len()).filter(|index| facts.is_end(*index)).collect();
    let mut unreached: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut unanswered: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut apart: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut joined: Vec<(usize, usize)> = Vec::new();
    for (at, one) in ends.iter().enumerate() {
        for other in &ends[at + 1..] {
            let passages = [facts.joined.passage(*one, *other), facts.joined.passage(*other, *one)];
            let excused = facts.cluster.may_be_apart(*one, *other);
            if passages == [Passage::Answered; 2]
                || has_route(facts, *one, *other)
                || has_route(facts, *other, *one)
                || excused
            {
                joined.push((*one, *other));
            } else {
                apart.entry(*one).or_default().push(*other);
                continue;
            }
            if excused {
                continue;
            }
            let mut has_no_path = false;
            for ((from, to), passage) in [(*one, *other), (*other, *one)].into_iter().zip(passages) {
                if passage == Passage::NoPath {
                    has_no_path = true;
                    if !is_explained(facts, from, to) {
                        unreached.entry(from).or_default().push(to);
                    }
                }
            }
            if !has_no_path && passages.contains(&Passage::NoResponse) {
                let from = if passages[0] == Passage::NoResponse { (*one, *other) } else { (*other, *one) };
                unanswered.entry(from.0).or_default().push(from.1);
            }
        }
    }
    let alone = outside_largest_part(facts, &ends, &joined);
    findings.extend(isolated(facts, &alone));
    for (from, targets) in &unreached {
        findings.push(no_path(facts, *from, targets, "has no path to"));
    }
    for (from, targets) in &unanswered {
        findings.push(no_path(
            facts,
            *from,
            targets,
            "gets no responses, which have no path to the net of its gateways, from",
        ));
    }
    for (one, others) in &apart {
        let others: Vec<usize> = others.iter().filter(|other| !alone.contains(other)).copied().collect();
        if !alone.contains(one) && !others.is_empty() {
            findings.push(apart_finding(facts, *one, &others));
        }
    }
}

/// The classes outside of the part of the cluster with the most nodes, where parts are classes that are joined to each other directly or by
/// others; and those on no net.
fn outside_largest_part(facts: &Facts<'_>, ends: &[usize], joined: &[(usize, usize)]) -> Vec<usize> {
    let classes = &facts.cluster.classes;
    // The part of each class is the least class of it.
    let mut part: Vec<usize> = (0..classes.len()).collect();
    for _ in ends {
        let before = part.clone();
        for (one, other) in joined {
            let least = part[*one].min(part[*other]);
            (part[*one], part[*other]) = (least, least);
        }
        if before == part {
            break;
        }
    }
    let nodes = |of: usize| -> u64 {
        ends.iter().filter(|index| part[**index] == of).map(|index| classes[*index].count).sum()
    };
    // Of parts with as many nodes the first one is the largest.
    let largest = ends.iter().map(|index| part[*index]).max_by_key(|of| (nodes(*of), std::cmp::Reverse(*of)));
    let is_outside = |index: &usize| Some(part[*index]) != largest || classes[*index].nis.is_empty();
    ends.iter().copied().filter(is_outside).collect()
}

/// Whether a class has a route to a net of another one, working or not.
fn has_route(facts: &Facts<'_>, from: usize, to: usize) -> bool {
    let (from, to) = (&facts.cluster.classes[from], &facts.cluster.classes[to]);
    from.routes.iter().any(|route| to.is_on(route.net))
}

/// Whether a path is missing because of a route that has a finding.
fn is_explained(facts: &Facts<'_>, from: usize, to: usize) -> bool {
    facts.cluster.classes[to].nets().into_iter().any(|net| gateways::is_explained(facts, from, net))
}

fn labels(facts: &Facts<'_>, classes: &[usize]) -> String {
    listed(classes.iter().filter_map(|index| facts.cluster.classes.get(*index)).map(Class::label))
}

/// The place of the routes of a class, or of its first interface.
fn place(class: &Class) -> Place {
    let of_routes = class.routes.first().map(|route| route.place);
    of_routes.or_else(|| class.nis.first().map(|ni| ni.place)).unwrap_or(Place { line: 1, column: 1 })
}

fn nets(class: &Class) -> String {
    match class.nis.is_empty() {
        true => "no net".to_owned(),
        false => listed(class.nets()),
    }
}

fn no_path(facts: &Facts<'_>, from: usize, targets: &[usize], verb: &str) -> Finding {
    let class = &facts.cluster.classes[from];
    let target_nets: BTreeSet<_> = targets.iter().flat_map(|to| facts.cluster.classes[*to].nets()).collect();
    let what = format!("{} {verb} {} on {}", class.label(), labels(facts, targets), listed(target_nets));
    let mut classes = vec![from];
    classes.extend(targets);
    Finding::new(FindingKind::NoPath, facts.cluster, &classes, place(class), what).with_subjects([verb])
}

fn isolated(facts: &Facts<'_>, alone: &[usize]) -> Option<Finding> {
    let first = facts.cluster.classes.get(*alone.first()?)?;
    let each = alone.iter().filter_map(|index| facts.cluster.classes.get(*index));
    let each = listed(each.map(|class| format!("{} on {}", class.label(), nets(class))));
    let what = format!("nothing leads to or from {each}");
    Some(Finding::new(FindingKind::Isolated, facts.cluster, alone, place(first), what))
}

fn apart_finding(facts: &Facts<'_>, one: usize, others: &[usize]) -> Finding {
    let class = &facts.cluster.classes[one];
    let what =
        format!("no route leads between {} on {} and {}", class.label(), nets(class), labels(facts, others));
    let mut classes = vec![one];
    classes.extend(others);
    Finding::new(FindingKind::Apart, facts.cluster, &classes, place(class), what)
}
