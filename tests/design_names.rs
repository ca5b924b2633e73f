//! The C names of the design documents (`tests/data/design-names.txt`): each is in the header that the list names, or
//! `docs/differences-from-kernel.md` says why it is not.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A line of the list.
struct Row<'a> {
    name: &'a str,
    kind: &'a str,
    place: &'a str,
}

/// Fails if a function, structure or command of a design document is neither in a header nor among the differences.
#[test]
fn every_name_of_the_design_documents_is_in_a_header_or_among_the_differences() {
    let list = read("tests/data/design-names.txt");
    let rows: Vec<Row<'_>> = list.lines().filter(|line| !line.starts_with('#')).map(row).collect();
    assert!(rows.len() > 200, "{}", rows.len());
    let names: BTreeSet<&str> = rows.iter().map(|row| row.name).collect();
    assert_eq!(names.len(), rows.len(), "a name is listed twice");
    let differences = read("docs/differences-from-kernel.md");
    let reasons = differences.split_once("## Names of the design documents").unwrap().1;
    let missing: Vec<String> = rows
        .iter()
        .filter(|row| match row.place {
            "differences" => !reasons.contains(&format!("`{}`", row.name)),
            header => !declares(&header_text(header), row),
        })
        .map(|row| format!("{} ({}) in {}", row.name, row.kind, row.place))
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

/// Fails if a name that, by the document of differences, is in no header is in one.
#[test]
fn no_name_among_the_differences_is_in_a_header() {
    let list = read("tests/data/design-names.txt");
    let mut all = String::new();
    for directory in ["include", "consumers/motr-net/include"] {
        below(&Path::new(env!("CARGO_MANIFEST_DIR")).join(directory), &mut all);
    }
    let found: Vec<&str> = list
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(row)
        .filter(|row| row.place == "differences")
        .filter(|row| {
            let kinds = ["function", "struct", "enum", "union", "macro"];
            kinds.into_iter().any(|kind| declares(&all, &Row { kind, ..*row }))
        })
        .map(|row| row.name)
        .collect();
    assert!(found.is_empty(), "{found:?}");
}

fn row(line: &str) -> Row<'_> {
    let words: Vec<&str> = line.split(' ').collect();
    let [name, kind, place] = words[..] else { panic!("{line}") };
    Row { name, kind, place }
}

/// Whether the text of a header declares it.
fn declares(header: &str, row: &Row<'_>) -> bool {
    let name = row.name;
    let is_word = |at: usize| {
        let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        !is_part(header[..at].chars().next_back()) && !is_part(header[at + name.len()..].chars().next())
    };
    let found = |before: &str, after: &str| {
        let text = format!("{before}{name}{after}");
        header.match_indices(&text).any(|(at, _)| is_word(at + before.len()))
    };
    match row.kind {
        "function" => header.lines().any(|line| {
            let starts = line.starts_with(|c: char| c.is_alphabetic() || c == '_');
            let at = line.find(&format!("{name}("));
            starts && at.is_some_and(|at| line[..at].ends_with([' ', '*']))
        }),
        "struct" | "enum" | "union" => {
            found(&format!("{} ", row.kind), " {") || found("struct __attribute__((packed)) ", " {")
        }
        "opaque" => found("struct ", ";"),
        "macro" => found("#define ", ""),
        "name" => found("", ""),
        other => panic!("{other} is no kind"),
    }
}

fn header_text(header: &str) -> String {
    match header.strip_prefix("motr:") {
        Some(motr) => read(&format!("consumers/motr-net/include/{motr}")),
        None => read(&format!("include/{header}")),
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path))
        .unwrap_or_else(|_| panic!("no {path}"))
}

fn below(directory: &Path, all: &mut String) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => below(&path, all),
            false => all.push_str(&fs::read_to_string(path).unwrap()),
        }
    }
}
