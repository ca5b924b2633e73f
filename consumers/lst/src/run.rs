//! Runs one line: parses its words, carries out the command, and returns its exit status.

use crate::cli::{self, Cli, Command, Format, Globals};
use crate::commands;
use crate::console::Consoles;
use crate::context::{CommandFailure, Context, Exit};
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};
use lnet_command_line::{refusal, text};
use std::io::{self, Write};

/// The context that all lines of a run share.
pub struct RunContext<'a> {
    /// Makes the consoles for commands, from the name behind `--node`.
    pub consoles: &'a dyn Fn(Option<String>) -> Box<dyn Consoles>,
    /// The value of LST_SESSION.
    pub key: Option<String>,
    /// The value of LST_FEATURES.
    pub features: Option<String>,
    /// Options that apply unless a line has its own.
    pub globals: Globals,
    /// Whether standard output is a terminal.
    pub is_terminal: bool,
}

/// The result of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnd {
    /// The line's command has ended with this result.
    Done(Exit),
    /// The shell is to end: `exit`, `quit`.
    Shell,
}

/// Carries out one line.
pub fn line(
    words: &[String],
    run_context: &RunContext<'_>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<LineEnd> {
    let (said, words) = match Globals::take(words) {
        Ok(taken) => taken,
        Err(error) => return refuse("lst", &error.to_string(), err),
    };
    let line = std::iter::once("lst").chain(words.iter().map(String::as_str));
    let mut definition = text::refuse_empty(Cli::command());
    definition.build();
    match words.first().map(String::as_str) {
        Some("--list-commands") => {
            return cli::names().iter().try_for_each(|name| writeln!(out, "{name}")).map(|()| SUCCESS);
        }
        None => {
            write!(err, "{}", definition.render_help())?;
            return Ok(LineEnd::Done(Exit::Refused));
        }
        _ => {}
    }
    let command =
        match definition.clone().try_get_matches_from(line).and_then(|it| Cli::from_arg_matches(&it)) {
            Ok(cli) => cli.command,
            Err(error) => return not_parsed(&error, &words, out, err),
        };
    match &command {
        Command::Exit | Command::Quit => Ok(LineEnd::Shell),
        Command::Help { command } => help(&mut definition, command.as_deref(), out, err),
        command => {
            let node = said.node.or_else(|| run_context.globals.node.clone());
            let format = said.format.or(run_context.globals.format).unwrap_or(Format::Text);
            let mut consoles = (run_context.consoles)(node);
            let mut cx = Context {
                consoles: &mut *consoles,
                key: run_context.key.as_deref(),
                features: run_context.features.as_deref(),
                format,
                out: &mut *out,
                err: &mut *err,
                is_terminal: run_context.is_terminal,
            };
            match commands::run(command, &mut cx) {
                Ok(exit) => Ok(LineEnd::Done(exit)),
                Err(CommandFailure::Io(error)) => Err(error),
                Err(failure) => {
                    refuse(words.first().map_or("lst", String::as_str), &failure.to_string(), err)
                }
            }
        }
    }
}

const SUCCESS: LineEnd = LineEnd::Done(Exit::Success);

fn refuse(command: &str, text: &str, err: &mut dyn Write) -> io::Result<LineEnd> {
    writeln!(err, "{command}: {text}")?;
    Ok(LineEnd::Done(Exit::Refused))
}

/// Prints the output that clap returned in place of a command: help, the version, or a refusal.
fn not_parsed(
    error: &clap::Error,
    words: &[String],
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<LineEnd> {
    if matches!(error.kind(), ErrorKind::DisplayVersion | ErrorKind::DisplayHelp) {
        write!(out, "{error}")?;
        return Ok(SUCCESS);
    }
    let text = refusal::text(error);
    let text = text.trim_start_matches("error: ").trim_end();
    refuse(words.first().map_or("lst", String::as_str), text, err)
}

fn help(
    definition: &mut clap::Command,
    word: Option<&str>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<LineEnd> {
    let Some(word) = word else {
        write!(out, "{}", definition.render_help())?;
        return Ok(SUCCESS);
    };
    match definition.find_subcommand(word) {
        Some(command) => write!(out, "{}", command.clone().render_help())?,
        None => return refuse("help", &format!("'{word}' is not a command"), err),
    }
    Ok(SUCCESS)
}
