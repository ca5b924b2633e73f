//! The environment of a command and its result: consoles, session key, outputs; exit status, or the reason why it ended early.

use crate::cli::Format;
use crate::console::{CallError, Consoles};
use crate::output;
use lnet_selftest::console::call::{Call, TransactionResult};
use lnet_selftest::console::{Command, Response};
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
    pub(crate) fn usage(error: impl std::fmt::Display) -> Self {
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
    pub(crate) fn worse(self, other: Self) -> Self {
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
    pub(crate) fn session_key(&self) -> Result<u32> {
        let text = self.key.ok_or_else(|| {
            CommandFailure::Usage(
                "LST_SESSION is not set; it is the session's key, such as export LST_SESSION=$$".to_owned(),
            )
        })?;
        let key = text.trim().parse().ok().filter(|key| *key != 0);
        key.ok_or_else(|| CommandFailure::Usage(format!("LST_SESSION={text}: it takes a number above 0")))
    }

    pub(crate) fn call(&mut self, command: Command) -> Result<Response> {
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
    pub(crate) fn report(&mut self, outcome: &TransactionResult) -> Result<Exit> {
        for line in output::failures(outcome) {
            writeln!(self.err, "{line}")?;
        }
        Ok(Exit::of(outcome))
    }

    /// Prints the value if JSON is wanted; returns whether it is.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<bool> {
        if self.format == Format::Json {
            let text = serde_json::to_string(value).map_err(io::Error::other)?;
            writeln!(self.out, "{text}")?;
        }
        Ok(self.format == Format::Json)
    }

    /// Writes an empty object in JSON, for a command without values.
    pub(crate) fn json_of_nothing(&mut self) -> Result<()> {
        self.json(&serde_json::json!({})).map(drop)
    }

    pub(crate) fn say(&mut self, line: &str) -> Result<()> {
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
}

pub(crate) fn unexpected(response: &Response) -> CommandFailure {
    CommandFailure::Usage(format!("the console is of another version: {response:?}"))
}
