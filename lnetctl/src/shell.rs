//! Runs lines from a terminal, or from standard input.
//!
//! Here the first word may be shortened and is the same in capitals; the second may not and is not. Words
//! are split at blanks and tabs; there is no quoting.

pub(crate) mod completion;

use crate::cli::{self, Globals};
use crate::node::Connect;
use crate::output::Streams;
use crate::run::{self, LineEnd};
use completion::Completion;
use lnet_dlc::ReturnCode;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor};
use std::io::{self, BufRead, Write};
use std::path::PathBuf;

const PROMPT: &str = "lnetctl > ";

/// Reads commands with a prompt until `exit`, `quit` or the end of the input. Exits with 0.
pub fn interactive(globals: &Globals, connect: Connect<'_>) -> io::Result<u8> {
    let node = connect(globals.node.clone());
    let values = |values| completion::known(&*node, values);
    let config = Config::builder().completion_type(CompletionType::List).auto_add_history(true).build();
    let mut editor = Editor::<Completion<'_>, FileHistory>::with_config(config).map_err(io::Error::other)?;
    editor.set_helper(Some(Completion::new(&values)));
    let history = history_file();
    // The file does not exist the first time.
    if let Some(file) = &history {
        let _ = editor.load_history(file);
    }
    loop {
        match editor.readline(PROMPT) {
            Ok(text) => {
                let (mut input, mut out, mut err) = (io::stdin(), io::stdout(), io::stderr());
                let mut streams = Streams { input: &mut input, out: &mut out, err: &mut err };
                if pasted(&text, globals, connect, &mut streams)? == LineEnd::Exit {
                    break;
                }
            }
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(io::Error::other(error)),
        }
    }
    // A history that cannot be kept is no reason to fail.
    if let Some(file) = &history {
        if let Some(directory) = file.parent() {
            let _ = std::fs::create_dir_all(directory);
        }
        let _ = editor.save_history(file);
    }
    Ok(0)
}

/// Carries out commands, one per line, until one fails; exits with the exit status of the last one.
pub fn piped(
    input: impl BufRead,
    globals: &Globals,
    connect: Connect<'_>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    let mut lines = input.lines();
    while let Some(text) = lines.next().transpose()? {
        // A command must not read its input from the script.
        let mut nothing = io::empty();
        let mut streams = Streams { input: &mut nothing, out: &mut *out, err: &mut *err };
        match one(&text, globals, connect, &mut streams)? {
            LineEnd::Exit => break,
            LineEnd::Done(rc) if !rc.is_ok() => return Ok(rc.exit_code()),
            LineEnd::Done(_) => {}
        }
    }
    Ok(0)
}

/// Carries out text that was entered at once: pasted text may have several lines.
fn pasted(
    text: &str,
    globals: &Globals,
    connect: Connect<'_>,
    streams: &mut Streams<'_>,
) -> io::Result<LineEnd> {
    for line in text.lines() {
        if one(line, globals, connect, streams)? == LineEnd::Exit {
            return Ok(LineEnd::Exit);
        }
    }
    Ok(LineEnd::Done(ReturnCode::OK))
}

/// Carries out one line. What is behind `#` at its beginning is a comment.
fn one(
    text: &str,
    globals: &Globals,
    connect: Connect<'_>,
    streams: &mut Streams<'_>,
) -> io::Result<LineEnd> {
    let mut words: Vec<String> =
        text.split([' ', '\t', '\r']).filter(|it| !it.is_empty()).map(str::to_owned).collect();
    let Some(first) = words.first_mut() else { return Ok(LineEnd::Done(ReturnCode::OK)) };
    if first.starts_with('#') {
        return Ok(LineEnd::Done(ReturnCode::OK));
    }
    if !first.starts_with('-') {
        match complete_word(first) {
            Word::One(name) => *first = name,
            Word::Several(names) => {
                writeln!(streams.err, "'{first}' may be {}", names.join(", "))?;
                return Ok(LineEnd::Done(ReturnCode::BAD_PARAM));
            }
            Word::Unknown => {
                writeln!(streams.err, "{}", run::unknown_command(first))?;
                return Ok(LineEnd::Done(ReturnCode::BAD_PARAM));
            }
        }
    }
    run::line(&words, globals, connect, streams)
}

#[derive(Debug, PartialEq, Eq)]
enum Word {
    One(String),
    Several(Vec<String>),
    Unknown,
}

/// Finds the command that a word abbreviates.
fn complete_word(word: &str) -> Word {
    use clap::CommandFactory;
    let word = word.to_lowercase();
    let definition = cli::Cli::command();
    if let Some(exact) = definition.find_subcommand(&word) {
        return Word::One(exact.get_name().to_owned());
    }
    let names = cli::names();
    let mut meant: Vec<String> = names.into_iter().filter(|name| name.starts_with(&word)).collect();
    match meant.len() {
        0 => Word::Unknown,
        1 => Word::One(meant.remove(0)),
        _ => Word::Several(meant),
    }
}

/// The file of the history, in the user's directory for state; `None` if the environment names no such directory.
fn history_file() -> Option<PathBuf> {
    let directory = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state =
        directory("XDG_STATE_HOME").or_else(|| directory("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("lnetctl/history"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pasted_line_is_a_command() {
        let (mut input, mut out, mut err) = (io::empty(), Vec::new(), Vec::new());
        let mut streams = Streams { input: &mut input, out: &mut out, err: &mut err };
        let line = "cpt --nid 10.0.0.1@tcp --ncpt 1\n";
        let text = format!("{line}\n# a comment\n{line}exit\n{line}");
        let connect: Connect<'_> = &|name| Box::new(lnet_dlc::client::Client::new(name));
        assert_eq!(pasted(&text, &Globals::default(), connect, &mut streams).unwrap(), LineEnd::Exit);
        let shown = "cpt:\n    value: 0\n";
        assert_eq!(String::from_utf8(out).unwrap(), [shown, shown].concat());
        assert!(err.is_empty());
    }

    #[test]
    fn from_a_pipe_an_unknown_or_ambiguous_command_ends_the_shell_with_an_error() {
        let connect: Connect<'_> = &|name| Box::new(lnet_dlc::client::Client::new(name));
        let known = "cpt --nid 10.0.0.1@tcp --ncpt 1\n";
        for wrong in ["bogus", "rout show", "net bogus", "--bogus"] {
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let script = format!("{known}{wrong}\n{known}");
            let exit = piped(script.as_bytes(), &Globals::default(), connect, &mut out, &mut err).unwrap();
            assert_eq!(exit, 255, "{wrong}");
            assert_eq!(String::from_utf8(out).unwrap().matches("value: 0").count(), 1, "{wrong}");
        }
    }

    #[test]
    fn the_first_word_may_be_shortened_and_in_capitals() {
        let several = |names: &[&str]| Word::Several(names.iter().map(|&name| name.to_owned()).collect());
        let table = [
            ("net", Word::One("net".to_owned())),
            ("NET", Word::One("net".to_owned())),
            ("g", Word::One("global".to_owned())),
            ("po", Word::Unknown),
            ("policy", Word::One("udsp".to_owned())),
            ("rout", several(&["route", "routing"])),
            ("p", several(&["peer", "ping", "program"])),
            ("bogus", Word::Unknown),
        ];
        for (word, expected) in table {
            assert_eq!(complete_word(word), expected, "{word}");
        }
    }
}
