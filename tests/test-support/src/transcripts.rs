//! Transcripts of command lines: text files with commands and their output, which a test plays again.
#![allow(clippy::panic, reason = "for tests only")]

use std::env;
use std::fs;
use std::path::Path;

/// Plays every transcript in `tests/transcripts` of the crate whose test runs. `play` gets the path of a transcript and its text, and
/// returns the transcript with the current output of its commands. With UPDATE_TRANSCRIPTS=1 the files are written again.
///
/// # Panics
/// If the output of a command has changed; the text names the first line of each transcript that differs.
pub fn check_all(play: impl Fn(&Path, &str) -> String) {
    let folder = Path::new("tests/transcripts");
    let mut differences = String::new();
    for entry in
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())).flatten()
    {
        let path = entry.path();
        let expected =
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let actual = play(&path, &expected);
        if env::var_os("UPDATE_TRANSCRIPTS").is_some() {
            fs::write(&path, actual).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        } else if actual != expected {
            differences += &difference(&path, &expected, &actual);
        }
    }
    assert!(differences.is_empty(), "{differences}\nUPDATE_TRANSCRIPTS=1 writes them anew");
}

fn difference(path: &Path, expected: &str, actual: &str) -> String {
    let at = expected.lines().zip(actual.lines()).take_while(|(one, other)| one == other).count();
    let line = |text: &str| text.lines().nth(at).unwrap_or("(end)").to_owned();
    format!("{}:{}\n  expected {}\n  actual   {}\n", path.display(), at + 1, line(expected), line(actual))
}
