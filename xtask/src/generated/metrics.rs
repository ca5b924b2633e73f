//! The tables of metrics in the documentation, from the table of metrics in the code.

use super::sections;
use crate::Result;
use lnet_metrics::Row;

/// Returns docs/metrics.md with the tables of metrics.
pub(super) fn update(text: &str) -> Result<String> {
    let text = sections::replace(text, "metrics", &table(lnet_metrics::rows()))?;
    sections::replace(&text, "lustre names", &table(lnet_metrics::lustre_rows()))
}

fn table<'a>(rows: impl Iterator<Item = &'a Row>) -> String {
    let line = |row: &Row| {
        let labels: Vec<String> = row.labels().map(|label| format!("`{label}`")).collect();
        let unit = row.unit.map_or("", |unit| unit.text());
        let (name, kind, labels) = (row.sample_name(), row.kind.text(), labels.join(", "));
        format!("| `{name}` | {kind} | {unit} | {labels} | {} |\n", row.help)
    };
    format!(
        "| name | kind | unit | labels | meaning |\n|---|---|---|---|---|\n{}",
        rows.map(line).collect::<String>()
    )
}
