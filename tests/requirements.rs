//! Every requirement has its row in `docs/requirements.md`, which is made from `requirements/rows.rs` and the
//! documentation of the tests.
//!
//! The documentation of a test names the requirements that it shows, and how it would fail if they broke:
//! `/// dbg-110: fails if ...`, or `/// dbg-010, dbg-015: fails if ...`. Each begins a line.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "requirements/rows.rs"]
#[allow(unreachable_pub)]
mod rows;

use rows::State::{Missing, NotApplicable, Partly, Shown};
use rows::{KINDS, ROWS};
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

const TABLE: &str = "docs/requirements.md";
const SOURCES: [&str; 7] = ["liblnet", "lnds", "lnetctl", "lnetd", "consumers", "ptlrpc-shim", "tests"];

#[test]
fn every_number_of_every_kind_has_its_row() {
    let numbers = |(kind, last): &(&str, u32)| {
        let kind = (*kind).to_owned();
        (1..=last / 5).map(move |number| format!("{kind}-{:03}", number * 5))
    };
    let all: Vec<String> = KINDS.iter().flat_map(numbers).collect();
    let rows: Vec<&str> = ROWS.iter().map(|row| row.0).collect();
    assert_eq!(rows, all);
}

#[test]
fn every_requirement_has_a_test_or_a_reason() {
    let tests = tests_by_requirement();
    let mut wrong = String::new();
    for (id, _, _, state) in ROWS {
        match (state, tests.get(*id)) {
            (Shown | Partly(_), None) => writeln!(wrong, "{id}: no test names it").unwrap(),
            (Missing(_) | NotApplicable(_), Some(tests)) => {
                writeln!(wrong, "{id}: is shown by {tests:?}").unwrap();
            }
            _ => {}
        }
    }
    let known: BTreeSet<&str> = ROWS.iter().map(|row| row.0).collect();
    for (id, tests) in tests.iter().filter(|(id, _)| !known.contains(id.as_str())) {
        writeln!(wrong, "{id}: there is no such requirement, but {tests:?}").unwrap();
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn every_test_of_a_requirement_states_how_it_would_fail() {
    let tests = all_tests();
    let without_line: Vec<String> = tests
        .iter()
        .filter(|test| test.named.iter().any(|id| !test.explained.contains(id)))
        .map(|test| format!("{}: {:?}", test.place, test.named.difference(&test.explained)))
        .collect();
    assert!(without_line.is_empty(), "no line `ID: fails if ...` in\n{}", without_line.join("\n"));
}

#[test]
fn the_table_of_requirements_is_up_to_date() {
    let path = root().join(TABLE);
    let table = table(&tests_by_requirement());
    if env::var_os("LNET_WRITE_REQUIREMENTS").is_some() {
        fs::write(&path, &table).unwrap();
    }
    assert!(
        fs::read_to_string(path).unwrap_or_default() == table,
        "LNET_WRITE_REQUIREMENTS=1 cargo test --test requirements writes {TABLE} anew"
    );
}

fn table(tests: &BTreeMap<String, BTreeSet<String>>) -> String {
    let mut text = "# Requirements and the tests that show them\n\n\
        What is required of configuration (cfg), of sending (snd), of discovery (dyn), of what can be seen of a running\n\
        node (dbg), of the health of devices (hlt), of nodes of other versions (bck), of tests (tst) and of the\n\
        documentation (doc), in the numbers of the Multi-Rail requirements of LNet. Each test says in its documentation how\n\
        it would fail if the requirement broke. Generated from `tests/requirements/rows.rs` and the tests' documentation; a\n\
        test compares it with them.\n\n"
        .to_owned();
    let count = |is_one: fn(&rows::State) -> bool| ROWS.iter().filter(|row| is_one(&row.3)).count();
    writeln!(
        text,
        "{} requirements: {} shown, {} partly, {} missing, {} not applicable.\n\n\
         | ID | class | requirement | state | shown by |\n| --- | --- | --- | --- | --- |",
        ROWS.len(),
        count(|state| matches!(state, Shown)),
        count(|state| matches!(state, Partly(_))),
        count(|state| matches!(state, Missing(_))),
        count(|state| matches!(state, NotApplicable(_))),
    )
    .unwrap();
    for (id, class, requirement, state) in ROWS {
        let state = match state {
            Shown => "shown".to_owned(),
            Partly(rest) => format!("partly: {rest}"),
            Missing(reason) => format!("missing: {reason}"),
            NotApplicable(reason) => format!("not applicable: {reason}"),
        };
        let names = tests.get(*id).into_iter().flatten();
        let by = names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let class = format!("{class:?}").to_lowercase();
        writeln!(text, "| {id} | {class} | {requirement} | {state} | {by} |").unwrap();
    }
    text
}

/// A test, and the requirements that its documentation names.
struct Test {
    /// `FILE::NAME`.
    place: String,
    named: BTreeSet<String>,
    /// The requirements of which the test documents how it would fail.
    explained: BTreeSet<String>,
}

/// The tests, by the requirements that their documentation names.
fn tests_by_requirement() -> BTreeMap<String, BTreeSet<String>> {
    let mut found = BTreeMap::<String, BTreeSet<String>>::new();
    for test in all_tests() {
        for id in test.named {
            found.entry(id).or_default().insert(test.place.clone());
        }
    }
    found
}

fn all_tests() -> Vec<Test> {
    let files = SOURCES.iter().flat_map(|dir| rust_files_below(&root().join(dir)));
    let in_file = |path: PathBuf| {
        let file = path.strip_prefix(root()).unwrap().display().to_string();
        tests_in(&file, &fs::read_to_string(&path).unwrap())
    };
    files.flat_map(in_file).collect()
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
    let fails = documentation.iter().filter_map(|line| line.split_once(": fails if "));
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
    files.sort();
    files
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

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
