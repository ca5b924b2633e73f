//! Findings of the check that appear and vanish.

use super::nodes::Movement;
use crate::checks::{Finding, FindingKind, Severity, check};
use crate::model::{Cluster, Element};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A finding that only one of the configurations has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FindingChange {
    /// The severity.
    pub severity: String,
    /// The stable name of the kind.
    pub kind: String,
    /// The finding in words.
    pub what: String,
    /// The file.
    pub file: String,
    /// The line in the file.
    pub line: u32,
    /// Whether the severity is that of an error.
    #[serde(skip)]
    is_error: bool,
}

impl FindingChange {
    fn of(finding: &Finding) -> Self {
        Self {
            severity: finding.severity.word().to_owned(),
            kind: finding.kind.row().id.to_owned(),
            what: finding.what.clone(),
            file: finding.file.display().to_string(),
            line: finding.place.line,
            is_error: finding.severity == Severity::Error,
        }
    }

    /// Whether the severity is that of an error.
    pub const fn is_error(&self) -> bool {
        self.is_error
    }
}

/// The findings that only the old configuration has, and those that only the new one has. Files, lines and numbers of nodes do not count.
pub(super) fn changes(
    old: &Cluster,
    new: &Cluster,
    movements: &[Movement],
) -> (Vec<FindingChange>, Vec<FindingChange>) {
    let (mut later, mut earlier) = (Partners::new(), Partners::new());
    for movement in movements {
        if let (Some(was), Some(is)) = (movement.old, movement.new) {
            later.entry(was).or_default().insert(is);
            earlier.entry(is).or_default().insert(was);
        }
    }
    let (before, after) = (check(old), check(new));
    let before: Vec<About<'_>> = before.iter().map(|finding| About::of(old, finding)).collect();
    let after: Vec<About<'_>> = after.iter().map(|finding| About::of(new, finding)).collect();
    (only(&before, &after, &earlier), only(&after, &before, &later))
}

/// For each class, the classes of the other configuration that some of its nodes are of.
type Partners = BTreeMap<usize, BTreeSet<usize>>;

/// A finding and its subjects, with the parts whose loss it is about.
struct About<'a> {
    finding: &'a Finding,
    subjects: BTreeSet<String>,
}

impl<'a> About<'a> {
    fn of(cluster: &Cluster, finding: &'a Finding) -> Self {
        let lost = finding.elements.iter().flat_map(|element| names(cluster, element));
        Self { finding, subjects: finding.subjects.iter().cloned().chain(lost).collect() }
    }

    fn key<'s>(&self, subject: Option<&'s String>) -> (FindingKind, Severity, Option<&'s String>) {
        (self.finding.kind, self.finding.severity, subject)
    }
}

/// The names of an element, without the class that an interface is of.
fn names(cluster: &Cluster, element: &Element) -> Vec<String> {
    match element {
        Element::Interface { node, nis } => {
            let class = cluster.classes.get(node.class);
            nis.iter().filter_map(|ni| Some(class?.ni_label(*ni))).collect()
        }
        Element::Node(node) => vec![cluster.node_name(*node)],
        Element::Net(net) => vec![net.to_string()],
        Element::Switch(label) => vec![label.clone()],
    }
}

/// A finding of the other configuration, with the classes of this one that its classes are.
struct Other<'a> {
    about: &'a About<'a>,
    classes: BTreeSet<usize>,
    /// Those that its first class is.
    first: BTreeSet<usize>,
}

impl<'a> Other<'a> {
    fn of(about: &'a About<'a>, partners: &Partners) -> Self {
        let classes = &about.finding.classes;
        let of = |class: &usize| partners.get(class).cloned().unwrap_or_default();
        Self {
            about,
            classes: classes.iter().flat_map(of).collect(),
            first: classes.first().map(of).unwrap_or_default(),
        }
    }

    /// Whether the finding has all subjects and all classes of one of the same kind and severity.
    fn covers(&self, its: &About<'_>) -> bool {
        let classes = &its.finding.classes;
        // A missing path has a direction.
        let is_from = |class: &usize| self.first.contains(class);
        let is_same_way = its.finding.kind != FindingKind::NoPath || classes.first().is_some_and(is_from);
        is_same_way
            && its.subjects.is_subset(&self.about.subjects)
            && classes.iter().all(|class| self.classes.contains(class))
    }
}

/// Those of `these` that none of `others` covers. `partners` are those of the classes of `others`.
fn only(these: &[About<'_>], others: &[About<'_>], partners: &Partners) -> Vec<FindingChange> {
    let others: Vec<Other<'_>> = others.iter().map(|about| Other::of(about, partners)).collect();
    let mut by_subject: BTreeMap<_, Vec<&Other<'_>>> = BTreeMap::new();
    for other in &others {
        let subjects = other.about.subjects.iter().map(Some);
        let none = other.about.subjects.is_empty().then_some(None);
        for subject in subjects.chain(none) {
            by_subject.entry(other.about.key(subject)).or_default().push(other);
        }
    }
    // A finding that covers another has its first subject, too.
    let is_covered = |its: &&About<'_>| {
        let others = by_subject.get(&its.key(its.subjects.first()));
        others.into_iter().flatten().any(|other| other.covers(its))
    };
    these.iter().filter(|its| !is_covered(its)).map(|its| FindingChange::of(its.finding)).collect()
}
