//! The tests of this repository, with the requirements that they name.

use super::KINDS;
use crate::Result;
use crate::generated::sources_below;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const SOURCES: [&str; 7] = ["liblnet", "lnds", "lnetctl", "lnetd", "consumers", "ptlrpc-shim", "tests"];

/// A test, and the requirements that its documentation names.
pub(super) struct Test {
    /// `FILE::NAME`.
    pub(super) place: String,
    pub(super) named: BTreeSet<String>,
    /// The requirements of which the test documents how it would fail.
    pub(super) explained: BTreeSet<String>,
}

/// The tests in all sources.
pub(super) fn sources(root: &Path) -> Result<Vec<Test>> {
    let mut tests = Vec::new();
    for folder in SOURCES {
        for path in sources_below(&root.join(folder))? {
            let file = path.strip_prefix(root)?.display().to_string();
            tests.extend(tests_in(&file, &fs::read_to_string(&path)?));
        }
    }
    Ok(tests)
}

/// The tests in a source.
fn tests_in(file: &str, source: &str) -> Vec<Test> {
    let mut tests = Vec::new();
    let mut documentation = Vec::new();
    let mut is_test = false;
    for line in source.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("///") {
            documentation.push(text.trim());
        } else if line == "#[test]" {
            is_test = true;
        } else if !line.starts_with("#[") {
            let name = line.strip_prefix("fn ").and_then(|rest| rest.split('(').next());
            if let (true, Some(name)) = (is_test, name) {
                tests.push(Test {
                    place: format!("{file}::{name}"),
                    named: documentation.iter().flat_map(|line| requirements_in(line)).collect(),
                    explained: explained_in(&documentation),
                });
            }
            documentation.clear();
            is_test = false;
        }
    }
    tests
}

/// The requirements of lines such as `dbg-010, dbg-015: fails if ...`.
fn explained_in(documentation: &[&str]) -> BTreeSet<String> {
    let fails = documentation.iter().filter_map(|line| line.split_once(": fails if"));
    fails.flat_map(|(before, _)| requirements_in(before)).collect()
}

/// `cfg-005`, and so on.
fn requirements_in(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let is_one = |word: &&str| {
        word.split_once('-').is_some_and(|(kind, number)| {
            KINDS.iter().any(|(known, _)| *known == kind)
                && number.len() == 3
                && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    words.filter(is_one).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tests_count_and_only_what_stands_above_them() {
        let source = "/// cfg-001.\nfn helper() {}\n\n/// Words: cfg-002,\n/// dbg-003; hld-004.\n/// snd-005, T1: fails if so.\n\
                      #[test]\n#[cfg(unix)]\nfn one() {\n/// cfg-005\n}\n    #[test]\n    fn two(x in y) {}\n";
        let tests = tests_in("a.rs", source);
        let expected = [
            ("a.rs::one", vec!["cfg-002", "dbg-003", "snd-005"], vec!["snd-005"]),
            ("a.rs::two", vec![], vec![]),
        ];
        let ids = |ids: &BTreeSet<String>| ids.iter().cloned().collect::<Vec<_>>();
        let found: Vec<_> =
            tests.iter().map(|test| (&*test.place, ids(&test.named), ids(&test.explained))).collect();
        let owned = |ids: Vec<&str>| ids.into_iter().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(found, expected.map(|(place, named, explained)| (place, owned(named), owned(explained))));
    }
}
