//! Every citation in sources and documents resolves: rules such as `HE-30`, sections such as `core-behaviour 4.2` and
//! requirements such as `snd-035` to `docs/protocol` and `docs/requirements.md`, links in documents to files and anchors,
//! paths and tests that documents name to existing ones.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

const SHEETS: &str = "docs/protocol";
const REQUIREMENTS: &str = "docs/requirements.md";

/// Words that look like a rule but are none.
const NO_RULES: [&str; 10] = ["NID", "UTF", "CRC", "MPL", "FNV", "BSD", "SHA", "RFC", "SSH", "CURRENT"];

/// Names of sheets that are not the one name that each has.
const OTHER_NAMES: [&str; 8] = [
    "behaviour sheet",
    "behaviour spec",
    "wire sheet",
    "wire spec",
    "core spec",
    "DLC sheet",
    "API sheet",
    "ABI spec",
];

/// The rules, requirements and sections that can be cited.
#[derive(Default)]
struct Known {
    /// The rules, such as `HE-30` and `DISC-10a`.
    rules: BTreeSet<String>,
    /// The sections of each sheet: `4.2`, `appendix A`.
    sections: BTreeMap<String, BTreeSet<String>>,
    /// The requirements, such as `snd-035`.
    requirements: BTreeSet<String>,
}

