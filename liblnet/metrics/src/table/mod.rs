//! The table of all metrics, one row each. Families have the order of the rows in every output.

mod lustre;
mod ni;
mod node;
mod peer;
mod router;
mod traffic;

use crate::row::Row;

/// All metrics of the library's own names.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    let all: [&[Row]; 11] = [
        node::NODE,
        ni::STATE,
        &ni::TRAFFIC,
        ni::LATENCY,
        ni::HEALTH,
        peer::PEER,
        peer::NI_STATE,
        &peer::NI_TRAFFIC,
        peer::NI_LATENCY,
        peer::NI_HEALTH,
        router::ROUTER,
    ];
    all.into_iter().flatten()
}

/// The metrics under the names that lustrefs-exporter gives them.
pub fn lustre_rows() -> impl Iterator<Item = &'static Row> {
    lustre::LUSTRE.iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Fails if two rows have one name, or a name that OpenMetrics or promtool refuses.
    #[test]
    fn names_are_unique_and_end_with_their_units() {
        let mut seen = HashSet::new();
        for row in rows().chain(lustre_rows()) {
            assert!(seen.insert(row.name), "{}", row.name);
            assert!(seen.insert(row.sample_name().leak()) || row.kind.suffix().is_empty(), "{}", row.name);
            let ends = row.unit.is_none_or(|unit| row.name.ends_with(&format!("_{}", unit.text())));
            assert!(ends, "{}", row.name);
            assert!(row.name.bytes().all(|it| it.is_ascii_lowercase() || it == b'_'), "{}", row.name);
            assert!(row.help.ends_with('.'), "{}", row.name);
            let labels: Vec<_> = row.labels().collect();
            assert_eq!(labels.len(), labels.iter().collect::<HashSet<_>>().len(), "{}", row.name);
        }
    }
}
