//! The library of broken clusters, each of which gives the one finding that it must, and of healthy ones.
//!
//! A file of `broken/` or `healthy/` has its text, then what is expected, then the files of the cluster, each behind a line `=== NAME`:
//!
//! - `expect: KIND`: the finding.
//! - `severity: WORD`, `at: FILE:LINE`: its severity and its place.
//! - `with: KIND ...`: the single points of failure that the cluster has besides, since it is as small as can be.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lnet_cluster::checks::{Finding, FindingKind, check};
use lnet_cluster::model::Cluster;
use lnet_cluster::{input, report};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A file of the library.
struct Case {
    name: String,
    expect: Option<String>,
    severity: Option<String>,
    at: Option<String>,
    with: Vec<String>,
    files: Vec<(String, String)>,
}

impl Case {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let mut parts = text.split("\n=== ");
        let head = parts.next().unwrap();
        let value = |key: &str| {
            head.lines()
                .find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))
                .map(|value| value.trim().to_owned())
        };
        let known = ["# ", "expect: ", "severity: ", "at: ", "with: "];
        assert!(head.lines().all(|line| known.iter().any(|key| line.starts_with(key))), "{}", path.display());
        Self {
            name: path.file_stem().unwrap().to_string_lossy().into_owned(),
            expect: value("expect"),
            severity: value("severity"),
            at: value("at"),
            with: value("with")
                .map_or_else(Vec::new, |kinds| kinds.split_whitespace().map(str::to_owned).collect()),
            files: parts
                .map(|part| {
                    let (name, text) = part.split_once('\n').unwrap();
                    (name.to_owned(), format!("{text}\n"))
                })
                .collect(),
        }
    }

    /// The cluster, and its findings.
    fn checked(&self) -> (Cluster, Vec<Finding>) {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in &self.files {
            fs::write(directory.path().join(name), text).unwrap();
        }
        let cluster = input::read(&[directory.path()]);
        let cluster = cluster.unwrap_or_else(|problems| panic!("{}: {problems:?}", self.name));
        let findings = check(&cluster);
        (cluster, findings)
    }
}

fn cases(directory: &str) -> Vec<Case> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests").join(directory);
    let mut paths: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| Case::read(path)).collect()
}

fn ids(findings: &[Finding]) -> Vec<&'static str> {
    let mut ids: Vec<_> = findings.iter().map(|finding| finding.kind.row().id).collect();
    ids.sort_unstable();
    ids
}

#[test]
fn every_broken_cluster_gives_the_one_finding_that_it_must_and_no_other() {
    let mut wrong = Vec::new();
    for case in cases("broken") {
        let (cluster, findings) = case.checked();
        let expect = case.expect.clone().unwrap();
        let mut expected: Vec<&str> = case.with.iter().map(String::as_str).chain([expect.as_str()]).collect();
        expected.sort_unstable();
        let found = findings.iter().find(|finding| finding.kind.row().id == expect);
        let severity = found.map(|finding| finding.severity.word().to_owned());
        let at = found.map(|finding| {
            format!("{}:{}", finding.file.file_name().unwrap().to_string_lossy(), finding.place.line)
        });
        let is_right = ids(&findings) == expected
            && (case.severity.is_none() || case.severity == severity)
            && (case.at.is_none() || case.at == at);
        if !is_right {
            let text = report::to_text(&cluster, &findings);
            wrong.push(format!(
                "{}: expected {expected:?} {:?} {:?}; found at {at:?}:\n{text}",
                case.name, case.severity, case.at
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn healthy_clusters_have_no_findings_but_single_points() {
    for case in cases("healthy") {
        let (cluster, findings) = case.checked();
        let mut expected: Vec<&str> = case.with.iter().map(String::as_str).collect();
        expected.sort_unstable();
        assert_eq!(ids(&findings), expected, "{}:\n{}", case.name, report::to_text(&cluster, &findings));
    }
}

/// Fails if a kind of finding has no smallest example, or if the library is smaller than it was meant to be.
#[test]
fn the_library_has_fifty_clusters_and_every_kind_of_finding() {
    let cases = cases("broken");
    assert!(cases.len() >= 50, "{}", cases.len());
    let expected: BTreeSet<_> = cases.iter().filter_map(|case| case.expect.as_deref()).collect();
    let all: BTreeSet<_> = FindingKind::ALL.iter().map(|kind| kind.row().id).collect();
    assert_eq!(expected, all);
}
