//! Runs one line: parses its words, carries out the command, and returns its exit status.

use crate::cli::{self, Cli, Command, Format, Globals};
use crate::cluster;
use crate::commands::{self, CommandOutcome, Context};
use crate::node::{Connect, Node};
use crate::output::{self, Notes, Streams};
use crate::own_node::{self, Choice};
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};
use lnet_command_line::{refusal, text};
use lnet_dlc::client::Client;
use lnet_dlc::{Backend, Operation, Report, Request, ReturnCode, SeqNo, Warned, nearest};
use lnet_wire::Errno;
use std::cell::RefCell;
use std::fmt::Write as _;
use std::io;

impl Node for Client {
    fn explain(&self) -> Option<String> {
        Self::explain(self)
    }

    fn own_node(&self, networks: &str) -> Result<Box<dyn Node>, Errno> {
        own_node::start(networks)
    }
}

/// The result of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnd {
    /// The line's command has ended with this return code.
    Done(ReturnCode),
    /// The shell is to end: `exit`, `quit`.
    Exit,
}

/// Carries out one line. `globals` are the options that apply unless the line has its own.
pub fn line(
    words: &[String],
    globals: &Globals,
    connect: Connect<'_>,
    streams: &mut Streams<'_>,
) -> io::Result<LineEnd> {
    let (said, words) = match Globals::take(words) {
        Ok(taken) => taken,
        Err(error) => {
            return refuse("lnetctl", &error.to_string(), globals.format.unwrap_or_default(), streams);
        }
    };
    let format = said.format.or(globals.format).unwrap_or_default();
    let mut definition = text::refuse_empty(Cli::command());
    definition.build();
    match look_up(&definition, &words) {
        NamedItem::Command => {}
        NamedItem::List => return list_commands(streams),
        NamedItem::Incomplete(command) => {
            write!(streams.out, "{}", command.clone().render_help())?;
            return Ok(LineEnd::Done(ReturnCode::BAD_PARAM));
        }
        NamedItem::Unknown(command, word) => {
            let known = valid_words(command);
            let meant = nearest(&word, known.iter().map(String::as_str));
            let asked = if meant.is_empty() { "; give one of" } else { " There are" };
            writeln!(streams.out, "'{word}' is not a command of '{}'{meant}{asked}", name(command))?;
            for known in known {
                writeln!(streams.out, "\"{known}\"")?;
            }
            return Ok(LineEnd::Done(ReturnCode::BAD_PARAM));
        }
    }
    let line = std::iter::once("lnetctl").chain(words.iter().map(String::as_str));
    let parsed = definition.clone().try_get_matches_from(line).and_then(|it| Cli::from_arg_matches(&it));
    let command = match parsed {
        Ok(cli) => cli.command,
        Err(error) => return not_parsed(&error, &definition, &words, format, streams),
    };
    match &command {
        Command::Exit | Command::Quit => Ok(LineEnd::Exit),
        Command::Help { command } => help(&definition, command.as_deref(), streams),
        command => {
            let name = said.node.or_else(|| globals.node.clone());
            let is_node_named = name.is_some();
            let (node, remedy) = match node_for(command, is_node_named, connect(name)) {
                Ok(found) => found,
                Err(errno) => {
                    let text = format!("cannot start a node for this command: {}", errno.text());
                    return fail((Operation::Configure, "lnet", errno.into()), &text, format, streams);
                }
            };
            let warnings = RefCell::new(Vec::new());
            let warn = |text| {
                let mut all = warnings.borrow_mut();
                // An interface that is added may be in the subnet of others that were warned about.
                if !all.contains(&text) {
                    all.push(text);
                }
            };
            let warned = Warned { backend: &*node, warn };
            let mut cx = Context {
                node: &warned,
                is_node_named,
                report: Report::new(),
                input: &mut *streams.input,
                text: String::new(),
                warnings: Vec::new(),
                format,
            };
            let outcome = match command {
                Command::Cluster(command) => cluster::run(command, &mut cx),
                command => commands::run(command, &mut cx),
            };
            let Context { report, text, warnings: own_warnings, .. } = cx;
            let why = node.explain().map(|why| why + remedy);
            let warnings: Vec<String> = warnings.borrow().iter().cloned().chain(own_warnings).collect();
            let notes = Notes { hint: why.as_deref(), warnings: &warnings };
            let written = streams
                .out
                .write_all(text.as_bytes())
                .and_then(|()| output::write(&report, outcome, notes, format, streams.out, streams.err));
            match written {
                // The reader of the output has closed it; the result of the command does not depend on that.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
                written => written?,
            }
            Ok(LineEnd::Done(outcome.rc))
        }
    }
}

