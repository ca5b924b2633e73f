//! Findings of the check that appear and vanish.

use crate::checks::{Finding, Severity, check};
use crate::model::Cluster;
use serde::Serialize;
use std::collections::BTreeSet;

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
    /// Whether the severity is that of an error.
    pub const fn is_error(&self) -> bool {
        self.is_error
    }
}

/// The findings that only the old configuration has, and those that only the new one has. Files and lines do not count.
pub(super) fn changes(old: &Cluster, new: &Cluster) -> (Vec<FindingChange>, Vec<FindingChange>) {
    let (before, after) = (check(old), check(new));
    (only(&before, &after), only(&after, &before))
}

fn only(these: &[Finding], others: &[Finding]) -> Vec<FindingChange> {
    let key = |finding: &Finding| (finding.kind, finding.severity, finding.what.clone());
    let others: BTreeSet<_> = others.iter().map(key).collect();
    let shown = |finding: &Finding| FindingChange {
        severity: finding.severity.word().to_owned(),
        kind: finding.kind.row().id.to_owned(),
        what: finding.what.clone(),
        file: finding.file.display().to_string(),
        line: finding.place.line,
        is_error: finding.severity == Severity::Error,
    };
    these.iter().filter(|finding| !others.contains(&key(finding))).map(shown).collect()
}
