//! Pairs of classes that do not reach each other. Routers are no ends: they need not reach all that they connect.

use super::{Facts, Finding, FindingKind, gateways, listed};
use crate::model::Class;
use crate::reach::Passage;
use lnet_dlc::model::Place;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn check(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    let classes = &facts.cluster.classes;
    let ends: Vec<usize> = (0..classes.len()).filter(|index| !classes[*index].is_router).collect();
    let mut unreached: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut unanswered: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut apart: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut connected: BTreeSet<usize> = BTreeSet::new();
    for (at, one) in ends.iter().enumerate() {
        for other in &ends[at + 1..] {
            let passages = [facts.reach.passage(*one, *other), facts.reach.passage(*other, *one)];
            let excused = facts.cluster.may_be_apart(*one, *other);
            if passages == [Passage::Answered; 2]
                || has_route(facts, *one, *other)
                || has_route(facts, *other, *one)
                || excused
            {
                connected.extend([*one, *other]);
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
    // The only class is isolated if its nodes are on no net.
    let without_net = ends.iter().filter(|index| classes[**index].nis.is_empty()).copied();
    let alone: Vec<usize> = match ends.len() {
        1 => without_net.collect(),
        _ => ends.iter().filter(|index| !connected.contains(index)).copied().collect(),
    };
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
    Finding::new(FindingKind::NoPath, facts.cluster, &classes, place(class), what)
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
