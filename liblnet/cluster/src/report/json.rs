//! The report for programs.

use super::Counts;
use crate::checks::Finding;
use crate::model::Cluster;
use lnet_dlc::Value;

/// The JSON Schema of the report.
pub const SCHEMA: &str = include_str!("../../../../docs/schema/cluster-report.schema.json");

/// The report as a value, whose JSON the [`SCHEMA`] describes.
pub fn to_value(cluster: &Cluster, findings: &[Finding]) -> Value {
    let Counts { errors, warnings, notes } = Counts::of(findings);
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let texts = |all: Vec<String>| all.into_iter().map(Value::from).collect::<Vec<_>>();
    let all: Vec<Value> = findings
        .iter()
        .map(|finding| {
            let name = |index: &usize| cluster.classes.get(*index).map(|class| class.name.clone());
            Value::map()
                .with("kind", finding.kind.row().id)
                .with("severity", finding.severity.word())
                .with("classes", texts(finding.classes.iter().filter_map(name).collect()))
                .with("nodes", texts(finding.nodes.clone()))
                .with("node_count", finding.node_count)
                .with("file", finding.file.to_string_lossy().into_owned())
                .with("line", u64::from(finding.place.line))
                .with("column", u64::from(finding.place.column))
                .with("what", finding.what.as_str())
                .with("why", finding.why.as_str())
                .with("mend", finding.mend.as_str())
        })
        .collect();
    Value::map()
        .with("nodes", cluster.node_count())
        .with("classes", number(cluster.classes.len()))
        .with("nets", texts(cluster.nets().iter().map(ToString::to_string).collect()))
        .with("errors", number(errors))
        .with("warnings", number(warnings))
        .with("notes", number(notes))
        .with("findings", all)
}
