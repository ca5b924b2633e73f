//! `docs/requirements.md`: what is required of configuration, statistics and documentation, and the tests that
//! show it.
//!
//! A test names what it shows in its documentation: `/// cfg-070, cfg-080.` The table is made from that by
//! `LNET_WRITE_REQUIREMENTS=1 cargo test --test requirements`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// How much it is wanted.
#[derive(Clone, Copy, Debug)]
enum Class {
    Required,
    Desired,
    Nice,
}

/// How it is shown.
#[derive(Clone, Copy, Debug)]
enum Shown {
    ByTests,
    /// It is not done, for this reason.
    Not(&'static str),
}

use Class::{Desired, Nice, Required};
use Shown::{ByTests, Not};

const REQUIREMENTS: &[(&str, Class, &str, Shown)] = &[
    ("cfg-005", Required, "Everything is configured by the DLC interface, and by nothing else", ByTests),
    ("cfg-010", Required, "What is asked for by DLC comes as YAML", ByTests),
    ("cfg-015", Required, "Nets, interfaces and selection rules can be configured and asked for", ByTests),
    ("cfg-020", Required, "A net has several interfaces, which come and go at run time", ByTests),
    ("cfg-025", Required, "An interface can be bound to CPU partitions", ByTests),
    (
        "cfg-030",
        Nice,
        "The binding can be changed at run time",
        Not("waived by the design: the interface is deleted and added again"),
    ),
    ("cfg-035", Required, "Without partitions given, an interface is bound to all", ByTests),
    ("cfg-040", Required, "One interface is one device, once on each net", ByTests),
    ("cfg-045", Required, "This node's configuration can be asked for as YAML", ByTests),
    ("cfg-050", Nice, "Selection rules can be asked for as YAML", ByTests),
    ("cfg-055", Required, "Interfaces are shown under their net", ByTests),
    ("cfg-060", Required, "lnetctl configures this node's interfaces on its command line", ByTests),
    ("cfg-065", Required, "lnetctl configures this node's interfaces from YAML", ByTests),
    ("cfg-070", Required, "NIDs of peers are added and removed, on the command line and from YAML", ByTests),
    ("cfg-075", Required, "A peer has NIDs on different nets", ByTests),
    ("cfg-080", Required, "A NID that another peer has is refused with an error code", ByTests),
    ("cfg-085", Desired, "A peer that was not configured is discovered at first contact", ByTests),
    ("cfg-090", Required, "The NUMA range can be set", ByTests),
    ("cfg-095", Desired, "Selection rules have an interface for programs", ByTests),
    ("cfg-100", Desired, "Selection rules are a set", ByTests),
    ("cfg-105", Desired, "There is one set of selection rules in a node", ByTests),
    ("cfg-110", Desired, "A rule gives a net a priority", ByTests),
    ("cfg-115", Desired, "A rule gives an interface a priority", ByTests),
    ("cfg-120", Desired, "A rule maps an interface of this node to a NID of a peer", ByTests),
    ("cfg-125", Desired, "Such mappings have priorities, by the order of the rules", ByTests),
    ("cfg-130", Nice, "Several interfaces are mapped to several NIDs", ByTests),
    ("cfg-135", Nice, "Several interfaces are mapped to one NID", ByTests),
    ("cfg-140", Nice, "One interface is mapped to several NIDs", ByTests),
    ("cfg-145", Nice, "A rule has a number of messages", Not("no release of LNet has it")),
    ("cfg-150", Nice, "Rules have priorities among each other", ByTests),
    ("cfg-155", Nice, "A rule without priority has the highest", ByTests),
    ("cfg-160", Nice, "lnetctl configures rules on its command line", ByTests),
    ("cfg-165", Nice, "lnetctl configures rules from YAML", ByTests),
    ("cfg-170", Required, "What was written out makes the same configuration again", ByTests),
    ("dyn-005", Desired, "A node tells others its NIDs by a PUT, the push", ByTests),
    (
        "dyn-010",
        Desired,
        "A push to a node that is not multi-rail is dropped without an answer",
        Not("a matter of releases without Multi-Rail; this node pushes to none of them"),
    ),
    ("dyn-015", Desired, "A push has the node's interfaces", ByTests),
    ("dyn-020", Desired, "A peer is pinged for its interfaces at first contact", ByTests),
    ("dyn-025", Desired, "A ping is answered with the interfaces that are configured", ByTests),
    ("dyn-030", Desired, "Answers to pings, and pushes, say that the node is multi-rail", ByTests),
    ("dyn-035", Desired, "Who is found to be multi-rail is pushed to", ByTests),
    ("dyn-040", Desired, "The NIDs of an answer or a push become those of one peer", ByTests),
    ("dyn-045", Desired, "Multi-rail peers are told of interfaces that come or go", ByTests),
    ("dyn-050", Nice, "Multi-rail peers are told of interfaces that fail or work again", ByTests),
    ("dyn-055", Desired, "Who contacts another discovers it; who is contacted does not", ByTests),
    ("dyn-060", Desired, "What differs from what is known of a peer is reported", ByTests),
    ("dyn-065", Nice, "A peer that answers with another's NIDs is noticed", ByTests),
    ("dbg-005", Required, "Statistics are shown by DLC as YAML", ByTests),
    ("dbg-010", Required, "Messages sent are counted for each interface", ByTests),
    ("dbg-015", Required, "Messages received are counted for each interface", ByTests),
    ("dbg-020", Required, "Timeouts are counted for each interface, and logged", ByTests),
    ("dbg-025", Required, "Dropped messages are counted, and logged", ByTests),
    ("dbg-030", Desired, "Interfaces are active, degraded or failed", ByTests),
    (
        "dbg-035",
        Required,
        "State, credits, counters and partitions of an interface can be asked for",
        ByTests,
    ),
    ("dbg-040", Required, "Interfaces can be asked for one after the other", ByTests),
    ("dbg-045", Required, "The node as a whole has statistics", ByTests),
    ("dbg-050", Required, "Messages sent are counted for each NID of a peer", ByTests),
    ("dbg-055", Required, "Messages received are counted for each NID of a peer", ByTests),
    ("dbg-060", Required, "Credits, queue and counters of a peer's NID can be asked for", ByTests),
    ("dbg-065", Required, "A peer can be asked for by any of its NIDs", ByTests),
    ("dbg-070", Nice, "How busy a peer's NID is can be asked for", ByTests),
    ("dbg-075", Nice, "How busy an interface is can be asked for", ByTests),
    ("dbg-080", Required, "DLC has a call for everything that a node tells", ByTests),
    ("dbg-085", Desired, "Counters are summed over the interfaces of a net", ByTests),
    ("dbg-090", Desired, "Counters are summed over the NIDs of a peer", ByTests),
    ("dbg-095", Required, "All interfaces can be asked for at once, with their statistics", ByTests),
    ("dbg-100", Required, "So many peers can be asked for at once, with their statistics", ByTests),
    ("dbg-105", Nice, "The rate of an interface can be asked for", ByTests),
    ("dbg-110", Required, "A change of an interface's state is logged as an error", ByTests),
    ("dbg-115", Required, "A send that failed is logged with the pair of NIDs taken instead", ByTests),
    ("dbg-120", Required, "Statistics can be set to zero", ByTests),
    (
        "bck-005",
        Required,
        "lnetctl with a multi-rail configuration needs a multi-rail LNet",
        Not("a matter of other releases; lnetctl has nodes of this library before it only"),
    ),
    (
        "bck-010",
        Nice,
        "lnetctl fails gracefully before an LNet that is not multi-rail",
        Not("a matter of other releases; lnetctl has nodes of this library before it only"),
    ),
    (
        "bck-015",
        Nice,
        "lnetctl configures an LNet that is not multi-rail",
        Not("a matter of other releases; lnetctl has nodes of this library before it only"),
    ),
    ("bck-020", Nice, "Configurations from before Multi-Rail take effect", ByTests),
    ("bck-025", Required, "Nodes that are multi-rail and nodes that are not talk to each other", ByTests),
    ("bck-030", Desired, "A node that becomes multi-rail is discovered as such", ByTests),
    ("doc-005", Required, "The manual tells of all this", ByTests),
    ("doc-010", Required, "There are manual pages for the commands", ByTests),
    ("doc-015", Required, "The interface for programs is documented", ByTests),
];

const TABLE: &str = "docs/requirements.md";
const SOURCES: [&str; 5] = ["liblnet", "lnds", "lnetctl", "lnetd", "tests"];

#[test]
fn every_requirement_is_shown_by_a_test_or_says_why_not() {
    let tests = tests_by_requirement();
    let mut wrong = String::new();
    for (id, _, _, shown) in REQUIREMENTS {
        match (shown, tests.get(*id)) {
            (ByTests, None) => writeln!(wrong, "{id}: no test names it").unwrap(),
            (Not(_), Some(tests)) => writeln!(wrong, "{id}: is shown by {tests:?}").unwrap(),
            _ => {}
        }
    }
    let known: BTreeSet<&str> = REQUIREMENTS.iter().map(|row| row.0).collect();
    for (id, tests) in tests.iter().filter(|(id, _)| !known.contains(id.as_str())) {
        writeln!(wrong, "{id}: there is no such requirement, but {tests:?}").unwrap();
    }
    assert!(wrong.is_empty(), "\n{wrong}");
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
        What is required of configuration (cfg), of discovery (dyn), of what can be seen of a running node (dbg),\n\
        of nodes of other versions (bck) and of the documentation (doc), in the numbers of the Multi-Rail requirements of LNet. Generated from\n\
        `tests/requirements.rs` and the tests' documentation; a test compares it with them.\n\n\
        | ID | class | requirement | shown by |\n| --- | --- | --- | --- |\n"
        .to_owned();
    for (id, class, requirement, shown) in REQUIREMENTS {
        let by = match shown {
            ByTests => {
                let names = tests.get(*id).into_iter().flatten();
                names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
            }
            Not(reason) => format!("not done: {reason}"),
        };
        let class = format!("{class:?}").to_lowercase();
        writeln!(text, "| {id} | {class} | {requirement} | {by} |").unwrap();
    }
    text
}

/// The tests, as `FILE::NAME`, by the requirements that their documentation names.
fn tests_by_requirement() -> BTreeMap<String, BTreeSet<String>> {
    let mut found = BTreeMap::<String, BTreeSet<String>>::new();
    for path in SOURCES.iter().flat_map(|dir| rust_files_below(&root().join(dir))) {
        let file = path.strip_prefix(root()).unwrap().display().to_string();
        for (name, ids) in tests_in(&fs::read_to_string(&path).unwrap()) {
            for id in ids {
                found.entry(id).or_default().insert(format!("{file}::{name}"));
            }
        }
    }
    found
}

/// The names of the tests in a source, each with what its documentation names.
fn tests_in(source: &str) -> Vec<(String, Vec<String>)> {
    let mut tests = Vec::new();
    let mut documentation = String::new();
    let mut is_test = false;
    for line in source.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("///") {
            documentation.push_str(text);
        } else if line == "#[test]" {
            is_test = true;
        } else if !line.starts_with("#[") {
            let name = line.strip_prefix("fn ").and_then(|rest| rest.split('(').next());
            if let (true, Some(name)) = (is_test, name) {
                tests.push((name.to_owned(), requirements_in(&documentation)));
            }
            documentation.clear();
            is_test = false;
        }
    }
    tests
}

/// `cfg-005`, and so on. Those of other kinds have no table.
fn requirements_in(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let is_one = |word: &&str| {
        word.split_once('-').is_some_and(|(kind, number)| {
            ["cfg", "dyn", "dbg", "bck", "doc"].contains(&kind)
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
    let source = "/// cfg-001.\nfn helper() {}\n\n/// Words: cfg-002,\n/// dbg-003; snd-004.\n#[test]\n#[cfg(unix)]\nfn one() {\n\
                  /// cfg-005\n}\n    #[test]\n    fn two(x in y) {}\n";
    let tests = tests_in(source);
    let expected = [("one", vec!["cfg-002", "dbg-003"]), ("two", vec![])];
    assert_eq!(tests.len(), expected.len());
    for ((name, ids), (expected_name, expected_ids)) in tests.iter().zip(expected) {
        assert_eq!((name.as_str(), ids.iter().map(String::as_str).collect()), (expected_name, expected_ids));
    }
}
