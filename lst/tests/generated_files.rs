//! The checked-in manual page and completions are those that the command line defines.
#![allow(clippy::unwrap_used, missing_docs)]

use clap_complete::Shell;
use lst::generate;
use std::fs;
use std::path::Path;

const HOW: &str = "`make generated-files` makes them anew";

#[test]
fn the_manual_page_is_fresh() {
    let there = fs::read_to_string("../docs/man/lst.8").unwrap_or_default();
    assert!(
        there == String::from_utf8_lossy(&generate::manual_page().unwrap()),
        "docs/man/lst.8 is stale; {HOW}"
    );
}

#[test]
fn completions_are_fresh() {
    for (shell, file) in [(Shell::Bash, "lst.bash"), (Shell::Zsh, "_lst"), (Shell::Fish, "lst.fish")] {
        let there = fs::read(Path::new("../completions").join(file)).unwrap_or_default();
        assert!(there == generate::completions(shell), "completions/{file} is stale; {HOW}");
    }
}