/// The node that a command works on: the running one or, for some commands where none runs, one of its own. With it the remedy if
/// there is none, which is added to the reason.
fn node_for(
    command: &Command,
    is_node_named: bool,
    running: Box<dyn Node>,
) -> Result<(Box<dyn Node>, &'static str), Errno> {
    let Some(option) = own_node::option(command) else { return Ok((running, "")) };
    let of_environment = own_node::of_environment();
    let networks = option.or(of_environment.as_deref());
    let found = (&*running as &dyn Backend).tell(Request::GetNode);
    match own_node::choose(networks, is_node_named, found) {
        Choice::Running => Ok((running, "")),
        Choice::NoNetworks => Ok((running, own_node::REMEDY)),
        Choice::Own(networks) => Ok((running.own_node(networks)?, "")),
    }
}

/// The item of the definition that the first words name.
enum NamedItem<'a> {
    /// The word is a command, or an option that is checked later.
    Command,
    /// `--list-commands`
    List,
    /// A group, and nothing behind it.
    Incomplete(&'a clap::Command),
    /// The words name a group, and a word that the group does not have.
    Unknown(&'a clap::Command, String),
}

fn look_up<'a>(definition: &'a clap::Command, words: &[String]) -> NamedItem<'a> {
    let mut command = definition;
    for word in words {
        if !command.has_subcommands() {
            return NamedItem::Command;
        }
        match (word.as_str(), command.find_subcommand(word)) {
            (_, Some(next)) => command = next,
            ("--list-commands", None) => return NamedItem::List,
            ("-h" | "--help" | "-V" | "--version", None) => return NamedItem::Command,
            (word, None) if has_option(command, word) => return NamedItem::Command,
            (_, None) => return NamedItem::Unknown(command, word.clone()),
        }
    }
    if command.has_subcommands() { NamedItem::Incomplete(command) } else { NamedItem::Command }
}

/// Whether this is an option of a group itself, shortened or not.
fn has_option(command: &clap::Command, word: &str) -> bool {
    let Some(name) = word.strip_prefix("--").filter(|name| !name.is_empty()) else { return false };
    let mut options = command.get_arguments().filter_map(clap::Arg::get_long).filter(|it| *it != "help");
    command.get_name() != "lnetctl" && options.any(|it| it.starts_with(name))
}

fn valid_words(command: &clap::Command) -> Vec<String> {
    if command.get_name() == "lnetctl" {
        return cli::names();
    }
    let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
    shown.map(|command| command.get_name().to_owned()).collect()
}

/// The text about a word that is no command.
pub(crate) fn unknown_command(word: &str) -> String {
    let names = cli::names();
    let meant = nearest(word, names.iter().map(String::as_str));
    format!(
        "'{word}' is not a command{meant}{} 'help' tells which there are",
        if meant.is_empty() { ";" } else { "" }
    )
}

/// Prints the names of all commands: four in a row, each in a cell of 20 columns.
fn list_commands(streams: &mut Streams<'_>) -> io::Result<LineEnd> {
    for row in cli::names().chunks(4) {
        let mut text = String::new();
        for name in row {
            let _ = write!(text, "{name:<20}");
        }
        writeln!(streams.out, "{text}")?;
    }
    Ok(LineEnd::Done(ReturnCode::OK))
}

