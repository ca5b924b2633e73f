//! Checks that tests that cannot run are distinguished from tests that pass: they are counted, and fail in continuous
//! integration.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs `scripts/skipped-tests` on a file, as in continuous integration or elsewhere.
fn listed(file: &Path, ci: bool) -> Output {
    let mut command = Command::new(root().join("scripts/skipped-tests"));
    command.arg(file).env_remove("CI").envs(ci.then_some(("CI", "true")));
    command.output().unwrap()
}

#[test]
fn skipped_tests_are_listed_once_with_their_reasons_and_fail_in_continuous_integration() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("skipped");
    fs::write(&file, "b::two: no root\na::one: no gcc\nb::two: no root\na::one: no nm: none\n").unwrap();
    for ci in [false, true] {
        let output = listed(&file, ci);
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text, "2 tests skipped:\n  a::one: no gcc\n  a::one: no nm: none\n  b::two: no root\n");
        assert_eq!(output.status.success(), !ci);
    }
}

#[test]
fn without_skipped_tests_nothing_is_printed_and_nothing_fails() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("skipped");
    for ci in [false, true] {
        let _ = fs::remove_file(&file);
        for _ in 0..2 {
            let output = listed(&file, ci);
            assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty());
            fs::write(&file, "").unwrap();
        }
    }
}

#[test]
fn the_test_run_lists_skipped_tests_and_identifies_continuous_integration() {
    let test = fs::read_to_string(root().join("scripts/test")).unwrap();
    assert!(test.contains(&format!("export {}=", test_support::SKIPPED_TESTS)));
    assert!(test.contains(&format!("scripts/skipped-tests \"${}\"", test_support::SKIPPED_TESTS)));
    assert!(fs::read_to_string(root().join(".ci/run")).unwrap().contains("export CI="));
}

/// Fails if a test that cannot run only prints a line, which is not shown when the test passes.
#[test]
fn every_test_that_skips_calls_the_skip_function() {
    let sources =
        ["liblnet", "lnds", "lnetctl", "lnetd", "bindings", "consumers", "ptlrpc-shim", "tests", "benches"];
    let says_so = ["println!(\"skip", "print!(\"skip"];
    for path in sources.iter().flat_map(|dir| rust_files_below(&root().join(dir))) {
        let text = fs::read_to_string(&path).unwrap();
        let by_itself = says_so.iter().any(|words| text.contains(*words));
        let is_the_one =
            path.ends_with("test-support/src/lib.rs") || path.ends_with("tests/skipped_tests.rs");
        assert!(is_the_one || !by_itself, "{}: test_support::skip", path.display());
    }
}

fn rust_files_below(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files_below(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