#[test]
fn every_citation_resolves() {
    let known = Known::read();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (file, text) in tracked_texts() {
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let line = joined(line, lines.get(at + 1).copied().unwrap_or_default(), &known);
            for citation in citations(&line, &known) {
                seen += 1;
                wrong.extend(known.problem(&citation).map(|why| format!("{file}:{}: {why}", at + 1)));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(seen > 500, "only {seen} citations were found");
}

#[test]
fn every_sheet_stands_in_the_index() {
    let index = read(&format!("{SHEETS}/README.md"));
    for sheet in Known::read().sections.keys() {
        assert!(
            index.contains(&format!("[{sheet}]({sheet}.md)")),
            "{SHEETS}/README.md does not name {sheet}"
        );
    }
}

#[test]
fn every_link_in_the_documents_resolves() {
    let mut wrong = Vec::new();
    for (file, text) in tracked_texts().into_iter().filter(|(file, _)| file.ends_with(".md")) {
        for (line, link) in links(&text) {
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match path {
                "" => file.clone(),
                path => normalized(&Path::new(&file).parent().unwrap().join(path)),
            };
            if !root().join(&target).exists() {
                wrong.push(format!("{file}:{line}: there is no {target}"));
            } else if !anchor.is_empty() && !anchors(&read(&target)).contains(anchor) {
                wrong.push(format!("{file}:{line}: {target} has no anchor #{anchor}"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// `liblnet/core/src/sync.rs` and the like; not the generated table of requirements, nor names with a part left open.
#[test]
fn every_path_in_the_documents_exists() {
    let texts = tracked_texts();
    let tops: BTreeSet<&str> = texts.iter().filter_map(|(file, _)| Some(file.split_once('/')?.0)).collect();
    let mut wrong = Vec::new();
    for (file, text) in &texts {
        if !file.ends_with(".md") || file.starts_with(SHEETS) || file == REQUIREMENTS {
            continue;
        }
        for (line, code) in code_spans(text) {
            let is_path = code.split_once('/').is_some_and(|(top, _)| tops.contains(top))
                && code.bytes().all(|byte| byte.is_ascii_lowercase() || b"/._-0123456789".contains(&byte));
            let exists = |path: &str| root().join(path).exists();
            if is_path && !exists(code) && !exists(&format!("{code}.rs")) {
                wrong.push(format!("{file}:{line}: there is no {code}"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Fails if a guide for contributors names code that does not exist, such as `Upcalls::receive`, `find_interface`,
/// `SocklndConfig`.
#[test]
fn every_name_of_code_in_the_guides_exists() {
    // Words that stand for a name of the reader's choice, and words of other projects.
    const OPEN: [&str; 4] = ["CRATE", "NAME", "_NAME", "NAMElnd"];
    let texts = tracked_texts();
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words: BTreeSet<&str> = (texts.iter().filter(|(file, _)| !file.ends_with(".md")))
        .flat_map(|(_, text)| text.split(|c| !is_word(c)))
        .collect();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for guide in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = read(guide);
        for (line, code) in code_spans(&text) {
            let name = code.trim_end_matches(['!', '(', ')']);
            // The beginning of names, such as `get_`.
            let is_open = name.ends_with('_') || name.ends_with("_NN");
            if is_open || !name.split("::").all(|part| !part.is_empty() && part.chars().all(is_word)) {
                continue;
            }
            seen += 1;
            let missing = name.split("::").filter(|part| !words.contains(part) && !OPEN.contains(part));
            wrong.extend(missing.map(|part| format!("{guide}:{line}: nothing is called {part}")));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(seen > 50, "only {seen} names were found");
}

/// Fails if a document names a test that does not exist: `tests/routing.rs::NAME`. Not the sheets, which are about other code.
#[test]
fn every_test_that_a_document_names_with_its_file_exists() {
    let texts = tracked_texts();
    let sources: BTreeMap<&str, &str> =
        texts.iter().map(|(file, text)| (file.as_str(), text.as_str())).collect();
    let mut missing = Vec::new();
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for (file, text) in texts.iter().filter(|(file, _)| file.ends_with(".md") && !file.starts_with(SHEETS)) {
        for (line, code) in code_spans(text) {
            let Some((source, name)) = code.split_once("::").filter(|(source, _)| source.ends_with(".rs"))
            else {
                continue;
            };
            // The form itself.
            if code == "FILE.rs::NAME" {
                continue;
            }
            *seen.entry(file).or_default() += 1;
            let definition = format!("fn {name}(");
            if !sources.get(source).is_some_and(|text| text.contains(&definition)) {
                missing.push(format!("{file}:{line}: there is no test {code}"));
            }
        }
    }
    assert!(missing.is_empty(), "\n{}", missing.join("\n"));
    let few = ["docs/compatibility.md", "docs/kernel-defects.md"].map(|file| seen.get(file).copied());
    assert!(few.iter().all(|count| *count > Some(10)), "{few:?}");
}

/// Fails if a test that the table of limits names (`socklnd: NAME`) does not exist.
#[test]
fn every_test_that_the_security_document_names_exists() {
    const DOCUMENT: &str = "docs/security.md";
    let texts = tracked_texts();
    let exists = |name: &str| {
        let definition = format!("fn {name}(");
        texts.iter().any(|(file, text)| file.ends_with(".rs") && text.contains(&definition))
    };
    let text = read(DOCUMENT);
    let spans = code_spans(&text);
    let named: Vec<_> =
        spans.iter().filter_map(|(line, code)| Some((line, code.split_once(": ")?.1))).collect();
    assert!(named.len() > 10, "{named:?}");
    let missing: Vec<_> = named.iter().filter(|(_, name)| !exists(name)).collect();
    assert!(missing.is_empty(), "{DOCUMENT}, line and test: {missing:?}");
}

impl Known {
    fn read() -> Self {
        let table = read(REQUIREMENTS);
        let rows = table.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" |"));
        let ids =
            rows.map(|(id, _)| id).filter(|id| !id.starts_with('-') && id.contains('-')).map(str::to_owned);
        let mut known = Self { requirements: ids.collect(), ..Self::default() };
        for entry in fs::read_dir(root().join(SHEETS)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            if name != "README" {
                known.add(name, &fs::read_to_string(path).unwrap());
            }
        }
        known
    }

    fn add(&mut self, sheet: String, text: &str) {
        for rule in anchor_ids(text).map(str::to_uppercase) {
            let rule = rule_in(&rule).expect("an anchor is a rule");
            assert!(self.rules.insert(rule.clone()), "{sheet}: {rule} is defined twice");
        }
        let headings = text.lines().filter(|line| line.starts_with("##"));
        let titles = headings.map(|line| line.trim_start_matches('#').trim());
        let sections = titles.filter_map(|title| match title.strip_prefix("Appendix ") {
            Some(rest) => rest.chars().next().map(|letter| format!("appendix {letter}")),
            None => leading_number(title),
        });
        self.sections.insert(sheet, sections.collect());
    }

    /// Describes the error in a citation, if there is one.
    fn problem(&self, citation: &Citation) -> Option<String> {
        match citation {
            // A scenario with parts may be cited as a whole.
            Citation::Rule(rule) => (!self.rules.contains(rule)
                && !self.rules.contains(&format!("{rule}a"))
                && !self.rules.contains(rule.trim_end_matches(|c: char| c.is_ascii_lowercase())))
            .then(|| format!("no sheet has {rule}")),
            Citation::Requirement(id) => {
                (!self.requirements.contains(id)).then(|| format!("there is no requirement {id}"))
            }
            Citation::Section(sheet, section) => {
                (!self.sections[sheet].contains(section)).then(|| format!("{sheet} has no {section}"))
            }
            Citation::OtherName(name) => Some(format!("\"{name}\": {SHEETS}/README.md has the names")),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Citation {
    Rule(String),
    Requirement(String),
    Section(String, String),
    /// A reference to a sheet by a name that it does not have.
    OtherName(&'static str),
}

/// The citations in a line.
fn citations(line: &str, known: &Known) -> Vec<Citation> {
    let words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_');
    let mut found: Vec<Citation> = words.filter_map(|word| word_citation(word, known)).collect();
    for sheet in known.sections.keys() {
        for (at, _) in line.match_indices(sheet.as_str()) {
            let begins = !line[..at].ends_with(|c: char| c.is_alphanumeric() || "-_/.".contains(c));
            if let (true, Some(rest)) = (begins, line[at + sheet.len()..].strip_prefix(' ')) {
                found.extend(
                    sections_at(rest).into_iter().map(|section| Citation::Section(sheet.clone(), section)),
                );
            }
        }
    }
    found.extend(
        OTHER_NAMES.iter().filter(|name| line.contains(**name)).map(|name| Citation::OtherName(name)),
    );
    found
}

/// A rule or a requirement.
fn word_citation(word: &str, known: &Known) -> Option<Citation> {
    let (kind, number) = word.split_once('-')?;
    if known.requirements.iter().any(|id| id.split('-').next() == Some(kind)) {
        let is_number = number.len() == 3 && number.bytes().all(|byte| byte.is_ascii_digit());
        return is_number.then(|| Citation::Requirement(word.to_owned()));
    }
    let is_rule = !NO_RULES.contains(&kind) && kind.len() >= 2;
    rule_in(word).filter(|_| is_rule).map(Citation::Rule)
}

/// `HE-30` or `DISC-10a`, from a word in which the letters before the number are capitals.
fn rule_in(word: &str) -> Option<String> {
    let (kind, number) = word.split_once('-')?;
    let digits = number.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let part = number[digits.len()..].to_ascii_lowercase();
    let is_one = !kind.is_empty()
        && kind.bytes().all(|byte| byte.is_ascii_uppercase())
        && !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && part.len() <= 1;
    is_one.then(|| format!("{kind}-{digits}{part}"))
}

/// The sections after a sheet's name: `4.2`, `appendix A`, `2.6, 2.8 and 3`.
fn sections_at(text: &str) -> Vec<String> {
    if let Some(letter) = text.strip_prefix("appendix ").and_then(|rest| rest.chars().next()) {
        return vec![format!("appendix {letter}")];
    }
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(section) = leading_number(rest) {
        // A number without a point that resolves to nothing is probably not a section.
        if !found.is_empty() && !section.contains('.') {
            break;
        }
        rest = &rest[section.len()..];
        found.push(section);
        match [", ", " and ", " to "].iter().find_map(|between| rest.strip_prefix(between)) {
            Some(after) => rest = after,
            None => break,
        }
    }
    found
}

/// `4.2` of `4.2. Title`.
fn leading_number(text: &str) -> Option<String> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number = text[..end].trim_end_matches('.');
    number.starts_with(|c: char| c.is_ascii_digit()).then(|| number.to_owned())
}

/// Returns the line, joined with the next one if it ends with a sheet's name.
fn joined(line: &str, next: &str, known: &Known) -> String {
    match known.sections.keys().any(|sheet| line.ends_with(sheet.as_str())) {
        true => format!("{line} {}", next.trim_start_matches([' ', '\t', '/', '!', '*', '#'])),
        false => line.to_owned(),
    }
}

/// The relative links of a document outside code, with their lines.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut in_code = false;
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        let prose: String = if in_code { String::new() } else { line.split('`').step_by(2).collect() };
        for (start, _) in prose.match_indices("](") {
            let target = prose[start + 2..].split([')', ' ']).next().unwrap();
            if !target.contains("://") && !target.starts_with("mailto:") {
                found.push((at + 1, target.to_owned()));
            }
        }
    }
    found
}

/// Returns the texts between backticks in a document, outside code blocks, each with its line.
fn code_spans(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut in_code = false;
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            found.extend(line.split('`').skip(1).step_by(2).map(|code| (at + 1, code)));
        }
    }
    found
}

/// The anchors of a document: those made from its headings, and explicit ones.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let slug = |line: &str| {
        let title = line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        title.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect::<String>()
    };
    headings.map(slug).chain(anchor_ids(text).map(str::to_owned)).collect()
}

fn anchor_ids(text: &str) -> impl Iterator<Item = &str> {
    text.split("<a id=\"").skip(1).filter_map(|rest| rest.split('"').next())
}

/// The path without `..`.
fn normalized(path: &Path) -> String {
    let mut parts = Vec::new();
    for part in path.iter().map(|part| part.to_str().unwrap()) {
        match part {
            ".." => drop(parts.pop()),
            "." => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The sources and documents of the repository, with their names.
fn tracked_texts() -> Vec<(String, String)> {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output().expect("git runs");
    assert!(listed.status.success(), "git ls-files failed");
    let names = String::from_utf8(listed.stdout).unwrap();
    let is_text = |name: &&str| {
        let ending = Path::new(name).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        ["rs", "md", "c", "h", "in", "toml", "sh", "conf"].contains(&ending)
            && !name.starts_with("tests/data/")
            && !name.starts_with("fuzz/seeds/")
            && !["tests/citations.rs", "xtask/src/generated/requirements/tests_of.rs"].contains(name)
    };
    let read = |name: &str| Some((name.to_owned(), fs::read_to_string(root().join(name)).ok()?));
    names.split('\0').filter(is_text).filter_map(read).collect()
}

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn citations_are_found_in_prose() {
    let mut known = Known::default();
    known.requirements.insert("snd-010".to_owned());
    known.add("wire-tcp".to_owned(), "## 2. HELLO\n### 2.6 x\n### 2.8 y\n## Appendix B. z\n");
    known.add("core".to_owned(), "<a id=\"he-1\"></a>**HE-1** x\n| <a id=\"disc-2a\"></a>DISC-2a |\n");
    let section = |section: &str| Citation::Section("wire-tcp".to_owned(), section.to_owned());
    let rule = |rule: &str| Citation::Rule(rule.to_owned());
    for (line, expected) in [
        (
            "/// A (wire-tcp 2.6, 2.8 and 9.1; HE-1)",
            vec![rule("HE-1"), section("2.6"), section("2.8"), section("9.1")],
        ),
        ("wire-tcp appendix B, UTF-8, my-wire-tcp 7.7", vec![section("appendix B")]),
        ("DISC-2b, snd-005.", vec![rule("DISC-2b"), Citation::Requirement("snd-005".to_owned())]),
        ("the wire spec 2.6", vec![Citation::OtherName("wire spec")]),
    ] {
        assert_eq!(citations(line, &known), expected, "{line}");
    }
    let wrong = [section("9.1"), rule("HE-2"), Citation::Requirement("snd-001".to_owned())];
    assert!(wrong.iter().all(|citation| known.problem(citation).is_some()));
    let right = [section("2.8"), section("appendix B"), rule("HE-1"), rule("DISC-2")];
    assert!(right.iter().all(|citation| known.problem(citation).is_none()));
    assert_eq!(joined("see wire-tcp", "    /// 2.6", &known), "see wire-tcp 2.6");
}

#[test]
fn links_and_anchors_are_found() {
    let text =
        "# One two: *three*\n[a](b.md#c) `[no](x)` [d](https://e)\n```\n[no](y)\n```\n<a id=\"he-1\"></a>\n";
    assert_eq!(links(text), [(2, "b.md#c".to_owned())]);
    let anchors = anchors(text);
    assert!(anchors.contains("one-two-three") && anchors.contains("he-1"), "{anchors:?}");
    assert_eq!(normalized(Path::new("docs/../a/./b.md")), "a/b.md");
}
