//! Support for the tests of all crates: a test reports that it cannot run here.
//!
//! A test that returns without a word passes. So it calls [`skip`], which notes it in the file that
//! [`SKIPPED_TESTS`] names. `scripts/test` sets that, lists the file at its end, and fails in continuous
//! integration if anything is in it.

#[cfg(feature = "browser")]
pub mod browser;
pub mod log_recorder;
pub mod ready;
#[cfg(feature = "terminal")]
pub mod terminal;
pub mod transcripts;

use std::env;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::thread;

/// The environment variable that names the file with a line for each skipped test.
pub const SKIPPED_TESTS: &str = "SKIPPED_TESTS";

/// Notes that the calling test, or a part of it, cannot run here, for this reason; the test then returns.
///
/// # Panics
/// If the file cannot be written: a skipped test must not go unnoticed.
#[allow(clippy::panic, reason = "for tests only")]
pub fn skip(reason: &str) {
    let line = format!("{}: {reason}", this_test());
    println!("skipped: {line}");
    if let Some(file) = env::var_os(SKIPPED_TESTS)
        && let Err(error) = append(Path::new(&file), &line)
    {
        panic!("{}: {error}", file.display());
    }
}

/// Appends a line in one call, which the system does not interleave with lines of other processes.
fn append(file: &Path, line: &str) -> io::Result<()> {
    OpenOptions::new().create(true).append(true).open(file)?.write_all(format!("{line}\n").as_bytes())
}

/// The name `PROGRAM::TEST`, as far as it is known: if one test runs at a time its thread has no name.
fn this_test() -> String {
    let program = env::current_exe().ok();
    let program = program.as_deref().and_then(Path::file_stem).and_then(|stem| stem.to_str());
    // cargo puts a number behind the name.
    let program = program.map_or("?", |stem| stem.rsplit_once('-').map_or(stem, |(name, _)| name));
    let current = thread::current();
    let name = current.name().filter(|name| *name != "main").map(str::to_owned);
    let test = name.or_else(|| env::var("NEXTEST_TEST_NAME").ok()).or_else(|| after_exact(env::args()));
    format!("{program}::{}", test.as_deref().unwrap_or("?"))
}

/// Returns the only test of the command line, if it has `--exact`.
fn after_exact(arguments: impl Iterator<Item = String>) -> Option<String> {
    let arguments: Vec<String> = arguments.skip(1).collect();
    let exact = arguments.iter().any(|argument| argument == "--exact");
    arguments.into_iter().find(|argument| exact && !argument.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_skipped_test_has_its_line() {
        let directory = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let file = directory.path().join("skipped");
        for line in ["a::one: no gcc", "b::two: no root"] {
            append(&file, line).unwrap_or_else(|error| panic!("{error}"));
        }
        let text = std::fs::read_to_string(file).unwrap_or_default();
        assert_eq!(text, "a::one: no gcc\nb::two: no root\n");
    }

    #[test]
    fn a_skipped_test_has_its_name() {
        assert!(this_test().ends_with("::tests::a_skipped_test_has_its_name"), "{}", this_test());
        let after = |arguments: &[&str]| after_exact(arguments.iter().map(|word| (*word).to_owned()));
        assert_eq!(after(&["program", "--exact", "a::b", "--nocapture"]), Some("a::b".to_owned()));
        assert_eq!(after(&["program", "a::b", "--exact"]), Some("a::b".to_owned()));
        assert_eq!(after(&["program", "a"]), None);
    }
}
