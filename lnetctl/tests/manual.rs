//! The checked-in manual pages and completions are those that the command line defines.
#![allow(clippy::unwrap_used, missing_docs)]

use clap_complete::Shell;
use lnetctl::generate;
use std::fs;
use std::path::Path;

const HOW: &str = "`make generated-files` makes them anew";

/// doc-010: fails if a command or an option has no place in the manual pages.
#[test]
fn manual_pages_are_fresh() {
    let directory = Path::new("../docs/man");
    let pages = generate::manual_pages().unwrap();
    for (name, text) in &pages {
        let there = fs::read_to_string(directory.join(name)).unwrap_or_default();
        assert!(there == String::from_utf8_lossy(text), "docs/man/{name} is stale; {HOW}");
    }
    for entry in fs::read_dir(directory).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let known = pages.iter().any(|(page, _)| *page == name) || !name.starts_with("lnetctl");
        assert!(known, "docs/man/{name} is no page any more");
    }
}

#[test]
fn completions_are_fresh() {
    for (shell, file) in
        [(Shell::Bash, "lnetctl.bash"), (Shell::Zsh, "_lnetctl"), (Shell::Fish, "lnetctl.fish")]
    {
        let there = fs::read(Path::new("../completions").join(file)).unwrap_or_default();
        assert!(there == generate::completions(shell), "completions/{file} is stale; {HOW}");
    }
}