/// Prints the output that clap returned in place of a command: help, the version, or a refusal.
fn not_parsed(
    error: &clap::Error,
    definition: &clap::Command,
    words: &[String],
    format: Format,
    streams: &mut Streams<'_>,
) -> io::Result<LineEnd> {
    let command = named_by(definition, words);
    match error.kind() {
        ErrorKind::DisplayVersion => {
            write!(streams.out, "{error}")?;
            Ok(LineEnd::Done(ReturnCode::OK))
        }
        ErrorKind::DisplayHelp => {
            write!(streams.out, "{error}")?;
            let by_option = ["lnetctl", "import", "export", "ping", "discover"];
            Ok(LineEnd::Done(if by_option.contains(&command.get_name()) {
                ReturnCode::OK
            } else {
                ReturnCode(1)
            }))
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingRequiredArgument => {
            write!(streams.out, "{}", command.clone().render_help())?;
            Ok(LineEnd::Done(ReturnCode::BAD_PARAM))
        }
        kind => {
            let rendered = refusal::text(error);
            let mut lines = rendered.lines();
            let mut text = lines.next().unwrap_or_default().trim_start_matches("error: ").to_owned();
            if text.ends_with(':') {
                let listed: Vec<&str> =
                    lines.by_ref().map(str::trim).take_while(|it| !it.is_empty()).collect();
                let _ = write!(text, " {}", listed.join(", "));
            }
            // A setting has one value, without a name.
            text = text.replace("'<VALUE>'", command.get_name());
            for tip in lines.filter_map(|line| line.trim_start().strip_prefix("tip: ")) {
                let _ = write!(text, "; {tip}");
            }
            if kind == ErrorKind::UnknownArgument {
                let _ = write!(text, "; '{} --help' tells the options", name(command));
            }
            let top = words.first().map_or("lnetctl", String::as_str);
            refuse(top, &text, format, streams)
        }
    }
}

/// An error block for something that cannot be read.
fn refuse(entity: &str, text: &str, format: Format, streams: &mut Streams<'_>) -> io::Result<LineEnd> {
    fail((Operation::Parser, entity, ReturnCode::BAD_PARAM), text, format, streams)
}

/// An error block for a line of which nothing was carried out.
fn fail(
    (operation, entity, rc): (Operation, &str, ReturnCode),
    text: &str,
    format: Format,
    streams: &mut Streams<'_>,
) -> io::Result<LineEnd> {
    let mut report = Report::new();
    let rc = report.end(operation, entity, SeqNo::NONE, rc, text);
    let outcome = CommandOutcome { rc, kind: commands::CommandKind::Change };
    output::write(&report, outcome, Notes::default(), format, streams.out, streams.err)?;
    Ok(LineEnd::Done(rc))
}

/// The command or group that the first words name.
fn named_by<'a>(definition: &'a clap::Command, words: &[String]) -> &'a clap::Command {
    let mut command = definition;
    for word in words {
        match command.find_subcommand(word) {
            Some(next) => command = next,
            None => break,
        }
    }
    command
}

/// The name of a command, with the words before it.
fn name(command: &clap::Command) -> &str {
    command.get_bin_name().unwrap_or_else(|| command.get_name())
}

fn help(definition: &clap::Command, word: Option<&str>, streams: &mut Streams<'_>) -> io::Result<LineEnd> {
    match word.map(|word| definition.find_subcommand(word)) {
        None => write!(streams.out, "{}", definition.clone().render_help())?,
        Some(Some(command)) => write!(streams.err, "{}", command.clone().render_help())?,
        Some(None) => {
            let word = word.unwrap_or_default();
            writeln!(streams.err, "{}", unknown_command(word))?;
        }
    }
    Ok(LineEnd::Done(ReturnCode::OK))
}
