//! Runs lines from a terminal or from standard input. Words are split at blanks; there is no quoting.

use crate::context::Exit;
use crate::run::{self, LineEnd, RunContext};
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use std::io::{self, BufRead, Write};

const PROMPT: &str = "lst > ";

/// Reads commands with a prompt until `exit`, `quit` or the end of the input.
pub fn interactive(run_context: &RunContext<'_>) -> io::Result<Exit> {
    let mut editor = DefaultEditor::new().map_err(io::Error::other)?;
    loop {
        match editor.readline(PROMPT) {
            Ok(text) => {
                // The terminal works without a history, too.
                let _ = editor.add_history_entry(&text);
                if one(&text, run_context, &mut io::stdout(), &mut io::stderr())? == LineEnd::Shell {
                    return Ok(Exit::Success);
                }
            }
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => return Ok(Exit::Success),
            Err(error) => return Err(io::Error::other(error)),
        }
    }
}

/// Carries out commands, one per line; exits with the exit status of the last one.
pub fn piped(
    input: impl BufRead,
    run_context: &RunContext<'_>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<Exit> {
    let mut last = Exit::Success;
    for text in input.lines() {
        match one(&text?, run_context, out, err)? {
            LineEnd::Shell => break,
            LineEnd::Done(exit) => last = exit,
        }
    }
    Ok(last)
}

fn one(
    text: &str,
    run_context: &RunContext<'_>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<LineEnd> {
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    match words.first() {
        None => Ok(LineEnd::Done(Exit::Success)),
        Some(first) if first.starts_with('#') => Ok(LineEnd::Done(Exit::Success)),
        Some(_) => run::line(&words, run_context, out, err),
    }
}
