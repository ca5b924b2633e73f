//! Execution of commands: each turns its options into calls to the console, and the console's answers into text.

mod add_test;
mod batch;
pub mod bench;
mod group;
mod measuring;
mod nids;
mod ping;
mod query;
mod session;
mod show_error;
pub mod stat;
mod survey;

use crate::cli::{self, Format};
use crate::console::{CallError, Consoles};
use crate::output;
use lnet_selftest::console::call::{Call, Target, TransactionResult};
use lnet_selftest::console::{Command, Name, Refusal, Response};
use serde::Serialize;
use std::io::{self, Write};
use std::time::Duration;

/// The result of a command, which its exit status tells (lnet-selftest 13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The command succeeded.
    Success,
    /// The command was not carried out: the command line is invalid, or the console refuses it.
    Refused,
    /// At least one node did not respond.
    RpcFailed,
    /// All nodes answered, and at least one refused.
    NodeRefused,
}

/// The reason why a command ends early.
#[derive(Debug, thiserror::Error)]
pub enum CommandFailure {
    /// The command line is invalid.
    #[error("{0}")]
    Usage(String),
    /// The console refuses the command, or there is no console.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The output is closed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl CommandFailure {
    /// The failure of a command line with this error.
    fn usage(error: impl std::fmt::Display) -> Self {
        Self::Usage(error.to_string())
    }
}

/// The environment of a command: the consoles, the session's key, and the outputs.
pub struct Context<'a> {
    /// The consoles of this machine.
    pub consoles: &'a mut dyn Consoles,
    /// The key of the session, from LST_SESSION.
    pub key: Option<&'a str>,
    /// The features that a new session proposes, from LST_FEATURES.
    pub features: Option<&'a str>,
    /// The form in which results are written.
    pub format: Format,
    /// Standard output.
    pub out: &'a mut dyn Write,
    /// Standard error.
    pub err: &'a mut dyn Write,
    /// Whether standard output is a terminal that shows live views.
    pub is_terminal: bool,
}

/// The result of a command: its exit status, or the reason why it ended early.
pub type Result<T = Exit> = std::result::Result<T, CommandFailure>;

/// Carries a command out.
pub fn run(command: &cli::Command, cx: &mut Context<'_>) -> Result {
    match command {
        cli::Command::NewSession(it) => session::new(it, cx),
        cli::Command::EndSession => session::end(cx),
        cli::Command::ShowSession => session::show(cx),
        cli::Command::Ping(it) => ping::ping(it, cx),
        cli::Command::AddGroup(it) => group::add(it, cx),
        cli::Command::DelGroup(it) => group::delete(it, cx),
        cli::Command::UpdateGroup(it) => group::update(it, cx),
        cli::Command::ListGroup(it) => group::list(it, cx),
        cli::Command::Stat(it) => stat::stat(it, cx),
        cli::Command::ShowError(it) => show_error::show_error(it, cx),
        cli::Command::AddBatch(it) => batch::add(it, cx),
        cli::Command::Run(it) => batch::run(it, cx),
        cli::Command::Stop(it) => batch::stop(it, cx),
        cli::Command::ListBatch(it) => batch::list(it, cx),
        cli::Command::Query(it) => query::query(it, cx),
        cli::Command::AddTest(it) => add_test::add_test(it, cx),
        cli::Command::Bench(it) => bench::bench(it, cx),
        cli::Command::Survey(it) => survey::survey(it, cx),
        cli::Command::Help { .. } | cli::Command::Exit | cli::Command::Quit => Ok(Exit::Success),
    }
}

impl Exit {
    /// Returns the exit status of the process.
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Refused => 255,
            Self::RpcFailed => 254,
            Self::NodeRefused => 253,
        }
    }

    /// Returns the one of two that comes first: no answer before a refusal, and any failure before success.
    fn worse(self, other: Self) -> Self {
        let is = |exit| self == exit || other == exit;
        let order = [Self::RpcFailed, Self::NodeRefused, Self::Refused];
        order.into_iter().find(|exit| is(*exit)).unwrap_or(Self::Success)
    }

    /// Returns the exit status for a transaction: failed RPCs count before refusals of nodes.
    pub fn of(outcome: &TransactionResult) -> Self {
        match (outcome.failed_rpcs(), outcome.refusals()) {
            (0, 0) => Self::Success,
            (0, _) => Self::NodeRefused,
            _ => Self::RpcFailed,
        }
    }
}

impl Context<'_> {
    /// Returns the key in LST_SESSION. The error says why it is not valid.
    fn session_key(&self) -> Result<u32> {
        let text = self.key.ok_or_else(|| {
            CommandFailure::Usage(
                "LST_SESSION is not set; it is the session's key, such as export LST_SESSION=$$".to_owned(),
            )
        })?;
        let key = text.trim().parse().ok().filter(|key| *key != 0);
        key.ok_or_else(|| CommandFailure::Usage(format!("LST_SESSION={text}: it takes a number above 0")))
    }

    fn call(&mut self, command: Command) -> Result<Response> {
        let key = self.session_key()?;
        Ok(self.consoles.call(&Call { key, command })?)
    }

    /// Calls the console with a command whose answer is the outcome of a transaction.
    pub(crate) fn transact(&mut self, command: Command) -> Result<TransactionResult> {
        match self.call(command)? {
            Response::Outcome(outcome) => Ok(outcome),
            other => Err(unexpected(&other)),
        }
    }

    /// Prints the nodes that failed or refused to standard error, one a line. Returns the exit status for them.
    fn report(&mut self, outcome: &TransactionResult) -> Result<Exit> {
        for line in output::failures(outcome) {
            writeln!(self.err, "{line}")?;
        }
        Ok(Exit::of(outcome))
    }

    /// Prints the value if JSON is wanted; returns whether it is.
    fn json(&mut self, value: &impl Serialize) -> Result<bool> {
        if self.format == Format::Json {
            let text = serde_json::to_string(value).map_err(io::Error::other)?;
            writeln!(self.out, "{text}")?;
        }
        Ok(self.format == Format::Json)
    }

    /// Writes an empty object in JSON, for a command without values.
    fn json_of_nothing(&mut self) -> Result<()> {
        self.json(&serde_json::json!({})).map(drop)
    }

    fn say(&mut self, line: &str) -> Result<()> {
        if self.format == Format::Text {
            writeln!(self.out, "{line}")?;
            self.out.flush()?;
        }
        Ok(())
    }

    pub(crate) fn wait(&mut self, time: Duration) {
        self.consoles.wait(time);
    }

    pub(crate) fn now(&self) -> Duration {
        self.consoles.now()
    }

    /// A group of that name, or NIDs.
    fn target(&mut self, text: &str) -> Result<Target> {
        if let Ok(group) = text.parse::<Name>() {
            match self.call(Command::ShowGroup { group: group.clone() }) {
                Ok(_) => return Ok(Target::Group(group)),
                Err(CommandFailure::Call(CallError::Refused(Refusal::NotFound(..)))) => {}
                Err(failure) => return Err(failure),
            }
        }
        let nids = nids::expand(text).map_err(|_| {
            CommandFailure::Usage(format!("'{text}' is neither a group of the session nor NIDs"))
        })?;
        Ok(Target::Nodes(nids))
    }
}

fn name(text: &str) -> Result<Name> {
    text.parse().map_err(|error: lnet_selftest::console::name::NotAName| CommandFailure::usage(error))
}

fn unexpected(response: &Response) -> CommandFailure {
    CommandFailure::Usage(format!("the console is of another version: {response:?}"))
}
