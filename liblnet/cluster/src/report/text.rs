//! The report for people.

use super::Counts;
use crate::checks::{Finding, FindingKind};
use crate::model::Cluster;
use crate::text::{counted, printable};
use std::fmt::{self, Write};

/// The report: findings grouped by kind, the worst first, and a summary as the last line.
pub fn to_text(cluster: &Cluster, findings: &[Finding]) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _written = write(&mut text, cluster, findings);
    text
}

fn write(text: &mut String, cluster: &Cluster, findings: &[Finding]) -> fmt::Result {
    let mut last: Option<(FindingKind, crate::checks::Severity)> = None;
    for finding in findings {
        let row = finding.kind.row();
        if last != Some((finding.kind, finding.severity)) {
            if last.is_some() {
                writeln!(text)?;
            }
            writeln!(text, "{}: {}: {}", finding.severity.word(), row.id, row.title)?;
            writeln!(text, "    why: {}", finding.why)?;
            last = Some((finding.kind, finding.severity));
        }
        let file = finding.file.to_string_lossy();
        writeln!(text, "  {}:{}: {}", printable(&file), finding.place, printable(&finding.what))?;
        writeln!(text, "    mend: {}", printable(&finding.mend))?;
    }
    if last.is_some() {
        writeln!(text)?;
    }
    let Counts { errors, warnings, notes } = Counts::of(findings);
    let (nodes, classes, nets) = (cluster.node_count(), cluster.classes.len(), cluster.nets().len());
    writeln!(
        text,
        "{}, {}, {} in {} of {} on {}",
        counted(errors, "error", "errors"),
        counted(warnings, "warning", "warnings"),
        counted(notes, "note", "notes"),
        counted(nodes, "node", "nodes"),
        counted(classes, "class", "classes"),
        counted(nets, "net", "nets"),
    )
}
