//! Words that have another meaning in this repository's terms must not be used: in identifiers, comments, log texts
//! and documents each thing has the one name of the glossary (`docs/glossary.md`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::Path;
use std::process::Command;

/// A word, also as a part of an identifier, and the term to use instead. Each has no meaning in LNet, TCP or Rust, so that
/// no sentence needs it.
const TERMS: [(&str, &str); 37] = [
    ("agenda", "events"),
    ("aftermath", "quiescence"),
    ("buried", "removed"),
    ("bury", "remove"),
    ("census", "message counters"),
    ("complain", "warn, log"),
    ("complaint", "rate-limited log line, error"),
    ("complaints", "rate-limited log, errors"),
    ("crowd", "connections, limit"),
    ("crowded", "limit_rejected"),
    ("deeds", "actions"),
    ("doubt", "suspect, path state"),
    ("doubted", "stale"),
    ("farewell", "drain, disconnect"),
    ("fate", "outcome"),
    ("fates", "outcomes"),
    ("gossip", "ping information"),
    ("heir", "merge target"),
    ("housekeeper", "timer thread"),
    ("journey", "path request"),
    ("patience", "timeout"),
    ("receipt", "ACK, delivery ACK"),
    ("receipts", "ACKs, delivery ACKs"),
    ("reckoned", "estimated"),
    ("rumour", "ping information"),
    ("seat", "permit"),
    ("seats", "permits"),
    ("sick", "unhealthy"),
    ("silence", "unresponsive"),
    ("silenced", "unresponsive"),
    ("silent", "unresponsive"),
    ("strangers", "unknown peers"),
    ("tally", "counts"),
    ("unwelcome", "rejected"),
    ("verdict", "action, result"),
    ("visitor", "app poller"),
    ("visitors", "app pollers"),
];

/// Old names that the library accepts, and a trait of another crate.
const ACCEPTED: [&str; 3] = ["SOCKLND_SILENCE", "LNET_RECEIPTS", "Visit"];

/// Parts of the repository whose words are other people's, or that name the old words on purpose.
const NOT_CHECKED: [&str; 6] = [
    "CHANGELOG.md",
    "docs/glossary.md",
    "docs/protocol/",
    "tests/data/",
    "fuzz/seeds/",
    "tests/vocabulary.rs",
];

#[test]
fn old_words_do_not_come_back() {
    let mut found = Vec::new();
    let mut files = 0;
    for name in tracked_texts() {
        let Ok(text) = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&name)) else {
            continue;
        };
        files += 1;
        for (at, line) in text.lines().enumerate() {
            for (word, term) in old_words(line) {
                found.push(format!("{name}:{}: \"{word}\" (use: {term})", at + 1));
            }
        }
    }
    assert!(found.is_empty(), "{} old words\n{}", found.len(), found.join("\n"));
    assert!(files > 500, "only {files} files were read");
}

#[test]
fn words_are_found_in_prose_and_in_identifiers() {
    let found = |line| old_words(line).into_iter().map(|(word, _)| word).collect::<Vec<_>>();
    assert_eq!(found("// the silent pair: a receipt"), ["silent", "receipt"]);
    assert_eq!(found("fn is_silent(&self) -> SilentPeer {"), ["silent", "silent"]);
    assert_eq!(found("const MORE_PATIENCE: &str = \"Fate\";"), ["patience", "fate"]);
    assert_eq!(found("silently, `SOCKLND_SILENCE`, mutually, fateful, `syn::visit::Visit`"), [""; 0]);
}

/// The old words of a line, in order.
fn old_words(line: &str) -> Vec<(&'static str, &'static str)> {
    let line = ACCEPTED.iter().fold(line.to_owned(), |line, accepted| line.replace(accepted, ""));
    words(&line).iter().filter_map(|word| TERMS.iter().find(|(old, _)| old == word).copied()).collect()
}

/// The words of a line in lower case; `snake_case` and `CamelCase` are taken apart.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for letter in line.chars() {
        let is_letter = letter.is_ascii_alphabetic();
        if !is_letter || letter.is_ascii_uppercase() && after_lower {
            words.push(String::new());
        }
        if is_letter && let Some(word) = words.last_mut() {
            word.push(letter.to_ascii_lowercase());
        }
        after_lower = letter.is_ascii_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The sources and documents of the repository.
fn tracked_texts() -> Vec<String> {
    let listed = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("git runs");
    assert!(listed.status.success(), "git ls-files failed");
    let names = String::from_utf8(listed.stdout).unwrap();
    let is_text = |name: &&str| {
        let ending = Path::new(name).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        ["rs", "md", "c", "h", "in", "toml", "sh", "conf", "service"].contains(&ending)
            && !NOT_CHECKED.iter().any(|part| name.starts_with(part))
    };
    names.split('\0').filter(is_text).map(str::to_owned).collect()
}
