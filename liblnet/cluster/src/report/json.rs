//! The report for programs.

use super::Counts;
use crate::checks::Finding;
use crate::model::Cluster;
use serde_json::{Value, json};

/// The JSON Schema of the report.
pub const SCHEMA: &str = include_str!("../../../../docs/schema/cluster-report.schema.json");

/// The report, which the [`SCHEMA`] describes.
pub fn to_json(cluster: &Cluster, findings: &[Finding]) -> Value {
    let Counts { errors, warnings, notes } = Counts::of(findings);
    let name = |index: &usize| cluster.classes.get(*index).map_or("", |class| &class.name);
    let all: Vec<Value> = findings
        .iter()
        .map(|finding| {
            json!({
                "kind": finding.kind.row().id,
                "severity": finding.severity.word(),
                "classes": finding.classes.iter().map(name).collect::<Vec<_>>(),
                "nodes": finding.nodes,
                "node_count": finding.node_count,
                "file": finding.file.to_string_lossy(),
                "line": finding.place.line,
                "column": finding.place.column,
                "what": finding.what,
                "why": finding.why,
                "mend": finding.mend,
            })
        })
        .collect();
    json!({
        "nodes": cluster.node_count(),
        "classes": cluster.classes.len(),
        "nets": cluster.nets().iter().map(ToString::to_string).collect::<Vec<_>>(),
        "errors": errors,
        "warnings": warnings,
        "notes": notes,
        "findings": all,
    })
}
