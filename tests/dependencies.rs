//! `docs/dependencies.md` has a row for every crate that the workspace takes from elsewhere.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::Path;

/// The names of the crates in `[workspace.dependencies]` that are not of this workspace.
fn foreign(manifest: &str) -> Vec<&str> {
    let (_, rest) = manifest.split_once("[workspace.dependencies]\n").unwrap();
    let table = rest.split("\n[").next().unwrap();
    let rows = table.lines().filter_map(|line| line.split_once(" = "));
    rows.filter(|(_, value)| !value.contains("path = ")).map(|(name, _)| name).collect()
}

#[test]
fn every_crate_from_elsewhere_has_a_row() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let document = fs::read_to_string(root.join("docs/dependencies.md")).unwrap();
    let crates = foreign(&manifest);
    assert!(crates.len() > 20, "{crates:?}");
    let is_missing = |name: &&&str| {
        let mut rows = document.lines().filter(|line| line.starts_with('|'));
        !rows.any(|row| row.contains(&format!("`{name}`")))
    };
    let missing: Vec<_> = crates.iter().filter(is_missing).collect();
    assert!(missing.is_empty(), "no row in docs/dependencies.md for {missing:?}");
}
